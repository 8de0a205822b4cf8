import Koine
import KoineBase
import KoineSignaling
import Testing

@testable import KoineRoomClient

/// Which servers a client tries, and when.
struct PlacesTests {
  private static let places = ["ws://n1", "ws://n2", "ws://n3"]

  // MARK: The first connection

  @Test func firstConnectionTriesConfiguredAddressesInTurn() throws {
    let ana = try Ana()
    ana.servers.behaviours = ["ws://a": .refuses, "ws://b": .hangs]
    ana.admit { _ in "e1" }
    ana.servers.connect(to: ["ws://a", "ws://b", "ws://c"])
    ana.servers.run(for: .seconds(10))
    #expect(
      ana.servers.attempts == [
        .init(place: "ws://a", at: 0), .init(place: "ws://b", at: 0), .init(place: "ws://c", at: 5_000),
      ])
    #expect(ana.recorder.events == ["joined"])
  }

  @Test func firstConnectionEndsOnceEachAddressHasFailed() throws {
    let ana = try Ana()
    ana.servers.behaviours = ["ws://a": .refuses, "ws://b": .refuses]
    ana.servers.connect(to: ["ws://a", "ws://b"])
    #expect(ana.servers.places == ["ws://a", "ws://b"])
    #expect(
      ana.recorder.events == [
        "ended \(EndReason.refused(Failure(.unreachable, "the server cannot be reached: connection refused")))"
      ])
  }

  @Test func firstConnectionToHangingServersEnds() throws {
    let ana = try Ana()
    ana.servers.behaviours = ["ws://a": .hangs, "ws://b": .hangs]
    ana.servers.connect(to: ["ws://a", "ws://b"])
    ana.servers.run(for: .seconds(60))
    #expect(ana.servers.places == ["ws://a", "ws://b"])
    #expect(
      ana.recorder.events == ["ended \(EndReason.refused(Failure(.unreachable, "no answer within 5 s")))"])
  }

  @Test func joinThatOneServerDoesNotAnswerIsSentToTheNext() throws {
    let ana = try Ana()
    ana.servers.connect(to: ["ws://a", "ws://b"])
    ana.admit { _ in "e1" }
    ana.servers.run(for: .seconds(14))
    #expect(ana.servers.places == ["ws://a"])
    ana.servers.run(for: .seconds(2))
    #expect(ana.servers.places == ["ws://a", "ws://b"])
    #expect(ana.servers.joins(at: "ws://b").count == 1)
    #expect(ana.recorder.events == ["joined"])
  }

  @Test func firstServerWithoutItsLedgerMakesWayForTheNext() throws {
    let ana = try Ana()
    ana.servers.answer = { _, message in
      if case .join = message { [.refused(Failure(.unavailable, "no ledger"))] } else { [] }
    }
    ana.servers.connect(to: ["ws://a", "ws://b"])
    #expect(ana.servers.places == ["ws://a", "ws://b"])
    #expect(ana.recorder.events == ["ended \(EndReason.refused(Failure(.unavailable, "no ledger")))"])
  }

  // MARK: After a break

  @Test func brokenConnectionTriesHomeThenOtherPlacesWithoutPause() throws {
    let ana = try Ana.joined(Self.places)
    for place in Self.places { ana.servers.behaviours[place] = .refuses }
    ana.servers.lose()
    #expect(ana.servers.attempts == Self.places.map { .init(place: $0, at: 0) })
    ana.servers.run(for: .milliseconds(249))
    #expect(ana.servers.attempts.count == 3, "a pause follows a full round")
    ana.servers.run(for: .milliseconds(252))
    #expect(ana.servers.places == Self.places + Self.places)
    ana.servers.run(for: .seconds(70))
    #expect(ana.recorder.events == ["reconnecting", "ended \(EndReason.lost)"])
    #expect(ana.servers.attempts.count < 3 * 20, "pauses grow")
  }

  @Test func clientWhoseOwnNetworkWasDownResumesAtItsHome() throws {
    let ana = try Ana.joined(Self.places)
    for place in Self.places { ana.servers.behaviours[place] = .refuses }
    ana.servers.answer = { place, message in
      if place == "ws://n1", case .resumeConversation("k1", _) = message { [.resumed(heard: 1)] } else { [] }
    }
    ana.servers.lose(.silent(.seconds(6)))
    ana.servers.run(for: .milliseconds(100))
    ana.servers.behaviours = [:]
    ana.servers.run(for: .seconds(1))
    #expect(ana.servers.places == ["ws://n2", "ws://n3", "ws://n1", "ws://n1"])
    #expect(ana.recorder.events == ["reconnecting", "reconnected"])
  }

  @Test func placesOfJoinedComeBeforeTheConfiguredAddresses() throws {
    let ana = try Ana()
    ana.admit { _ in "e1" }
    ana.servers.connect(to: ["ws://lb"])
    ana.servers.forget()
    ana.servers.lose()
    #expect(ana.servers.places == ["ws://n1"])
  }

  @Test func serverThatNamesNoPlacesIsTriedAlone() throws {
    let ana = try Ana()
    ana.servers.connect(to: ["ws://a"])
    ana.servers.say(.resumable(key: "k", graceSeconds: 30), .joined(Ana.welcome("e1")))
    ana.servers.behaviours["ws://a"] = .refuses
    ana.servers.forget()
    ana.servers.lose()
    ana.servers.run(for: .seconds(3))
    #expect(Set(ana.servers.places) == ["ws://a"])
    ana.servers.behaviours["ws://a"] = .opens
    ana.servers.answer = { _, message in
      if case .resumeConversation(let key, _) = message, key == "k" { [.resumed(heard: 1)] } else { [] }
    }
    ana.servers.run(for: .seconds(9))
    #expect(ana.recorder.events == ["joined", "reconnecting", "reconnected"])
    #expect(ana.servers.joins(at: "ws://a").isEmpty)
  }

  @Test func silentServerIsTriedLast() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    ana.servers.lose(.silent(.seconds(6)))
    #expect(ana.servers.attempts == [.init(place: "ws://n2", at: 0)])
    #expect(ana.servers.joins(at: "ws://n2").map(\.unreachable) == ["ws://n1"])
    #expect(ana.recorder.events == ["reconnecting", "rejoined"])
  }

  @Test func homeThatRefusesConnectionsIsReportedToTheNextServer() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    ana.servers.behaviours["ws://n1"] = .refuses
    ana.servers.lose()
    let join = try #require(ana.servers.joins(at: "ws://n2").first)
    #expect(join.unreachable == "ws://n1")
    #expect(!join.isMoved)
    #expect(join.returningTo == "e1")
    #expect(join.resumptionKey == "k1")
  }

  @Test func homeThatAnswersIsNotReported() throws {
    let ana = try Ana.joined(Self.places)
    ana.admit { _ in "e2" }
    ana.servers.lose()
    #expect(ana.servers.joins(at: "ws://n1").map(\.unreachable) == [nil])
  }

  @Test func serverThatTakesTheRoomOverLaterIsAskedAgainWithTheSuspicion() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.behaviours["ws://n1"] = .refuses
    var refusals = 0
    ana.servers.answer = { place, message in
      switch message {
      case .resumeConversation: return [.refused(Failure(.unknownConversation, ""))]
      case .join where refusals < 4:  // the home's lease has not ended
        refusals += 1
        return [.refused(Failure(.moved, "elsewhere"), places: ["ws://n1"])]
      case .join: return [.joined(Ana.welcome("e2", Self.places))]
      default: return []
      }
    }
    ana.servers.lose()
    ana.servers.run(for: .seconds(5))
    let joins = ana.servers.received.compactMap { if case .join(let join) = $0.message { join } else { nil } }
    #expect(joins.count == 5)
    #expect(joins.allSatisfy { $0.unreachable == "ws://n1" && !$0.isMoved })
    #expect(ana.recorder.events == ["reconnecting", "rejoined"])
  }

  @Test func returningClientAsksAnotherServerThanOneWithoutItsLedger() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.answer = { place, message in
      switch (place, message) {
      case ("ws://n1", _): [.refused(Failure(.unavailable, "no ledger"))]
      case (_, .resumeConversation): [.refused(Failure(.unknownConversation, ""))]
      case (_, .join): [.joined(Ana.welcome("e2", Self.places))]
      default: []
      }
    }
    ana.servers.lose()
    #expect(ana.servers.attempts == [.init(place: "ws://n1", at: 0), .init(place: "ws://n2", at: 0)])
    #expect(ana.servers.messages(at: "ws://n2").first == .resumeConversation(key: "k1", heard: 2))
    #expect(ana.recorder.events == ["reconnecting", "rejoined"])
  }

  @Test func returningClientPausesWhereTooManyReturn() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.answer = { _, _ in [.refused(Failure(.tooMany, "later"))] }
    ana.servers.lose()
    #expect(ana.servers.places == ["ws://n1"])
    ana.servers.run(for: .milliseconds(600))
    #expect(ana.servers.attempts.count == 2)
  }

  @Test func addressThatIsNoneMakesWayForTheNextAtOnce() throws {
    // `ServerTransport` throws for it, and the loop reports a loss in the same turn.
    let ana = try Ana.joined(["ws://", "ws://n2"])
    ana.servers.behaviours["ws://"] = .refuses
    ana.admit { _ in "e2" }
    ana.servers.lose()
    #expect(ana.servers.places == ["ws://", "ws://n2"])
  }
}
