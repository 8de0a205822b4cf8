import KoineBase
import KoineCodecs
import Testing

@Suite struct AudioSignalTests {
  /// How much of the sound is the tone: 1 for nothing else. Both quadratures, so that phase does not matter.
  func purity(_ sound: ArraySlice<Int16>, hertz: Double, rate: Double) -> Double {
    let sine = tone(hertz, samples: sound.count, rate: rate)
    let quarter = Int((rate / hertz / 4).rounded())
    let cosine = Array(tone(hertz, samples: sound.count + quarter, rate: rate).dropFirst(quarter))
    let s = correlation(sound, sine, delay: 0)
    let c = correlation(sound, cosine, delay: 0)
    return (s * s + c * c).squareRoot()
  }

  @Test(arguments: [(48_000, 16_000), (16_000, 48_000), (44_100, 48_000), (48_000, 44_100), (48_000, 48_048)])
  func resampledToneStaysPure(rates: (from: Int, to: Int)) throws {
    var resampler = try Resampler(from: rates.from, to: rates.to)
    let back = resampler.process(tone(1_000, samples: rates.from, rate: Double(rates.from)))
    #expect(abs(back.count - rates.to) < 200)
    #expect(purity(back[1_000..<back.count - 1_000], hertz: 1_000, rate: Double(rates.to)) > 0.99)
    let level = back[1_000...].withUnsafeBufferPointer { audioLevel(of: $0) }
    #expect((-14 ... -12).contains(level))
  }

  @Test func resamplerKeepsChannelsSeparate() throws {
    var resampler = try Resampler(from: 48_000, to: 24_000, channels: 2)
    let left = tone(500, samples: 9_600)
    let back = resampler.process(left.flatMap { [$0, 0] })
    #expect(stride(from: 1, to: back.count, by: 2).allSatisfy { back[$0] == 0 })
    #expect(stride(from: 0, to: back.count, by: 2).contains { back[$0] > 9_000 })
  }

  @Test func resamplerConsumesOnlyInputThatFitsTheOutput() throws {
    var resampler = try Resampler(from: 48_000, to: 48_000)
    let input = tone(300, samples: 960)
    var output = [Int16](repeating: 0, count: 100)
    let (taken, written) = input.withUnsafeBufferPointer { source in
      output.withUnsafeMutableBufferPointer { resampler.process(source, into: $0) }
    }
    #expect(written == 100)
    #expect(taken < 400)
    try resampler.setRates(from: 48_000, to: 47_990)
    #expect(throws: CodecError.self) { _ = try Resampler(from: 0, to: 48_000) }
    #expect(throws: CodecError.self) { try resampler.setRates(from: 48_000, to: 0) }
  }

  /// RFC 6464 section 3, RFC 6465 appendix A.
  @Test func audioLevelMatchesRFC6464() {
    func level(_ sound: [Int16]) -> Int8 { sound.withUnsafeBufferPointer { audioLevel(of: $0) } }
    #expect(level([Int16](repeating: 0, count: 480)) == -127)
    #expect(level([]) == -127)
    #expect(level((0..<480).map { $0 & 1 == 0 ? 32_767 : -32_767 }) == 0)
    #expect(level([Int16](repeating: .min, count: 480)) == 0)
    #expect(level(tone(1_000, samples: 480, amplitude: 32_767)) == -3)
    #expect(level(tone(1_000, samples: 480, amplitude: 3_276.7)) == -23)
    #expect(level([1] + [Int16](repeating: 0, count: 4_799)) == -127)
  }

  @Test func speechIsDetectedAboveNoise() {
    var meter = SpeechLevel()
    var random = SeededRandom(seed: 2)
    func measure(_ sound: ArraySlice<Int16>) -> SpeechLevel.Measure {
      sound.withUnsafeBufferPointer { meter.measure($0) }
    }
    let noise = (0..<960).map { _ in Int16(truncatingIfNeeded: Int64(random.next() % 60) - 30) }
    for _ in 0..<25 { _ = measure(noise[...]) }
    #expect(!measure(noise[...]).isVoice)
    let speech = voice(samples: 48_000)
    let voiced = stride(from: 0, to: 48_000, by: 960).count { measure(speech[$0..<$0 + 960]).isVoice }
    #expect(voiced > 45)
    for _ in 0..<11 { _ = measure(noise[...]) }
    #expect(!measure(noise[...]).isVoice)
  }
}
