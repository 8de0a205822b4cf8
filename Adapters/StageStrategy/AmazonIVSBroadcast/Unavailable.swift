// What the vendor has and there is nothing behind here yet. Code that names it is told why when it is compiled.

@available(*, unavailable, message: "each stage has a connection of its own")
public final class IVSRealTimeConnection {}
@available(*, unavailable, message: "an IVSBroadcastSession's mixer composes pictures")
public final class IVSMixedImageDeviceConfiguration {}
@available(*, unavailable, message: "an IVSBroadcastSession's mixer composes pictures")
public final class IVSMixedImageDeviceSource {}
@available(*, unavailable, message: "an IVSBroadcastSession's mixer mixes sound")
public final class IVSMixedAudioDeviceConfiguration {}
@available(*, unavailable, message: "an IVSBroadcastSession's mixer mixes sound")
public final class IVSMixedAudioDeviceSource {}
@available(*, unavailable, message: "nothing goes to the background here")
public protocol IVSBackgroundImageSource {}
@available(*, unavailable, message: "pictures carry no messages; the common layer's data messages do")
public protocol IVSImageFrameMessage {}
@available(*, unavailable, message: "an output to a file has no such figures")
public final class IVSTransmissionStatistics {}
@available(*, unavailable, message: "ReplayKit belongs to iOS")
public final class IVSReplayKitBroadcastSession {}

extension IVSStage {
  @available(*, unavailable, message: "make a new stage with the new token")
  public func exchangeToken(_ token: String) throws {}
}
