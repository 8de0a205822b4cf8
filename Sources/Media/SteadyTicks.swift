/// Calls a closure on a lane at a fixed interval, without drift. After a standstill it continues from the current time,
/// without a burst. After `stop`, no further call begins.
final class SteadyTicks: Sendable {
  private let running = Lock(0)

  /// - Parameter body: gets the number of the tick and the time at which it was due.
  func start(every interval: Duration, on lane: Lane, _ body: @escaping @Sendable (_ number: Int, _ due: Tick) -> Void)
  {
    let run = running.withLock { running in
      running += 1
      return running
    }
    let start = lane.scheduler.now
    lane.post { [weak self] in self?.tick(0, start, run, interval, lane, body) }
  }

  func stop() { running.withLock { $0 += 1 } }

  private func tick(
    _ number: Int, _ start: Tick, _ run: Int, _ interval: Duration, _ lane: Lane,
    _ body: @escaping @Sendable (Int, Tick) -> Void
  ) {
    guard running.withLock({ $0 }) == run else { return }
    body(number, start + interval * number)
    let now = lane.scheduler.now
    let missed = Int((now - start).nanoseconds / max(interval.nanoseconds, 1))
    let next = missed - number > 3 ? missed + 1 : number + 1
    lane.post(at: start + interval * next) { [weak self] in self?.tick(next, start, run, interval, lane, body) }
  }
}
