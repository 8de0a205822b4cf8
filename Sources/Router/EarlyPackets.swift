import KoineBase
import KoineTransport

/// Packets of a video track that came while a receiver waited for a key frame.
///
/// The first packet of that key frame may come after packets that belong behind it: networks reorder packets, and a lost one comes again a
/// round trip later. A receiver then begins with the key frame and gets the others after it. Otherwise they would be gone for good, and
/// the receiver would have to ask for another key frame.
struct EarlyPackets {
  private static let limit = 256
  /// A packet that came earlier before the key frame has no use: retransmissions take less time.
  private static let longest = Duration.milliseconds(500)
  private var packets: ContiguousArray<(item: ForwardingItem, at: Tick)> = []

  var isEmpty: Bool { packets.isEmpty }

  mutating func add(_ item: ForwardingItem, at now: Tick) {
    if packets.count == Self.limit { packets.removeFirst(Self.limit / 2) }
    packets.append((item, now))
  }

  mutating func removeAll() { packets.removeAll(keepingCapacity: true) }

  /// Removes and returns the packets that belong behind the first packet of a key frame, in order. Each is handed on once, however many
  /// such packets a publisher sends.
  mutating func take(behind first: ForwardingItem, at now: Tick) -> [ForwardingItem] {
    guard !packets.isEmpty else { return [] }
    var taken: [ForwardingItem] = []
    packets.removeAll { item, at in
      if now - at > Self.longest { return true }
      guard item.packet.layer == first.packet.layer, item.stretch == first.stretch,
        item.numbers.sequence > first.numbers.sequence
      else { return false }
      taken.append(item)
      return true
    }
    return taken.sorted { $0.numbers.sequence < $1.numbers.sequence }
  }
}
