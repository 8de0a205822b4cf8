/// Follows a 16-bit sequence number over its wraps (RFC 3711, 3.3.1, reads indices the same way).
package struct ExtendedSequence: Hashable, Sendable {
  private var highest: Int64?

  package init() {}

  /// The number in full, nearest to the highest so far.
  @inlinable package static func nearest(_ number: UInt16, to reference: Int64) -> Int64 {
    reference &+ Int64(Int16(truncatingIfNeeded: Int64(number) &- reference))
  }

  package mutating func extend(_ number: UInt16) -> Int64 {
    guard let highest else {
      self.highest = Int64(number) + 65_536  // room for what came out of order before the first
      return Int64(number) + 65_536
    }
    let full = Self.nearest(number, to: highest)
    self.highest = max(highest, full)
    return full
  }
}

/// Follows a 32-bit timestamp over its wraps.
package struct ExtendedTimestamp: Hashable, Sendable {
  private var latest: Int64?

  package init() {}

  package mutating func extend(_ timestamp: UInt32) -> Int64 {
    guard let latest else {
      self.latest = Int64(timestamp) + 1 << 32
      return Int64(timestamp) + 1 << 32
    }
    let full = latest &+ Int64(Int32(truncatingIfNeeded: Int64(timestamp) &- latest))
    self.latest = max(latest, full)
    return full
  }
}

/// 64-bit NTP time: seconds since 1900 and fractions of 2⁻³² s (RFC 5905).
package struct NTPTime: Hashable, Sendable {
  package var value: UInt64

  @inlinable package init(_ value: UInt64) { self.value = value }

  /// - Parameter nanoseconds: since 1900, or since any other start that both ends agree on.
  package init(nanoseconds: Int64) {
    let seconds = nanoseconds.dividedFloor(by: 1_000_000_000)
    let rest = UInt64(nanoseconds &- seconds &* 1_000_000_000)
    value = UInt64(truncatingIfNeeded: seconds) << 32 | (rest << 32) / 1_000_000_000
  }

  package var nanoseconds: Int64 {
    Int64(value >> 32) * 1_000_000_000 + Int64(((value & 0xFFFF_FFFF) * 1_000_000_000 + 0x8000_0000) >> 32)
  }

  /// The middle 32 bits, as reports carry them: units of 2⁻¹⁶ s.
  package var compact: UInt32 { UInt32(truncatingIfNeeded: value >> 16) }
}

extension Int64 {
  fileprivate func dividedFloor(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
