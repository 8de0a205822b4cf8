import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

/// Commands from outside a room, and the decision before admission.
struct RoomControlTests {
  private let origin = CommandOrigin(.test, caller: "suite", reason: "a test")

  @Test func removedParticipantAndTheOthersAreNotified() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    try world.router.perform(.remove("ana", room: "room"), from: origin, at: world.now)
    #expect(throws: Failure.self) {
      try world.router.perform(.remove("ana", room: "room"), from: origin, at: world.now)
    }
    world.drain()
    #expect(clients[0].messages.last == .ended(.removed))
    #expect(clients[1].messages.last == .participantLeft(id: "ana", reason: .removed))
  }

  @Test func closedRoomIsGone() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    try world.router.perform(.close(room: "room", reason: .expired), from: origin, at: world.now)
    world.drain()
    for client in clients { #expect(client.messages.last == .ended(.expired)) }
    #expect(world.router.statistics.rooms == 0)
    let error = #expect(throws: Failure.self) {
      try world.router.perform(.close(room: "room"), from: origin, at: world.now)
    }
    #expect(error?.code == .unknownRoom)
  }

  @Test func tracksThatAreNotGrantedAnyMoreAreWithdrawn() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[0].publish(.microphone)
    clients[1].subscribe(to: "ana", "camera", "microphone")
    world.run(.seconds(1))
    var changes = GrantChanges()
    changes.publish = [.microphone]
    changes.canSendData = false
    try world.router.perform(.grant(changes, "ana", room: "room"), from: origin, at: world.now)
    world.drain()
    #expect(clients[1].messages.last == .withdrawn(participant: "ana", trackIDs: ["camera"]))
    clients[0].publish(.camera, id: "again")
    #expect(clients[0].messages.last?.code == .forbidden)
    clients[0].tell(.data(SendData(DataMessage(topic: "t", payload: []), id: "1")))
    #expect(clients[0].messages.last?.code == .forbidden)
    changes.publish = [.microphone, .camera]
    try world.router.perform(.grant(changes, "ana", room: "room"), from: origin, at: world.now)
    clients[0].publish(.camera, id: "third")
    guard case .accepted = clients[0].messages.last else {
      Issue.record("\(String(describing: clients[0].messages.last))")
      return
    }
  }

  @Test func mutedTrackIsNotForwardedUntilItsOwnerUnmutesIt() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera)
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendPictures("camera", seconds: 4)
    world.run(.seconds(1))
    let camera = Track.ID(participant: "ana", track: "camera")
    try world.router.perform(.mute(camera, room: "room"), from: origin, at: world.now)
    world.drain()
    for client in clients {
      #expect(client.messages.contains(.muted(participant: "ana", trackID: "camera", muted: true)))
    }
    world.run(.milliseconds(200))
    let before = clients[1].frames("ana", "camera").count
    world.run(.seconds(1))
    #expect(clients[1].frames("ana", "camera").count == before)
    clients[0].tell(.mute(trackID: "camera", muted: false))
    world.run(.seconds(1))
    #expect(clients[1].frames("ana", "camera").count > before)
  }

  @Test func recordingIsRequestedOfTheService() throws {
    let heard = Lock<[Attendant.Word]>([])
    let world = try World {
      $0.attendant = Attendant(names: ["koine.recording"]) { word in heard.withLock { $0.append(word) } }
    }
    _ = try world.joined("ana")
    for starts in [true, false] {
      try world.router.perform(
        .record(output: "koine.recording", starts: starts, room: "room"), from: origin, at: world.now)
    }
    #expect(heard.withLock { $0.map(\.topic) } == ["koine.recording", "koine.order.stop"])
    #expect(heard.withLock { $0.map { String(decoding: $0.payload, as: UTF8.self) } } == ["25", "koine.recording"])
    #expect(throws: Failure.self) {
      try world.router.perform(
        .record(output: "koine.playlist", starts: true, room: "room"), from: origin, at: world.now)
    }
  }

  @Test(arguments: [
    RoomCommand.remove("eva", room: "room"), .mute(Track.ID(participant: "ana", track: "none"), room: "room"),
    .mute(Track.ID(participant: "eva", track: "none"), room: "room"), .grant(GrantChanges(), "eva", room: "room"),
    .grant(GrantChanges(), "ana", room: "elsewhere"), .record(output: "koine.recording", starts: true, room: "room"),
  ]) func impossibleCommandChangesNothing(_ command: RoomCommand) throws {
    let world = try World()
    let ana = try world.joined("ana")[0]
    let reports = world.router.rooms(at: world.now)
    ana.forgetMessages()
    #expect(throws: Failure.self) { try world.router.perform(command, from: origin, at: world.now) }
    world.drain()
    #expect(world.router.rooms(at: world.now) == reports)
    #expect(ana.messages.isEmpty)
  }

  @Test func reportsNameRoomsMembersAndTracks() throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[0].publish(.camera, muted: true)
    let reports = world.router.rooms(at: world.now)
    #expect(reports.map(\.name) == ["room"])
    #expect(reports[0].members.map(\.participant.id) == ["ana", "ben"])
    #expect(reports[0].members[0].participant.tracks.map(\.isMuted) == [true])
    #expect(reports[0].members.map(\.isConnected) == [true, true])
  }

  // MARK: Admission

  @Test func policyAdmitsRefusesAndHasParticipantsWait() throws {
    let world = try World {
      $0.admission = AdmissionPolicy { request in
        switch request.join.participantID {
        case "eva": return .refuse(Failure(.denied, "not today"))
        case "guest": return .wait(request.grants)
        default:
          var grants = request.grants
          grants.canModerate = request.participants == 0
          return .admit(grants)
        }
      }
    }
    let clients = try world.joined("ana", "ben")
    #expect(world.router.rooms(at: world.now)[0].members.map(\.canModerate) == [true, false])
    let eva = try world.makeClient()
    eva.join("room", as: "eva")
    #expect(eva.messages.last == .refused(Failure(.denied, "not today")))
    let guest = try world.makeClient()
    guest.join("room", as: "guest")
    #expect(guest.messages.last == .waiting)
    #expect(world.router.rooms(at: world.now)[0].waiting.map(\.id) == ["guest"])
    clients[0].tell(.answerKnock(participant: "guest", admitted: true))
    #expect(world.router.statistics.participants == 3)
  }
}
