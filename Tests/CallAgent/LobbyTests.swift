import AzureCommunicationCalling
import Koine
import KoineTokens
import Testing

/// Rooms with tokens that require admission, as a caller sees them. A participant of the common layer admits.
struct LobbyTests {
  private let telephone: Telephone
  private let host: Session

  init() async throws {
    telephone = try Telephone()
    host = Session(
      JoinRequest(room: "tea", credential: try Self.pass([.publish, .subscribe, .moderate]), name: "Host"),
      in: telephone.world)
    host.join { _ in }
    await telephone.run(.milliseconds(300))
  }

  private static func pass(_ rights: Set<KoineToken.Right>) throws -> String {
    let now = NumericDate.ofSystemClock()
    return try KoineToken(rights: rights, issued: now, expires: now + 600).signed(with: SigningKey(generating: .p256))
  }

  private func caller() async throws -> Recorder {
    let (agent, hears) = try await telephone.agent("ben", token: try Self.pass([.publish, .subscribe, .ask]))
    agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { hears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    return hears
  }

  @Test func admittedCallerConnectsFromLobby() async throws {
    let hears = try await caller()
    #expect(hears.states == ["connecting", "inLobby"])
    #expect(hears.call?.state == .inLobby)
    #expect(hears.call?.remoteParticipants.isEmpty == true)
    #expect(host.participants.isEmpty)
    let guest = try #require(host.entryRequests.first)
    #expect(guest.name == "ben")
    host.admit(guest.id)
    await telephone.run(.milliseconds(500))
    #expect(hears.states == ["connecting", "inLobby", "connected"])
    #expect(hears.call?.remoteParticipants.map(\.displayName) == ["Host"])
    #expect(host.participants.map(\.name) == ["ben"])
  }

  @Test func deniedCallerIsDisconnectedWithSubcode5854() async throws {
    let hears = try await caller()
    host.deny(try #require(host.entryRequests.first).id)
    await telephone.run(.milliseconds(500))
    #expect(hears.states.prefix(2) == ["connecting", "inLobby"])
    #expect(hears.states.last == "disconnected")
    #expect(!hears.states.contains("connected"))
    #expect(hears.call?.callEndReason.code == 0)
    #expect(hears.call?.callEndReason.subcode == 5854)
    #expect(hears.words.last == "calls -outgoing disconnected")
    #expect(host.entryRequests.isEmpty)
  }

  @Test func hangUpInLobbyWithdrawsTheEntryRequest() async throws {
    let hears = try await caller()
    hears.call?.hangUp(options: nil) { error in hears.note("hung up \(error == nil)") }
    await telephone.run(.milliseconds(500))
    #expect(hears.states.last == "disconnected")
    #expect(hears.words.contains("hung up true"))
    #expect(hears.call?.callEndReason.subcode != 5854)
    #expect(host.entryRequests.isEmpty)
  }

  @Test func callerWaitsInLobbyForAMinuteAndIsAdmitted() async throws {
    let hears = try await caller()
    await telephone.run(.seconds(60))
    #expect(hears.call?.state == .inLobby)
    #expect(host.entryRequests.count == 1)
    host.admit(try #require(host.entryRequests.first).id)
    await telephone.run(.milliseconds(500))
    #expect(hears.call?.state == .connected)
  }
}
