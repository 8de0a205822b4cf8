/// Media that cross the whole transport without a codec. The sender sends a ticket. The receiver exchanges the ticket for
/// the original video frame or audio block.
///
/// For tests of signalling and transport, where encoding would take nearly all of the time. All worlds of a backend inside
/// the process share one instance. A ticket that arrives later than `keeping` may find no frame, as if decoding had failed.
/// Safe from any thread.
public final class StampedMedia: Sendable {
  private struct Shelf<Item: Sendable>: Sendable {
    var first: UInt64 = 1
    var items: [(item: Item, at: Tick)] = []

    mutating func put(_ item: Item, at now: Tick) -> UInt64 {
      if items.count >= 64 { drop(before: now - StampedMedia.keeping) }
      items.append((item, now))
      return first + UInt64(items.count) - 1
    }

    private mutating func drop(before limit: Tick) {
      let kept = max(items.firstIndex { $0.at >= limit } ?? items.count, items.count - 1_000)
      first += UInt64(kept)
      items.removeFirst(kept)
    }

    subscript(_ ticket: UInt64) -> Item? {
      guard ticket >= first, ticket - first < items.count else { return nil }
      return items[Int(ticket - first)].item
    }
  }

  private static let keeping = Duration.seconds(2)
  private let pictures = Lock(Shelf<VideoFrame>())
  private let sounds = Lock(Shelf<AudioBlock>())

  /// Creates an exchange without media.
  public init() {}

  // MARK: Pictures

  /// Returns a ticket for the frame. Its first bytes are a VP8 frame header (RFC 6386, 9.1), which peers and routers read.
  package func stamp(_ frame: VideoFrame, isKey: Bool) -> Bytes {
    let ticket = pictures.withLock { $0.put(frame, at: frame.captured) }
    let tag = UInt32(MemoryLayout<UInt64>.size) << 5 | 1 << 4 | (isKey ? 0 : 1)
    var bytes = (0..<3).map { UInt8(truncatingIfNeeded: tag >> (8 * $0)) }
    if isKey {
      bytes += [0x9D, 0x01, 0x2A]
      for side in [frame.width, frame.height] {
        bytes += [UInt8(truncatingIfNeeded: side), UInt8(truncatingIfNeeded: side >> 8 & 0x3F)]
      }
    }
    return Bytes(bytes + Self.write(ticket))
  }

  package func picture(_ bytes: UnsafeRawBufferPointer) -> VideoFrame? {
    guard let head = bytes.first, let ticket = Self.read(bytes, at: head & 1 == 0 ? 10 : 3) else { return nil }
    return pictures.withLock { $0[ticket] }
  }

  // MARK: Sound

  /// How much sound one packet stands for.
  package static let soundDuration = Duration.milliseconds(100)
  /// Five Opus frames of 20 ms and equal size (RFC 6716, 3.2.5), so that a router knows how long they last.
  private static let soundHead: [UInt8] = [0x7B, 0x05]

  package func stamp(_ block: AudioBlock) -> Bytes {
    let ticket = sounds.withLock { $0.put(block, at: block.captured) }
    return Bytes(Self.soundHead + Self.write(ticket) + [0, 0])
  }

  package func sound(_ bytes: UnsafeRawBufferPointer) -> AudioBlock? {
    guard let ticket = Self.read(bytes, at: Self.soundHead.count) else { return nil }
    return sounds.withLock { $0[ticket] }
  }

  private static func write(_ ticket: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: ticket >> (56 - 8 * $0)) }
  }

  private static func read(_ bytes: UnsafeRawBufferPointer, at start: Int) -> UInt64? {
    guard bytes.count >= start + 8 else { return nil }
    return bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
  }
}
