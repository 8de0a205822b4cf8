import KoineBase
import KoineSignaling

/// Data messages that a participant sends again to another router, spread over time, and those that it sends after them.
///
/// A router allows 400 messages at once and 200 a second (Docs/protocol.md). A participant that returns also publishes and subscribes:
/// what it repeats must leave room for that.
struct RepeatedMessages {
  private static let group = 100
  private static let interval = Duration.milliseconds(500)

  private var waiting: ArraySlice<SendData> = []
  /// When the next group is due; nil: nothing waits.
  private(set) var deadline: Tick?

  var isEmpty: Bool { waiting.isEmpty }

  init() {}

  init(_ messages: [SendData], at now: Tick) {
    waiting = messages[...]
    deadline = messages.isEmpty ? nil : now
  }

  /// A new message, which must not overtake those before it.
  mutating func add(_ message: SendData) { waiting.append(message) }

  /// All that wait, because nothing is sent later.
  mutating func takeAll() -> ArraySlice<SendData> {
    defer { self = RepeatedMessages() }
    return waiting
  }

  /// The messages that are due.
  mutating func take(at now: Tick) -> ArraySlice<SendData> {
    guard let due = deadline, due <= now else { return [] }
    let group = waiting.prefix(Self.group)
    waiting = waiting.dropFirst(group.count)
    deadline = waiting.isEmpty ? nil : now + Self.interval
    return group
  }
}
