public import Foundation
import Koine

public protocol RemoteParticipantDelegate: NSObjectProtocol {
  func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs)
  func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs)
}

extension RemoteParticipantDelegate {
  public func remoteParticipant(
    _ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs
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
}

/// Somebody else in a call, from being rung to being gone. Changes on the delivery queue.
public final class RemoteParticipant: NSObject, @unchecked Sendable {  // everything mutable sits in `current`
  private struct State {
    weak var delegate: (any RemoteParticipantDelegate)?
    var displayName: String
    var state: ParticipantState
    var isMuted = true
    var isSpeaking = false
    var videoStreams: [RemoteVideoStream] = []
    var callEndReason = CallEndReason.normal
  }

  public let identifier: any CommunicationIdentifier
  private let current: Lock<State>

  init(_ identifier: any CommunicationIdentifier, displayName: String, state: ParticipantState) {
    self.identifier = identifier
    current = Lock(State(displayName: displayName, state: state))
  }

  public var displayName: String { current.withLock { $0.displayName } }
  public var state: ParticipantState { current.withLock { $0.state } }
  public var isMuted: Bool { current.withLock { $0.isMuted } }
  public var isSpeaking: Bool { current.withLock { $0.isSpeaking } }
  public var videoStreams: [RemoteVideoStream] { current.withLock { $0.videoStreams } }
  public var callEndReason: CallEndReason { current.withLock { $0.callEndReason } }

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
    if hasChanged { delegate?.remoteParticipant(self, didChangeState: PropertyChangedEventArgs()) }
  }

  func rename(_ name: String) {
    guard !name.isEmpty, name != displayName else { return }
    current.withLock { $0.displayName = name }
    delegate?.remoteParticipant(self, didChangeDisplayName: PropertyChangedEventArgs())
  }

  func setMuted(_ isMuted: Bool) {
    guard isMuted != self.isMuted else { return }
    current.withLock { $0.isMuted = isMuted }
    delegate?.remoteParticipant(self, didChangeMuteState: PropertyChangedEventArgs())
  }

  func setSpeaking(_ isSpeaking: Bool) {
    guard isSpeaking != self.isSpeaking else { return }
    current.withLock { $0.isSpeaking = isSpeaking }
    delegate?.remoteParticipant(self, didChangeSpeakingState: PropertyChangedEventArgs())
  }

  func add(_ stream: RemoteVideoStream) {
    stream.isAvailable = true
    current.withLock { $0.videoStreams.append(stream) }
    delegate?.remoteParticipant(self, didUpdateVideoStreams: RemoteVideoStreamsEventArgs(added: [stream]))
  }

  func remove(_ source: Koine.Stream.ID) {
    let stream = current.withLock { current -> RemoteVideoStream? in
      guard let index = current.videoStreams.firstIndex(where: { $0.source == source }) else { return nil }
      return current.videoStreams.remove(at: index)
    }
    guard let stream else { return }
    stream.isAvailable = false
    delegate?.remoteParticipant(self, didUpdateVideoStreams: RemoteVideoStreamsEventArgs(removed: [stream]))
  }
}
