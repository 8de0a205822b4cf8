import Koine

/// Somebody in the meeting. The same object from joining to leaving.
public class Participant: Equatable, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var streams: [String: MediaStream] = [:]
    /// Which stream of the room stands behind which enabled stream.
    var enabled: [Koine.Stream.ID: MediaStream] = [:]
    var listeners = Listeners<any ParticipantEventListener>()
    var enabledSoFar = 0
  }

  public let id: String
  public let displayName: String
  public let isLocal: Bool
  private let state = Lock(State())

  init(_ participant: Koine.Participant) {
    id = participant.id
    displayName = participant.name
    isLocal = participant.isLocal
  }

  /// Keyed by stream id; only what is enabled right now.
  public var streams: [String: MediaStream] { state.withLock { $0.streams } }

  public func addEventListener(_ listener: any ParticipantEventListener) {
    state.withLock { $0.listeners.add(listener) }
  }
  public func removeEventListener(_ listener: any ParticipantEventListener) {
    state.withLock { $0.listeners.remove(listener) }
  }

  public static func == (a: Participant, b: Participant) -> Bool { a.id == b.id && a.displayName == b.displayName }

  // MARK: On the delivery queue

  /// What the room says of one stream: enabled streams are those that are there and not muted.
  func update(_ stream: Koine.Stream, isThere: Bool, in session: Session) {
    if isThere && !stream.isMuted { enable(stream, in: session) } else { disable(stream.id) }
  }

  private func enable(_ stream: Koine.Stream, in session: Session) {
    let new = state.withLock { state -> MediaStream? in
      guard state.enabled[stream.id] == nil else { return nil }
      let new = MediaStream(stream, number: state.enabledSoFar, session: session)
      state.enabledSoFar += 1
      state.enabled[stream.id] = new
      state.streams[new.id] = new
      return new
    }
    if let new { tell { $0.onStreamEnabled(new, forParticipant: self) } }
  }

  private func disable(_ id: Koine.Stream.ID) {
    let old = state.withLock { state -> MediaStream? in
      guard let old = state.enabled.removeValue(forKey: id) else { return nil }
      state.streams[old.id] = nil
      return old
    }
    guard let old else { return }
    old.track.end()
    tell { $0.onStreamDisabled(old, forParticipant: self) }
  }

  /// The meeting is over: nothing is enabled any more, and nobody is told of each stream.
  func close() {
    let old = state.withLock { state in
      defer {
        state.enabled = [:]
        state.streams = [:]
      }
      return state.enabled.values.map(\.track)
    }
    for track in old { track.end() }
  }

  /// A listener removed by another one meanwhile is not called any more.
  private func tell(_ call: (any ParticipantEventListener) -> Void) {
    for listener in state.withLock({ $0.listeners.all }) where state.withLock({ $0.listeners.contains(listener) }) {
      call(listener)
    }
  }
}
