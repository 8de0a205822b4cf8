import KoineBase
import KoineSignaling
import KoineSignalingHost
import Testing

@testable import KoineRouter

/// Requests without the grant of a credential are refused with a reason. Here credentials are words like `no-send`.
struct GrantTests {
  private static func grants(_ join: Join) -> Result<Grants, Failure> {
    var grants = Grants.everything
    for word in (join.credential ?? "").split(separator: " ") {
      switch word {
      case "no-join": grants.canJoin = false
      case "no-microphone": grants.publish.remove(.microphone)
      case "no-camera": grants.publish.remove(.camera)
      case "no-screen": grants.publish.subtract([.screen, .screenSound])
      case "no-subscribe": grants.canSubscribe = false
      case "no-send": grants.canSendData = false
      case "no-moderate": (grants.canModerate, grants.canAdmit) = (false, false)
      case "hidden": grants.isHidden = true
      case "ask": (grants.mustAsk, grants.canAdmit) = (true, false)
      case "viewer": grants.attributes = ["role": "viewer"]
      case "host": grants.attributes = ["role": "host", "table": "1"]
      case "huge": grants.attributes = ["role": String(repeating: "x", count: 20_000)]
      case "ana", "ben":
        (grants.participantID, grants.externalID) = (String(word), "user of \(join.externalID ?? "none")")
      case "10s": grants.validFor = .seconds(10)
      case "0s": grants.validFor = .zero
      default: return .failure(Failure(.unauthorized, "what is “\(word)”?"))
      }
    }
    return .success(grants)
  }

  private let world: World

  init() throws {
    world = try World { $0.authorization = Authorization(check: Self.grants) }
  }

  private func enter(_ name: String, _ credential: String = "") throws -> Client {
    let client = try world.makeClient()
    client.join("room", as: name, credential: credential)
    world.run(.milliseconds(300))
    return client
  }

  private func isIn(_ client: Client) -> Bool {
    client.messages.contains { if case .joined = $0 { true } else { false } }
  }

  private func reason(_ client: Client) -> String? {
    switch client.messages.last {
    case .refused(let failure, _), .failed(_, let failure): failure.message
    case .dataReceipt(let receipt): receipt.failure?.message
    default: nil
    }
  }

  @Test func attributeOfTheTokenCannotBeOverwritten() throws {
    let (ana, ben) = (try enter("ana", "viewer"), try enter("ben"))
    ben.forgetMessages()
    ana.send(.attributes(["role": "host", "hand": "up"]))
    #expect(ana.messages.last?.code == .forbidden)
    #expect(reason(ana)?.contains("role") == true)
    #expect(ben.messages.isEmpty)
    ana.send(.attributes(["hand": "up"]))
    #expect(ben.messages == [.attributes(participant: "ana", ["role": "viewer", "hand": "up"])])
  }

  @Test func participantWithoutPermissionToJoinIsRefusedWithTheReason() throws {
    let ana = try enter("ana", "no-join")
    #expect(!isIn(ana))
    #expect(ana.messages.last?.code == .forbidden)
    #expect(reason(ana) == "not allowed to enter rooms")
    #expect(try enter("ben", "nonsense").messages.last?.code == .unauthorized)
    #expect(try enter("cyd", "0s").messages.last?.code == .unauthorized)
    #expect(world.router.statistics.rooms == 0)
  }

  @Test(arguments: [
    ("no-microphone", Track.Kind.microphone), ("no-camera", .camera), ("no-screen", .screen),
    ("no-screen", .screenSound), ("hidden", .camera),
  ]) func trackWithoutPermissionIsNotPublished(_ credential: String, _ kind: Track.Kind) throws {
    let (ana, ben) = (try enter("ana", credential), try enter("ben"))
    ana.publish(kind)
    #expect(ana.messages.last?.code == .forbidden)
    #expect(reason(ana)?.contains(credential == "hidden" ? "hidden" : kind.rawValue) == true)
    #expect(!ben.messages.contains { if case .published = $0 { true } else { false } })
  }

  @Test func permittedKindIsPublishedThoughOthersAreDenied() throws {
    let ana = try enter("ana", "no-camera no-screen")
    ana.publish(.microphone)
    #expect(ana.messages.last == .accepted(request: 1))
  }

  @Test func subscriptionWithoutPermissionIsRefusedAndForwardsNothing() throws {
    let (ana, ben) = (try enter("ana"), try enter("ben", "no-subscribe"))
    ana.publish(.microphone)
    ben.subscribe(to: "ana", "microphone")
    #expect(ben.messages.last?.code == .forbidden)
    #expect(reason(ben) == "not allowed to subscribe")
    ana.sendAudio("microphone", seconds: 1)
    world.run(.seconds(2))
    #expect(ben.frames("ana", "microphone").isEmpty)
  }

  @Test func dataMessageWithoutPermissionIsRefusedWithTheReason() throws {
    let (ana, ben) = (try enter("ana", "no-send"), try enter("ben"))
    ana.send(.data(SendData(DataMessage(topic: "t", payload: [1]), id: "1")))
    #expect(ana.messages.last?.code == .forbidden)
    #expect(reason(ana) == "not allowed to send data")
    #expect(!ben.messages.contains { if case .data = $0 { true } else { false } })
  }

  @Test func onlyModeratorsRemoveMuteAdmitAndClose() throws {
    let (ana, ben) = (try enter("ana", "no-moderate"), try enter("ben"))
    ben.publish(.microphone)
    for message in [
      ClientMessage.remove(participant: "ben"), .close, .answerKnock(participant: "x", admitted: true),
      .muteOther(Track.ID(participant: "ben", track: "microphone")),
    ] {
      ana.send(message)
      #expect(ana.messages.last?.code == .forbidden)
      #expect(reason(ana)?.hasPrefix("not allowed") == true)
    }
    ben.send(.remove(participant: "ana"))
    #expect(ana.messages.last == .ended(.removed))
    #expect(ben.messages.last == .participantLeft(id: "ana", reason: .removed))
  }

  @Test func onlyModeratorsSendOrders() throws {
    let (ana, ben) = (try enter("ana", "no-moderate"), try enter("ben"))
    for (number, to) in [nil, ["ben"], ["ben", "recorder"]].enumerated() {
      ana.send(.data(SendData(DataMessage(topic: "koine.order.mute", payload: [], to: to), id: "\(number)")))
      #expect(ana.messages.last?.code == .forbidden)
    }
    #expect(!ben.messages.contains { if case .data = $0 { true } else { false } })
    ben.send(.data(SendData(DataMessage(topic: "koine.order.mute", payload: [], to: ["ana"]), id: "1")))
    #expect(ana.messages.contains { if case .data = $0 { true } else { false } })
  }

  @Test func knocksAreRateLimited() throws {
    let world = try World {
      $0.authorization = Authorization(check: Self.grants)
      ($0.limits.dataBurst, $0.limits.dataPerSecond) = (10, 1)
    }
    let eva = try world.makeClient()
    for _ in 0..<20 {
      eva.join("room", as: "eva", credential: "ask")
      eva.send(.leave(reason: nil))
    }
    #expect(eva.messages.count { $0 == .waiting } <= 11)
    #expect(eva.messages.contains { $0.code == .tooMany })
  }

  /// Ben's program goes on sending; the room does not.
  @Test func trackMutedByAModeratorIsNotForwarded() throws {
    let (ana, ben, cyd) = (try enter("ana"), try enter("ben", "no-moderate"), try enter("cyd"))
    ben.publish(.microphone)
    cyd.subscribe(to: "ben", "microphone")
    ben.sendAudio("microphone", seconds: 4)
    world.run(.seconds(1))
    let before = cyd.frames("ben", "microphone").count
    #expect(before > 40)
    ana.send(.muteOther(Track.ID(participant: "ben", track: "microphone")))
    let told = ServerMessage.muted(participant: "ben", trackID: "microphone", muted: true)
    for client in [ana, ben, cyd] { #expect(client.messages.last == told) }
    world.run(.seconds(1))
    #expect(cyd.frames("ben", "microphone").count <= before + 5)
    ben.send(.mute(trackID: "microphone", muted: false))
    world.run(.seconds(1))
    #expect(cyd.frames("ben", "microphone").count > before + 30)
    ana.send(.muteOther(Track.ID(participant: "ben", track: "nothing")))
    #expect(ana.messages.last?.code == .unknownTrack)
  }

  @Test func participantStaysWithARenewedCredential() throws {
    let ana = try enter("ana", "10s")
    world.run(.seconds(5))
    ana.send(.renew(credential: "10s"))
    world.run(.seconds(8))
    #expect(!ana.messages.contains(.ended(.expired)))
    ana.send(.renew(credential: "nonsense"))
    #expect(ana.messages.last?.code == .unauthorized)
    ana.send(.renew(credential: "0s"))
    #expect(ana.messages.last?.code == .unauthorized)
    ana.send(.renew(credential: "hidden"))
    #expect(ana.messages.last?.code == .forbidden)
    ana.send(.renew(credential: "no-join"))
    #expect(ana.messages.last?.code == .forbidden)
    world.run(.seconds(3))
    #expect(ana.messages.last == .ended(.expired), "the last one that was good has ended")
    let ben = try enter("ben", "10s")
    ben.send(.renew(credential: ""))
    world.run(.seconds(30))
    #expect(!ben.messages.contains(.ended(.expired)), "the new one has no end")
  }

  @Test func renewedCredentialReplacesTheAttributesThatItGives() throws {
    let (ana, ben) = (try enter("ana", "viewer"), try enter("ben"))
    ana.send(.attributes(["hand": "up"]))
    world.run(.seconds(1))
    ana.send(.renew(credential: "host"))
    world.run(.seconds(1))
    #expect(
      ben.messages.last
        == .attributes(participant: "ana", ["role": "host", "table": "1", "hand": "up"]))
    ana.send(.renew(credential: "viewer"))
    world.run(.seconds(1))
    #expect(ben.messages.last == .attributes(participant: "ana", ["role": "viewer", "hand": "up"]))
    let count = ben.messages.count
    ana.send(.renew(credential: "viewer"))
    world.run(.seconds(1))
    #expect(ben.messages.count == count, "the same attributes are not told again")
    ana.send(.renew(credential: "huge"))
    #expect(ana.messages.last?.code == .tooLarge)
    ana.send(.attributes(["role": "host"]))
    #expect(ana.messages.last?.code == .forbidden)
  }

  /// A credential that names the participant's id may give it another external id; one of another id is refused.
  @Test func renewedCredentialOfTheSameIDMayChangeTheExternalID() throws {
    let ana = try enter("ana", "ana")
    ana.send(.renew(credential: "ben"))
    #expect(ana.messages.last?.code == .forbidden)
    ana.send(.renew(credential: "ana"))
    world.run(.seconds(1))
    let cyd = try enter("cyd")
    guard case .joined(let joined)? = cyd.messages.first else { return #expect(Bool(false), "cyd is not in") }
    #expect(joined.participants.map(\.externalUserID) == ["user of none"])
  }

  @Test func tracksWithoutPermissionInARenewedCredentialEnd() throws {
    let (ana, ben) = (try enter("ana"), try enter("ben"))
    for client in [ana, ben] { client.publish(.microphone) }
    ana.subscribe(to: "ben", "microphone")
    ben.sendAudio("microphone", seconds: 3)
    world.run(.seconds(1))
    ana.send(.renew(credential: "no-microphone no-subscribe no-send"))
    #expect(ben.messages.last == .withdrawn(participant: "ana", trackIDs: ["microphone"]))
    let before = ana.frames("ben", "microphone").count
    #expect(before > 40)
    world.run(.seconds(1))
    #expect(ana.frames("ben", "microphone").count <= before + 5)
    ana.send(.data(SendData(DataMessage(topic: "t", payload: []), id: "1")))
    #expect(ana.messages.last?.code == .forbidden)
  }

  @Test func hiddenParticipantReceivesTracksAndIsNotListed() throws {
    let (ana, eye) = (try enter("ana"), try enter("eye", "hidden"))
    ana.publish(.microphone)
    eye.subscribe(to: "ana", "microphone")
    ana.sendAudio("microphone", seconds: 1)
    eye.send(.attributes(["a": "b"]))
    world.run(.seconds(3))
    #expect(eye.frames("ana", "microphone").count >= 45)
    let ben = try enter("ben")
    if case .joined(let joined)? = ben.messages.first { #expect(joined.participants.map(\.id) == ["ana"]) }
    ana.send(.remove(participant: "eye"))
    #expect(ana.messages.last?.code == .unknownParticipant)
    eye.send(.leave(reason: nil))
    #expect(eye.messages.last == .ended(.left))
    for client in [ana, ben] {
      #expect(!client.messages.contains { "\($0)".contains("eye") && $0.code == nil })
    }
  }

  @Test func participantIsRemovedWhenItsCredentialExpires() throws {
    let (ana, ben) = (try enter("ana", "10s"), try enter("ben"))
    world.run(.seconds(9))
    #expect(isIn(ana))
    #expect(!ana.messages.contains(.ended(.expired)))
    world.run(.seconds(1))
    #expect(ana.messages.last == .ended(.expired))
    #expect(ben.messages.last == .participantLeft(id: "ana", reason: .removed))
  }

  // MARK: The lobby

  @Test func guestWaitsUntilAModeratorAdmitsIt() throws {
    let eva = try enter("eva", "ask")
    #expect(eva.messages == [.waiting])
    let (ana, ben) = (try enter("ana"), try enter("ben", "no-moderate"))
    #expect(ana.messages.contains(.knock(Participant(id: "eva", name: "eva", attributes: ["a": "1"]), number: 0)))
    #expect(!ben.messages.contains { if case .knock = $0 { true } else { false } })
    eva.send(.data(SendData(DataMessage(topic: "t", payload: []), id: "1")))
    #expect(eva.messages.last?.code == .wrongState)
    ana.send(.answerKnock(participant: "eva", admitted: true))
    world.run(.milliseconds(300))
    #expect(isIn(eva))
    #expect(eva.isConnected)
    #expect(ana.messages.contains(.knockEnded(participant: "eva", admitted: true, number: 0)))
    ana.send(.answerKnock(participant: "eva", admitted: true))
    #expect(ana.messages.last?.code == .unknownParticipant)
    eva.send(.answerKnock(participant: "x", admitted: true))
    #expect(eva.messages.last?.code == .forbidden, "whoever was let in lets nobody in")
  }

  @Test func deniedGuestIsNotifiedAndMayKnockAgain() throws {
    let (ana, eva) = (try enter("ana"), try enter("eva", "ask"))
    ana.send(.answerKnock(participant: "eva", admitted: false))
    #expect(!isIn(eva))
    #expect(eva.messages.last?.code == .denied)
    eva.join("room", as: "eva", credential: "ask")
    #expect(eva.messages.last == .waiting)
    #expect(ana.messages.count { if case .knock = $0 { true } else { false } } == 2)
  }

  @Test func guestAdmittedToAFullRoomIsRefused() throws {
    let world = try World {
      $0.authorization = Authorization(check: Self.grants)
      $0.limits.participants = 2
    }
    let (ana, eva) = (try world.joined("ana")[0], try world.makeClient())
    eva.join("room", as: "eva", credential: "ask")
    _ = try world.joined("ben")
    ana.send(.answerKnock(participant: "eva", admitted: true))
    #expect(eva.messages.last?.code == .roomFull)
    #expect(world.router.statistics.participants == 2)
  }

  @Test(arguments: ["leaves", "is lost"]) func knockEndsWhenItsGuestLeavesOrIsLost(_ how: String) throws {
    let (ana, eva) = (try enter("ana"), try enter("eva", "ask"))
    if how == "leaves" { eva.send(.leave(reason: nil)) } else { world.host.close(eva.connection, at: world.now) }
    world.drain()
    #expect(ana.messages.last == .knockEnded(participant: "eva", admitted: nil, number: 0))
  }

  @Test func guestBeyondTheLobbyLimitIsRefused() throws {
    let world = try World {
      $0.authorization = Authorization(check: Self.grants)
      $0.limits.lobby = 2
    }
    let codes = try (0..<3).map { number in
      let client = try world.makeClient()
      client.join("room", as: "\(number)", credential: "ask")
      return client.messages.last?.code
    }
    #expect(codes == [nil, nil, .roomFull])
  }
}
