/// One end's account of a signalling channel: counts the messages of both directions, and keeps those it sent until the other end
/// has acknowledged them.
///
/// Messages of the channel itself (`isCounted` is false) are neither counted nor kept.
public struct MessageSequence<Message: CountedMessage>: Sendable {
  /// How many sent messages are kept for an end that does not acknowledge them. Beyond, the oldest is dropped, and the channel cannot
  /// be resumed from it any more.
  public struct Limits: Hashable, Sendable {
    public var count: Int
    /// In bytes, estimated by `CountedMessage.weight`.
    public var bytes: Int

    public init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }

    public static var `default`: Limits { Limits(count: 16_384, bytes: 8 * 1024 * 1024) }
    /// For one page of messages that are sent again.
    public static var page: Limits { Limits(count: 256, bytes: SignalingLimits.historyPage) }
    public static var unlimited: Limits { Limits(count: .max, bytes: .max) }
    /// For an end that has never acknowledged a message: it may be of a version that cannot.
    public static var unacknowledged: Limits { Limits(count: 256, bytes: 1024 * 1024) }
  }

  private static var acknowledgementInterval: Int { 16 }

  /// Counted messages that have come from the other end.
  public private(set) var received = 0
  /// Whether the other end acknowledges messages.
  public private(set) var isAcknowledged = false
  private let limits: Limits
  private var kept: [Message] = []
  /// Messages of `kept` before this one have been dropped.
  private var head = 0
  private var bytes = 0
  /// The number of the first kept message, counted from zero.
  private var first = 0
  private var lastAcknowledgement = 0

  /// - Parameter isAcknowledged: whether the other end is known to acknowledge messages.
  public init(limits: Limits = .default, isAcknowledged: Bool = false) {
    (self.limits, self.isAcknowledged) = (limits, isAcknowledged)
  }

  /// Counted messages that have been sent.
  public var sent: Int { first + kept.count - head }

  /// Keeps a message that is being sent.
  public mutating func send(_ message: Message) {
    guard message.isCounted else { return }
    kept.append(message)
    bytes += message.weight
    let limits = isAcknowledged ? limits : .unacknowledged
    while kept.count - head > limits.count || bytes > limits.bytes { dropFirst() }
  }

  /// Counts a message of the other end.
  /// - Returns: the count to acknowledge, after every sixteenth message.
  public mutating func receive(isCounted: Bool = true) -> Int? {
    guard isCounted else { return nil }
    received += 1
    guard received - lastAcknowledgement >= Self.acknowledgementInterval else { return nil }
    lastAcknowledgement = received
    return received
  }

  /// The other end has acknowledged messages. A count that is impossible is ignored.
  public mutating func acknowledge(_ count: Int) {
    isAcknowledged = true
    guard count <= sent else { return }
    while first < count { dropFirst() }
  }

  /// The other end resumes the channel.
  /// - Parameter count: messages that it has received.
  /// - Returns: the messages that it has not received, in order; nil where they have been dropped, or the count is impossible.
  public mutating func resume(received count: Int) -> ArraySlice<Message>? {
    guard count >= first, count <= sent else { return nil }
    acknowledge(count)
    lastAcknowledgement = received
    return kept[head...]
  }

  /// Messages to be sent again, a page at a time.
  /// - Parameters:
  ///   - number: of the page's first message, counted from zero.
  ///   - limits: of the page; a single message may be larger.
  /// - Returns: nil where the first message has been dropped.
  public func page(from number: Int, within limits: Limits) -> ArraySlice<Message>? {
    guard number >= first, number <= sent else { return nil }
    let start = head + number - first
    var (end, size) = (start, 0)
    while end < kept.count, end - start < limits.count {
      size += kept[end].weight
      guard end == start || size <= limits.bytes else { break }
      end += 1
    }
    return kept[start..<end]
  }

  /// Messages that the other end has not acknowledged, in order.
  public var unacknowledged: ArraySlice<Message> { kept[head...] }

  private mutating func dropFirst() {
    bytes -= kept[head].weight
    head += 1
    first += 1
    guard head == kept.count || head >= 64 && head * 2 >= kept.count else { return }
    kept.removeFirst(head)
    head = 0
  }
}

/// A message as a signalling channel sees it.
public protocol CountedMessage: Sendable {
  /// Whether the message is numbered, and sent again when it is lost with its connection.
  var isCounted: Bool { get }
  /// In bytes, estimated.
  var weight: Int { get }
}
