/// A point on the engine's clock, in nanoseconds since a start that only its `Scheduler` knows.
///
/// Every sans-IO part takes ticks and never asks for the time itself. Arithmetic wraps like a monotonic counter that
/// would need 292 years to do so, so that no input can trap.
public struct Tick: Hashable, Comparable, Sendable, Codable {
  /// Nanoseconds since the clock's own zero.
  public var nanoseconds: Int64

  /// Creates a time.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The clock's own zero.
  public static let zero = Tick(nanoseconds: 0)

  @inlinable public static func < (a: Tick, b: Tick) -> Bool { a.nanoseconds < b.nanoseconds }
  /// Adds a duration to a time.
  @inlinable public static func + (a: Tick, b: Duration) -> Tick { Tick(nanoseconds: a.nanoseconds &+ b.nanoseconds) }
  /// Subtracts a duration from a time.
  @inlinable public static func - (a: Tick, b: Duration) -> Tick { Tick(nanoseconds: a.nanoseconds &- b.nanoseconds) }
  /// The duration from `b` to `a`.
  @inlinable public static func - (a: Tick, b: Tick) -> Duration {
    // `Duration.nanoseconds(_:)` is a call into the standard library, which checks the product of 128 bits. It cannot overflow.
    Duration(attoseconds: Int128(a.nanoseconds &- b.nanoseconds) &* 1_000_000_000)
  }
  /// Moves a time by a duration.
  @inlinable public static func += (a: inout Tick, b: Duration) { a = a + b }
}

extension Tick {
  /// Work that is done once a second for each room, and need not be exact, is due at multiples of this interval: one turn of a loop
  /// then does it for many.
  package struct TurnInterval: Sendable {
    fileprivate let nanoseconds: Int64
    package static let sharedTurn = TurnInterval(nanoseconds: 50_000_000)
  }

  /// The first multiple of the interval that is not before this time.
  package func roundedUp(to interval: TurnInterval) -> Tick {
    let rest = nanoseconds % interval.nanoseconds
    return rest <= 0
      ? Tick(nanoseconds: nanoseconds &- rest) : Tick(nanoseconds: nanoseconds &+ interval.nanoseconds &- rest)
  }
}

extension Tick: CustomStringConvertible {
  /// In seconds, as `16.165 s`.
  public var description: String {
    let (seconds, fraction) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let milliseconds = String(fraction.magnitude / 1_000_000)
    let sign = nanoseconds < 0 ? "-" : ""
    return "\(sign)\(seconds.magnitude)." + String(repeating: "0", count: 3 - milliseconds.count) + milliseconds + " s"
  }
}

extension Duration {
  /// The whole duration in nanoseconds; beyond ±292 years it saturates.
  @inlinable public var nanoseconds: Int64 {
    // Durations below 9 s, which are the most, and those below an hour need no division of 128 bits. `Int64(exactly:)` is a call.
    let whole = self.attoseconds
    let short = Int64(truncatingIfNeeded: whole)
    if Int128(short) == whole { return short / 1_000_000_000 }
    let long = Int64(truncatingIfNeeded: whole >> 9)
    if whole > 0, Int128(long) == whole >> 9 { return long / (1_000_000_000 >> 9) }
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
  }

  /// The whole duration in seconds, for figures people read.
  @inlinable public var inSeconds: Double { Double(nanoseconds) / 1e9 }
  /// The whole duration in milliseconds, for figures people read.
  @inlinable public var inMilliseconds: Double { Double(nanoseconds) / 1e6 }

  /// Whole milliseconds, exact at any length; the rest is cut off.
  package var inWholeMilliseconds: Int {
    Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}

extension Optional where Wrapped == Tick {
  /// Folds two deadlines into the sooner one; nil means "never".
  @inlinable public func sooner(_ other: Tick?) -> Tick? {
    guard let self else { return other }
    guard let other else { return self }
    return Swift.min(self, other)
  }
}
