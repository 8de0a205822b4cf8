import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing

/// Lobby, permissions and expiry as tokens set them, between sessions.
struct LobbyTests {
  private let now = NumericDate.ofSystemClock()
  private let world: World

  init() throws { world = try virtualWorld() }

  private func enter(_ name: String, _ rights: Set<KoineToken.Right>, seconds: Double = 600) throws -> (
    Session, Watcher
  ) {
    let pass = KoineToken(participantID: name, name: name, rights: rights, issued: now, expires: now + seconds)
    let credential = try pass.signed(with: SigningKey(generating: .p256))
    let session = Session(JoinRequest(room: "tea", credential: credential, name: name), in: world)
    let watcher = Watcher()
    watcher.follow(session)
    session.join { _ in }
    return (session, watcher)
  }

  @Test func waitingGuestIsAdmitted() async throws {
    let (guest, guestSees) = try enter("guest", [.publish, .subscribe, .ask])
    await world.run(for: .milliseconds(300))
    #expect(guest.state == .connecting)
    #expect(guestSees.now.events.last == "waiting")
    let (host, hostSees) = try enter("host", [.publish, .subscribe, .moderate])
    await world.run(for: .milliseconds(300))
    #expect(host.entryRequests.map(\.name) == ["guest"])
    #expect(hostSees.now.events.last == "guest asks")
    host.admit("guest")
    await world.run(for: .milliseconds(300))
    #expect(guest.state == .connected)
    #expect(host.participants.map(\.id) == ["guest"])
    #expect(host.entryRequests.isEmpty)
  }

  @Test func waitingGuestIsDenied() async throws {
    let (host, _) = try enter("host", [.moderate])
    let (guest, _) = try enter("guest", [.publish, .ask])
    await world.run(for: .milliseconds(300))
    host.deny("guest")
    await world.run(for: .milliseconds(300))
    guard case .ended(.refused(let error)) = guest.state else {
      Issue.record("\(guest.state)")
      return
    }
    #expect(error.code == .denied)
    #expect(host.entryRequests.isEmpty)
  }

  @Test func waitingGuestSurvivesNetworkGapAndIsAdmitted() async throws {
    let (guest, _) = try enter("guest", [.publish, .ask])
    let (host, _) = try enter("host", [.moderate])
    await world.run(for: .seconds(1))
    (world.backend as? EmbeddedBackend)?.cutNetwork(of: "guest", for: .seconds(20))
    await world.run(for: .seconds(30))
    #expect(guest.state == .connecting)
    #expect(host.entryRequests.count == 1)
    host.admit("guest")
    await world.run(for: .seconds(1))
    #expect(guest.state == .connected)
  }

  @Test func sessionKnowsItsPermissionsFromEntryOn() async throws {
    let (host, _) = try enter("host", [.publish, .subscribe, .send, .moderate])
    #expect(host.permissions == nil)
    let known = Lock<Set<ParticipantPermission>?>(nil)
    host.observe { [weak host] event in
      if case .stateChanged(.connected) = event { known.withLock { $0 = host?.permissions } }
    }
    await world.run(for: .milliseconds(300))
    #expect(known.withLock { $0 } == Set(ParticipantPermission.allCases))
    let (guest, guestSees) = try enter("guest", [.publishSound, .subscribe])
    await world.run(for: .milliseconds(300))
    #expect(guest.permissions == [.microphone, .subscribe])
    #expect(!guestSees.now.events.contains { $0.hasPrefix("permissions") }, "nothing has changed")
    let pass = KoineToken(participantID: "guest", rights: [.subscribe], issued: now, expires: now + 600)
    guest.renew(credential: try pass.signed(with: SigningKey(generating: .p256)))
    await world.run(for: .milliseconds(300))
    #expect(guest.permissions == [.subscribe])
    #expect(guestSees.now.events.contains(#"permissions ["subscribe"]"#))
  }

  @Test func actionsWithoutPermissionAreRefusedByTheRouter() async throws {
    let (host, hostSees) = try enter("host", [.publish, .subscribe, .send, .moderate])
    let (guest, guestSees) = try enter("guest", [.publishSound])
    let (_, _) = try enter("eye", [.subscribe, .hidden])
    await world.run(for: .milliseconds(300))
    try guest.publish(microphone: Devices.microphone("tone"))
    try guest.publish(camera: Devices.camera("pattern:160x90@5"))
    try guest.send(DataMessage(topic: "t", payload: [1]))
    guest.remove("host")
    await world.run(for: .seconds(1))
    #expect(
      hostSees.now.events.contains("added guest microphone") && !hostSees.now.events.contains("added guest camera"))
    #expect(!hostSees.now.events.contains("message t"))
    #expect(host.state == .connected)
    #expect(guestSees.now.events.count { $0.hasPrefix("failed") && $0.hasSuffix("(forbidden)") } == 3)
    #expect(host.participants.map(\.id) == ["guest"])
  }

  @Test func moderatorMutesStreamAndOwnerUnmutesIt() async throws {
    let (host, hostSees) = try enter("host", [.publish, .subscribe, .moderate])
    let (guest, guestSees) = try enter("guest", [.publish, .subscribe])
    await world.run(for: .milliseconds(300))
    let voice = try guest.publish(microphone: Devices.microphone("tone"))
    try host.publish(microphone: Devices.microphone("tone"))
    await world.run(for: .seconds(1))
    let seen = Lock<[Bool]>([])
    guest.observe { event in
      if case .streamMuted(let stream, let owner) = event, owner.isLocal {
        seen.withLock { $0.append(stream.isMuted && voice.isMuted && voice.isMutedByOther) }
      }
    }
    host.mute(voice.id)
    await world.run(for: .milliseconds(500))
    #expect(seen.withLock { $0 } == [true] && guest.localParticipant.tracks.map(\.isMuted) == [true])
    #expect(host.participants.first?.tracks.first?.isMuted == true)
    voice.setMuted(false)
    #expect(!voice.isMuted)
    #expect(!voice.isMutedByOther)
    await world.run(for: .milliseconds(500))
    #expect(host.participants.first?.tracks.first?.isMuted == false)
    let other = try #require(guest.participants.first?.tracks.first?.id)
    guest.mute(other)
    await world.run(for: .milliseconds(500))
    #expect(guestSees.now.events.last?.hasSuffix("(forbidden)") == true)
    #expect(hostSees.now.events.contains { $0.hasPrefix("failed") } == false)
  }

  @Test func participantStaysConnectedWithRenewedToken() async throws {
    let (guest, _) = try enter("guest", [.publish], seconds: 5)
    await world.run(for: .seconds(2))
    let pass = KoineToken(participantID: "guest", rights: [.publish], issued: now, expires: now + 600)
    guest.renew(credential: try pass.signed(with: SigningKey(generating: .p256)))
    await world.run(for: .seconds(10))
    #expect(guest.state == .connected)
    // A router that has forgotten everything is shown the new one, too.
    (world.backend as? EmbeddedBackend)?.restartRouter()
    await world.run(for: .seconds(30))
    #expect(guest.state == .connected)
  }

  @Test func participantIsDisconnectedWhenItsTokenExpires() async throws {
    let (guest, _) = try enter("guest", [.publish], seconds: 5)
    await world.run(for: .seconds(2))
    #expect(guest.state == .connected)
    await world.run(for: .seconds(4))
    #expect(guest.state == .ended(.expired))
  }
}
