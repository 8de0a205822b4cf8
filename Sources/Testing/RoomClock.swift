import Dispatch
import Koine

/// A room's time, as Swift's concurrency wants it.
struct RoomClock: Clock {
  struct Instant: InstantProtocol {
    var tick: Tick
    func advanced(by duration: Duration) -> Instant { Instant(tick: tick + duration) }
    func duration(to other: Instant) -> Duration { other.tick - tick }
    static func < (a: Instant, b: Instant) -> Bool { a.tick < b.tick }
  }

  private let scheduler: Scheduler
  private let delivery: Delivery
  /// Counts the tasks that sleep on this clock; nil: they are not counted.
  private let sleepers: SleeperCount?

  init(_ scheduler: Scheduler, _ delivery: Delivery, sleepers: SleeperCount? = nil) {
    (self.scheduler, self.delivery, self.sleepers) = (scheduler, delivery, sleepers)
  }

  var now: Instant { Instant(tick: scheduler.now) }
  var minimumResolution: Duration { .nanoseconds(1) }

  /// Woken on the main queue, so that virtual time waits for what a sleeper does there.
  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let sleeper = Sleeper()
    sleepers?.add(1)
    defer { sleepers?.add(-1) }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard sleeper.fallAsleep(continuation) else { return continuation.resume() }
        _ = StrayCalls.$isExpected.withValue(true) {
          scheduler.lane("sleep").post(at: deadline.tick) { [delivery] in delivery.deliver { sleeper.wake() } }
        }
      }
    } onCancel: {
      sleeper.wake()
    }
    try Task.checkCancellation()
  }
}

/// Resumes its continuation exactly once: at the deadline or on cancellation, whichever is first.
private final class Sleeper: Sendable {
  private let state = Lock((continuation: CheckedContinuation<Void, Never>?.none, isAwake: false))

  /// - Returns: false if it was woken before.
  func fallAsleep(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
    state.withLock { state in
      guard !state.isAwake else { return false }
      state.continuation = continuation
      return true
    }
  }

  func wake() {
    let continuation = state.withLock { state in
      defer { state = (nil, true) }
      return state.continuation
    }
    continuation?.resume()
  }
}

/// Runs tasks' own code on the delivery queue, where virtual time waits for it.
final class RoomExecutor: TaskExecutor, Sendable {
  private let delivery: Delivery

  init(_ delivery: Delivery) { self.delivery = delivery }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    delivery.deliver { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// Returns once all queued jobs have run, and the jobs that they queue.
  func settle() async { await delivery.fence() }
}
