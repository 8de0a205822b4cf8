import ArgumentParser
import Foundation
import KoineBase
import KoineJSONCodec
import KoineLedger
import KoineRedisLedger
import KoineSampleSupport
import KoineServer
import Logging

/// Looks at a cluster of `koine serve`, and moves its rooms.
struct Cluster: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the nodes and rooms of a cluster, and moves rooms.",
    discussion: """
      Asks the cluster's ledger (`koine serve --cluster`), given by --cluster or by KOINE_SERVE_CLUSTER. See \
      Docs/cluster.md.

      Exit codes: 0 done, 64 the command line is wrong, 66 there is no such node or room, 69 the ledger does not answer, or \
      the node has not done it within --wait.
      """,
    subcommands: [ClusterStatus.self, ClusterRooms.self, DrainNode.self, ServeAgain.self, MoveRoom.self])
}

/// Where the ledger is, and how the answer is printed.
struct ClusterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The cluster's ledger, as redis://[USER:PASSWORD@]HOST:PORT. (default: KOINE_SERVE_CLUSTER)", valueName: "url"))
  var cluster: String?

  @Flag(help: "Prints one line of JSON.")
  var json = false

  func ledger() throws -> LedgerClient {
    guard let text = cluster ?? ProcessInfo.processInfo.environment["KOINE_SERVE_CLUSTER"], !text.isEmpty else {
      throw SampleExit(code: 64, "say where the ledger is: --cluster URL, or KOINE_SERVE_CLUSTER")
    }
    do { return LedgerClient(try RedisAddress(text)) } catch { throw SampleExit(code: 64, "cluster: \(error)") }
  }
}

/// Asks a ledger one thing after the other.
final class LedgerClient: Sendable {
  private struct State {
    var isConnected = false
    var waiting: [UInt64: CheckedContinuation<LedgerAnswer, Never>] = [:]
    var last: UInt64 = 0
    var reason = "no answer"
    var connecting: [CheckedContinuation<Void, Never>] = []
    var reports: [NodeReport] = []
  }

  /// The name under which this program gets the nodes' reports. It has no lease.
  private let reader = NodeID(name: "koine-cluster", incarnation: String(UInt64.random(in: .min ... .max), radix: 36))

  /// For a connection, and for an answer.
  private static let patience = Duration.seconds(5)

  private let state = Lock(State())
  private let ledger: RedisLedger

  init(_ address: RedisAddress) {
    let state = state
    var logger = Logger(label: "koine.cluster")
    logger.logLevel = .critical
    ledger = RedisLedger(address, node: reader, logger: logger) { event in
      switch event {
      case .connected:
        for done in state.withLock({ state in
          state.isConnected = true
          defer { state.connecting = [] }
          return state.connecting
        }) { done.resume() }
      case .disconnected(let reason): state.withLock { ($0.isConnected, $0.reason) = (false, reason) }
      case .answered(let number, let answer):
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: answer)
      case .message(_, let bytes):
        guard let report = try? JSONCodec.decode(NodeReport.self, from: bytes) else { break }
        state.withLock { $0.reports.append(report) }
      }
    }
    ledger.start()
  }

  deinit { ledger.close() }

  /// - Throws: `SampleExit` if the ledger does not answer.
  func answer(to request: LedgerRequest) async throws -> LedgerAnswer {
    try await connect()
    let answer = await withCheckedContinuation { done in
      let number = state.withLock { state in
        state.last += 1
        state.waiting[state.last] = done
        return state.last
      }
      ledger.send(request, number: number, at: .zero)
    }
    if case .failed(let failure) = answer {
      throw SampleExit(code: 69, "the ledger does not answer: \(Self.text(of: failure))")
    }
    return answer
  }

  private static func text(of failure: LedgerFailure) -> String {
    switch failure {
    case .away(let reason): reason
    case .tooMany: "too much waits for it"
    }
  }

  private func connect() async throws {
    let limit = Task {
      try await Task.sleep(for: Self.patience)
      for done in state.withLock({ state in
        defer { state.connecting = [] }
        return state.connecting
      }) { done.resume() }
    }
    await withCheckedContinuation { done in
      let isConnected = state.withLock { state in
        if !state.isConnected { state.connecting.append(done) }
        return state.isConnected
      }
      if isConnected { done.resume() }
    }
    limit.cancel()
    let (isConnected, reason) = state.withLock { ($0.isConnected, $0.reason) }
    guard isConnected else {
      throw SampleExit(code: 69, "there is no way to the ledger: \(ledger.failure ?? reason)")
    }
  }

  func nodes() async throws -> [ListedNode] {
    guard case .nodes(let nodes) = try await answer(to: .nodes) else { throw Self.unexpected }
    return nodes.sorted { $0.record.id < $1.record.id }
  }

  /// - Returns: the node of a name, the one with the latest heartbeat.
  func node(named name: String) async throws -> ListedNode {
    let found = try await nodes().filter { $0.record.id.name == name }.min { $0.silence < $1.silence }
    guard let found else { throw SampleExit(code: 66, "there is no living node '\(name)'") }
    return found
  }

  func rooms() async throws -> [RoomListing] {
    var (rooms, cursor) = ([RoomListing](), String?.none)
    repeat {
      guard case .rooms(let page, let next) = try await answer(to: .rooms(cursor: cursor)) else {
        throw Self.unexpected
      }
      rooms += page
      cursor = next
    } while cursor != nil
    // A page may name a room that another has named.
    var named: [String: RoomListing] = [:]
    for room in rooms { named[room.room] = room }
    return named.values.sorted { $0.room < $1.room }
  }

  /// Sends a node an order: it may be lost, and may arrive twice.
  func order(_ order: NodeOrder, _ node: NodeID) async throws {
    _ = try await answer(to: .publish(.node(node), try JSONCodec.encode(order)))
  }

  /// What the living nodes say of their rooms.
  struct Occupancy {
    /// How many participants are in each room that is open.
    var participants: [String: Int] = [:]
    /// Living nodes that have not answered within a second.
    var silent: Set<NodeID> = []
    var living: Set<NodeID> = []
  }

  func occupancy() async throws -> Occupancy {
    let living = Set(try await nodes().map(\.record.id))
    var silent = living
    for attempt in 0..<20 where !silent.isEmpty {
      if attempt % 5 == 0 { for node in silent { try await order(NodeOrder(.report, to: reader), node) } }
      try await Task.sleep(for: .milliseconds(50))
      silent.subtract(state.withLock { $0.reports.filter(\.isLast).map(\.node) })
    }
    let participants = state.withLock { $0.reports }.reduce(into: [:]) { $0.merge($1.rooms) { $1 } }
    return Occupancy(participants: participants, silent: silent, living: living)
  }

  private static var unexpected: SampleExit { SampleExit(code: 69, "the ledger's answer cannot be read") }
}

protocol ClusterCommand: AsyncParsableCommand {
  var options: ClusterOptions { get }
  func perform(_ ledger: LedgerClient) async throws
}

extension ClusterCommand {
  func run() async throws {
    do { try await perform(try options.ledger()) } catch let error as SampleExit {
      error.leave(command: "koine cluster")
    }
  }
}

struct ClusterStatus: ClusterCommand {
  static let configuration = CommandConfiguration(commandName: "status", abstract: "Lists the living nodes.")
  @OptionGroup var options: ClusterOptions

  private struct Line: Encodable {
    var node, incarnation, state: String
    var `public`: String?
    var region: String
    var load: Double
    var rooms, participants, silenceMilliseconds: Int
    /// See `NodeRecord.keysDigest`.
    var keysDigest: String?
  }

  private struct Answer: Encodable { var nodes: [Line] }

  func perform(_ ledger: LedgerClient) async throws {
    let lines = try await ledger.nodes().map { node in
      Line(
        node: node.record.id.name, incarnation: node.record.id.incarnation, state: node.record.state.rawValue,
        public: node.record.publicAddress, region: node.record.region,
        load: (node.record.load.value * 100).rounded() / 100, rooms: node.record.load.rooms,
        participants: node.record.load.participants, silenceMilliseconds: Int(node.silence.inMilliseconds),
        keysDigest: node.record.keysDigest)
    }
    if options.json {
      return print(String(decoding: try JSONCodec.encode(Answer(nodes: lines)), as: UTF8.self))
    }
    let table = lines.map { line in
      [
        line.node, line.state, line.region.isEmpty ? "-" : LogText.line(line.region), "\(Int(line.load * 100)) %",
        "\(line.rooms)",
        "\(line.participants)", "\(line.silenceMilliseconds) ms",
        line.public.map { LogText.line($0) } ?? "homes no rooms",
      ]
    }
    print(Table.text([["NODE", "STATE", "REGION", "LOAD", "ROOMS", "PARTICIPANTS", "HEARTBEAT", "ADDRESS"]] + table))
    if lines.isEmpty { print("\nNo node has renewed its lease: none runs, or the ledger takes no writes.") }
    for remark in [Self.difference(in: lines), Self.sameAddress(in: lines)].compactMap(\.self) { print("\n\(remark)") }
  }

  /// A line about nodes with one address; nil if each has its own.
  private static func sameAddress(in lines: [Line]) -> String? {
    let groups = Dictionary(grouping: lines.filter { $0.public != nil }) { $0.public }.values.filter { $0.count > 1 }
    guard !groups.isEmpty else { return nil }
    let names = groups.map { $0.map(\.node).joined(separator: ", ") }.sorted()
    return "Nodes with the same --public: \(names.joined(separator: " | "))"
  }

  /// A line that groups the nodes by their keys; nil if all nodes have the same keys.
  private static func difference(in lines: [Line]) -> String? {
    let groups = Dictionary(grouping: lines.filter { $0.keysDigest != nil }) { $0.keysDigest }
    guard groups.count > 1 else { return nil }
    let names = groups.values.map { $0.map(\.node).joined(separator: ", ") }.sorted()
    return "Nodes with different --keys or --open: \(names.joined(separator: " | "))"
  }
}

struct ClusterRooms: ClusterCommand {
  static let configuration = CommandConfiguration(commandName: "rooms", abstract: "Lists the rooms and their homes.")
  @OptionGroup var options: ClusterOptions

  private struct Line: Encodable {
    var room, home, term: String
    /// nil: the room is not open, or its home has not answered.
    var participants: Int?
  }

  private struct Answer: Encodable { var rooms: [Line] }

  func perform(_ ledger: LedgerClient) async throws {
    let occupancy = try await ledger.occupancy()
    let rooms = try await ledger.rooms()
    let lines = rooms.map {
      Line(
        room: $0.room, home: $0.place.home.name, term: $0.place.term.text,
        participants: occupancy.participants[$0.room])
    }
    if options.json {
      return print(String(decoding: try JSONCodec.encode(Answer(rooms: lines)), as: UTF8.self))
    }
    let rows = zip(lines, rooms).map { line, room in
      let count = line.participants.map(String.init) ?? Self.state(of: room, occupancy)
      return [line.home, count, line.term, LogText.line(line.room)]
    }
    print(Table.text([["HOME", "PARTICIPANTS", "TERM", "ROOM"]] + rows))
  }
}

extension ClusterRooms {
  /// Of a room of which no node has said how many are in it.
  fileprivate static func state(of room: RoomListing, _ occupancy: LedgerClient.Occupancy) -> String {
    let home = room.place.home
    if !occupancy.living.contains(home) { return "home is dead" }
    return occupancy.silent.contains(home) ? "?" : "not open"
  }
}

/// A command that a node carries out: repeated until it has, because messages of the ledger may be lost.
protocol NodeCommand: ClusterCommand {
  var wait: Int { get }
  func target(_ ledger: LedgerClient) async throws -> (NodeID, NodeOrder)
  /// - Returns: a sentence about the new state; nil while the node has not carried out the order.
  func outcome(_ ledger: LedgerClient, by node: NodeID) async throws -> String?
  /// Why it is not done, and what holds now.
  func obstacle(_ ledger: LedgerClient, by node: NodeID) async throws -> String
}

extension NodeCommand {
  func perform(_ ledger: LedgerClient) async throws {
    guard (0...86_400).contains(wait) else { throw SampleExit(code: 64, "--wait: 0 to 86400 seconds") }
    let (node, order) = try await target(ledger)
    for _ in 0..<max(1, wait * 2) {
      try await ledger.order(order, node)
      try await Task.sleep(for: .milliseconds(500))
      if let outcome = try await outcome(ledger, by: node) {
        print(options.json ? "{\"done\":true}" : outcome)
        return
      }
    }
    let obstacle = try await obstacle(ledger, by: node)
    throw SampleExit(code: 69, "the node has not done it within \(wait) s: \(obstacle)")
  }
}

struct DrainNode: NodeCommand {
  static let configuration = CommandConfiguration(
    commandName: "drain", abstract: "Has a node hand its rooms over to others and take no more.")
  @OptionGroup var options: ClusterOptions
  @Argument(help: "The node's name.") var node: String
  @Option(help: "Seconds until it is done.") var wait = 30

  func target(_ ledger: LedgerClient) async throws -> (NodeID, NodeOrder) {
    (try await ledger.node(named: node).record.id, NodeOrder(.drain))
  }

  func outcome(_ ledger: LedgerClient, by node: NodeID) async throws -> String? {
    guard let record = try await ledger.nodes().first(where: { $0.record.id == node })?.record else {
      return "\(node.name) has ended"
    }
    // By its own count: the ledger may name it as the home of rooms that it has never opened.
    return record.state != .draining || record.load.rooms > 0 ? nil : "\(node.name) has no rooms and takes none"
  }

  func obstacle(_ ledger: LedgerClient, by node: NodeID) async throws -> String {
    let nodes = try await ledger.nodes().map(\.record)
    guard let record = nodes.first(where: { $0.id == node }) else { return "it has ended" }
    if record.state != .draining { return "it does not answer" }
    let others = nodes.contains { $0.id != node && $0.hasCapacity }
    return "it drains; rooms left: \(record.load.rooms)"
      + (others ? "" : ", because no other node has capacity for them")
      + ". \"koine cluster serve \(node.name)\" ends the draining, unless its process is about to end (SIGTERM)"
  }
}

struct ServeAgain: NodeCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Has a node that was drained take rooms again.")
  @OptionGroup var options: ClusterOptions
  @Argument(help: "The node's name.") var node: String
  @Option(help: "Seconds until it is done.") var wait = 10

  func target(_ ledger: LedgerClient) async throws -> (NodeID, NodeOrder) {
    (try await ledger.node(named: node).record.id, NodeOrder(.serve))
  }

  func outcome(_ ledger: LedgerClient, by node: NodeID) async throws -> String? {
    let record = try await ledger.nodes().first { $0.record.id == node && $0.record.state == .serving }?.record
    guard let record else { return nil }
    return record.publicAddress == nil
      ? "\(node.name) drains no more; it homes no rooms, because it has no --public" : "\(node.name) takes rooms"
  }

  func obstacle(_ ledger: LedgerClient, by node: NodeID) async throws -> String {
    "it does not answer, or its process is about to end (SIGTERM)"
  }
}

struct MoveRoom: NodeCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Moves a room to a node that has capacity for it.")
  @OptionGroup var options: ClusterOptions
  @Argument(help: "The room's name.") var room: String
  @Option(help: "Seconds until it is done.") var wait = 10

  func target(_ ledger: LedgerClient) async throws -> (NodeID, NodeOrder) {
    guard let place = try await ledger.rooms().first(where: { $0.room == room })?.place else {
      throw SampleExit(code: 66, "there is no room '\(room)'")
    }
    return (place.home, NodeOrder(.move, room: room))
  }

  func outcome(_ ledger: LedgerClient, by node: NodeID) async throws -> String? {
    guard let place = try await ledger.rooms().first(where: { $0.room == room })?.place else {
      return "the room has ended"
    }
    return place.home == node ? nil : "the room is at \(place.home.name)"
  }

  func obstacle(_ ledger: LedgerClient, by node: NodeID) async throws -> String {
    let occupancy = try await ledger.occupancy()
    if !occupancy.living.contains(node) {
      return "the room's home \(node.name) is dead; the next participant's join opens the room at another node"
    }
    if occupancy.silent.contains(node) { return "the room's home \(node.name) does not answer" }
    guard occupancy.participants[room] != nil else {
      return "\(node.name) has not opened the room; the next participant's join opens it"
    }
    let others = try await ledger.nodes().contains { $0.record.id != node && $0.record.hasCapacity }
    return others ? "the room is still at \(node.name)" : "no other node has capacity for it"
  }
}

/// Columns of text.
enum Table {
  static func text(_ rows: [[String]]) -> String {
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = row.enumerated().map {
        $0 == row.count - 1 ? $1 : $1.padding(toLength: widths[$0], withPad: " ", startingAt: 0)
      }
      return cells.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
