public import Foundation

public enum CallState: Int, Sendable {
  case none = 0
  case earlyMedia = 1
  case connecting = 3
  case ringing = 4
  case connected = 5
  case localHold = 6
  case disconnecting = 7
  case disconnected = 8
  case inLobby = 9
  case remoteHold = 10
}

public enum CallDirection: Int, Sendable {
  case outgoing = 1
  case incoming = 2
}

public enum ParticipantState: Int, Sendable {
  case idle, earlyMedia, connecting, connected, hold, inLobby, disconnected, ringing
}

public enum MediaStreamType: Int, Sendable {
  case video = 1
  case screenSharing = 2
}
public typealias VideoStreamSourceType = MediaStreamType

public enum VideoStreamState: Int, Sendable {
  case available, started, stopping, stopped, notAvailable
}

public enum VideoStreamType: Int, Sendable {
  case remoteIncoming = 1
  case rawIncoming = 2
  case localOutgoing = 3
  case virtualOutgoing = 4
  case screenShareOutgoing = 5
}

public enum StreamDirection: Int, Sendable {
  case incoming, outgoing
}

/// The keys of a telephone.
public enum DtmfTone: Int, Sendable, CaseIterable {
  case zero, one, two, three, four, five, six, seven, eight, nine, star, pound, a, b, c, d, flash
}

public enum CommunicationCallType: Int, Sendable {
  case call, teamsCall
}

public enum PushNotificationEventType: Int, Sendable {
  case incomingCall = 107
  case incomingGroupCall = 109
  case stopRinging = 110
  case incomingPstnCall = 111
}

public enum CameraFacing: Int, Sendable {
  case unknown, external, front, back, panoramic, leftFront, rightFront
}

public enum VideoDeviceType: Int, Sendable {
  case unknown, usbCamera, captureAdapter, virtual
}

public enum ScalingMode: Int, Sendable {
  case crop = 1
  case fit = 2
}

/// In pixels.
public struct StreamSize: Sendable, Hashable {
  public var width, height: Int32

  public init(width: Int32, height: Int32) {
    self.width = width
    self.height = height
  }

  public init() { self.init(width: 0, height: 0) }
}

/// Why a call is over.
public final class CallEndReason: NSObject, Sendable {
  /// 0: ended normally; otherwise in the manner of SIP.
  public let code: Int32
  public let subcode: Int32

  init(code: Int32 = 0, subcode: Int32 = 0) {
    self.code = code
    self.subcode = subcode
  }

  static let normal = CallEndReason()
  /// Removed by another participant.
  static let removed = CallEndReason(subcode: 5300)
  static let unauthorized = CallEndReason(code: 401)
  static let forbidden = CallEndReason(code: 403)
  static let calleeUnregistered = CallEndReason(code: 480)
  static let notHandled = CallEndReason(code: 481)
  static let busy = CallEndReason(code: 486)
  static let cancelled = CallEndReason(code: 487)
  /// Of an incoming call that the callee let ring.
  static let unanswered = CallEndReason(code: 487, subcode: 10004)
  static let networkTrouble = CallEndReason(code: 490)
  static let serviceFailure = CallEndReason(code: 500)
  static let timedOut = CallEndReason(code: 408)
  static let declined = CallEndReason(code: 603)
}

public final class CallerInfo: NSObject, @unchecked Sendable {  // constant; identifiers are
  public let displayName: String
  public let identifier: any CommunicationIdentifier

  init(displayName: String, identifier: any CommunicationIdentifier) {
    self.displayName = displayName
    self.identifier = identifier
  }
}

// MARK: What events carry

/// Says only that something has changed; what it is now, the sender tells.
public final class PropertyChangedEventArgs: NSObject {}

public final class CallsUpdatedEventArgs: NSObject {
  public let addedCalls: [Call]
  public let removedCalls: [Call]

  init(added: [Call] = [], removed: [Call] = []) { (addedCalls, removedCalls) = (added, removed) }
}

public final class ParticipantsUpdatedEventArgs: NSObject {
  public let addedParticipants: [RemoteParticipant]
  public let removedParticipants: [RemoteParticipant]

  init(added: [RemoteParticipant] = [], removed: [RemoteParticipant] = []) {
    (addedParticipants, removedParticipants) = (added, removed)
  }
}

public final class LocalVideoStreamsUpdatedEventArgs: NSObject {
  public let addedStreams: [LocalVideoStream]
  public let removedStreams: [LocalVideoStream]

  init(added: [LocalVideoStream] = [], removed: [LocalVideoStream] = []) {
    (addedStreams, removedStreams) = (added, removed)
  }
}

public final class RemoteVideoStreamsEventArgs: NSObject {
  public let addedRemoteVideoStreams: [RemoteVideoStream]
  public let removedRemoteVideoStreams: [RemoteVideoStream]

  init(added: [RemoteVideoStream] = [], removed: [RemoteVideoStream] = []) {
    (addedRemoteVideoStreams, removedRemoteVideoStreams) = (added, removed)
  }
}

public final class VideoStreamStateChangedEventArgs: NSObject {
  public let stream: CallVideoStream
  public let message: String

  init(_ stream: CallVideoStream, _ message: String) { (self.stream, self.message) = (stream, message) }
}

public final class VideoDevicesUpdatedEventArgs: NSObject {
  public let addedVideoDevices: [VideoDeviceInfo]
  public let removedVideoDevices: [VideoDeviceInfo]

  init(added: [VideoDeviceInfo] = [], removed: [VideoDeviceInfo] = []) {
    (addedVideoDevices, removedVideoDevices) = (added, removed)
  }
}

// The newer generation's names of what both kinds of calls have in common; there is one kind here.
public typealias CommonCall = Call
public typealias CommonCallAgent = CallAgent
public typealias CommonIncomingCall = IncomingCall
