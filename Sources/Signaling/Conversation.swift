/// One side of what a client and the router say to each other, over connections that come and go.
///
/// Both sides count the messages they say and those they hear. What was said is kept until the other side has told that it
/// heard it; when a connection breaks and a new one takes the conversation up, each side says again what the other has not
/// heard. So every message is heard once, in order, however often the connection changed.
///
///     client                                 router
///       ── join ─────────────────────────────→
///       ←───────────────── resumable, joined ──   a key, and how long the router waits
///       ── heard(n) ─────────────────────────→   from then on the router keeps what it says
///       ←───────────────────────── … heard(m) ──   now and then, both ways
///            the connection breaks; a new one
///       ── resumeConversation(key, heard) ───→
///       ←──────────────────── resumed(heard) ──   and both say again what comes after
///
/// Messages about the conversation itself (`isCounted` is false) are neither counted nor kept.
public struct Conversation<Message: CountedMessage>: Sendable {
  /// What is kept at most for a side that has not heard it; beyond, the oldest is forgotten and the conversation can
  /// no longer be taken up.
  public struct Limits: Hashable, Sendable {
    public var count: Int
    /// In bytes, about.
    public var bytes: Int

    public init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }

    public static var `default`: Limits { Limits(count: 16_384, bytes: 8 * 1024 * 1024) }
    /// Of a page that is said again.
    public static var page: Limits { Limits(count: 256, bytes: SignalingLimits.historyPage) }
    public static var unlimited: Limits { Limits(count: .max, bytes: .max) }
    /// For a side that has never told what it hears: perhaps it does not know how.
    public static var untold: Limits { Limits(count: 256, bytes: 1024 * 1024) }
  }

  /// So many of the other side's counted messages have been heard.
  public private(set) var heard = 0
  /// Whether the other side tells what it hears.
  public private(set) var isTold = false
  private let limits: Limits
  private var kept: [Message] = []
  /// Of `kept`: what comes before has been let go.
  private var head = 0
  private var bytes = 0
  /// The number of the first kept message, counted from zero.
  private var first = 0
  private var lastTold = 0

  private static var tellEvery: Int { 16 }

  /// - Parameter isTold: whether the other side is known to tell what it hears.
  public init(limits: Limits = .default, isTold: Bool = false) { (self.limits, self.isTold) = (limits, isTold) }

  /// Counted messages said so far.
  public var said: Int { first + kept.count - head }

  /// Keeps a message that is being said.
  public mutating func say(_ message: Message) {
    guard message.isCounted else { return }
    kept.append(message)
    bytes += message.weight
    let limits = isTold ? limits : .untold
    while kept.count - head > limits.count || bytes > limits.bytes { forget() }
  }

  /// Counts a message of the other side.
  /// - Returns: what to tell it, now and then.
  public mutating func hear(isCounted: Bool = true) -> Int? {
    guard isCounted else { return nil }
    heard += 1
    guard heard - lastTold >= Self.tellEvery else { return nil }
    lastTold = heard
    return heard
  }

  /// The other side has told how much it heard. A number that cannot be is not believed.
  public mutating func told(heard count: Int) {
    isTold = true
    guard count <= said else { return }
    while first < count { forget() }
  }

  /// The other side takes the conversation up.
  /// - Returns: what it has not heard, in order; nil where that is no longer known.
  public mutating func takenUp(heard count: Int) -> ArraySlice<Message>? {
    guard count >= first, count <= said else { return nil }
    told(heard: count)
    lastTold = heard
    return kept[head...]
  }

  /// Part of what the other side is not known to have heard, to be said again a page at a time.
  /// - Parameters:
  ///   - number: of the page's first message, counted from zero.
  ///   - limits: of the page; a single message may be larger.
  /// - Returns: nil where the first of them is no longer known.
  public func page(from number: Int, within limits: Limits) -> ArraySlice<Message>? {
    guard number >= first, number <= said else { return nil }
    let start = head + number - first
    var (end, size) = (start, 0)
    while end < kept.count, end - start < limits.count {
      size += kept[end].weight
      guard end == start || size <= limits.bytes else { break }
      end += 1
    }
    return kept[start..<end]
  }

  /// What the other side is not known to have heard.
  public var unheard: ArraySlice<Message> { kept[head...] }

  private mutating func forget() {
    bytes -= kept[head].weight
    head += 1
    first += 1
    guard head == kept.count || head >= 64 && head * 2 >= kept.count else { return }
    kept.removeFirst(head)
    head = 0
  }
}

/// A message as a conversation sees it.
public protocol CountedMessage: Sendable {
  var isCounted: Bool { get }
  /// In bytes, about.
  var weight: Int { get }
}
