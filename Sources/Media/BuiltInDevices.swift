/// The sources that need nothing but the engine.
enum BuiltInDevices {
  static let video: [String: Devices.MakeVideo] = [
    "pattern": { argument throws(DeviceError) in PatternSource(format: try VideoFormat(argument, of: "pattern")) },
    "portrait": { argument throws(DeviceError) in
      let (name, format) = try nameAndFormat(argument, of: "portrait")
      return PortraitSource(name: name, format: format)
    },
    "stamp": { argument throws(DeviceError) in
      let (name, format) = try nameAndFormat(argument, of: "stamp")
      return StampSource(name: name, format: format)
    },
  ]

  /// `NAME,WxH@FPS`, both optional.
  private static func nameAndFormat(_ argument: String?, of device: String) throws(DeviceError) -> (String, VideoFormat)
  {
    let words = (argument ?? "").split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return (words.first ?? "", try VideoFormat(words.count > 1 ? words[1] : nil, of: device))
  }

  static let audio: [String: Devices.MakeAudio] = [
    "tone": { argument throws(DeviceError) in
      guard let argument else { return ToneSource(frequency: 440) }
      guard let frequency = Double(argument), (20...20_000).contains(frequency) else {
        throw .invalid("tone:\(argument)", reason: "a tone has 20 to 20000 Hz")
      }
      return ToneSource(frequency: frequency)
    },
    "silence": { argument throws(DeviceError) in
      guard argument == nil else { throw .invalid("silence", reason: "takes no words") }
      return ToneSource(frequency: nil)
    },
    "noise": { argument throws(DeviceError) in
      NoiseSource(seed: try seed(argument, of: "noise"), burst: 17, amplitude: 6_000)
    },
    "fan": { argument throws(DeviceError) in
      NoiseSource(seed: try seed(argument, of: "fan"), burst: NoiseSource.period, amplitude: 1_365)
    },
  ]

  private static func seed(_ argument: String?, of device: String) throws(DeviceError) -> UInt64 {
    guard let argument else { return 1 }
    guard let seed = UInt64(argument) else { throw .invalid("\(device):\(argument)", reason: "takes a whole number") }
    return seed
  }

  static let loudspeakers: [String: Devices.MakeLoudspeaker] = [
    "none": { argument throws(DeviceError) in
      guard argument == nil else { throw .invalid("none", reason: "takes no words") }
      return Nowhere()
    }
  ]
}

/// A loudspeaker that discards its audio.
private final class Nowhere: AudioSink {
  func play(_ block: AudioBlock) {}
}

/// A tone, or silence: 10 ms at a time.
final class ToneSource: AudioSource, @unchecked Sendable {  // `block` and `phase` are touched on the lane only
  let channels = 1
  private let frequency: Double?
  private let ticks = SteadyTicks()
  private var block = AudioBlock(captured: .zero)
  private var position = 0

  init(frequency: Double?) { self.frequency = frequency }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    ticks.start(every: AudioBlock.duration, on: lane) { [self] number, due in
      fill(from: number * AudioBlock.length)
      block.captured = due
      deliver(block)
    }
  }

  func stop() { ticks.stop() }

  /// Each sample of a sine follows from the two before it; each block begins from where the wave is, so that nothing adds
  /// up.
  private func fill(from start: Int) {
    guard let frequency else { return }
    let step = frequency / Double(AudioBlock.sampleRate)
    let phase = Double(start % (AudioBlock.sampleRate * 60)) * step
    let factor = 2 * sine(step + 0.25)
    var (last, now) = (8_000 * sine(phase - step), 8_000 * sine(phase))
    for index in 0..<AudioBlock.length {
      block.samples[index] = Int16(now)
      (last, now) = (now, factor * now - last)
    }
  }
}

/// White noise: steady as of a fan, or in bursts at the pace of syllables, 170 ms of 250. Those have pauses, as speech
/// does, and no wave of them repeats, so that an echo of it can be told from itself.
final class NoiseSource: AudioSource, @unchecked Sendable {  // `random` is touched on the lane only
  static let period = 25  // blocks

  let channels = 1
  private let burst: Int
  private let range: ClosedRange<Int16>
  private let ticks = SteadyTicks()
  private var random: SeededRandom

  /// - Parameter burst: how many blocks of each `period` are loud.
  init(seed: UInt64, burst: Int, amplitude: Int16) {
    (self.burst, range, random) = (burst, -amplitude...amplitude, SeededRandom(seed: seed))
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    ticks.start(every: AudioBlock.duration, on: lane) { [self] number, due in
      var block = AudioBlock(captured: due)
      if number % Self.period < burst {
        for index in block.samples.indices { block.samples[index] = Int16.random(in: range, using: &random) }
      }
      deliver(block)
    }
  }

  func stop() { ticks.stop() }
}

extension VideoFormat {
  /// `WxH[@FPS]`; nothing is what `VideoFormat()` is.
  package init(_ text: String?, of device: String) throws(DeviceError) {
    self.init()
    guard let text, !text.isEmpty else { return }
    let halves = text.split(separator: "@", omittingEmptySubsequences: false)
    let sides = halves[0].split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    let rate = halves.count > 1 ? Double(halves[1]) : 30
    guard halves.count <= 2, sides.count == 2, let width = sides[0], let height = sides[1], let rate,
      (16...4096).contains(width), (16...4096).contains(height), (1...120).contains(rate)
    else {
      throw .invalid(
        "\(device):\(text)", reason: "expected WxH or WxH@FPS, 16 to 4096 pixels, 1 to 120 frames a second")
    }
    (self.width, self.height, framesPerSecond) = (width, height, rate)
  }
}
