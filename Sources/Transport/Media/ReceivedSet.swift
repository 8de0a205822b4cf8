/// Which of the last 1,024 sequence numbers have come.
struct ReceivedSet {
  static let window: Int64 = 1024
  private var newest: Int64?
  private var bits = [UInt64](repeating: 0, count: 16)

  /// - Returns: false if it has come before, or is too old to tell.
  mutating func insert(_ sequence: Int64) -> Bool {
    let last = newest ?? sequence - 1
    if sequence > last {
      if sequence - last >= Self.window {
        for index in bits.indices { bits[index] = 0 }
      } else {
        for passed in (last + 1)...sequence { clear(passed) }
      }
      newest = sequence
    } else if last - sequence >= Self.window {
      return false
    }
    let (word, bit) = place(sequence)
    guard bits[word] & bit == 0 else { return false }
    bits[word] |= bit
    return true
  }

  private mutating func clear(_ sequence: Int64) {
    let (word, bit) = place(sequence)
    bits[word] &= ~bit
  }

  private func place(_ sequence: Int64) -> (word: Int, bit: UInt64) {
    let index = Int(truncatingIfNeeded: sequence & (Self.window - 1))
    return (index >> 6, 1 << UInt64(index & 63))
  }
}
