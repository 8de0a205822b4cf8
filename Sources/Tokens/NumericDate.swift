import Glibc

/// Seconds since 1970-01-01 UTC (RFC 7519 section 2). The caller of a token check passes the current time.
public struct NumericDate: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
  /// Finite, within ±2^53.
  public let seconds: Double

  /// Creates a date from seconds since 1970.
  /// - Parameter seconds: a value beyond ±2^53 becomes the nearest bound, and NaN becomes the lower bound.
  public init(_ seconds: Double) {
    let bound = 9_007_199_254_740_992.0
    self.seconds = seconds.isNaN ? -bound : min(max(seconds, -bound), bound)
  }

  /// What the machine's clock says, for callers that have no other.
  public static func ofSystemClock() -> NumericDate {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return NumericDate(Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let seconds = try container.decode(Double.self)
    guard abs(seconds) <= 9_007_199_254_740_992 else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time")
    }
    self.init(seconds)
  }

  /// Whole seconds are written as an integer: not every reader takes fractions.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if seconds == seconds.rounded() { try container.encode(Int64(seconds)) } else { try container.encode(seconds) }
  }

  public static func < (one: NumericDate, other: NumericDate) -> Bool { one.seconds < other.seconds }

  /// Adds seconds to a date.
  /// - Parameter seconds: negative goes back.
  public static func + (date: NumericDate, seconds: Double) -> NumericDate { NumericDate(date.seconds + seconds) }

  public var description: String { "\(seconds) s" }
}
