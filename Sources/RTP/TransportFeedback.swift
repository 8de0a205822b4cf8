/// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): when each packet of a connection came.
package struct TransportFeedback: Hashable, Sendable {
  package var sender: UInt32
  package var media: UInt32
  /// The first sequence number reported on.
  package var base: UInt16
  /// 24 bits, in units of 64 ms.
  package var referenceTime: UInt32
  /// Counts feedback packets.
  package var number: UInt8
  /// For each packet from `base` on: nil if it has not come; else its arrival after the one before (the first: after
  /// the reference time), in units of 250 µs.
  package var deltas: [Int16?]

  package init(sender: UInt32, media: UInt32, base: UInt16, referenceTime: UInt32, number: UInt8, deltas: [Int16?]) {
    self.sender = sender
    self.media = media
    self.base = base
    self.referenceTime = referenceTime
    self.number = number
    self.deltas = deltas
  }

  private enum Symbol { static let missing: UInt16 = 0, small: UInt16 = 1, large: UInt16 = 2 }

  /// The most packets that all reports of a datagram may name. A run of two bytes claims up to 8,191 packets, so without a bound a
  /// small datagram causes much work. No sender has more packets than this under way.
  package static let limit = 8_192

  /// - Parameter limit: the most packets that it may name.
  init?(sender: UInt32, media: UInt32, limit: Int, _ content: UnsafeRawBufferPointer) {
    guard let base = content.uint16(at: 0), let count = content.uint16(at: 2), let reference = content.uint24(at: 4),
      let number = content.byte(at: 7), count <= limit
    else { return nil }
    var symbols: [UInt16] = []
    symbols.reserveCapacity(min(Int(count), 512) + 14)
    var offset = 8
    while symbols.count < Int(count) {
      guard let chunk = content.uint16(at: offset) else { return nil }
      offset += 2
      if chunk & 0x8000 == 0 {
        let run = min(Int(chunk & 0x1FFF), Int(count) - symbols.count)
        guard run > 0 else { return nil }
        symbols.append(contentsOf: repeatElement(chunk >> 13 & 3, count: run))
      } else if chunk & 0x4000 == 0 {
        for bit in (0..<14).reversed() { symbols.append(chunk >> UInt16(bit) & 1) }
      } else {
        for pair in (0..<7).reversed() { symbols.append(chunk >> UInt16(2 * pair) & 3) }
      }
    }
    var deltas: [Int16?] = []
    deltas.reserveCapacity(Int(count))
    for symbol in symbols.prefix(Int(count)) {
      switch symbol {
      case Symbol.small:
        guard let delta = content.byte(at: offset) else { return nil }
        deltas.append(Int16(delta))
        offset += 1
      case Symbol.large:
        guard let delta = content.uint16(at: offset) else { return nil }
        deltas.append(Int16(bitPattern: delta))
        offset += 2
      case Symbol.missing: deltas.append(nil)
      default: return nil
      }
    }
    self.init(sender: sender, media: media, base: base, referenceTime: reference, number: number, deltas: deltas)
  }

  func write(to writer: inout ByteWriter) {
    let deltas = deltas.prefix(Self.limit)
    writer.write(base)
    writer.write(UInt16(deltas.count))
    writer.write24(referenceTime & 0xFF_FFFF)
    writer.write(number)
    var index = 0
    while index < deltas.count { index += Self.writeChunk(deltas[index...], to: &writer) }
    for case let delta? in deltas {
      if (0...255).contains(delta) { writer.write(UInt8(delta)) } else { writer.write(UInt16(bitPattern: delta)) }
    }
  }

  /// Writes the chunk that says most of what comes first in `deltas`: a run of one symbol, or a vector of 14 symbols of
  /// one bit or 7 of two.
  /// - Returns: how many symbols it holds.
  private static func writeChunk(_ deltas: ArraySlice<Int16?>, to writer: inout ByteWriter) -> Int {
    let symbol = symbol(deltas.first ?? nil)
    let run = deltas.prefix(0x1FFF).prefix { Self.symbol($0) == symbol }.count
    let fitsOneBit = !deltas.prefix(14).contains { Self.symbol($0) == Symbol.large }
    let vector = deltas.prefix(fitsOneBit ? 14 : 7)
    guard run < vector.count else {
      writer.write(symbol << 13 | UInt16(run))
      return run
    }
    var chunk: UInt16 = fitsOneBit ? 0x8000 : 0xC000
    for (slot, delta) in vector.enumerated() {
      chunk |= Self.symbol(delta) << UInt16(fitsOneBit ? 13 - slot : 12 - 2 * slot)
    }
    writer.write(chunk)
    return vector.count
  }

  private static func symbol(_ delta: Int16?) -> UInt16 {
    guard let delta else { return Symbol.missing }
    return (0...255).contains(delta) ? Symbol.small : Symbol.large
  }
}
