import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineTransport
import Testing

@testable import KoineRouter

/// Participants that ask for one id. Here a credential `id NAME` names its participant, `of KIND` says its kind, `ask` leaves the
/// id open and has to ask, and no credential leaves it open.
struct NamesakeTests {
  private let world: World

  init() throws {
    world = try World { configuration in
      configuration.authorization = Authorization { join in
        let words = (join.credential ?? "").split(separator: " ")
        var grants = Grants.everything
        if words.contains("ask") { (grants.mustAsk, grants.canAdmit) = (true, false) }
        if words.first == "id" { grants.participantID = String(words[1]) }
        if let kind = words.firstIndex(of: "of") { grants.kind = String(words[kind + 1]) }
        return .success(grants)
      }
    }
  }

  private func enter(_ name: String, _ credential: String? = nil, key: String? = nil) throws -> Client {
    let client = try world.makeClient()
    client.send(
      .join(
        Join(
          room: "room", credential: credential, participantID: name, name: name,
          description: client.peer.localDescription, resumptionKey: key)))
    return client
  }

  private func resumptionKey(of client: Client) -> String? {
    client.resumptionKey
  }

  private func joined(_ client: Client) -> Joined? {
    for case .joined(let joined) in client.messages { return joined }
    return nil
  }

  private func knocks(_ client: Client) -> [(id: String, number: Int?)] {
    client.messages.compactMap { message in
      if case .knock(let guest, let number) = message { (guest.id, number) } else { nil }
    }
  }

  @Test(arguments: [
    (older: true, newer: true, replaces: true), (older: true, newer: false, replaces: false),
    (older: false, newer: true, replaces: true), (older: false, newer: false, replaces: false),
  ])
  func idIsTakenOverOnlyByACredentialThatNamesIt(_ older: Bool, _ newer: Bool, _ replaces: Bool) throws {
    let first = try enter("ana", older ? "id ana" : nil)
    let second = try enter("ana", newer ? "id ana" : nil)
    if replaces {
      #expect(first.messages.last == .ended(.duplicate))
      #expect(joined(second) != nil)
    } else {
      #expect(!first.messages.contains(.ended(.duplicate)))
      #expect(second.messages.last?.code == .forbidden)
      #expect(joined(second) == nil)
    }
    #expect(world.router.statistics.participants == 1)
  }

  @Test(arguments: ["while it stands", "after its connection is lost", "after its connection is closed"])
  func openIDIsTakenOverWithTheResumptionKey(_ when: String) throws {
    let first = try enter("ana")
    let key = try #require(resumptionKey(of: first))
    first.send(.heard(2))
    if when.contains("lost") { world.host.connectionLost(first.connection, at: world.now) }
    if when.contains("closed") { world.host.close(first.connection, at: world.now) }
    #expect(try enter("ana", key: "guessed").messages.last?.code == .forbidden)
    let second = try enter("ana", key: key)
    #expect(joined(second)?.participantID == "ana")
    #expect(world.router.statistics.participants == 1)
    #expect(try enter("ana", key: key).messages.last?.code == .forbidden, "the key has done its work")
  }

  @Test func openServerLetsTheNewestJoinOfAnOpenIDReplaceTheOlder() throws {
    let world = try World()
    let first = try world.joined("ana")[0]
    let second = try world.joined("ana")[0]
    #expect(first.messages.last == .ended(.duplicate))
    #expect(joined(second) != nil)
  }

  /// A key may be bound to one kind of token: such tokens must not replace participants admitted with other kinds.
  @Test func credentialOfAnotherKindDoesNotReplaceItsNamesake() throws {
    let ana = try enter("ana", "id ana of room")
    #expect(try enter("ana", "id ana of stage").messages.last?.code == .forbidden)
    #expect(!ana.messages.contains(.ended(.duplicate)))
    #expect(joined(try enter("ana", "id ana of room")) != nil)
    #expect(ana.messages.last == .ended(.duplicate))
  }

  @Test func guestOfAnotherKindDoesNotReplaceAWaitingNamesake() throws {
    let boss = try enter("boss", "id boss of room")
    let ana = try enter("ana", "id ana of room ask")
    #expect(try enter("ana", "id ana of stage ask").messages.last?.code == .forbidden)
    #expect(ana.messages.last == .waiting)
    #expect(knocks(boss).count == 1)
  }

  @Test func credentialOfAnotherKindInheritsNoDirectedMessages() throws {
    let ben = try enter("ben", "id ben of room")
    func write(_ id: String) {
      ben.send(.data(SendData(DataMessage(topic: "t", payload: [1], to: ["ana"], isPersistent: true), id: id)))
    }
    write("before anybody")
    let ana = try enter("ana", "id ana of room")
    write("to her")
    ana.send(.leave(reason: nil))
    write("while she is away")
    let other = try enter("ana", "id ana of stage")
    #expect(joined(other)?.history.map(\.id) == ["before anybody"])
    write("to the other")
    other.send(.leave(reason: nil))
    #expect(
      joined(try enter("ana", "id ana of room"))?.history.map(\.id)
        == ["before anybody", "to her", "while she is away"])
  }

  @Test func namesakeGetsNoMessagesDirectedToTheIDBefore() throws {
    let ben = try enter("ben", "id ben")
    let ana = try enter("ana", "id ana")
    func write(_ id: String) {
      ben.send(.data(SendData(DataMessage(topic: "t", payload: [1], to: ["ana"], isPersistent: true), id: id)))
    }
    write("1")
    ana.send(.leave(reason: nil))
    let namesake = try enter("ana")
    #expect(joined(namesake)?.history == [])
    write("2")
    #expect(namesake.messages.contains { if case .data(let data) = $0 { data.id == "2" } else { false } })
    let again = try enter("ana", key: resumptionKey(of: namesake))
    #expect(joined(again)?.history.map(\.id) == ["2"], "its own stay goes on")
    again.send(.leave(reason: nil))
    #expect(joined(try enter("ana", "id ana"))?.history.map(\.id) == ["1", "2"])
  }

  @Test func returningNamesakeGetsNoMessagesDirectedToTheIDBefore() throws {
    let ben = try enter("ben", "id ben")
    ben.send(.data(SendData(DataMessage(topic: "t", payload: [1], to: ["ana"], isPersistent: true), id: "1")))
    let namesake = try world.makeClient()
    namesake.send(
      .join(
        Join(
          room: "room", participantID: "ana", name: "", description: namesake.peer.localDescription,
          returningTo: "another epoch")))
    #expect(joined(namesake)?.history == [])
  }

  @Test func renewedCredentialWithoutIDDoesNotAllowATakeover() throws {
    let ana = try enter("ana", "id ana")
    ana.send(.renew(credential: ""))
    #expect(try enter("ana").messages.last?.code == .forbidden)
    #expect(!ana.messages.contains(.ended(.duplicate)))
  }

  @Test(arguments: ["koine.recording", "koine.", "koine.anything"])
  func participantWithAServiceIDIsRefused(_ name: String) throws {
    let ana = try enter("ana")
    #expect(try enter(name).messages.last?.code == .forbidden)
    #expect(try enter(name, "id \(name)").messages.last?.code == .forbidden)
    #expect(try enter(name, "ask").messages.last?.code == .forbidden)
    #expect(ana.messages.count == 1)
    #expect(joined(try enter("koine")) != nil)
  }

  // MARK: Knocks

  @Test func secondKnockUnderAnOpenIDIsRefused() throws {
    let ana = try enter("ana", "id ana")
    let mallory = try enter("eva", "ask")
    let eva = try enter("eva", "ask")
    #expect(mallory.messages == [.waiting])
    #expect(eva.messages.last?.code == .forbidden)
    #expect(knocks(ana).map(\.id) == ["eva"])
    #expect(try enter("ana", "ask").messages.last?.code == .forbidden, "Ana is in the room")
  }

  @Test func knockWithACredentialForTheIDReplacesTheWaitingKnock() throws {
    let ana = try enter("ana", "id ana")
    let mallory = try enter("eva", "ask")
    let eva = try enter("eva", "id eva ask")
    #expect(mallory.messages == [.waiting, .ended(.duplicate)])
    #expect(eva.messages == [.waiting])
    let numbers = knocks(ana).map(\.number)
    #expect(numbers.count == 2)
    #expect(numbers.first != numbers.last)
    #expect(ana.messages.contains(.knockEnded(participant: "eva", admitted: nil, number: numbers[0])))
    ana.send(.answerKnock(participant: "eva", admitted: true, number: numbers[0]))
    #expect(ana.messages.last?.code == .unknownParticipant, "that answer was for the one that has gone")
    #expect(joined(eva) == nil)
    ana.send(.answerKnock(participant: "eva", admitted: true, number: numbers[1]))
    #expect(joined(eva) != nil)
    #expect(joined(mallory) == nil)
  }

  @Test func guestWithTheResumptionKeyWaitsInItsOwnPlace() throws {
    let first = try enter("eva", "ask")
    let key = try #require(resumptionKey(of: first))
    first.send(.heard(2))
    world.host.connectionLost(first.connection, at: world.now)
    let second = try enter("eva", "ask", key: key)
    #expect(second.messages == [.waiting])
    #expect(world.router.lobby.count == 1)
  }

  @Test func answerWithoutANumberAdmitsTheGuestThatWaits() throws {
    let ana = try enter("ana", "id ana")
    let eva = try enter("eva", "ask")
    ana.send(.answerKnock(participant: "eva", admitted: true))
    #expect(joined(eva) != nil)
  }

  @Test func guestWhoseIDHasBeenTakenIsNotAdmitted() throws {
    let ana = try enter("ana", "id ana")
    let guest = try enter("eva", "ask")
    let eva = try enter("eva", "id eva")
    ana.send(.answerKnock(participant: "eva", admitted: true))
    #expect(guest.messages.last?.code == .forbidden)
    #expect(!eva.messages.contains(.ended(.duplicate)))
  }
}
