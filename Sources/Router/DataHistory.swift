import KoineBase
import KoineSignaling

/// The data messages of a room that those who come later get: the newest, bounded by count, bytes and each message's
/// lifetime. Persistent ones have bounds of their own and no lifetime, so that chatter does not push them out.
struct DataHistory {
  struct Limits: Hashable, Sendable {
    var count = 1024
    /// As they are written to those who come, and those they are for.
    var bytes = 2 * 1024 * 1024
    /// No message is kept longer, whatever its lifetime says.
    var lifetime: Duration = .seconds(3600)
    /// Of persistent messages: a day's chat.
    var persistentCount = 16_384
    var persistentBytes = 8 * 1024 * 1024
  }

  private struct Kept {
    let message: ReceivedData
    let received: Tick
    /// nil: never.
    let expires: Tick?
    /// nil: for everybody.
    let recipients: [String]?
    /// Only those get it who were in the room before and come back.
    let isForReturning: Bool
    let size: Int

    init(
      _ message: ReceivedData, received: Tick, expires: Tick?, recipients: [String]?, isForReturning: Bool
    ) {
      (self.message, self.received, self.expires) = (message, received, expires)
      (self.recipients, self.isForReturning) = (recipients, isForReturning)
      size = message.writtenSize + (recipients?.reduce(0) { $0 + $1.utf8.count + 16 } ?? 0)
    }
  }

  /// In the order in which they came.
  private struct Shelf {
    let count, bytes: Int
    private var items: [Kept] = []
    /// Of `items`: what comes before has been let go.
    private var head = 0
    private var size = 0

    init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }

    var kept: ArraySlice<Kept> { items[head...] }

    mutating func add(_ item: Kept, at now: Tick) {
      items.append(item)
      size += item.size
      if isOver, item.expires != nil { expire(at: now) }
      while isOver {
        size -= items[head].size
        head += 1
      }
      if head >= 64, head * 2 >= items.count {
        items.removeFirst(head)
        head = 0
      }
    }

    private var isOver: Bool { items.count - head > count || size > bytes }

    mutating func expire(at now: Tick) {
      items = kept.filter { $0.expires.map { $0 > now } ?? true }
      head = 0
      size = items.reduce(0) { $0 + $1.size }
    }
  }

  private let limits: Limits
  private var passing, persistent: Shelf

  init(limits: Limits) {
    self.limits = limits
    passing = Shelf(count: limits.count, bytes: limits.bytes)
    persistent = Shelf(count: limits.persistentCount, bytes: limits.persistentBytes)
  }

  /// - Parameters:
  ///   - lifetime: in seconds, any number is taken; nil: as long as there is the room.
  ///   - recipients: nil for everybody.
  mutating func keep(
    _ message: ReceivedData, lifetime: Double? = nil, for recipients: [String]? = nil, isForReturning: Bool = false,
    at now: Tick
  ) {
    let age = lifetime.map { min($0, limits.lifetime.inSeconds) }
    guard age.map({ $0 > 0 }) ?? true else { return }
    let item = Kept(
      message, received: now, expires: age.map { now + .seconds($0) }, recipients: recipients,
      isForReturning: isForReturning)
    if age == nil {
      if item.size <= persistent.bytes { persistent.add(item, at: now) }
    } else {
      if item.size <= passing.bytes { passing.add(item, at: now) }
    }
  }

  /// What is still alive and for this participant, oldest first, with its age.
  /// - Parameter directedAfter: directed messages up to this number in the room's order are left out.
  mutating func messages(
    for id: String, directedAfter: UInt64? = nil, isReturning: Bool = false, at now: Tick
  ) -> [ReceivedData] {
    passing.expire(at: now)
    let due = (passing.kept + persistent.kept).filter { item in
      if let recipients = item.recipients {
        guard recipients.contains(id), item.message.order > directedAfter ?? 0 else { return false }
      }
      return isReturning ? item.message.from != id : !item.isForReturning
    }
    return due.sorted { $0.message.order < $1.message.order }.map { item in
      var message = item.message
      message.ageMilliseconds = (now - item.received).nanoseconds / 1_000_000
      return message
    }
  }
}
