import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// Keeps every received frame and sample.
private final class Keeper: VideoSink, AudioSink, Sendable {
  let frames = Lock<[VideoFrame]>([])
  let samples = Lock<[Int16]>([])

  func render(_ frame: VideoFrame) { frames.withLock { $0.append(frame) } }
  func play(_ block: AudioBlock) { samples.withLock { $0 += block.samples } }
}

/// Passes a source's blocks on and keeps them.
private final class KeptSource: AudioSource, Sendable {
  let channels = 1
  private let source: any AudioSource
  let keeper = Keeper()

  init(_ source: any AudioSource) { self.source = source }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    let keeper = keeper
    try source.start(on: lane) { block in
      keeper.play(block)
      deliver(block)
    }
  }

  func stop() { source.stop() }
}

@Suite struct QualityTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private func make(_ name: String, _ command: [String]) async throws -> String {
    let path = folder.file(name)
    try await Command(command.map { $0 == "OUT" ? path : $0 }).run()
    return path
  }

  private func world() -> World {
    MediaFiles.register()
    return World(backend: EmbeddedBackend(virtual: 11), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  }

  @Test func videoFileIsReceivedCompletelyAndInGoodQuality() async throws {
    let clip = try await make(
      "clip.y4m",
      [
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30:duration=6", "-pix_fmt", "yuv420p",
        "OUT",
      ])
    let world = world()
    let (ana, ben) = (
      Session(JoinRequest(room: "q", name: "Ana"), in: world), Session(JoinRequest(room: "q", name: "Ben"), in: world)
    )
    let (sent, seen) = (Keeper(), Keeper())
    ben.observe { event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal {
        ben.attach(seen as any VideoSink, to: stream.id)
      }
    }
    for session in [ben, ana] { session.join { _ in } }
    await world.run(for: .milliseconds(500))
    let stream = try ana.publish(camera: Devices.camera("file:\(clip)"))
    ana.attach(sent as any VideoSink, to: stream.id)
    await world.run(for: .seconds(5))

    let (source, received) = (sent.frames.withLock { $0 }, seen.frames.withLock { $0 })
    #expect(source.count > 140)
    #expect(Double(received.count) >= Double(source.count) * 0.98)
    let times = received.map(\.captured)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "each once, in order")
    var sum = 0.0
    var pairs = 0
    for frame in received {
      guard let original = source.first(where: { abs(($0.captured - frame.captured).nanoseconds) < 1_000_000 }),
        let psnr = original.psnr(against: frame)
      else { continue }
      sum += psnr
      pairs += 1
    }
    #expect(pairs >= received.count - 2, "every picture is one that was taken")
    #expect(sum / Double(max(pairs, 1)) >= 34, "mean PSNR \(sum / Double(max(pairs, 1))) dB")
    let figures = await world.run { await ben.statistics().streams }
    #expect(figures.compactMap(\.video).first.map { $0.longestGap <= 200 } == true)
  }

  @Test func speechIsReceivedWithHighCorrelation() async throws {
    let text =
      "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. It is easy to tell the depth of a well."
    let speech = try await make("speech.wav", ["espeak-ng", "-w", "OUT", text])
    let world = world()
    let (ana, ben) = (
      Session(JoinRequest(room: "q", name: "Ana"), in: world), Session(JoinRequest(room: "q", name: "Ben"), in: world)
    )
    let heard = Keeper()
    ben.observe { event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal {
        ben.attach(heard as any AudioSink, to: stream.id)
      }
    }
    for session in [ben, ana] { session.join { _ in } }
    await world.run(for: .milliseconds(500))
    let source = KeptSource(try Devices.microphone("file:\(speech)"))
    try ana.publish(microphone: source)
    await world.run(for: .seconds(1))
    let early = await world.run { await ben.statistics().streams }.compactMap(\.audio).first?.concealed ?? -1
    await world.run(for: .seconds(6))
    let late = await world.run { await ben.statistics().streams }.compactMap(\.audio).first?.concealed ?? -1
    #expect(early >= 0 && late == early, "nothing is made up after the first second")
    let best = bestCorrelation(source.keeper.samples.withLock { $0 }, heard.samples.withLock { $0 })
    #expect(best >= 0.95, "correlation \(best)")
  }

  /// Of four seconds from the middle, over delays up to 150 ms.
  private func bestCorrelation(_ sent: [Int16], _ heard: [Int16]) -> Double {
    let (start, length) = (48_000, 48_000 * 4)
    guard sent.count > start + length, heard.count > start + length + 7_200 else { return 0 }
    var best = 0.0
    var lag = -2_400
    while lag < 7_200 {
      let value = correlation(sent, start, heard, start + lag, length, step: 16)
      if value > best { best = value }
      lag += value > best - 0.1 ? 1 : 4
    }
    return best
  }

  private func correlation(_ a: [Int16], _ aStart: Int, _ b: [Int16], _ bStart: Int, _ length: Int, step: Int) -> Double
  {
    a.withUnsafeBufferPointer { a in
      b.withUnsafeBufferPointer { b in
        var (product, first, second) = (0.0, 1.0, 1.0)
        for index in stride(from: 0, to: length, by: step) {
          let (x, y) = (Double(a[aStart + index]), Double(b[bStart + index]))
          product += x * y
          first += x * x
          second += y * y
        }
        return product / (first * second).squareRoot()
      }
    }
  }
}
