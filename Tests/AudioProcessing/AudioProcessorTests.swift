import Foundation
import KoineAudioProcessing
import KoineMedia
import Testing

/// A voice-like sound at 48 kHz, mono: harmonics of a gliding pitch behind moving formants, in syllables and pauses.
private func talk(seconds: Double, pitch: Double, rate: Double, amplitude: Double = 5_000) -> [Int16] {
  var phase = 0.0
  let harmonics = 24
  return (0..<Int(seconds * 48_000)).map { n in
    let time = Double(n) / 48_000
    phase += pitch * (1 + 0.2 * sin(2 * .pi * 0.7 * time)) / 48_000
    let formant = 700 + 400 * sin(2 * .pi * rate * 0.37 * time)
    var value = 0.0
    for harmonic in 1...harmonics {
      let distance = (Double(harmonic) * pitch - formant) / 500
      value += sin(2 * .pi * phase * Double(harmonic)) * (1 / (1 + distance * distance) + 0.05)
    }
    let syllable = pow(max(sin(.pi * rate * time), 0), 1.5)
    let phrase = sin(2 * .pi * time / 2.3) > -0.6 ? 1.0 : 0.0
    return Int16(max(min(value * syllable * phrase * amplitude / 3, 32_000), -32_000))
  }
}

/// Numbers that look random, always the same.
private func noise(seconds: Double, amplitude: Int, seed: UInt32 = 1) -> [Int16] {
  var state = seed
  return (0..<Int(seconds * 48_000)).map { _ in
    state = state &* 1_664_525 &+ 1_013_904_223
    return Int16(Int(state >> 16) % (2 * amplitude + 1) - amplitude)
  }
}

private func decibels(_ sound: some Collection<Int16>) -> Double {
  let power = sound.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(sound.count, 1))
  return 10 * log10(max(power, 0.01))
}

extension AudioProcessor {
  /// Everything through it, block by block.
  fileprivate mutating func process(_ captured: [Int16], rendered: [Int16]? = nil) throws -> [Int16] {
    var sound = captured
    let (taken, given) = (Self.blockLength * channels, Self.blockLength * renderChannels)
    for block in 0..<captured.count / taken {
      if let rendered {
        try rendered.withUnsafeBufferPointer {
          try processRender(UnsafeBufferPointer(rebasing: $0[block * given..<(block + 1) * given]))
        }
      }
      try sound.withUnsafeMutableBufferPointer {
        try processCapture(UnsafeMutableBufferPointer(rebasing: $0[block * taken..<(block + 1) * taken]))
      }
    }
    return sound
  }
}

@Suite struct AudioProcessorTests {
  private static let delay = 60 * 48  // samples
  private static let afterThreeSeconds = 3 * 48_000

  private static func echo(of far: [Int16], over floor: [Int16]) -> [Int16] {
    zip([Int16](repeating: 0, count: delay) + far, floor).map { $0 / 2 + $1 }
  }

  /// - Returns: by how many dB an echo at −6 dB, 60 ms late, is weaker after three seconds.
  private func reduction(saying delay: Duration, channels: Int = 1) throws -> (Double, AudioProcessingStatistics) {
    let far = talk(seconds: 8, pitch: 180, rate: 3.1)
    let mono = Self.echo(of: far, over: noise(seconds: 8, amplitude: 3))
    var processor = try AudioProcessor(
      AudioProcessing(noiseSuppression: nil), channels: channels, renderChannels: channels, echoDelay: delay)
    func spread(_ sound: [Int16]) -> [Int16] { sound.flatMap { [Int16](repeating: $0, count: channels) } }
    let captured = spread(mono)
    let sent = try processor.process(captured, rendered: spread(far))
    let start = Self.afterThreeSeconds * channels
    return (decibels(captured[start...]) - decibels(sent[start...]), processor.statistics)
  }

  @Test func echoIsCancelled() throws {
    let (reduction, statistics) = try reduction(saying: .milliseconds(60))
    #expect(reduction >= 15, "\(reduction) dB")
    #expect(try #require(statistics.echoReturnLossEnhancement) > 5)
    #expect((3...9).contains(try #require(statistics.echoReturnLoss)))
  }

  @Test func echoOfUnknownDelayIsCancelled() throws {
    let (reduction, _) = try reduction(saying: .zero)
    #expect(reduction >= 15, "\(reduction) dB")
  }

  @Test func stereoEchoIsCancelled() throws {
    let (reduction, _) = try reduction(saying: .milliseconds(60), channels: 2)
    #expect(reduction >= 15, "\(reduction) dB")
  }

  @Test func echoIsKeptWithoutCancellation() throws {
    let far = talk(seconds: 4, pitch: 180, rate: 3.1)
    let captured = Self.echo(of: far, over: noise(seconds: 4, amplitude: 3))
    var processor = try AudioProcessor(.none)
    #expect(try processor.process(captured, rendered: far) == captured)
    #expect(processor.statistics == AudioProcessingStatistics())
  }

  @Test func nearEndVoiceKeepsItsLevel() throws {
    let near = zip(talk(seconds: 8, pitch: 130, rate: 2.7), noise(seconds: 8, amplitude: 3)).map { $0 + $1 }
    let silence = [Int16](repeating: 0, count: near.count)
    for settings in [
      AudioProcessing(noiseSuppression: nil), AudioProcessing(noiseSuppression: .low), AudioProcessing(),
    ] {
      var processor = try AudioProcessor(settings, echoDelay: .milliseconds(60))
      let sent = try processor.process(near, rendered: silence)
      let change = decibels(sent[Self.afterThreeSeconds...]) - decibels(near[Self.afterThreeSeconds...])
      #expect(abs(change) <= 3, "\(settings): \(change) dB")
    }
  }

  @Test func nearEndVoiceAfterEchoKeepsItsLevel() throws {
    let far = talk(seconds: 5, pitch: 180, rate: 3.1) + [Int16](repeating: 0, count: 5 * 48_000)
    let near = [Int16](repeating: 0, count: 6 * 48_000) + talk(seconds: 4, pitch: 130, rate: 2.7)
    let captured = Self.echo(of: far, over: zip(near, noise(seconds: 10, amplitude: 3)).map { $0 + $1 })
    var processor = try AudioProcessor(AudioProcessing(noiseSuppression: nil), echoDelay: .milliseconds(60))
    let sent = try processor.process(captured, rendered: far)
    let change = decibels(sent[(7 * 48_000)...]) - decibels(captured[(7 * 48_000)...])
    #expect(abs(change) <= 3, "\(change) dB")
  }

  @Test func noiseSuppressionIncreasesWithItsLevel() throws {
    let hiss = noise(seconds: 6, amplitude: 1_000)
    var reductions: [Double] = []
    for level in AudioProcessing.NoiseSuppression.allCases {
      var settings = AudioProcessing.none
      settings.noiseSuppression = level
      var processor = try AudioProcessor(settings)
      let sent = try processor.process(hiss)
      reductions.append(decibels(hiss[Self.afterThreeSeconds...]) - decibels(sent[Self.afterThreeSeconds...]))
      #expect(try #require(processor.statistics.voiceProbability) < 0.5)
    }
    #expect(reductions[1] >= 10 && reductions[2] >= 10 && reductions[3] >= 10, "\(reductions)")
    #expect(reductions == reductions.sorted(), "\(reductions)")
  }

  @Test func gainControlRaisesQuietVoice() throws {
    let near = talk(seconds: 8, pitch: 130, rate: 2.7, amplitude: 400)
    var settings = AudioProcessing.none
    settings.controlsGain = true
    var processor = try AudioProcessor(settings)
    let sent = try processor.process(near)
    #expect(decibels(sent[Self.afterThreeSeconds...]) - decibels(near[Self.afterThreeSeconds...]) > 3)
  }

  @Test func lowFrequencyFilterRemovesDCOffset() throws {
    var settings = AudioProcessing.none
    settings.removesLowFrequencies = true
    var processor = try AudioProcessor(settings)
    let sent = try processor.process([Int16](repeating: 2_000, count: 48_000))
    #expect(decibels(sent[24_000...]) < decibels([2_000]) - 30)
  }

  @Test func voiceDetectionSeparatesVoiceFromNoise() throws {
    var processor = try AudioProcessor(AudioProcessing(cancelsEcho: false))
    func voicedShare(of sound: [Int16]) throws -> (share: Double, probability: Double) {
      var (blocks, voiced, probability) = (0, 0, 0.0)
      for start in stride(from: 0, to: sound.count, by: AudioProcessor.blockLength) {
        _ = try processor.process(Array(sound[start..<start + AudioProcessor.blockLength]))
        blocks += 1
        if processor.statistics.hasVoice { voiced += 1 }
        probability += try #require(processor.statistics.voiceProbability)
      }
      return (Double(voiced) / Double(blocks), probability / Double(blocks))
    }
    let quiet = try voicedShare(of: noise(seconds: 3, amplitude: 300))
    let spoken = try voicedShare(of: talk(seconds: 4, pitch: 130, rate: 2.7))
    #expect(quiet.probability < 0.3 && spoken.probability > 0.4, "\(quiet) \(spoken)")
    #expect(quiet.share < 0.2 && spoken.share > quiet.share + 0.2, "\(quiet) \(spoken)")
  }

  @Test func processorAppliesSettingsWhileRunning() throws {
    let hiss = noise(seconds: 3, amplitude: 1_000)
    var processor = try AudioProcessor(.none)
    #expect(try processor.process(hiss) == hiss)
    try processor.set(AudioProcessing(cancelsEcho: false, noiseSuppression: .high))
    #expect(try decibels(processor.process(hiss)[96_000...]) < decibels(hiss) - 10)
    try processor.set(.none)
    #expect(try processor.process(hiss) == hiss)
    try processor.setEchoDelay(.seconds(100))
    try processor.setEchoDelay(.milliseconds(-1))
  }

  @Test func invalidChannelCountsAndBlockSizesThrow() throws {
    for (channels, rendered) in [(0, 1), (3, 1), (1, 0), (1, 3), (-1, 1)] {
      #expect(throws: AudioProcessingError.self) {
        _ = try AudioProcessor(.voice, channels: channels, renderChannels: rendered)
      }
    }
    for channels in 1...2 {
      var processor = try AudioProcessor(.voice, channels: channels, renderChannels: channels)
      for count in [0, 1, 479, 481, 480 * (3 - channels), 4_800] {
        var sound = [Int16](repeating: 5, count: count)
        var failures = 0
        do { try sound.withUnsafeMutableBufferPointer { try processor.processCapture($0) } } catch { failures += 1 }
        do { try sound.withUnsafeBufferPointer { try processor.processRender($0) } } catch { failures += 1 }
        #expect(failures == 2)
        #expect(sound.allSatisfy { $0 == 5 })
      }
    }
  }
}
