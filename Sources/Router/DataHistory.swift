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

    var size: Int { message.writtenSize + (recipients?.reduce(0) { $0 + $1.utf8.count + 16 } ?? 0) }
  }

  /// In the order in which they came.
  private struct Shelf {
    var items: [Kept] = []
    var bytes = 0

    mutating func add(_ item: Kept, _ limits: Limits, at now: Tick) {
      items.append(item)
      bytes += item.size
      if isOver(limits) { expire(at: now) }
      while isOver(limits) { bytes -= items.removeFirst().size }
    }

    private func isOver(_ limits: Limits) -> Bool { items.count > limits.count || bytes > limits.bytes }

    mutating func expire(at now: Tick) {
      items.removeAll { $0.expires.map { $0 <= now } ?? false }
      bytes = items.reduce(0) { $0 + $1.size }
    }
  }

  private let limits: Limits
  private var passing = Shelf()
  private var persistent = Shelf()

  init(limits: Limits) { self.limits = limits }

  /// - Parameters:
  ///   - lifetime: in seconds, any number is taken; nil: as long as there is the room.
  ///   - recipients: nil for everybody.
  mutating func keep(
    _ message: ReceivedData, lifetime: Double? = nil, for recipients: [String]? = nil, isForReturning: Bool = false,
    at now: Tick
  ) {
    let age = lifetime.map { min($0, limits.lifetime.inSeconds) }
    guard limits.count > 0, age.map({ $0 > 0 }) ?? true else { return }
    let item = Kept(
      message: message, received: now, expires: age.map { now + .seconds($0) }, recipients: recipients,
      isForReturning: isForReturning)
    guard item.size <= limits.bytes else { return }
    if age == nil { persistent.add(item, limits, at: now) } else { passing.add(item, limits, at: now) }
  }

  /// What is still alive and for this participant, oldest first, with its age.
  mutating func messages(for id: String, isReturning: Bool = false, at now: Tick) -> [ReceivedData] {
    passing.expire(at: now)
    let due = (passing.items + persistent.items).filter { item in
      guard item.recipients?.contains(id) ?? true else { return false }
      return isReturning ? item.message.from != id : !item.isForReturning
    }
    return due.sorted { $0.message.order < $1.message.order }.map { item in
      var message = item.message
      message.ageMilliseconds = (now - item.received).nanoseconds / 1_000_000
      return message
    }
  }
}
