package import KoineBase
import KoineSignaling

/// What a client and the router have begun on one line and may go on with on another.
final class Connection: LineHolder {
  var hold: LineHold
  var member: Member?
  /// Made with its first stay.
  var spread: SpreadBudget?
  /// How its client's peer names things.
  var dialect = Dialect.koine
  var conversation = Conversation<ServerMessage>()
  /// After a resumption: the number of the next message that is said again. What the router says before the last of them has
  /// been sent follows it. nil: nothing is left to be said again.
  var repeating: Int?

  /// What of the room's history its client has not been sent; and the same of a `joined` that has not been sent itself.
  private(set) var history: HistoryCursor?
  var comingHistory: HistoryCursor?
  /// Data messages that wait until the history has been sent, and what they weigh in bytes.
  private(set) var held: [ServerMessage] = []
  private(set) var heldBytes = 0

  init(_ hold: LineHold) { self.hold = hold }

  /// `joined` is being sent.
  func beginHistory() {
    _ = endHistory()
    (history, comingHistory) = (comingHistory, nil)
  }

  /// - Parameter next: number in the room's order that the next page begins after; nil once the last is on its way.
  func historyPosted(upTo next: UInt64?) { history?.after = next }

  func hold(_ message: ServerMessage) {
    held.append(message)
    heldBytes += message.weight
  }

  /// - Returns: the messages that were held back.
  @discardableResult
  func endHistory() -> [ServerMessage] {
    defer { (history, held, heldBytes) = (nil, [], 0) }
    return held
  }

  /// Whether its client has shown that it can come back.
  var isResumable: Bool { key != nil && conversation.isTold }
}

/// Something that is held on a line, and may go on on another when that breaks.
package protocol LineHolder: AnyObject {
  var hold: LineHold { get set }
  init(_ hold: LineHold)
}

package struct LineHold: Sendable {
  /// The name of the first line, which stays the holder's own.
  package let id: ConnectionID
  /// Where it is reached; nil while it is lost.
  package fileprivate(set) var line: ConnectionID?
  /// Whoever says it on a new line takes it up.
  package fileprivate(set) var key: String?
  /// When it is given up, while it is lost.
  package fileprivate(set) var deadline: Tick?
  /// What the owner of the lines keeps for a lost holder; released when the holder returns or is given up.
  package fileprivate(set) var permit: (any AnyObject & Sendable)?

  fileprivate init(_ line: ConnectionID) { (id, self.line) = (line, line) }
}

extension LineHolder {
  package var id: ConnectionID { hold.id }
  package var line: ConnectionID? { hold.line }
  package var key: String? { hold.key }
  package var deadline: Tick? { hold.deadline }
}

/// All that is held on lines, by names, lines and keys.
package struct LineTable<Holder: LineHolder> {
  private var holders: [ConnectionID: Holder] = [:]
  private var lines: [ConnectionID: Holder] = [:]
  private var keys: [String: Holder] = [:]
  /// The longest lost first: all have the same grace.
  private var lost: [Holder] = []

  package init() {}

  package subscript(id: ConnectionID) -> Holder? { holders[id] }
  package func holder(on line: ConnectionID) -> Holder? { lines[line] }
  package func holder(withKey key: String) -> Holder? { keys[key] }

  package mutating func open(_ line: ConnectionID) {
    guard lines[line] == nil, holders[line] == nil else { return }
    let holder = Holder(LineHold(line))
    holders[line] = holder
    lines[line] = holder
  }

  package mutating func remove(_ holder: Holder) {
    holders[holder.id] = nil
    if let line = holder.line { lines[line] = nil }
    if let key = holder.key { keys[key] = nil }
    holder.hold.permit = nil
    lost.removeAll { $0 === holder }
  }

  package mutating func lose(
    _ holder: Holder, until deadline: Tick, keeping permit: (any AnyObject & Sendable)? = nil
  ) {
    guard let line = holder.line else { return }
    holder.hold.permit = permit
    lines[line] = nil
    holder.hold.line = nil
    holder.hold.deadline = deadline
    lost.append(holder)
  }

  /// Whatever began on that line gives way; the line it had before, which may still seem to stand, is nobody's.
  package mutating func move(_ holder: Holder, to line: ConnectionID) {
    if let other = lines[line] { remove(other) }
    if let old = holder.line { lines[old] = nil }
    lost.removeAll { $0 === holder }
    (holder.hold.deadline, holder.hold.permit) = (nil, nil)
    holder.hold.line = line
    lines[line] = holder
  }

  package mutating func setKey(_ key: String, of holder: Holder) {
    if let old = holder.key { keys[old] = nil }
    holder.hold.key = key
    keys[key] = holder
  }

  /// A secret of 128 bits from the system, not from the router's own randomness: nothing that the router does depends on it.
  /// - Returns: nil if it has one.
  mutating func makeKey(for holder: Holder) -> String? {
    guard holder.key == nil else { return nil }
    var random = SystemRandomNumberGenerator()
    let key = (0..<2).map { _ in String(random.next(), radix: 36) }.joined(separator: "-")
    setKey(key, of: holder)
    return key
  }

  var holdings: [String: Int] {
    ["connections": holders.count, "lines": lines.count, "keys": keys.count, "lost": lost.count]
  }

  // MARK: Time

  package var deadline: Tick? { lost.first?.deadline }

  /// - Returns: the next whose grace is over.
  package func firstExpired(at now: Tick) -> Holder? {
    guard let first = lost.first, let deadline = first.deadline, deadline <= now else { return nil }
    return first  // its removal takes it off the list
  }
}
