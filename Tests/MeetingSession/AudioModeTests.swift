import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Audio modes and redundancy, measured at the receiver.
@Suite struct AudioModeTests {
  /// 440 Hz and 10 kHz on the left, 1 kHz on the right.
  private final class StereoTones: Koine.AudioSource, @unchecked Sendable {  // `run` is a lock
    let channels = 2
    private let run = Lock(0)

    func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
      let number = run.withLock { run in
        run += 1
        return run
      }
      tick(0, lane.scheduler.now, number, lane, deliver)
    }

    func stop() { run.withLock { $0 += 1 } }

    private func tick(
      _ count: Int, _ due: Tick, _ number: Int, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void
    ) {
      lane.post(at: due) { [weak self] in
        guard let self, run.withLock({ $0 }) == number else { return }
        var block = AudioBlock(channels: 2, captured: due)
        func wave(_ frequency: Double, _ index: Int) -> Double {
          5_000 * sin(2 * .pi * frequency * Double(count * AudioBlock.length + index) / Double(AudioBlock.sampleRate))
        }
        for index in 0..<AudioBlock.length {
          block.samples[2 * index] = Int16(wave(440, index) + wave(10_000, index))
          block.samples[2 * index + 1] = Int16(wave(1_000, index))
        }
        deliver(block)
        tick(count + 1, due + AudioBlock.duration, number, lane, deliver)
      }
    }
  }

  /// Keeps the newest second of what it plays.
  private final class Ear: Koine.AudioSink, Sendable {
    private let blocks = Lock<[AudioBlock]>([])

    func play(_ block: AudioBlock) {
      blocks.withLock { blocks in
        blocks.append(block)
        if blocks.count > 100 { blocks.removeFirst() }
      }
    }

    var channels: Int? { blocks.withLock { $0.last?.channels } }

    /// Goertzel's: of a sine of that frequency in one channel, 0...32767.
    func amplitude(of frequency: Double, channel: Int) -> Double {
      let samples = blocks.withLock { $0 }.flatMap { block in
        stride(from: channel, to: block.samples.count, by: block.channels).map { block.samples[$0] }
      }
      let factor = 2 * cos(2 * .pi * frequency / Double(AudioBlock.sampleRate))
      var (last, before) = (0.0, 0.0)
      for sample in samples { (last, before) = (Double(sample) + factor * last - before, last) }
      let power = last * last + before * before - factor * last * before
      return 2 * max(power, 0).squareRoot() / Double(max(samples.count, 1))
    }
  }

  private let ear = Ear()
  private let loudspeaker = Ear()

  /// Ana with a stereo microphone, and a participant of the common layer that listens to her; then the other way round.
  private func listen(_ mode: AudioMode?) async throws {
    let name = "loudspeaker-\(UUID().uuidString)"
    let (ear, loudspeaker) = (ear, loudspeaker)
    Devices.register(microphone: "stereo-tones") { _ throws(DeviceError) in StereoTones() }
    Devices.register(loudspeaker: name) { _ throws(DeviceError) in loudspeaker }
    let environment = TestEnvironment()
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern", microphone: "stereo-tones", loudspeaker: name))
    let app = World.$current.withValue(world) { App("Ana") }
    if let mode {
      try app.audioVideo.start(audioVideoConfiguration: AudioVideoConfiguration(audioMode: mode))
    } else {
      try app.audioVideo.start()
    }
    let ben = Session(JoinRequest(room: "tea", participantID: "ben", name: "Ben"), in: environment.world)
    try ben.publish(microphone: StereoTones(), options: AudioPublishOptions(bitrate: 64_000))
    ben.observe { event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal { ben.attach(ear, to: stream.id) }
    }
    ben.join { _ in }
    await world.run(for: .seconds(4))
    app.audioVideo.stop()
    ben.leave {}
    await world.run(for: .seconds(1))
  }

  @Test(arguments: [AudioMode.stereo48K, nil])
  func stereoModeSendsAndPlaysTwoDifferentChannels(_ mode: AudioMode?) async throws {
    try await listen(mode)
    for ear in [ear, loudspeaker] {
      #expect(ear.channels == 2)
      #expect(ear.amplitude(of: 440, channel: 0) > 3_000)
      #expect(ear.amplitude(of: 440, channel: 1) < 500)
      #expect(ear.amplitude(of: 1_000, channel: 1) > 3_000)
      #expect(ear.amplitude(of: 1_000, channel: 0) < 500)
    }
  }

  @Test func mono48KModeSendsAndPlaysOneChannelOfTheFullBand() async throws {
    try await listen(.mono48K)
    #expect(ear.channels == 1)
    #expect(ear.amplitude(of: 440, channel: 0) > 1_500)
    #expect(ear.amplitude(of: 1_000, channel: 0) > 1_500)
    #expect(ear.amplitude(of: 10_000, channel: 0) > 1_000)
    #expect(loudspeaker.channels == 1)
    #expect(loudspeaker.amplitude(of: 1_000, channel: 0) > 1_500)
  }

  @Test func mono16KModeSendsNoFrequenciesAbove8KHz() async throws {
    try await listen(.mono16K)
    #expect(ear.channels == 1)
    #expect(ear.amplitude(of: 440, channel: 0) > 1_500)
    #expect(ear.amplitude(of: 10_000, channel: 0) < 100)
    #expect(loudspeaker.channels == 1)
  }

  /// - Returns: bytes of payload in a packet of Ana's microphone, on a path that loses a tenth of the packets.
  private func packetSize(redundancy: Bool?) async throws -> Double {
    let environment = TestEnvironment(network: "loss=10%,delay=10ms", microphone: "noise")
    let app = environment.app("Ana")
    if let redundancy {
      try app.audioVideo.start(audioVideoConfiguration: AudioVideoConfiguration(enableAudioRedundancy: redundancy))
    } else {
      try app.audioVideo.start()
    }
    await environment.run(.seconds(20))
    let session = try #require(app.session.session)
    let figures = Lock<SessionStatistics?>(nil)
    session.statistics { statistics in figures.withLock { $0 = statistics } }
    await environment.run(.milliseconds(100))
    let sent = try #require(figures.withLock { $0 }?.streams.compactMap(\.outgoing).first)
    return Double(sent.bytes) / Double(sent.packets)
  }

  /// - Returns: the fraction of Ana's audio that Ben's engine conceals, on paths that lose a fifth of the packets and are so long that
  ///   retransmitted packets come late.
  private func concealedFraction(redundancy: Bool) async throws -> Double {
    let environment = TestEnvironment(network: "loss=20%,delay=150ms", microphone: "noise")
    let app = environment.app("Ana")
    try app.audioVideo.start(audioVideoConfiguration: AudioVideoConfiguration(enableAudioRedundancy: redundancy))
    let ben = Session(JoinRequest(room: "tea", participantID: "ben", name: "Ben"), in: environment.world)
    ben.join { _ in }
    await environment.run(.seconds(40))
    let figures = Lock<SessionStatistics?>(nil)
    ben.statistics { statistics in figures.withLock { $0 = statistics } }
    await environment.run(.milliseconds(100))
    let audio = try #require(figures.withLock { $0 }?.streams.compactMap(\.audio).first)
    #expect(audio.samples > 48_000 * 20)
    app.audioVideo.stop()
    ben.leave {}
    return audio.concealedFraction
  }

  @Test func redundancyConcealsLessAtTwentyPercentLoss() async throws {
    let (on, off) = (try await concealedFraction(redundancy: true), try await concealedFraction(redundancy: false))
    #expect(off > 0.05)
    #expect(on < off / 4)
  }

  @Test func redundancyRepeatsPacketsUnlessItIsSwitchedOff() async throws {
    let (usual, on, off) = (
      try await packetSize(redundancy: nil), try await packetSize(redundancy: true),
      try await packetSize(redundancy: false)
    )
    #expect(on > off * 1.5)
    #expect(usual > off * 1.5, "on by default")
  }
}
