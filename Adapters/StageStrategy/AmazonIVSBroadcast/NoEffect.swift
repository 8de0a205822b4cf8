import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AmazonIVSBroadcast", what, why: why) }

  static let minDelayOfPublisher = NoEffect(
    "IVSJitterBufferConfiguration.minDelay",
    why: "the local participant publishes; the delay holds once it publishes no more")
}
