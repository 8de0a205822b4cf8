/// Whether a stream carries audio or video.
///
/// [Vendor reference](https://mediasoup.org/documentation/v3/mediasoup/rtp-parameters-and-capabilities)
public enum MediaKind: String, Sendable, Hashable { case audio, video }
