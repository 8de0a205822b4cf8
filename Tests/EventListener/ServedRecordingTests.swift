import Dispatch
import Foundation
import Glibc
import Koine
import KoineComposition
import KoineMediaFiles
import KoineServer
import KoineServerBackend
import KoineTestSupport
import KoineTokens
import Logging
import Testing
import VideoSDKRTC

/// Recordings by a server over real sockets, as with `koine serve --keys FILE --recordings DIR`.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ServedRecordingTests {
  private final class Served: Sendable {
    let server: Server
    let folder: URL
    let environment: TestEnvironment
    private let key: SigningKey
    private let desk: RecordingService

    /// - Parameter sendsOn: with `--livestreams`.
    init(_ folder: String, sendsOn: Bool = false) async throws {
      MediaFiles.register()
      key = try SigningKey(secret: Array("a secret of thirty-two characters".utf8))
      self.folder = URL(fileURLWithPath: folder)
      let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
      var configuration = ServerConfiguration(port: 0, access: .keys([try key.verificationKey]), logger: silent)
      let made = Lock<RecordingService?>(nil)
      configuration.attendant = RoomService(names: sendsOn ? RecordingService.names : RecordingService.namesOfFiles) {
        word in
        made.withLock { $0 }?.handle(word)
      }
      let server = try await Server.start(configuration)
      let address = { try #require(ServerAddress("ws://127.0.0.1:\($0 as Int)")) }
      let world = World(
        backend: ServerBackend(try address(try #require(server.insidePort))),
        delivery: Delivery(queue: DispatchQueue(label: "desk")))
      var rules = RecordingService.Rules(folder: self.folder, sendsOn: sendsOn, limit: 2)
      (rules.look.width, rules.look.height, rules.look.framesPerSecond) = (320, 180, 15)
      let desk = RecordingService(
        rules, world: { world },
        credential: { try server.pass(for: $0, name: "recorder") },
        say: { server.send($0) })
      made.withLock { $0 = desk }
      (self.server, self.desk) = (server, desk)
      environment = TestEnvironment(ServerBackend(try address(server.port)))
    }

    func token(_ permissions: [VideoSDKToken.Permission]) throws -> String {
      let now = NumericDate.ofSystemClock()
      return try VideoSDKToken(apiKey: "key", permissions: permissions, issued: now, expires: now + 3_600).signed(
        with: key)
    }

    func enter(_ name: String, _ permissions: [VideoSDKToken.Permission] = [.join, .moderate]) async throws -> Guest {
      let (meeting, recorder) = environment.meeting(name, id: name, token: try token(permissions))
      let guest = Guest(meeting, recorder)
      meeting.join()
      try await guest.waitFor("in")
      return guest
    }

    func close() async {
      await desk.close()
      await server.stop()
    }
  }

  /// A participant and its callbacks, one line each.
  private final class Guest: Sendable {
    let meeting: Meeting
    private let recorder: Recorder
    private let lines = AsyncStream<String>.makeStream()

    init(_ meeting: Meeting, _ recorder: Recorder) {
      (self.meeting, self.recorder) = (meeting, recorder)
      recorder.onEvery { [continuation = lines.continuation] in continuation.yield($0) }
    }

    var told: [String] { recorder.told }

    func waitFor(_ line: String) async throws {
      if told.contains(line) { return }  // perhaps before something else that was waited for
      for await _ in lines.stream where told.contains(line) { return }
      throw CancellationError()
    }
  }

  /// This many frames of the named participant.
  private final class Counting: NSObject, RTCVideoRenderer, @unchecked Sendable {  // constant
    private let pictures = AsyncStream<Void>.makeStream()
    func setSize(_ size: CGSize) {}
    func renderFrame(_ frame: RTCVideoFrame?) { pictures.continuation.yield() }
    func await(_ count: Int) async {
      var seen = 0
      for await _ in pictures.stream {
        seen += 1
        if seen == count { return }
      }
    }
  }

  @Test func serverRecordingOutlivesItsInitiator() async throws {
    let folder = try Folder()
    let served = try await Served(folder.path)
    let (ana, ben) = (try await served.enter("ana"), try await served.enter("ben"))
    ana.meeting.startRecording(webhookUrl: "")
    ana.meeting.startHLS()
    for guest in [ana, ben] { try await guest.waitFor("recording started") }
    #expect(ben.meeting.participants.count == 1, "nobody sees the recorder")
    try await ben.waitFor("HLS_PLAYABLE at a place")
    ana.meeting.leave()
    try await ana.waitFor("CLOSED")
    let cleo = try await served.enter("cleo")
    try await cleo.waitFor("RECORDING_STARTED")
    #expect(cleo.meeting.recordingState == .RECORDING_STARTED)
    let view = Counting()
    let stream = try #require(cleo.meeting.participants["ben"]?.streams.values.first { $0.track is RTCVideoTrack })
    (stream.track as? RTCVideoTrack)?.add(view)
    await view.await(40)
    cleo.meeting.stopRecording()  // every participant may
    for guest in [ben, cleo] { try await guest.waitFor("recording stopped") }
    #expect(ben.meeting.recordingState == .RECORDING_STOPPED)
    #expect(ben.meeting.hlsState == .HLS_PLAYABLE)
    for guest in [ben, cleo] { guest.meeting.leave() }  // and with the last one the playlist ends
    for guest in [ben, cleo] { try await guest.waitFor("CLOSED") }
    await served.close()
    let film = try #require(folder.names.first { $0.hasSuffix(".webm") })
    let playlist = try #require(folder.names.first { $0.hasSuffix("-hls") })
    #expect(film.hasPrefix("tea-"))
    #expect(playlist.hasPrefix("tea-"))
    for path in [folder.file(film), folder.file(playlist) + "/index.m3u8"] {
      #expect(try await frameCount(path) > 20, "\(path)")
    }
  }

  @Test func liveStreamReachesRTMPServerAndOutlivesItsInitiator() async throws {
    let folder = try Folder()
    let served = try await Served(folder.path, sendsOn: true)
    let film = folder.file("received.flv")
    let ben = try await served.enter("ben")
    try await RTMPServer.receiving(into: film) { url in
      let ana = try await served.enter("ana")
      ana.meeting.startLivestream(outputs: [LivestreamOutput(url: String(url.dropLast("/key".count)), streamKey: "key")]
      )
      for guest in [ana, ben] { try await guest.waitFor("livestream started") }
      ana.meeting.leave()
      try await ana.waitFor("CLOSED")
      let whileAnaWasIn = await sound(film).count
      let cleo = try await served.enter("cleo")
      try await cleo.waitFor("LIVESTREAM_STARTED")
      let view = Counting()
      let stream = try #require(cleo.meeting.participants["ben"]?.streams.values.first { $0.track is RTCVideoTrack })
      (stream.track as? RTCVideoTrack)?.add(view)
      await view.await(60)  // two seconds
      #expect(ben.meeting.liveStreamState == .LIVESTREAM_STARTED)
      // A busy machine sends silence for sound that comes late, so the tone may be heard later than the pictures.
      while !(await sound(film).dropFirst(whileAnaWasIn).contains { abs(Int($0) - 128) > 8 }) {
        await view.await(10)
      }
      #expect(!folder.names.contains("received.flv.whole"), "it goes on without who began it")
      cleo.meeting.stopLivestream()  // every participant may
      for guest in [ben, cleo] { try await guest.waitFor("livestream stopped") }
      cleo.meeting.leave()
      try await cleo.waitFor("CLOSED")
    }  // the server has been told that the stream is over, while somebody is in the room
    #expect(ben.meeting.liveStreamState == .LIVESTREAM_STOPPED)
    #expect(!ben.told.contains { $0.contains("error") })
    ben.meeting.leave()
    try await ben.waitFor("CLOSED")
    await served.close()
    #expect(folder.names == ["received.flv", "received.flv.whole"], "nothing of it is kept here")
    let streams = try await Command(
      "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,width,height,nb_read_frames",
      "-of",
      "csv=p=0", film
    ).run()
    #expect(streams.contains("h264,320,180,") && streams.contains("aac,"), "\(streams)")
    #expect(try await frameCount(film) > 20)
    #expect(try await Command("sh", "-c", "ffmpeg -v error -i \(film) -f null - 2>&1").run() == "")
    // At the end of it there is something to be seen.
    let decode = ["ffmpeg", "-v", "error", "-i", film]
    let seen = try await Command(decode + ["-f", "rawvideo", "-pix_fmt", "gray", "-"]).bytes().suffix(320 * 180)
    #expect(Int(seen.max() ?? 0) - Int(seen.min() ?? 0) > 60, "the last picture is grey")
  }

  /// The sound of a file that may still be written: 8,000 samples a second, 128 is silence; none before there is any.
  private func sound(_ path: String) async -> [UInt8] {
    let decode = Command("ffmpeg", "-v", "quiet", "-i", path, "-f", "u8", "-ac", "1", "-ar", "8000", "-")
    return (try? await decode.bytes()) ?? []
  }

  @Test func liveStreamToUnreachableServerFails() async throws {
    let folder = try Folder()
    let served = try await Served(folder.path, sendsOn: true)
    let (ana, ben) = (try await served.enter("ana"), try await served.enter("ben"))
    let nobody = "rtmp://127.0.0.1:\(try Ports.free())/live"
    ana.meeting.startLivestream(outputs: [LivestreamOutput(url: nobody, streamKey: "key")])
    for guest in [ana, ben] { try await guest.waitFor("LIVESTREAM_STOPPED") }
    #expect(ana.told.contains("error START_LIVESTREAM_FAILED"))
    for guest in [ana, ben] {
      #expect(!guest.told.contains("LIVESTREAM_STARTED"))
      #expect(guest.meeting.liveStreamState == .LIVESTREAM_STOPPED)
    }
    #expect(!ben.told.contains { $0.contains("error") }, "it is told to who began it")
    for guest in [ana, ben] { guest.meeting.leave() }
    for guest in [ana, ben] { try await guest.waitFor("CLOSED") }
    await served.close()
  }

  private func frameCount(_ path: String) async throws -> Int {
    let frames = try await Command(
      "ffprobe", "-v", "error", "-select_streams", "v", "-count_frames", "-show_entries", "stream=nb_read_frames",
      "-of", "csv=p=0", path
    ).run()
    return frames.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
  }

  /// Two people, recorded by a server in this process; never returns.
  private static func recordUntilKilled(_ path: String) async throws {
    let served = try await Served(path)
    let (ana, ben) = (try await served.enter("ana"), try await served.enter("ben"))
    ana.meeting.startRecording(webhookUrl: "")
    try await ben.waitFor("recording started")
    let view = Counting()
    let stream = try #require(ben.meeting.participants["ana"]?.streams.values.first { $0.track is RTCVideoTrack })
    (stream.track as? RTCVideoTrack)?.add(view)
    await view.await(120)  // four seconds
    _ = kill(getpid(), SIGKILL)
  }

  @Test func recordingOfKilledServerIsPlayable() async throws {
    let folder = try Folder()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      try await Self.recordUntilKilled(path)
    }
    let film = try #require(folder.names.first { $0.hasSuffix(".webm.part") }, "\(folder.names)")
    #expect(try await frameCount(folder.file(film)) > 20)
  }

  @Test func serverWithoutRecorderReportsErrors() async throws {
    let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
    let server = try await Server.start(ServerConfiguration(port: 0, access: .open, logger: silent))
    let address = try #require(ServerAddress("ws://127.0.0.1:\(server.port)"))
    let (meeting, recorder) = TestEnvironment(ServerBackend(address)).meeting("ana", id: "ana")
    let ana = Guest(meeting, recorder)
    meeting.join()
    try await ana.waitFor("in")
    meeting.startRecording(webhookUrl: "")
    try await ana.waitFor("error START_RECORDING_FAILED")
    meeting.startHLS()
    try await ana.waitFor("error START_HLS_FAILED")
    #expect(meeting.recordingState == .RECORDING_STOPPED)
    #expect(meeting.hlsState == .HLS_STOPPED)
    meeting.leave()
    try await ana.waitFor("CLOSED")
    await server.stop()
  }
}
