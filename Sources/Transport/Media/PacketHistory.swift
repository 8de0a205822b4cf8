import KoineBase
import KoineRTP

/// A packet of a stream, before its header is written: the payload is shared, everything else is this stream's own.
struct StoredPacket {
  var payload: Bytes
  var range: Range<Int>
  var header: RTPHeader
  var extensions: HeaderExtensions
  var lastSent: Tick?
  var timesSent = 0
}

/// The last packets of one outgoing stream, for pacing and for retransmission (RFC 4585, 3.3): a ring over the sequence
/// number, so finding and forgetting cost nothing. Payloads are held by reference.
struct PacketHistory {
  private var slots: [StoredPacket?]
  private let mask: Int

  /// - Parameter capacity: a power of two.
  init(capacity: Int) {
    slots = Array(repeating: nil, count: capacity)
    mask = capacity - 1
  }

  /// Stores a packet and returns the payload it pushed out.
  mutating func store(_ packet: consuming StoredPacket) -> Bytes? {
    let index = Int(packet.header.sequence) & mask
    let old = slots[index]?.payload
    slots[index] = consume packet
    return old
  }

  subscript(sequence: UInt16) -> StoredPacket? {
    guard let packet = slots[Int(sequence) & mask], packet.header.sequence == sequence else { return nil }
    return packet
  }

  mutating func markSent(_ sequence: UInt16, at now: Tick) {
    let index = Int(sequence) & mask
    guard slots[index]?.header.sequence == sequence else { return }
    slots[index]?.lastSent = now
    slots[index]?.timesSent += 1
  }
}
