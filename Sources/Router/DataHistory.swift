import KoineBase
import KoineSignaling

/// The data messages that a room keeps for late joiners: the newest, bounded by count, bytes and each message's lifetime.
/// Persistent messages have bounds of their own and no lifetime, so that frequent messages do not push them out.
struct DataHistory: Codable {
  struct Limits: Hashable, Sendable, Codable {
    var count = 1024
    /// Size of all kept messages as written to late joiners, their recipients included.
    var bytes = 2 * 1024 * 1024
    /// The longest time that a message is kept, even if its own lifetime is longer.
    var lifetime: Duration = .seconds(3600)
    /// The number of persistent messages: a day's chat.
    var persistentCount = 16_384
    var persistentBytes = 8 * 1024 * 1024
  }

  struct Addressee: Hashable, Codable {
    let id: String
    /// Of the credential that names the id, as `Grants.kind`; nil: of any.
    var kind: String?
  }

  struct Kept {
    let data: KeptData
    fileprivate(set) var received: Tick
    /// nil: never.
    fileprivate(set) var expires: Tick?
    /// nil: the message is for all participants.
    let recipients: [Addressee]?
    /// Only participants that were in the room before and return get the message.
    let isForReturning: Bool
    let size: Int

    init(
      _ message: ReceivedMessage, received: Tick, expires: Tick? = nil, recipients: [Addressee]? = nil,
      isForReturning: Bool = false
    ) {
      data = KeptData(message)
      (self.received, self.expires) = (received, expires)
      (self.recipients, self.isForReturning) = (recipients, isForReturning)
      size = message.writtenSize + (recipients?.reduce(0) { $0 + $1.id.utf8.count + 32 } ?? 0)
    }

    var order: UInt64 { data.message.order }
  }

  /// A participant that gets the kept messages.
  struct Reader {
    let id: String
    /// Of the credential that names its id, as `Grants.kind`.
    var kind: String?
    /// Directed messages up to this number in the room's order are not for it.
    var directedAfter: UInt64?
    /// Whether it was in the room before, which has lost its memory since.
    var isReturning = false

    fileprivate func gets(_ item: Kept, at now: Tick) -> Bool {
      if let expires = item.expires, expires <= now { return false }
      if let recipients = item.recipients {
        let isAddressed = recipients.contains { $0.id == id && ($0.kind ?? kind) == kind }
        guard isAddressed, item.order > directedAfter ?? 0 else { return false }
      }
      return isReturning ? item.data.message.sender != id : !item.isForReturning
    }

    /// Whether it is one of those that had not acknowledged the message.
    fileprivate func missed(_ item: Kept, at now: Tick) -> Bool {
      guard isReturning, item.order > directedAfter ?? 0, item.expires.map({ $0 > now }) ?? true else { return false }
      return item.recipients?.contains { $0.id == id } ?? false
    }
  }

  static func shifted(_ kept: Kept, by difference: Duration) -> Kept {
    var kept = kept
    kept.received += difference
    kept.expires = kept.expires.map { $0 + difference }
    return kept
  }

  /// In the order in which they came.
  private struct Shelf: Codable {
    let count, bytes: Int
    private var items: [Kept] = []
    /// Of `items`: what comes before has been let go.
    private var head = 0
    private var size = 0
    /// Numbers of messages that were let go.
    var dropped: [UInt64] = []

    init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }

    var kept: ArraySlice<Kept> { items[head...] }

    /// Those with a higher number in the room's order.
    func kept(after order: UInt64) -> ArraySlice<Kept> {
      var (low, high) = (head, items.count)
      while low < high {
        let middle = (low + high) / 2
        if items[middle].order > order { high = middle } else { low = middle + 1 }
      }
      return items[low...]
    }

    mutating func add(_ item: Kept, at now: Tick) {
      items.append(item)
      size += item.size
      if isOver, item.expires != nil { expire(at: now) }
      while isOver {
        size -= items[head].size
        dropped.append(items[head].order)
        head += 1
      }
      if head >= 64, head * 2 >= items.count {
        items.removeFirst(head)
        head = 0
      }
    }

    func contains(_ order: UInt64) -> Bool { kept(after: order &- 1).first?.order == order }

    mutating func shiftTimes(by difference: Duration) {
      for index in items.indices { items[index] = DataHistory.shifted(items[index], by: difference) }
    }

    private enum CodingKeys: String, CodingKey { case count, bytes, items }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        count: try fields.decode(Int.self, forKey: .count), bytes: try fields.decode(Int.self, forKey: .bytes))
      items = try fields.decode([Kept].self, forKey: .items)
      size = items.reduce(0) { $0 + $1.size }
    }

    func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(count, forKey: .count)
      try fields.encode(bytes, forKey: .bytes)
      try fields.encode(Array(kept), forKey: .items)
    }

    private var isOver: Bool { items.count - head > count || size > bytes }

    mutating func expire(at now: Tick) {
      dropped += kept.lazy.filter { $0.expires.map { $0 <= now } ?? false }.map(\.order)
      items = kept.filter { $0.expires.map { $0 > now } ?? true }
      head = 0
      size = items.reduce(0) { $0 + $1.size }
    }
  }

  private let limits: Limits
  private var passing, persistent: Shelf
  /// Of a room's snapshot: messages that single participants had not acknowledged, in order, and not in a shelf.
  private var unread: [Kept] = []
  private var retained = RetainedMessages()

  init(limits: Limits) {
    self.limits = limits
    passing = Shelf(count: limits.count, bytes: limits.bytes)
    persistent = Shelf(count: limits.persistentCount, bytes: limits.persistentBytes)
  }

  /// - Parameters:
  ///   - lifetime: in seconds, any number is accepted; nil: as long as the room exists.
  ///   - recipients: nil for all participants.
  /// - Returns: whether it is kept.
  @discardableResult mutating func keep(
    _ message: ReceivedMessage, lifetime: Double? = nil, for recipients: [Addressee]? = nil,
    isForReturning: Bool = false,
    at now: Tick
  ) -> Bool {
    let age = lifetime.map { min($0, limits.lifetime.inSeconds) }
    guard age.map({ $0 > 0 }) ?? true else { return false }
    let item = Kept(
      message, received: now, expires: age.map { now + .seconds($0) }, recipients: recipients,
      isForReturning: isForReturning)
    if age == nil {
      guard item.size <= persistent.bytes else { return false }
      persistent.add(item, at: now)
    } else {
      guard item.size <= passing.bytes else { return false }
      passing.add(item, at: now)
    }
    if !isLogged { _ = takeDropped() }
    return true
  }

  /// Keeps a message in place of the earlier retained message of its topic.
  mutating func retain(_ message: ReceivedMessage, at now: Tick) {
    retained.keep(message, at: now)
    if !isLogged { _ = takeDropped() }
  }

  // MARK: The log of a room of a cluster

  /// Whether the room has a log, from which dropped messages are removed (`takeDropped`).
  var isLogged = false

  /// Numbers of messages that are not kept any more, since the last call.
  mutating func takeDropped() -> [UInt64] {
    defer { (passing.dropped, persistent.dropped, retained.dropped) = ([], [], []) }
    return passing.dropped + persistent.dropped + retained.dropped
  }

  /// The kept messages with numbers in this range as the log has them, in order.
  func logged(after order: UInt64, through last: UInt64) -> [LoggedMessage] {
    let shelved = (Array(passing.kept(after: order)) + Array(persistent.kept(after: order))).filter {
      !$0.isForReturning
    }
    let messages =
      shelved.map { kept in
        LoggedMessage(
          kept.data.message, lifetime: kept.expires.map { $0 - kept.received }, recipients: kept.recipients)
      }
      + retained.messages(after: order).map {
        LoggedMessage($0.data.message, lifetime: nil, recipients: nil, isRetained: true)
      }
    return messages.filter { $0.message.order <= last }.sorted { $0.message.order < $1.message.order }
  }

  // MARK: Snapshots

  /// Keeps messages for those that have not acknowledged them, unless they are kept for longer anyway.
  mutating func keepUnread(_ messages: [Participant.ID: [ReceivedMessage]], until end: Tick, at now: Tick) {
    var readers: [UInt64: (message: ReceivedMessage, ids: Set<Participant.ID>)] = [:]
    for item in unread { readers[item.order] = (item.data.message, Set(item.recipients?.map(\.id) ?? [])) }
    for (id, messages) in messages {
      for message in messages
      where !passing.contains(message.order) && !persistent.contains(message.order)
        && !retained.contains(message.order)
      {
        readers[message.order, default: (message, [])].ids.insert(id)
      }
    }
    unread = readers.values.sorted { $0.message.order < $1.message.order }.map { message, ids in
      Kept(
        message, received: now, expires: end, recipients: ids.sorted().map { Addressee(id: $0) }, isForReturning: true)
    }
  }

  mutating func forgetUnread() { unread = [] }

  mutating func shiftTimes(by difference: Duration) {
    passing.shiftTimes(by: difference)
    persistent.shiftTimes(by: difference)
    retained.shiftTimes(by: difference)
    unread = unread.map { Self.shifted($0, by: difference) }
  }

  /// A part of the unexpired messages for this participant, oldest first, with its age.
  /// - Parameters:
  ///   - after: number in the room's order that the page begins after.
  ///   - through: number that ends the last page.
  ///   - bytes: of the page; a single message may have more.
  ///   - words: kept elsewhere, and sent with it.
  /// - Returns: `next` is the number that the page after this one begins after; nil where this is the last.
  func page(
    for reader: Reader, after: UInt64, through: UInt64, bytes: Int, with words: [Kept] = [], at now: Tick
  ) -> (entries: [HistoryPage.Entry], next: UInt64?) {
    var sources = [
      passing.kept(after: after), persistent.kept(after: after),
      words.filter { $0.order > after }.sorted { $0.order < $1.order }[...],
      retained.messages(after: after)[...], unread.filter { $0.order > after }[...],
    ]
    let unreadSource = sources.count - 1
    var (entries, size, last) = ([HistoryPage.Entry](), 0, after)
    while let source = Self.soonest(sources), let item = sources[source].first, item.order <= through {
      if source == unreadSource ? reader.missed(item, at: now) : reader.gets(item, at: now) {
        guard entries.isEmpty || size + item.size <= bytes else { return (entries, last) }
        size += item.size
        entries.append(
          HistoryPage.Entry(item.data, ageMilliseconds: (now - item.received).nanoseconds / 1_000_000))
      }
      last = item.order
      sources[source] = sources[source].dropFirst()
    }
    return (entries, nil)
  }

  private static func soonest(_ sources: [ArraySlice<Kept>]) -> Int? {
    var soonest: (source: Int, order: UInt64)?
    for (number, source) in sources.enumerated() {
      guard let order = source.first?.order, order < soonest?.order ?? .max else { continue }
      soonest = (number, order)
    }
    return soonest?.source
  }
}

extension DataHistory {
  private enum CodingKeys: String, CodingKey { case limits, passing, persistent, unread, retained }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    limits = try fields.decode(Limits.self, forKey: .limits)
    passing = try fields.decode(Shelf.self, forKey: .passing)
    persistent = try fields.decode(Shelf.self, forKey: .persistent)
    unread = try fields.decode([Kept].self, forKey: .unread)
    // Snapshots of earlier versions have none.
    retained = try fields.decodeIfPresent(RetainedMessages.self, forKey: .retained) ?? RetainedMessages()
  }
}

extension DataHistory.Kept: Codable {
  private enum CodingKeys: String, CodingKey { case message, received, expires, recipients, isForReturning }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try fields.decode(ReceivedMessage.self, forKey: .message),
      received: try fields.decode(Tick.self, forKey: .received),
      expires: try fields.decodeIfPresent(Tick.self, forKey: .expires),
      recipients: try fields.decodeIfPresent([DataHistory.Addressee].self, forKey: .recipients),
      isForReturning: try fields.decode(Bool.self, forKey: .isForReturning))
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(data.message, forKey: .message)
    try fields.encode(received, forKey: .received)
    try fields.encodeIfPresent(expires, forKey: .expires)
    try fields.encodeIfPresent(recipients, forKey: .recipients)
    try fields.encode(isForReturning, forKey: .isForReturning)
  }
}
