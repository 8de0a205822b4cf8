import CKoineBenchmark
import Foundation
import KoineBase
import KoineCodecs
import KoineMediaEngine
import KoineTransport

/// 1280×720 at 30 frames a second in real time: from a camera through encoder, packets, SRTP, reassembly and decoder to a
/// screen, against libvpx encoding and decoding the same frames with the same settings. CPU of the whole process.
struct EngineVideoBenchmark {
  static let width = 1280
  static let height = 720
  static let rate = 30
  static let bitrate = 1_500_000
  private static let rounds = 3
  private static let warmUp = 2

  let seconds: Int

  func run() throws -> Report {
    let frames = Self.makeFrames()
    var bare: [Measure] = []
    var engine: [Measure] = []
    for _ in 0..<Self.rounds {  // in turns, so that both see the same machine
      bare.append(try measureBare(frames))
      engine.append(try measureEngine(frames))
    }
    let bareCost = median(bare.map(\.milliseconds))
    let engineCost = median(engine.map(\.milliseconds))
    return Report(
      benchmark: "engine-vp8 \(Self.width)×\(Self.height)@\(Self.rate), \(Self.bitrate / 1_000) kbit/s",
      rows: [
        Row("frames a round", Double(Self.rate * roundLength), ""),
        Row("bare libvpx, CPU per frame", bareCost, "ms"), Row("engine, CPU per frame", engineCost, "ms"),
        Row("bare bitrate", median(bare.map(\.kilobits)), "kbit/s"),
        Row("engine bitrate", median(engine.map(\.kilobits)), "kbit/s"),
        Row("frames shown of a hundred", median(engine.map(\.shown)), ""),
        Row("allocations per frame, from frame to picture", try measureReceiving(frames), "", aim: 1),
        Row("engine / bare", median(zip(engine, bare).map { $0.milliseconds / $1.milliseconds }), "×", aim: 1.03),
      ])
  }

  private struct Measure {
    var milliseconds: Double
    var kilobits: Double
    var shown = 100.0
  }

  private var roundLength: Int { max(seconds / Self.rounds, 2) }

  // MARK: Bare

  private func measureBare(_ frames: [VideoFrame]) throws -> Measure {
    var settings = bare_video_settings(
      width: Int32(Self.width), height: Int32(Self.height), frames_per_second: Int32(Self.rate),
      kilobits: Int32(Self.bitrate / 1_000), speed: -6)
    guard let video = bare_video_open(&settings) else { throw BenchmarkError("libvpx refuses the settings") }
    defer { bare_video_close(video) }
    let clock = Scheduler.real
    let start = clock.now
    var (before, bytes) = (0.0, 0)
    for number in 0..<Self.rate * (Self.warmUp + roundLength) {
      sleep(until: start + .nanoseconds(Int64(number) * 1_000_000_000 / Int64(Self.rate)), clock)
      if number == Self.rate * Self.warmUp { (before, bytes) = (CPU.process, 0) }
      let size = frames[Self.index(number, frames.count)].withPlanes {
        bare_video_pass(video, $0.y, $0.u, $0.v, Int32($0.lumaStride), Int32($0.chromaStride))
      }
      guard size > 0 else { throw BenchmarkError("libvpx failed") }
      bytes += size
    }
    return measure(CPU.process - before, bytes)
  }

  private func measure(_ seconds: Double, _ bytes: Int) -> Measure {
    Measure(
      milliseconds: seconds * 1_000 / Double(Self.rate * roundLength),
      kilobits: Double(bytes) * 8 / 1_000 / Double(roundLength))
  }

  private func sleep(until tick: Tick, _ clock: Scheduler) {
    let left = (tick - clock.now).inSeconds
    if left > 0 { Thread.sleep(forTimeInterval: left) }
  }

  // MARK: Engine

  private func measureEngine(_ frames: [VideoFrame]) throws -> Measure {
    let clock = Scheduler.real
    let screen = CountingScreen()
    let linkBox = Lock<PeerLink?>(nil)
    let receiving = VideoReceivePipeline(scheduler: clock) { linkBox.withLock { $0 }?.requestKeyFrame() }
    receiving.addSink(screen)
    let link = try PeerLink(codec: .vp8, scheduler: clock) { receiving.push($0) }
    linkBox.withLock { $0 = link }
    var settings = VideoSendSettings()
    settings.maxBitrate = Self.bitrate
    let sending = VideoSendPipeline(source: ReplayedCamera(frames), settings: settings, scheduler: clock, output: link)
    for _ in 0..<500 where !link.isConnected { Thread.sleep(forTimeInterval: 0.01) }
    guard link.isConnected else { throw BenchmarkError("the peers did not connect") }
    try sending.start()
    Thread.sleep(forTimeInterval: Double(Self.warmUp))
    let (before, bytes, shown) = (CPU.process, link.bytes, screen.count)
    Thread.sleep(forTimeInterval: Double(roundLength))
    var result = measure(CPU.process - before, link.bytes - bytes)
    result.shown = Double(screen.count - shown) * 100 / Double(Self.rate * roundLength)
    sending.stop()
    receiving.stop()
    link.stop()
    linkBox.withLock { $0 = nil }
    return result
  }

  /// Heap blocks of the receiving half per frame, in virtual time: decoder, and the queues before and behind it. The picture itself,
  /// which apps may keep, is one.
  private func measureReceiving(_ frames: [VideoFrame]) throws -> Double {
    let clock = Scheduler.virtual()
    let start = clock.now
    var encoder = try VideoEncoder(
      VideoEncoderSettings(
        width: Self.width, height: Self.height, framesPerSecond: Double(Self.rate), bitrate: Self.bitrate))
    let screen = CountingScreen()
    let receiving = VideoReceivePipeline(scheduler: clock) {}
    receiving.addSink(screen)
    var (meter, random) = (Meter(), SeededRandom(seed: 3))
    let (warm, count) = (100, 200)
    for number in 0..<warm + count {
      let picture = frames[Self.index(number, frames.count)].with(captured: clock.now)
      guard let coded = try encoder.encode(picture, forceKey: number == 0) else { throw BenchmarkError("no frame") }
      let frame = EncodedFrame(
        codec: .vp8, data: coded.data, captured: clock.now, rtpTimestamp: UInt32(number * 3_000), isKey: coded.isKey,
        sequence: Int64(number))
      // Jitter: some pictures wait for their time.
      clock.advance(to: clock.now + .nanoseconds(Int64(random.next() % 20_000_000)))
      if number >= warm { meter.begin() }
      receiving.push(frame)
      clock.advance(to: start + .nanoseconds(Int64(number + 1) * 1_000_000_000 / Int64(Self.rate)))
      if number >= warm { meter.end() }
    }
    receiving.stop()
    clock.advance(to: clock.now + .seconds(1))
    guard screen.count >= warm + count - 2 else { throw BenchmarkError("the screen shows \(screen.count) pictures") }
    return Double(meter.allocations) / Double(count)
  }

  // MARK: Pictures

  /// To and fro, so that the picture never jumps.
  fileprivate static func index(_ number: Int, _ count: Int) -> Int {
    let place = number % (2 * count - 2)
    return place < count ? place : 2 * count - 2 - place
  }

  /// A soft scene that pans, a sharp block that crosses it, and a camera's noise.
  private static func makeFrames() -> [VideoFrame] {
    let pool = FramePool(limit: 0)
    var random = SeededRandom(seed: 3)
    let wave = (0..<4_096).map { Int(sin(2 * .pi * Double($0) / 4_096) * 1_000) }
    return (0..<60).map { number in
      pool.make(width: width, height: height, captured: .zero) { planes in
        for y in 0..<height {
          var noise = random.next()
          for x in 0..<width {
            noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let soft =
              wave[(x * 9 + number * 14) & 4_095] + wave[(y * 13 + number * 5) & 4_095] + wave[(x + 2 * y) * 21 & 4_095]
            let isBlock = y > 240 && y < 400 && x > number * 12 && x < number * 12 + 200
            let value = isBlock ? ((x / 16 + y / 16) & 1 == 0 ? 50 : 200) : 120 + soft / 40
            planes.y[y * planes.lumaStride + x] = UInt8(value + Int(noise >> 62))
          }
        }
        for y in 0..<planes.chromaHeight {
          for x in 0..<planes.chromaWidth {
            planes.u[y * planes.chromaStride + x] = UInt8(128 + wave[(x * 11 + number * 7) & 4_095] / 40)
            planes.v[y * planes.chromaStride + x] = UInt8(128 - wave[(y * 17) & 4_095] / 50)
          }
        }
      }
    }
  }
}

/// Gives the same frames again and again, at steady times.
private final class ReplayedCamera: VideoSource, Sendable {
  let format = VideoFormat(
    width: EngineVideoBenchmark.width, height: EngineVideoBenchmark.height,
    framesPerSecond: Double(EngineVideoBenchmark.rate))
  private let frames: [VideoFrame]
  private let isRunning = Lock(false)

  init(_ frames: [VideoFrame]) { self.frames = frames }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    isRunning.withLock { $0 = true }
    tick(0, lane.scheduler.now, lane, deliver)
  }

  func stop() { isRunning.withLock { $0 = false } }

  private func tick(_ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let due = start + .nanoseconds(Int64(number) * 1_000_000_000 / Int64(EngineVideoBenchmark.rate))
    lane.post(at: due) { [self] in
      guard isRunning.withLock({ $0 }) else { return }
      deliver(frames[EngineVideoBenchmark.index(number, frames.count)].with(captured: due))
      tick(number + 1, start, lane, deliver)
    }
  }
}

private final class CountingScreen: VideoSink, Sendable {
  private let shown = Lock(0)
  var count: Int { shown.withLock { $0 } }
  func render(_ frame: VideoFrame) { shown.withLock { $0 += 1 } }
}
