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

  /// The composed frame after 100 ms.
  private func composedFrame(of composition: Composition) async throws -> VideoFrame {
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

  @Test func slotsAreDrawnAtTheirPositionsAndInZOrder() async throws {
    let composition = Composition(width: 640, height: 360, in: world)
    var over = Slot("over", x: 100, y: 100, width: 64, height: 64)
    (over.aspect, over.zIndex) = (.stretch, 1)
    var under = Slot("under", width: 320, height: 180)
    under.aspect = .stretch
    #expect(composition.add(over))
    #expect(composition.add(under))
    #expect(!composition.add(under), "one of a name")
    composition.pictureInput("over")?.render(plain(200))
    composition.pictureInput("under")?.render(plain(90))
    #expect(composition.pictureInput("none") == nil)
    #expect(composition.soundInput("none") == nil)
    let frame = try await composedFrame(of: composition)
    #expect((frame.width, frame.height) == (640, 360))
    #expect(luma(frame, 10, 10) == 90)
    #expect(abs(Int(luma(frame, 120, 120)) - 200) <= 1)
    #expect(luma(frame, 600, 300) == 16)
    composition.pictureInput("under")?.clear()
    #expect(luma(try await composedFrame(of: composition), 10, 10) == 16)
    #expect(composition.remove("over"))
    #expect(!composition.remove("over"))
    #expect(luma(try await composedFrame(of: composition), 120, 120) == 16)
  }

  @Test func labelIsDrawnOverLowerLeftCornerOfItsSlot() async throws {
    let composition = Composition(width: 640, height: 360, in: world)
    var slot = Slot("ana", x: 320, width: 320, height: 180)
    slot.label = "Zoë"
    composition.add(slot)
    composition.pictureInput("ana")?.render(plain(90))
    let frame = try await composedFrame(of: composition)
    // Letters of one dot's size: 8 rows above a margin of two.
    let strip = (168..<180).map { y in (320..<342).map { x in luma(frame, x, y) } }
    #expect(Set(strip.joined()) == [16, 235])
    #expect(luma(frame, 330, 160) == 90)
    #expect(luma(frame, 400, 175) == 90)
    #expect(luma(frame, 10, 175) == 16)
    func columns(_ letter: Int) -> [[UInt8]] { strip.map { Array($0[(2 + 6 * letter)..<(7 + 6 * letter)]) } }
    #expect(columns(0).flatMap { $0 }.contains(235))
    #expect(columns(0) != columns(1))
    slot.label = "Zoe"
    composition.change("ana", to: slot)
    let plain = try await composedFrame(of: composition)
    #expect((320..<342).allSatisfy { x in (168..<180).allSatisfy { luma(plain, x, $0) == luma(frame, x, $0) } })
  }

  @Test func framesFollowAspectModeAndOpacityOfTheirSlot() async throws {
    let composition = Composition(width: 200, height: 200, in: world)
    var slot = Slot("a", width: 200, height: 200)
    slot.fill = Color(red: 255, green: 255, blue: 255)
    composition.add(slot)
    composition.pictureInput("a")?.render(plain(90, 320, 160))
    let fitted = try await composedFrame(of: composition)
    #expect(luma(fitted, 100, 100) == 90 && luma(fitted, 100, 20) > 230, "what is left over shows the fill")
    slot.aspect = .fill
    #expect(composition.change("a", to: slot))
    #expect(luma(try await composedFrame(of: composition), 100, 2) == 90)
    slot.opacity = 0.5
    composition.change("a", to: slot)
    let blended = luma(try await composedFrame(of: composition), 100, 100)
    #expect((90...110).contains(blended), "90 over white over black")
    #expect(!composition.change("b", to: slot))
  }

  @Test func slotsBeyondEdgesOrOfOddOrEmptySizeAreClipped() async throws {
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
    let frame = try await composedFrame(of: composition)
    #expect((frame.width, frame.height) == (321, 179))
    #expect(luma(frame, 4, 4) > 16)
  }

  @Test func slotChangeIsAnimatedOverItsDuration() async throws {
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

  @Test func audioInputsAreMixedWithTheirGains() async throws {
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
    #expect(heard.count >= 100)
    #expect(heard.dropFirst(5).allSatisfy { abs(Int($0) - 12_000) < 50 })
    for source in sources { source.stop() }
    peaks.withLock { $0 = [] }
    await world.run(for: .milliseconds(200))
    #expect(peaks.withLock { $0.suffix(10).allSatisfy { $0 == 0 } }, "nobody speaks")
    mix.stop()
  }

  /// Audio minus video time, in ms, of an instant captured by both, whose media have these transport delays.
  /// - Parameter source: of both, in slots of their own; nil: they share a slot.
  private func syncOffset(pictures: Duration, sound: Duration, source: String? = nil) async throws -> Double {
    let composition = Composition(width: 64, height: 64, in: world)
    composition.add(Slot("a", width: 64, height: 64))
    composition.add(Slot("b", width: 0, height: 0))
    let picture = try #require(composition.pictureInput("a"))
    let voice = try #require(composition.soundInput(source == nil ? "a" : "b"))
    (picture.source, voice.source) = (source, source)
    let feed = world.backend.scheduler.lane("feed")
    let start = feed.scheduler.now + .milliseconds(7)
    let clap = 1_500..<1_600
    for number in 0..<75 {
      let at = number * 1_000 / 30
      let frame = plain(clap.contains(at) ? 200 : 20, 64, 64).with(captured: start + .milliseconds(at))
      feed.post(at: frame.captured + pictures) { picture.render(frame) }
    }
    for number in 0..<250 {
      var block = AudioBlock(captured: start + AudioBlock.duration * number)
      if clap.contains(number * 10) { for index in block.samples.indices { block.samples[index] = 9_000 } }
      feed.post(at: block.captured + sound) { [block] in voice.play(block) }
    }
    let (seen, heard) = (Lock<Tick?>(nil), Lock<Tick?>(nil))
    let (camera, microphone) = (composition.makeVideoSource(), composition.makeAudioSource())
    try camera.start(on: world.backend.scheduler.lane("seen")) { [self] frame in
      if luma(frame, 30, 30) > 100 { seen.withLock { $0 = $0 ?? frame.captured } }
    }
    try microphone.start(on: world.backend.scheduler.lane("heard")) { block in
      guard let index = block.samples.firstIndex(where: { $0 > 4_000 }) else { return }
      heard.withLock { $0 = $0 ?? block.captured + .nanoseconds(Int64(index) * 1_000_000 / 48) }
    }
    await world.run(for: .milliseconds(2_600))
    camera.stop()
    microphone.stop()
    return (try #require(heard.withLock { $0 }) - (try #require(seen.withLock { $0 }))).inMilliseconds
  }

  @Test(arguments: [(5, 5), (20, 70), (30, 160), (90, 60), (10, 400)])
  func composedAudioAndVideoStayInSync(pictures: Int, sound: Int) async throws {
    let half = 1_000.0 / 30 / 2 + 5  // of the time between pictures, and of a block
    for source in [nil, "ana"] {
      let apart = try await syncOffset(pictures: .milliseconds(pictures), sound: .milliseconds(sound), source: source)
      #expect(abs(apart) <= half, "sound \(apart) ms after the picture")
    }
  }

  @Test func framesAreNotQueuedWhileNothingIsComposed() async throws {
    let composition = Composition(width: 64, height: 64, in: world)
    composition.add(Slot("a", width: 64, height: 64))
    let input = try #require(composition.pictureInput("a"))
    input.render(plain(90, 64, 64).with(captured: world.backend.scheduler.now + .seconds(3_600)))
    #expect(luma(try await composedFrame(of: composition), 30, 30) == 90, "a time that is far ahead is none")
    for number in 1...100 {
      input.render(plain(UInt8(100 + number), 64, 64).with(captured: world.backend.scheduler.now))
    }
    #expect(luma(try await composedFrame(of: composition), 30, 30) == 200)
  }

  @Test func allAudioSourcesDeliverTheSameMix() async throws {
    let composition = Composition(width: 64, height: 64, in: world)
    composition.add(Slot("a", width: 64, height: 64))
    let input = try #require(composition.soundInput("a"))
    let voice = try Devices.microphone("tone:400")
    try voice.start(on: world.backend.scheduler.lane("feed")) { input.play($0) }
    let heard = Lock([[Int16](), []])
    let sources = [composition.makeAudioSource(), composition.makeAudioSource()]
    for (index, source) in sources.enumerated() {
      try source.start(on: world.backend.scheduler.lane("\(index)")) { block in
        heard.withLock { $0[index].append(block.samples.max() ?? 0) }
      }
      await world.run(for: .milliseconds(500))
    }
    for source in sources { source.stop() }
    voice.stop()
    let all = heard.withLock { $0 }
    #expect(all[0].count >= 100 && all[1].count >= 49)
    #expect(all[0].dropFirst(5).allSatisfy { $0 > 7_000 } && all[1].allSatisfy { $0 > 7_000 }, "nobody takes another's")
  }

  @Test func compositionIsWrittenAsPlayableWebM() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let url = URL(fileURLWithPath: folder.file("composition.webm"))
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
    #expect(probed.contains("codec_name=vp8"))
    #expect(probed.contains("codec_name=opus"))
    #expect(probed.contains("width=640"))
    #expect(probed.contains("height=360"))
    #expect(probed.contains("nb_read_packets=9") || probed.contains("nb_read_packets=8"), "90 pictures in 3 s")
    let seconds = probed.split(separator: "\n").first { $0.hasPrefix("duration=") }.flatMap { Double($0.dropFirst(9)) }
    #expect(abs((seconds ?? 0) - 3) < 0.1)
  }

  @Test func unsupportedOutputURLsAreRefused() {
    for text in ["srt://example.com:9000", "file:///tmp/a.unknown"] {
      #expect(throws: BroadcastOutputError.self) {
        _ = try BroadcastOutputs.make(for: try #require(URL(string: text)))
      }
    }
  }

  @Test func refusedOutputURLIsReportedWithoutItsKey() throws {
    let places = [
      "none://me:secret@host:1935/app/secret?secret=1#secret": "'none://host:1935/app'",
      "none://host/secret/": "'none://host'", "none:secret": "'none:'", "none://host": "'none://host'",
      "file:///a/b.unknown": "'file:///a/b.unknown'",
    ]
    for (text, name) in places {
      let url = try #require(URL(string: text))
      let error = #expect(throws: BroadcastOutputError.self) { _ = try BroadcastOutputs.make(for: url) }
      #expect(error?.description.hasPrefix("nothing writes to \(name); ") == true)
    }
  }

  private func probe(_ path: String) async throws -> String {
    try await Command(
      "ffprobe", "-v", "error", "-count_packets", "-show_entries",
      "stream=codec_name,width,height,nb_read_packets:format=duration", "-of", "default=noprint_wrappers=1", path
    ).run()
  }
}
