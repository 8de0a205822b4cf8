import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AmazonIVSBroadcast", what, why: why) }

  static let automaticBitrate = NoEffect(
    "IVSVideoConfiguration's automatic bitrate",
    why: "FFmpeg does not tell how fast a server takes the stream; initialBitrate holds throughout")
  static let minDelayOfPublisher = NoEffect(
    "IVSJitterBufferConfiguration.minDelay",
    why: "the local participant publishes; the delay holds once it publishes no more")
}
