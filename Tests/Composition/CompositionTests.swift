import Dispatch
import Foundation
import Koine
import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// Layout, mixing, and the file at the end.
@Suite struct CompositionTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  private let pool = FramePool()

  private func plain(_ luma: UInt8, _ width: Int = 320, _ height: Int = 180) -> VideoFrame {
    pool.make(width: width, height: height, captured: .zero) { planes in
      for index in 0..<planes.lumaStride * height { planes.y[index] = luma }
      for index in 0..<planes.chromaStride * planes.chromaHeight { (planes.u[index], planes.v[index]) = (128, 128) }
    }
  }

  /// What comes out after a tenth of a second.
  private func picture(of composition: Composition) async throws -> VideoFrame {
    let last = Lock<VideoFrame?>(nil)
    let source = composition.makeVideoSource()
    try source.start(on: world.backend.scheduler.lane("test")) { frame in last.withLock { $0 = frame } }
    await world.run(for: .milliseconds(100))
    source.stop()
    return try #require(last.withLock { $0 })
  }

  private func luma(_ frame: VideoFrame, _ x: Int, _ y: Int) -> UInt8 {
    frame.withPlanes { $0.y[y * $0.lumaStride + x] }
  }

  @Test func slotsLieWhereTheyArePutAndHigherOnesOnTop() async throws {
    let composition = Composition(width: 640, height: 360, in: world)
    var over = Slot("over", x: 100, y: 100, width: 64, height: 64)
    (over.aspect, over.zIndex) = (.stretch, 1)
    var under = Slot("under", width: 320, height: 180)
    under.aspect = .stretch
    #expect(composition.add(over) && composition.add(under))
    #expect(!composition.add(under), "one of a name")
    composition.pictureInput("over")?.render(plain(200))
    composition.pictureInput("under")?.render(plain(90))
    #expect(composition.pictureInput("none") == nil && composition.soundInput("none") == nil)
    let frame = try await picture(of: composition)
    #expect((frame.width, frame.height) == (640, 360))
    #expect(luma(frame, 10, 10) == 90)
    #expect(abs(Int(luma(frame, 120, 120)) - 200) <= 1)
    #expect(luma(frame, 600, 300) == 16)
    composition.pictureInput("under")?.clear()
    #expect(luma(try await picture(of: composition), 10, 10) == 16)
    #expect(composition.remove("over") && !composition.remove("over"))
    #expect(luma(try await picture(of: composition), 120, 120) == 16)
  }

  @Test func picturesFitFillOrStretch() async throws {
    let composition = Composition(width: 200, height: 200, in: world)
    var slot = Slot("a", width: 200, height: 200)
    slot.fill = Color(red: 255, green: 255, blue: 255)
    composition.add(slot)
    composition.pictureInput("a")?.render(plain(90, 320, 160))
    let fitted = try await picture(of: composition)
    #expect(luma(fitted, 100, 100) == 90 && luma(fitted, 100, 20) > 230, "what is left over shows the fill")
    slot.aspect = .fill
    #expect(composition.change("a", to: slot))
    #expect(luma(try await picture(of: composition), 100, 2) == 90)
    slot.opacity = 0.5
    composition.change("a", to: slot)
    let blended = luma(try await picture(of: composition), 100, 100)
    #expect((90...110).contains(blended), "90 over white over black")
    #expect(!composition.change("b", to: slot))
  }

  @Test func slotsMayReachOverTheEdgesAndBeOddOrEmpty() async throws {
    let composition = Composition(width: 321, height: 179, in: world)
    let places: [(Double, Double, Double, Double)] = [
      (-50, -50, 101, 77), (300, 170, 99, 99), (0, 0, 0, 10), (1, 1, .nan, 5), (5_000, 5_000, 10, 10), (3, 3, 1, 1),
    ]
    for (index, place) in places.enumerated() {
      for aspect in [Slot.Aspect.fit, .fill, .stretch] {
        var slot = Slot("\(index) \(aspect)", x: place.0, y: place.1, width: place.2, height: place.3)
        slot.aspect = aspect
        slot.opacity = index % 2 == 0 ? 1 : 0.4
        slot.fill = .black
        composition.add(slot)
        composition.pictureInput(slot.id)?.render(plain(150, 33, 17).with(quarterTurns: UInt8(index & 3)))
      }
    }
    let frame = try await picture(of: composition)
    #expect((frame.width, frame.height) == (321, 179) && luma(frame, 4, 4) > 16)
  }

  @Test func changesMayBeGradual() async throws {
    let composition = Composition(width: 640, height: 360, in: world)
    let slot = Slot("a", width: 100, height: 100)
    composition.add(slot)
    var target = slot
    (target.x, target.gain) = (200, 0)
    composition.change("a", to: target, over: .seconds(1))
    #expect(composition.slots == [target])
    await world.run(for: .milliseconds(500))
    #expect(abs((composition.currentSlots.first?.x ?? 0) - 100) < 1)
    await world.run(for: .seconds(1))
    #expect(composition.currentSlots == [target])
  }

  @Test func soundsAreAddedWithTheirGains() async throws {
    let composition = Composition(width: 64, height: 64, in: world)
    var quiet = Slot("quiet", width: 1, height: 1)
    quiet.gain = 0.5
    composition.add(Slot("loud", width: 1, height: 1))
    composition.add(quiet)
    let feed = world.backend.scheduler.lane("feed")
    let sources = [try Devices.microphone("tone:400"), try Devices.microphone("tone:400")]
    for (source, name) in zip(sources, ["loud", "quiet"]) {
      let input = try #require(composition.soundInput(name))
      try source.start(on: feed) { input.play($0) }
    }
    let peaks = Lock<[Int16]>([])
    let mix = composition.makeAudioSource()
    try mix.start(on: world.backend.scheduler.lane("mix")) { block in
      peaks.withLock { $0.append(block.samples.max() ?? 0) }
    }
    await world.run(for: .seconds(1))
    let heard = peaks.withLock { $0 }
    #expect(heard.count >= 100 && heard.dropFirst(5).allSatisfy { abs(Int($0) - 12_000) < 50 })
    for source in sources { source.stop() }
    peaks.withLock { $0 = [] }
    await world.run(for: .milliseconds(200))
    #expect(peaks.withLock { $0.suffix(10).allSatisfy { $0 == 0 } }, "nobody speaks")
    mix.stop()
  }

  @Test func whatIsComposedIsAFileThatPlays() async throws {
    MediaFiles.register()
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("composition-\(UUID().uuidString).webm")
    defer { try? FileManager.default.removeItem(at: url) }
    let composition = Composition(width: 640, height: 360, in: world)
    composition.add(Slot("left", width: 320, height: 360))
    composition.add(Slot("right", x: 320, width: 320, height: 360))
    let feed = world.backend.scheduler.lane("feed")
    let cameras = [try Devices.camera("stamp:left,320x180@30"), try Devices.camera("pattern:320x180@30")]
    for (camera, name) in zip(cameras, ["left", "right"]) {
      let input = try #require(composition.pictureInput(name))
      try camera.start(on: feed) { input.render($0) }
    }
    let voice = try Devices.microphone("tone:440")
    let input = try #require(composition.soundInput("left"))
    try voice.start(on: feed) { input.play($0) }
    let broadcast = try Broadcast(of: composition, to: BroadcastOutputs.make(for: url))
    await world.run(for: .seconds(3))
    try broadcast.stop()
    try broadcast.stop()
    let probed = try await probe(url.path)
    #expect(probed.contains("codec_name=vp8") && probed.contains("codec_name=opus"))
    #expect(probed.contains("width=640") && probed.contains("height=360"))
    #expect(probed.contains("nb_read_packets=9") || probed.contains("nb_read_packets=8"), "90 pictures in 3 s")
    let seconds = probed.split(separator: "\n").first { $0.hasPrefix("duration=") }.flatMap { Double($0.dropFirst(9)) }
    #expect(abs((seconds ?? 0) - 3) < 0.1)
  }

  @Test func placesNobodyWritesToAreRefused() {
    for text in ["srt://example.com:9000", "file:///tmp/a.unknown"] {
      #expect(throws: BroadcastOutputError.self) {
        _ = try BroadcastOutputs.make(for: try #require(URL(string: text)))
      }
    }
  }

  private func probe(_ path: String) async throws -> String {
    try await Command(
      "ffprobe", "-v", "error", "-count_packets", "-show_entries",
      "stream=codec_name,width,height,nb_read_packets:format=duration", "-of", "default=noprint_wrappers=1", path
    ).run()
  }
}
