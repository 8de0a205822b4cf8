import CrossVendorConventions
import Dispatch
import Foundation
import Koine
@testable import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import struct KoineSignaling.RoomService
import KoineTestSupport
import Testing

/// Requests that a server's recording service accepts: its own folder, and a limit of simultaneous recordings.
@Suite struct RecordingServiceTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  private let folder: Folder
  private let said = Lock<[String]>([])
  private let logged = Lock<[String]>([])
  private let outputs = Lock<[RoomService.Output]>([])

  init() throws {
    folder = try Folder()
    MediaFiles.register()
  }

  private func service(_ rules: RecordingService.Rules, in world: World? = nil) -> RecordingService {
    let world = world ?? self.world
    return RecordingService(
      rules, world: { world }, credential: { try ComposingRecorder.pass(for: $0) },
      say: { [said, outputs] answer in
        if let output = answer.output { outputs.withLock { $0.append(output) } }
        let text = String(decoding: answer.payload, as: UTF8.self)
        if text.contains("/tmp") || text.contains("file:") { said.withLock { $0.append("tells where: \(text)") } }
        let words = text.split(separator: " ").first ?? ""
        let addressee = answer.participant.map { " to \($0)" } ?? ""
        let limit = answer.isForEventsOnly ? ", not to the room" : ""
        said.withLock { $0.append("\(answer.room) \(answer.name) \(words)\(addressee)\(limit)") }
      }, log: { [logged] line in logged.withLock { $0.append(line) } })
  }

  private func enter(_ room: String) async -> Session {
    let session = Session(JoinRequest(room: room, participantID: "ana", name: "Ana"), in: world)
    session.join { _ in }
    await world.run(for: .milliseconds(500))
    return session
  }

  private func requestPayload(_ places: String...) -> [UInt8] { Array((["4"] + places).joined(separator: "\n").utf8) }

  @Test func largerVideoThanPermittedIsRefused() async throws {
    let service = service(.init(folder: URL(fileURLWithPath: folder.path)))
    let ana = await enter("tea")
    service.handle(
      .init(room: "tea", sender: "ana", topic: Convention.recording, payload: Array("4 size=4096x4096".utf8)))
    #expect(said.withLock { $0 } == ["tea koine.recording failed to ana"])
    #expect(logged.withLock { $0.first?.contains("larger than permitted") } == true)
    service.handle(
      .init(room: "tea", sender: "ana", topic: Convention.recording, payload: Array("4 size=640x360".utf8)))
    await world.run(for: .milliseconds(500))
    #expect(said.withLock { $0.last } == "tea koine.recording started")
    await world.run(for: .seconds(2))
    #expect(outputs.withLock { $0 }.isEmpty)
    await world.run { await service.close() }
    let output = try #require(outputs.withLock { $0.first })
    #expect(outputs.withLock { $0.count } == 1)
    #expect(output.width == 640 && output.height == 360)
    #expect((2...3).contains(output.seconds))
    let file = try #require(URL(string: output.url))
    #expect(file.deletingLastPathComponent().path == URL(fileURLWithPath: folder.path).path)
    #expect(try Data(contentsOf: file).count == output.bytes)
    withExtendedLifetime(ana) {}
  }

  @Test func refusalsAreLoggedByPowersOfTen() async throws {
    var rules = RecordingService.Rules(folder: URL(fileURLWithPath: folder.path))
    rules.spaceIsLeft = { false }
    let service = service(rules)
    for number in 0..<120 {
      service.handle(
        .init(room: "room \(number)", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    }
    #expect(said.withLock { $0.count } == 120)
    #expect(logged.withLock { $0.count } == 3)
    await world.run(for: .seconds(61))
    service.handle(.init(room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    #expect(logged.withLock { $0.count } == 4)
  }

  /// The first request blocks on a full disk: the network loop continues, and no more requests wait than the limit.
  @Test func requestsFromNetworkLoopAreQueuedForTheServiceThread() async throws {
    let (gate, asked) = (DispatchSemaphore(value: 0), Lock(0))
    var rules = RecordingService.Rules(folder: URL(fileURLWithPath: folder.path))
    rules.spaceIsLeft = {
      asked.withLock { $0 += 1 }
      gate.wait()
      return false
    }
    let service = service(rules)
    let count = RecordingService.waitingLimit + 100
    for number in 0..<count {
      service.handleLater(
        .init(room: "room \(number)", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    }
    for _ in 0..<count { gate.signal() }
    await service.settle()
    #expect((RecordingService.waitingLimit...RecordingService.waitingLimit + 1).contains(asked.withLock { $0 }))
  }

  @Test func simultaneousRecordingsAreLimitedAndNotDuplicated() async throws {
    let service = service(.init(folder: URL(fileURLWithPath: folder.path), limit: 2))
    let rooms = [await enter("tea"), await enter("milk")]
    for name in [Convention.recording, Convention.recording, Convention.playlist] {
      service.handle(.init(room: "tea", sender: "ana", topic: name, payload: requestPayload()))
    }
    service.handle(.init(room: "milk", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    await world.run(for: .seconds(2))
    #expect(said.withLock { $0.filter { $0.hasSuffix("started") } }.count == 2)
    #expect(said.withLock { $0.contains("milk koine.recording failed to ana") })
    service.handle(.init(room: "tea", sender: "ana", topic: Convention.stop, payload: Array(Convention.playlist.utf8)))
    await world.run(for: .milliseconds(500))
    service.handle(.init(room: "milk", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    await world.run(for: .seconds(1))
    #expect(said.withLock { $0.contains("milk koine.recording started") }, "there is room again")
    await world.run { await service.close() }
    #expect(folder.names.filter { $0.hasSuffix(".webm") }.count == 2)
    #expect(folder.names.count == 3)
    service.handle(.init(room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    #expect(said.withLock { $0.last } == "tea koine.recording failed to ana", "it is closed")
    withExtendedLifetime(rooms) {}
  }

  /// Counts the sessions that join with it.
  private final class JoinCountingBackend: Backend {
    let entered = Lock(0)
    private let backend: any Backend
    init(_ backend: any Backend) { self.backend = backend }
    var scheduler: Scheduler { backend.scheduler }
    var capabilities: BackendCapabilities { backend.capabilities }
    func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
      entered.withLock { $0 += 1 }
      return backend.connect(request, receiver: receiver)
    }
    func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
      backend.register(request, receiver: receiver)
    }
  }

  /// All outputs of one room share one reception and decoding, while outputs start and stop. The recorder leaves with the last output.
  @Test func outputsOfOneRoomShareOneRecorderSession() async throws {
    let joinCounter = JoinCountingBackend(world.backend)
    let inside = World(backend: joinCounter, delivery: world.delivery)
    var rules = RecordingService.Rules(folder: URL(fileURLWithPath: folder.path))
    (rules.look.width, rules.look.height, rules.look.framesPerSecond) = (320, 180, 10)
    let service = service(rules, in: inside)
    let ana = await enter("tea")
    try ana.publish(camera: Devices.camera("pattern:320x180@10"))
    try ana.publish(microphone: Devices.microphone("tone"))
    func ask(_ topic: String, _ payload: [UInt8]? = nil) async {
      service.handle(.init(room: "tea", sender: "ana", topic: topic, payload: payload ?? requestPayload()))
      await world.run(for: .seconds(2))
    }
    func stop(_ kind: String) async { await ask(Convention.stop, Array(kind.utf8)) }
    await ask(Convention.recording)
    await ask(Convention.playlist)
    await stop(Convention.recording)
    await ask(Convention.recording)
    await stop(Convention.playlist)
    #expect(joinCounter.entered.withLock { $0 } == 1)
    await stop(Convention.recording)
    await ask(Convention.recording)
    #expect(joinCounter.entered.withLock { $0 } == 2, "it had been left with the last")
    await world.run { await service.close() }
    let films = folder.names.filter { $0.hasSuffix(".webm") }
    let lists = folder.names.filter { $0.hasSuffix("-hls") }.map { $0 + "/index.m3u8" }
    #expect(films.count == 3 && lists.count == 1, "\(folder.names)")
    for name in films + lists {  // each has its own length, all of it seen and heard
      let seconds = lists.contains(name) ? 6.0 : name == films.last ? 2 : 4
      let decode = ["ffmpeg", "-v", "error", "-i", folder.file(name)]
      let seen = try await Command(
        decode + ["-vf", "fps=10", "-f", "rawvideo", "-pix_fmt", "gray", "-s", "32x18", "-"]
      ).bytes()
      let bright = stride(from: 0, to: seen.count, by: 32 * 18).filter { seen[$0..<$0 + 32 * 18].max() ?? 0 > 100 }
      #expect(abs(Double(bright.count) / 10 - seconds) < 1, "\(name): \(bright.count) pictures")
      let heard = try await Command(decode + ["-f", "u8", "-ac", "1", "-ar", "8000", "-"]).bytes()
      let loud = heard.count { abs(Int($0) - 128) > 8 }
      #expect(Double(loud) > 8_000 * (seconds - 1) * 0.5, "\(name): \(loud) of \(heard.count)")
    }
    withExtendedLifetime(ana) {}
  }

  @Test(arguments: [
    (Convention.recording, "tea-1753795000000-x7.webm", "tea-1753795000000-x7-2.webm"),
    (Convention.recording, "tea-1753795000000-x7-2.webm", "tea-1753795000000-x7-3.webm"),
    (Convention.recording, "tea-1753795000000-12.webm", "tea-1753795000000-12-2.webm"),
    (Convention.recording, "a-1753795000000-3-1753795000000-12-9.webm", "a-1753795000000-3-1753795000000-12-10.webm"),
    (Convention.playlist, "tea-1753795000000-x7-hls/index.m3u8", "tea-1753795000000-x7-2-hls/index.m3u8"),
    (Convention.recording, "küche-1753795000000-x7.webm", "küche-1753795000000-x7-2.webm"),
    (Convention.recording, "", nil), (Convention.recording, "../1753795000000-x.webm", nil),
    (Convention.recording, "tea.webm", nil), (Convention.recording, "tea-1753795000000-x7-99999.webm", nil),
  ])
  func nextPartHasTheNumberAfterTheLast(kind: String, name: String, next: String?) {
    let folder = URL(fileURLWithPath: "/recordings", isDirectory: true)
    let place = RecordingService.place(kind, after: name, in: folder)
    #expect(place?.path == next.map { "/recordings/" + $0 })
  }

  /// As in a cluster: another server's service has recorded the room, and ends with its server.
  @Test func recordingOfAnotherServerIsContinuedInTheNextPart() async throws {
    let service = service(.init(folder: URL(fileURLWithPath: folder.path)))
    let ana = await enter("tea")
    var message = RoomService.Message(
      room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload())
    message.continuing = Array("started tea-1753795000000-x7.webm".utf8)
    service.handle(message)
    service.handle(message)
    await world.run(for: .seconds(2))
    service.roomMoved("milk")
    await service.settle()
    await world.run(for: .milliseconds(200))
    #expect(said.withLock { $0 } == ["interrupted", "started"].map { "tea koine.recording \($0)" })
    service.roomMoved("tea")
    await service.settle()
    await world.run(for: .milliseconds(200))
    #expect(
      said.withLock { $0.suffix(2) } == ["stopping", "stopped"].map { "tea koine.recording \($0), not to the room" })
    #expect(folder.names == ["tea-1753795000000-x7-2.webm"])
    withExtendedLifetime(ana) {}
  }

  /// The room comes back while its part here is being completed.
  @Test func recordingOfARoomThatMovedThereAndBackIsContinued() async throws {
    let service = service(.init(folder: URL(fileURLWithPath: folder.path)))
    let ana = await enter("tea")
    var message = RoomService.Message(
      room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload())
    message.continuing = Array("started tea-1753795000000-x7.webm".utf8)
    service.handle(message)
    await world.run(for: .seconds(2))
    // The delivery queue, on which parts are completed, is busy until both have come.
    let gate = DispatchSemaphore(value: 0)
    world.delivery.deliver { gate.wait() }
    service.roomMoved("tea")
    await service.settle()
    message.continuing = Array("started tea-1753795000000-x7-2.webm".utf8)
    service.handle(message)
    gate.signal()
    await world.run(for: .seconds(2))
    let texts = said.withLock { $0.suffix(4) }
    #expect(
      Array(texts) == [
        "tea koine.recording stopping, not to the room", "tea koine.recording stopped, not to the room",
        "tea koine.recording interrupted", "tea koine.recording started",
      ])
    await world.run { await service.close() }
    #expect(folder.names.sorted() == ["tea-1753795000000-x7-2.webm", "tea-1753795000000-x7-3.webm"])
    withExtendedLifetime(ana) {}
  }

  @Test func recordingThatCannotBeContinuedEndsForTheRoom() async throws {
    var rules = RecordingService.Rules(folder: URL(fileURLWithPath: folder.path))
    rules.spaceIsLeft = { false }
    let service = service(rules)
    var message = RoomService.Message(
      room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload())
    message.continuing = Array("started tea-1753795000000-x7.webm".utf8)
    service.handle(message)
    #expect(said.withLock { $0 } == ["tea koine.recording failed to ana", "tea koine.recording stopped"])
  }

  @Test func recordingPathsStayInsideTheFolder() async throws {
    let folder = URL(fileURLWithPath: folder.path)
    let service = service(.init(folder: folder, sendsOn: false))
    let name = "../../etc/passwd%2F..\\ü"
    let room = await enter(name)
    service.handle(
      .init(
        room: name, sender: "ana", topic: Convention.recording, payload: requestPayload("file:///tmp/elsewhere.webm")))
    service.handle(
      .init(room: name, sender: "ana", topic: Convention.livestream, payload: requestPayload("rtmp://127.0.0.1/x")))
    await world.run(for: .seconds(2))
    await world.run { await service.close() }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 1 && names[0].hasSuffix(".webm") && names[0].hasPrefix("______etc_passwd_2F___"))
    #expect(!FileManager.default.fileExists(atPath: "/tmp/elsewhere.webm"))
    #expect(said.withLock { $0.contains { $0.hasSuffix("koine.livestream failed to ana") } })
    #expect(!said.withLock { $0.contains { $0.hasPrefix("tells where") } })
    for kind in Convention.recordingServices {
      let place = RecordingService.place(kind, name, in: folder).standardizedFileURL.path
      #expect(place.hasPrefix(folder.standardizedFileURL.path + "/"))
    }
    withExtendedLifetime(room) {}
  }

  @Test func requesterIsNotifiedOfFailureBeforeTheRecordingStops() async {
    let service = service(.init(folder: URL(fileURLWithPath: "/dev/null/x")))
    let ana = await enter("tea")
    service.handle(.init(room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    await world.run(for: .seconds(2))
    #expect(said.withLock { $0 } == ["starting", "failed to ana", "stopped"].map { "tea koine.recording \($0)" })
    withExtendedLifetime(ana) {}
  }

  @Test func sharedRecorderSessionOfEndedRoomRefusesEntry() async throws {
    let ana = await enter("tea")
    let credential = try ComposingRecorder.pass(for: "tea")
    let sharedSession = SharedRecorderSession(RecordingRequest(room: "tea", credential: credential), in: world) { _ in }
    let outcomes = Lock<[Result<Void, Failure>]>([])
    func enterSharedSession() async {
      world.delivery.deliver { sharedSession.enter { outcome in outcomes.withLock { $0.append(outcome) } } }
      await world.run(for: .seconds(1))
    }
    await enterSharedSession()
    #expect(sharedSession.share())
    ana.closeRoom()
    await world.run(for: .seconds(1))
    await enterSharedSession()
    let errors = outcomes.withLock { $0 }.map { outcome -> Failure.Code? in
      if case .failure(let error) = outcome { error.code } else { nil }
    }
    #expect(errors == [nil, .ended])
    #expect(!sharedSession.share(), "the next takes a new one")
    for _ in 1...2 { sharedSession.leave() }
  }

  /// Closes slowly.
  private final class SlowDisk: BroadcastOutput, Sendable {
    struct IsFull: Error {}
    let closing = DispatchSemaphore(value: 0)
    let isTold = DispatchSemaphore(value: 0)
    func receive(_ frame: EncodedFrame) {}
    func close() throws {
      closing.signal()
      _ = isTold.wait(timeout: .now() + .milliseconds(100))
      throw IsFull()
    }
  }

  @Test func finishWaitsForConcurrentFinish() throws {
    let (request, disk) = (RecordingRequest(room: "tea"), SlowDisk())
    let session = ComposedRoom.session(request, credential: "", in: world)
    let room = ComposedRoom(request, of: session, pins: PinList(of: session), in: world)
    try room.start([disk])
    DispatchQueue.global().async { try? room.finish() }
    disk.closing.wait()
    #expect(!room.isRunning)
    #expect(throws: SlowDisk.IsFull.self) { try room.finish() }
    disk.isTold.signal()
  }

  @Test func malformedRecordingRequestIsRefused() {
    let service = service(.init())
    for payload in ["", "four", "0", "4\nnot a place at all \u{1}", "4" + String(repeating: "\nfile:///x", count: 9)] {
      service.handle(.init(room: "tea", sender: "ana", topic: Convention.recording, payload: Array(payload.utf8)))
    }
    // A valid request, but the service has no folder.
    service.handle(.init(room: "tea", sender: "ana", topic: Convention.recording, payload: requestPayload()))
    let served = self.service(.init(folder: URL(fileURLWithPath: folder.path)))
    served.handle(
      .init(room: "tea", sender: "ana", topic: Convention.livestream, payload: requestPayload("file:///tmp/x.webm")))
    #expect(said.withLock { $0.count } == 7)
    #expect(said.withLock { $0.allSatisfy { $0.hasSuffix("failed to ana") } })
    service.handle(.init(room: "tea", sender: "ana", topic: Convention.mute, payload: []))
    #expect(said.withLock { $0.count } == 7)
  }
}
