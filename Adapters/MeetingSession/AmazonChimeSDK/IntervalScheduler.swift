import Koine

/// Does something at times that it decides.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/Scheduler.html)
public protocol Scheduler: AnyObject {
  func start()
  func stop()
}

/// Calls back at a steady interval, on a background thread, as in the vendor's SDK. In a test room it follows the room's clock.
///
/// Starting twice is once, and so is stopping. It ends with the last reference to it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IntervalScheduler.html)
public final class IntervalScheduler: Scheduler, @unchecked Sendable {  // `callback` is called on one lane only
  private let interval: Duration
  private let callback: () -> Void
  private let lane: Lane
  private let run = Lock((number: 0, isOn: false))

  /// - Parameter intervalMs: in milliseconds, at least 1. The first call comes one interval after the start.
  public init(intervalMs: Int, callback: @escaping () -> Void) {
    interval = .milliseconds(max(intervalMs, 1))
    self.callback = callback
    lane = MeetingEnvironment().lane.scheduler.lane("interval")
  }

  public func start() {
    let number = run.withLock { run -> Int? in
      guard !run.isOn else { return nil }
      run = (run.number + 1, true)
      return run.number
    }
    if let number { wait(until: lane.scheduler.now + interval, number) }
  }

  public func stop() { run.withLock { $0.isOn = false } }

  private func isRunning(_ number: Int) -> Bool { run.withLock { $0.isOn && $0.number == number } }

  private func wait(until due: Tick, _ number: Int) {
    lane.post(at: due) { [weak self] in
      guard let self, isRunning(number) else { return }
      callback()
      if isRunning(number) { wait(until: max(due + interval, lane.scheduler.now), number) }
    }
  }
}
