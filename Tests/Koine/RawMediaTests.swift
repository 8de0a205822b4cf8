import Dispatch
import Glibc
import Koine
import KoineEmbeddedBackend
import Testing

/// Raw video and audio that an app pushes into a call, pulls out of it, or processes on the way.
@Suite struct RawMediaTests {
  private func pair() throws -> (world: World, ana: Session, ben: Session) {
    let world = try virtualWorld()
    let sessions = ["Ana", "Ben"].map { Session(JoinRequest(room: "tea", name: $0), in: world) }
    for session in sessions { session.join { _ in } }
    return (world, sessions[0], sessions[1])
  }

  /// The only stream of the remote participant.
  private func stream(_ session: Session) -> Track.ID? { session.participants.first?.tracks.first?.id }

  // MARK: Video

  @Test(arguments: PixelFormat.allCases)
  func framesOfEachPixelFormatArePushedAndPulled(format: PixelFormat) async throws {
    let (world, ana, ben) = try pair()
    let feed = VideoFeed(format: VideoFormat(width: 160, height: 90))
    try ana.publish(camera: feed, as: .screen)
    await world.run(for: .milliseconds(200))
    let tap = VideoTap()
    ben.attach(tap, to: try #require(stream(ben)))
    let picture = try await stampedFrame("pushed")
    let bytes = picture.bytes(format)
    #expect(bytes.count == format.byteCount(width: 160, height: 90))
    for _ in 0..<30 {
      #expect(feed.push(bytes, format, width: 160, height: 90) == .taken)
      await world.run(for: .milliseconds(33))
    }
    let seen = try #require(tap.takeFrame())
    #expect(StampReader.read(seen)?.name == "pushed")
    let pool = FramePool(limit: 1)
    let again = try #require(
      seen.bytes(format).withUnsafeBytes {
        VideoFrame.from(format, $0, width: 160, height: 90, captured: .zero, pool: pool)
      })
    #expect((picture.psnr(against: again) ?? 0) > 28)
    #expect(tap.takeFrame() == nil)
    #expect(tap.statistics.rendered == tap.statistics.missed + 1)
  }

  private func stampedFrame(_ name: String) async throws -> VideoFrame {
    let other = try virtualWorld()
    let camera = try Devices.camera("stamp:\(name),160x90@30")
    let tap = VideoTap()
    try camera.start(on: other.backend.scheduler.lane("stamp")) { tap.render($0) }
    await other.run(for: .milliseconds(50))
    camera.stop()
    return try #require(tap.takeFrame())
  }

  @Test func videoFeedReportsTheOutcomeOfEachFrame() async throws {
    let world = try virtualWorld()
    let lane = world.backend.scheduler.lane("camera")
    let frame = try await stampedFrame("x")
    func at(_ milliseconds: Int) -> VideoFrame { frame.with(captured: .zero + .milliseconds(milliseconds)) }
    let feed = VideoFeed(capacity: 2)
    let (demands, times) = (Lock<[Bool]>([]), Lock<[Tick]>([]))
    feed.onDemand { isWanted in demands.withLock { $0.append(isWanted) } }
    #expect(feed.push(at(1_000)) == .unwanted)
    #expect(!feed.isWanted)
    #expect(feed.push(at(1_000)) == .refused)
    #expect(feed.push(at(999)) == .refused)
    #expect(feed.push([1, 2, 3], .bgra, width: 160, height: 90) == .refused)
    #expect(feed.push([], .i420, width: 0, height: 90) == .refused)
    #expect(feed.format.width == 160)
    feed.start(on: lane) { frame in times.withLock { $0.append(frame.captured) } }
    await world.run(for: .milliseconds(1))
    #expect(times.withLock { $0.count } == 1, "the last one, first")
    #expect(feed.push(at(2_000)) == .taken)
    #expect(feed.push(at(2_001)) == .taken)
    #expect(feed.push(at(2_002)) == .replaced)
    await world.run(for: .milliseconds(1))
    #expect(times.withLock { $0.dropFirst() } == [.zero + .milliseconds(2_001), .zero + .milliseconds(2_002)])
    feed.stop()
    #expect(feed.push(at(2_003)) == .unwanted)
    await world.run(for: .seconds(1))
    #expect(times.withLock { $0.count } == 3)
    #expect(demands.withLock { $0 } == [true, false])
    #expect(feed.statistics.pushed == 9)
    #expect(feed.statistics.replaced == 1)
    #expect(feed.statistics.refused == 4)
  }

  @Test func stillFrameIsRepeated() async throws {
    let (world, ana, ben) = try pair()
    let feed = VideoFeed(format: VideoFormat(width: 160, height: 90), repeatingAfter: .milliseconds(100))
    feed.push(try await stampedFrame("still").bytes(.i420), .i420, width: 160, height: 90)
    try ana.publish(camera: feed, as: .screen)
    await world.run(for: .seconds(3))
    let tap = VideoTap(capacity: 60)
    ben.attach(tap, to: try #require(stream(ben)))
    await world.run(for: .seconds(1))
    #expect((8...11).contains(tap.statistics.rendered))
    #expect(tap.takeFrame().flatMap(StampReader.read)?.name == "still")
    #expect(feed.statistics.repeated > 30)
  }

  @Test func pusherWaitsForSpaceInFeed() async throws {
    let world = try virtualWorld()
    let feed = VideoFeed()
    let frame = try await stampedFrame("x")
    let pushed = Lock<[VideoFeed.Outcome]>([])
    let pusher = Task {
      for number in 1...20 {
        await feed.room()
        if Task.isCancelled { return }
        let outcome = feed.push(frame.with(captured: .zero + .seconds(1) + .milliseconds(number)))
        pushed.withLock { $0.append(outcome) }
      }
    }
    await world.run(for: .milliseconds(10))
    #expect(pushed.withLock { $0.isEmpty }, "nobody wants any")
    let count = Lock(0)
    feed.start(on: world.backend.scheduler.lane("camera")) { _ in count.withLock { $0 += 1 } }
    await world.run { await pusher.value }
    await world.run(for: .milliseconds(10))
    #expect(pushed.withLock { $0 } == Array(repeating: .taken, count: 20))
    #expect(count.withLock { $0 } == 20)
    feed.stop()
    let waiting = Task { await feed.room() }
    waiting.cancel()
    await waiting.value
  }

  // MARK: Audio

  @Test(arguments: [8_000, 16_000, 44_100, 48_000, 96_000])
  func audioOfEachSampleRateIsPushedAndPulled(rate: Int) async throws {
    let (world, ana, ben) = try pair()
    let feed = AudioFeed(sampleRate: rate)
    try ana.publish(microphone: feed)
    await world.run(for: .milliseconds(200))
    let tap = AudioTap(sampleRate: rate, capacity: .seconds(2))
    ben.attach(tap, to: try #require(stream(ben)))
    // 440 Hz, pushed as fast as there is room for it.
    let step = 2 * Double.pi * 440 / Double(rate)
    let samples = (0..<3 * rate).map { Int16(8_000 * sin(step * Double($0))) }
    let pusher = Task { await feed.pushAll(samples) }
    #expect(await world.run { await pusher.value } == samples.count)
    let heard = tap.read(2 * rate).prefix(3 * rate / 2)
    let crossings = zip(heard, heard.dropFirst()).filter { ($0 < 0) != ($1 < 0) }.count
    #expect(abs(crossings - 1_320) < 15, "1.5 s of 440 Hz: \(crossings)")
    #expect((heard.max() ?? 0) > 6_000)
    #expect(tap.statistics.lost > 0, "nearly three seconds into room for two")
    await world.run(for: .seconds(1))
    #expect(feed.buffered < .milliseconds(10))
  }

  @Test func audioFeedPlaysInRealTimeAndReportsAcceptedSamples() async throws {
    let world = try virtualWorld()
    let feed = AudioFeed(channels: 2, capacity: .milliseconds(100))
    let blocks = Lock<[AudioBlock]>([])
    #expect(feed.push([Int16](repeating: 100, count: 20_000)) == 9_600, "100 ms, two channels")
    #expect(feed.push([Int16](repeating: 100, count: 20_000)) == 0)
    #expect(feed.buffered == .milliseconds(100))
    feed.start(on: world.backend.scheduler.lane("microphone")) { block in blocks.withLock { $0.append(block) } }
    await world.run(for: .milliseconds(200))
    let loud = blocks.withLock { $0 }.map { $0.samples.allSatisfy { $0 == 100 } }
    #expect(loud.prefix(10).allSatisfy { $0 })
    #expect(!loud.dropFirst(10).contains(true))
    #expect(blocks.withLock { $0 }.allSatisfy { $0.channels == 2 })
    #expect(feed.statistics.starved == feed.statistics.delivered - 10)
    // Less than two blocks wait for more, so that a tight pusher does not stutter.
    feed.push([Float](repeating: 2, count: 960))
    await world.run(for: .milliseconds(50))
    #expect(feed.buffered == .milliseconds(10))
    feed.push([Float](repeating: -.infinity, count: 961))
    await world.run(for: .milliseconds(50))
    #expect(feed.buffered == .zero)
    #expect(blocks.withLock { $0 }.contains { $0.samples.allSatisfy { $0 == 32_767 } })
    #expect(blocks.withLock { $0 }.contains { $0.samples.allSatisfy { $0 == -32_767 } })
    feed.stop()
    #expect(!feed.isWanted)
  }

  @Test func audioTapFillsMissingSamplesWithSilence() {
    let tap = AudioTap(channels: 2, capacity: .milliseconds(20))
    var block = AudioBlock(captured: .zero)
    block.samples = [Int16](repeating: 7, count: 480)
    for _ in 0..<3 { tap.play(block) }
    #expect(tap.available == 960)
    #expect(tap.statistics.lost == 480)
    let samples = tap.read(1_000)
    #expect(samples.count == 2_000)
    #expect(samples[..<1_920].allSatisfy { $0 == 7 })
    #expect(samples[1_920...].allSatisfy { $0 == 0 })
    let figures = tap.statistics
    #expect(figures.read == 960)
    #expect(figures.missing == 40)
    #expect(figures.lost == 480)
    #expect(tap.read(0).isEmpty)
    #expect(tap.read(-1).isEmpty)
  }

  // MARK: Sequences

  @Test func frameAndAudioSequencesEndWithTheirStreams() async throws {
    let (world, ana, ben) = try pair()
    let camera = try ana.publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    try ana.publish(microphone: Devices.microphone("tone"))
    await world.run(for: .milliseconds(500))
    let streams = try #require(ben.participants.first?.tracks)
    let picture = try #require(streams.first { $0.kind.isVideo }?.id)
    let sound = try #require(streams.first { $0.kind.isAudio }?.id)
    let frames = ben.frames(of: picture, capacity: 3)
    let blocks = ben.sound(of: sound, capacity: 200)
    let own = ana.frames(of: camera.id)
    await world.run(for: .seconds(1))
    camera.unpublish()
    await world.run(for: .milliseconds(200))
    ana.leave {}
    await world.run(for: .milliseconds(200))
    var names: [String] = []
    for await frame in frames { names.append(StampReader.read(frame)?.name ?? "?") }
    #expect(names == ["Ana", "Ana", "Ana"], "the newest three")
    var count = 0
    for await _ in blocks { count += 1 }
    #expect((100...150).contains(count))
    var last: VideoFrame?
    for await frame in own { last = frame }
    #expect(last.flatMap(StampReader.read)?.name == "Ana")
    for await _ in ana.frames(of: picture) { Issue.record("nothing comes after the end") }
  }

  // MARK: Effects

  @Test func videoEffectsRunInOrderAndAreReplacedWhileRunning() async throws {
    let (world, ana, ben) = try pair()
    let chain = VideoChain([Shrink(to: 80), EveryOther()])
    let stream = try ana.publish(camera: chain.applied(to: Devices.camera("stamp:Ana,160x90@30")))
    let tap = VideoTap()
    await world.run(for: .milliseconds(500))
    ben.attach(tap, to: stream.id)
    if let id = self.stream(ben) { ben.attach(tap, to: id) }
    await world.run(for: .seconds(2))
    #expect((28...32).contains(tap.statistics.rendered), "every other one of thirty a second")
    #expect(tap.takeFrame()?.width == 80)
    chain.effects = []
    await world.run(for: .seconds(1))
    #expect(tap.takeFrame()?.width == 160)
    #expect(chain.statistics.leftOut >= 35)
    #expect(chain.statistics.missed == 0)
    stream.unpublish()
    let count = chain.statistics.processed
    await world.run(for: .seconds(1))
    #expect(chain.statistics.processed <= count + 1)
  }

  @Test func slowEffectReceivesTheNewestFrame() async throws {
    let gate = Gate()
    let chain = VideoChain([gate])
    let feed = VideoFeed(capacity: 60)
    let scheduler = Scheduler.real
    let source = chain.applied(to: feed)
    let (stream, continuation) = AsyncStream.makeStream(of: Tick.self)
    try source.start(on: scheduler.lane("camera")) { continuation.yield($0.captured) }
    let frame = try await stampedFrame("x")
    for number in 1...20 {
      await feed.room()
      feed.push(frame.with(captured: .zero + .milliseconds(number)))
    }
    // The first is held up inside the effect; of the others only the last is left.
    await feed.room()
    while feed.statistics.delivered < 20 { await Task.yield() }
    await withCheckedContinuation { done in scheduler.lane("fence").post { done.resume() } }
    gate.open()
    var seen: [Tick] = []
    for await captured in stream {
      seen.append(captured)
      if captured == .zero + .milliseconds(20) { break }
    }
    #expect(seen.count <= 3 && chain.statistics.missed >= 17, "\(seen.count)")
    source.stop()
  }

  @Test func audioEffectsAreAppliedToSourcesAndSinks() async throws {
    let (world, ana, ben) = try pair()
    let half = Louder(by: 0.5)
    let chain = AudioChain([half, half])
    try ana.publish(microphone: chain.applied(to: Devices.microphone("tone")))
    await world.run(for: .milliseconds(500))
    let tap = AudioTap()
    ben.attach(tap, to: try #require(stream(ben)))
    await world.run(for: .seconds(1))
    #expect((1_500...2_500).contains(tap.read(10_000).max() ?? 0), "a quarter of 8,000")
    let behind = AudioTap()
    let sink = AudioChain([Louder(by: 0)]).applied(before: behind)
    ben.attach(sink, to: try #require(stream(ben)))
    await world.run(for: .seconds(1))
    #expect(behind.available > 10_000)
    #expect(behind.read(10_000).allSatisfy { $0 == 0 })
    chain.effects = []
    await world.run(for: .seconds(1))
    _ = tap.read(100_000)
    await world.run(for: .seconds(1))
    #expect((tap.read(10_000).max() ?? 0) > 6_000)
    let pictures = VideoTap()
    VideoChain([Shrink(to: 16)]).applied(before: pictures).render(try await stampedFrame("x"))
    #expect(pictures.takeFrame()?.width == 16)
  }
}

private final class Shrink: VideoEffect, Sendable {
  private let width: Int
  private let pool = FramePool(limit: 4)
  init(to width: Int) { self.width = width }
  func process(_ frame: VideoFrame) -> VideoFrame? { frame.scaled(to: width, width * 9 / 16, pool: pool) }
}

private final class EveryOther: VideoEffect, Sendable {
  private let count = Lock(0)
  func process(_ frame: VideoFrame) -> VideoFrame? {
    count.withLock { count in
      count += 1
      return count % 2 == 0 ? nil : frame
    }
  }
}

private final class Louder: AudioEffect, Sendable {
  private let factor: Double
  init(by factor: Double) { self.factor = factor }
  func process(_ block: inout AudioBlock) {
    for index in block.samples.indices { block.samples[index] = Int16(Double(block.samples[index]) * factor) }
  }
}

/// Blocks the first frame until it is opened.
private final class Gate: VideoEffect, Sendable {
  private let isOpen = Lock(false)
  private let held = DispatchSemaphore(value: 0)
  func open() { held.signal() }
  func process(_ frame: VideoFrame) -> VideoFrame? {
    let isFirst = isOpen.withLock { isOpen in
      defer { isOpen = true }
      return !isOpen
    }
    if isFirst { held.wait() }
    return frame
  }
}
