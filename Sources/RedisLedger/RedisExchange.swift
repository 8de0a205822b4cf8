import KoineBase
import KoineJSONCodec
package import KoineLedger

/// A request to the ledger as a command of Redis, and the reply as an answer. The second command is the first one with the
/// script itself, for a server that may not know it.
package struct RedisExchange {
  enum Command {
    case plain(RedisCommand)
    case script(RedisScript, [[UInt8]])
  }

  /// A reply that no such request can have: a server that is no Redis, or data of another program.
  package struct Unreadable: Error {}

  /// Beyond it Lua's numbers are not exact.
  private static let orderLimit: UInt64 = 1 << 53
  private static let pageEntries = 512
  private static let pageBytes = 1 << 20
  /// How long the count of a closed room's terms stays, in seconds.
  private static let closedLife = 86_400

  let request: LedgerRequest
  let command: Command

  /// - Parameter database: that the connection has selected.
  /// - Returns: nil if the request has numbers that the ledger cannot hold.
  package init?(_ request: LedgerRequest, database: Int = 0) {
    guard let command = Self.command(for: request, database) else { return nil }
    (self.request, self.command) = (request, command)
  }

  /// Bytes that count against the limit of what waits.
  var size: Int {
    switch command {
    case .plain(let command): command.size
    case .script(_, let arguments): arguments.reduce(256) { $0 + $1.count + 24 }
    }
  }

  var first: RedisCommand {
    switch command {
    case .plain(let command): command
    case .script(let script, let arguments): script.short(arguments)
    }
  }

  /// Of its script; nil: the request is a command of its own.
  var digest: String? {
    if case .script(let script, _) = command { script.digest } else { nil }
  }

  /// `first` for a server that may not know the script.
  var second: RedisCommand? {
    switch command {
    case .plain: nil
    case .script(let script, let arguments): script.whole(arguments)
    }
  }

  /// A word for the log, and for refusals that concern one kind of request. A server without memory refuses entries only.
  var kind: String {
    if case .append(let append) = request, append.entries.isEmpty { return "append without entries" }
    return switch command {
    case .plain(let command): command.arguments.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    case .script(let script, _): script.name
    }
  }

  // MARK: Requests

  /// Redis' channels are those of all its databases: each database has a cluster of its own.
  static func channel(_ channel: LedgerChannel, database: Int) -> String {
    let prefix = database == 0 ? "k:" : "k:\(database):"
    return switch channel {
    case .node(let node): "\(prefix)n:\(node)"
    case .all: "\(prefix)all"
    }
  }

  private static func command(for request: LedgerRequest, _ database: Int) -> Command? {
    switch request {
    case .register(let record):
      guard let json = try? JSONCodec.encode(record) else { return nil }
      return script(
        .register, ["\(record.id)", record.id.name + "#"], json, "\(LedgerTimes.lease.inWholeMilliseconds)")
    case .heartbeat(let record):
      // One command is as atomic as a script, and shorter.
      guard let json = try? JSONCodec.encode(record) else { return nil }
      let words = [bytes("SET"), bytes("k:node:\(record.id)"), json, bytes("XX"), bytes("PX")]
      return .plain(RedisCommand(words + [bytes("\(LedgerTimes.lease.inWholeMilliseconds)")]))
    case .unregister(let node): return script(.unregister, ["\(node)"])
    case .evict(let node):
      return script(.evict, ["\(node)", "\((LedgerTimes.lease - LedgerTimes.suspicion).inWholeMilliseconds)"])
    case .nodes: return script(.nodes, [])
    case .place(let place):
      let opening = place.isOpening ? "1" : "0"
      let above = "\(min(place.above, orderLimit))"
      let life = place.isOpening ? orphan : "\(LedgerTimes.unopened.inWholeMilliseconds)"
      return script(.place, [place.room, "\(place.candidate)", place.nonce, opening, above, life])
    case .handOver(let room, let term, let node, let nonce):
      return script(.handOver, [room, term.text, "\(node)", nonce, orphan])
    case .append(let append): return self.append(append)
    case .read(let room, let term, let after, let through):
      let bounds = ["\(min(after, orderLimit))", "\(min(through, orderLimit))"]
      return script(.read, [room, term.text] + bounds + ["\(pageEntries)", "\(pageBytes)"])
    case .close(let room, let term): return script(.close, [room, term.text, "\(closedLife * 1_000)"])
    case .publish(let channel, let message):
      return .plain(RedisCommand([bytes("PUBLISH"), bytes(self.channel(channel, database: database)), message]))
    case .jobs(.add(let content)): return .script(.addJob, [content])
    case .jobs(.take(let node)): return script(.takeJob, ["\(node)", patience])
    case .jobs(.renew(let id, let node)): return script(.renewJob, ["\(node)", patience, id])
    case .jobs(.finish(let id)): return script(.finishJob, [id])
    case .rooms(let cursor): return script(.rooms, [cursor ?? "0"])
    case .find(let room): return script(.find, [room])
    case .registry(let request): return self.registry(request, notices: self.channel(.all, database: database))
    }
  }

  private static func append(_ request: AppendRequest) -> Command? {
    let orders = request.entries.map(\.order) + request.removing + [request.previous]
    guard orders.allSatisfy({ $0 < orderLimit }) else { return nil }
    var arguments = [request.room, request.term.text, "\(request.previous)", orphan, "\(request.entries.count)"].map(
      bytes)
    for entry in request.entries { arguments += [bytes("\(entry.order)"), entry.content] }
    arguments += request.removing.map { bytes("\($0)") }
    return .script(.append, arguments)
  }

  private static var orphan: String { "\(LedgerTimes.orphan.inWholeMilliseconds)" }
  private static var patience: String { "\(LedgerTimes.jobPatience.inWholeMilliseconds)" }

  static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
  static func script(_ script: RedisScript, _ words: [String]) -> Command { .script(script, words.map(bytes)) }

  private static func script(_ script: RedisScript, _ words: [String], _ content: [UInt8], _ last: String) -> Command {
    .script(script, words.map(bytes) + [content, bytes(last)])
  }

  // MARK: Replies

  /// - Parameter reply: no error.
  package func answer(to reply: RedisReply) throws(Unreadable) -> LedgerAnswer {
    switch (request, reply) {
    case (.heartbeat, .status): return .done
    case (.heartbeat, .null): return .evicted
    case (.publish, .integer): return .done
    case (.heartbeat, _), (.publish, _): throw Unreadable()
    default: break
    }
    guard case .array(let parts) = reply, let word = parts.first?.text else { throw Unreadable() }
    let values = parts.dropFirst()
    switch word {
    case "done": return .done
    case "appended": return .appended
    case "alive": return .alive
    case "gone":
      guard let node = candidate else { throw Unreadable() }
      return .gone(node)
    case "registered": return .registered(clock: try Self.order(values.first))
    case "taken":
      guard let node = values.first?.text.flatMap({ NodeID($0) }) else { throw Unreadable() }
      return .nameTaken(by: node)
    case "nodes": return .nodes(Self.nodes(values))
    case "placed": return .placed(try Self.placed(Array(values)))
    case "fenced": return .fenced(values.isEmpty ? nil : try Self.place(Array(values)))
    case "behind": return .behind(last: try Self.order(values.first))
    case "page": return .page(try Self.page(values))
    case "rooms": return try Self.rooms(values)
    case "found":
      guard let isAlive = values.last?.number else { return .found(nil, isAlive: false) }
      return .found(try Self.place(Array(values)), isAlive: isAlive == 1)
    case "value", "written", "unchanged", "conflict", "values", "count", "changes", "removed":
      return .registry(try Self.registry(word, Array(values)))
    case "jobs": return .jobs(try Self.jobs(Array(values)))
    default: throw Unreadable()
    }
  }

  private var candidate: NodeID? {
    switch request {
    case .place(let place): place.candidate
    case .handOver(_, _, let node, _): node
    default: nil
    }
  }

  static func order(_ reply: RedisReply?) throws(Unreadable) -> UInt64 {
    guard let number = reply?.number, let order = UInt64(exactly: number) else { throw Unreadable() }
    return order
  }

  private static func place(_ values: [RedisReply]) throws(Unreadable) -> RoomPlace {
    guard values.count >= 2, let home = values[0].text.flatMap({ NodeID($0) }), let term = values[1].text else {
      throw Unreadable()
    }
    return RoomPlace(home: home, term: RoomTerm(text: term))
  }

  private static func placed(_ values: [RedisReply]) throws(Unreadable) -> Placed {
    guard values.count == 4, let isNew = values[2].number else { throw Unreadable() }
    return Placed(try place(values), isNew: isNew == 1, last: try order(values[3]))
  }

  /// Leaves out records that cannot be read: of a version that is too new, or of another program.
  private static func nodes(_ values: ArraySlice<RedisReply>) -> [ListedNode] {
    pairs(values).compactMap { record, left in
      guard case .bytes(let json) = record, let milliseconds = left.number,
        let record = try? JSONCodec.decode(NodeRecord.self, from: json)
      else { return nil }
      let rest = Duration.milliseconds(min(max(milliseconds, 0), LedgerTimes.lease.inWholeMilliseconds))
      return ListedNode(record, silence: LedgerTimes.lease - rest)
    }
  }

  private static func page(_ values: ArraySlice<RedisReply>) throws(Unreadable) -> LogPage {
    guard let isLast = values.first?.number else { throw Unreadable() }
    var rest = values.dropFirst()
    var entries: [StoredEntry] = []
    while let id = rest.popFirst() {
      guard let age = rest.popFirst()?.number, case .bytes(let content)? = rest.popFirst() else { throw Unreadable() }
      let entry = LogEntry(order: try order(id), content: content)
      entries.append(StoredEntry(entry, age: .milliseconds(min(max(age, 0), Self.ageLimit))))
    }
    return LogPage(entries, isLast: isLast == 1)
  }

  /// Ten years, in ms: a reply may hold any number.
  private static let ageLimit = 10 * 366 * 86_400_000

  private static func rooms(_ values: ArraySlice<RedisReply>) throws(Unreadable) -> LedgerAnswer {
    guard let cursor = values.first?.text else { throw Unreadable() }
    var rest = values.dropFirst()
    var rooms: [RoomListing] = []
    while rest.count >= 3 {
      let part = Array(rest.prefix(3))
      rest = rest.dropFirst(3)
      // A room's name may be any bytes of another program.
      guard let room = part[0].text, let place = try? place(Array(part[1...])) else { continue }
      rooms.append(RoomListing(room: room, place: place))
    }
    return .rooms(rooms, next: cursor == "0" ? nil : cursor)
  }

  private static func jobs(_ values: [RedisReply]) throws(Unreadable) -> [LedgerJob] {
    guard !values.isEmpty else { return [] }
    guard values.count == 2, let id = values[0].text, case .bytes(let content) = values[1] else { throw Unreadable() }
    return [LedgerJob(id: id, content: content)]
  }

  private static func pairs(_ values: ArraySlice<RedisReply>) -> [(RedisReply, RedisReply)] {
    var rest = values
    var pairs: [(RedisReply, RedisReply)] = []
    while let first = rest.popFirst(), let second = rest.popFirst() { pairs.append((first, second)) }
    return pairs
  }
}
