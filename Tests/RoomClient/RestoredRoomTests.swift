import Koine
import KoineBase
import KoineSignaling
import Testing

@testable import KoineRoomClient

/// Messages across a change of the room's router: received once, in order, and retransmitted.
struct RestoredRoomTests {
  private static let places = ["ws://n1", "ws://n2", "ws://n3"]

  private func receipts(_ ana: Ana, from order: UInt64 = 100, failure: Failure? = nil) {
    for (index, id) in ana.ids.enumerated() {
      ana.servers.say(.dataReceipt(DataReceipt(id: id, order: order + UInt64(index), failure: failure)))
    }
  }

  // MARK: History

  @Test func restoredRoomKeepsItsNumbersAndSendsOnlyWhatIsNew() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.say(.data(message("a", 7)), .data(message("b", 12)))
    ana.admit(
      as: { _ in "e2" }, history: [message("old", 5), message("a", 7), message("b", 12), message("c", 1_020)])
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.servers.say(.data(message("d", 1_021)))
    #expect(ana.recorder.orders == [7, 12, 1_020, 1_021])
    #expect(ana.servers.joins(at: "ws://n2").map(\.seen) == [12])
  }

  @Test func newRoomOfTheSameNameContinuesAboveTheFormerNumbers() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.say(.data(message("a", 7)), .data(message("b", 12)))
    ana.admit(as: { _ in "e2" }, continues: false, history: [message("old", 2), message("b", 3)])
    ana.servers.say(.moved(places: ["ws://n2"]))
    ana.servers.say(.data(message("d", 4)))
    #expect(ana.recorder.orders == [7, 12, 14, 16])
    ana.servers.say(.moved(places: ["ws://n3"]))
    #expect(ana.servers.joins(at: "ws://n3").map(\.seen) == [4], "of the new room's own numbers")
  }

  /// They are not in a room's log.
  @Test func statusOfAServiceEndsWithItsRouter() throws {
    for continues in [true, false] {
      let ana = try Ana.joined(Self.places)
      ana.servers.say(.attendants(["koine.recording"]), .data(message("s", 3, from: "koine.recording", "started")))
      ana.recorder.forget()
      ana.admit(as: { _ in "e2" }, continues: continues)
      ana.servers.say(.moved(places: ["ws://n2"]))
      #expect(ana.recorder.events.contains { $0.hasPrefix("message") }, "restored: \(continues)")
    }
  }

  @Test func receiptsCountAsSeen() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    receipts(ana, from: 55)
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.servers.joins(at: "ws://n2").map(\.seen) == [55])
  }

  // MARK: While the join has no answer

  /// A node of a cluster may first have to take the room over. It takes nothing but the join until then.
  @Test func onlyTheJoinIsSentUntilItIsAnswered() throws {
    let ana = try Ana.joined(Self.places)
    ana.servers.answer = { _, message in
      if case .resumeConversation = message { [.refused(Failure(.unknownConversation, ""))] } else { [] }
    }
    ana.servers.behaviours["ws://n1"] = .refuses
    ana.servers.forget()
    ana.servers.lose()
    #expect(ana.servers.joins(at: "ws://n2").count == 1)
    let camera = Track(id: Track.ID(participant: "ana", track: "camera"), kind: .camera)
    ana.link.publish(camera, options: PublishOptions(codec: .vp8, layers: [.init(maximumBitrate: 100_000)]))
    ana.link.setAttributes(["hand": "up"])
    ana.link.remove("ben")
    ana.send("hello")
    let before = ana.servers.messages(at: "ws://n2").filter { $0.isCounted }
    #expect(before.count == 1, "the join: \(before)")
    ana.servers.say(.resumable(key: "k2", graceSeconds: 30), .joined(Ana.welcome("e2", Self.places, continues: true)))
    let after = ana.servers.messages(at: "ws://n2").filter { $0.isCounted }.dropFirst()
    #expect(after.contains(.attributes(["hand": "up"])))
    #expect(after.contains(.remove(participant: "ben")))
    #expect(ana.sent(to: "ws://n2") == ["hello"])
    #expect(!after.contains { if case .publish = $0 { true } else { false } }, "the session's own after its rejoin")
  }

  // MARK: Retransmission

  @Test func messagesWithoutReceiptAreRetransmittedToARestoredRoom() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    ana.send("two")
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.sent(to: "ws://n2") == ["one", "two"])
  }

  @Test func manyRetransmissionsAreSpreadOverTimeInTheirOrder() throws {
    let ana = try Ana.joined(Self.places)
    for number in 0..<350 { ana.send("m\(number)") }
    receipts(ana)
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.sent(to: "ws://n2").count == 100, "the budget at a router is for its tracks, too")
    ana.send("new")
    #expect(ana.sent(to: "ws://n2").count == 100)
    ana.servers.run(for: .milliseconds(600))
    #expect(ana.sent(to: "ws://n2").count == 200)
    ana.servers.run(for: .seconds(2))
    #expect(ana.sent(to: "ws://n2") == (0..<350).map { "m\($0)" } + ["new"])
    ana.send("last")
    #expect(ana.sent(to: "ws://n2").last == "last")
  }

  @Test func retransmissionBeginsTenSecondsBeforeTheSenderLeft() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("early")
    receipts(ana)
    ana.servers.run(for: .seconds(2))
    ana.send("late")
    receipts(ana)
    ana.servers.run(for: .seconds(9))
    ana.servers.behaviours = ["ws://n1": .hangs, "ws://n2": .hangs, "ws://n3": .hangs]
    ana.servers.forget()
    ana.servers.lose()
    ana.servers.run(for: .seconds(40))  // the time away does not count
    ana.servers.behaviours = [:]
    ana.admit { _ in "e2" }
    ana.servers.run(for: .seconds(10))
    #expect(ana.recorder.events.last == "rejoined")
    let place = try #require(ana.servers.places.last)
    #expect(ana.sent(to: place) == ["late"])
  }

  @Test func silenceCountsAsTimeAway() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    receipts(ana)
    ana.servers.run(for: .seconds(12))
    ana.admit { _ in "e2" }
    ana.servers.lose(.silent(.seconds(6)))
    #expect(ana.sent(to: "ws://n2") == ["one"])
  }

  @Test func retransmittedMessageWaitsForItsReceiptAgain() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    receipts(ana)
    ana.admit { $0 }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.sent(to: "ws://n2") == ["one"])
    ana.servers.run(for: .seconds(12))
    ana.servers.say(.moved(places: ["ws://n3"]))
    #expect(ana.sent(to: "ws://n3") == ["one"], "the second router has not acknowledged it")
    receipts(ana)
    ana.servers.run(for: .seconds(11))
    ana.servers.forget()
    ana.servers.say(.moved(places: ["ws://n1"]))
    #expect(ana.sent(to: "ws://n1") == [])
  }

  @Test func returnToTheSameRouterRetransmitsOnlyMessagesWithoutReceipt() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    receipts(ana)
    ana.send("two")
    ana.servers.forget()
    ana.admit { _ in "e1" }
    ana.servers.lose()
    #expect(ana.sent(to: "ws://n1") == ["two"])
  }

  // MARK: Without the ledger

  @Test func unavailableReceiptKeepsTheMessageAndIsNotReported() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    receipts(ana, failure: Failure(.unavailable, "stored later"))
    ana.servers.run(for: .seconds(12))
    #expect(ana.recorder.events == [])
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.sent(to: "ws://n2") == ["one"])
  }

  @Test func receiptWithAnotherFailureIsReportedAndDropsTheMessage() throws {
    let ana = try Ana.joined(Self.places)
    ana.send("one")
    receipts(ana, failure: Failure(.tooMany, "slow down"))
    #expect(ana.recorder.events == ["failed tooMany"])
    ana.admit { _ in "e2" }
    ana.servers.say(.moved(places: ["ws://n2"]))
    #expect(ana.sent(to: "ws://n2") == [])
  }
}

struct DataMemoryTests {
  private static let start = Tick(nanoseconds: 1_000_000_000)

  private func data(_ number: Int, isKept: Bool = true) -> SendData {
    SendData(DataMessage(topic: "t", payload: [], lifetime: isKept ? .seconds(60) : nil), id: "\(number)")
  }

  private func numbers(_ messages: [SendData]) -> [Int] { messages.compactMap { Int($0.id) } }

  @Test func secondOfMessagesAtTheLimitOfABudgetIsKeptForTenSeconds() {
    var memory = DataMemory()
    var now = Self.start
    for number in 0..<2_400 {  // 400 at once, then 200 a second
      if number >= 400 { now = now + .milliseconds(5) }
      memory.remember(data(number))
      memory.acknowledge(DataReceipt(id: "\(number)", order: UInt64(number)), at: now)
    }
    let unheard = numbers(memory.unheard(isRouterNew: true, since: now))
    #expect(unheard.count > 1_999)
    #expect(unheard == Array((unheard.first ?? 0)..<2_400))
  }

  /// The routers go down 4 s after each other.
  @Test(arguments: [(order: true, continues: true, repetitions: 2), (true, false, 6), (false, true, 6)])
  func tenSecondsCountFromTheFirstReceiptIfARestoredRoomGivesTheSameOrder(
    _ order: Bool, _ continues: Bool, _ repetitions: Int
  ) {
    var memory = DataMemory()
    memory.remember(data(0))
    var count = 0
    for router in 0..<6 {
      let now = Self.start + .seconds(4 * router)
      memory.acknowledge(DataReceipt(id: "0", order: order ? 1 : UInt64(1 + router)), at: now)
      let unheard = memory.unheard(isRouterNew: true, since: now + .seconds(4), continues: continues)
      if !unheard.isEmpty { count += 1 }
    }
    #expect(count == repetitions)
  }

  @Test func acknowledgedMessagesAreDroppedInTime() {
    var memory = DataMemory()
    for number in 0..<50_000 {
      memory.remember(data(number))
      memory.acknowledge(DataReceipt(id: "\(number)", order: UInt64(number)), at: Self.start)
    }
    #expect(memory.unheard(isRouterNew: true, since: Self.start).count <= 2_400 + 64)
  }

  @Test func receiptsInAnyOrderLeaveTheOpenMessages() {
    var memory = DataMemory()
    for number in 0..<6 { memory.remember(data(number)) }
    for number in [3, 0, 5, 1] { memory.acknowledge(DataReceipt(id: "\(number)", order: 1), at: Self.start) }
    memory.acknowledge(DataReceipt(id: "4", failure: Failure(.forbidden, "")), at: Self.start)
    var same = memory
    #expect(numbers(same.unheard(isRouterNew: false, since: nil)) == [2])
    #expect(numbers(memory.unheard(isRouterNew: true, since: Self.start)) == [0, 1, 2, 3, 5])
  }

  @Test func deferredMessagesAreKeptUntilALaterOneIsStored() {
    var memory = DataMemory()
    let unavailable = Failure(.unavailable, "")
    for number in 0..<3 {
      memory.remember(data(number))
      memory.acknowledge(DataReceipt(id: "\(number)", order: UInt64(10 + number), failure: unavailable), at: Self.start)
    }
    let later = Self.start + .seconds(420)
    memory.remember(data(3, isKept: false))
    memory.acknowledge(DataReceipt(id: "3", order: 13), at: later)
    var waiting = memory
    #expect(
      numbers(waiting.unheard(isRouterNew: true, since: later + .seconds(11))) == [0, 1, 2],
      "a message that is not stored says nothing of the ledger")
    var same = memory
    #expect(numbers(same.unheard(isRouterNew: false, since: nil)) == [], "the router has them")
    memory.remember(data(4))
    memory.acknowledge(DataReceipt(id: "4", order: 14), at: later)
    var stored = memory
    #expect(numbers(stored.unheard(isRouterNew: true, since: later + .seconds(11))) == [])
    #expect(numbers(memory.unheard(isRouterNew: true, since: later + .seconds(9))) == [0, 1, 2, 3, 4])
  }

  @Test func deferredMessageIsAcknowledgedByAReceiptOfItsOwn() {
    var memory = DataMemory()
    memory.remember(data(0))
    memory.acknowledge(DataReceipt(id: "0", order: 1, failure: Failure(.unavailable, "")), at: Self.start)
    memory.acknowledge(DataReceipt(id: "0", order: 1), at: Self.start)
    #expect(numbers(memory.unheard(isRouterNew: true, since: Self.start + .seconds(11))) == [])
  }

  @Test func deferredMessagesAreBounded() {
    var memory = DataMemory()
    for number in 0..<20_000 {
      memory.remember(data(number))
      memory.acknowledge(
        DataReceipt(id: "\(number)", order: UInt64(number), failure: Failure(.unavailable, "")), at: Self.start)
    }
    let unheard = numbers(memory.unheard(isRouterNew: true, since: nil))
    #expect(unheard == Array(3_616..<20_000))
  }
}
