import KoineBase
import KoineRTP

/// Puts received video packets together into frames, in decoding order.
///
/// A frame is whole when all packets from its first to the marked one are there. It goes on when it follows the last one
/// without a gap in the sequence, or is a key frame. While a gap lasts, later frames wait for the retransmission; a whole
/// key frame behind the gap ends the wait.
struct FrameAssembler {
  struct Packet {
    var datagram: Bytes
    /// Of the codec's own bytes.
    var range: Range<Int>
    var sequence: Int64
    var timestamp: UInt32
    var startsFrame: Bool
    var endsFrame: Bool
    var isKey: Bool
    var temporalLayer: UInt8
    var isDiscardable: Bool
    var extensions: HeaderExtensions
    var arrived: Tick
  }

  private static let capacity = 2048
  private var slots: [Packet?] = Array(repeating: nil, count: capacity)
  private var highest: Int64?
  /// The first sequence number that has not gone out; nil until the first key frame.
  private var next: Int64?
  /// Where a search for a first key frame begins.
  private var lowest: Int64?
  private(set) var blockedSince: Tick?

  /// Takes a packet; what came too late or far too early is dropped.
  mutating func insert(_ packet: Packet) {
    if let next, packet.sequence < next { return }
    if let highest, packet.sequence > highest + Int64(Self.capacity / 2) { reset() }
    if let highest, packet.sequence <= highest - Int64(Self.capacity) { return }
    slots[index(packet.sequence)] = packet
    highest = max(highest ?? packet.sequence, packet.sequence)
    lowest = min(lowest ?? packet.sequence, packet.sequence)
  }

  /// The next whole frame's packets, or nil.
  mutating func nextFrame(at now: Tick) -> [Packet]? {
    if let next, let frame = wholeFrame(at: next) {
      emit(frame)
      return frame
    }
    if let frame = newestKeyFrame() {
      emit(frame)
      return frame
    }
    if next != nil, let highest, let next, highest >= next {
      blockedSince = blockedSince ?? now
    } else {
      blockedSince = nil
    }
    return nil
  }

  /// The oldest sequence number whose retransmission is still worth anything.
  var isWaitingForKey: Bool { next == nil }

  private mutating func emit(_ frame: [Packet]) {
    guard let last = frame.last else { return }
    let from = min(next ?? lowest ?? last.sequence, last.sequence)
    for sequence in max(from, last.sequence - Int64(Self.capacity) + 1)...last.sequence { slots[index(sequence)] = nil }
    next = last.sequence + 1
    lowest = next
    blockedSince = nil
  }

  private func wholeFrame(at start: Int64) -> [Packet]? {
    guard let first = packet(start), first.startsFrame else { return nil }
    var frame: [Packet] = []
    var sequence = start
    while let packet = packet(sequence), packet.timestamp == first.timestamp {
      frame.append(packet)
      if packet.endsFrame { return frame }
      sequence += 1
    }
    return nil
  }

  /// A whole key frame behind a gap, the newest there is.
  private func newestKeyFrame() -> [Packet]? {
    guard let highest, let lowest else { return nil }
    var sequence = highest
    while sequence >= max(lowest, highest - Int64(Self.capacity) + 1) {
      if let packet = packet(sequence), packet.startsFrame, packet.isKey, let frame = wholeFrame(at: sequence) {
        return frame
      }
      sequence -= 1
    }
    return nil
  }

  private func packet(_ sequence: Int64) -> Packet? {
    guard let packet = slots[index(sequence)], packet.sequence == sequence else { return nil }
    return packet
  }

  private func index(_ sequence: Int64) -> Int { Int(truncatingIfNeeded: sequence) & (Self.capacity - 1) }

  private mutating func reset() {
    for index in slots.indices { slots[index] = nil }
    (highest, next, lowest, blockedSince) = (nil, nil, nil, nil)
  }
}
