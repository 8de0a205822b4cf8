import Koine

/// A hidden participant that all recordings, playlists and live streams of a room share, so that each track is received and decoded
/// once.
///
/// It joins the room for the first of them and leaves with the last.
final class SharedRecorderSession: Sendable {
  private struct State {
    var users = 1
    var isAsked = false
    /// Whether the room has let it in.
    var outcome: Result<Void, Failure>?
    var waiting: [@Sendable (Result<Void, Failure>) -> Void] = []
  }

  let world: World
  let session: Session
  let pins: PinList
  private let isFree: @Sendable (SharedRecorderSession) -> Void
  private let state = Lock(State())

  /// For one.
  /// - Parameter isFree: called once, when the last has left.
  init(_ request: RecordingRequest, in world: World, isFree: @escaping @Sendable (SharedRecorderSession) -> Void) {
    self.world = world
    self.isFree = isFree
    session = ComposedRoom.session(request, credential: request.credential ?? "", in: world)
    pins = PinList(of: session)
  }

  /// For one more.
  /// - Returns: false where it is over.
  func share() -> Bool {
    guard !session.state.isEnded else { return false }
    return state.withLock { state in
      guard state.users > 0 else { return false }
      state.users += 1
      return true
    }
  }

  /// On the delivery queue.
  /// - Parameter completion: called on it; at once where it is known already.
  func enter(_ completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    let (outcome, isFirst) = state.withLock { state in
      defer { state.isAsked = true }
      if state.outcome == nil { state.waiting.append(completion) }
      return (state.outcome, !state.isAsked)
    }
    if let outcome {
      // The session may have ended since it was shared, and a new user would not receive that event.
      guard case .success = outcome, session.state.isEnded else { return completion(outcome) }
      return completion(.failure(Failure(.ended, "the room has ended")))
    }
    guard isFirst else { return }
    session.join { [weak self] outcome in
      let waiting = self?.state.withLock { state in
        defer { state.waiting = [] }
        state.outcome = outcome
        return state.waiting
      }
      for completion in waiting ?? [] { completion(outcome) }
    }
  }

  /// Once for each.
  func leave() {
    let isLast = state.withLock { state in
      state.users -= 1
      return state.users == 0
    }
    guard isLast else { return }
    isFree(self)
    session.leave { withExtendedLifetime(self) {} }
  }
}
