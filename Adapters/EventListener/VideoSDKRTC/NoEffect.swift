package import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("VideoSDKRTC", what, why: why) }

  static let transcriptionWebhook = NoEffect(
    "TranscriptionConfig.webHookUrl", why: "no webhook is called; listeners are notified")
  static let summary = NoEffect("SummaryConfig", why: "Koine writes no summaries")
  package static let webhook = NoEffect(
    "startRecording's webhookUrl", why: "no webhook is called; listeners are notified")
}
