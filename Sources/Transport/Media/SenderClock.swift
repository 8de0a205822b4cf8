import KoineBase
import KoineRTP

/// Translates a sender's RTP timestamps into ticks of ours, from sender reports (RFC 3550, 6.4.1).
///
/// Koine's programs on one machine write the shared monotonic clock as NTP time, so capture times come out exact.
struct SenderClock {
  private var anchor: (ntp: Int64, timestamp: UInt32)?

  /// What this end writes as NTP time.
  static func ntp(of tick: Tick) -> NTPTime { NTPTime(nanoseconds: tick.nanoseconds) }
  static func tick(ofNTP value: UInt64) -> Tick { Tick(nanoseconds: NTPTime(value).nanoseconds) }

  mutating func reported(ntp: UInt64, timestamp: UInt32, clockRate: UInt32) {
    anchor = (NTPTime(ntp).nanoseconds, timestamp)
  }

  func tick(of timestamp: UInt32, clockRate: UInt32) -> Tick? {
    guard let anchor else { return nil }
    let difference = Int64(Int32(bitPattern: timestamp &- anchor.timestamp))
    return Tick(nanoseconds: anchor.ntp &+ difference &* 1_000_000_000 / Int64(clockRate))
  }
}
