import KoineBase
import KoineRouter
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineSignalingHost

/// Participants of one room send each other data messages over connections that break, stay half open, deliver late and are made
/// twice. Each message reaches each other participant exactly once, in its sender's order.
struct DeliveryTests {
  private final class Participant {
    let name: String
    var channel = ClientSignalingChannel()
    var connection: ConnectionID?
    /// On their way on the present connection.
    var toServer: [[UInt8]] = []
    var sent = 0
    var received: [String: [Int]] = [:]

    init(_ name: String) { self.name = name }
  }

  private final class Simulation {
    let host: SignalingHost
    let now = Tick(nanoseconds: 1_000_000_000)
    var random: SeededRandom
    var participants: [Participant] = []
    /// Messages on connections that their client has left, which arrive late.
    var late: [(ConnectionID, [UInt8])] = []
    /// Connections that the host does not know to be dead.
    var halfOpen: [ConnectionID] = []
    var toClient: [ConnectionID: [EncodedMessage]] = [:]
    var nextConnection = 0
    /// Connections with a page that has not been reported as written.
    var pages: [ConnectionID] = []

    init(seed: UInt64) throws {
      random = SeededRandom(seed: seed)
      var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [.loopback(port: 7000)])
      configuration.limits.dataBurst = 1_000_000
      configuration.pacesPages = true
      let router = Router(configuration: configuration, random: SeededRandom(seed: 1), now: now)
      host = SignalingHost(router: router, configuration: .init(resumeGrace: .seconds(30), pacesPages: true))
      for name in ["ana", "ben", "cem"] { try join(name) }
    }

    private func join(_ name: String) throws {
      let participant = Participant(name)
      participants.append(participant)
      open(participant)
      try participant.channel.send(
        .join(
          Join(
            room: "tea", participantID: name, name: name,
            description: PeerDescription(
              ice: ICECredentials(ufrag: "them", password: "bbbbbbbbbbbbbbbbbbbbbb"), candidates: [],
              fingerprint: .init(value: "AB:CD"),
              isLite: false, setup: .active))))
    }

    private func open(_ participant: Participant) {
      nextConnection += 1
      let connection = ConnectionID(nextConnection)
      participant.connection = connection
      host.open(connection, at: now)
    }

    func chance(_ parts: Int) -> Bool { Int.random(in: 0..<parts, using: &random) == 0 }

    func send(_ participant: Participant) throws {
      participant.sent += 1
      let message = DataMessage(topic: "t", payload: [], lifetime: .zero)
      try participant.channel.send(.data(SendData(message, id: "\(participant.sent)")))
    }

    /// Delivers a part of the pending messages, in the order of each connection.
    func deliver(all: Bool = false) throws {
      for participant in participants {
        while let json = participant.channel.pollMessage() { participant.toServer.append(json) }
        while let connection = participant.connection, !participant.toServer.isEmpty, all || !chance(3) {
          try receive(participant.toServer.removeFirst(), on: connection)
        }
      }
      drain()
      for connection in pages where all || chance(2) {
        pages.removeAll { $0 == connection }
        host.pageWritten(on: connection)
      }
      drain()
      for participant in participants {
        guard let connection = participant.connection else { continue }
        while let message = toClient[connection]?.first, all || !chance(3) {
          toClient[connection]?.removeFirst()
          try read(message, participant)
        }
      }
    }

    private func receive(_ json: [UInt8], on connection: ConnectionID) throws {
      host.receive(try json.withUnsafeBytes { try ClientMessage(json: $0) }, on: connection, at: now)
      drain()
    }

    private func drain() {
      while let outgoing = host.pollMessage(at: now) {
        toClient[outgoing.connection, default: []].append(outgoing.message)
        if outgoing.endsPage { pages.append(outgoing.connection) }
      }
      while let event = host.pollEvent() {
        if case .closeConnection(let connection) = event { host.connectionLost(connection, at: now) }
      }
    }

    private func read(_ message: EncodedMessage, _ participant: Participant) throws {
      let json = try #require(message.json)
      let message = try json.withUnsafeBytes { try ServerMessage(json: $0) }
      switch participant.channel.receive(message) {
      case .message(.data(let data)): participant.received[data.sender, default: []].append(Int(data.id) ?? -1)
      case .forgotten: Issue.record("\(participant.name) was forgotten")
      default: break
      }
    }

    /// The client loses its connection. The host may notice later, and messages in flight may still arrive.
    func reconnect(_ participant: Participant) throws {
      if let connection = participant.connection {
        if chance(2) { late += participant.toServer.map { (connection, $0) } }
        if chance(2) { halfOpen.append(connection) } else { host.connectionLost(connection, at: now) }
        toClient[connection] = nil
      }
      participant.toServer = []
      participant.channel.connectionLost()
      open(participant)
      participant.channel.connectionMade()
      guard chance(4) else { return }
      // An attempt that the client gives up before its answer arrives.
      while let json = participant.channel.pollMessage(), let connection = participant.connection {
        if chance(2) { late.append((connection, json)) } else { try receive(json, on: connection) }
      }
      try reconnect(participant)
    }

    /// Delivers late messages of old connections, and reports such connections as lost to the host.
    func catchUp() throws {
      for (connection, json) in late where halfOpen.contains(connection) || chance(2) {
        try receive(json, on: connection)
      }
      late = []
      for connection in halfOpen { host.connectionLost(connection, at: now) }
      halfOpen = []
    }
  }

  @Test(arguments: 0..<24) func eachMessageArrivesOnceAndInOrder(_ seed: UInt64) throws {
    let simulation = try Simulation(seed: seed)
    for _ in 0..<3 { try simulation.deliver(all: true) }
    for participant in simulation.participants { try #require(participant.channel.isResumable) }
    for _ in 0..<400 {
      let participant = simulation.participants[Int.random(in: 0..<3, using: &simulation.random)]
      if simulation.chance(2) { try simulation.send(participant) }
      try simulation.deliver()
      if simulation.chance(10) { try simulation.reconnect(participant) }
      if simulation.chance(6) { try simulation.catchUp() }
    }
    try simulation.catchUp()
    for participant in simulation.participants { try simulation.reconnect(participant) }
    try simulation.catchUp()
    for _ in 0..<40 { try simulation.deliver(all: true) }
    for receiver in simulation.participants {
      for sender in simulation.participants where sender !== receiver {
        #expect(receiver.received[sender.name] ?? [] == Array(1...sender.sent), "\(sender.name) to \(receiver.name)")
      }
    }
    #expect(simulation.host.holdings["signalling clients"] == 3)
    #expect(simulation.host.holdings["connections"] == 3)
    #expect(simulation.host.holdings["lost"] == 0)
  }
}
