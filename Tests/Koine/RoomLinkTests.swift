import Koine
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRoomClient

/// The connection between a session and its client on the loop.
@Suite struct RoomLinkTests {
  @Test func statisticsOfClosedLinkAreEmpty() {
    let link = RoomLink(number: 1) {}
    let answers = Lock(0)
    link.statistics { figures in answers.withLock { $0 += figures.outgoing.isEmpty ? 1 : 0 } }
    #expect(answers.withLock { $0 } == 0)
    link.close()
    #expect(answers.withLock { $0 } == 1, "what was open")
    link.statistics { _ in answers.withLock { $0 += 1 } }
    #expect(answers.withLock { $0 } == 2, "what came later")
  }

  @Test func statisticsRequestedInBatchWithTheEndAreAnswered() throws {
    let (end, link, _) = try participant()
    let answers = Lock(0)
    link.statistics { _ in
      answers.withLock { $0 += 1 }
    }
    end.finish(.lost, at: Tick(nanoseconds: 2_000_000_000))
    end.executeCommands(at: Tick(nanoseconds: 2_000_000_000))
    link.statistics { _ in answers.withLock { $0 += 1 } }
    #expect(answers.withLock { $0 } == 2)
  }

  /// A number near the largest would make the sum with an older room's overflow.
  @Test func messageWithImplausibleOrderIsIgnored() throws {
    let (end, _, ear) = try participant()
    for order in [1, UInt64.max, 1 << 53, 1 << 63] {
      let data = ReceivedMessage(sender: "ben", topic: "t", payload: [], id: "\(order)", order: order)
      end.handleMessage(try ServerMessage.data(data).json(), at: Tick(nanoseconds: 2_000_000_000))
    }
    #expect(ear.orders.withLock { $0 } == [1, 1 << 53])
  }

  /// A server to which many clients reconnect at once refuses some of them temporarily.
  @Test func reconnectingClientRefusedByRateLimitRetries() throws {
    let (end, _, _) = try participant()
    var now = Tick(nanoseconds: 1_000_000_000)
    end.handleMessage(try ServerMessage.waiting.json(), at: now)
    end.connectionLost(at: now)
    for _ in 0..<3 {
      while !end.signaling.takeConnectionRequest(at: now) {
        now = max(now, try #require(end.deadline))
        end.handleTimeout(at: now)
      }
      end.connectionMade(at: now)
      #expect(end.signaling.pollMessage() != nil, "it asks again")
      end.handleMessage(try ServerMessage.refused(Failure(.tooMany, "not now")).json(), at: now)
      #expect(!end.signaling.hasConnection)
    }
    #expect(end.deadline != nil, "it is not over")
  }

  /// The server is frozen: TCP connects, and nothing answers.
  @Test func hangingReconnectionAttemptsDoNotSpin() throws {
    let (end, _, _) = try participant()
    var now = Tick(nanoseconds: 1_000_000_000)
    end.handleMessage(try ServerMessage.waiting.json(), at: now)
    end.connectionLost(at: now)
    var (turns, attempts) = (0, 0)
    while let deadline = end.deadline {
      now = max(now, deadline)
      turns += 1
      end.handleTimeout(at: now)
      if end.signaling.takeConnectionRequest(at: now) { attempts += 1 }
      #expect(end.deadline.map { $0 > now } ?? true, "\(end.deadlineReason)")
      try #require(turns < 1_000)
    }
    #expect(attempts > 1)
  }

  private func participant() throws -> (ParticipantClient, RoomLink, EventRecorder) {
    let link = RoomLink(number: 1) {}
    let ear = EventRecorder()
    let end = try ParticipantClient(
      link: link, request: JoinRequest(room: "tea", name: "Ana"), receiver: ear, addresses: [],
      random: SeededRandom(seed: 1), now: Tick(nanoseconds: 1_000_000_000))
    end.connectionMade(at: Tick(nanoseconds: 1_000_000_000))
    return (end, link, ear)
  }

  private final class EventRecorder: LinkReceiver, Sendable {
    let orders = Lock<[UInt64]>([])
    func linkDidChange(_ event: LinkEvent) {
      if case .message(let message) = event { orders.withLock { $0.append(message.order) } }
    }
    func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}
  }
}
