public import Foundation
package import Koine

/// Notified of a remote participant's changes, on the delivery queue. All methods are optional.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsremoteparticipantdelegate)
public protocol RemoteParticipantDelegate: NSObjectProtocol {
  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs)
  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeRole args: PropertyChangedEventArgs)
}

extension RemoteParticipantDelegate {
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs
  ) {}
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs
  ) {}
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs
  ) {}
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs
  ) {}
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs
  ) {}
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs
  ) {}
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didChangeRole args: PropertyChangedEventArgs
  ) {}
}

/// A remote participant of a call, from the ring until it leaves. Changes on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsremoteparticipant)
public final class RemoteParticipant: NSObject, @unchecked Sendable {  // everything mutable sits in `current`
  private struct State {
    weak var delegate: (any RemoteParticipantDelegate)?
    var displayName: String
    var state: ParticipantState
    var isMuted = true
    var isSpeaking = false
    var role = CallParticipantRole.uninitialized
    var streams: [IncomingVideoStream] = []
    var callEndReason = CallEndReason.normal
  }

  public let identifier: any CommunicationIdentifier
  /// In the room, or the identity that is rung.
  package let id: Koine.Participant.ID
  public let events = RemoteParticipantEvents()
  private let current: Lock<State>
  /// Where to ask for things to be done to this participant; nil while it is only rung.
  private weak let call: Call?
  private let delivery: Delivery

  init(
    _ identifier: any CommunicationIdentifier, as id: Koine.Participant.ID, displayName: String,
    state: ParticipantState,
    in call: Call
  ) {
    self.identifier = identifier
    self.id = id
    self.call = call
    delivery = call.delivery
    current = Lock(State(displayName: displayName, state: state))
  }

  public var displayName: String { current.withLock { $0.displayName } }
  public var state: ParticipantState { current.withLock { $0.state } }
  public var isMuted: Bool { current.withLock { $0.isMuted } }
  public var isSpeaking: Bool { current.withLock { $0.isSpeaking } }
  public var incomingVideoStreams: [IncomingVideoStream] { current.withLock { $0.streams } }
  public var videoStreams: [RemoteVideoStream] { incomingVideoStreams.compactMap { $0 as? RemoteVideoStream } }
  public var callEndReason: CallEndReason { current.withLock { $0.callEndReason } }
  /// The role that the back end gives the participant in a room with a roster; elsewhere `uninitialized`.
  public var callParticipantRole: CallParticipantRole { current.withLock { $0.role } }

  public weak var delegate: (any RemoteParticipantDelegate)? {
    get { current.withLock { $0.delegate } }
    set { current.withLock { $0.delegate = newValue } }
  }

  // MARK: On the delivery queue

  func change(to new: ParticipantState, because reason: CallEndReason? = nil) {
    let hasChanged = current.withLock { current in
      if let reason { current.callEndReason = reason }
      defer { current.state = new }
      return current.state != new
    }
    guard hasChanged else { return }
    let args = PropertyChangedEventArgs()
    delegate?.remoteParticipant(self, didChangeState: args)
    events.onStateChanged?(args)
  }

  func setRole(_ role: CallParticipantRole) {
    let hasChanged = current.withLock { current in
      defer { current.role = role }
      return current.role != role
    }
    guard hasChanged else { return }
    let args = PropertyChangedEventArgs()
    delegate?.remoteParticipant(self, didChangeRole: args)
    events.onRoleChanged?(args)
  }

  func rename(_ name: String) {
    guard !name.isEmpty, name != displayName else { return }
    current.withLock { $0.displayName = name }
    let args = PropertyChangedEventArgs()
    delegate?.remoteParticipant(self, didChangeDisplayName: args)
    events.onDisplayNameChanged?(args)
  }

  func setMuted(_ isMuted: Bool) {
    guard isMuted != self.isMuted else { return }
    current.withLock { $0.isMuted = isMuted }
    let args = PropertyChangedEventArgs()
    delegate?.remoteParticipant(self, didChangeMuteState: args)
    events.onIsMutedChanged?(args)
  }

  func setSpeaking(_ isSpeaking: Bool) {
    guard isSpeaking != self.isSpeaking else { return }
    current.withLock { $0.isSpeaking = isSpeaking }
    let args = PropertyChangedEventArgs()
    delegate?.remoteParticipant(self, didChangeSpeakingState: args)
    events.onIsSpeakingChanged?(args)
  }

  func add(_ stream: IncomingVideoStream) {
    current.withLock { $0.streams.append(stream) }
    if let stream = stream as? RemoteVideoStream { notifyDelegate(RemoteVideoStreamsEventArgs(added: [stream])) }
    streamChanged(VideoStreamStateChangedEventArgs(stream, ""))
  }

  func remove(_ source: Track.ID) {
    let stream = current.withLock { current -> IncomingVideoStream? in
      guard let index = current.streams.firstIndex(where: { $0.source == source }) else { return nil }
      return current.streams.remove(at: index)
    }
    guard let stream else { return }
    stream.withdraw()
    if let stream = stream as? RemoteVideoStream { notifyDelegate(RemoteVideoStreamsEventArgs(removed: [stream])) }
  }

  private func notifyDelegate(_ args: RemoteVideoStreamsEventArgs) {
    delegate?.remoteParticipant(self, didUpdateVideoStreams: args)
    events.onVideoStreamsUpdated?(args)
  }

  func streamChanged(_ args: VideoStreamStateChangedEventArgs) {
    delegate?.remoteParticipant(self, didChangeVideoStreamState: args)
    events.onVideoStreamStateChanged?(args)
  }

  // MARK: From any thread

  /// Asks them to mute; they are if their style knows how.
  public func mute(completionHandler: @escaping ((any Error)?) -> Void) {
    guard let call else {
      let handler = Handler(completionHandler)
      return delivery.deliver { handler(CallingCommunicationErrors.muteOthersNotFound.error("the call is gone")) }
    }
    call.mute([id], completionHandler)
  }

  nonisolated(nonsending) public func mute() async throws { try await completion { mute(completionHandler: $0) } }
}
