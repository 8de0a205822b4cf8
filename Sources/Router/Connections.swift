import KoineBase
import KoineSignaling

/// What a client and the router have begun on one line and may go on with on another.
final class Connection {
  /// The name of its first line; the router's rooms and rings know it by this.
  let id: ConnectionID
  /// Where it is reached; nil while it is lost.
  fileprivate(set) var line: ConnectionID?
  fileprivate(set) var key: String?
  /// When it is given up, while it is lost.
  fileprivate(set) var deadline: Tick?
  var member: Member?
  /// Made with its first stay.
  var spread: SpreadBudget?
  /// How its client's peer names things.
  var dialect = Dialect.koine
  var conversation = Conversation<ServerMessage>()

  fileprivate init(_ line: ConnectionID) { (id, self.line) = (line, line) }

  /// Whether its client has shown that it can come back.
  var isResumable: Bool { key != nil && conversation.isTold }
}

/// All connections of a router, by their names, lines and keys.
struct ConnectionTable {
  private var connections: [ConnectionID: Connection] = [:]
  private var lines: [ConnectionID: Connection] = [:]
  private var keys: [String: Connection] = [:]
  /// The longest lost first: all have the same grace.
  private var lost: [Connection] = []

  subscript(id: ConnectionID) -> Connection? { connections[id] }
  func connection(on line: ConnectionID) -> Connection? { lines[line] }
  func connection(withKey key: String) -> Connection? { keys[key] }

  mutating func open(_ line: ConnectionID) {
    guard lines[line] == nil, connections[line] == nil else { return }
    let connection = Connection(line)
    connections[line] = connection
    lines[line] = connection
  }

  mutating func remove(_ connection: Connection) {
    connections[connection.id] = nil
    if let line = connection.line { lines[line] = nil }
    if let key = connection.key { keys[key] = nil }
    lost.removeAll { $0 === connection }
  }

  mutating func lose(_ connection: Connection, until deadline: Tick) {
    guard let line = connection.line else { return }
    lines[line] = nil
    connection.line = nil
    connection.deadline = deadline
    lost.append(connection)
  }

  /// Whatever began on that line gives way; the line it had before, which may still seem to stand, is nobody's.
  mutating func move(_ connection: Connection, to line: ConnectionID) {
    if let other = lines[line] { remove(other) }
    if let old = connection.line { lines[old] = nil }
    lost.removeAll { $0 === connection }
    connection.deadline = nil
    connection.line = line
    lines[line] = connection
  }

  /// A secret of 128 bits from the system, not from the router's own randomness: nothing that the router does depends on it.
  /// - Returns: nil if it has one.
  mutating func makeKey(for connection: Connection) -> String? {
    guard connection.key == nil else { return nil }
    var random = SystemRandomNumberGenerator()
    let key = (0..<2).map { _ in String(random.next(), radix: 36) }.joined(separator: "-")
    connection.key = key
    keys[key] = connection
    return key
  }

  var holdings: [String: Int] {
    ["connections": connections.count, "lines": lines.count, "keys": keys.count, "lost": lost.count]
  }

  // MARK: Time

  var deadline: Tick? { lost.first?.deadline }

  /// - Returns: the next connection whose grace is over.
  func popExpired(at now: Tick) -> Connection? {
    guard let first = lost.first, let deadline = first.deadline, deadline <= now else { return nil }
    return first  // its removal takes it off the list
  }
}
