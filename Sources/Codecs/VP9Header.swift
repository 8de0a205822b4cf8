/// What the first bytes of a VP9 frame say of its size (VP9 bitstream, 6.2 and 7.2), and where the frames of one coded
/// picture are (Annex B).
///
/// A decoder makes room for a frame as soon as it has read its size. Not only key frames have one: any frame can begin
/// another size, up to sixteen times larger each way than the frames it refers to.
package enum VP9Header {
  package enum Size: Equatable, Sendable {
    /// As it says itself.
    case own(width: Int, height: Int)
    /// That of a frame it refers to, or shows again.
    case known
  }

  /// - Returns: nil if these bytes are no frame's beginning.
  package static func size(of frame: UnsafeRawBufferPointer) -> Size? {
    var bits = BitReader(frame)
    guard bits.read(2) == 2, let low = bits.read(1), let high = bits.read(1) else { return nil }
    let profile = high << 1 | low
    if profile == 3, bits.read(1) != 0 { return nil }
    guard let showsExisting = bits.read(1) else { return nil }
    if showsExisting == 1 { return bits.skip(3) ? .known : nil }
    guard let type = bits.read(1), let isShown = bits.read(1), let isResilient = bits.read(1) else { return nil }
    if type == 0 { return bits.readSync() && bits.skipColors(profile, isKey: true) ? bits.readSize() : nil }
    guard let isIntra = isShown == 1 ? 0 : bits.read(1), isResilient == 1 || bits.skip(2) else { return nil }
    if isIntra == 1 {
      guard bits.readSync(), bits.skipColors(profile, isKey: false), bits.skip(8) else { return nil }
      return bits.readSize()
    }
    // Skips the refresh flags and the three references. Then a flag per reference says whether the frame has its size.
    guard bits.skip(8 + 3 * 4) else { return nil }
    for _ in 0..<3 {
      guard let isFound = bits.read(1) else { return nil }
      if isFound == 1 { return .known }
    }
    return bits.readSize()
  }

  /// The frames of one coded picture: those that its index at the end names, or without one the picture itself.
  /// - Returns: nil where the index makes no sense.
  package static func frames(of picture: UnsafeRawBufferPointer) -> (ranges: [Range<Int>], hasIndex: Bool)? {
    guard let marker = picture.last else { return nil }
    guard marker & 0xE0 == 0xC0 else { return ([0..<picture.count], false) }
    let (count, width) = (Int(marker & 7) + 1, Int(marker >> 3 & 3) + 1)
    let start = picture.count - (2 + count * width)
    guard start >= 0, picture[start] == marker else { return nil }
    var ranges: [Range<Int>] = []
    var position = 0
    for number in 0..<count {
      let field = start + 1 + number * width
      let size = (0..<width).reduce(0) { $0 | Int(picture[field + $1]) << (8 * $1) }
      guard size > 0, size <= start - position else { return nil }
      ranges.append(position..<position + size)
      position += size
    }
    return (ranges, true)
  }

  /// Appends an index that names nothing but the frame of `size` bytes before it.
  static func appendIndex(ofOne size: Int, to picture: inout [UInt8]) {
    let marker: UInt8 = 0xC0 | 3 << 3  // one frame, its size in four bytes
    picture.append(marker)
    for shift in [0, 8, 16, 24] { picture.append(UInt8(truncatingIfNeeded: size >> shift)) }
    picture.append(marker)
  }
}

/// Reads from the highest bit of each byte on.
private struct BitReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// - Parameter count: 1...32.
  mutating func read(_ count: Int) -> Int? {
    guard position + count <= bytes.count * 8 else { return nil }
    var value = 0
    for _ in 0..<count {
      value = value << 1 | Int(bytes[position / 8] >> (7 - UInt8(position % 8)) & 1)
      position += 1
    }
    return value
  }

  mutating func skip(_ count: Int) -> Bool {
    guard position + count <= bytes.count * 8 else { return false }
    position += count
    return true
  }

  mutating func readSync() -> Bool { read(24) == 0x49_8342 }

  /// Depth, colour space and sampling; a frame of profile 0 that is no key frame has the usual ones.
  mutating func skipColors(_ profile: Int, isKey: Bool) -> Bool {
    guard isKey || profile > 0 else { return true }
    if profile >= 2, !skip(1) { return false }
    guard let space = read(3) else { return false }
    let hasSampling = profile == 1 || profile == 3
    if space != 7 { return skip(hasSampling ? 4 : 1) }
    return hasSampling && skip(1)
  }

  mutating func readSize() -> VP9Header.Size? {
    guard let width = read(16), let height = read(16) else { return nil }
    return .own(width: width + 1, height: height + 1)
  }
}
