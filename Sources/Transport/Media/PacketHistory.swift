import KoineBase
import KoineRTP

/// A packet of a stream, before its header is written: the payload is shared, everything else is this stream's own.
/// 48 bytes, because a router holds some for every receiver of every track.
struct StoredPacket {
  var payload: Bytes
  let extensions: StoredExtensions
  private var pictureID: UInt16 = 0
  let timestamp: UInt32
  private let storedTime: UInt32
  private var sentTime: UInt32 = 0
  private let start: UInt16
  private let count: UInt16
  let sequence: UInt16
  private var tl0PictureIndex: UInt8 = 0
  /// How often it has been sent in the five low bits, which stay at their highest value, then the marker, and which of the picture's
  /// numbers are replaced.
  private var state: UInt8 = 0

  private static let mostSent: UInt8 = 31
  private static let marked: UInt8 = 32, hasPictureID: UInt8 = 64, hasTL0PictureIndex: UInt8 = 128
  /// In nanoseconds: times are kept in this unit, and wrap after three days. They are compared over seconds.
  private static let timeUnit: Int64 = 62_500

  /// - Parameters:
  ///   - range: of the payload within its block, which is no larger than a datagram.
  ///   - numbers: where the payload's own are to be replaced.
  init(
    payload: Bytes, range: Range<Int>, sequence: UInt16, timestamp: UInt32, marker: Bool,
    extensions: StoredExtensions, numbers: FrameNumbers? = nil, at now: Tick
  ) {
    self.payload = payload
    start = UInt16(clamping: range.lowerBound)
    count = UInt16(clamping: range.count)
    self.sequence = sequence
    self.timestamp = timestamp
    self.extensions = extensions
    storedTime = Self.time(now)
    if marker { state |= Self.marked }
    if let id = numbers?.pictureID {
      pictureID = id
      state |= Self.hasPictureID
    }
    if let index = numbers?.tl0PictureIndex {
      tl0PictureIndex = index
      state |= Self.hasTL0PictureIndex
    }
  }

  private static func time(_ tick: Tick) -> UInt32 { UInt32(truncatingIfNeeded: tick.nanoseconds / timeUnit) }

  private static func nanoseconds(from time: UInt32, to now: Tick) -> Int64 {
    Int64(Int32(bitPattern: Self.time(now) &- time)) * timeUnit
  }

  var size: Int { Int(count) }
  var bytes: UnsafeRawBufferPointer { payload.readable.part(Int(start)..<Int(start) + Int(count)) }
  var marker: Bool { state & Self.marked != 0 }
  /// At most 31.
  var timesSent: UInt8 { state & Self.mostSent }

  /// Where the payload's own are to be replaced.
  var numbers: FrameNumbers? {
    guard state & (Self.hasPictureID | Self.hasTL0PictureIndex) != 0 else { return nil }
    return FrameNumbers(
      pictureID: state & Self.hasPictureID != 0 ? pictureID : nil,
      tl0PictureIndex: state & Self.hasTL0PictureIndex != 0 ? tl0PictureIndex : nil)
  }

  /// The time since it was stored.
  func age(at now: Tick) -> Duration { .nanoseconds(nanosecondsStored(at: now)) }
  fileprivate func nanosecondsStored(at now: Tick) -> Int64 { Self.nanoseconds(from: storedTime, to: now) }

  /// The time since it was last sent or queued to be sent again; nil if it has not been sent.
  func sinceSent(at now: Tick) -> Duration? {
    timesSent == 0 ? nil : .nanoseconds(Self.nanoseconds(from: sentTime, to: now))
  }

  fileprivate mutating func markSent(isQueued: Bool, at now: Tick) {
    sentTime = Self.time(now)
    if !isQueued, timesSent < Self.mostSent { state += 1 }
  }
}

/// The header extensions of a packet that are the same for all receivers. The others are written for each receiver.
struct StoredExtensions {
  private var captureTime: UInt64 = 0
  private var captureClockOffset: Int64 = 0
  private var audioLevel: Int8 = 0
  private var held = Held()

  private struct Held: OptionSet {
    let rawValue: UInt8
    static let captureTime = Held(rawValue: 1), captureClockOffset = Held(rawValue: 2), audioLevel = Held(rawValue: 4)
    static let voice = Held(rawValue: 8), quarterTurns = Held(rawValue: 16)
    /// The first bit of the quarter turns, 0...3.
    static let turnsShift: UInt8 = 5
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
      held.formUnion([.quarterTurns, Held(rawValue: (turns & 3) << Held.turnsShift)])
    }
  }

  var unpacked: HeaderExtensions {
    var result = HeaderExtensions()
    if held.contains(.captureTime) { result.absoluteCaptureTime = captureTime }
    if held.contains(.captureClockOffset) { result.captureClockOffset = captureClockOffset }
    if held.contains(.audioLevel) { result.audioLevel = audioLevel }
    result.voiceActivity = held.contains(.voice)
    if held.contains(.quarterTurns) { result.quarterTurns = held.rawValue >> Held.turnsShift & 3 }
    return result
  }
}

/// The last packets of one outgoing stream, for pacing and for retransmission (RFC 4585, 3.3): a ring over the sequence
/// number, so finding and forgetting cost nothing. Payloads are held by reference.
///
/// Bounded by age and by number. Up to `usual` packets, all that are younger than `lifetime` are kept; beyond that, in streams of more
/// than 500 packets a second, those of the last few round trips. As many packets as a receiver requests at a time
/// (`NackGenerator.limit`) are among them. The ring is allocated with the first packet, begins small, grows only while packets younger than
/// `lifetime` would be pushed out, and goes when the stream pauses, so that quiet streams cost little.
struct PacketHistory {
  /// How long a packet is kept for retransmission, unless newer packets push it out. Later no receiver can use it.
  static let lifetime = Duration.nanoseconds(lifetimeInNanoseconds)
  private static let lifetimeInNanoseconds: Int64 = 2_000_000_000
  private static let smallest = 32
  private static let usual = 1_024
  /// Packets leave the pacer in this time, unless the path's queue is too long.
  private static let pacing = Pacer.longestWait
  /// How many round trips of requests are answered at least.
  private static let answered = 4
  private static let shortestWindow = Duration.milliseconds(400)
  private var slots: [StoredPacket?] = []
  private let limit: Int
  /// Where forgetting goes on.
  private var oldest: UInt16?
  private var lastStored: Tick?
  /// How long packets beyond `usual` are kept, in nanoseconds.
  private var window = shortestWindow.nanoseconds

  /// - Parameter limit: a power of two, at least 32.
  init(limit: Int) { self.limit = limit }

  var capacity: Int { slots.count }

  /// - Parameter roundTrip: smoothed, because the ring never shrinks while the stream flows.
  mutating func measured(roundTrip: Duration) {
    window = min(max(Self.pacing + roundTrip * Self.answered, Self.shortestWindow), Self.lifetime).nanoseconds
  }

  /// Stores a packet; the blocks of those it pushes out, and of those that are too old by now, go back to `pool`.
  mutating func store(_ packet: consuming StoredPacket, pool: inout BytesPool, at now: Tick) {
    let sequence = packet.sequence
    if slots.isEmpty { slots = Array(repeating: nil, count: Self.smallest) }
    while slots.count < limit, let old = label(index(sequence), at: now), old.sequence != sequence,
      old.age < (slots.count < Self.usual ? Self.lifetimeInNanoseconds : window)
    {
      grow()
    }
    lastStored = now
    let slot = index(sequence)
    empty(slot, into: &pool)
    slots[slot] = consume packet
    forget(before: sequence, at: now, pool: &pool)
  }

  /// What tells a packet from others, and its age in nanoseconds; its block is not touched to read them.
  private func label(_ slot: Int, at now: Tick) -> (sequence: UInt16, age: Int64)? {
    slots[slot].map { ($0.sequence, $0.nanosecondsStored(at: now)) }
  }

  private mutating func empty(_ slot: Int, into pool: inout BytesPool) {
    guard let old = slots[slot].take() else { return }
    pool.give(old.payload)
  }

  /// Forgets everything if nothing has been stored for `lifetime`. Otherwise a stream that has paused would hold its last payloads for
  /// as long as the pause lasts.
  mutating func forgetPaused(at now: Tick, pool: inout BytesPool) {
    guard let lastStored, now - lastStored >= Self.lifetime else { return }
    for slot in slots.indices { empty(slot, into: &pool) }
    (slots, oldest, self.lastStored) = ([], nil, nil)
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
      if let old = label(slot, at: now), old.sequence == sequence {
        guard old.age >= Self.lifetimeInNanoseconds else { break }
        empty(slot, into: &pool)
      }
      sequence &+= 1
    }
    oldest = sequence
  }

  subscript(sequence: UInt16) -> StoredPacket? {
    guard !slots.isEmpty else { return nil }
    let slot = index(sequence)
    return slots[slot]?.sequence == sequence ? slots[slot] : nil
  }

  /// - Parameter isQueued: it is only about to be sent.
  mutating func markSent(_ sequence: UInt16, isQueued: Bool = false, at now: Tick) {
    guard !slots.isEmpty else { return }
    let slot = index(sequence)
    guard slots[slot]?.sequence == sequence else { return }
    slots[slot]?.markSent(isQueued: isQueued, at: now)
  }

  private func index(_ sequence: UInt16) -> Int { Int(sequence) & (slots.count - 1) }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: nil, count: old.count * 2)
    for case let packet? in old { slots[index(packet.sequence)] = packet }
  }
}
