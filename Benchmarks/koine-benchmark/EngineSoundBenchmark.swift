import CKoineBenchmark
import Foundation
import KoineBase
import KoineCodecs
import KoineMediaEngine
import KoineTransport

/// Speech, as fast as it goes: from a microphone through encoder, packets, SRTP and play-out buffer to a loudspeaker, in
/// virtual time on one thread, against libopus encoding and decoding the same sound with the same settings.
struct EngineSoundBenchmark {
  private static let rounds = 7

  let seconds: Int

  func run() throws -> Report {
    let speech = Self.makeSpeech(seconds: 10)
    var bare: [Double] = []
    var engine: [Double] = []
    var concealed = 0.0
    let meter = SendMeter()
    for _ in 0..<Self.rounds {
      bare.append(try measureBare(speech))
      let (cost, missing) = try measureEngine(speech, meter)
      engine.append(cost)
      concealed = max(concealed, missing)
    }
    return Report(
      benchmark: "engine-opus 48 kHz mono, \(AudioSendSettings().bitrate / 1_000) kbit/s, 20 ms",
      rows: [
        Row("packets a round", Double(seconds * 50), ""),
        Row("bare libopus, CPU per packet", median(bare), "µs"), Row("engine, CPU per packet", median(engine), "µs"),
        Row("samples concealed of a hundred", concealed, ""),
        Row(
          "allocations per packet, from sound to packet", meter.allocations / Double(Self.rounds * seconds * 50), "",
          aim: 0),
        Row("allocations per packet, from packet to sound", try measureReceiving(speech), "", aim: 0),
        Row("engine / bare", median(zip(engine, bare).map { $0 / $1 }), "×", aim: 1.05),
      ])
  }

  /// µs per packet.
  private func measureBare(_ speech: [Int16]) throws -> Double {
    let settings = AudioSendSettings()
    guard let sound = bare_sound_open(Int32(settings.bitrate), Int32(settings.leastExpectedLoss)) else {
      throw BenchmarkError("libopus refuses the settings")
    }
    defer { bare_sound_close(sound) }
    var out = [Int16](repeating: 0, count: 960)
    let before = CPU.thread
    for packet in 0..<seconds * 50 {
      let start = packet * 960 % speech.count
      let size = speech.withUnsafeBufferPointer { pcm in
        out.withUnsafeMutableBufferPointer { bare_sound_pass(sound, pcm.baseAddress! + start, $0.baseAddress) }
      }
      guard size > 0 else { throw BenchmarkError("libopus failed") }
    }
    return (CPU.thread - before) * 1e6 / Double(seconds * 50)
  }

  private func measureEngine(_ speech: [Int16], _ meter: SendMeter) throws -> (cost: Double, concealed: Double) {
    let clock = Scheduler.virtual()
    let receiving = AudioReceivePipeline(scheduler: clock)
    let mixer = PlayoutMixer(scheduler: clock, sink: nil)
    let link = try PeerLink(codec: .opus, scheduler: clock) { receiving.push($0) }
    let sending = AudioSendPipeline(
      source: ReplayedMicrophone(speech, meter), settings: AudioSendSettings(), scheduler: clock,
      output: MeteredOutput(link, meter))
    clock.advance(to: clock.now + .seconds(1))
    guard link.isConnected else { throw BenchmarkError("the peers did not connect") }
    try sending.start()
    mixer.add(receiving)
    clock.advance(to: clock.now + .seconds(2))
    let (before, concealed) = (CPU.thread, receiving.statistics.concealed)
    meter.isOn = true
    clock.advance(to: clock.now + .seconds(seconds))
    meter.isOn = false
    let cost = (CPU.thread - before) * 1e6 / Double(seconds * 50)
    let missing = Double(receiving.statistics.concealed - concealed) / Double(seconds * 48_000) * 100
    sending.stop()
    mixer.stop()
    link.stop()
    return (cost, missing)
  }

  /// Heap blocks of the receiving half per packet, with jitter and two in a hundred packets lost: play-out buffer, decoder, mixer, and
  /// the clock that wakes the mixer.
  private func measureReceiving(_ speech: [Int16]) throws -> Double {
    let packets = try encoded(speech)
    let clock = Scheduler.virtual()
    let receiving = AudioReceivePipeline(scheduler: clock)
    let loudspeaker = CountingLoudspeaker()
    let mixer = PlayoutMixer(scheduler: clock, sink: loudspeaker)
    mixer.add(receiving)
    var (meter, random) = (Meter(), SeededRandom(seed: 3))
    var arrivals: [(at: Tick, frame: EncodedFrame)] = packets.indices.compactMap { number in
      guard random.next() % 50 != 0 else { return nil }
      var frame = packets[number]
      frame.arrived = frame.captured + .milliseconds(20) + .nanoseconds(Int64(random.next() % 50_000_000))
      return (frame.arrived, frame)
    }
    arrivals.sort { $0.at > $1.at }
    let warm = packets.count / 5
    let start = clock.now
    for turn in 0..<packets.count * 2 {
      let now = start + .milliseconds(10 * turn)
      if turn >= warm * 2 { meter.begin() }
      while let next = arrivals.last, next.at <= now {
        receiving.push(next.frame)
        arrivals.removeLast()
      }
      clock.advance(to: now)
      if turn >= warm * 2 { meter.end() }
    }
    let figures = receiving.statistics
    guard figures.concealed > 0, figures.accelerated > 0 else { throw BenchmarkError("the path was too good") }
    guard loudspeaker.blocks >= packets.count * 2 - 2 else { throw BenchmarkError("the loudspeaker misses blocks") }
    mixer.stop()
    return Double(meter.allocations) / Double(packets.count - warm)
  }

  /// The speech as packets of 20 ms.
  private func encoded(_ speech: [Int16]) throws -> [EncodedFrame] {
    var encoder = try OpusEncoder()
    var packets: [EncodedFrame] = []
    for start in stride(from: 0, to: speech.count, by: 960) {
      let data = Bytes(capacity: 1_500)
      _ = try speech[start..<start + 960].withUnsafeBufferPointer { try encoder.encode($0, into: data) }
      packets.append(
        EncodedFrame(
          codec: .opus, data: data, captured: Scheduler.virtual().now + .milliseconds(20 * packets.count),
          rtpTimestamp: UInt32(start), isKey: true, sequence: Int64(packets.count)))
    }
    return packets
  }

  /// Harmonics of a gliding pitch with syllables and breath.
  private static func makeSpeech(seconds: Int) -> [Int16] {
    var phase = 0.0
    var random = SeededRandom(seed: 9)
    return (0..<seconds * 48_000).map { n in
      let time = Double(n) / 48_000
      phase += (140 + 30 * sin(2 * .pi * 0.7 * time)) / 48_000
      var value = Double(random.next() >> 56) / 2_048
      for harmonic in 1...12 { value += sin(2 * .pi * phase * Double(harmonic)) / Double(harmonic) }
      return Int16(value * (0.1 + 0.9 * pow(sin(.pi * 3.1 * time), 2)) * 6_000)
    }
  }
}

/// `@unchecked Sendable`: everything runs on one thread, in virtual time.
private final class CountingLoudspeaker: AudioSink, @unchecked Sendable {
  private(set) var blocks = 0

  func play(_ block: AudioBlock) { blocks += 1 }
}

/// Counts the heap blocks of the sending half alone. `@unchecked Sendable`: everything runs on one thread, in virtual time.
private final class SendMeter: @unchecked Sendable {
  var isOn = false
  private var meter = Meter()

  var allocations: Double { Double(meter.allocations) }
  func begin() { if isOn { meter.begin() } }
  func end() { if isOn { meter.end() } }
}

/// The link's own work is not of the sending half.
private final class MeteredOutput: FrameOutput, Sendable {
  private let link: PeerLink
  private let meter: SendMeter

  init(_ link: PeerLink, _ meter: SendMeter) { (self.link, self.meter) = (link, meter) }

  func send(_ frame: EncodedFrame) {
    meter.end()
    link.send(frame)
    meter.begin()
  }
}

/// The same sound again and again, a block each 10 ms.
private final class ReplayedMicrophone: AudioSource, Sendable {
  let channels = 1
  private let blocks: [AudioBlock]
  private let isRunning = Lock(false)
  private let meter: SendMeter

  init(_ speech: [Int16], _ meter: SendMeter) {
    self.meter = meter
    blocks = stride(from: 0, to: speech.count, by: AudioBlock.length).map { start in
      var block = AudioBlock(captured: .zero)
      block.samples = Array(speech[start..<start + AudioBlock.length])
      return block
    }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    isRunning.withLock { $0 = true }
    tick(0, lane.scheduler.now, lane, deliver)
  }

  func stop() { isRunning.withLock { $0 = false } }

  private func tick(_ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let due = start + AudioBlock.duration * number
    lane.post(at: due) { [self] in
      guard isRunning.withLock({ $0 }) else { return }
      var block = blocks[number % blocks.count]
      block.captured = due
      meter.begin()
      deliver(block)
      meter.end()
      tick(number + 1, start, lane, deliver)
    }
  }
}
