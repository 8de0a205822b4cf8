// What the vendor has and there is nothing behind here yet. Code that names it is told why when it is compiled.

@available(*, unavailable, message: "each stage has a connection of its own")
public final class IVSRealTimeConnection {}
@available(*, unavailable, message: "nothing goes to the background here")
public protocol IVSBackgroundImageSource {}
@available(*, unavailable, message: "pictures carry no messages; the common layer's data messages do")
public protocol IVSImageFrameMessage {}
@available(*, unavailable, message: "an output to a file has no such figures")
public final class IVSTransmissionStatistics {}
@available(*, unavailable, message: "ReplayKit belongs to iOS")
public final class IVSReplayKitBroadcastSession {}
