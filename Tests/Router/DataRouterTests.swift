import Foundation
import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct DataRouterTests {
  private static let description = PeerDescription(
    ice: ICECredentials(ufrag: "u", password: "p"), fingerprint: .init(value: "AA"), isLite: false, setup: .active)

  /// A room with these participants.
  private struct RoomData {
    var data = DataRouter(limits: .init(), now: ms(0))
    var roster = Roster()
    var services: [String] = []

    init(_ ids: String..., grants: Grants = Grants()) {
      for id in ids { join(id, grants) }
    }

    mutating func join(_ id: String, _ grants: Grants) {
      _ = roster.join(
        Join(room: "r", name: id, description: DataRouterTests.description), id: id, grants: grants, resumptionKey: nil,
        directedAfter: nil, limit: 10, at: ms(0))
    }

    mutating func send(
      _ id: String, from sender: String = "ana", to recipients: [String]? = nil, lifetime: Duration? = nil,
      isPersistent: Bool = false, echo: Bool = false, at now: Tick = ms(0)
    ) throws(Failure) -> DataRouter.Delivery {
      var sent = SendData(
        DataMessage(topic: "t", payload: [1], to: recipients, lifetime: lifetime, isPersistent: isPersistent), id: id)
      sent.echo = echo
      return try data.route(sent, from: sender, in: roster, services: services, at: now)
    }

    func kept(for id: String, kind: String? = nil, isReturning: Bool = false, at now: Tick = ms(0)) -> [String] {
      let reader = DataHistory.Reader(id: id, kind: kind, isReturning: isReturning)
      return data.page(for: reader, after: 0, through: .max, at: now).entries.map(\.message.id)
    }
  }

  private func check(_ message: DataMessage, _ grants: Grants = Grants(), services: [String] = []) -> Failure.Code? {
    do throws(Failure) {
      try DataRouter(limits: .init(), now: ms(0)).check(message, grants: grants, services: services)
      return nil
    } catch { return error.code }
  }

  // MARK: Permissions

  @Test func dataMessageNeedsThePermissionToSendData() {
    var grants = Grants()
    grants.canSendData = false
    #expect(check(DataMessage(topic: "t", payload: [])) == nil)
    #expect(check(DataMessage(topic: "t", payload: []), grants) == .forbidden)
  }

  @Test func payloadIsBounded() {
    let limit = SignalingLimits.payload
    #expect(check(DataMessage(topic: "t", payload: [UInt8](repeating: 0, count: limit))) == nil)
    #expect(check(DataMessage(topic: "t", payload: [UInt8](repeating: 0, count: limit + 1))) == .tooLarge)
  }

  @Test func orderNeedsAModeratorUnlessItIsForServicesOnly() {
    var grants = Grants()
    grants.canModerate = false
    func order(to recipients: [String]?) -> DataMessage {
      DataMessage(topic: DataOrder.prefix + "mute", payload: [], to: recipients)
    }
    #expect(check(order(to: nil)) == nil)
    #expect(check(order(to: nil), grants) == .forbidden)
    #expect(check(order(to: ["s"]), grants) == .forbidden)
    #expect(check(order(to: ["s"]), grants, services: ["s"]) == nil)
    #expect(check(order(to: ["s", "ben"]), grants, services: ["s"]) == .forbidden)
  }

  @Test func serviceIsReachedWithThePermissionToRecord() throws {
    var room = RoomData("ana")
    var grants = Grants()
    grants.canRecord = false
    room.join("ben", grants)
    room.services = ["koine.recording"]
    #expect(try room.send("1", to: ["koine.recording"]).isForService)
    #expect(throws: Failure.self) { try room.send("2", from: "ben", to: ["koine.recording"]) }
    #expect(room.data.order == 1, "a refused message has no number")
  }

  // MARK: Delivery

  @Test func messageReachesAllOrItsAddresseesAndTheSenderOnRequest() throws {
    var room = RoomData("ana", "ben", "cem")
    func reached(_ delivery: DataRouter.Delivery) -> [String] { ["ana", "ben", "cem"].filter(delivery.reaches) }
    #expect(reached(try room.send("1")) == ["ben", "cem"])
    #expect(reached(try room.send("2", echo: true)) == ["ana", "ben", "cem"])
    #expect(reached(try room.send("3", to: ["cem", "dan"])) == ["cem"])
    #expect(reached(try room.send("4", to: ["cem"], echo: true)) == ["ana", "cem"])
    #expect(reached(try room.send("5", to: ["ana"])) == ["ana"])
    #expect(room.data.order == 5)
  }

  @Test func directedMessageNeedsAnAddresseeUnlessItIsKept() throws {
    var room = RoomData("ana")
    #expect(throws: Failure.self) { try room.send("1", to: ["ben"]) }
    #expect(throws: Failure.self) { try room.send("2", to: ["ben"], lifetime: .zero) }
    _ = try room.send("3", to: ["ben"], lifetime: .seconds(1))
    _ = try room.send("4", to: ["ben"], isPersistent: true)
    room.data.recover(until: ms(1_000))
    _ = try room.send("5", to: ["ben"], at: ms(999))
    #expect(throws: Failure.self) { try room.send("6", to: ["ben"], at: ms(1_000)) }
    #expect(room.data.order == 3)
  }

  @Test func serviceSendsToAllParticipantsOrToOne() {
    var room = RoomData("ana", "ben")
    let all = room.data.send(.init([1], as: "s", in: "r"), id: "1", at: ms(0))
    #expect(["ana", "ben"].filter(all.reaches) == ["ana", "ben"])
    let one = room.data.send(.init([2], as: "s", to: "ben", in: "r"), id: "2", at: ms(0))
    #expect(["ana", "ben"].filter(one.reaches) == ["ben"])
    #expect(one.message.order == 2)
    #expect(room.kept(for: "cem") == ["1"], "what a service says to one does not stand")
    _ = room.data.send(.init([3], as: "s", in: "r"), id: "3", at: ms(0))
    #expect(room.kept(for: "cem") == ["3"])
    _ = room.data.send(.init([], as: "s", stands: false, in: "r"), id: "4", at: ms(0))
    #expect(room.kept(for: "cem") == [])
  }

  // MARK: Messages that are kept

  @Test func lifetimeDecidesWhatIsKept() throws {
    var room = RoomData("ana")
    _ = try room.send("live")
    _ = try room.send("short", lifetime: .seconds(1))
    _ = try room.send("persistent", isPersistent: true)
    _ = room.data.send(.init([1], as: "s", in: "r"), id: "status", at: ms(0))
    _ = try room.send("persistent 2", isPersistent: true)
    #expect(room.kept(for: "ben") == ["short", "persistent", "status", "persistent 2"])
    #expect(room.kept(for: "ben", at: ms(1_000)) == ["persistent", "status", "persistent 2"])
  }

  @Test func everyMessageIsKeptForReturningParticipantsDuringRecovery() throws {
    var room = RoomData("ana")
    room.data.recover(until: ms(1_000))
    _ = try room.send("1", at: ms(500))
    _ = try room.send("2", to: ["ben"], at: ms(500))
    _ = try room.send("3", at: ms(1_000))
    #expect(room.kept(for: "ben", isReturning: true, at: ms(600)) == ["1", "2"])
    #expect(room.kept(for: "cem", isReturning: true, at: ms(600)) == ["1"])
    #expect(room.kept(for: "ana", isReturning: true, at: ms(600)) == [], "its own")
    #expect(room.kept(for: "ben", at: ms(600)) == [])
    #expect(room.kept(for: "ben", isReturning: true, at: ms(1_000)) == [])
  }

  @Test func directedMessageIsForTheKindOfCredentialThatNamedTheID() throws {
    var room = RoomData("ana")
    var named = Grants(participantID: "ben")
    named.kind = "a"
    room.join("ben", named)
    room.roster.remove("ben")
    _ = try room.send("1", to: ["ben"], isPersistent: true)
    #expect(room.kept(for: "ben", kind: "a") == ["1"])
    #expect(room.kept(for: "ben", kind: "b") == [])
    #expect(room.kept(for: "ben") == [])
  }

  // MARK: Snapshot

  @Test(arguments: 1...10) func decodedDataRouterContinuesUnchanged(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var room = RoomData("ana", "ben")
    room.data.recover(until: ms(5_000))
    func step(_ number: Int, _ room: inout RoomData, _ choice: Int) {
      let now = ms(number * 10)
      switch choice {
      case 0: _ = try? room.send("\(number)", at: now)
      case 1: _ = try? room.send("\(number)", lifetime: .milliseconds(number * 7 % 900), at: now)
      case 2: _ = try? room.send("\(number)", to: ["ben", "cem"], isPersistent: true, at: now)
      case 3: _ = try? room.send("\(number)", to: ["cem"], at: now)
      default: _ = room.data.send(.init([1], as: "s\(number % 3)", in: "r"), id: "\(number)", at: now)
      }
    }
    for number in 0..<300 { step(number, &room, .random(in: 0...4, using: &random)) }
    var other = room
    other.data = try JSONDecoder().decode(DataRouter.self, from: JSONEncoder().encode(room.data))
    for number in 300..<400 {
      let choice = Int.random(in: 0...4, using: &random)
      step(number, &room, choice)
      step(number, &other, choice)
    }
    #expect(room.data.order == other.data.order)
    for id in ["ana", "ben", "cem", "dan"] {
      for isReturning in [false, true] {
        for time in [3_000, 4_000, 6_000] {
          let kept = room.kept(for: id, isReturning: isReturning, at: ms(time))
          #expect(!kept.isEmpty)
          #expect(other.kept(for: id, isReturning: isReturning, at: ms(time)) == kept)
        }
      }
    }
  }
}
