import KoineBase
import KoineRTP

/// Says where the frames of a VP9 picture are that has several spatial layers, in an index behind them (VP9 bitstream,
/// Annex B). RTP needs none, since its packets say where each begins (RFC 9628, 4.2: B); a decoder does.
enum VP9LayerIndex {
  private static let limit = 8
  /// Markers around eight sizes of four bytes.
  static let largest = 2 + limit * 4

  /// - Parameter packets: those of the picture, whose bytes `picture` holds.
  static func append(to picture: Bytes, _ packets: some Sequence<VideoPacket>) {
    // A frame never ends as an index does: the sender has written one.
    guard let last = picture.readable.last, last & 0xE0 != 0xC0 else { return }
    var sizes: [Int] = []
    for packet in packets {
      if packet.startsLayer || sizes.isEmpty { sizes.append(0) }
      sizes[sizes.count - 1] += packet.size
    }
    guard sizes.count <= limit else { return }
    let marker = 0xC0 | 3 << 3 | UInt8(sizes.count - 1)
    var index = [marker]
    for size in sizes { for shift in [0, 8, 16, 24] { index.append(UInt8(truncatingIfNeeded: size >> shift)) } }
    index.append(marker)
    index.withUnsafeBytes { _ = picture.append($0) }
  }
}
