import Dispatch
import Foundation
import Koine
import KoineServer
import KoineServerBackend
import Testing

/// All servers with so many loops: `KOINE_WORKERS=2 swift test --filter ServerTests`.
private let workers = ProcessInfo.processInfo.environment["KOINE_WORKERS"].flatMap { Int($0) }

/// An open server on ports that the system chooses, and a way to it.
struct ServedRooms {
  let server: Server
  let address: ServerAddress

  init(
    access: ServerConfiguration.Access = .open, limits: ServerLimits = ServerLimits(),
    media: ServerConfiguration.MediaAddress? = nil, loops: Int = workers ?? 1
  ) async throws {
    server = try await Server.start(
      ServerConfiguration(
        port: 0, mediaAddresses: media.map { [$0] } ?? [], access: access, limits: limits, loops: loops,
        logger: .silent))
    address = try #require(ServerAddress("ws://127.0.0.1:\(server.port)"))
  }

  func world() -> World {
    World(backend: ServerBackend(address), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  }
}

@Suite(.timeLimit(.minutes(5))) struct MeetingTests {
  @Test func twoParticipantsReceiveEachOthersMedia() async throws {
    let rooms = try await ServedRooms()
    let sessions = ["Ana", "Ben"].map { Session(JoinRequest(room: "tea", name: $0), in: rooms.world()) }
    let watchers = sessions.map { _ in MediaWatcher() }
    for (session, watcher) in zip(sessions, watchers) {
      watcher.follow(session)
      try session.publish(camera: Devices.camera("stamp:\(session.request.name),320x180@30"))
      try session.publish(microphone: Devices.microphone("tone"))
      try await session.join()
    }
    for watcher in watchers { await watcher.waitForMedia() }
    #expect(watchers[0].names == ["Ben"])
    #expect(watchers[1].names == ["Ana"])
    #expect(sessions[0].participants.map(\.name) == ["Ben"])
    for session in sessions { await session.leave() }
    #expect(sessions.map(\.state) == [.ended(.left), .ended(.left)])
    await rooms.server.stop()
  }

  /// One room on several loops: more than one core sends.
  @Test func roomIsSpreadOverSeveralLoops() async throws {
    let rooms = try await ServedRooms(loops: 3)
    let sessions = (0..<7).map { Session(JoinRequest(room: "tea", name: "P\($0)"), in: rooms.world()) }
    let watchers = sessions.dropFirst().map { session in
      let watcher = MediaWatcher()
      watcher.follow(session)
      return watcher
    }
    try sessions[0].publish(camera: Devices.camera("stamp:P0,160x90@30"))
    try sessions[0].publish(microphone: Devices.microphone("tone"))
    for session in sessions { try await session.join() }
    for watcher in watchers { await watcher.waitForMedia() }
    await sessions[6].leave()  // while what it is sent is on its way
    for watcher in watchers.dropLast() {
      watcher.forget()
      await watcher.waitForMedia()
      #expect(watcher.names == ["P0"])
    }
    for session in sessions.dropLast() { await session.leave() }
    await rooms.server.stop()
  }

  @Test func messageWithALifetimeReachesALateJoiner() async throws {
    let rooms = try await ServedRooms()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: rooms.world()),
      Session(JoinRequest(room: "tea", name: "Ben"), in: rooms.world())
    )
    let events = ben.events()
    try await ana.join()
    try ana.send(DataMessage(topic: "chat", payload: Array("hello".utf8), lifetime: .seconds(60)))
    try await ben.join()
    for await event in events {
      guard case .messageReceived(let message) = event else { continue }
      #expect(message.payload == Array("hello".utf8))
      break
    }
    await ana.leave()
    await ben.leave()
    await rooms.server.stop()
  }

  @Test func participantIsNotifiedWhenTheServerStops() async throws {
    let rooms = try await ServedRooms()
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: rooms.world())
    let events = ana.events()
    try await ana.join()
    await rooms.server.stop()
    for await event in events { if case .stateChanged(.ended(let reason)) = event { #expect(reason == .roomClosed) } }
    #expect(ana.state == .ended(.roomClosed))
  }

  @Test func joinAtAStoppedServerIsUnreachable() async throws {
    let rooms = try await ServedRooms()
    await rooms.server.stop()
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: rooms.world())
    do {
      try await ana.join()
      Issue.record("joined nowhere")
    } catch {
      #expect(error.code == .unreachable)
    }
  }

  @Test func calleeReceivesAnInvitation() async throws {
    let rooms = try await ServedRooms()
    let (ana, ben) = (
      Endpoint(identity: "ana", in: rooms.world()),
      Endpoint(identity: "ben", in: rooms.world())
    )
    let rung = ben.events()
    try await ana.register()
    try await ben.register()
    let call = ana.invite(["ben"], to: "tea")
    for await event in rung {
      guard case .invited(let invitation) = event else { continue }
      #expect(invitation.id == call.id)
      #expect(invitation.caller == "ana")
      break
    }
    await ana.unregister()
    await ben.unregister()
    await rooms.server.stop()
  }
}
