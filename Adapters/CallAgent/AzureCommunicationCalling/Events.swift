public import Foundation
import Koine

/// A closure that may be set on one thread while it is called on another.
@propertyWrapper
public final class EventClosure<Args>: @unchecked Sendable {  // a lock
  private let held = Lock<((Args) -> Void)?>(nil)
  public init() {}
  public var wrappedValue: ((Args) -> Void)? {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}

/// Closures for the events of a call, in addition to its delegate. Both are called, on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/calling-sdk/events)
public final class CallEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onStateChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onIdChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onRemoteParticipantsUpdated: ((ParticipantsUpdatedEventArgs) -> Void)?
  @EventClosure public var onOutgoingAudioStateChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onIncomingAudioStateChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onTotalParticipantCountChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onMutedByOthers: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onStartTimeUpdated: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onRoleChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onIsMutedChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onLocalVideoStreamsUpdated: ((LocalVideoStreamsUpdatedEventArgs) -> Void)?

  public func removeAll() {
    (onStateChanged, onIdChanged, onRemoteParticipantsUpdated, onTotalParticipantCountChanged) = (nil, nil, nil, nil)
    (onOutgoingAudioStateChanged, onIncomingAudioStateChanged, onMutedByOthers) = (nil, nil, nil)
    (onStartTimeUpdated, onIsMutedChanged, onLocalVideoStreamsUpdated, onRoleChanged) = (nil, nil, nil, nil)
  }
}

/// Closures for the events of a call agent, in addition to its delegate. Both are called, on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/calling-sdk/events)
public final class CallAgentEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onCallsUpdated: ((CallsUpdatedEventArgs) -> Void)?
  @EventClosure public var onIncomingCall: ((IncomingCall) -> Void)?

  public func removeAll() { (onCallsUpdated, onIncomingCall) = (nil, nil) }
}

/// Closures for the events of a remote participant, in addition to its delegate. Both are called, on the delivery
/// queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/calling-sdk/events)
public final class RemoteParticipantEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onStateChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onIsMutedChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onIsSpeakingChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onDisplayNameChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onRoleChanged: ((PropertyChangedEventArgs) -> Void)?
  @EventClosure public var onVideoStreamsUpdated: ((RemoteVideoStreamsEventArgs) -> Void)?
  @EventClosure public var onVideoStreamStateChanged: ((VideoStreamStateChangedEventArgs) -> Void)?

  public func removeAll() {
    (onStateChanged, onIsMutedChanged, onIsSpeakingChanged, onDisplayNameChanged) = (nil, nil, nil, nil)
    (onRoleChanged, onVideoStreamsUpdated, onVideoStreamStateChanged) = (nil, nil, nil)
  }
}

/// Closures for the events of an incoming call, in addition to its delegate. Both are called, on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/calling-sdk/events)
public final class IncomingCallEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onCallEnded: ((PropertyChangedEventArgs) -> Void)?

  public func removeAll() { onCallEnded = nil }
}
