import KoineMedia
import KoineRouter
import KoineSignaling
import Testing

@testable import KoineVendorAPIs

/// Recordings that VideoSDK's API starts, stops and lists. `Scripts/check-apis` makes real ones.
@Suite struct VideoSDKRecordingTests {
  private struct Recording: Decodable {
    struct File: Decodable, Equatable {
      struct Meta: Decodable, Equatable {
        struct Resolution: Decodable, Equatable {
          var w: Int
          var h: Int
        }
        var format: String
        var resolution: Resolution?
        var duration: Double
      }
      var id: String
      var type: String
      var size: Int?
      var fileUrl: String
      var createdAt: String
      var meta: Meta
    }
    var id: String
    var roomId: String
    var sessionId: String
    var status: String
    var createdAt: String
    var endedAt: String?
    var file: File?
    var webhookUrl: String?
  }

  private let calls: VideoSDKCalls
  init() throws { calls = try VideoSDKCalls() }

  private static let output = RoomService.Output(
    url: "file:///recordings/room-1.webm", bytes: 5_000, seconds: 2.5, width: 1_280, height: 720)

  private func start(_ more: String, _ room: String) async throws -> APIResponse {
    try await calls.send("POST", "/v2/recordings/start", #"{"roomId":"\#(room)"\#(more)}"#)
  }

  private func recordings(_ query: String = "", by key: VideoSDKCalls.Key = .first) async throws
    -> VideoSDKCalls.Page<Recording>
  {
    try await calls.call("GET", "/v2/recordings" + query, by: key)
  }

  private func say(_ status: String, _ room: String, _ output: RoomService.Output? = nil) async {
    await calls.report(room, "", .recorder(.file, status: status, output: output))
  }

  @Test func recordingIsListedAsTheRecorderReportsIt() async throws {
    let room = try await calls.makeRoom().roomId
    #expect(try await start("", room).status == 400)
    #expect(calls.harness.takeCommands().isEmpty)
    await calls.join(room, "ana")
    #expect(
      try await start(#","webhookUrl":"https://a.example/b""#, room).text == #""Recording started successfully""#)
    #expect(calls.harness.takeCommands().map(\.command) == [.startRecording(RecordingOrder(.file), room: room)])
    // What is only asked for is not there yet, and is not asked for twice.
    #expect(try await recordings().data.isEmpty)
    #expect(try await start("", room).status == 400)
    #expect(calls.harness.takeCommands().isEmpty)
    for status in ["starting", "started room-1.webm", "started room-1.webm"] { await say(status, room) }
    let begun = try await recordings("?roomId=\(room)")
    #expect(begun.pageInfo.total == 1)
    let one = try #require(begun.data.first)
    #expect(one.status == "recording-started")
    #expect(one.endedAt == nil && one.file == nil)
    #expect(one.webhookUrl == "https://a.example/b")
    #expect(try await calls.sessions().data.map(\.id) == [one.sessionId])
    #expect(
      try await calls.send("POST", "/v2/recordings/stop", #"{"roomId":"\#(room)"}"#).text
        == #""Recording stopped successfully""#)
    #expect(calls.harness.takeCommands().map(\.command) == [.stopRecording(.file, room: room)])
    #expect(try await recordings().data.first?.status == "recording-started")
    await say("stopping", room)
    await say("stopped", room, Self.output)
    let ended = try #require(try await recordings().data.first)
    #expect(ended.status == "recording-stopped")
    #expect(ended.endedAt != nil)
    #expect(
      ended.file
        == .init(
          id: ended.id, type: "video", size: 5_000, fileUrl: "file:///recordings/room-1.webm",
          createdAt: ended.createdAt,
          meta: .init(format: "webm", resolution: .init(w: 1_280, h: 720), duration: 2.5)))
    #expect(try await calls.call("GET", "/v2/recordings/\(one.id)", as: Recording.self).file == ended.file)
    #expect(try await calls.send("GET", "/v2/recordings/\(one.id)", by: .second).status == 404)
    #expect(try await recordings(by: .second).data.isEmpty)
  }

  @Test func recordingThatAnAppStartsIsListedToo() async throws {
    let room = try await calls.makeRoom(#"{"customRoomId":"standup"}"#).roomId
    await calls.join(room, "ana")
    for _ in 0..<2 {
      await say("started room-1.webm", room)
      await say("stopped", room, Self.output)
    }
    let found = try await recordings("?roomId=standup").data
    #expect(found.count == 2)
    #expect(found[0].createdAt > found[1].createdAt)
    #expect(try await recordings("?sessionId=none").data.isEmpty)
    #expect(calls.harness.takeCommands().isEmpty)
  }

  @Test(.timeLimit(.minutes(5)), arguments: 0..<50 as Range<UInt64>)
  func recordingThatIsListedAsStoppedHasItsFile(seed: UInt64) async throws {
    let store = FaultyRegistry(MemoryRegistry(clock: { APITime(milliseconds: 0) }), seed: seed, failures: 0)
    let calls = try VideoSDKCalls(store: store)
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    await calls.report(room, "", .recorder(.file, status: "started room-1.webm", output: nil))
    calls.harness.apis.observe(
      RoomEvent(
        room: room, epoch: "e", participant: "", .recorder(.file, status: "stopped", output: Self.output)))
    // A back end asks all the time.
    while true {
      let page: VideoSDKCalls.Page<Recording> = try await calls.call("GET", "/v2/recordings")
      let listed = try #require(page.data.first)
      let one: Recording = try await calls.call("GET", "/v2/recordings/\(listed.id)")
      for shown in [listed, one] { #expect((shown.status == "recording-stopped") == (shown.file != nil)) }
      if listed.status == "recording-stopped" { break }
    }
  }

  @Test func recordingThatFailsBeforeItBeginsIsNotListed() async throws {
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    #expect(try await start("", room).status == 200)
    await say("failed", room)
    #expect(try await recordings().data.isEmpty)
    #expect(calls.harness.log.withLock { $0.contains { $0.contains("has not ended well") } })
    #expect(try await start("", room).status == 200)
  }

  @Test func recordingOfAFormerProcessIsNotMadeAnyMore() async throws {
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    await say("started room-1.webm", room)
    #expect(try await recordings().data.map(\.status) == ["recording-started"])
    let later = try VideoSDKCalls(store: calls.harness.store)
    try await later.harness.apis.load()
    let found = try await later.call("GET", "/v2/recordings", as: VideoSDKCalls.Page<Recording>.self).data
    #expect(found.map(\.status) == ["recording-stopped"])
    #expect(found.first?.file == nil && found.first?.endedAt == nil)
  }

  @Test func recordingThatBreaksHasNoFile() async throws {
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    await say("started room-1.webm", room)
    await say("broken", room)
    await say("stopped", room)
    let found = try await recordings().data
    #expect(found.map(\.status) == ["recording-stopped"])
    #expect(found.first?.file == nil)
  }

  @Test(arguments: [
    ("", RecordingOrder(.file)),
    (
      #","config":{}"#,
      RecordingOrder(.file, look: ["layout=grid", "priority=speaker", "background=0", "size=1280x720"])
    ),
    (
      #","config":{"layout":{"type":"SIDEBAR","priority":"PIN","gridSize":3},"theme":"DARK","quality":"low"}"#,
      RecordingOrder(
        .file, people: 3, look: ["layout=sidebar", "priority=pinned", "background=202124", "size=640x360"])
    ),
    (
      #","config":{"mode":"audio","quality":"high","orientation":"portrait","theme":"LIGHT"}"#,
      RecordingOrder(
        .file, look: ["layout=grid", "priority=speaker", "background=ffffff", "size=1080x1920", "audio"])
    ),
  ]) func configurationReachesTheRecorder(config: String, order: RecordingOrder) async throws {
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    #expect(try await start(config, room).status == 200)
    #expect(calls.harness.takeCommands().map(\.command) == [.startRecording(order, room: room)])
  }

  @Test func recordingAndPlaylistStartWithTheSession() async throws {
    let body = #"{"autoStartConfig":{"recording":{"config":{"quality":"low"}},"hls":{}}}"#
    let room = try await calls.makeRoom(body).roomId
    #expect(try await calls.send("GET", "/v2/rooms/\(room)").text.contains(#""autoStartConfig":{"#))
    for _ in 0..<2 {
      await calls.join(room, "ana", "ben")
      await calls.leave(room, "ana", "ben")
    }
    let look = ["layout=grid", "priority=speaker", "background=0", "size=640x360"]
    let once: [RoomCommand] = [
      .startRecording(RecordingOrder(.file, look: look), room: room),
      .startRecording(RecordingOrder(.playlist, people: 25), room: room),
    ]
    #expect(calls.harness.takeCommands().map(\.command) == once + once)
  }

  @Test func recordingsBeyondTheLimitDropTheOldest() async throws {
    var settings = APISettings()
    settings.recordingsPerRoom = 2
    let calls = try VideoSDKCalls(settings)
    let room = try await calls.makeRoom().roomId
    await calls.join(room, "ana")
    for _ in 0..<4 {
      await calls.report(room, "", .recorder(.file, status: "started a", output: nil))
      await calls.report(room, "", .recorder(.file, status: "stopped", output: nil))
    }
    #expect(try await calls.call("GET", "/v2/recordings", as: VideoSDKCalls.Page<Recording>.self).pageInfo.total == 2)
  }
}
