import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AmazonIVSBroadcast", what, why: why) }

  static let logLevel = NoEffect("logLevel", why: "what goes wrong is told to delegates")
  static let videoEncoding = NoEffect(
    "IVSVideoConfiguration's B frames and automatic bit rate", why: "the encoder has its own way")
  static let soundEncoding = NoEffect(
    "IVSAudioConfiguration.quality", why: "Opus and AAC have one here; the bit rate says what it is")
  static let minDelayOfPublisher = NoEffect(
    "IVSJitterBufferConfiguration.minDelay",
    why: "the local participant publishes; the delay holds once it publishes no more")
}
