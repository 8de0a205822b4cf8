import AzureCommunicationCalling
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Participants of other styles have identifiers that apps can tell apart, keep and use.
struct ForeignParticipantTests {
  private let group = UUID()

  private func native(_ name: String, id: String?, in telephone: Telephone) throws -> Session {
    let session = Session(
      JoinRequest(room: group.uuidString.lowercased(), participantID: id, name: name), in: telephone.world)
    try session.publish(microphone: Devices.microphone("tone"))
    session.join { _ in }
    return session
  }

  private func identifiers(of call: Call?) -> [String: String] {
    Dictionary((call?.remoteParticipants ?? []).map { ($0.displayName, $0.identifier.rawId) }) { $1 }
  }

  @Test func foreignParticipantKeepsOneIdentifierForAllObserversAndAfterRejoining() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    ana.join(with: GroupCallLocator(groupId: group), joinCallOptions: nil) { anaHears.take($0, $1) }
    ben.join(with: GroupCallLocator(groupId: group), joinCallOptions: nil) { benHears.take($0, $1) }
    let cleo = try native("Cleo", id: "cleo", in: telephone)
    let dora = try native("Dora", id: nil, in: telephone)
    await telephone.run(.seconds(1))
    let seen = identifiers(of: anaHears.call)
    #expect(Set(seen.keys) == ["ben", "Cleo", "Dora"])
    #expect(Set(seen.values).count == 3)
    #expect(
      seen["Cleo"] == identifiers(of: benHears.call)["Cleo"] && seen["Dora"] == identifiers(of: benHears.call)["Dora"])
    for rawId in seen.values {
      let identifier = createCommunicationIdentifier(fromRawId: rawId)
      #expect(identifier is CommunicationUserIdentifier)
      #expect(identifier.rawId == rawId)
    }
    let parts = try #require(seen["Cleo"]?.split(separator: ":").last?.split(separator: "_"))
    #expect(parts.count == 2)
    #expect(parts.allSatisfy { UUID(uuidString: String($0)) != nil })

    cleo.leave {}
    await telephone.run(.seconds(1))
    #expect(identifiers(of: anaHears.call)["Cleo"] == nil)
    let again = try native("Cleo", id: "cleo", in: telephone)
    // A participant whose id is another one's identifier gets a different identifier.
    let eve = try native("Eve", id: seen["Cleo"], in: telephone)
    await telephone.run(.seconds(1))
    #expect(identifiers(of: anaHears.call)["Cleo"] == seen["Cleo"])
    let eves = try #require(identifiers(of: anaHears.call)["Eve"])
    #expect(eves != seen["Cleo"])
    #expect(eves.hasPrefix("8:acs:"))
    withExtendedLifetime((dora, again, eve)) {}
  }

  @Test func foreignParticipantIsMutedAndSpotlightedByIdentifier() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.join(with: GroupCallLocator(groupId: group), joinCallOptions: nil) { anaHears.take($0, $1) }
    let cleo = try native("Cleo", id: "cleo", in: telephone)
    await telephone.run(.seconds(1))
    let remote = try #require(anaHears.call?.remoteParticipants.first)
    #expect(!remote.isMuted)
    remote.mute { _ in }
    await telephone.run(.seconds(1))
    #expect(remote.isMuted)
    let heard = Lock<[String]>([])
    cleo.observe { event in
      if case .messageReceived(let message) = event { heard.withLock { $0.append(message.topic) } }
    }
    let spotlight = try #require(anaHears.call?.feature(Features.spotlight))
    spotlight.spotlight(identifiers: [remote.identifier]) { _ in }
    await telephone.run(.seconds(1))
    #expect(heard.withLock { $0 }.contains { $0.contains("spotlight") })
  }

  @Test func callToForeignParticipantEndsWith480() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.join(with: GroupCallLocator(groupId: group), joinCallOptions: nil) { anaHears.take($0, $1) }
    let cleo = try native("Cleo", id: "cleo", in: telephone)
    await telephone.run(.seconds(1))
    let identifier = try #require(anaHears.call?.remoteParticipants.first?.identifier)
    anaHears.call?.hangUp(options: nil) { _ in }
    await telephone.run(.seconds(1))
    ana.startCall(participants: [identifier], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.seconds(1))
    #expect(anaHears.call?.state == .disconnected)
    #expect(anaHears.call?.callEndReason.code == 480)
    withExtendedLifetime(cleo) {}
  }

  @Test func callerOfAnotherStyleCanBeCalledBack() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let cleo = Endpoint(identity: "cleo", name: "Cleo", in: telephone.world)
    let rung = Lock(0)
    cleo.observe { event in if case .invited = event { rung.withLock { $0 += 1 } } }
    cleo.register { _ in }
    await telephone.run(.milliseconds(200))
    let invitation = cleo.invite(["8:acs:ana"])
    await telephone.run(.milliseconds(200))
    let caller = try #require(anaHears.incoming?.callerInfo.identifier)
    #expect(caller is CommunicationUserIdentifier)
    cleo.cancel(invitation.id)
    await telephone.run(.milliseconds(200))
    ana.startCall(participants: [caller], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(rung.withLock { $0 } == 1)
    #expect(anaHears.call?.remoteParticipants.first?.identifier.rawId == caller.rawId)
    ana.dispose()
  }
}
