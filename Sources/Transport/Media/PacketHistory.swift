import KoineBase
import KoineRTP

/// A packet of a stream, before its header is written: the payload is shared, everything else is this stream's own.
/// Small, because a router holds some for every receiver of every track.
struct StoredPacket {
  var payload: Bytes
  private var start: UInt16
  private var count: UInt16
  let sequence: UInt16
  let marker: Bool
  var timesSent: UInt8 = 0
  let timestamp: UInt32
  let extensions: StoredExtensions
  /// Where the payload's own are to be replaced.
  let numbers: FrameNumbers?
  let storedAt: Tick
  fileprivate(set) var lastSent: Tick?

  /// - Parameter range: of the payload within its block, which is no larger than a datagram.
  init(
    payload: Bytes, range: Range<Int>, sequence: UInt16, timestamp: UInt32, marker: Bool,
    extensions: StoredExtensions, numbers: FrameNumbers? = nil, at now: Tick
  ) {
    self.payload = payload
    start = UInt16(clamping: range.lowerBound)
    count = UInt16(clamping: range.count)
    self.sequence = sequence
    self.timestamp = timestamp
    self.marker = marker
    self.extensions = extensions
    self.numbers = numbers
    storedAt = now
  }

  var size: Int { Int(count) }
  /// What tells it from others; the block is not touched to read it.
  fileprivate var label: (sequence: UInt16, storedAt: Tick) { (sequence, storedAt) }
  var bytes: UnsafeRawBufferPointer { payload.readable.part(Int(start)..<Int(start) + Int(count)) }
}

/// The header extensions of a packet that are the same for all receivers. The others are written for each receiver.
struct StoredExtensions {
  private var captureTime: UInt64 = 0
  private var captureClockOffset: Int64 = 0
  private var audioLevel: Int8 = 0
  private var quarterTurns: UInt8 = 0
  private var held = Held()

  private struct Held: OptionSet {
    let rawValue: UInt8
    static let captureTime = Held(rawValue: 1), captureClockOffset = Held(rawValue: 2), audioLevel = Held(rawValue: 4)
    static let voice = Held(rawValue: 8), quarterTurns = Held(rawValue: 16)
  }

  init(_ extensions: HeaderExtensions) {
    if let time = extensions.absoluteCaptureTime {
      captureTime = time
      held.insert(.captureTime)
    }
    if let offset = extensions.captureClockOffset {
      captureClockOffset = offset
      held.insert(.captureClockOffset)
    }
    if let level = extensions.audioLevel {
      audioLevel = level
      held.insert(.audioLevel)
    }
    if extensions.voiceActivity { held.insert(.voice) }
    if let turns = extensions.quarterTurns {
      quarterTurns = turns
      held.insert(.quarterTurns)
    }
  }

  var unpacked: HeaderExtensions {
    var result = HeaderExtensions()
    if held.contains(.captureTime) { result.absoluteCaptureTime = captureTime }
    if held.contains(.captureClockOffset) { result.captureClockOffset = captureClockOffset }
    if held.contains(.audioLevel) { result.audioLevel = audioLevel }
    result.voiceActivity = held.contains(.voice)
    if held.contains(.quarterTurns) { result.quarterTurns = quarterTurns }
    return result
  }
}

/// The last packets of one outgoing stream, for pacing and for retransmission (RFC 4585, 3.3): a ring over the sequence
/// number, so finding and forgetting cost nothing. Payloads are held by reference.
///
/// Bounded by age and by number. The ring begins small and grows only while packets younger than `lifetime` would be
/// pushed out, so that quiet streams cost little.
struct PacketHistory {
  /// How long a packet is kept for retransmission, unless newer packets push it out. Later no receiver can use it.
  static let lifetime = Duration.seconds(2)
  private static let smallest = 32
  private var slots: [StoredPacket?] = Array(repeating: nil, count: smallest)
  private let limit: Int
  /// Where forgetting goes on.
  private var oldest: UInt16?

  /// - Parameter limit: a power of two, at least 32.
  init(limit: Int) { self.limit = limit }

  var capacity: Int { slots.count }

  /// Stores a packet; the blocks of those it pushes out, and of those that are too old by now, go back to `pool`.
  mutating func store(_ packet: consuming StoredPacket, pool: inout BytesPool) {
    let sequence = packet.sequence
    let now = packet.storedAt
    while slots.count < limit, let old = slots[index(sequence)]?.label, old.sequence != sequence,
      now - old.storedAt < Self.lifetime
    {
      grow()
    }
    let slot = index(sequence)
    empty(slot, into: &pool)
    slots[slot] = consume packet
    forget(before: sequence, at: now, pool: &pool)
  }

  private mutating func empty(_ slot: Int, into pool: inout BytesPool) {
    guard let old = slots[slot].take() else { return }
    pool.give(old.payload)
  }

  /// A few at a time, so that one packet never pays for many.
  private mutating func forget(before newest: UInt16, at now: Tick, pool: inout BytesPool) {
    guard var sequence = oldest else {
      oldest = newest
      return
    }
    if newest &- sequence >= UInt16(slots.count) { sequence = newest &- UInt16(slots.count - 1) }
    for _ in 0..<3 where sequence != newest {
      let slot = index(sequence)
      if let old = slots[slot]?.label, old.sequence == sequence {
        guard now - old.storedAt >= Self.lifetime else { break }
        empty(slot, into: &pool)
      }
      sequence &+= 1
    }
    oldest = sequence
  }

  subscript(sequence: UInt16) -> StoredPacket? {
    let slot = index(sequence)
    return slots[slot]?.sequence == sequence ? slots[slot] : nil
  }

  /// - Parameter isQueued: it is only about to be sent.
  mutating func markSent(_ sequence: UInt16, isQueued: Bool = false, at now: Tick) {
    let slot = index(sequence)
    guard slots[slot]?.sequence == sequence else { return }
    slots[slot]?.lastSent = now
    if !isQueued { slots[slot]?.timesSent &+= 1 }
  }

  private func index(_ sequence: UInt16) -> Int { Int(sequence) & (slots.count - 1) }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: nil, count: old.count * 2)
    for case let packet? in old { slots[index(packet.sequence)] = packet }
  }
}
