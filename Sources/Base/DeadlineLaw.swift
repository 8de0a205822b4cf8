import Glibc

/// The law that every sans-IO part keeps: after `handleTimeout(at: now)` and a complete drain of `poll` and events, its
/// deadline is nil or later than `now`. A part that breaks the law makes its loop spin.
///
/// Hosts and test harnesses call `check` where both have just happened. A violation is counted; where the environment says
/// `KOINE_DEADLINE_LAW=fatal`, as the test scripts do, it ends the process with its description.
package enum DeadlineLaw {
  private static let isFatal = getenv("KOINE_DEADLINE_LAW").map { String(cString: $0) } == "fatal"
  private static let counter = Lock(0)

  /// Violations in this process so far.
  package static var violations: Int { counter.withLock { $0 } }

  /// - Parameters:
  ///   - deadline: of the part, right after a timeout at `now` and a complete drain.
  ///   - reason: what the deadline waits for; evaluated only when the law is broken.
  /// - Returns: a description of the violation, or nil.
  @discardableResult
  package static func check(
    _ part: StaticString, deadline: Tick?, at now: Tick, because reason: @autoclosure () -> String
  ) -> String? {
    guard let deadline, deadline <= now else { return nil }
    counter.withLock { $0 += 1 }
    let violation =
      "\(part): deadline \(deadline.nanoseconds) ns is not later than now, \(now.nanoseconds) ns (\(reason()))"
    if isFatal { fatalError("law of deadlines: " + violation) }
    return violation
  }
}

/// Says which of several deadlines is the soonest, for logs and tests.
/// - Parameter deadlines: names with the deadlines they belong to; nil deadlines do not count.
package func soonestDeadline(_ deadlines: KeyValuePairs<String, Tick?>) -> String {
  let soonest = deadlines.reduce(nil) { ($0 as Tick?).sooner($1.value) }
  guard let soonest else { return "none" }
  return deadlines.first { $0.value == soonest }?.key ?? "none"
}
