import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing

/// The router enforces the grants of tokens.
struct AdmissionTests {
  private let now = NumericDate.ofSystemClock()

  private func enter(_ credential: String, room: String = "stage-1", in world: World) async -> Session {
    let session = Session(JoinRequest(room: room, credential: credential, name: "Ana"), in: world)
    session.join { _ in }
    await world.run(for: .milliseconds(300))
    return session
  }

  private func stageToken(publish: Bool = true, subscribe: Bool = true, age: Double = 0) throws -> String {
    try IVSStageToken(
      participantID: "ana", stage: "stage-1", attributes: ["role": "guest"],
      capabilities: .init(canPublish: publish, canSubscribe: subscribe), issued: now + -age, expires: now + (600 - age)
    ).signed(with: SigningKey(generating: .p384))
  }

  @Test func stageTokenSetsParticipantIDAndAttributes() async throws {
    let world = try virtualWorld()
    let ana = await enter(try stageToken(), in: world)
    #expect(ana.state == .connected)
    #expect(ana.localParticipant.id == "ana")
    #expect(ana.localParticipant.attributes == ["role": "guest"])
  }

  @Test func actionWithoutPermissionFailsWithoutEffect() async throws {
    let world = try virtualWorld()
    let ana = await enter(try stageToken(publish: false, subscribe: true), in: world)
    let ben = Session(JoinRequest(room: "stage-1", participantID: "ben", name: "Ben"), in: world)
    ben.join { _ in }
    let failures = Lock<[Failure.Code]>([])
    let told = Lock<[String]>([])
    ana.observe { event in
      told.withLock { $0.append(Watcher.words(event)) }
      if case .failed(let error) = event { failures.withLock { $0.append(error.code) } }
    }
    let microphone = try ana.publish(microphone: Devices.microphone("tone"))
    ana.remove("ben")
    await world.run(for: .seconds(1))
    let story = told.withLock { $0.filter { $0.contains("microphone") } }
    #expect(story.count == 3)
    #expect(story.first == "added Ana microphone")
    #expect(story.last == "removed Ana microphone")
    #expect(story[1].hasPrefix("failed microphone") && story[1].hasSuffix("(forbidden)"))
    #expect(microphone.isOver)
    #expect(ana.localParticipant.tracks.isEmpty)
    #expect(ben.participants.first?.tracks.isEmpty == true)
    #expect(ben.state == .connected)
    #expect(failures.withLock { $0 } == [.forbidden])
  }

  @Test func microphoneThatFailsToStartIsReportedOnceAndWithdrawn() async throws {
    struct Broken: Error {}
    final class BrokenMicrophone: AudioSource {
      let channels = 1
      func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws { throw Broken() }
      func stop() {}
    }
    let world = try virtualWorld()
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    let watcher = Watcher()
    watcher.follow(ana)
    let microphone = try ana.publish(microphone: BrokenMicrophone())
    ana.join { _ in }
    await world.run(for: .seconds(1))
    #expect(microphone.isOver)
    #expect(ana.localParticipant.tracks.isEmpty)
    #expect(watcher.now.events.count { $0.contains("microphone") } == 1)
    #expect(watcher.now.events.first?.hasPrefix("failed microphone") == true)
    try ana.publish(microphone: Devices.microphone("tone"))
    await world.run(for: .seconds(1))
    #expect(
      watcher.now.events.filter { $0.contains("microphone") }.suffix(2) == [
        "added Ana microphone", "published microphone",
      ])
  }

  @Test func expiredAndForeignTokensAreRefused() async throws {
    let world = try virtualWorld()
    let late = await enter(try stageToken(age: 3_600), in: world)
    guard case .ended(.refused(let error)) = late.state else {
      Issue.record("an expired token let in: \(late.state)")
      return
    }
    #expect(error.code == .unauthorized)
    let elsewhere = await enter(try stageToken(), room: "another", in: world)
    guard case .ended(.refused(let error)) = elsewhere.state else {
      Issue.record("a foreign token let in: \(elsewhere.state)")
      return
    }
    #expect(error.code == .forbidden)
  }

  @Test func endpointWithTokenOfAnotherIdentityIsRefused() async throws {
    let world = try virtualWorld()
    let token = try AzureUserToken(identity: "8:acs:ana", issued: now, expires: now + 600)
      .signed(with: SigningKey(generating: .p256))
    let (own, foreign) = (
      Endpoint(identity: "8:acs:ana", credential: token, in: world),
      Endpoint(identity: "8:acs:ben", credential: token, in: world)
    )
    for endpoint in [own, foreign] { endpoint.register { _ in } }
    await world.run(for: .milliseconds(300))
    #expect(own.state == .registered)
    #expect(foreign.state.isEnded)
  }
}
