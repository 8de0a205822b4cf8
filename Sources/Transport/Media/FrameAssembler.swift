import KoineBase
import KoineRTP

/// Puts received video packets together into frames, in decoding order.
///
/// A frame is whole when all packets from its first to the marked one are there. It goes on when it follows the last one
/// without a gap in the sequence, or is a key frame. While a gap lasts, later frames wait for the retransmission; a whole
/// key frame behind the gap ends the wait, and after `patience` so does a frame that needs nothing of the gap.
///
///     waiting for a key frame ──→ flowing ⇄ blocked by a gap ── key frame, or frame that can do without ──→ flowing
struct FrameAssembler {
  /// The packets of a whole frame, which stay readable until `consume`.
  typealias Frame = ClosedRange<Int64>

  private static let smallest = 128
  private static let largest = 2048
  private var slots: [VideoPacket?] = Array(repeating: nil, count: smallest)
  private var continuity = FrameDependencyTracker()
  private var highest: Int64?
  /// The first sequence number that has not gone out; nil until the first key frame.
  private(set) var next: Int64?
  /// From `next` up to here all packets are of one frame.
  private var checked: Int64 = 0
  /// First packets of key frames that wait behind a gap, in rising order, and how far each has been checked.
  private var keyStarts: [(start: Int64, checked: Int64)] = []
  /// When a gap was found that has not been closed.
  private(set) var blockedSince: Tick? {
    didSet { if blockedSince == nil { (hasLookedBehindGap, newcomer) = (false, nil) } }
  }
  /// Whether all packets behind the gap have been looked at. From then on only a new packet can complete a frame.
  private var hasLookedBehindGap = false
  /// A packet that has arrived since.
  private var newcomer: Int64?
  /// Frames left out because what they refer to was lost.
  private(set) var skipped = 0

  /// How long a gap keeps frames waiting that could do without; a retransmission should have come by then.
  var patience = Duration.milliseconds(150)

  var isWaitingForKey: Bool { next == nil }
  /// Whether a key frame has begun to arrive that has not gone out.
  var hasKeyStart: Bool { !keyStarts.isEmpty }
  var capacity: Int { slots.count }

  /// When a frame may go on although nothing new has come.
  var deadline: Tick? { hasLookedBehindGap ? nil : blockedSince.map { $0 + patience } }

  /// Takes a packet; what came too late is dropped.
  mutating func insert(_ packet: VideoPacket) {
    let sequence = packet.sequence
    if let next, sequence < next { return }
    if let highest, sequence > highest + Int64(Self.largest / 2) { reset() }
    if let highest, sequence <= highest - Int64(Self.largest / 2) { return }
    if let next, sequence - next >= Int64(Self.largest) { giveUp(before: sequence) }
    let lowest = next ?? keyStarts.first?.start ?? highest ?? sequence
    while max(sequence, highest ?? sequence) - min(lowest, sequence) >= Int64(slots.count), slots.count < Self.largest {
      grow()
    }
    slots[index(sequence)] = packet
    highest = max(highest ?? sequence, sequence)
    if hasLookedBehindGap {
      if newcomer != nil { hasLookedBehindGap = false }  // two at once: everything is looked at again
      newcomer = sequence
    }
    if packet.info.startsKeyFrame, sequence != next { noteKeyStart(sequence) }
  }

  private mutating func noteKeyStart(_ sequence: Int64) {
    guard !keyStarts.contains(where: { $0.start == sequence }) else { return }
    let place = keyStarts.firstIndex { $0.start > sequence } ?? keyStarts.endIndex
    keyStarts.insert((sequence, sequence), at: place)
    if keyStarts.count > 8 { keyStarts.removeFirst() }
  }

  /// The next whole frame, or nil. `consume` it before asking again.
  mutating func nextFrame(at now: Tick) -> Frame? {
    if let frame = followingFrame() { return frame }
    if let frame = keyFrame() { return frame }
    guard next != nil, let highest, highest >= checked else {  // the rest of a frame is still on its way
      blockedSince = nil
      return nil
    }
    let since = blockedSince ?? now
    blockedSince = since
    guard now >= since + patience else { return nil }  // as the deadline has it, to the nanosecond
    defer { (hasLookedBehindGap, newcomer) = (true, nil) }
    guard hasLookedBehindGap else { return frameBehindGap() }
    return newcomer.flatMap { wholeFrame(around: $0 - 1) ?? wholeFrame(around: $0) }
  }

  func packet(_ sequence: Int64) -> VideoPacket? {
    guard let packet = slots[index(sequence)], packet.sequence == sequence else { return nil }
    return packet
  }

  /// The bytes of each spatial layer of a whole frame.
  func layerSizes(of frame: Frame) -> [Int] {
    var sizes: [Int] = []
    for case let packet? in frame.lazy.map(packet) {
      if packet.info.startsSpatialLayer || sizes.isEmpty { sizes.append(0) }
      sizes[sizes.count - 1] += packet.size
    }
    return sizes
  }

  /// Takes the frame, and what came before it, out.
  mutating func consume(_ frame: Frame) {
    if let packet = packet(frame.lowerBound) { continuity.decode(packet.info) }
    drop(through: frame.upperBound)
  }

  private mutating func drop(through last: Int64) {
    let from = max(next ?? .min, last - Int64(slots.count) + 1)
    // A slot may already hold a later packet: before the first frame it is unknown how far back the ring reaches.
    if from <= last { for sequence in from...last where packet(sequence) != nil { slots[index(sequence)] = nil } }
    next = last + 1
    checked = last + 1
    keyStarts.removeAll { $0.start <= last }
    blockedSince = nil
  }

  // MARK: In sequence

  private mutating func followingFrame() -> Frame? {
    while let start = next, let first = packet(start) {
      if first.isFiller {
        drop(through: start)
        continue
      }
      guard first.info.startsFrame else { return nil }
      guard let last = lastPacket(of: first, from: &checked) else { return nil }
      if isWhole(through: last), continuity.canFollow(first.info) { return start...last }
      skipped += 1
      drop(through: last)
    }
    return nil
  }

  /// - Parameter checked: where the search goes on, and is left when packets are missing.
  private func lastPacket(of first: VideoPacket, from checked: inout Int64) -> Int64? {
    var sequence = max(checked, first.sequence)
    while let packet = packet(sequence) {
      if packet.timestamp != first.timestamp, !packet.isFiller {
        checked = sequence
        return sequence - 1  // a router has gone on with another layer: the rest of the frame does not follow
      }
      if packet.endsFrame, !packet.isFiller {
        checked = sequence
        return sequence
      }
      sequence += 1
    }
    checked = sequence
    return nil
  }

  /// Whether a frame that ends with this packet has all of its packets: the last one is marked (RFC 7741, 4.1; RFC 9628, 4.1).
  private func isWhole(through last: Int64) -> Bool { packet(last)?.endsFrame ?? false }

  // MARK: Across a gap

  /// The first whole key frame.
  private mutating func keyFrame() -> Frame? {
    for place in keyStarts.indices {
      let start = keyStarts[place].start
      guard let first = packet(start) else { continue }
      if let last = lastPacket(of: first, from: &keyStarts[place].checked), isWhole(through: last) {
        return start...last
      }
    }
    return nil
  }

  /// The first whole frame behind the gap that needs nothing of it. Looks at each packet once.
  private mutating func frameBehindGap() -> Frame? {
    guard let next, let highest else { return nil }
    var sequence = next + 1
    while sequence <= highest {
      if let first = packet(sequence), first.info.startsFrame, continuity.canCrossGap(to: first.info) {
        if let last = lastPacket(of: first, from: &sequence), isWhole(through: last) {
          continuity.crossedGap()
          return first.sequence...last
        }
      }
      sequence += 1
    }
    return nil
  }

  /// The frame behind the gap that a packet is part of, if it is whole and needs nothing of the gap.
  private mutating func wholeFrame(around place: Int64) -> Frame? {
    guard let next, let packet = packet(place), packet.endsFrame || self.packet(place + 1) != nil else { return nil }
    var start = place
    while let packet = self.packet(start), !packet.info.startsFrame { start -= 1 }
    guard start > next, let first = self.packet(start), continuity.canCrossGap(to: first.info) else { return nil }
    guard let last = lastPacket(of: first, from: &start), isWhole(through: last) else { return nil }
    continuity.crossedGap()
    return first.sequence...last
  }

  // MARK: The ring

  private func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (slots.count - 1) }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: nil, count: old.count * 2)
    for case let packet? in old { slots[index(packet.sequence)] = packet }
  }

  /// The gap has become longer than the ring: what would close it has been overwritten, or would be. Only a key frame helps.
  private mutating func giveUp(before sequence: Int64) {
    keyStarts.removeAll { sequence - $0.start >= Int64(Self.largest) }
    (next, blockedSince) = (nil, nil)
  }

  private mutating func reset() {
    for index in slots.indices { slots[index] = nil }
    keyStarts.removeAll(keepingCapacity: true)
    (highest, next, blockedSince) = (nil, nil, nil)
  }
}
