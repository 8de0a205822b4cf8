import Koine

/// Holds back a call's events until its app can have subscribed. An app that writes
///
///     let call = try await agent.startCall(participants: [ben])
///     call.delegate = self
///
/// goes on in a later turn of the main queue, when a call on a fast network may be connected already.
///
/// Opens 30 ms after the app has the call (its completion handler has returned, or the code that waited for the call goes on)
/// and the call has a delegate; without a delegate 300 ms after the app has it. `pass` and `open` are for the delivery queue,
/// the others for any thread.
final class SubscriptionGate: Sendable {
  private static let pause = Duration.milliseconds(30)
  private static let pauseWithoutDelegate = Duration.milliseconds(300)

  private struct State {
    var isOpen = false
    var isGiven = false
    var hasDelegate = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let delivery: Delivery
  private let lane: Lane
  private let state = Lock(State())

  init(in world: World) {
    delivery = world.delivery
    lane = world.backend.scheduler.lane("call")
  }

  /// Runs `work` now, or when the gate opens; in the order of the calls.
  func pass(_ work: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiting.append(work) }
      return state.isOpen
    }
    if isOpen { work() }
  }

  func appHasCall() {
    let hasDelegate = state.withLock { state in
      state.isGiven = true
      return state.hasDelegate
    }
    open(after: hasDelegate ? Self.pause : Self.pauseWithoutDelegate, evenWithDelegate: hasDelegate)
  }

  func delegateIsSet() {
    let isNext = state.withLock { state in
      defer { state.hasDelegate = true }
      return state.isGiven && !state.hasDelegate && !state.isOpen
    }
    if isNext { open(after: Self.pause, evenWithDelegate: true) }
  }

  /// - Parameter evenWithDelegate: otherwise a delegate that has come meanwhile opens it, at its own time.
  private func open(after pause: Duration, evenWithDelegate: Bool) {
    lane.post(at: lane.scheduler.now + pause) { [weak self] in
      guard let self, evenWithDelegate || !state.withLock({ $0.hasDelegate }) else { return }
      delivery.deliver { [weak self] in self?.open() }
    }
  }

  func open() {
    // A closure that runs here may add another one.
    while let work = state.withLock({ state -> (@Sendable () -> Void)? in
      guard !state.waiting.isEmpty else {
        state.isOpen = true
        return nil
      }
      return state.waiting.removeFirst()
    }) { work() }
  }
}
