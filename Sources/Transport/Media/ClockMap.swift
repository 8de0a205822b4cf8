import KoineBase
import KoineRTP

// NTP times and RTP timestamps of others, as ticks of ours.

/// What this end writes as NTP time: its ticks, counted from the start of NTP's first era. Koine's programs on one machine
/// share the monotonic clock, so capture times come out exact between them; others only need a clock that runs evenly.
enum LocalClock {
  static func ntp(of tick: Tick) -> NTPTime { NTPTime(nanoseconds: tick.nanoseconds) }

  /// Seconds modulo 64 in 6.18 fixed point, as the extension for the time of sending has them.
  static func absoluteSendTime(at now: Tick) -> UInt32 {
    UInt32(truncatingIfNeeded: ntp(of: now).value >> 14) & 0xFF_FFFF
  }
}

/// How far the remote's NTP clock is from our ticks.
///
/// A sender report left when its NTP time says and came half a round trip later. The report that came quickest tells most;
/// older ones count less and less, because clocks drift. A difference below a second is the delay of the path: such a
/// remote shares our clock.
struct ClockMap {
  private var offset: Int64?  // ns; added to the remote's time it gives ours
  private static let sharedClockLimit: UInt64 = 1_000_000_000
  /// By how much an earlier measurement may have become wrong until the next report: 100 ppm of a few seconds.
  private static let drift: Int64 = 500_000

  mutating func reported(ntp: UInt64, roundTrip: Duration?, at now: Tick) {
    let apparent = now.nanoseconds &- NTPTime(ntp).nanoseconds &- ((roundTrip ?? .zero) / 2).nanoseconds
    guard let offset, (apparent &- offset).magnitude < 10 * Self.sharedClockLimit else {
      self.offset = apparent  // the first, or the clock was set
      return
    }
    self.offset = min(offset + Self.drift, apparent)
  }

  /// - Parameter ntp: nanoseconds of the remote's NTP time.
  /// - Returns: nil before the first sender report.
  func tick(ofNTP ntp: Int64) -> Tick? {
    guard let offset else { return nil }
    return Tick(nanoseconds: offset.magnitude < Self.sharedClockLimit ? ntp : ntp &+ offset)
  }
}

/// One stream's RTP clock against its sender's NTP clock, from sender reports (RFC 3550, 6.4.1).
struct StreamClock {
  private let clockRate: Int64
  private var anchor: (ntp: Int64, timestamp: UInt32)?

  init(clockRate: UInt32) { self.clockRate = Int64(max(clockRate, 1)) }

  mutating func reported(ntp: UInt64, timestamp: UInt32) {
    anchor = (NTPTime(ntp).nanoseconds, timestamp)
  }

  /// In nanoseconds of the sender's NTP time.
  func ntp(of timestamp: UInt32) -> Int64? {
    guard let anchor else { return nil }
    let difference = Int64(Int32(bitPattern: timestamp &- anchor.timestamp))
    return anchor.ntp &+ difference &* 1_000_000_000 / clockRate
  }
}
