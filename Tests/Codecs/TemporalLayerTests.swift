import KoineBase
import KoineCodecs
import Testing

@Suite struct TemporalLayerTests {
  let pool = FramePool()

  func encode(_ codec: Codec, layers: Int, count: Int = 48, keyAt: Int? = nil) throws -> [(
    VideoFrame, CodedPicture
  )] {
    var encoder = try VideoEncoder(
      VideoEncoderSettings(codec: codec, width: 320, height: 180, bitrate: 600_000, temporalLayers: layers))
    return try (0..<count).map { number in
      let frame = scene(number, width: 320, height: 180, pool: pool)
      let picture = try #require(try encoder.encode(frame, forceKey: number == keyAt))
      // The encoder reuses the block only if it is not referenced; the frame references it.
      return (frame, picture)
    }
  }

  @Test(arguments: Codec.videoCodecs)
  func temporalLayersFollowThePattern(codec: Codec) throws {
    #expect(try encode(codec, layers: 1, count: 4).map(\.1.temporalLayer) == [0, 0, 0, 0])
    #expect(try encode(codec, layers: 2, count: 6).map(\.1.temporalLayer) == [0, 1, 0, 1, 0, 1])
    let three = try encode(codec, layers: 3, count: 12, keyAt: 6)
    #expect(three.map(\.1.temporalLayer) == [0, 2, 1, 2, 0, 2, 0, 2, 1, 2, 0, 2])
    #expect(three.map(\.1.isKey).enumerated().filter(\.element).map(\.offset) == [0, 6])
    for (_, picture) in three { #expect(picture.isDiscardable == (picture.temporalLayer == 2)) }
  }

  @Test(arguments: Codec.videoCodecs, [(2, 0), (3, 0), (3, 1)])
  func lowerTemporalLayersDecodeAlone(codec: Codec, layers: (of: Int, upTo: Int)) throws {
    let pictures = try encode(codec, layers: layers.of, keyAt: 22)
    let all = try Player(codec)
    let lower = try Player(codec)
    var shownCount = 0
    for (frame, picture) in pictures {
      let whole = try #require(try all.show(picture, of: frame))
      guard picture.temporalLayer <= layers.upTo else { continue }
      let part = try #require(try lower.show(picture, of: frame))
      // Bit by bit the same picture as with all layers: nothing that was left out was needed.
      #expect(part.psnr(against: whole) == 100)
      #expect(try #require(part.psnr(against: frame)) > 29)
      shownCount += 1
    }
    #expect(shownCount >= pictures.count >> (layers.of - 1 - layers.upTo))
  }

  @Test(arguments: Codec.videoCodecs)
  func streamDecodesWithoutDiscardableFrames(codec: Codec) throws {
    let pictures = try encode(codec, layers: 3)
    let all = try Player(codec)
    let some = try Player(codec)
    for (index, (frame, picture)) in pictures.enumerated() {
      let whole = try #require(try all.show(picture, of: frame))
      if picture.isDiscardable && index % 3 == 0 { continue }
      #expect(try some.show(picture, of: frame)?.psnr(against: whole) == 100)
    }
  }

  @Test(arguments: Codec.videoCodecs)
  func baseLayerTakesItsShareOfTheBitrate(codec: Codec) throws {
    let pictures = try encode(codec, layers: 3, count: 150)
    var bytes = [0, 0, 0]
    for (_, picture) in pictures.dropFirst(30) { bytes[picture.temporalLayer] += picture.data.count }
    let total = Double(bytes.reduce(0, +))
    #expect((0.3...0.55).contains(Double(bytes[0]) / total), "\(bytes)")
  }
}
