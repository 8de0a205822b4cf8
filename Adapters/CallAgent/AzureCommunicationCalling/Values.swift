public import Foundation

/// State of a call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallstate)
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

/// Direction of a call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscalldirection)
public enum CallDirection: Int, Sendable {
  case outgoing = 1
  case incoming = 2
}

/// State of a remote participant.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsparticipantstate)
public enum ParticipantState: Int, Sendable {
  case idle, earlyMedia, connecting, connected, hold, inLobby, disconnected, ringing
}

/// Whether a video stream is a camera or a screen. Name of version 1; version 2 has `VideoStreamSourceType`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsmediastreamtype)
public enum MediaStreamType: Int, Sendable {
  case video = 1
  case screenSharing = 2
}
public typealias VideoStreamSourceType = MediaStreamType

/// State of a video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamstate)
public enum VideoStreamState: Int, Sendable {
  case available, started, stopping, stopped, notAvailable
}

/// Kind of a video stream: its direction, and whether it is rendered or raw.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamtype)
public enum VideoStreamType: Int, Sendable {
  case remoteIncoming = 1
  case rawIncoming = 2
  case localOutgoing = 3
  case virtualOutgoing = 4
  case screenShareOutgoing = 5
}

/// Direction of a stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsstreamdirection)
public enum StreamDirection: Int, Sendable {
  case incoming, outgoing
}

/// A DTMF tone: a key of a telephone.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsdtmftone)
public enum DtmfTone: Int, Sendable, CaseIterable {
  case zero, one, two, three, four, five, six, seven, eight, nine, star, pound, a, b, c, d, flash
}

/// Whether a call or an agent is that of a Communication Services user or of a Teams user. It is always `call` in
/// Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum CommunicationCallType: Int, Sendable {
  case call, teamsCall
}

/// Event that a push notification reports.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acspushnotificationeventtype)
public enum PushNotificationEventType: Int, Sendable {
  case incomingCall = 107
  case incomingGroupCall = 109
  case stopRinging = 110
  case incomingPstnCall = 111
}

/// Direction that a camera faces.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscamerafacing)
public enum CameraFacing: Int, Sendable {
  case unknown, external, front, back, panoramic, leftFront, rightFront
}

/// Kind of a video device.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideodevicetype)
public enum VideoDeviceType: Int, Sendable {
  case unknown, usbCamera, captureAdapter, virtual
}

/// Whether a view crops the video to fill its frame or fits the video into it.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsscalingmode)
public enum ScalingMode: Int, Sendable {
  case crop = 1
  case fit = 2
}

/// Size of a video stream, in pixels.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsstreamsize)
public struct StreamSize: Sendable, Hashable {
  public var width, height: Int32

  public init(width: Int32, height: Int32) {
    self.width = width
    self.height = height
  }

  public init() { self.init(width: 0, height: 0) }
}

/// The reason why a call or an incoming call ended, as code and subcode.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallendreason)
public final class CallEndReason: NSObject, Sendable {
  /// 0: ended normally; otherwise in the manner of SIP.
  public let code: Int32
  public let subcode: Int32

  init(code: Int32 = 0, subcode: Int32 = 0) {
    self.code = code
    self.subcode = subcode
  }

  static let normal = CallEndReason()
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

/// The caller of a call: display name and identifier.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallerinfo)
public final class CallerInfo: NSObject, @unchecked Sendable {  // constant; identifiers are
  public let displayName: String
  public let identifier: any CommunicationIdentifier

  init(displayName: String, identifier: any CommunicationIdentifier) {
    self.displayName = displayName
    self.identifier = identifier
  }
}

// MARK: What events carry

/// Arguments of an event that reports a changed property. The sender has the new value.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acspropertychangedeventargs)
public final class PropertyChangedEventArgs: NSObject {}

/// The calls that an agent's list gained and lost.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallsupdatedeventargs)
public final class CallsUpdatedEventArgs: NSObject {
  public let addedCalls: [Call]
  public let removedCalls: [Call]

  init(added: [Call] = [], removed: [Call] = []) { (addedCalls, removedCalls) = (added, removed) }
}

/// The remote participants that joined and left a call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsparticipantsupdatedeventargs)
public final class ParticipantsUpdatedEventArgs: NSObject {
  public let addedParticipants: [RemoteParticipant]
  public let removedParticipants: [RemoteParticipant]

  init(added: [RemoteParticipant] = [], removed: [RemoteParticipant] = []) {
    (addedParticipants, removedParticipants) = (added, removed)
  }
}

/// The local video streams that a call gained and lost.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acslocalvideostreamsupdatedeventargs)
public final class LocalVideoStreamsUpdatedEventArgs: NSObject {
  public let addedStreams: [LocalVideoStream]
  public let removedStreams: [LocalVideoStream]

  init(added: [LocalVideoStream] = [], removed: [LocalVideoStream] = []) {
    (addedStreams, removedStreams) = (added, removed)
  }
}

/// The video streams that a remote participant started and stopped.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsremotevideostreamseventargs)
public final class RemoteVideoStreamsEventArgs: NSObject {
  public let addedRemoteVideoStreams: [RemoteVideoStream]
  public let removedRemoteVideoStreams: [RemoteVideoStream]

  init(added: [RemoteVideoStream] = [], removed: [RemoteVideoStream] = []) {
    (addedRemoteVideoStreams, removedRemoteVideoStreams) = (added, removed)
  }
}

/// A video stream with a changed state.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamstatechangedeventargs)
public final class VideoStreamStateChangedEventArgs: NSObject {
  public let stream: CallVideoStream
  public let message: String

  init(_ stream: CallVideoStream, _ message: String) { (self.stream, self.message) = (stream, message) }
}

/// The cameras that were connected and disconnected.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideodevicesupdatedeventargs)
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
