import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

struct OutboxTests {
  private let ana = ClientID(1), ben = ClientID(2), cleo = ClientID(3)

  private func drain(_ outbox: Outbox) -> [(to: Int, message: ServerMessage, number: UInt64)] {
    var copies: [(to: Int, message: ServerMessage, number: UInt64)] = []
    while let copy = outbox.popFirst() { copies.append((copy.recipient.value, copy.message, copy.number)) }
    return copies
  }

  @Test func copiesOfOneMessageAreConsecutiveWithOneNumber() {
    let outbox = Outbox()
    outbox.post(.pong(1), to: ana)
    outbox.post(.pong(2), to: [ana, ben, cleo])
    outbox.post(.pong(2), to: ben)
    #expect(outbox.count == 5)
    let copies = drain(outbox)
    #expect(copies.map(\.to) == [1, 1, 2, 3, 2])
    #expect(copies.map(\.message) == [.pong(1), .pong(2), .pong(2), .pong(2), .pong(2)])
    #expect(Set(copies[1...3].map(\.number)).count == 1)
    #expect(Set(copies.map(\.number)).count == 3)
    #expect(outbox.count == 0)
  }

  @Test func messageWithoutRecipientsIsNotKept() {
    let outbox = Outbox()
    outbox.post(.pong(1), to: [])
    outbox.post(.pong(2), to: nil)
    #expect(outbox.count == 0)
    #expect(outbox.popFirst() == nil)
  }

  /// Compares the outbox with a list that has one entry for each copy.
  @Test func randomHistoriesGiveTheCopiesOfAPlainList() {
    var random = SeededRandom(seed: 4)
    let outbox = Outbox()
    var plain: [(to: ClientID, message: ServerMessage)] = []
    for number in 0..<3_000 {
      switch Int.random(in: 0..<9, using: &random) {
      case 0..<4:
        let recipients = [ana, ben, cleo].filter { _ in Bool.random(using: &random) }
        outbox.post(.pong(number), to: recipients)
        plain += recipients.map { ($0, .pong(number)) }
      default:
        let copy = outbox.popFirst()
        let expected = plain.isEmpty ? nil : plain.removeFirst()
        #expect(copy?.recipient == expected?.to)
        #expect(copy?.message == expected?.message)
      }
      #expect(outbox.count == plain.count)
      #expect(outbox.waiting(for: ben) == plain.filter { $0.to == ben }.map(\.message))
    }
  }
}
