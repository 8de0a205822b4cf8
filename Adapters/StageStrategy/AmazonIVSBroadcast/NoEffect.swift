import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AmazonIVSBroadcast", what, why: why) }

  static let automaticBitrate = NoEffect(
    "IVSVideoConfiguration's automatic bitrate", why: "the video is encoded with initialBitrate throughout")
  static let soundEncoding = NoEffect(
    "IVSAudioConfiguration.quality", why: "Opus and AAC have one here; the bit rate says what it is")
  static let minDelayOfPublisher = NoEffect(
    "IVSJitterBufferConfiguration.minDelay",
    why: "the local participant publishes; the delay holds once it publishes no more")
}
