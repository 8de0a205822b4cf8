/// How far a stage's connection is.
public enum IVSStageConnectionState: Int, Sendable {
  case disconnected = 0
  case connecting = 1
  case connected = 2
}

/// What the app wants of a remote participant.
public enum IVSStageSubscribeType: Int, Sendable {
  case none = 0
  case audioOnly = 1
  case audioVideo = 2
}

/// What a participant publishes: the local one's own state, and as much of the others' as is to be seen from here.
public enum IVSParticipantPublishState: UInt, Sendable {
  case notPublished = 0
  case attemptingPublish = 1
  case published = 2
}

/// How far the subscription to a remote participant is.
public enum IVSParticipantSubscribeState: UInt, Sendable {
  case notSubscribed = 0
  case attemptingSubscribe = 1
  case subscribed = 2
}

/// What may be done with a participant: only the local one publishes, only others are subscribed to.
public struct IVSParticipantCapability: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static let publish = IVSParticipantCapability(rawValue: 1 << 0)
  public static let subscribe = IVSParticipantCapability(rawValue: 1 << 1)
}

public enum IVSDeviceType: Int, Sendable {
  case unknown = 0
  case camera = 1
  case microphone = 2
  /// Pictures that are no camera's: an app's own, and every remote participant's.
  case userImage = 5
  /// Sound that is no microphone's: an app's own, and every remote participant's.
  case userAudio = 6
}

public enum IVSDevicePosition: Int, Sendable {
  case unknown = 0
  case front = 1
  case back = 2
  case USB = 3
  case bluetooth = 4
  case AUX = 5
}
