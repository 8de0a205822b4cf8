// The vendor's types without an implementation in Koine. Code that uses one does not compile; the error gives the reason.

/// A connection that several stages share. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRealTimeConnection.html)
@available(*, unavailable, message: "each stage has a connection of its own")
public final class IVSRealTimeConnection {}

/// A strategy that names each subscribed media type. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSStageStrategyV2.html)
@available(*, unavailable, message: "the subscribe type says it: none, audioOnly, audioVideo")
public protocol IVSStageStrategyV2 {}

/// A simulcast layer of a remote stream. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteStageStreamLayer.html)
@available(*, unavailable, message: "the room chooses layers; it does not tell of them")
public final class IVSRemoteStageStreamLayer {}

/// Limits for the choice of a remote stream's layer. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteStageStreamLayerConstraints.html)
@available(*, unavailable, message: "the room chooses layers; it does not tell of them")
public final class IVSRemoteStageStreamLayerConstraints {}

/// The initial simulcast layer of a subscription. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSubscribeSimulcastConfiguration.html)
@available(*, unavailable, message: "the room chooses the layer by the receiver's path")
public final class IVSSubscribeSimulcastConfiguration {}

/// A simulcast layer of a published stream. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalStageStreamLayer.html)
@available(*, unavailable, message: "one smaller layer is made, if simulcast is enabled")
public final class IVSLocalStageStreamLayer {}

/// Predefined simulcast layers. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSStagePresets.html)
@available(*, unavailable, message: "one smaller layer is made, if simulcast is enabled")
public final class IVSStagePresets {}

/// Statistics of published audio. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalAudioStats.html)
@available(*, unavailable, message: "requestRTCStats has the figures")
public final class IVSLocalAudioStats {}

/// Statistics of published video. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalVideoStats.html)
@available(*, unavailable, message: "requestRTCStats has the figures")
public final class IVSLocalVideoStats {}

/// Statistics of received audio. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteAudioStats.html)
@available(*, unavailable, message: "requestRTCStats has the figures")
public final class IVSRemoteAudioStats {}

/// Statistics of received video. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteVideoStats.html)
@available(*, unavailable, message: "requestRTCStats has the figures")
public final class IVSRemoteVideoStats {}

/// Settings of a device that composes several image sources. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedImageDeviceConfiguration.html)
@available(*, unavailable, message: "an IVSBroadcastSession's mixer composes pictures")
public final class IVSMixedImageDeviceConfiguration {}

/// An image source of a mixed device. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedImageDeviceSource.html)
@available(*, unavailable, message: "an IVSBroadcastSession's mixer composes pictures")
public final class IVSMixedImageDeviceSource {}

/// Settings of a device that mixes several audio sources. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedAudioDeviceConfiguration.html)
@available(*, unavailable, message: "an IVSBroadcastSession's mixer mixes sound")
public final class IVSMixedAudioDeviceConfiguration {}

/// An audio source of a mixed device. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedAudioDeviceSource.html)
@available(*, unavailable, message: "an IVSBroadcastSession's mixer mixes sound")
public final class IVSMixedAudioDeviceSource {}

/// Video of a broadcast while the app is in the background. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSBackgroundImageSource.html)
@available(*, unavailable, message: "nothing goes to the background here")
public protocol IVSBackgroundImageSource {}

/// A message embedded in a video frame. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSBroadcastImageFrameMessage.html)
@available(*, unavailable, message: "pictures carry no messages; the common layer's data messages do")
public protocol IVSImageFrameMessage {}

/// Statistics of a broadcast's transmission. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSTransmissionStatistics.html)
@available(*, unavailable, message: "an output to a file has no such figures")
public final class IVSTransmissionStatistics {}

/// A broadcast session of a ReplayKit extension. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSReplayKitBroadcastSession.html)
@available(*, unavailable, message: "ReplayKit belongs to iOS")
public final class IVSReplayKitBroadcastSession {}

extension IVSStage {
  @available(*, unavailable, message: "make a new stage with the new token")
  public func exchangeToken(_ token: String) throws {}
}
