import Foundation
import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineRouter

/// Rooms that are moved to another router. Credentials here: `moderator`, `member`, and `guest`, which has to be admitted.
struct RoomSnapshotTests {
  /// A participant's place on one router, and what it needs to return on another.
  private struct Stay {
    let client: Client
    let credential: String
    let id: String
    let key: String
    var epoch = ""
    /// Number of the last message that it has received.
    var order: UInt64 = 0
  }

  private let old: World
  private let new: World

  init() throws {
    func configure(_ configuration: inout RouterConfiguration) {
      configuration.authorization = Authorization { join in
        var grants = Grants()
        switch join.credential {
        case "moderator": grants.participantID = join.participantID
        case "guest": (grants.mustAsk, grants.canModerate, grants.canAdmit) = (true, false, false)
        default: (grants.canModerate, grants.canAdmit) = (false, false)
        }
        return .success(grants)
      }
    }
    old = try World(seed: 1, configure)
    new = try World(seed: 2, configure)
    new.run(.seconds(100))  // another clock
  }

  // MARK: Helpers

  private func enter(_ world: World, _ id: String, _ credential: String, insteadOf former: Stay? = nil) throws -> Stay {
    let client = try world.makeClient()
    client.send(
      .join(
        Join(
          room: "room", credential: credential, participantID: id, name: "Name of \(id)", attributes: ["of": id],
          description: client.peer.localDescription, returningTo: former?.epoch,
          resumptionKey: former?.key)))
    let key = try #require(client.resumptionKey)
    return Stay(client: client, credential: credential, id: id, key: key)
  }

  private func returned(_ stay: Stay) throws -> Stay { try enter(new, stay.id, stay.credential, insteadOf: stay) }

  private func joined(_ stay: Stay) throws -> Joined {
    try #require(stay.client.messages.compactMap { if case .joined(let joined) = $0 { joined } else { nil } }.first)
  }

  /// Acknowledges all messages.
  private func read(_ stay: inout Stay) throws {
    let messages = stay.client.messages
    stay.client.send(.heard(messages.count { $0.isCounted } + 1))  // and `resumable`
    stay.epoch = try joined(stay).epoch
    stay.order = data(stay.client).map(\.order).max() ?? 0
  }

  private func data(_ client: Client) -> [ReceivedMessage] {
    client.messages.flatMap { message -> [ReceivedMessage] in
      switch message {
      case .joined(let joined): joined.history
      case .history(let page): page.messages
      case .data(let data): [data]
      default: []
      }
    }
  }

  private func send(
    _ id: String, from stay: Stay, to recipients: [String]? = nil, isPersistent: Bool = false, lifetime: Duration? = nil
  ) {
    stay.client.send(
      .data(
        SendData(
          DataMessage(
            topic: "t", payload: Array(id.utf8), to: recipients, lifetime: lifetime, isPersistent: isPersistent),
          id: id)))
  }

  private func moved(_ snapshot: RoomSnapshot) throws -> RoomSnapshot {
    try JSONDecoder().decode(RoomSnapshot.self, from: JSONEncoder().encode(snapshot))
  }

  private func mutes(_ client: Client) -> [ServerMessage] {
    client.messages.filter { if case .muted = $0 { true } else { false } }
  }

  // MARK: In the middle of a call

  @Test func restoredRoomContinuesOnAnotherRouter() throws {
    var ana = try enter(old, "ana", "moderator")
    var ben = try enter(old, "ben", "member")
    var cem = try enter(old, "cem", "guest")
    ana.client.send(.answerKnock(participant: "cem", admitted: true))
    let stays = [ana, ben, cem]
    old.run(.seconds(1))
    for stay in stays { #expect(stay.client.isConnected) }
    ana.client.publish(.camera)
    ben.client.publish(.microphone)
    cem.client.publish(.screen, muted: true)
    ben.client.send(.attributes(["of": "ben", "hand": "up"]))
    for stay in [ben, cem] { stay.client.subscribe(to: "ana", "camera") }
    let camera = Track.ID(participant: "ana", track: "camera")
    let small = LayerPreference(maximumHeight: 180, priority: 3)
    cem.client.send(.prefer([TrackPreference(small, of: camera)]))
    ana.client.sendFrames("camera", seconds: 20)
    send("kept", from: ben, isPersistent: true)
    send("live", from: ana)
    old.run(.seconds(2))
    try read(&ana)
    try read(&ben)
    try read(&cem)
    // Ben's line breaks, so that he reads nothing of what follows; Cem reads nothing either.
    old.host.connectionLost(ben.client.connection, at: old.now)
    ana.client.send(.muteOther(Track.ID(participant: "ben", track: "microphone")))
    send("1 to all", from: ana)
    send("2 to ben", from: cem, to: ["ben"])
    send("3 kept", from: ana, isPersistent: true)
    send("4 for a minute", from: cem, lifetime: .seconds(60))
    send("5 to cem", from: ana, to: ["cem"])
    send("6 to all", from: cem)
    old.run(.seconds(1))
    let before = try #require(ana.client.room)
    let (roster, grants) = (before.members.map(\.participant), before.members.map(\.grants))
    #expect(roster.flatMap(\.tracks).map(\.isMuted) == [false, true, true])
    let snapshot = try moved(#require(old.host.snapshot(of: "room", at: old.now)))
    #expect(old.host.snapshot(of: "no room", at: old.now) == nil)

    let restored = new.router.restore(snapshot, at: new.now)
    #expect(restored)
    let again = new.router.restore(snapshot, at: new.now)
    #expect(!again, "the room is there")
    new.run(.seconds(2))
    // Not in the order in which they joined.
    let newCem = try returned(cem)
    let newBen = try returned(ben)
    new.run(.seconds(1))
    let newAna = try returned(ana)
    new.run(.seconds(1))
    #expect(newCem.client.messages.first { $0 == .waiting } == nil, "a guest that was admitted need not ask again")
    for stay in [newAna, newBen, newCem] { #expect(try joined(stay).epoch == ana.epoch) }
    #expect(try joined(newCem).participants == [], "announced when they return")
    #expect(try joined(newAna).participants.map(\.id) == ["ben", "cem"])

    // The unread messages, in their order.
    func unread(_ stay: Stay, after former: Stay) -> [String] {
      data(stay.client).filter { $0.order > former.order }.map(\.id)
    }
    #expect(unread(newBen, after: ben) == ["1 to all", "2 to ben", "3 kept", "4 for a minute", "6 to all"])
    #expect(unread(newCem, after: cem) == ["1 to all", "3 kept", "5 to cem"])
    #expect(unread(newAna, after: ana) == ["4 for a minute", "6 to all"])
    #expect(data(newBen.client).map(\.order) == [3, 4, 5, 6, 8], "neither its own nor those it has read")

    // Tracks are published again: Ben does not know that he was muted.
    newAna.client.publish(.camera)
    newBen.client.publish(.microphone)
    newBen.client.send(.attributes(["of": "ben", "hand": "up"]))
    newCem.client.publish(.screen, muted: true)
    newCem.client.subscribe(to: "ana", "camera")
    newAna.client.sendFrames("camera", seconds: 2)
    new.run(.seconds(2))
    let after = try #require(newAna.client.room)
    #expect(after.members.map(\.participant) == roster)
    #expect(after.members.map(\.grants) == grants)
    #expect(mutes(newBen.client) == [.muted(participant: "ben", trackID: "microphone", muted: true)])
    #expect(after.member("cem")?.subscriptions.map(\.preference) == [small])
    #expect(newCem.client.frames("ana", "camera").count > 30)
    newBen.client.send(.mute(trackID: "microphone", muted: false))
    #expect(after.roster["ben"]?.tracks.map(\.isMuted) == [false])

    // The order goes on.
    send("7 to all", from: newAna)
    #expect(data(newCem.client).last?.id == "7 to all")
    #expect(data(newCem.client).last?.order == 9)
    new.run(.seconds(70))
    #expect(new.router.statistics.participants == 3)
    #expect(!after.roster.isAwaiting)
  }

  // MARK: Participants that do not return

  @Test func restoredRoomWithoutReturningParticipantsIsClosed() throws {
    _ = try enter(old, "ana", "moderator")
    old.run(.seconds(1))
    let snapshot = try moved(#require(old.host.snapshot(of: "room", at: old.now)))
    new.router.restore(snapshot, at: new.now)
    new.run(.seconds(59))
    #expect(new.router.statistics.rooms == 1)
    new.run(.seconds(2))
    #expect(new.router.statistics.rooms == 0)
    #expect(new.router.holdings.values.allSatisfy { $0 == 0 })
  }

  @Test func expectedParticipantKeepsItsIDAndItsPlaceForAMinute() throws {
    old.router.setParticipantLimit(2)
    new.router.setParticipantLimit(2)
    var ana = try enter(old, "ana", "member")
    var ben = try enter(old, "ben", "member")
    try read(&ana)
    try read(&ben)
    new.router.restore(try moved(#require(old.host.snapshot(of: "room", at: old.now))), at: new.now)
    _ = try returned(ana)
    func refusal(_ id: String) throws -> Failure.Code? {
      let client = try new.makeClient()
      client.send(
        .join(Join(room: "room", participantID: id, name: "", description: client.peer.localDescription)))
      return client.messages.last?.code
    }
    #expect(try refusal("ben") == .forbidden)
    #expect(try refusal("dan") == .roomFull)
    new.run(.seconds(61))
    #expect(try refusal("dan") == nil)
  }

  @Test func namesakeDoesNotGetUnreadMessagesOfAnExpectedParticipant() throws {
    let ana = try enter(old, "ana", "moderator")
    var ben = try enter(old, "ben", "moderator")
    try read(&ben)
    send("1", from: ana, to: ["ben"])
    send("2", from: ana)
    new.router.restore(try moved(#require(old.host.snapshot(of: "room", at: old.now))), at: new.now)
    let other = try enter(new, "ben", "moderator")  // has the credential, and does not say that it returns
    #expect(data(other.client) == [])
    #expect(other.client.room?.roster["ben"]?.order == 3)
  }

  // MARK: Times and the lobby

  @Test func messageAgesAndLifetimesContinueWithTheNewClock() throws {
    var ana = try enter(old, "ana", "moderator")
    try read(&ana)
    send("1", from: ana, lifetime: .seconds(10))
    old.run(.seconds(6))
    new.router.restore(try moved(#require(old.host.snapshot(of: "room", at: old.now))), at: new.now)
    new.run(.seconds(2))
    let ben = try enter(new, "ben", "member")
    #expect(data(ben.client).map(\.id) == ["1"])
    #expect(data(ben.client).map(\.age) == [.seconds(8)])
    new.run(.seconds(3))
    #expect(data(try enter(new, "cem", "member").client) == [])
  }

  @Test func waitingGuestsKnockAgainInTheirOrder() throws {
    var ana = try enter(old, "ana", "moderator")
    try read(&ana)
    let eva = try enter(old, "eva", "guest")
    old.run(.seconds(1))
    let dan = try enter(old, "dan", "guest")
    new.router.restore(try moved(#require(old.host.snapshot(of: "room", at: old.now))), at: new.now)
    let new = [try returned(dan), try returned(eva)]
    for stay in new { #expect(stay.client.messages == [.waiting]) }
    let knocks = try returned(ana).client.messages.compactMap { message in
      if case .knock(let guest, _) = message { guest.id } else { nil }
    }
    #expect(knocks == ["eva", "dan"])
  }
}
