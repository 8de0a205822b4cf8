import Dispatch
import Foundation
import Koine
import KoineJSONCodec
import KoineSignaling
import KoineServerBackend
import KoineTestSupport
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import KoineRouter
@testable import KoineServer

/// A server with a control socket, and its command line.
private struct ControlledRooms {
  let server: Server
  let address: ServerAddress
  let client: ControlClient

  init(at path: String, logger: Logger = .silent, _ configure: (inout ServerConfiguration) -> Void = { _ in })
    async throws
  {
    var configuration = ServerConfiguration(port: 0, access: .open, logger: logger)
    configuration.control = path
    configure(&configuration)
    server = try await Server.start(configuration)
    address = try #require(ServerAddress("ws://127.0.0.1:\(server.port)"))
    client = ControlClient(path: path, patience: 60)
  }

  func session(_ name: String) -> Session {
    let delivery = Delivery(queue: DispatchQueue(label: "delivery"))
    return Session(
      JoinRequest(room: "tea", participantID: name.lowercased(), name: name),
      in: World(backend: ServerBackend(address), delivery: delivery))
  }

  /// On a thread that may wait.
  @discardableResult
  func send(_ command: RoomCommand, reason: String? = nil) async throws -> RoomReply {
    try await onThread { try client.send(ControlRequest(command, by: "tester", reason: reason)) }
  }

  /// The answer to a line, which need not be a command.
  func exchange(_ line: [UInt8]) async throws -> RoomReply {
    try JSONCodec.decode(RoomReply.self, from: try await onThread { try client.exchange(line) })
  }

  /// Returns once the room meets the condition.
  func until(_ condition: (RoomDetails) -> Bool) async throws {
    while true {
      if let room = try await send(.describe(room: "tea")).room, condition(room) { return }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { done in
      DispatchQueue.global().async { done.resume(with: Result { try body() }) }
    }
  }
}

private final class CommandLog: LogHandler, Sendable {
  private let entries = Lock<[String]>([])
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .info }
    set {}
  }
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    guard "\(event.message)" == "command" else { return }
    let words = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    entries.withLock { $0.append(words.joined(separator: " ")) }
  }

  var all: [String] { entries.withLock { $0 } }
}

@Suite(.timeLimit(.minutes(3))) struct ControlSocketTests {
  private let folder: Folder
  private var path: String { folder.file("c") }

  init() throws { folder = try Folder() }

  // MARK: Rooms with real clients

  @Test func roomsAndParticipantsAreListed() async throws {
    let rooms = try await ControlledRooms(at: path)
    #expect(try await rooms.send(.listRooms).rooms == [])
    let ana = rooms.session("Ana")
    try ana.publish(microphone: Devices.microphone("tone"))
    try await ana.join()
    try await rooms.until { $0.participants.first?.isConnected == true && $0.participants.first?.tracks.count == 1 }
    #expect(try await rooms.send(.listRooms).rooms?.map(\.name) == ["tea"])
    let member = try #require(try await rooms.send(.describe(room: "tea")).room?.participants.first)
    #expect(member.id == "ana")
    #expect(member.name == "Ana")
    #expect(member.tracks.map(\.kind) == ["microphone"])
    #expect(member.isReachable)
    #expect(try await rooms.send(.describe(room: "cake")).error?.code == .noSuchRoom)
    await ana.leave()
    await rooms.server.stop()
  }

  @Test func participantIsRemovedAndTheRoomIsClosed() async throws {
    let rooms = try await ControlledRooms(at: path)
    let (ana, ben) = (rooms.session("Ana"), rooms.session("Ben"))
    let (events, benEvents) = (ana.events(), ben.events())
    try await ana.join()
    try await ben.join()
    #expect(try await rooms.send(.remove("ana", room: "tea")).ok)
    for await event in events { if case .stateChanged(.ended) = event { break } }
    #expect(ana.state == .ended(.removed))
    for await event in benEvents { if case .participantLeft = event { break } }
    #expect(try await rooms.send(.remove("ana", room: "tea")).error?.code == .noSuchParticipant)
    #expect(try await rooms.send(.close(room: "tea")).ok)
    for await event in benEvents { if case .stateChanged(.ended) = event { break } }
    #expect(ben.state == .ended(.roomClosed))
    await rooms.server.stop()
  }

  @Test func mutedParticipantSeesItsOwnStreamMuted() async throws {
    let rooms = try await ControlledRooms(at: path)
    let ana = rooms.session("Ana")
    let events = ana.events()
    let stream = try ana.publish(microphone: Devices.microphone("tone"))
    try await ana.join()
    try await rooms.until { $0.participants.first?.tracks.count == 1 }
    #expect(try await rooms.send(.mute(.kind(.microphone), "ana", room: "tea")).ok)
    for await event in events { if case .streamMuted(let track, _) = event, track.isMuted { break } }
    #expect(stream.isMuted)
    #expect(try await rooms.send(.describe(room: "tea")).room?.participants.first?.tracks.first?.isMuted == true)
    stream.setMuted(false)
    try await rooms.until { $0.participants.first?.tracks.first?.isMuted == false }
    #expect(try await rooms.send(.mute(.kind(.camera), "ana", room: "tea")).error?.code == .noSuchTrack)
    await ana.leave()
    await rooms.server.stop()
  }

  /// Joins Ana and Ben. Returns once Ben receives Ana's audio and video.
  private func meet(_ ana: Session, _ ben: Session) async throws -> MediaWatcher {
    let watcher = MediaWatcher()
    watcher.follow(ben)
    try ana.publish(microphone: Devices.microphone("tone"))
    try ana.publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    try await ben.join()
    try await ana.join()
    await watcher.waitForMedia()
    return watcher
  }

  @Test func participantLosesAPermissionAndRegainsIt() async throws {
    let rooms = try await ControlledRooms(at: path)
    let (ana, ben) = (rooms.session("Ana"), rooms.session("Ben"))
    let (events, benEvents) = (ana.events(), ben.events())
    let watcher = try await meet(ana, ben)

    let denial = PermissionChange(denying: [.camera, .screen])
    #expect(try await rooms.send(.grant(denial, "ana", room: "tea")).ok)
    for await event in events {
      guard case .publishFailed(let track, let failure) = event else { continue }
      #expect(track.kind == .camera)
      #expect(failure.code == .forbidden)
      break
    }
    for await event in events { if case .streamRemoved(let track, _) = event, track.kind == .camera { break } }
    for await event in benEvents { if case .streamRemoved(let track, _) = event, track.kind == .camera { break } }
    #expect(ana.localParticipant.tracks.map(\.kind) == [.microphone])
    try ana.publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    for await event in events {
      guard case .publishFailed(_, let failure) = event else { continue }
      #expect(failure.code == .forbidden)
      break
    }

    #expect(try await rooms.send(.grant(PermissionChange(allowing: [.camera]), "ana", room: "tea")).ok)
    watcher.forget()
    try ana.publish(camera: Devices.camera("stamp:Ana,160x90@30"))
    await watcher.waitForMedia()
    let member = try await rooms.send(.describe(room: "tea")).room?.participants.first { $0.id == "ana" }
    #expect(member?.permissions.contains("camera") == true)
    #expect(member?.permissions.contains("screen") == false)
    await ana.leave()
    await ben.leave()
    await rooms.server.stop()
  }

  @Test func participantThatRegainsSubscribePermissionReceivesMediaAgain() async throws {
    let rooms = try await ControlledRooms(at: path)
    let (ana, ben) = (rooms.session("Ana"), rooms.session("Ben"))
    let benEvents = ben.events()
    let watcher = try await meet(ana, ben)

    #expect(try await rooms.send(.grant(PermissionChange(denying: [.subscribe]), "ben", room: "tea")).ok)
    for await event in benEvents { if case .tileChanged(let tile) = event, tile.pause == .notSubscribed { break } }
    for await event in benEvents {
      guard case .permissionsChanged(let permissions) = event else { continue }
      #expect(permissions == Set(ParticipantPermission.allCases).subtracting([.subscribe]))
      break
    }
    ben.subscribe(to: Track.ID(participant: "ana", track: "microphone-1"))
    #expect(try await rooms.send(.grant(PermissionChange(allowing: [.subscribe]), "ben", room: "tea")).ok)
    for await event in benEvents { if case .permissionsChanged(Set(ParticipantPermission.allCases)) = event { break } }
    watcher.forget()
    await watcher.waitForMedia()
    #expect(ben.tiles.first { !$0.isLocal }?.pause == nil)
    await ana.leave()
    await ben.leave()
    await rooms.server.stop()
  }

  @Test func serversPolicyDecidesAboutJoins() async throws {
    let rooms = try await ControlledRooms(at: path) {
      $0.admission = AdmissionPolicy { question in
        question.join.name == "Eve" ? .refuse(Failure(.denied, "not today")) : .admit(question.grants)
      }
    }
    let (ana, eve) = (rooms.session("Ana"), rooms.session("Eve"))
    try await ana.join()
    let error = await #expect(throws: Failure.self) { try await eve.join() }
    #expect(error == Failure(.denied, "not today"))
    await ana.leave()
    await rooms.server.stop()
  }

  @Test func recordingCommandReachesTheRecorderAndIsNotPossibleWithoutOne() async throws {
    let words = Lock<[RoomService.Message]>([])
    let name = RecordingOrder.Kind.file.rawValue
    let rooms = try await ControlledRooms(at: path) {
      $0.attendant = RoomService(names: [name]) { word in words.withLock { $0.append(word) } }
    }
    let ana = rooms.session("Ana")
    try await ana.join()
    #expect(try await rooms.send(.startRecording(RecordingOrder(people: 9), room: "tea")).ok)
    #expect(words.withLock { $0.map(\.payload) } == [Array("9".utf8)])
    rooms.server.send(.init(Array("failed".utf8), as: name, to: "koine.control", stands: false, in: "tea"))
    try await rooms.until { $0.services.first?.answer == "failed" }
    #expect(try await rooms.send(.startRecording(RecordingOrder(.livestream), room: "tea")).error?.code == .notPossible)
    await ana.leave()
    await rooms.server.stop()
  }

  @Test func commandsThatChangeRoomsAreLoggedOnceWithUserAndReason() async throws {
    let log = CommandLog()
    let rooms = try await ControlledRooms(at: path, logger: Logger(label: "test") { _ in log })
    let ana = rooms.session("Ana")
    try await ana.join()
    try await rooms.send(.listRooms)
    try await rooms.send(.remove("eve", room: "tea"))
    try await rooms.send(.close(room: "tea"), reason: "it is\nlate")
    await rooms.server.stop()
    #expect(
      log.all == [
        #"by=commandLine command=remove participant=eve result=noSuchParticipant room=tea subject=tester"#,
        #"by=commandLine command=close reason="it is\u{a}late" result=done room=tea subject=tester"#,
        #"by=server command=closeAll reason="the server stops" result=done subject=koine"#,
      ])
  }

  // MARK: Lines

  @Test(arguments: [
    "x", "[]", "{}", "null", #""list""#, #"{"command":"dance"}"#, #"{"command":7}"#, #"{"command":"show"}"#,
    #"{"command":"show","room":""}"#, #"{"command":"show","room":7}"#, #"{"command":"remove","room":"tea"}"#,
    #"{"command":"remove","room":"tea","participant":"a","ending":"left"}"#,
    #"{"command":"grant","room":"tea","participant":"a","allow":["fly"]}"#,
    #"{"command":"grant","room":"tea","participant":"a","allow":"camera"}"#,
    #"{"command":"mute","room":"tea","participant":"a"}"#,
    #"{"command":"mute","room":"tea","participant":"a","kind":"camera","track":"c"}"#,
    #"{"command":"record","room":"tea","people":0}"#, #"{"command":"record","room":"tea","people":1e30}"#,
    #"{"command":"record","room":"tea","places":["rtmp://a\nfile:///b"]}"#,
    #"{"command":"list","by":""}"#, #"{"command":"list","reason":7}"#,
    #"{"command":"list","x":[[[[[[[[]]]]]]]]}"#,
    #"{"command":"show","room":"\#(String(repeating: "x", count: 257))"}"#,
    #"{"command":"list","reason":"\#(String(repeating: "x", count: 513))"}"#,
    #"{"command":"list","x":[\#(String(repeating: "1,", count: 500))1]}"#,
  ])
  func lineThatIsNoCommandIsAnsweredAsMalformed(_ line: String) {
    let error = #expect(throws: RoomControlError.self) { try ControlRequest.read(Array(line.utf8)) }
    #expect(error?.code == .malformed)
  }

  @Test func commandsAreReadBack() throws {
    var presenter = PermissionChange(publishing: [.camera], receiving: [.screen, .microphone])
    presenter.role = "presenter"
    let commands: [RoomCommand] = [
      .listRooms, .closeAllRooms, .describe(room: "tea"), .close(room: "tea"), .remove("ana", room: "tea"),
      .remove("ana", room: "tea", ending: .expired),
      .grant(PermissionChange(allowing: [.camera, .data], denying: [.admit]), "ana", room: "tea"),
      .grant(presenter, "ana", room: "tea"),
      .mute(.track("cam"), "ana", room: "tea"), .mute(.kind(.screenSound), "ana", room: "tea"),
      .startRecording(RecordingOrder(.livestream, people: 7, places: ["rtmp://a/b", "rtmp://c"]), room: "tea"),
      .startRecording(RecordingOrder(look: ["layout=grid", "audio"]), room: "tea"),
      .stopRecording(.playlist, room: "tea"), .link(["tea", "stage"]), .unlink(["tea"]),
    ]
    for command in commands {
      let request = ControlRequest(command, by: "ana", reason: "because")
      #expect(try ControlRequest.read(try JSONCodec.encode(request)) == request)
    }
  }

  @Test func malformedLinesDoNotEndTheServer() async throws {
    let rooms = try await ControlledRooms(at: path)
    #expect(try await rooms.exchange(Array("nonsense\n".utf8)).error?.code == .malformed)
    #expect(try await rooms.exchange([0xFF, 0xFE, 0, 10]).error?.code == .malformed)
    let long = [UInt8](repeating: UInt8(ascii: " "), count: ControlRequest.lineLimit + 2)
    #expect(try await rooms.exchange(long).error?.code == .malformed)
    #expect(try await rooms.exchange(Array("\r\n\n{\"command\":\"list\"}\r\n".utf8)).rooms == [])
    await rooms.server.stop()
  }

  @Test func linesAreIndependentOfTheChunkSize() {
    let text = Array("a\n\nbc\r\n".utf8) + [10] + Array("def".utf8)
    var (whole, single) = (ControlLines(), ControlLines())
    whole.append(text)
    var expected: [ControlLines.Line] = []
    while let line = whole.next() { expected.append(line) }
    #expect(expected == [.line(Array("a".utf8)), .line(Array("bc".utf8))])
    var lines: [ControlLines.Line] = []
    for byte in text {
      single.append([byte])
      while let line = single.next() { lines.append(line) }
    }
    #expect(lines == expected)
    single.append([10])
    #expect(single.next() == .line(Array("def".utf8)))
  }

  @Test func longestLineIsReadAndLongerOneEndsTheReading() {
    var lines = ControlLines()
    let longest = [UInt8](repeating: 120, count: ControlRequest.lineLimit)
    lines.append(longest + [10])
    #expect(lines.next() == .line(longest))
    lines.append(longest)
    #expect(lines.next() == nil)
    lines.append([120])
    #expect(lines.next() == .tooLong)
    lines.append([10, 120, 10])
    #expect(lines.next() == nil)
  }

  // MARK: The file

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : nil
  }

  @Test func socketFileIsPrivateAndRemovedWithTheServer() async throws {
    let rooms = try await ControlledRooms(at: path)
    #expect(mode(path) == S_IFSOCK | 0o600)
    await rooms.server.stop()
    #expect(mode(path) == nil)
  }

  @Test func secondServerAtThePathIsRefusedWithoutAffectingTheFirst() async throws {
    let rooms = try await ControlledRooms(at: path)
    let error = await #expect(throws: ServerError.self) { _ = try await ControlledRooms(at: path) }
    #expect(error?.description.contains("another server") == true)
    #expect(try await rooms.send(.listRooms).ok)
    await rooms.server.stop()
  }

  @Test func socketFileOfAKilledServerIsReplaced() async throws {
    let (_, descriptor) = try UnixSocketFile.listen(at: path)
    close(descriptor)
    #expect(mode(path) != nil)
    let rooms = try await ControlledRooms(at: path)
    #expect(try await rooms.send(.listRooms).ok)
    await rooms.server.stop()
    #expect(mode(path) == nil)
  }

  @Test func onlyOneOfSeveralConcurrentlyStartedServersListens() async throws {
    for _ in 0..<20 {
      let path = path
      let (left, leftDescriptor) = try UnixSocketFile.listen(at: path)
      close(leftDescriptor)  // as a killed server leaves it
      let listeners = try await withThrowingTaskGroup(of: (UnixSocketFile, Int32)?.self) { group in
        for _ in 0..<4 { group.addTask { try? UnixSocketFile.listen(at: path) } }
        var listeners: [(UnixSocketFile, Int32)] = []
        for try await next in group { if let next { listeners.append(next) } }
        return listeners
      }
      #expect(listeners.count == 1)
      for (file, descriptor) in listeners {
        file.remove()
        close(descriptor)
      }
      left.remove()
    }
  }

  @Test func socketFileOfABusyServerIsKept() throws {
    let address = try UnixAddress(path)
    let busy = try UnixAddress.makeSocket()
    defer { close(busy) }
    #expect(address.call { bind(busy, $0, $1) } == 0)
    #expect(listen(busy, 0) == 0)
    var waiting: [Int32] = []
    defer { for descriptor in waiting { close(descriptor) } }
    repeat {
      waiting.append(try UnixAddress.makeSocket(isBlocking: false))
    } while address.call {
      connect(waiting[waiting.count - 1], $0, $1)
    } == 0 && waiting.count < 100
    #expect(errno == EAGAIN)
    let error = #expect(throws: ServerError.self) { _ = try UnixSocketFile.listen(at: path) }
    #expect(error?.description.contains("another server") == true)
    #expect(mode(path) != nil)
  }

  @Test func largeAnswerReachesAClientThatHasClosedItsSendingSide() async throws {
    let count = 20_000
    let rooms = (0..<count).map {
      RoomSummary(name: "room \($0)", epoch: "e", participants: 1, hidden: 0, waiting: 0, seconds: 1)
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let socket = try await ControlSocket.open(at: path, on: group) { _ in .success(.rooms(rooms)) }
    let path = path
    let answer = try await withCheckedThrowingContinuation { done in
      DispatchQueue.global().async {
        done.resume(with: Result { try Self.exchangeHalfClosed("{\"command\":\"list\"}\n", path) })
      }
    }
    #expect(answer.last == UInt8(ascii: "\n"))
    let reply = try JSONCodec.decode(RoomReply.self, from: answer.dropLast(), limits: ControlRequest.replyLimits)
    #expect(reply.rooms?.count == count)
    await socket.close()
    try await group.shutdownGracefully()
  }

  /// Everything that comes back until the server closes the connection.
  private static func exchangeHalfClosed(_ text: String, _ path: String) throws -> [UInt8] {
    let descriptor = try UnixAddress.makeSocket()
    defer { close(descriptor) }
    try #require(try UnixAddress(path).call { connect(descriptor, $0, $1) } == 0)
    let bytes = Array(text.utf8)
    try #require(send(descriptor, bytes, bytes.count, 0) == bytes.count)
    shutdown(descriptor, Int32(SHUT_WR))
    var answer: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = recv(descriptor, &part, part.count, 0)
      guard count > 0 else { return answer }
      answer += part[..<count]
    }
  }

  @Test func fileThatIsNotASocketIsKept() async throws {
    try Data([1]).write(to: URL(fileURLWithPath: path))
    let error = await #expect(throws: ServerError.self) { _ = try await ControlledRooms(at: path) }
    #expect(error?.description.contains("no socket") == true)
    #expect(FileManager.default.contents(atPath: path) == Data([1]))
    let long = folder.file(String(repeating: "x", count: 120))
    await #expect(throws: ServerError.self) { _ = try await ControlledRooms(at: long) }
  }

  @Test func stoppingServerAnswersAndEndsItsConnections() async throws {
    let rooms = try await ControlledRooms(at: path)
    await rooms.server.stop()
    #expect(await rooms.server.execute(RoomRequest(.listRooms, by: CommandOrigin(.test, "t"))).isUnavailable)
    await #expect(throws: ServerError.self) { try await rooms.send(.listRooms) }
  }
}

extension Result<RoomAnswer, RoomControlError> {
  fileprivate var isUnavailable: Bool {
    if case .failure(let error) = self { error.code == .unavailable } else { false }
  }
}
