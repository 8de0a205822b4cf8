/// Which packet indexes of one source were seen, over the last 1,024 (RFC 3711 section 3.3.2), and the guess of a full
/// index from a sequence number (section 3.3.1).
///
/// Used when sending too: sealing two packets under one index would give the authentication key of GCM away.
struct ReplayWindow {
  static let size: UInt64 = 1024

  /// The highest index so far; for RTP 2¹⁶ × roll-over counter + sequence number.
  private(set) var highest: UInt64 = 0
  private var isEmpty = true
  /// Bit `index % 1024`.
  private var seen = [16 of UInt64](repeating: 0)

  /// The index nearest to the highest one that ends in this sequence number. A source is taken to begin with a
  /// roll-over count of zero; senders do well to start in the lower half (RFC 3711 section 3.3.1).
  @inline(__always)
  func index(of sequence: UInt16) -> UInt64 {
    let sequence = UInt64(sequence)
    guard !isEmpty else { return sequence }
    let rollOver = highest & ~0xFFFF
    let last = highest & 0xFFFF
    if last < 0x8000 {
      let isBefore = sequence > last + 0x8000
      return isBefore && rollOver > 0 ? rollOver - 0x1_0000 + sequence : rollOver + sequence
    }
    return last - 0x8000 > sequence ? rollOver + 0x1_0000 + sequence : rollOver + sequence
  }

  /// Throws unless the index is new and not older than the window.
  @inline(__always)
  func check(_ index: UInt64) throws(SRTPError) {
    if isEmpty || index > highest { return }
    if highest - index >= Self.size { throw .tooOld }
    if seen[Self.word(index)] & Self.bit(index) != 0 { throw .replayed }
  }

  /// Notes an index that `check` let pass and that proved authentic.
  @inline(__always)
  mutating func insert(_ index: UInt64) {
    if index > highest {
      if isEmpty || index - highest >= Self.size {
        seen = [16 of UInt64](repeating: 0)
      } else {
        var skipped = highest + 1
        while skipped <= index {
          seen[Self.word(skipped)] &= ~Self.bit(skipped)
          skipped += 1
        }
      }
      highest = index
    }
    isEmpty = false
    seen[Self.word(index)] |= Self.bit(index)
  }

  @inline(__always) private static func word(_ index: UInt64) -> Int { Int(truncatingIfNeeded: index >> 6 & 15) }
  @inline(__always) private static func bit(_ index: UInt64) -> UInt64 { 1 << (index & 63) }
}

/// One replay window per source. Packets come in runs of one source, so the last one used is found without a search.
struct ReplayWindows {
  /// No honest peer has more sources; each costs about 150 bytes.
  static let limit = 8192

  private var slots: [UInt32: Int] = [:]
  private var windows: ContiguousArray<ReplayWindow> = []
  private var lastSource: UInt32 = 0
  private var lastSlot = -1

  /// Where the window of this source stands, or nil if it has none yet.
  @inline(__always)
  mutating func slot(of source: UInt32) -> Int? {
    if lastSlot >= 0, lastSource == source { return lastSlot }
    guard let slot = slots[source] else { return nil }
    (lastSource, lastSlot) = (source, slot)
    return slot
  }

  /// Adds a window for a source that has none. Called only once a packet of it proved authentic, or when sending.
  mutating func add(_ source: UInt32) throws(SRTPError) -> Int {
    guard windows.count < Self.limit else { throw .tooManySources }
    let slot = windows.count
    windows.append(ReplayWindow())
    slots[source] = slot
    (lastSource, lastSlot) = (source, slot)
    return slot
  }

  @inline(__always)
  subscript(slot: Int) -> ReplayWindow {
    _read { yield windows[slot] }
    _modify { yield &windows[slot] }
  }
}
