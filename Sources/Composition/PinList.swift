import CrossVendorConventions
import Koine

/// The pinned participants of a room, from the messages of its participants. Registered with a session before it joins.
final class PinList: Sendable {
  private struct State {
    /// The one pinned last at the end.
    var pinned: [Participant.ID] = []
    var observation: Observation?
  }

  private static let limit = 1_024
  private let state = Lock(State())

  init(of session: Session) {
    let observation = session.observe { [weak self] event in self?.handle(event) }
    state.withLock { $0.observation = observation }
  }

  deinit { state.withLock { $0.observation }?.cancel() }

  var pinned: [Participant.ID] { state.withLock { $0.pinned } }

  /// On the delivery queue.
  private func handle(_ event: SessionEvent) {
    guard case .messageReceived(let message) = event, message.topic == Convention.pin,
      let change = PinChange(message.payload)
    else { return }
    state.withLock { change.apply(to: &$0.pinned, limit: Self.limit) }
  }
}
