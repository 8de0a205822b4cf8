import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineSimulatedNetwork
import KoineTestSupport
import Testing

/// The tools to fill a folder and look into it.
extension Folder {
  /// - Parameter command: `@` stands for the folder.
  @discardableResult
  fileprivate func run(_ command: String) async throws -> String {
    try await Command(command.split(separator: " ").map { $0.replacingOccurrences(of: "@", with: path + "/") }).run()
  }

  /// Two seconds of video and audio.
  fileprivate func makeClip() async throws -> String {
    try await run(
      "ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=30:duration=2 -f lavfi -i sine=frequency=440:duration=2 "
        + "-c:v libvpx -deadline realtime -cpu-used 8 -c:a libopus @clip.webm")
    return file("clip.webm")
  }

  fileprivate func probe(_ name: String, _ entries: String) async throws -> [String] {
    try await run("ffprobe -v error -count_packets -show_entries \(entries) -of csv=p=0 @\(name)").split(
      separator: "\n"
    ).map(
      String.init)
  }
}

/// Keeps what a source delivers.
private final class Kept<Value: Sendable>: Sendable {
  private let list = Lock<[Value]>([])
  var all: [Value] { list.withLock { $0 } }
  func keep(_ value: Value) { list.withLock { $0.append(value) } }
}

@Suite struct FileSourceTests {
  init() { MediaFiles.register() }

  @Test func videoFramesFollowTheirTimestampsAndTheFileLoops() async throws {
    let folder = try Folder()
    let source = try Devices.camera("file:\(await folder.makeClip())")
    #expect(source.format == VideoFormat(width: 640, height: 360, framesPerSecond: 30))
    let scheduler = Scheduler.virtual()
    let kept = Kept<(frame: VideoFrame, at: Tick)>()
    let start = scheduler.now
    try source.start(on: scheduler.lane("camera")) { frame in kept.keep((frame, scheduler.now)) }
    scheduler.advance(to: start + .milliseconds(1_990))
    #expect(kept.all.count == 60)
    scheduler.advance(to: start + .milliseconds(5_010))
    let all = kept.all
    #expect(all.count == 150)
    for (index, entry) in all.enumerated() {
      // The sound in it begins a little earlier and is a little longer: both begin again at once.
      let turn = Double(index / 60) * 20
      #expect((-2...turn + 9).contains((entry.at - start).inMilliseconds - Double(index) * 1_000 / 30))
      #expect(entry.frame.captured == entry.at)
      #expect(entry.frame.width == 640)
    }
    let psnr = try #require(all[0].frame.psnr(against: all[60].frame))
    #expect(psnr > 60, "the second turn begins with the first picture")

    source.stop()
    scheduler.advance(to: start + .seconds(20))
    #expect(kept.all.count == 150, "silence after stop")
    try source.start(on: scheduler.lane("camera")) { frame in kept.keep((frame, scheduler.now)) }
    scheduler.advance(to: start + .seconds(21))
    #expect((179...181).contains(kept.all.count), "started again it is there at once")
  }

  @Test func audioIsDeliveredIn10MillisecondBlocksAndTheFileLoops() async throws {
    let folder = try Folder()
    try await folder.run("ffmpeg -v error -f lavfi -i sine=frequency=440:duration=2:sample_rate=44100 -ac 2 @tone.wav")
    let source = try Devices.microphone("file:\(folder.file("tone.wav"))")
    let scheduler = Scheduler.virtual()
    let kept = Kept<(samples: [Int16], captured: Tick)>()
    let start = scheduler.now
    try source.start(on: scheduler.lane("microphone")) { kept.keep(($0.samples, $0.captured)) }
    scheduler.advance(to: start + .milliseconds(4_995))
    let all = kept.all
    #expect(all.count == 500)
    for (index, block) in all.enumerated() {
      #expect(block.captured == start + .milliseconds(10) * index)
      #expect(block.samples.count == 480)
    }
    for second in 0..<5 {
      let samples = all[second * 100..<second * 100 + 100].flatMap(\.samples)
      let crossings = zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
      #expect((436...444).contains(crossings), "440 Hz in second \(second)")
    }
  }

  /// Video that starts after audio, and audio that starts after video, also when the file loops.
  @Test(arguments: [("0", "0.3", 0.0, 0.3), ("0.25", "0", 0.25, 0)])
  func offsetBetweenFileStreamsIsPreserved(
    pictures: String, sound: String, firstSeen: Double, firstHeard: Double
  ) async throws {
    let folder = try Folder()
    try await folder.run(
      "ffmpeg -v error -itsoffset \(pictures) -f lavfi -i testsrc2=size=64x64:rate=20:duration=2 -itsoffset \(sound) "
        + "-f lavfi -i sine=frequency=440:duration=2:sample_rate=48000 -c:v libvpx -deadline realtime -c:a libopus @a.webm"
    )
    let scheduler = Scheduler.virtual()
    let start = scheduler.now
    let (seen, heard) = (Kept<Double>(), Kept<Double>())
    let (camera, microphone) = (
      try Devices.camera("file:\(folder.file("a.webm"))"), try Devices.microphone("file:\(folder.file("a.webm"))")
    )
    try camera.start(on: scheduler.lane("camera")) { seen.keep(($0.captured - start).inSeconds) }
    try microphone.start(on: scheduler.lane("microphone")) { block in
      if let index = block.samples.firstIndex(where: { abs(Int($0)) > 400 }) {
        heard.keep((block.captured - start).inSeconds + Double(index) / 48_000)
      }
    }
    scheduler.advance(to: start + .seconds(7))
    camera.stop()
    microphone.stop()
    // FFmpeg itself is off by the 6.5 ms by which Opus delays sound.
    #expect(abs(try #require(seen.all.first) - firstSeen) < 0.01)
    #expect(abs(try #require(heard.all.first) - firstHeard) < 0.015, "\(heard.all.prefix(3))")
    let turns = seen.all.enumerated().filter { $0.offset % 40 == 0 }.map(\.element)
    let tones = zip([-1] + heard.all, heard.all).filter { $1 - $0 > 0.1 }.map(\.1)
    #expect(turns.count >= 3)
    #expect(tones.count >= 3)
    for (turn, tone) in zip(turns, tones) { #expect(abs(tone - turn - (firstHeard - firstSeen)) < 0.02) }
  }

  @Test func unreadableFilesThrow() async throws {
    let folder = try Folder()
    try await folder.run("ffmpeg -v error -f lavfi -i sine=duration=1 @sound.wav")
    try await folder.run("ffmpeg -v error -f lavfi -i testsrc2=duration=1 -pix_fmt yuv420p @pictures.y4m")
    #expect(FileManager.default.createFile(atPath: folder.file("empty.webm"), contents: nil))
    #expect(FileManager.default.createFile(atPath: folder.file("junk.webm"), contents: Data(repeating: 7, count: 999)))
    // A format that nothing here converts.
    try await folder.run(
      "ffmpeg -v error -f rawvideo -pix_fmt uyyvyy411 -video_size 64x36 -t 1 -i /dev/zero -c copy @odd.nut")
    for name in ["missing.webm", "sound.wav", "empty.webm", "junk.webm", "odd.nut", ""] {
      #expect(throws: DeviceError.self) { _ = try Devices.camera("file:\(folder.path)/\(name)") }
    }
    for name in ["missing.wav", "pictures.y4m", "empty.webm"] {
      let error = #expect(throws: DeviceError.self) { _ = try Devices.microphone("file:\(folder.path)/\(name)") }
      guard case .unreadable(let path, let reason) = error else { Issue.record("\(name)"); continue }
      #expect(path.hasSuffix(name))
      #expect(!reason.isEmpty)
    }
    for text in ["file", "file:"] {
      let error = #expect(throws: DeviceError.self) { _ = try Devices.camera(text) }
      if case .invalid = error { continue }
      Issue.record("\(text)")
    }
  }

  /// Consecutive streams, as from a radio station: stereo, mono, 5.1.
  @Test func audioMayChangeItsChannelCount() async throws {
    let folder = try Folder()
    var bytes = Data()
    for channels in [2, 1, 6] {
      try await folder.run(
        "ffmpeg -v error -f lavfi -i sine=frequency=440:duration=1 -ac \(channels) -c:a aac @\(channels).aac")
      bytes += try Data(contentsOf: URL(fileURLWithPath: folder.file("\(channels).aac")))
    }
    try bytes.write(to: URL(fileURLWithPath: folder.file("mixed.aac")))
    let source = try Devices.microphone("file:\(folder.file("mixed.aac"))")
    let scheduler = Scheduler.virtual()
    let kept = Kept<[Int16]>()
    try source.start(on: scheduler.lane("microphone")) { kept.keep($0.samples) }
    scheduler.advance(to: scheduler.now + .milliseconds(5_995))
    #expect(kept.all.count == 600)
    for half in [0.5, 1.5, 2.5] {
      let samples = kept.all[Int(half * 100)..<Int(half * 100) + 20].flatMap { $0 }
      let crossings = zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 }
      #expect((86...90).contains(crossings), "440 Hz after \(half) s: \(crossings)")
    }
  }

  @Test func leapsInTimestampsAreSkipped() async throws {
    let folder = try Folder()
    try await folder.run(
      "ffmpeg -v error -f lavfi -i testsrc2=size=64x36:rate=30:duration=0.3 -vf setpts=PTS+gte(N\\,3)*N*1e12/TB "
        + "-fps_mode passthrough -c:v ffv1 @leaps.nut")
    let source = try Devices.camera("file:\(folder.file("leaps.nut"))")
    let scheduler = Scheduler.virtual()
    let kept = Kept<Tick>()
    let start = scheduler.now
    try source.start(on: scheduler.lane("camera")) { kept.keep($0.captured) }
    scheduler.advance(to: start + .seconds(10))
    #expect(kept.all.count > 30, "over and over")
    #expect(zip(kept.all, kept.all.dropFirst()).allSatisfy { $0 <= $1 && $1 - $0 < .seconds(2) })
  }

  @Test func truncatedFilePlays() async throws {
    let folder = try Folder()
    let whole = try Data(contentsOf: URL(fileURLWithPath: await folder.makeClip()))
    try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: folder.file("half.webm")))
    let source = try Devices.camera("file:\(folder.file("half.webm"))")
    let scheduler = Scheduler.virtual()
    let kept = Kept<Tick>()
    try source.start(on: scheduler.lane("camera")) { kept.keep($0.captured) }
    scheduler.advance(to: scheduler.now + .seconds(4))
    #expect(kept.all.count > 60, "over and over")
    #expect(zip(kept.all, kept.all.dropFirst()).allSatisfy { $0 < $1 })
  }
}

@Suite struct RecorderTests {
  init() { MediaFiles.register() }

  private func makeFrame(_ width: Int, _ height: Int) -> VideoFrame {
    FramePool(limit: 0).make(width: width, height: height, captured: .zero) { planes in
      for index in 0..<planes.lumaStride * planes.height { planes.y[index] = 100 }
      for index in 0..<planes.chromaStride * planes.chromaHeight {
        planes.u[index] = 90
        planes.v[index] = 160
      }
    }
  }

  @Test func wavRoundTripPreservesSamples() async throws {
    let folder = try Folder()
    let recorder = try WAVRecorder(folder.file("deep/er/sound.wav"))
    var sent: [Int16] = []
    for number in 0..<100 {
      var block = AudioBlock(captured: .zero)
      for index in 0..<AudioBlock.length { block.samples[index] = Int16(truncatingIfNeeded: number * 480 + index) }
      sent += block.samples
      recorder.play(block)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.file("deep/er/sound.wav")))
    try recorder.close()
    try recorder.close()
    recorder.play(AudioBlock(captured: .zero))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("deep/er")) == ["sound.wav"])
    #expect(
      try await folder.probe("deep/er/sound.wav", "stream=codec_name,sample_rate,channels,duration") == [
        "pcm_s16le,48000,1,1.000000"
      ])
    let source = try Devices.microphone("file:\(folder.file("deep/er/sound.wav"))")
    let scheduler = Scheduler.virtual()
    let kept = Kept<[Int16]>()
    try source.start(on: scheduler.lane("microphone")) { kept.keep($0.samples) }
    scheduler.advance(to: scheduler.now + .milliseconds(995))
    #expect(kept.all.flatMap { $0 } == sent)
  }

  @Test func y4mFileHasEachFrameOnceInTheLargestSize() async throws {
    let folder = try Folder()
    let recorder = try Y4MRecorder(folder.file("seen.y4m"))
    for _ in 0..<5 { recorder.render(makeFrame(65, 37)) }
    for _ in 0..<5 { recorder.render(makeFrame(130, 74)) }
    for _ in 0..<2 { recorder.render(makeFrame(65, 37)) }
    try recorder.close()
    try recorder.close()
    recorder.render(makeFrame(65, 37))
    #expect(folder.names == ["seen.y4m"])
    #expect(try await folder.probe("seen.y4m", "stream=width,height,nb_read_packets") == ["130,74,12"])
    // Scaling changes no even colour: the first picture, written small, is as the last.
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("seen.y4m"))))
    let (length, head) = (130 * 74 + 2 * 65 * 37, "YUV4MPEG2 W130 H74 F30:1 Ip A1:1 C420jpeg\n".utf8.count)
    for number in [0, 11] {
      let start = head + number * (length + 6) + 6
      #expect(bytes[start] == 100)
      #expect(bytes[start + 130 * 74] == 90)
      #expect(bytes[start + length - 1] == 160)
    }
  }

  /// A folder has the path of the file that would be rewritten.
  @Test func y4mFileThatCannotBeRewrittenKeepsItsSizeAndFrames() async throws {
    let folder = try Folder()
    let recorder = try Y4MRecorder(folder.file("seen.y4m"))
    try FileManager.default.createDirectory(
      atPath: folder.file("seen.y4m.part2"), withIntermediateDirectories: false)
    for _ in 0..<3 { recorder.render(makeFrame(64, 36)) }
    for _ in 0..<3 { recorder.render(makeFrame(128, 72)) }
    try recorder.close()
    #expect(try await folder.probe("seen.y4m", "stream=width,height,nb_read_packets") == ["64,36,6"])
  }

  @Test func recordedFileEndsWhenItsSenderLeaves() async throws {
    let folder = try Folder()
    let scheduler = Scheduler.virtual()
    let timeline = RecordingTimeline(start: scheduler.now, scheduler: scheduler)
    let pictures = try Y4MRecorder(folder.file("a.y4m"), timeline: timeline)
    pictures.render(makeFrame(64, 36).with(captured: scheduler.now))
    scheduler.advance(to: scheduler.now + .seconds(2))
    timeline.stop()
    scheduler.advance(to: scheduler.now + .seconds(3_600))
    try pictures.close()
    #expect(try await folder.probe("a.y4m", "stream=nb_read_packets") == ["60"])
  }

  @Test func filesWithTimelineAreInSyncAndAsLongAsTheCall() async throws {
    let folder = try Folder()
    let scheduler = Scheduler.virtual()
    let start = scheduler.now
    let timeline = RecordingTimeline(start: start, scheduler: scheduler)
    let sound = try WAVRecorder(folder.file("a.wav"), timeline: timeline)
    let pictures = try Y4MRecorder(folder.file("a.y4m"), timeline: timeline)
    // Sound from 1 s to 2 s and from 5 s to 6 s, a small picture at 1 s and a large one at 3 s; the end at 8 s.
    for milliseconds in stride(from: 0, to: 8_000, by: 10) {
      scheduler.advance(to: start + .milliseconds(milliseconds))
      if (1_000..<2_000).contains(milliseconds) || (5_000..<6_000).contains(milliseconds) {
        var block = AudioBlock(captured: scheduler.now)
        for index in 0..<AudioBlock.length { block.samples[index] = 1_000 }
        sound.play(block)
      }
      if milliseconds == 1_000 { pictures.render(makeFrame(64, 36).with(captured: scheduler.now)) }
      // A sender's clock that is wrong by an hour fills no disk.
      if milliseconds == 3_000 { pictures.render(makeFrame(128, 72).with(captured: scheduler.now + .seconds(3_600))) }
    }
    scheduler.advance(to: start + .seconds(8))
    try sound.close()
    try pictures.close()
    #expect(try await folder.probe("a.wav", "stream=duration") == ["8.000000"])
    #expect(try await folder.probe("a.y4m", "stream=width,height,nb_read_packets") == ["128,72,240"])
    let wav = Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("a.wav"))))
    func isLoud(_ seconds: Double) -> Bool { wav[44 + Int(seconds * 48_000) * 2 + 1] != 0 }
    #expect([0.5, 1.5, 2.5, 4.5, 5.5, 6.5].map(isLoud) == [false, true, false, false, true, false])
    let y4m = Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("a.y4m"))))
    let (length, head) = (128 * 72 * 3 / 2, "YUV4MPEG2 W128 H72 F30:1 Ip A1:1 C420jpeg\n".utf8.count)
    func luma(_ seconds: Double) -> UInt8 { y4m[head + Int(seconds * 30) * (length + 6) + 6] }
    #expect([0.5, 1.5, 4.5, 7.9].map(luma) == [16, 100, 100, 100])
  }

  /// A pipe without a reader simulates a stalled disk.
  @Test func slowDiskDropsBlocksInsteadOfBlocking() throws {
    let folder = try Folder()
    let path = folder.file("slow.wav")
    try #require(mkfifo(path + ".part", 0o600) == 0)
    // A program that another test starts meanwhile must not hold the reading end.
    let end = open(path + ".part", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(end >= 0)
    let recorder = try WAVRecorder(path)
    for _ in 0..<20_000 { recorder.play(AudioBlock(captured: .zero)) }
    #expect(recorder.dropped > 5_000)
    _ = fcntl(end, F_SETFL, 0)
    Thread.detachNewThread {
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      while read(end, &bytes, bytes.count) > 0 {}
      close(end)
    }
    try recorder.close()
  }

  @Test func failedAndUnclosedRecordersLeaveNoFile() throws {
    let folder = try Folder()
    #expect(throws: RecordingError.self) { _ = try WAVRecorder("/proc/no/sound.wav") }
    #expect(throws: RecordingError.self) { _ = try Y4MRecorder("/proc/no/seen.y4m") }
    do {
      let (sound, pictures) = (try WAVRecorder(folder.file("a.wav")), try Y4MRecorder(folder.file("a.y4m")))
      sound.play(AudioBlock(captured: .zero))
      pictures.render(makeFrame(64, 36))
      #expect(folder.names == ["a.wav.part", "a.y4m.part"])
    }
    #expect(folder.names.isEmpty)
    let nothing = WebMRecorder(folder.file("nothing.webm"))
    try nothing.close()
    try nothing.close()
    #expect(folder.names.isEmpty)
  }

  private func audioFrame(_ milliseconds: Int) -> EncodedFrame {
    EncodedFrame(
      codec: .opus, data: Bytes([0xFC] + [UInt8](repeating: 0x55, count: 40)),
      captured: .zero + .milliseconds(milliseconds), rtpTimestamp: UInt32(milliseconds * 48))
  }

  /// A pipe whose reader closes simulates a full disk.
  @Test func fullDiskIsReportedOnClose() throws {
    signal(SIGPIPE, SIG_IGN)
    let folder = try Folder()
    let path = folder.file("full.webm")
    try #require(mkfifo(path + ".part", 0o600) == 0)
    // A program that another test starts meanwhile must not hold the reading end.
    let end = open(path + ".part", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(end >= 0)
    let recorder = WebMRecorder(path, hasPictures: false)
    for number in 0..<20 { recorder.receive(audioFrame(number * 20)) }
    recorder.flush()
    let writer = open(path + ".part", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    close(end)
    // A child process that another test is starting has the reading end until it runs its program. POLLERR: no process has it.
    var waiting = pollfd(fd: writer, events: 0, revents: 0)
    #expect(poll(&waiting, 1, 30_000) == 1)
    close(writer)
    let error = #expect(throws: RecordingError.self) { try recorder.close() }
    #expect(error?.description.contains("full.webm.part") == true)
    #expect(folder.names == ["full.webm.part"])
  }

  @Test func partFileIsKeptWhenAFolderHasItsName() async throws {
    let folder = try Folder()
    for name in ["there.webm", "there.wav", "there.mp4", "there.m3u8"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
      MediaFiles.register()
      #expect(throws: RecordingError.self) {  // before anything is written
        if name.hasSuffix("wav") {
          _ = try WAVRecorder(folder.file(name))
        } else {
          _ = try BroadcastOutputs.make(for: URL(fileURLWithPath: folder.file(name)))
        }
      }
    }
    let (recorder, ear) = (WebMRecorder(folder.file("a.webm")), try WAVRecorder(folder.file("a.wav")))
    for number in 0..<100 { recorder.receive(audioFrame(number * 20)) }
    for _ in 0..<100 { ear.play(AudioBlock(captured: .zero)) }
    recorder.flush()
    for name in ["a.webm", "a.wav"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    let errors = [
      #expect(throws: RecordingError.self) { try recorder.close() },
      #expect(throws: RecordingError.self) { try ear.close() },
    ]
    for (name, error) in zip(["a.webm", "a.wav"], errors) {
      #expect(error?.reason.contains(folder.file(name) + ".part") == true)
      let length = try await folder.probe(name + ".part", "format=duration").first.flatMap(Double.init) ?? 0
      #expect(abs(length - (name == "a.wav" ? 1 : 2)) < 0.1, "\(name) plays")
    }
  }

  /// A call of three seconds, recorded at Ben's.
  private func record(
    _ folder: Folder, camera: Bool, spec: String = "pattern:320x180@30", network: String? = nil, seconds: Double = 3,
    isTimed: Bool = false, closing: Bool = true
  ) async throws {
    let network = try network.map { try NetworkSpec($0) }
    let world = World(
      backend: EmbeddedBackend(virtual: 4, network: network),
      delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let (ana, ben) = (
      Session(JoinRequest(room: "r", name: "Ana"), in: world), Session(JoinRequest(room: "r", name: "Ben"), in: world)
    )
    let scheduler = world.backend.scheduler
    let recorder = WebMRecorder(
      folder.file("call.webm"),
      timeline: isTimed ? RecordingTimeline(start: scheduler.now, scheduler: scheduler) : nil)
    ben.observe { [weak ben] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal {
        ben?.attach(recorder.tap, to: stream.id)
      }
    }
    if camera { try ana.publish(camera: Devices.camera(spec)) }
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(seconds))
    recorder.flush()
    #expect(folder.names == ["call.webm.part"])
    if closing {
      try recorder.close()
      try recorder.close()
      #expect(folder.names == ["call.webm"])
    }
    for session in [ana, ben] { session.leave {} }
    await world.run(for: .seconds(1))
  }

  @Test func callIsRecordedInItsReceivedCodecs() async throws {
    let folder = try Folder()
    try await record(folder, camera: true)
    let lines = try await folder.probe("call.webm", "stream=codec_name,width,height,sample_rate,nb_read_packets")
    let pictures = try #require(lines.first { $0.hasPrefix("vp8,320,180,") }).split(separator: ",")
    let sound = try #require(lines.first { $0.hasPrefix("opus,48000,") }).split(separator: ",")
    // One more than the camera has taken: Ben gets one at once when he joins.
    #expect(pictures.last.flatMap { Int($0) }.map { (75...91).contains($0) } == true)
    #expect(sound.last.flatMap { Int($0) }.map { (125...150).contains($0) } == true)
    #expect(
      try await folder.run("ffmpeg -v error -xerror -i @call.webm -f null -").isEmpty, "every frame can be decoded")
  }

  /// A small layer comes first, the published size later.
  @Test func recordingHeaderHasThePublishedSize() async throws {
    let folder = try Folder()
    try await record(
      folder, camera: true, spec: "pattern:640x360@30", network: "rate=250k;1500ms:rate=8000k", seconds: 10,
      isTimed: true)
    let sizes = try await folder.probe("call.webm", "frame=width,height")
    #expect(Set(sizes).contains("320,180"))
    #expect(sizes.last { $0.contains(",") } == "640,360")
    let lines = try await folder.probe("call.webm", "stream=codec_name,width,height")
    #expect(lines.contains("vp8,640,360"))
    #expect(try await folder.run("ffmpeg -v error -xerror -i @call.webm -f null -").isEmpty)
    let length = try await folder.probe("call.webm", "format=duration").first.flatMap(Double.init) ?? 0
    #expect(abs(length - 10) < 0.3)
    // A size of one byte, as it is while nothing larger has come.
    let other = try Folder()
    try await record(other, camera: true, spec: "pattern:160x90@30")
    #expect(try await other.probe("call.webm", "stream=codec_name,width,height").contains("vp8,160,90"))
  }

  @Test func audioOnlyCallIsRecorded() async throws {
    let folder = try Folder()
    try await record(folder, camera: false)
    let lines = try await folder.probe("call.webm", "stream=codec_name,nb_read_packets")
    #expect(lines.count == 1 && lines[0].hasPrefix("opus,"))
    #expect(lines[0].split(separator: ",").last.flatMap { Int($0) }.map { (125...150).contains($0) } == true)
  }

  @Test(arguments: [Codec.vp8, .vp9]) func videoTrackAddedLateIsRecorded(_ codec: Codec) async throws {
    let folder = try Folder()
    let world = World(backend: EmbeddedBackend(virtual: 4), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let (ana, ben) = (
      Session(JoinRequest(room: "r", name: "Ana"), in: world), Session(JoinRequest(room: "r", name: "Ben"), in: world)
    )
    let recorder = WebMRecorder(folder.file("late.webm"))
    ben.observe { [weak ben] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal { ben?.attach(recorder.tap, to: stream.id) }
    }
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(4))
    try ana.publish(camera: Devices.camera("pattern:320x180@30"), options: VideoPublishOptions(codec: codec))
    await world.run(for: .seconds(3))
    try recorder.close()
    let lines = try await folder.probe("late.webm", "stream=codec_name,width,height,nb_read_packets")
    let pictures = try #require(lines.first { $0.hasPrefix("\(codec.rawValue.lowercased()),320,180,") }, "\(lines)")
    #expect(pictures.split(separator: ",").last.flatMap { Int($0) }.map { $0 > 60 } == true)
    #expect(try await folder.run("ffmpeg -v error -xerror -i @late.webm -f null -").isEmpty)
    withExtendedLifetime((ana, ben)) {}
  }

  /// MP4 cannot add tracks after its start.
  @Test func videoFramesWithoutPlaylistTrackAreCountedAsDropped() async throws {
    let folder = try Folder()
    let recorder = PlaylistRecorder(folder.file("room.m3u8"))
    func add(_ codec: Codec, at milliseconds: Int, isKey: Bool = false) {
      let time = Tick(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
      recorder.receive(
        EncodedFrame(
          codec: codec, data: Bytes([0xF8, 0xFF, 0xFE]), captured: time, rtpTimestamp: UInt32(milliseconds * 48),
          isKey: isKey))
    }
    for block in 0..<1_600 { add(.opus, at: block * 20) }
    recorder.flush()
    #expect(recorder.dropped == 0)
    for picture in 0..<10 { add(.vp9, at: 32_000 + picture * 33, isKey: picture == 0) }
    recorder.flush()
    #expect(recorder.dropped == 10)
    try recorder.close()
    #expect(recorder.dropped == 10)
    #expect(try await folder.probe("room.m3u8", "stream=codec_name").contains("opus"))
  }

  @Test func unclosedCallRecordingLeavesNoFile() async throws {
    let folder = try Folder()
    try await record(folder, camera: true, closing: false)
    #expect(folder.names.isEmpty)
  }
}
