/// Finds the sequence numbers of packets that later packets repeat (RFC 2198). A copy has a timestamp, and no number.
///
/// Usually the packets before it repeat in order, so the copy's place tells its number. But a sender that probes its path may send padding
/// between them, in packets with numbers and timestamps of the same stream, as libwebrtc does where it sends no video.
struct CopyNumbers {
  private struct Entry {
    var sequence: Int64
    var timestamp: UInt32
    var isPadding: Bool
  }

  /// How many numbers before a packet its copies may have.
  private static let reach = 16
  /// The packet with the number n is at n modulo `reach`. Empty before the first.
  private var entries: [Entry?] = []

  mutating func received(_ sequence: Int64, timestamp: UInt32, isPadding: Bool) {
    if entries.isEmpty { entries = Array(repeating: nil, count: Self.reach) }
    let place = Self.place(sequence)
    if let known = entries[place], known.sequence > sequence { return }
    entries[place] = Entry(sequence: sequence, timestamp: timestamp, isPadding: isPadding)
  }

  /// - Parameters:
  ///   - timestamp: of the copy.
  ///   - distance: how many copies of the packet are at least as new as this one.
  ///   - sequence: of the packet that carries the copy.
  /// - Returns: nil if the packet with this timestamp has come, or cannot have had a number.
  func number(of timestamp: UInt32, distance: Int, before sequence: Int64) -> Int64? {
    guard !entries.isEmpty else { return nil }
    var free: Int64?
    for number in stride(from: sequence - 1, to: sequence - Int64(Self.reach), by: -1) {
      guard let entry = entries[Self.place(number)], entry.sequence == number else {
        // The usual number, if it is free; else the lowest: padding comes after its packet.
        if free != sequence - Int64(distance) { free = number }
        continue
      }
      let ahead = Int32(bitPattern: entry.timestamp &- timestamp)
      if ahead == 0, !entry.isPadding { return nil }
      if ahead < 0 { break }
      if ahead > 0 { free = nil }  // the packet is before this one
    }
    return free
  }

  private static func place(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence & Int64(reach - 1)) }
}
