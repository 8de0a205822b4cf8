import KoineBase
import KoineSignaling

/// The data messages of a room that late joiners get, bounded by count, bytes and each message's lifetime.
struct DataHistory {
  struct Limits: Hashable, Sendable {
    var count = 256
    /// Of payloads.
    var bytes = 256 * 1024
    /// No message is kept longer, whatever its lifetime says.
    var lifetime: Duration = .seconds(3600)
  }

  private struct Kept {
    let message: ReceivedData
    let received: Tick
    let expires: Tick
    /// nil: for everybody.
    let recipients: [String]?
    /// Only those get it who were in the room before and come back.
    let isForReturning: Bool
  }

  private let limits: Limits
  private var kept: [Kept] = []
  private var bytes = 0

  init(limits: Limits) { self.limits = limits }

  /// - Parameters:
  ///   - lifetime: in seconds; any number is taken.
  ///   - recipients: nil for everybody.
  mutating func keep(
    _ message: ReceivedData, lifetime: Double, for recipients: [String]? = nil, isForReturning: Bool = false,
    at now: Tick
  ) {
    guard lifetime > 0, limits.count > 0, message.payload.count <= limits.bytes else { return }
    let longest = limits.lifetime.inSeconds
    kept.append(
      Kept(
        message: message, received: now, expires: now + .seconds(min(lifetime, longest)), recipients: recipients,
        isForReturning: isForReturning))
    bytes += message.payload.count
    if kept.count > limits.count || bytes > limits.bytes { expire(at: now) }
    while kept.count > limits.count || bytes > limits.bytes { bytes -= kept.removeFirst().message.payload.count }
  }

  /// What is still alive, oldest first, with its age.
  mutating func messages(for id: String = "", isReturning: Bool = false, at now: Tick) -> [ReceivedData] {
    expire(at: now)
    let due = kept.filter { ($0.recipients?.contains(id) ?? true) && (isReturning || !$0.isForReturning) }
    return due.map { item in
      var message = item.message
      message.ageMilliseconds = (now - item.received).nanoseconds / 1_000_000
      return message
    }
  }

  private mutating func expire(at now: Tick) {
    kept.removeAll { $0.expires <= now }
    bytes = kept.reduce(0) { $0 + $1.message.payload.count }
  }
}
