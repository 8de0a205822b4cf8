import Koine
import Testing

/// A loudspeaker and a microphone in one room: each played block is captured 60 ms later at half its amplitude.
private final class EchoingRoom: AudioSink, AudioSource, Sendable {
  let channels = 1
  let playoutDelay = Duration.milliseconds(60)
  private let deliver = Lock<(@Sendable (AudioBlock) -> Void)?>(nil)
  private let lane = Lock<Lane?>(nil)

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    self.lane.withLock { $0 = lane }
    self.deliver.withLock { $0 = deliver }
  }

  func stop() { deliver.withLock { $0 = nil } }

  func play(_ block: AudioBlock) {
    var heard = block
    heard.captured = block.captured + playoutDelay
    for index in heard.samples.indices { heard.samples[index] /= 2 }
    lane.withLock { $0 }?.post(at: heard.captured) { [self, heard] in deliver.withLock { $0 }?(heard) }
  }
}

@Suite struct ProcessingTests {
  private func meanSquare(_ samples: [Int16]) -> Double {
    samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(samples.count, 1))
  }

  @Test func sessionCancelsLoudspeakerEchoFromMicrophone() async throws {
    let world = try virtualWorld()
    let room = EchoingRoom()
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: world, options: SessionOptions(loudspeaker: room))
    let anaHears = Watcher()
    anaHears.follow(ana)
    try ana.publish(microphone: Devices.microphone("noise"))
    let microphone = try ben.publish(microphone: room)
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(4))
    let before = meanSquare(anaHears.now.samples.suffix(48_000))
    #expect(before > 10_000, "she hears herself")
    let plain = await world.run { await ben.statistics().streams }
    #expect(plain.allSatisfy { $0.processing == nil })

    microphone.setProcessing(AudioProcessing())
    await world.run(for: .seconds(5))
    let after = meanSquare(anaHears.now.samples.suffix(2 * 48_000))
    #expect(after * 31.6 < before, "15 dB: \(before) \(after)")
    let figures = await world.run { await ben.statistics().streams }.compactMap(\.processing)
    #expect(try #require(figures.first?.echoReturnLossEnhancement) > 5)
  }

  @Test func loudspeakerIsExchangedDuringTheCall() async throws {
    let world = try virtualWorld()
    let (first, second) = (Watcher(), Watcher())
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: world, options: SessionOptions(loudspeaker: first))
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(1))
    #expect(meanSquare(first.now.samples.suffix(4_800)) > 1_000)
    ben.setLoudspeaker(second)
    let before = first.now.samples.count
    await world.run(for: .seconds(1))
    #expect(first.now.samples.count - before <= 480)
    #expect(meanSquare(second.now.samples.suffix(4_800)) > 1_000)
    ben.setLoudspeaker(nil)
    let (played, other) = (first.now.samples.count, second.now.samples.count)
    await world.run(for: .seconds(1))
    #expect(first.now.samples.count - played > 40_000)
    #expect(second.now.samples.count - other <= 480)
  }

  @Test func processingIsEnabledByPublishOptions() async throws {
    let world = try virtualWorld()
    let session = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    try session.publish(microphone: Devices.microphone("tone"), options: .init(processing: .voice))
    session.join { _ in }
    await world.run(for: .seconds(1))
    let figures = await world.run { await session.statistics().streams }
    #expect(figures.first?.processing?.voiceProbability != nil)
  }
}
