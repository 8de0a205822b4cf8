import KoineBase

/// What went out under which transport-wide number, until it is known what became of it.
///
/// A ring that grows only while a packet would be pushed out that reports may still name: one that has not been judged, or one of
/// the last judged ones. So its size follows the round trip and the bitrate.
struct SendHistory {
  enum Fate: UInt8 { case unknown, missing, arrived }

  struct Packet {
    let number: Int64
    let at: Tick
    let size: Int32
    /// The cluster it belongs to; 0 for most.
    var probe: UInt16 = 0
    var fate = Fate.unknown
  }

  /// A packet in 16 bytes, because a router holds some for every peer.
  private struct Slot {
    private let at: Tick
    /// The last 30 bits of the number, then the fate. 3, which is no fate, marks an empty slot.
    private var label: UInt32
    private let size: UInt16
    private let probe: UInt16

    static let empty = Slot(at: .zero, label: 3, size: 0, probe: 0)

    private init(at: Tick, label: UInt32, size: UInt16, probe: UInt16) {
      (self.at, self.label, self.size, self.probe) = (at, label, size, probe)
    }

    init(number: Int64, at: Tick, size: Int, probe: UInt16) {
      self.init(at: at, label: Self.label(number, .unknown), size: UInt16(clamping: size), probe: probe)
    }

    private static func label(_ number: Int64, _ fate: Fate) -> UInt32 {
      UInt32(truncatingIfNeeded: number) << 2 | UInt32(fate.rawValue)
    }

    private func holds(_ number: Int64) -> Bool {
      label & 3 != 3 && label >> 2 == UInt32(truncatingIfNeeded: number) & 0x3FFF_FFFF
    }

    func packet(_ number: Int64) -> Packet? {
      guard holds(number), let fate = Fate(rawValue: UInt8(label & 3)) else { return nil }
      return Packet(number: number, at: at, size: Int32(size), probe: probe, fate: fate)
    }

    mutating func set(_ fate: Fate, of number: Int64) { if holds(number) { label = Self.label(number, fate) } }
  }

  private static let smallest = 256
  private static let largest = 8192
  private static let memory = Duration.seconds(2)
  /// A report may name a packet that came later than those that were judged lost: this many of them at least are remembered.
  private static let repeatable: Int64 = 128
  private var slots: [Slot] = []
  private var next: Int64 = 1
  /// Everything before this has been judged.
  private var settled: Int64 = 1

  /// How many packets it has memory for.
  var capacity: Int { slots.count }

  /// Gives a packet its number.
  mutating func add(size: Int, probe: UInt16, at now: Tick) -> UInt16 {
    if slots.isEmpty { slots = Array(repeating: .empty, count: Self.smallest) }
    let oldest = next - Int64(slots.count)
    if oldest >= settled - Self.repeatable, slots.count < Self.largest, let old = self[oldest],
      now - old.at < Self.memory
    {
      grow()
    }
    slots[index(next)] = Slot(number: next, at: now, size: size, probe: probe)
    defer { next += 1 }
    return UInt16(truncatingIfNeeded: next)
  }

  /// The last number given; 0 before the first.
  var newest: Int64 { next - 1 }

  /// The full number nearest to the last one given.
  func full(_ number: UInt16) -> Int64 { next &+ Int64(Int16(truncatingIfNeeded: Int64(number) &- next)) }

  subscript(number: Int64) -> Packet? {
    guard number > 0, number < next, number >= next - Int64(slots.count) else { return nil }
    return slots[index(number)].packet(number)
  }

  mutating func set(_ fate: Fate, of number: Int64) {
    if self[number] != nil { slots[index(number)].set(fate, of: number) }
  }

  /// Judges packets sent before `limit`: those that reports have passed over by now are lost. Of those that no report has
  /// named, because reports get lost too, nothing is said.
  mutating func settle(before limit: Tick, _ body: (_ isLost: Bool) -> Void) {
    settled = max(settled, next - Int64(slots.count))
    while settled < next {
      if let packet = self[settled] {
        guard packet.at < limit else { return }
        if packet.fate != .unknown { body(packet.fate == .missing) }
      }
      settled += 1
    }
  }

  /// Leaves all packets sent so far that have not been judged out of the loss statistics.
  mutating func skipJudgement() { settled = next }

  private func index(_ number: Int64) -> Int { Int(truncatingIfNeeded: number) & (slots.count - 1) }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: .empty, count: old.count * 2)
    for number in max(next - Int64(old.count), 1)..<next {
      slots[index(number)] = old[Int(truncatingIfNeeded: number) & (old.count - 1)]
    }
  }
}
