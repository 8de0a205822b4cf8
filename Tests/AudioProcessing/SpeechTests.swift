import Foundation
import KoineAudioProcessing
import KoineMedia
import KoineTestSupport
import Testing

/// Real speech through the processing, measured as a listener would.
@Suite struct SpeechTests {
  private static let text = """
    The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. It is easy to tell the depth of \
    a well. These days a chicken leg is a rare dish. Rice is often served in round bowls. The juice of lemons makes fine \
    punch.
    """
  private static let otherText = """
    Four hours of steady work faced us. A large size in stockings is hard to sell. The boy was there when the sun rose. \
    A rod is used to catch pink salmon. The source of the huge river is the clear spring. Kick the ball straight.
    """

  /// 48 kHz, mono, as loud as a speaker near a microphone.
  private static func speech(_ text: String, voice: String = "en") async throws -> [Int16] {
    let wave = try await Command("espeak-ng", "--stdout", "-v", voice, "-a", "60", text).bytes()
    let rate = Int(wave[24]) | Int(wave[25]) << 8  // Hz, in a header of 44 bytes
    let samples = stride(from: 44, to: wave.count - 1, by: 2).map {
      Int16(bitPattern: UInt16(wave[$0]) | UInt16(wave[$0 + 1]) << 8)
    }
    var resampler = try Resampler(from: rate, to: 48_000, quality: 8)
    let whole = resampler.process(samples)
    return Array(whole.prefix(whole.count / 480 * 480))
  }

  /// A fan: air, and a motor with its harmonics.
  private static func fan(count: Int) -> [Double] {
    var state: UInt32 = 7
    var (slow, slower) = (0.0, 0.0)
    return (0..<count).map { n in
      state = state &* 1_664_525 &+ 1_013_904_223
      let white = Double(state >> 8) / Double(1 << 23) - 1
      slow += 0.15 * (white - slow)
      slower += 0.02 * (white - slower)
      let motor = (1...4).reduce(0.0) { $0 + sin(2 * .pi * 47 * Double($1 * n) / 48_000) / Double($1) }
      return slow + 2 * slower + 0.2 * white + 0.05 * motor
    }
  }

  /// A street: engines far and near, tyres on wet stone, swelling and fading by 4 dB as cars go by every few seconds.
  private static func street(count: Int) -> [Double] {
    var state: UInt32 = 23
    var (rumble, deep, hiss) = (0.0, 0.0, 0.0)
    return (0..<count).map { n in
      state = state &* 1_664_525 &+ 1_013_904_223
      let white = Double(state >> 8) / Double(1 << 23) - 1
      let seconds = Double(n) / 48_000
      deep += 0.008 * (white - deep)
      rumble += 0.05 * (white - rumble)
      hiss += 0.35 * (white - hiss)
      let engine = (1...6).reduce(0.0) {
        $0 + sin(2 * .pi * (31 + 2 * sin(0.7 * seconds)) * Double($1) * seconds) / Double($1)
      }
      let passing = 1 + 0.22 * sin(2 * .pi * seconds / 3.7) + 0.15 * sin(2 * .pi * seconds / 1.9)
      return passing * (4 * deep + 1.2 * rumble + 0.12 * (hiss - rumble) + 0.03 * engine)
    }
  }

  /// What a loudspeaker adds to a microphone 100 ms later: the direct way and a few walls.
  private static func echo(of far: [Int16]) -> [Double] {
    let delay = 4_800
    let paths = [(0, 0.5), (211, 0.22), (487, -0.17), (1_033, 0.1), (1_801, -0.06)]
    return far.indices.map { index in
      paths.reduce(0.0) { sum, path in
        let place = index - delay - path.0
        return place >= 0 ? sum + Double(far[place]) * path.1 : sum
      }
    }
  }

  private static func power(_ sound: some Sequence<Int16>) -> Double {
    let (sum, count) = sound.reduce((0.0, 0)) { ($0.0 + Double($1) * Double($1), $0.1 + 1) }
    return max(sum / Double(max(count, 1)), 0.01)
  }

  private static func decibels(_ ratio: Double) -> Double { 10 * log10(max(ratio, 1e-9)) }

  private func process(
    _ captured: [Int16], rendered: [Int16]? = nil, _ settings: AudioProcessing, echoDelay: Duration = .zero
  ) throws -> [Int16] {
    var processor = try AudioProcessor(settings, echoDelay: echoDelay)
    let silence = [Int16](repeating: 0, count: 480)
    var sent = captured
    for start in stride(from: 0, to: captured.count - 479, by: 480) {
      let played = rendered.map { Array($0[start..<start + 480]) } ?? silence
      try played.withUnsafeBufferPointer { try processor.processRender($0) }
      try sent.withUnsafeMutableBufferPointer {
        try processor.processCapture(UnsafeMutableBufferPointer(rebasing: $0[start..<start + 480]))
      }
    }
    return sent
  }

  /// Blocks of 10 ms with speech, and blocks with no speech within 100 ms around them.
  private func blocks(of speech: [Int16], after start: Int) -> (spoken: [Range<Int>], silent: [Range<Int>]) {
    let ranges = stride(from: 0, to: speech.count - 479, by: 480).map { $0..<$0 + 480 }
    let powers = ranges.map { Self.power(speech[$0]) }
    let spoken = powers.map { $0 > 40_000 }
    var found: (spoken: [Range<Int>], silent: [Range<Int>]) = ([], [])
    for (index, range) in ranges.enumerated() where range.lowerBound >= start {
      if spoken[index] { found.spoken.append(range) }
      let around = max(0, index - 10)...min(ranges.count - 1, index + 10)
      if !around.contains(where: { powers[$0] > 100 }) { found.silent.append(range) }
    }
    return found
  }

  @Test(arguments: [Duration.milliseconds(100), .milliseconds(80), .zero])
  func speechEchoDelayed100MillisecondsIsReducedBy20Decibels(saying delay: Duration) async throws {
    let far = try await Self.speech(Self.text)
    let captured = Self.echo(of: far).map { Int16(clamping: Int($0)) }
    let sent = try process(captured, rendered: far, AudioProcessing(noiseSuppression: nil), echoDelay: delay)
    let start = 3 * 48_000
    let reduction = Self.decibels(Self.power(captured[start...]) / Self.power(sent[start...]))
    #expect(reduction >= 20, "\(reduction) dB")
  }

  enum Noise: CaseIterable { case fan, street }

  @Test(arguments: Noise.allCases)
  func noiseSuppressionImprovesSpeechToNoiseRatioBySixDecibels(noise: Noise) async throws {
    let speech = try await Self.speech(Self.text)
    let start = 3 * 48_000
    let (spoken, silent) = blocks(of: speech, after: start)
    try #require(spoken.count > 300 && silent.count > 50)
    let sound = noise == .fan ? Self.fan(count: speech.count) : Self.street(count: speech.count)
    let noisePower = sound.reduce(0) { $0 + $1 * $1 } / Double(sound.count)
    let level = (Self.power(spoken.flatMap { speech[$0] }) / noisePower / pow(10, 0.5)).squareRoot()  // 5 dB
    let captured = zip(speech, sound).map { Int16(clamping: Int(Double($0) + level * $1)) }
    func ratio(_ heard: [Int16]) -> Double {
      let rest = Self.power(silent.flatMap { heard[$0] })
      return Self.decibels(max(Self.power(spoken.flatMap { heard[$0] }) - rest, 0.01) / rest)
    }
    let before = ratio(captured)
    #expect((3.5...6.5).contains(before), "\(before)")
    for settings in [AudioProcessing(), AudioProcessing(cancelsEcho: false), .voice] {
      let after = ratio(try process(captured, settings))
      #expect(after >= before + 6, "\(settings): \(before) dB, \(after) dB")
    }
  }

  @Test(arguments: [AudioProcessing(), AudioProcessing(cancelsEcho: false)])
  func cleanSpeechKeepsItsLevelWithinOneDecibel(settings: AudioProcessing) async throws {
    let speech = try await Self.speech(Self.text)
    let (spoken, _) = blocks(of: speech, after: 48_000)
    let sent = try process(speech, settings)
    let loss = Self.decibels(
      Self.power(spoken.flatMap { speech[$0] }) / Self.power(spoken.flatMap { sent[$0] }))
    #expect(loss <= 1, "\(loss) dB")
    #expect(loss >= -1, "\(loss) dB")
  }

  /// Both ends speak at once: the near-end voice loses at most 6 dB.
  @Test func nearEndSpeechIsKeptDuringDoubleTalk() async throws {
    let far = try await Self.speech(Self.text)
    let near = try await Self.speech(Self.otherText, voice: "en+f3")
    let count = min(far.count, near.count + 4 * 48_000)
    let voice = Array(([Int16](repeating: 0, count: 4 * 48_000) + near).prefix(count))
    let echo = Self.echo(of: far)
    let captured = (0..<count).map { Int16(clamping: Int(voice[$0]) + Int(0.5 * echo[$0])) }
    let sent = try process(
      captured, rendered: far, AudioProcessing(noiseSuppression: nil), echoDelay: .milliseconds(100))
    let (spoken, _) = blocks(of: voice, after: 5 * 48_000)
    let loss = Self.decibels(
      Self.power(spoken.flatMap { voice[$0] }) / Self.power(spoken.flatMap { sent[$0] }))
    #expect(loss <= 6, "\(loss) dB")
  }
}
