// The vendor's types without an implementation in Koine. Code that uses one does not compile; the error gives the reason.

/// A connection that several stages share. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRealTimeConnection.html)
@available(*, unavailable, message: "each stage has its own connection; the form of connection tokens is not public")
public final class IVSRealTimeConnection {}

/// A message embedded in a video frame. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSBroadcastImageFrameMessage.html)
@available(*, unavailable, message: "VP8 and VP9 frames carry no SEI messages; use data messages of the common layer")
public protocol IVSImageFrameMessage {}

/// Statistics of a broadcast's transmission. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSTransmissionStatistics.html)
@available(*, unavailable, message: "FFmpeg tells neither the round-trip time nor the backlog of its RTMP connection")
public final class IVSTransmissionStatistics {}
