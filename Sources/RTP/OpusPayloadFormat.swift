/// Opus over RTP (RFC 7587).
enum OpusPayloadFormat: PayloadFormat {
  static let payloadType: UInt8 = 111
  static let rtxPayloadType: UInt8 = 112
  static let announcedParameters: String? = "minptime=10;useinbandfec=1"

  /// How many frames of 20 ms a packet stands for; 1 for a packet that does not say so (RFC 6716, 3.1 and 3.2.5).
  static func framesOf20ms(in bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count >= 2, bytes[0] & 3 == 3, let packet = try? OpusPayload(parsing: bytes) else { return 1 }
    return max(1, packet.duration / 960)
  }
}

/// What an Opus packet says of itself without being decoded. It is the RTP payload as it stands (RFC 7587, section 4.2);
/// its form is that of RFC 6716, section 3.
package struct OpusPayload: Hashable, Sendable {
  package enum Bandwidth: Int, Sendable { case narrow, medium, wide, superWide, full }

  package let bandwidth: Bandwidth
  package let isStereo: Bool
  package let frameCount: Int
  /// Duration of each frame in samples at 48 kHz. The RTP clock is 48 kHz at every sample rate of the coder (RFC 7587, section 4.1).
  package let frameDuration: Int
  /// Every frame is empty or a single byte: the talker is silent and the sender keeps quiet (RFC 6716, 3.1; RFC 7587, 3.1.3).
  package let isDiscontinuous: Bool

  /// Duration of the whole packet in samples at 48 kHz: at most 5,760, which is 120 ms.
  package var duration: Int { frameCount * frameDuration }

  private static let longestFrame = 1_275
  private static let longestPacket = 5_760

  /// Checks all of the requirements R1 to R7 of RFC 6716, section 3.4.
  package init(parsing bytes: UnsafeRawBufferPointer) throws(RTPError) {
    guard let head = bytes.byte(at: 0) else { throw .truncated }
    let configuration = Int(head >> 3)
    (bandwidth, frameDuration) = Self.shape(configuration)
    isStereo = head & 0x04 != 0
    var frames = Frames(bytes: bytes, offset: 1, end: bytes.count)
    switch head & 3 {
    case 0: try frames.takeLast()
    case 1: try frames.takeEqual(2)
    case 2:
      try frames.takeCounted(1)
      try frames.takeLast()
    default:
      guard let second = bytes.byte(at: 1) else { throw .truncated }
      let count = Int(second & 0x3F)
      guard count > 0, count * frameDuration <= Self.longestPacket else { throw .malformed }
      frames.offset = 2
      if second & 0x40 != 0 { try frames.dropPadding() }
      if second & 0x80 != 0 {
        try frames.takeCounted(count - 1)
        try frames.takeLast()
      } else {
        try frames.takeEqual(count)
      }
    }
    frameCount = frames.count
    isDiscontinuous = frames.longest <= 1
  }

  /// RFC 6716, table 2.
  private static func shape(_ configuration: Int) -> (Bandwidth, Int) {
    switch configuration {
    case 0..<12:
      (Bandwidth(rawValue: configuration / 4) ?? .wide, configuration % 4 == 3 ? 2_880 : 480 << (configuration % 4))
    case 12..<16: (configuration < 14 ? .superWide : .full, 480 << (configuration % 2))
    default:
      (Bandwidth(rawValue: configuration / 4 - 4 + (configuration < 20 ? 0 : 1)) ?? .full, 120 << (configuration % 4))
    }
  }

  /// Walks over the frames of a packet.
  private struct Frames {
    let bytes: UnsafeRawBufferPointer
    var offset: Int
    /// Lower than the packet's where padding follows.
    var end: Int
    var count = 0
    var longest = 0
    /// Of frames with a length before them; their bytes come after all lengths.
    private var counted = 0

    init(bytes: UnsafeRawBufferPointer, offset: Int, end: Int) {
      (self.bytes, self.offset, self.end) = (bytes, offset, end)
    }

    /// The length of the padding, which is at the packet's end: 255 stands for 254 and more to come.
    mutating func dropPadding() throws(RTPError) {
      while true {
        guard let length = bytes.byte(at: offset) else { throw .truncated }
        offset += 1
        end -= Int(min(length, 254))
        if length != 255 { break }
      }
      guard offset <= end else { throw .malformed }
    }

    mutating func takeCounted(_ frames: Int) throws(RTPError) {
      for _ in 0..<frames {
        guard offset < end, let first = bytes.byte(at: offset) else { throw .truncated }
        offset += 1
        var length = Int(first)
        if first >= 252 {
          guard offset < end, let second = bytes.byte(at: offset) else { throw .truncated }
          offset += 1
          length += 4 * Int(second)
        }
        counted += length
        try add(1, of: length)
      }
    }

    /// Takes the last frame: all bytes that the counted frames leave.
    mutating func takeLast() throws(RTPError) {
      guard end - offset >= counted else { throw .truncated }
      try add(1, of: end - offset - counted)
    }

    mutating func takeEqual(_ frames: Int) throws(RTPError) {
      guard (end - offset) % frames == 0 else { throw .malformed }
      try add(frames, of: (end - offset) / frames)
    }

    private mutating func add(_ frames: Int, of length: Int) throws(RTPError) {
      guard length <= OpusPayload.longestFrame else { throw .malformed }
      count += frames
      longest = max(longest, length)
    }
  }
}
