import KoineBase
import KoineSignaling
import KoineSignalingHost
import Testing

@testable import KoineRouter

/// Commands from outside a room. Here credentials are words like `no-send`.
@Suite struct RoomControlTests {
  private final class Log: Sendable {
    private let entries = Lock<[(RoomRequest, Result<RoomAnswer, RoomControlError>)]>([])

    func add(_ request: RoomRequest, _ result: Result<RoomAnswer, RoomControlError>) {
      entries.withLock { $0.append((request, result)) }
    }

    var all: [(request: RoomRequest, result: Result<RoomAnswer, RoomControlError>)] {
      entries.withLock { $0.map { (request: $0.0, result: $0.1) } }
    }
  }

  private static func grants(_ join: Join) -> Result<Grants, Failure> {
    var grants = Grants.everything
    switch join.credential {
    case "guest": (grants.mustAsk, grants.canAdmit, grants.canModerate) = (true, false, false)
    case "member": (grants.canAdmit, grants.canModerate) = (false, false)
    case "hidden": grants.isHidden = true
    case "10s": grants.validFor = .seconds(10)
    default: break
    }
    return .success(grants)
  }

  private func makeWorld(_ configure: (inout RouterConfiguration) -> Void = { _ in }) throws -> World {
    try World {
      $0.authorization = Authorization(check: Self.grants)
      configure(&$0)
    }
  }

  private func enter(_ name: String, _ credential: String = "", room: String = "room", in world: World) throws -> Client
  {
    let client = try world.makeClient()
    client.join(room, as: name, credential: credential)
    world.run(.milliseconds(300))
    return client
  }

  // MARK: Rooms

  @Test func roomsAreListedInTheOrderOfTheirNames() throws {
    let world = try makeWorld()
    #expect(world.execute(.listRooms).rooms == [])
    _ = try (enter("ana", room: "tea", in: world), enter("ben", room: "cake", in: world))
    _ = try (enter("spy", "hidden", room: "tea", in: world), enter("eva", "guest", room: "tea", in: world))
    let rooms = try #require(world.execute(.listRooms).rooms)
    #expect(rooms.map(\.name) == ["cake", "tea"])
    #expect(rooms.map(\.participants) == [1, 1])
    #expect(rooms.map(\.hidden) == [0, 1])
    #expect(rooms.map(\.waiting) == [0, 1])
    #expect(Set(rooms.map(\.epoch)).count == 2)
  }

  @Test func roomWithOnlyWaitingParticipantsIsListedAndDescribed() throws {
    let world = try makeWorld()
    _ = try (enter("eva", "guest", room: "empty", in: world), enter("ana", room: "tea", in: world))
    world.run(.seconds(2))
    let rooms = try #require(world.execute(.listRooms).rooms)
    #expect(rooms.map(\.name) == ["empty", "tea"])
    #expect(rooms.map(\.participants) == [0, 1])
    #expect(rooms.map(\.waiting) == [1, 0])
    #expect(rooms[0].epoch.isEmpty && rooms[0].seconds >= 2)
    let room = try #require(world.execute(.describe(room: "empty")).room)
    #expect(room.waiting.map(\.id) == ["eva"])
    #expect(room.participants.isEmpty)
    #expect(world.execute(.describe(room: "other")).code == .noSuchRoom)
  }

  @Test func roomDescriptionNamesParticipantsTracksAndGuests() throws {
    let world = try makeWorld()
    let (ana, _) = (try enter("ana", in: world), try enter("eva", "guest", in: world))
    ana.publish(.microphone, muted: true)
    ana.publish(.camera)
    world.run(.seconds(2))
    let room = try #require(world.execute(.describe(room: "room")).room)
    #expect(room.participants.map(\.id) == ["ana"])
    #expect(room.waiting.map(\.id) == ["eva"])
    let member = try #require(room.participants.first)
    #expect(member.tracks.map(\.kind) == ["microphone", "camera"])
    #expect(member.tracks.map(\.isMuted) == [true, false])
    #expect(member.permissions == ParticipantPermission.allCases.map(\.rawValue).sorted())
    #expect(member.attributes == ["a": "1"])
    #expect(member.isConnected)
    #expect(member.isReachable)
    #expect(member.seconds > 2.2)
    #expect(member.seconds < 3)
    world.host.close(ana.connection, at: world.now)
    #expect(world.execute(.describe(room: "room")).room?.participants.first?.isReachable == false)
    #expect(world.execute(.describe(room: "other")).code == .noSuchRoom)
  }

  @Test func closedRoomEndsForItsParticipantsAndForNoOthers() throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", room: "tea", in: world), try enter("ben", room: "cake", in: world))
    #expect(world.execute(.close(room: "tea")) == .success(.done))
    #expect(ana.messages.last == .ended(.roomClosed))
    #expect(!ben.messages.contains(.ended(.roomClosed)))
    #expect(world.execute(.close(room: "tea")).code == .noSuchRoom)
    #expect(world.execute(.closeAllRooms) == .success(.done))
    #expect(ben.messages.last == .ended(.roomClosed))
    #expect(world.router.isEmpty)
  }

  // MARK: Participants

  @Test(arguments: [(RemovalReason.removed, EndReason.removed), (.expired, .expired)])
  func removedParticipantIsNotifiedOfTheReason(_ ending: RemovalReason, _ told: EndReason) throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", in: world), try enter("ben", in: world))
    #expect(world.execute(.remove("ana", room: "room", ending: ending)) == .success(.done))
    #expect(ana.messages.last == .ended(told))
    #expect(ben.messages.last == .participantLeft(id: "ana", reason: .removed))
    #expect(world.execute(.remove("ana", room: "room")).code == .noSuchParticipant)
    #expect(world.execute(.remove("ana", room: "other")).code == .noSuchRoom)
  }

  @Test func waitingParticipantIsRemovedOrEndsWithItsRoom() throws {
    let world = try makeWorld()
    let (ana, eva, kim) = (
      try enter("ana", in: world), try enter("eva", "guest", in: world), try enter("kim", "guest", in: world)
    )
    #expect(world.execute(.remove("eva", room: "room")) == .success(.done))
    #expect(eva.messages.last == .ended(.removed))
    #expect(
      ana.messages.contains {
        if case .knockEnded(participant: "eva", admitted: nil, number: _) = $0 { true } else { false }
      })
    #expect(world.execute(.remove("eva", room: "room")).code == .noSuchParticipant)
    #expect(world.execute(.close(room: "room")) == .success(.done))
    #expect(kim.messages.last == .ended(.roomClosed))
    let dan = try enter("dan", "guest", room: "empty", in: world)
    #expect(world.execute(.close(room: "empty")) == .success(.done))
    #expect(dan.messages.last == .ended(.roomClosed))
    #expect(world.execute(.close(room: "empty")).code == .noSuchRoom)
    #expect(world.router.holdings["knocks"] == 0)
  }

  @Test func mutedTrackIsNotForwardedUntilItsOwnerUnmutesIt() throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", "member", in: world), try enter("ben", in: world))
    ana.publish(.microphone)
    ben.subscribe(to: "ana", "microphone")
    ana.sendAudio("microphone", seconds: 4)
    world.run(.seconds(1))
    let before = ben.frames("ana", "microphone").count
    #expect(before > 40)
    #expect(world.execute(.mute(.kind(.microphone), "ana", room: "room")) == .success(.done))
    let told = ServerMessage.muted(participant: "ana", trackID: "microphone", muted: true)
    #expect(ana.messages.last == told)
    #expect(ben.messages.last == told)
    world.run(.seconds(1))
    #expect(ben.frames("ana", "microphone").count <= before + 5)
    ana.send(.mute(trackID: "microphone", muted: false))
    world.run(.seconds(1))
    #expect(ben.frames("ana", "microphone").count > before + 30)
    #expect(world.execute(.mute(.track("microphone"), "ana", room: "room")) == .success(.done))
    #expect(world.execute(.mute(.track("camera"), "ana", room: "room")).code == .noSuchTrack)
    #expect(world.execute(.mute(.kind(.camera), "ana", room: "room")).code == .noSuchTrack)
    #expect(world.execute(.mute(.kind(.camera), "eva", room: "room")).code == .noSuchParticipant)
  }

  // MARK: Permissions

  @Test func deniedKindIsWithdrawnAndMayBePublishedOnceAllowedAgain() throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", in: world), try enter("ben", in: world))
    ana.publish(.microphone)
    ana.publish(.camera)
    for client in [ana, ben] { client.forgetMessages() }
    #expect(world.execute(.grant(PermissionChange(denying: [.camera]), "ana", room: "room")) == .success(.done))
    let withdrawn = ServerMessage.withdrawn(participant: "ana", trackIDs: ["camera"])
    #expect(ben.messages == [withdrawn])
    #expect(
      ana.messages == [
        withdrawn, .permissions(Set(ParticipantPermission.allCases).subtracting([.camera])),
        .failed(request: nil, Failure(.forbidden, "not allowed any more: camera")),
      ])
    ana.publish(.camera, id: "camera2")
    #expect(ana.messages.last?.code == .forbidden)
    #expect(world.execute(.grant(PermissionChange(allowing: [.camera]), "ana", room: "room")) == .success(.done))
    ana.publish(.camera, id: "camera3")
    guard case .accepted = ana.messages.last else {
      Issue.record("\(String(describing: ana.messages.last))")
      return
    }
    #expect(world.router.room(of: ana.id)?.roster["ana"]?.tracks.map(\.id.track) == ["microphone", "camera3"])
  }

  @Test func othersAreNotifiedOfARole() throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", in: world), try enter("ben", in: world))
    for client in [ana, ben] { client.forgetMessages() }
    var change = PermissionChange(denying: [.moderate])
    change.role = "collaborator"
    #expect(world.execute(.grant(change, "ana", room: "room")) == .success(.done))
    let attributes = ["a": "1", RoleAttribute.name: "collaborator"]
    #expect(ben.messages == [.attributes(participant: "ana", attributes)])
    world.execute(.grant(change, "ana", room: "room"))
    #expect(ben.messages.count == 1)
    let member = world.execute(.describe(room: "room")).room?.participants.first { $0.id == "ana" }
    #expect(member?.attributes == attributes)
    ben.forgetMessages()
    world.execute(.grant(PermissionChange(allowing: [.moderate]), "ana", room: "room"))
    #expect(ben.messages.isEmpty)
  }

  @Test func deniedSubscriptionsEndAndMayBeginAgain() throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", in: world), try enter("ben", in: world))
    ben.publish(.microphone)
    ana.subscribe(to: "ben", "microphone")
    ben.sendAudio("microphone", seconds: 4)
    world.run(.seconds(1))
    let before = ana.frames("ben", "microphone").count
    #expect(before > 40)
    world.execute(.grant(PermissionChange(denying: [.subscribe]), "ana", room: "room"))
    #expect(ana.messages.contains(.unsubscribed([Track.ID(participant: "ben", track: "microphone")])))
    world.run(.seconds(1))
    #expect(ana.frames("ben", "microphone").count <= before + 5)
    ana.subscribe(to: "ben", "microphone")
    #expect(ana.messages.last?.code == .forbidden)
    world.execute(.grant(PermissionChange(allowing: [.subscribe]), "ana", room: "room"))
    ana.subscribe(to: "ben", "microphone")
    guard case .subscribed(let answer) = ana.messages.last else {
      Issue.record("\(String(describing: ana.messages.last))")
      return
    }
    #expect(answer.tracks.count == 1)
  }

  @Test func moderatorAndSenderOfDataLoseAndRegainTheirPermissions() throws {
    let world = try makeWorld()
    let (ana, ben) = (try enter("ana", in: world), try enter("ben", in: world))
    world.execute(.grant(PermissionChange(denying: [.data, .moderate]), "ana", room: "room"))
    ana.send(.data(SendData(DataMessage(topic: "t", payload: [1]), id: "1")))
    #expect(ana.messages.last?.code == .forbidden)
    ana.send(.remove(participant: "ben"))
    #expect(ana.messages.last?.code == .forbidden)
    world.execute(.grant(PermissionChange(exactly: [.data, .moderate]), "ana", room: "room"))
    let member = world.execute(.describe(room: "room")).room?.participants.first { $0.id == "ana" }
    #expect(member?.permissions == ["data", "moderate"])
    ana.send(.remove(participant: "ben"))
    #expect(ben.messages.last == .ended(.removed))
  }

  @Test func participantThatGainsAdmissionPermissionGetsTheWaitingKnocks() throws {
    let world = try makeWorld()
    let (ana, eva) = (try enter("ana", "member", in: world), try enter("eva", "guest", in: world))
    ana.forgetMessages()
    world.execute(.grant(PermissionChange(allowing: [.admit]), "ana", room: "room"))
    guard case .knock(let participant, let number) = ana.messages.last else {
      Issue.record("\(ana.messages)")
      return
    }
    #expect(participant.id == "eva")
    world.execute(.grant(PermissionChange(denying: [.admit]), "ana", room: "room"))
    #expect(ana.messages.contains(.knockEnded(participant: "eva", admitted: nil, number: number)))
    world.execute(.grant(PermissionChange(allowing: [.admit]), "ana", room: "room"))
    #expect(ana.messages.last == .knock(participant, number: number))
    ana.send(.answerKnock(participant: "eva", admitted: true, number: number))
    #expect(eva.messages.contains { if case .joined = $0 { true } else { false } })
  }

  @Test func renewalThatPermitsAdmissionSendsTheKnocksAndItsReverseEndsThem() throws {
    let world = try makeWorld()
    let (ana, _) = (try enter("ana", "member", in: world), try enter("eva", "guest", in: world))
    ana.forgetMessages()
    ana.send(.renew(credential: ""))
    #expect(ana.messages.contains(.permissions(Set(ParticipantPermission.allCases))))
    guard case .knock(let participant, let number) = ana.messages.last else {
      Issue.record("\(ana.messages)")
      return
    }
    #expect(participant.id == "eva")
    ana.send(.renew(credential: "member"))
    #expect(ana.messages.last == .knockEnded(participant: "eva", admitted: nil, number: number))
  }

  @Test func changedPermissionsDoNotProlongTheCredential() throws {
    let world = try makeWorld()
    let ana = try enter("ana", "10s", in: world)
    world.run(.seconds(8))
    world.execute(.grant(PermissionChange(denying: [.data]), "ana", room: "room"))
    world.run(.seconds(3))
    #expect(ana.messages.last == .ended(.expired))
  }

  @Test func permissionChangeWithoutEffectIsNotSent() throws {
    let world = try makeWorld()
    let ana = try enter("ana", in: world)
    ana.forgetMessages()
    #expect(world.execute(.grant(PermissionChange(allowing: [.data]), "ana", room: "room")) == .success(.done))
    #expect(ana.messages.isEmpty)
    #expect(world.execute(.grant(PermissionChange(), "eva", room: "room")).code == .noSuchParticipant)
  }

  // MARK: Recordings

  @Test func recorderGetsOrdersAndRoomDescriptionShowsItsState() throws {
    let words = Lock<[RoomService.Message]>([])
    let name = RecordingOrder.Kind.file.rawValue
    let world = try makeWorld {
      $0.attendant = RoomService(names: [name]) { word in words.withLock { $0.append(word) } }
    }
    let ana = try enter("ana", in: world)
    func state() throws -> ServiceState? { try #require(world.execute(.describe(room: "room")).room).services.first }
    #expect(world.execute(.stopRecording(.file, room: "room")).code == .notPossible, "nothing is recorded")
    #expect(world.execute(.startRecording(RecordingOrder(.playlist), room: "room")).code == .notPossible)
    #expect(world.execute(.startRecording(RecordingOrder(), room: "other")).code == .noSuchRoom)
    #expect(words.withLock { $0.isEmpty })
    #expect(world.execute(.startRecording(RecordingOrder(people: 2), room: "room")) == .success(.done))
    let asked = RoomService.Message(room: "room", sender: "koine.control", topic: name, payload: Array("2".utf8))
    #expect(words.withLock { $0 } == [asked])

    world.router.send(.init(Array("failed".utf8), as: name, to: asked.sender, stands: false, in: "room"), at: world.now)
    #expect(try state()?.answer == "failed")
    #expect(try state()?.status == nil)
    #expect(world.execute(.startRecording(RecordingOrder(), room: "room")) == .success(.done))
    #expect(try state()?.answer == nil, "of the last command")
    world.router.send(.init(Array("started a.webm".utf8), as: name, in: "room"), at: world.now)
    world.drain()
    #expect(try state()?.status == "started a.webm")
    #expect(ana.messages.contains { if case .data(let data) = $0 { data.sender == name } else { false } })
    #expect(world.execute(.startRecording(RecordingOrder(), room: "room")).code == .notPossible, "it goes on")

    #expect(world.execute(.stopRecording(.file, room: "room")) == .success(.done))
    #expect(words.withLock { $0.last?.topic } == "koine.order.stop")
    #expect(words.withLock { $0.last?.payload } == Array(name.utf8))
  }

  @Test func recorderReportsAreEventsOfAllNamesOfTheRoomAndComeAfterItsEndToo() throws {
    let events = Lock<[RoomEvent]>([])
    let name = RecordingOrder.Kind.file.rawValue
    let world = try makeWorld {
      $0.attendant = RoomService(names: [name]) { _ in }
      $0.roomEvent = { event in events.withLock { $0.append(event) } }
    }
    #expect(world.execute(.link(["tea", "stage"])) == .success(.done))
    let ana = try enter("ana", room: "stage", in: world)
    func reports() -> [String] {
      events.withLock { events in
        defer { events = [] }
        return events.compactMap { event in
          guard case .recorder(.file, let status, let output) = event.change else { return nil }
          return "\(event.room): \(status)" + (output.map { " \($0.url)" } ?? "")
        }
      }
    }
    func say(_ text: String, to participant: String? = nil, stands: Bool = true, _ output: RoomService.Output? = nil) {
      var answer = RoomService.Answer(Array(text.utf8), as: name, to: participant, stands: stands, in: "tea")
      answer.output = output
      world.router.send(answer, at: world.now)
    }
    say("failed", to: "ana", stands: false)
    #expect(reports().isEmpty, "what only a participant is told")
    say("failed", to: RoomService.controlName, stands: false)
    #expect(reports() == ["stage: failed", "tea: failed"])
    say("started a.webm")
    #expect(reports() == ["stage: started a.webm", "tea: started a.webm"])
    ana.send(.leave(reason: nil))
    world.run(.milliseconds(300))
    #expect(world.execute(.describe(room: "tea")).code == .noSuchRoom)
    say("stopped", stands: false, RoomService.Output(url: "file:///a.webm", bytes: 1, seconds: 1))
    #expect(reports() == ["stage: stopped file:///a.webm", "tea: stopped file:///a.webm"])
    #expect(world.router.recordings.isEmpty)
  }

  @Test func closingARoomReportsTheEndOfWhatWasPublishedAndReceived() throws {
    let events = Lock<[RoomEvent]>([])
    let world = try makeWorld { $0.roomEvent = { event in events.withLock { $0.append(event) } } }
    let (ana, ben) = (try enter("ana", in: world), try enter("ben", in: world))
    ana.publish(.microphone)
    ana.publish(.camera)
    ben.subscribe(to: "ana", "microphone")
    events.withLock { $0 = [] }
    world.execute(.close(room: "room"))
    let changes = events.withLock { $0 }.reduce(into: [:]) { $0[$1.participant, default: []].append($1.change) }
    #expect(
      changes["ana"] == [
        .published(.microphone, isOn: false), .published(.camera, isOn: false), .left(.roomClosed),
      ])
    #expect(changes["ben"] == [.subscribed(to: "ana", isOn: false), .left(.roomClosed)])
  }

  @Test func recordingCommandWithoutRecorderIsNotPossible() throws {
    let world = try makeWorld()
    _ = try enter("ana", in: world)
    #expect(world.execute(.startRecording(RecordingOrder(), room: "room")).code == .notPossible)
  }

  // MARK: The log

  // MARK: Linked rooms

  private func end(of client: Client) -> EndReason? {
    client.messages.lazy.compactMap { if case .ended(let reason) = $0 { reason } else { nil } }.last
  }

  @Test func backEndReachesParticipantsOfItsOwnNameOnly() throws {
    let events = Lock<[RoomEvent]>([])
    let world = try makeWorld { $0.roomEvent = { event in events.withLock { $0.append(event) } } }
    let ana = try enter("ana", room: "tea", in: world)
    #expect(world.execute(.link(["stage", "tea"])).isFailure)
    ana.send(.leave(reason: nil))
    world.run(.milliseconds(300))
    #expect(!world.execute(.link(["stage", "tea"])).isFailure)
    let ben = try enter("ben", room: "stage", in: world)
    let cal = try enter("cal", room: "tea", in: world)
    let backEnd = CommandOrigin(.vendorAPI, "key")
    #expect(events.withLock { $0.filter { $0.participant != "ana" }.map(\.room) } == ["stage", "tea"])
    #expect(world.router.execute(RoomRequest(.remove("cal", room: "stage"), by: backEnd), at: world.now).isFailure)
    #expect(
      world.router.execute(
        RoomRequest(.grant(PermissionChange(denying: [.data]), "cal", room: "stage"), by: backEnd), at: world.now
      ).isFailure)
    #expect(!world.router.execute(RoomRequest(.close(room: "stage"), by: backEnd), at: world.now).isFailure)
    world.run(.milliseconds(300))
    #expect(end(of: ben) == .roomClosedByService)
    #expect(end(of: cal) == nil)
    #expect(!world.router.execute(RoomRequest(.close(room: "tea"), by: backEnd), at: world.now).isFailure)
    world.run(.milliseconds(300))
    #expect(end(of: cal) == .roomClosedByService)
  }

  @Test func everyCommandIsLoggedOnceWithItsOriginAndReason() throws {
    let log = Log()
    let world = try makeWorld { $0.commandExecuted = { log.add($0, $1) } }
    let (ana, _) = (try enter("ana", in: world), try enter("ben", in: world))
    let request = RoomRequest(
      .remove("ben", room: "room"), by: CommandOrigin(.vendorAPI, "AKIA1"), reason: "the meeting is full")
    world.router.execute(request, at: world.now)
    world.router.execute(request, at: world.now)
    ana.send(.close)
    let all = log.all
    #expect(all.map(\.request.command) == [request.command, request.command, .close(room: "room")])
    #expect(all.map(\.request.origin.kind) == [.vendorAPI, .vendorAPI, .participant])
    #expect(all.map(\.request.origin.subject) == ["AKIA1", "AKIA1", "ana"])
    #expect(all.map(\.request.reason) == ["the meeting is full", "the meeting is full", nil])
    #expect(all.map(\.result.code) == [nil, .noSuchParticipant, nil])
    #expect(ana.messages.last == .ended(.roomClosed))
  }
}

extension Result {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
