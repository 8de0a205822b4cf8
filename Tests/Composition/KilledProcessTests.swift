import Dispatch
import Foundation
import Glibc
import Koine
import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

private func outcome<Value: Sendable>(_ work: () async throws -> Value) async -> Result<Value, any Error> {
  do { return .success(try await work()) } catch { return .failure(error) }
}

/// A recording whose process is killed (`kill -9`) is playable up to the last two seconds. For one minute:
/// `KOINE_ROUNDS=100 swift test --filter KilledProcessTests`.
@Suite(.serialized) struct KilledProcessTests {
  private static let seconds = ProcessInfo.processInfo.environment["KOINE_ROUNDS"] == nil ? 6 : 60
  private static let framesPerSecond = 15

  /// Eight people with cameras, one of them with a screen, recorded in virtual time; never returns.
  private static func recordUntilKilled(_ path: String) async throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    var people: [Session] = []
    for number in 0..<8 {
      let session = Session(JoinRequest(room: "tea", participantID: "p\(number)", name: "P\(number)"), in: world)
      try session.publish(camera: Devices.camera("stamp:P\(number),320x180@15"))
      try session.publish(microphone: Devices.microphone("tone:\(200 + 40 * number)"))
      session.join { _ in }
      people.append(session)
    }
    try people[3].publish(camera: Devices.camera("pattern:320x180@5"), as: .screen)
    await world.run(for: .seconds(1))
    var request = RecordingRequest(room: "tea")
    (request.width, request.height, request.framesPerSecond) = (640, 360, Double(framesPerSecond))
    let asked = request
    let output: any BroadcastOutput
    let flush: () -> Void
    if path.hasSuffix("webm") {
      let file = WebMRecorder(path)
      (output, flush) = (file, file.flush)
    } else {
      let playlist = PlaylistRecorder(path)
      (output, flush) = (playlist, playlist.flush)
    }
    let recording = try await world.run {
      await outcome { try await ComposingRecorder().record(asked, to: output, in: world) }
    }.get()
    await world.run(for: .seconds(seconds))
    flush()  // what has come out of the encoders is with the muxer: its own thread is not in virtual time
    withExtendedLifetime((people, recording)) { _ = kill(getpid(), SIGKILL) }
  }

  @Test func fileOfKilledProcessIsPlayable() async throws {
    let folder = try Folder()
    let path = folder.file("room.webm")
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try await Self.recordUntilKilled(path)
    }
    try await check(folder, "room.webm.part")
  }

  @Test func playlistOfKilledProcessIsPlayable() async throws {
    let folder = try Folder()
    let path = folder.file("room.m3u8")
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try await Self.recordUntilKilled(path)
    }
    try await check(folder, "room.m3u8")
    #expect(folder.names.contains("room-init.mp4"))
    #expect(folder.names.contains("room-0.m4s"))
  }

  private func check(_ folder: Folder, _ name: String) async throws {
    // A playlist without an end is read from its beginning, and not waited for.
    let live = name.hasSuffix("m3u8") ? ["-live_start_index", "0", "-max_reload", "2", "-m3u8_hold_counters", "2"] : []
    for (kind, codecs) in [("v", ["vp8", "vp9"]), ("a", ["opus"])] {
      let text = try await Command(
        ["ffprobe", "-v", "quiet"] + live + [
          "-select_streams", kind, "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames:packet=pts_time",
          "-of", "default=noprint_wrappers=1", folder.file(name),
        ]
      ).run()
      var values: [String: [String]] = [:]
      for line in text.split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 { values[parts[0], default: []].append(parts[1]) }
      }
      #expect(codecs.contains(values["codec_name"]?.last ?? ""))
      let last = values["pts_time"]?.compactMap { Double($0) }.max() ?? 0
      #expect(last >= Double(Self.seconds - 2), "\(kind) of \(name) up to \(last) s of \(Self.seconds)")
      print("\(name): \(kind) up to \(last) s of \(Self.seconds) s")
      let frames = values["nb_read_frames"]?.last.flatMap { Int($0) } ?? 0
      #expect(kind == "a" || frames >= (Self.seconds - 2) * Self.framesPerSecond - 1, "\(frames) pictures decoded")
    }
  }
}
