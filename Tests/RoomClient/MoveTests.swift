import Koine
import KoineBase
import KoineSignaling
import Testing

@testable import KoineRoomClient

/// Servers that send a client to another one.
struct MoveTests {
  private static let places = ["ws://n1", "ws://n2", "ws://n3"]

  // MARK: A planned move

  @Test func plannedMoveIsNotReported() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.servers.attempts == [.init(place: "ws://n2", at: 0)])
    ana.servers.run(for: .seconds(5))
    #expect(ana.recorder.events == ["rejoined"])
  }

  @Test func movedClientJoinsWithANewPeerAndDoesNotResume() throws {
    let ana = try Ana()
    ana.servers.connect(to: ["ws://n1"])
    let first = try #require(ana.servers.joins(at: "ws://n1").first)
    ana.servers.say(
      .resumable(key: "k1", graceSeconds: 30), .joined(Ana.welcome("e1", Self.places)), .data(message("m", 41)))
    ana.servers.say(.moved(places: ["ws://n2"]))
    guard case .join(let join)? = ana.servers.messages(at: "ws://n2").first else {
      Issue.record("\(ana.servers.messages(at: "ws://n2"))")
      return
    }
    #expect(join.isMoved)
    #expect(join.seen == 41)
    #expect(join.unreachable == nil)
    #expect(join.returningTo == "e1")
    #expect(join.resumptionKey == "k1")
    #expect(join.participantID == "ana")
    #expect(join.description.ice != first.description.ice)
    #expect(!first.isMoved)
    #expect(first.seen == 0)
  }

  @Test func moveThatTakesTwoSecondsIsReported() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.behaviours = ["ws://n2": .hangs, "ws://n3": .hangs, "ws://n1": .hangs]
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.servers.run(for: .milliseconds(1_999))
    #expect(ana.recorder.events == [])
    ana.servers.run(for: .milliseconds(2))
    #expect(ana.recorder.events == ["reconnecting"])
    ana.servers.behaviours = [:]
    ana.admit { _ in "e2" }
    ana.servers.run(for: .seconds(10))
    #expect(ana.recorder.events == ["reconnecting", "rejoined"])
  }

  @Test func placeThatCannotBeReachedIsReportedToTheNextDuringAMove() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.behaviours["ws://n2"] = .refuses
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2", "ws://n3"]))
    #expect(ana.servers.places == ["ws://n2", "ws://n3"])
    let join = try #require(ana.servers.joins(at: "ws://n3").first)
    #expect(join.unreachable == "ws://n2")
    #expect(join.isMoved)
    #expect(ana.recorder.events == ["rejoined"])
  }

  @Test func moveWithoutPlacesLeadsToAnotherKnownServer() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: []))
    #expect(ana.servers.places == ["ws://n2"])
    #expect(ana.servers.joins(at: "ws://n2").map(\.isMoved) == [false])
    #expect(ana.recorder.events == ["rejoined"])
  }

  @Test func moveThatNeverSucceedsEndsAfterThePatience() throws {
    let ana = try Ana.joined(Self.places, patience: .seconds(20))
    for place in Self.places { ana.servers.behaviours[place] = .refuses }
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.servers.run(for: .seconds(19))
    #expect(ana.recorder.events == ["reconnecting"])
    ana.servers.run(for: .seconds(2))
    #expect(ana.recorder.events == ["reconnecting", "ended \(EndReason.lost)"])
  }

  @Test func messagesOfAMoveAreSentAfterIt() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.behaviours["ws://n2"] = .hangs
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.send("under way")
    ana.servers.behaviours = [:]
    ana.admit { _ in "e2" }
    ana.servers.run(for: .seconds(7))
    #expect(ana.sent(to: "ws://n3") == ["under way"])
    #expect(ana.recorder.events.filter { $0.hasPrefix("failed") } == [])
  }

  @Test func clientThatLeavesIsNotMoved() throws {
    let ana = try Ana.joined(Self.places)
    ana.link.leave()
    ana.servers.perform { _ in }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.servers.places == [])
    #expect(ana.recorder.events == ["ended \(EndReason.left)"])
  }

  /// The former home closes the media path before its message arrives.
  @Test func moveAfterTheMediaPathWasClosedIsFollowed() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    ana.servers.perform { $0.signaling.expectEnd(.lost, at: ana.servers.now) }
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.servers.run(for: .seconds(5))
    #expect(ana.recorder.events == ["rejoined"])
  }

  @Test func waitingParticipantIsMoved() throws {
    let ana = try Ana()
    ana.servers.connect(to: ["ws://n1"])
    ana.servers.say(.waiting, .moved(places: ["ws://n2"]))
    #expect(ana.servers.joins(at: "ws://n2").map(\.isMoved) == [true])
    ana.servers.say(.waiting)
    #expect(ana.recorder.events == ["waiting", "waiting"])
  }

  // MARK: A refusal

  @Test func firstJoinAtAnotherServerIsRedirected() throws {
    let ana = try Ana()
    ana.admit { _ in "e1" }
    let admit = ana.servers.answer
    ana.servers.answer = { place, message in
      if place == "ws://a", case .join = message { return [.refused(Failure(.moved, ""), places: ["ws://n2"])] }
      return admit(place, message)
    }
    ana.servers.connect(to: ["ws://a"])
    #expect(ana.servers.attempts == [.init(place: "ws://a", at: 0), .init(place: "ws://n2", at: 0)])
    #expect(ana.servers.joins(at: "ws://n2").map(\.isMoved) == [true])
    #expect(
      ana.servers.joins(at: "ws://n2").map(\.description.ice) != ana.servers.joins(at: "ws://a").map(\.description.ice))
    #expect(ana.recorder.events == ["joined"])
  }

  @Test func firstJoinReturnsWithASuspicionWhereTheHomeDoesNotAnswer() throws {
    let ana = try Ana()
    ana.servers.behaviours["ws://n1"] = .refuses
    var asked = 0
    ana.servers.answer = { place, message in
      guard case .join = message else { return [] }
      asked += 1
      return asked == 1
        ? [.refused(Failure(.moved, ""), places: ["ws://n1"])] : [.joined(Ana.welcome("e1", Self.places))]
    }
    ana.servers.connect(to: ["ws://a"])
    #expect(ana.servers.places == ["ws://a", "ws://n1", "ws://a"])
    #expect(ana.servers.joins(at: "ws://a").map(\.unreachable) == [nil, "ws://n1"])
    #expect(ana.recorder.events == ["joined"])
  }

  @Test func redirectDuringAResumptionIsFollowed() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    let admit = ana.servers.answer
    ana.servers.answer = { place, message in
      if place == "ws://n1" { return [.refused(Failure(.moved, ""), places: ["ws://n3"])] }
      return admit(place, message)
    }
    ana.servers.lose()
    #expect(ana.servers.places == ["ws://n1", "ws://n3"])
    #expect(ana.servers.joins(at: "ws://n1").isEmpty)
    #expect(ana.servers.joins(at: "ws://n3").map(\.resumptionKey) == ["k1"])
    #expect(ana.recorder.events == ["reconnecting", "rejoined"])
  }

  // MARK: Servers that point at each other

  private func pointingAtEachOther(_ place: String?, _ message: ClientMessage) -> [ServerMessage] {
    switch message {
    case .resumeConversation: [.refused(Failure(.unknownConversation, ""))]
    case .join: [.refused(Failure(.moved, ""), places: [place == "ws://n1" ? "ws://n2" : "ws://n1"])]
    default: []
    }
  }

  @Test func firstJoinEndsAfterEightRedirectsInARow() throws {
    let ana = try Ana()
    ana.servers.answer = pointingAtEachOther
    ana.servers.connect(to: ["ws://n1"])
    #expect(ana.servers.attempts.count == 4, "three without a pause")
    ana.servers.run(for: .seconds(60))
    #expect(ana.servers.attempts.count == 9)
    #expect(
      ana.recorder.events == [
        "ended \(EndReason.refused(Failure(.unreachable, "the servers send the client from one to another")))"
      ])
  }

  @Test func returningClientDoesNotSpinBetweenTwoServers() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.answer = pointingAtEachOther
    ana.servers.lose()
    ana.servers.run(for: .seconds(61))
    #expect(ana.servers.attempts.count > 9)
    #expect(ana.servers.attempts.count < 40)
    #expect(ana.recorder.events == ["reconnecting", "ended \(EndReason.lost)"])
  }

  @Test func clientThatEachServerAdmitsAndMovesDoesNotSpin() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { $0 }
    let admit = ana.servers.answer
    ana.servers.answer = { place, message in
      guard case .join = message else { return admit(place, message) }
      return admit(place, message) + [.moved(places: [place == "ws://n1" ? "ws://n2" : "ws://n1"])]
    }
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.servers.run(for: .seconds(60))
    #expect(ana.servers.attempts.count > 9)
    #expect(ana.servers.attempts.count < 40)
  }

  /// Of a room whose homes die one after the other: the first known places still send the client to the last one.
  @Test(arguments: [false, true])
  func clientThatFollowsNoMoreRedirectsTriesItsOtherPlaces(_ isOldHomeBack: Bool) throws {
    let places = Self.places + ["ws://n4"]
    let ana = try Ana.joined(places)
    ana.admit(places: places) { $0 }
    for number in 0..<8 {
      ana.servers.say(.moved(places: [places[(number + 1) % 4]]))
      ana.servers.run(for: .seconds(4))
    }
    #expect(ana.servers.client.signaling.place == "ws://n1")
    let admit = ana.servers.answer
    ana.servers.answer = { place, message in
      guard place != "ws://n4", case .join = message else { return admit(place, message) }
      return [.refused(Failure(.moved, ""), places: ["ws://n4"])]
    }
    if !isOldHomeBack { ana.servers.behaviours["ws://n1"] = .refuses }
    ana.servers.forget()
    ana.servers.lose()
    ana.servers.run(for: .seconds(15))
    #expect(ana.servers.places == places)
    #expect(ana.recorder.events.last == "rejoined")
  }

  /// As of a socket that does not open before the attempt's time is over.
  @Test func lossOfAnAttemptThatWasGivenUpChangesNothing() throws {
    let ana = try Ana.joined(["ws://n1"])
    ana.servers.behaviours["ws://n1"] = .hangs
    ana.servers.lose()
    ana.servers.run(for: .milliseconds(5_100))  // the attempt has had 5 s; the next one follows after 0.25 s or more
    let next = try #require(ana.servers.client.signaling.deadline)
    ana.servers.forget()
    ana.servers.lose(.notMade("no answer"))
    #expect(ana.servers.client.signaling.deadline == next)
    #expect(ana.servers.attempts == [])
  }

  @Test func movesWithStaysBetweenThemAreNotBounded() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { $0 }
    for number in 0..<20 {
      ana.servers.say(.moved(places: [Self.places[number % 3]]))
      #expect(ana.servers.attempts.count == number + 1, "followed at once")
      ana.servers.run(for: .seconds(6))
    }
    #expect(Set(ana.recorder.events) == ["rejoined"])
  }

  // MARK: Endpoints

  @Test func registeredEndpointIsMovedWithItsRings() throws {
    let recorder = EventRecorder()
    let endpoint = EndpointClient(
      EndpointRequest(identity: "ben", name: "Ben"), receiver: recorder, random: SeededRandom(seed: 1))
    let servers = ScriptedServers(endpoint)
    servers.answer = { place, message in
      guard case .register = message else { return [] }
      return [
        .resumable(key: "k of \(place ?? "")", graceSeconds: 30), .registered(identity: "ben", places: Self.places),
      ]
    }
    servers.connect(to: ["ws://lb"])
    endpoint.send(.ring(RingRequest(id: "r1", room: "tea", to: ["ana"])), at: servers.now)
    servers.settle()
    servers.say(.moved(places: ["ws://n2"]))
    #expect(servers.places == ["ws://lb", "ws://n2"])
    let sent = servers.messages(at: "ws://n2")
    guard case .register? = sent.first else {
      Issue.record("\(sent)")
      return
    }
    #expect(sent.contains { if case .ring(let ring) = $0 { ring.id == "r1" && ring.isRepeated } else { false } })
    #expect(recorder.events == ["registered"])
    servers.forget()
    servers.behaviours["ws://n2"] = .refuses
    servers.behaviours["ws://n1"] = .refuses
    servers.lose()
    #expect(servers.places == Self.places, "as `registered` has named them")
  }
}
