import KoineBase
import KoineCodecs
import Testing

@Suite struct VideoCodecTests {
  let pool = FramePool()

  /// Result of a run: mean PSNR in dB and bit/s, both after `skipping` frames.
  struct Run {
    var psnr = 0.0
    var bitrate = 0.0
    var keys = 0
    var count = 0
  }

  func run(_ settings: VideoEncoderSettings, frames: Int = 60, skipping: Int = 10) throws -> Run {
    var encoder = try VideoEncoder(settings)
    let player = try Player(settings.codec)
    var run = Run()
    for number in 0..<frames {
      let frame = scene(
        number, width: settings.width, height: settings.height, framesPerSecond: settings.framesPerSecond, pool: pool)
      let picture = try #require(try encoder.encode(frame))
      let shown = try #require(try player.show(picture, of: frame))
      #expect(shown.captured == frame.captured)
      if picture.isKey { run.keys += 1 }
      guard number >= skipping else { continue }
      run.psnr += try #require(shown.psnr(against: frame))
      run.bitrate += Double(picture.data.count * 8)
      run.count += 1
    }
    run.psnr /= Double(run.count)
    run.bitrate *= settings.framesPerSecond / Double(run.count)
    return run
  }

  @Test(arguments: Codec.videoCodecs)
  func codecRoundTripKeepsFrameQuality(codec: Codec) throws {
    let result = try run(VideoEncoderSettings(codec: codec))
    #expect(result.psnr >= 34, "\(result)")
    #expect(result.keys == 1)
    #expect(result.bitrate < 1_150_000, "\(result)")
  }

  @Test(arguments: Codec.videoCodecs)
  func smallAndOddFrameSizesAreCoded(codec: Codec) throws {
    #expect(try run(VideoEncoderSettings(codec: codec, width: 160, height: 90, bitrate: 100_000)).psnr > 30)
    #expect(try run(VideoEncoderSettings(codec: codec, width: 161, height: 91, bitrate: 100_000)).psnr > 30)
    #expect(try run(VideoEncoderSettings(codec: codec, width: 1, height: 1), frames: 12).psnr > 20)
  }

  @Test(arguments: Codec.videoCodecs)
  func keyFramesComeOnRequestOrByInterval(codec: Codec) throws {
    var encoder = try VideoEncoder(VideoEncoderSettings(codec: codec, width: 160, height: 90))
    var keys: [Int] = []
    for number in 0..<20 {
      let frame = scene(number, width: 160, height: 90, pool: pool)
      if try encoder.encode(frame, forceKey: number == 7)?.isKey == true { keys.append(number) }
    }
    #expect(keys == [0, 7])

    var regular = try VideoEncoder(VideoEncoderSettings(codec: codec, width: 160, height: 90, keyFrameInterval: 5))
    keys = []
    for number in 0..<14 where try regular.encode(scene(number, width: 160, height: 90, pool: pool))?.isKey == true {
      keys.append(number)
    }
    #expect(keys == [0, 5, 10])
  }

  @Test(arguments: Codec.videoCodecs, [1, 3])
  func encoderFollowsTargetBitrate(codec: Codec, layers: Int) throws {
    var encoder = try VideoEncoder(
      VideoEncoderSettings(codec: codec, width: 320, height: 180, bitrate: 400_000, temporalLayers: layers))
    func measure(from: Int) throws -> Double {
      var bits = 0
      for number in from..<from + 120 {
        let picture = try #require(try encoder.encode(scene(number, width: 320, height: 180, pool: pool)))
        #expect(picture.isKey == (number == 0))
        if number >= from + 30 { bits += picture.data.count * 8 }
      }
      return Double(bits) / 3
    }
    let before = try measure(from: 0)
    try encoder.setBitrate(150_000)
    let low = try measure(from: 120)
    try encoder.setBitrate(400_000)
    let after = try measure(from: 240)
    #expect((300_000...460_000).contains(before), "\(before)")
    #expect((110_000...180_000).contains(low), "\(low)")
    #expect((300_000...460_000).contains(after), "\(after)")
  }

  @Test func targetBitrateHoldsAtHalfTheFrameRate() throws {
    var encoder = try VideoEncoder(VideoEncoderSettings(width: 320, height: 180, bitrate: 300_000))
    var bits = 0
    for number in 0..<90 {
      let frame = scene(number, width: 320, height: 180, framesPerSecond: 15, pool: pool)
      let picture = try #require(try encoder.encode(frame))
      if number >= 45 { bits += picture.data.count * 8 }
    }
    #expect((200_000...350_000).contains(bits / 3), "\(bits / 3)")
  }

  @Test(arguments: Codec.videoCodecs)
  func resizingStartsWithAKeyFrame(codec: Codec) throws {
    var encoder = try VideoEncoder(VideoEncoderSettings(codec: codec, width: 160, height: 90))
    let player = try Player(codec)
    for (number, size) in [(160, 90), (320, 180), (96, 54)].enumerated() {
      try encoder.resize(width: size.0, height: size.1)
      for step in 0..<3 {
        let frame = scene(number * 3 + step, width: size.0, height: size.1, pool: pool)
        let picture = try #require(try encoder.encode(frame))
        #expect(picture.isKey == (step == 0))
        let shown = try #require(try player.show(picture, of: frame))
        #expect(shown.width == size.0)
        #expect(shown.height == size.1)
      }
    }
    #expect(throws: CodecError.self) { try encoder.encode(scene(0, width: 50, height: 50, pool: pool)) }
  }

  @Test func invalidEncoderSettingsAreRefused() {
    for settings in [
      VideoEncoderSettings(width: 0), VideoEncoderSettings(height: 20_000), VideoEncoderSettings(bitrate: 0),
      VideoEncoderSettings(temporalLayers: 4), VideoEncoderSettings(framesPerSecond: .nan),
      VideoEncoderSettings(threads: 0), VideoEncoderSettings(codec: .vp9, speed: 30),
      VideoEncoderSettings(keyFrameInterval: 0),
    ] {
      #expect(throws: CodecError.self) { _ = try VideoEncoder(settings) }
    }
  }

  @Test func encoderReusesItsOutputBuffers() throws {
    var encoder = try VideoEncoder(VideoEncoderSettings(width: 160, height: 90))
    var addresses = Set<UnsafeMutableRawPointer>()
    var held: [Bytes] = []
    for number in 0..<40 {
      let picture = try #require(try encoder.encode(scene(number, width: 160, height: 90, pool: pool)))
      if number == 20 { held.append(picture.data) }
      addresses.insert(picture.data.base)
      if number > 20 { #expect(picture.data.base != held[0].base) }
    }
    #expect(addresses.count == 2)
  }
}
