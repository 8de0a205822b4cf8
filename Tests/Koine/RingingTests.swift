import Koine
import KoineEmbeddedBackend
import Testing

/// Records the events of an endpoint.
final class EventRecorder: Sendable {
  private let heard = Lock<[String]>([])
  private let rung = Lock<[Ring]>([])

  var words: [String] { heard.withLock { $0 } }
  var invitations: [Ring] { rung.withLock { $0 } }

  init(_ endpoint: Endpoint) {
    endpoint.observe { [weak self] event in
      guard let self else { return }
      heard.withLock { $0.append(Self.words(event)) }
      if case .invited(let invitation) = event { rung.withLock { $0.append(invitation) } }
    }
  }

  private static func words(_ event: EndpointEvent) -> String {
    switch event {
    case .stateChanged(let state): "\(state)"
    case .invited(let invitation): "\(invitation.callerName) rings"
    case .answered(_, let callee, let answer): "\(callee) \(answer)"
    case .failed(let error): "failed \(error.code.rawValue)"
    }
  }
}

struct RingingTests {
  let world: World

  init() throws { world = try virtualWorld() }

  private func registered(_ names: String...) async -> [(endpoint: Endpoint, ear: EventRecorder)] {
    let people = names.map { name in
      let endpoint = Endpoint(identity: name, name: name == "ana" ? "Ana" : name, in: world)
      return (endpoint, EventRecorder(endpoint))
    }
    for (endpoint, _) in people { endpoint.register { _ in } }
    await world.run(for: .milliseconds(200))
    return people
  }

  @Test func acceptedInvitationConnectsBothParticipants() async throws {
    let people = await registered("ana", "ben")
    let invitation = people[0].endpoint.invite(["ben"], hasVideo: true)
    await world.run(for: .milliseconds(200))
    let rung = try #require(people[1].ear.invitations.first)
    #expect(rung.id == invitation.id)
    #expect(rung.room == invitation.room)
    #expect(rung.hasVideo)
    #expect(rung.caller == "ana")
    #expect(people[1].endpoint.invitations.map(\.id) == [invitation.id])
    people[1].endpoint.reply(.accept, to: rung.id)
    await world.run(for: .milliseconds(200))
    #expect(people[0].ear.words == ["registering", "registered", "ben ringing", "ben accepted"])
    #expect(people[1].ear.words == ["registering", "registered", "Ana rings", "ben accepted"])
    #expect(people[0].endpoint.invitations.isEmpty && people[1].endpoint.invitations.isEmpty)
    let sessions = [("ana", invitation.room), ("ben", rung.room)].map { name, room in
      Session(JoinRequest(room: room, participantID: name, name: name), in: world)
    }
    for session in sessions { session.join { _ in } }
    #expect(await world.run(until: { sessions[0].participants.map(\.id) == ["ben"] }, limit: .seconds(1)))
  }

  @Test(arguments: [(RingReply.decline, "ben declined"), (.busy, "ben busy")])
  func declinedInvitationIsReportedToBothEndpoints(_ reply: RingReply, _ told: String) async throws {
    let people = await registered("ana", "ben")
    let invitation = people[0].endpoint.invite(["ben"])
    await world.run(for: .milliseconds(200))
    people[1].endpoint.reply(reply, to: invitation.id)
    await world.run(for: .milliseconds(200))
    #expect(people[0].ear.words.last == told && people[1].ear.words.last == told)
    people[1].endpoint.reply(.accept, to: invitation.id)  // too late
    await world.run(for: .milliseconds(200))
    #expect(people[0].ear.words.last == told)
  }

  @Test func cancelledInvitationEndsForCalleesThatHaveNotAnswered() async throws {
    let people = await registered("ana", "ben", "eva")
    let invitation = people[0].endpoint.invite(["ben", "eva"])
    await world.run(for: .milliseconds(200))
    people[1].endpoint.reply(.accept, to: invitation.id)
    await world.run(for: .milliseconds(200))
    people[0].endpoint.cancel(invitation.id)
    await world.run(for: .milliseconds(200))
    #expect(people[1].ear.words.last == "ben accepted")
    #expect(people[2].ear.words.last == "eva cancelled")
    #expect(people[0].ear.words.last == "eva cancelled")
  }

  @Test func unansweredInvitationTimesOut() async throws {
    let people = await registered("ana", "ben")
    _ = people[0].endpoint.invite(["ben", "zoe"], patience: .seconds(3))
    await world.run(for: .seconds(2))
    #expect(people[0].ear.words.suffix(2) == ["ben ringing", "zoe unreachable"])
    await world.run(for: .seconds(2))
    #expect(people[0].ear.words.last == "ben unanswered" && people[1].ear.words.last == "ben unanswered")
  }

  @Test func firstAnswerOfSeveralDevicesEndsRingingOnTheOthers() async throws {
    let people = await registered("ana", "ben", "ben")
    let invitation = people[0].endpoint.invite(["ben"])
    await world.run(for: .milliseconds(200))
    people[2].endpoint.reply(.accept, to: invitation.id)
    await world.run(for: .milliseconds(200))
    #expect(people[1].ear.words.last == "ben handledElsewhere")
    #expect(people[2].ear.words.last == "ben accepted" && people[0].ear.words.last == "ben accepted")
  }

  @Test func simultaneousInvitationsBothRing() async throws {
    let people = await registered("ana", "ben")
    let (first, second) = (people[0].endpoint.invite(["ben"]), people[1].endpoint.invite(["ana"]))
    await world.run(for: .milliseconds(200))
    #expect(people[0].ear.invitations.map(\.id) == [second.id])
    #expect(people[1].ear.invitations.map(\.id) == [first.id])
  }

  @Test func unregisteredEndpointStopsRinging() async throws {
    let people = await registered("ana", "ben", "eva")
    _ = people[0].endpoint.invite(["ben", "eva"])
    await world.run(for: .milliseconds(200))
    people[1].endpoint.unregister {}
    await world.run(for: .milliseconds(500))
    #expect(people[0].ear.words.last == "ben unreachable")
    people[0].endpoint.unregister {}
    await world.run(for: .milliseconds(500))
    #expect(people[2].ear.words.last == "eva cancelled")
    #expect(people[0].ear.words.suffix(2) == ["eva cancelled", "ended(left)"])
    #expect(people[0].endpoint.state == .ended(.left))
  }

  @Test func secondRegistrationAndUnregisteredInvitationAreErrors() async throws {
    let ana = Endpoint(identity: "ana", in: world)
    let ear = EventRecorder(ana)
    _ = ana.invite(["ben"])
    await world.run(for: .milliseconds(100))
    #expect(ear.words == ["failed notConnected"])
    ana.register { _ in }
    let second = Lock<Failure?>(nil)
    ana.register { outcome in if case .failure(let error) = outcome { second.withLock { $0 = error } } }
    await world.run(for: .milliseconds(200))
    #expect(second.withLock { $0?.code } == .alreadyJoined)
  }

  @Test func invitationSurvivesLossyLink() async throws {
    let world = try virtualWorld(seed: 3, network: "loss=20%,delay=40ms")
    let (ana, ben) = (Endpoint(identity: "ana", in: world), Endpoint(identity: "ben", in: world))
    let ear = EventRecorder(ana)
    ana.register { _ in }
    ben.register { _ in }
    await world.run(for: .seconds(3))
    let invitation = ana.invite(["ben"])
    await world.run(for: .seconds(3))
    ben.reply(.accept, to: invitation.id)
    await world.run(for: .seconds(3))
    #expect(ear.words == ["registering", "registered", "ben ringing", "ben accepted"])
  }
}
