import KoineBase

/// What went out under which transport-wide number, until it is known what became of it.
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

  private static let smallest = 256
  private static let largest = 8192
  private static let memory = Duration.seconds(2)
  private static let nothing = Packet(number: -1, at: .zero, size: 0)
  private var slots: [Packet] = []
  private var next: Int64 = 1
  /// Everything before this has been judged.
  private var settled: Int64 = 1

  /// Gives a packet its number.
  mutating func add(size: Int, probe: UInt16, at now: Tick) -> UInt16 {
    if slots.isEmpty { slots = Array(repeating: Self.nothing, count: Self.smallest) }
    let old = slots[index(next)]
    if old.number >= 0, now - old.at < Self.memory, slots.count < Self.largest { grow() }
    slots[index(next)] = Packet(number: next, at: now, size: Int32(clamping: size), probe: probe)
    defer { next += 1 }
    return UInt16(truncatingIfNeeded: next)
  }

  /// The last number given; 0 before the first.
  var newest: Int64 { next - 1 }

  /// The full number nearest to the last one given.
  func full(_ number: UInt16) -> Int64 { next &+ Int64(Int16(truncatingIfNeeded: Int64(number) &- next)) }

  subscript(number: Int64) -> Packet? {
    guard number > 0, number < next else { return nil }
    let packet = slots[index(number)]
    return packet.number == number ? packet : nil
  }

  mutating func set(_ fate: Fate, of number: Int64) {
    if self[number] != nil { slots[index(number)].fate = fate }
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
    slots = Array(repeating: Self.nothing, count: old.count * 2)
    for packet in old where packet.number >= 0 { slots[index(packet.number)] = packet }
  }
}
