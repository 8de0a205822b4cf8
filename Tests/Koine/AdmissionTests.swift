import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing

/// What tokens grant is done, and nothing else, by the room itself.
struct AdmissionTests {
  private let now = NumericDate.ofSystemClock()

  private func enter(_ credential: String, room: String = "stage-1", in world: World) async -> Session {
    let session = Session(JoinRequest(room: room, credential: credential, name: "Ana"), in: world)
    session.join { _ in }
    await world.run(for: .milliseconds(300))
    return session
  }

  private func stageToken(publish: Bool = true, subscribe: Bool = true, age: Double = 0) throws -> String {
    try StageToken(
      participantID: "ana", stage: "stage-1", attributes: ["role": "guest"],
      capabilities: .init(canPublish: publish, canSubscribe: subscribe), issued: now + -age, expires: now + (600 - age)
    ).signed(with: SigningKey(generating: .p384))
  }

  @Test func aStageTokenGivesIdAndAttributes() async throws {
    let world = try virtualWorld()
    let ana = await enter(try stageToken(), in: world)
    #expect(ana.state == .connected && ana.localParticipant.id == "ana")
    #expect(ana.localParticipant.attributes == ["role": "guest"])
  }

  @Test func whatIsNotGrantedIsNotDone() async throws {
    let world = try virtualWorld()
    let ana = await enter(try stageToken(publish: false, subscribe: true), in: world)
    let ben = Session(JoinRequest(room: "stage-1", participantID: "ben", name: "Ben"), in: world)
    ben.join { _ in }
    let failures = Lock<[SessionError.Code]>([])
    ana.observe { event in if case .failed(let error) = event { failures.withLock { $0.append(error.code) } } }
    try ana.publish(microphone: Devices.microphone("tone"))
    ana.remove("ben")
    await world.run(for: .seconds(1))
    #expect(ben.participants.first?.streams.isEmpty == true && ben.state == .connected)
    #expect(failures.withLock { $0 } == [.notPermitted, .notPermitted])
  }

  @Test func expiredAndForeignTokensDoNotLetIn() async throws {
    let world = try virtualWorld()
    let late = await enter(try stageToken(age: 3_600), in: world)
    guard case .ended(.refused(let error)) = late.state else {
      Issue.record("an expired token let in: \(late.state)")
      return
    }
    #expect(error.code == .invalidCredential)
    let elsewhere = await enter(try stageToken(), room: "another", in: world)
    guard case .ended(.refused(let error)) = elsewhere.state else {
      Issue.record("a foreign token let in: \(elsewhere.state)")
      return
    }
    #expect(error.code == .notPermitted)
  }

  @Test func nobodySignsInWithSomebodyElsesToken() async throws {
    let world = try virtualWorld()
    let token = try CommunicationUserToken(identity: "8:acs:ana", issued: now, expires: now + 600)
      .signed(with: SigningKey(generating: .p256))
    let (own, foreign) = (
      Endpoint(identity: "8:acs:ana", credential: token, in: world),
      Endpoint(identity: "8:acs:ben", credential: token, in: world)
    )
    for endpoint in [own, foreign] { endpoint.register { _ in } }
    await world.run(for: .milliseconds(300))
    #expect(own.state == .registered && foreign.state.isEnded)
  }
}
