import Koine
import KoineSignaling
import KoineTransport
import Testing

@testable import KoinePeer
@testable import KoineRoomClient

/// Clients on their loop, over a transport. The test opens and breaks the transport's connections.
struct ClientLoopTests {
  /// A transport whose connections open when the test opens them.
  private final class SlowTransport: ClientTransport {
    weak var client: (any RoomClient)?
    let addresses: [TransportAddress] = []
    var isConnected = false
    var isConnecting = false
    var (attempts, drops) = (0, 0)
    var places: [String?] = []
    var messages: [[UInt8]] = []

    func connect(to place: String?, at now: Tick) throws {
      places.append(place)
      if place == "ws://" { throw Failure(.unreachable, "no address") }
      (isConnected, isConnecting) = (false, true)
      attempts += 1
    }

    func disconnect() {
      if isConnecting || isConnected { drops += 1 }
      (isConnected, isConnecting) = (false, false)
    }

    func open(at now: Tick) {
      (isConnected, isConnecting) = (true, false)
      client?.connectionMade(at: now)
    }

    func fail(at now: Tick) {
      (isConnected, isConnecting) = (false, false)
      client?.connectionLost(at: now)
    }

    func send(_ message: [UInt8], at now: Tick) { messages.append(message) }
    func send(
      _ datagram: UnsafeRawBufferPointer, from source: TransportAddress, to destination: TransportAddress, at now: Tick
    ) {}
    func close(at now: Tick) {}
  }

  private final class SlowTransports: ClientTransports, @unchecked Sendable {  // touched by the test's thread only
    let transport = SlowTransport()
    func makeTransport(for client: ClientDescription, at now: Tick) -> any ClientTransport { transport }
  }

  private final class Receiver: EndpointReceiver, Sendable {
    func endpointDidChange(_ event: EndpointLinkEvent) {}
  }

  private let scheduler = Scheduler.virtual()
  private let loop: ClientLoop
  private let transports = SlowTransports()
  private let link: RoomEndpointLink

  init() {
    let scheduler = scheduler
    loop = ClientLoop(random: SeededRandom(seed: 1)) { VirtualLoop(scheduler: scheduler, client: $0) }
    loop.transports = transports
    link = loop.register(EndpointRequest(identity: "ana", name: "Ana"), receiver: Receiver())
    scheduler.advance(to: scheduler.now + .zero)
  }

  private func turn() {
    loop.touch(1)
    loop.endTurn(at: scheduler.now)
  }

  private func register() throws {
    transports.transport.open(at: scheduler.now)
    turn()
    for message in [ServerMessage.resumable(key: "k", graceSeconds: 30), .registered(identity: "ana")] {
      transports.transport.client?.handleMessage(try message.json(), at: scheduler.now)
    }
    turn()
  }

  @Test func pendingConnectionAttemptIsNotDroppedByLaterTurns() throws {
    try register()
    let transport = transports.transport
    transport.fail(at: scheduler.now)
    turn()
    #expect(transport.attempts == 2)
    for _ in 0..<20 {
      scheduler.advance(to: scheduler.now + .milliseconds(100))
      turn()
    }
    #expect(transport.isConnecting)
    #expect(transport.drops == 0)
    transport.messages = []
    transport.open(at: scheduler.now)
    turn()
    #expect(
      try transport.messages.map { try $0.withUnsafeBytes { try ClientMessage(json: $0) } } == [
        .resumeConversation(key: "k", heard: 2)
      ])
  }

  /// `ServerTransport` throws for an address that is none: no attempt is under way, and none may wait for the next turn.
  @Test func unusableAddressMakesWayForTheNextInTheSameTurn() throws {
    let transport = transports.transport
    transport.open(at: scheduler.now)
    turn()
    let places = ["ws://n1", "ws://", "ws://n3"]
    for message in [ServerMessage.resumable(key: "k", graceSeconds: 30), .registered(identity: "ana", places: places)] {
      transport.client?.handleMessage(try message.json(), at: scheduler.now)
    }
    turn()
    transport.places = []
    transport.fail(at: scheduler.now)
    turn()
    transport.fail(at: scheduler.now)
    turn()
    #expect(transport.places == places)
    #expect(transport.isConnecting)
  }

  @Test func unansweredConnectionAttemptIsRetried() throws {
    try register()
    let transport = transports.transport
    transport.fail(at: scheduler.now)
    turn()
    scheduler.advance(to: scheduler.now + .seconds(20))
    #expect(transport.attempts > 3)
    #expect(transport.attempts < 8)
  }

  @Test func turnsPollOnlyTouchedClients() throws {
    try register()
    let transport = transports.transport
    link.cancel("r")
    transport.messages = []
    loop.endTurn(at: scheduler.now)
    #expect(transport.messages.isEmpty, "the command has not run")
    scheduler.advance(to: scheduler.now + .zero)
    #expect(transport.messages.count == 1)
  }
}
