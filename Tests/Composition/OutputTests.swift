import Dispatch
import Foundation
import Koine
import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// Outputs with their own encoders: fragmented MP4, HLS, RTMP.
@Suite struct OutputTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 2), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  private let folder: Folder

  init() throws {
    MediaFiles.register()
    folder = try Folder()
  }

  /// A quarter of it moves, and a tone is heard.
  private func composition() throws -> (Composition, stop: () -> Void) {
    let composition = Composition(width: 320, height: 180, in: world)
    composition.add(Slot("left", width: 160, height: 180))
    let feed = world.backend.scheduler.lane("feed")
    let (camera, voice) = (try Devices.camera("pattern:160x90@30"), try Devices.microphone("tone:440"))
    if let input = composition.pictureInput("left") { try camera.start(on: feed) { input.render($0) } }
    if let input = composition.soundInput("left") { try voice.start(on: feed) { input.play($0) } }
    return (
      composition,
      {
        camera.stop()
        voice.stop()
      }
    )
  }

  private func broadcast(
    to url: URL, seconds: Int, hasVideo: Bool = true, keyFrameInterval: Duration = .seconds(2)
  ) async throws {
    let (composition, stop) = try composition()
    let output = try EncodingOutput(url)
    let readable = Lock(0)
    let broadcast = try Broadcast(
      of: composition, to: output, hasVideo: hasVideo, keyFrameInterval: keyFrameInterval,
      onReadable: { readable.withLock { $0 += 1 } })
    await world.run(for: .seconds(seconds))
    #expect(readable.withLock { $0 } == 1)
    output.onReadable { readable.withLock { $0 += 1 } }
    output.flush()
    #expect(readable.withLock { $0 } == 2, "who asks late is told, too")
    stop()
    try broadcast.stop()
    try broadcast.stop()
    #expect(output.dropped == 0)
  }

  private func probe(_ path: String, _ entries: String, of streams: String = "") async throws -> [String] {
    try await Command(
      ["ffprobe", "-v", "error", "-count_packets", "-show_entries", entries, "-of", "csv=p=0"]
        + (streams.isEmpty ? [] : ["-select_streams", streams]) + [path]
    ).run().split(separator: "\n").map(String.init)
  }

  /// Warnings of ffmpeg while it decodes the whole file.
  private func ffmpegWarnings(about path: String) async throws -> String {
    try await Command("sh", "-c", "ffmpeg -v warning -i '\(path)' -f null - 2>&1").run()
  }

  @Test func mp4FileIsFragmentedAndPlays() async throws {
    let path = folder.file("deep/room.mp4")
    try await broadcast(to: URL(fileURLWithPath: path), seconds: 5, keyFrameInterval: .seconds(1))
    let streams = try await probe(path, "stream=codec_name,width,height,sample_rate,nb_read_packets")
    #expect(streams.first == "h264,320,180,150" || streams.first == "h264,320,180,151", "\(streams)")
    #expect(streams.last?.hasPrefix("aac,48000,") == true)
    #expect(try await ffmpegWarnings(about: path) == "")
    let keys = try await probe(path, "packet=pts_time,flags", of: "v").filter { $0.contains("K") }
    #expect(keys.count == 5 || keys.count == 6, "one a second: \(keys)")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes.range(of: Data("moof".utf8)) != nil)
    #expect(!FileManager.default.fileExists(atPath: path + ".part"))

    // What a killed process leaves.
    try bytes.prefix(bytes.count * 2 / 3).write(to: URL(fileURLWithPath: folder.file("killed.mp4")))
    let left = try await probe(folder.file("killed.mp4"), "packet=pts_time", of: "v")
    #expect(left.count >= 60)
  }

  @Test func hlsOutputIsAPlaylistAndItsSegments() async throws {
    let path = folder.file("room.m3u8")
    try await broadcast(to: URL(fileURLWithPath: path), seconds: 7)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.hasPrefix("#EXTM3U"))
    #expect(text.contains("room-init.mp4"))
    #expect(text.contains("#EXT-X-ENDLIST"))
    #expect(text.split(separator: "\n").filter { $0.hasPrefix("room-0") }.count == 4, "of two seconds each")
    #expect(folder.names.filter { $0.hasSuffix(".m4s") }.count == 4)
    #expect(try await ffmpegWarnings(about: path) == "")
    let streams = try await probe(path, "stream=codec_name,nb_read_packets")
    #expect(streams.contains { $0.hasPrefix("h264,21") } && streams.contains { $0.hasPrefix("aac,3") }, "\(streams)")
  }

  @Test(arguments: ["room.mp4", "room.m3u8"]) func encodedOutputWithoutVideoHasAudioOnly(_ name: String) async throws {
    let path = folder.file(name)
    try await broadcast(to: URL(fileURLWithPath: path), seconds: 5, hasVideo: false)
    let streams = try await probe(path, "stream=codec_type")
    #expect(Set(streams.filter { !$0.isEmpty }) == ["audio"])
    #expect(try await ffmpegWarnings(about: path) == "")
    let times = try await probe(path, "packet=pts_time", of: "a").compactMap(Double.init)
    #expect(times.last ?? 0 > 4.5)
    if name == "room.mp4" {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      try bytes.prefix(bytes.count * 2 / 3).write(to: URL(fileURLWithPath: folder.file("killed.mp4")))
      #expect(try await probe(folder.file("killed.mp4"), "packet=pts_time", of: "a").count > 100)
    }
  }

  @Test(arguments: [false, true]) func writtenOutputWithoutVideoHasAudioOnly(isPlaylist: Bool) async throws {
    let path = folder.file(isPlaylist ? "room.m3u8" : "room.webm")
    let output: any BroadcastOutput = isPlaylist ? PlaylistRecorder(path) : WebMRecorder(path)
    let (composition, stop) = try composition()
    let broadcast = try Broadcast(of: composition, to: output, hasVideo: false)
    await world.run(for: .seconds(4))
    stop()
    try broadcast.stop()
    let streams = try await probe(path, "stream=codec_name")
    #expect(Set(streams.filter { !$0.isEmpty }) == ["opus"])
    #expect(try await ffmpegWarnings(about: path) == "")
    let times = try await probe(path, "packet=pts_time", of: "a").compactMap(Double.init)
    #expect(times.last ?? 0 > 3.5)
    if isPlaylist { #expect(folder.names.filter { $0.hasSuffix(".m4s") }.count >= 3) }
  }

  @Test func rtmpServerReceivesTheComposition() async throws {
    let file = folder.file("received.flv")
    try await RTMPServer.receiving(into: file) { url in
      try await broadcast(to: try #require(URL(string: url)), seconds: 4)
    }
    #expect(try await ffmpegWarnings(about: file) == "")
    let streams = try await probe(file, "stream=codec_name,width,height,nb_read_packets")
    #expect(
      streams.contains { $0.hasPrefix("h264,320,180,1") } && streams.contains { $0.hasPrefix("aac,") }, "\(streams)")
    let pictures = try await probe(file, "packet=pts_time", of: "v")
    #expect(pictures.count >= 119, "\(pictures.count)")
  }

  @Test func unreachableRTMPServerFailsWithoutNamingTheKey() async throws {
    let url = try #require(URL(string: "rtmp://127.0.0.1:\(try Ports.free())/live/secret"))
    let (composition, stop) = try composition()
    let told = Lock<[String]>([])
    let broadcast = try Broadcast(
      of: composition, to: BroadcastOutputs.make(for: url), onReadable: { told.withLock { $0.append("ready") } },
      onFailure: { error in told.withLock { $0.append("\(error)") } })
    await world.run(for: .seconds(1))
    stop()
    let lines = told.withLock { $0 }
    #expect(lines.count == 1 && lines[0].contains("rtmp://127.0.0.1"), "\(lines)")
    #expect(!lines[0].contains("secret"), "a key is nobody's business")
    #expect(throws: RecordingError.self) { try broadcast.stop() }
  }

  @Test func missingFFmpegEncoderFailsWithOneLineError() throws {
    let url = URL(fileURLWithPath: folder.file("room.mp4"))
    for encoders in [
      EncodingOutput.Encoders(video: "libnothing264"), EncodingOutput.Encoders(video: "libx264", sound: "libnoaac"),
    ] {
      let error = #expect(throws: RecordingError.self) { _ = try EncodingOutput(url, encoders: encoders) }
      #expect(error?.reason.hasPrefix("this build of FFmpeg has no encoder 'libno") == true)
    }
    #expect(folder.names.isEmpty)
  }

  @Test func encoderIsChosenByName() async throws {
    let path = folder.file("room.mp4")
    let output = try EncodingOutput(
      URL(fileURLWithPath: path), encoders: EncodingOutput.Encoders(video: "mpeg4", sound: "libopus"))
    let (composition, stop) = try composition()
    let broadcast = try Broadcast(of: composition, to: output)
    await world.run(for: .seconds(2))
    stop()
    try broadcast.stop()
    #expect(output.dropped == 0)
    #expect(try await probe(path, "stream=codec_name").sorted() == ["mpeg4", "opus"])
  }

  @Test func unwritableFileFailsAndUnclosedFileIsRemoved() async throws {
    let (composition, stop) = try composition()
    let failures = Lock(0)
    let broken = try Broadcast(
      of: composition, to: BroadcastOutputs.make(for: URL(fileURLWithPath: "/proc/no/room.mp4")),
      onFailure: { _ in failures.withLock { $0 += 1 } })
    await world.run(for: .seconds(1))
    #expect(failures.withLock { $0 } == 1)
    #expect(throws: RecordingError.self) { try broken.stop() }
    var output: EncodingOutput? = try EncodingOutput(URL(fileURLWithPath: folder.file("room.mp4")))
    output?.start(BroadcastPlan(width: 64, height: 64))
    output?.flush()
    #expect(folder.names == ["room.mp4.part"])
    output = nil
    #expect(folder.names.isEmpty)
    stop()
  }
}
