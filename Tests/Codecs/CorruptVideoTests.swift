import KoineBase
import KoineCodecs
import Testing

/// For any input, a decoder returns a frame or an error, and recovers at the next key frame.
@Suite struct CorruptVideoTests {
  let pool = FramePool()

  func encodedFrames(_ codec: Codec, _ count: Int) throws -> [[UInt8]] {
    var encoder = try VideoEncoder(VideoEncoderSettings(codec: codec, width: 96, height: 64, bitrate: 200_000))
    return try (0..<count).map {
      try #require(try encoder.encode(scene($0, width: 96, height: 64, pool: pool))).data.array
    }
  }

  @Test(arguments: Codec.videoCodecs)
  func damagedFramesDecodeToErrorsOrFrames(codec: Codec) throws {
    let good = try encodedFrames(codec, 12)
    var random = SeededRandom(seed: 11)
    for _ in 0..<60 {
      let player = try Player(codec)
      for (index, bytes) in good.enumerated() {
        var bytes = bytes
        if index > 0 || random.next() & 1 == 0 {
          for _ in 0...Int(random.next() % 6) {
            bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
          }
        }
        if random.next() % 4 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
        do {
          if let frame = try bytes.withUnsafeBytes({ try player.show($0) }) { #expect(frame.width <= 16_384) }
        } catch is CodecError {}
      }
      let key = try #require(try good[0].withUnsafeBytes { try player.show($0) })
      #expect(key.width == 96)
      #expect(key.height == 64)
    }
  }

  @Test(arguments: Codec.videoCodecs)
  func randomBytesDoNotTrapAndEmptyInputThrows(codec: Codec) throws {
    let player = try Player(codec)
    var random = SeededRandom(seed: 5)
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      _ = try? bytes.withUnsafeBytes { try player.show($0) }
    }
    #expect(throws: CodecError.self) { try player.show(UnsafeRawBufferPointer(start: nil, count: 0)) }
  }

  @Test(arguments: Codec.videoCodecs)
  func streamWithoutKeyFrameThrows(codec: Codec) throws {
    let player = try Player(codec)
    for bytes in try encodedFrames(codec, 4).dropFirst() {
      #expect(throws: CodecError.self) { try bytes.withUnsafeBytes { try player.show($0) } }
    }
  }

  /// RFC 6386, 9.1: the size stands in bytes 6...9 of a key frame, 14 bits each.
  @Test func frameSizesOfZeroOrAboveTheLimitThrow() throws {
    var key = try encodedFrames(.vp8, 1)[0]
    key.replaceSubrange(6..<10, with: [0, 0, 0, 0])
    #expect(throws: CodecError.self) { try key.withUnsafeBytes { try Player(.vp8).show($0) } }
    key.replaceSubrange(6..<10, with: [0xff, 0x3f, 0xff, 0x3f])
    #expect(throws: CodecError(.unsupported, "a picture of 16383×16383")) {
      try key.withUnsafeBytes { try Player(.vp8).show($0) }
    }
  }
}
