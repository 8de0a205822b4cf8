package import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("VideoSDKRTC", what, why: why) }

  static let transcriptionWebhook = NoEffect(
    "TranscriptionConfig.webHookUrl", why: "no webhook is called; listeners are notified")
  static let summary = NoEffect("SummaryConfig", why: "Koine writes no summaries")
  static let postTranscription = NoEffect(
    "PostTranscriptionConfig", why: "Koine writes no text of recordings after they end")
  static let metaData = NoEffect("initMeeting's metaData", why: "it is no JSON, or has more than 4 kB as JSON")
  static let codec = NoEffect("PreferredCodec.H264", why: "tracks are sent as VP8")
  static let preferredProtocol = NoEffect("initMeeting's preferredProtocol", why: "ICE chooses the path")
  static let signalingBaseUrl = NoEffect("initMeeting's signalingBaseUrl", why: "KOINE_BACKEND is the address")
  package static let webhook = NoEffect(
    "startRecording's webhookUrl", why: "no webhook is called; listeners are notified")
}
