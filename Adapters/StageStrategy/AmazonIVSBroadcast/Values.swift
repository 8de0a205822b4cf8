/// State of a stage's connection.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageConnectionState.html)
public enum IVSStageConnectionState: Int, Sendable {
  case disconnected = 0
  case connecting = 1
  case connected = 2
}

/// The media that the stage receives from a remote participant.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageSubscribeType.html)
public enum IVSStageSubscribeType: Int, Sendable {
  case none = 0
  case audioOnly = 1
  case audioVideo = 2
}

/// Whether a participant publishes. For remote participants the stage knows only the result.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSParticipantPublishState.html)
public enum IVSParticipantPublishState: UInt, Sendable {
  case notPublished = 0
  case attemptingPublish = 1
  case published = 2
}

/// State of the subscription to a remote participant.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSParticipantSubscribeState.html)
public enum IVSParticipantSubscribeState: UInt, Sendable {
  case notSubscribed = 0
  case attemptingSubscribe = 1
  case subscribed = 2
}

/// The actions on a participant: the local participant can publish, and remote participants can be subscribed to.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSParticipantCapability.html)
public struct IVSParticipantCapability: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static let publish = IVSParticipantCapability(rawValue: 1 << 0)
  public static let subscribe = IVSParticipantCapability(rawValue: 1 << 1)
}

/// Type of a device.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSDeviceType.html)
public enum IVSDeviceType: Int, Sendable {
  case unknown = 0
  case camera = 1
  case microphone = 2
  /// Pictures that are no camera's: an app's own, and every remote participant's.
  case userImage = 5
  /// Sound that is no microphone's: an app's own, and every remote participant's.
  case userAudio = 6
}

/// Position of a device on the machine.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSDevicePosition.html)
public enum IVSDevicePosition: Int, Sendable {
  case unknown = 0
  case front = 1
  case back = 2
  case USB = 3
  case bluetooth = 4
  case AUX = 5
}
