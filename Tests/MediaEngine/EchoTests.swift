import KoineAudioProcessing
import KoineBase
import KoineCodecs
import KoineTransport
import Testing

@testable import KoineMedia
@testable import KoineMediaEngine

/// A loudspeaker and a microphone in one room: played audio is captured later, at half its amplitude.
private final class EchoingRoom: AudioSink, AudioSource, Sendable {
  let channels = 1
  private let delay: Duration
  /// What the loudspeaker says.
  private let reported: Lock<Duration>
  private let ticks = SteadyTicks()
  private let played = Lock<[(due: Tick, samples: [Int16])]>([])
  /// Begins to be heard after six seconds, unless it is nil.
  private let near: [Int16]?

  init(
    delay: Duration = .milliseconds(100), saying reported: Duration = .milliseconds(100), near: [Int16]? = nil
  ) {
    self.delay = delay
    self.reported = Lock(reported)
    self.near = near
  }

  var playoutDelay: Duration { reported.withLock { $0 } }

  /// As a device that is opened, or another one.
  func say(_ delay: Duration) { reported.withLock { $0 = delay } }

  func play(_ block: AudioBlock) {
    played.withLock { played in
      played.append((block.captured, block.samples))
      if played.count > 60 { played.removeFirst() }
    }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    // Half a block beside the loudspeaker's ticks.
    let start = lane.scheduler.now + .milliseconds(5)
    lane.post(at: start) { [self] in
      ticks.start(every: AudioBlock.duration, on: lane) { [self] number, due in
        var block = AudioBlock(captured: due)
        for index in block.samples.indices { block.samples[index] = sample(index, number, due) }
        deliver(block)
      }
    }
  }

  func stop() { ticks.stop() }

  private func sample(_ index: Int, _ number: Int, _ due: Tick) -> Int16 {
    let time = due + .microseconds(index * 1_000 / 48) - delay
    let echo = played.withLock { played in
      played.last { $0.due <= time }.map { block -> Int16 in
        let place = Int((time - block.due).nanoseconds * 48 / 1_000_000)
        return place < block.samples.count ? block.samples[place] / 2 : 0
      }
    }
    let position = (number - 600) * AudioBlock.length + index
    let voice = near.map { position >= 0 && position < $0.count ? $0[position] : 0 }
    return (echo ?? 0) + (voice ?? 0)
  }
}

/// Syllables of harmonics, block by block.
private final class Talker: AudioSource, Sendable {
  let channels = 1
  private let ticks = SteadyTicks()
  private let speech: [Int16]

  init(_ speech: [Int16]) { self.speech = speech }

  static func speech(seconds: Int, pitch: Double, rate: Double) -> [Int16] {
    var phase = 0.0
    return (0..<seconds * 48_000).map { n in
      let time = Double(n) / 48_000
      phase += pitch * (1 + 0.2 * sine(0.7 * time)) / 48_000
      let formant = 700 + 400 * sine(rate * 0.37 * time)
      var value = 0.0
      for harmonic in 1...12 {
        let distance = (Double(harmonic) * pitch - formant) / 500
        value += sine(phase * Double(harmonic)) / (1 + distance * distance)
      }
      let syllable = max(sine(rate / 2 * time), 0)
      return Int16(max(min(value * syllable * syllable * 1_500, 30_000), -30_000))
    }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    ticks.start(every: AudioBlock.duration, on: lane) { [speech] number, due in
      var block = AudioBlock(captured: due)
      for index in block.samples.indices { block.samples[index] = speech[(number * 480 + index) % speech.count] }
      deliver(block)
    }
  }

  func stop() { ticks.stop() }
}

private final class Line: FrameOutput, Sendable {
  private let scheduler: Scheduler
  private let receive: AudioReceivePipeline
  private let sequence = Lock<Int64>(0)

  init(_ scheduler: Scheduler, to receive: AudioReceivePipeline) {
    (self.scheduler, self.receive) = (scheduler, receive)
  }

  func send(_ frame: EncodedFrame) {
    var arrived = frame
    arrived.sequence = sequence.withLock { sequence in
      sequence += 1
      return sequence
    }
    arrived.arrived = scheduler.now
    receive.push(arrived)
  }
}

private final class AudioWatcher: AudioSink, Sendable {
  let power = Lock<(sum: Double, count: Int)>((0, 0))

  func play(_ block: AudioBlock) {
    power.withLock { power in
      for sample in block.samples { power.sum += Double(sample) * Double(sample) }
      power.count += block.samples.count
    }
  }

  /// Mean square of all audio since the last call, at least 0.01.
  func take() -> Double {
    power.withLock { power in
      defer { power = (0, 0) }
      return max(power.sum / Double(max(power.count, 1)), 0.01)
    }
  }
}

@Suite struct EchoTests {
  /// The far end talks for six seconds; the echo of the near loudspeaker returns to it through Opus.
  private final class Call {
    let scheduler = Scheduler.virtual()
    let room: EchoingRoom
    let send: AudioSendPipeline
    let ear = AudioWatcher()
    private let far: AudioSendPipeline
    private let mixers: [PlayoutMixer]

    init(processing: AudioProcessing?, room: EchoingRoom = EchoingRoom()) throws {
      self.room = room
      let here = AudioReceivePipeline(scheduler: scheduler)
      let there = AudioReceivePipeline(scheduler: scheduler)
      let loudspeaker = PlayoutMixer(scheduler: scheduler, sink: room)
      let farLoudspeaker = PlayoutMixer(scheduler: scheduler, sink: ear)
      loudspeaker.add(here)
      farLoudspeaker.add(there)
      mixers = [loudspeaker, farLoudspeaker]
      far = AudioSendPipeline(
        source: Talker(Talker.speech(seconds: 5, pitch: 180, rate: 3.1)), settings: AudioSendSettings(),
        scheduler: scheduler, output: Line(scheduler, to: here))
      var settings = AudioSendSettings()
      settings.processing = processing
      send = AudioSendPipeline(
        source: room, settings: settings, scheduler: scheduler, output: Line(scheduler, to: there),
        echoReference: loudspeaker.echoReference)
      try far.start()
      try send.start()
    }

    func silenceFar() { far.setMuted(true) }

    /// - Returns: mean square of the audio that the far end receives in this time.
    func listen(seconds: Int) -> Double {
      _ = ear.take()
      scheduler.advance(to: scheduler.now + .seconds(seconds))
      return ear.take()
    }
  }

  private static let echoOnly = AudioProcessing(noiseSuppression: nil)

  @Test(arguments: [Duration.milliseconds(100), .milliseconds(60), .zero])
  func loudspeakerEchoIsNotSentBack(saying delay: Duration) throws {
    let plain = try Call(processing: nil)
    let processed = try Call(processing: Self.echoOnly, room: EchoingRoom(saying: delay))
    _ = plain.listen(seconds: 3)
    _ = processed.listen(seconds: 3)
    let (with, without) = (processed.listen(seconds: 3), plain.listen(seconds: 3))
    #expect(without > 10_000, "the echo is heard without processing")
    #expect(with * 100 <= without, "20 dB: \(without / with)")
    let statistics = processed.send.statistics
    #expect(statistics.unprocessed == 0)
    #expect(try #require(statistics.processing?.echoReturnLossEnhancement) > 5)
    #expect(plain.send.statistics.processing == nil)
  }

  /// A device does not know its delay before it plays.
  @Test(arguments: [200, 400]) func loudspeakerDelayReportedDuringCallIsUsed(milliseconds: Int) throws {
    let delay = Duration.milliseconds(milliseconds)
    let plain = try Call(processing: nil, room: EchoingRoom(delay: delay))
    let room = EchoingRoom(delay: delay, saying: .zero)
    let processed = try Call(processing: Self.echoOnly, room: room)
    for call in [plain, processed] { _ = call.listen(seconds: 1) }
    room.say(delay)
    for call in [plain, processed] { _ = call.listen(seconds: 3) }
    let (with, without) = (processed.listen(seconds: 3), plain.listen(seconds: 3))
    #expect(without > 10_000, "the echo is heard without processing")
    #expect(with * 100 <= without, "20 dB: \(without / with)")
  }

  @Test func smallChangesOfLoudspeakerDelayAreIgnored() {
    let reference = EchoReference(playoutDelay: .milliseconds(60))
    reference.update(playoutDelay: .milliseconds(79))
    #expect(reference.remainingDelay == .milliseconds(40))
    reference.update(playoutDelay: .milliseconds(80))
    #expect(reference.remainingDelay == .milliseconds(60))
    reference.update(playoutDelay: .milliseconds(-5))
    #expect(reference.remainingDelay == .zero)
  }

  @Test func nearEndVoiceIsSent() throws {
    let speech = Talker.speech(seconds: 4, pitch: 130, rate: 2.7)
    let plain = try Call(processing: nil, room: EchoingRoom(near: speech))
    let processed = try Call(processing: Self.echoOnly, room: EchoingRoom(near: speech))
    var heard: [Double] = []
    for call in [plain, processed] {
      _ = call.listen(seconds: 5)
      call.silenceFar()
      _ = call.listen(seconds: 2)
      heard.append(call.listen(seconds: 2))
    }
    #expect(heard[1] / heard[0] > 0.5 && heard[1] / heard[0] < 2, "3 dB: \(heard)")
  }

  @Test func audioProcessingIsSwitchedDuringCall() throws {
    let call = try Call(processing: nil)
    let before = call.listen(seconds: 3)
    call.send.setProcessing(Self.echoOnly)
    _ = call.listen(seconds: 3)
    #expect(call.listen(seconds: 2) * 31.6 <= before)
    call.send.setProcessing(nil)
    _ = call.listen(seconds: 1)
    #expect(call.listen(seconds: 2) * 2 > before)
    #expect(call.send.statistics.processing == nil)
    #expect(call.send.statistics.unprocessed == 0)
  }

  @Test func echoReferenceIsFoundByItsCaptureTime() {
    let reference = EchoReference(playoutDelay: .milliseconds(60))
    #expect(reference.remainingDelay == .milliseconds(40))
    var block = [Int16](repeating: 0, count: 480)
    for number in 0..<200 {
      reference.write([Int16](repeating: Int16(number), count: 480), due: .zero + .milliseconds(10 * number))
    }
    for (captured, expected) in [(1_500, 148), (1_505, 148), (1_509, 148), (1_510, 149), (2_010, 199)] {
      reference.read(into: &block, captured: .zero + .milliseconds(captured))
      #expect(block.allSatisfy { $0 == Int16(expected) }, "\(captured)")
    }
    for captured in [0, 500, 1_379, 2_020, 9_000] {  // too long ago, or not played
      reference.read(into: &block, captured: .zero + .milliseconds(captured))
      #expect(block.allSatisfy { $0 == 0 }, "\(captured)")
    }
    #expect(EchoReference(playoutDelay: .zero).remainingDelay == .zero)
  }
}
