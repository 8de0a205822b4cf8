package import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("VideoSDKRTC", what, why: why) }

  package static let webhook = NoEffect(
    "startRecording's webhookUrl", why: "no webhook is called; listeners are notified")
}
