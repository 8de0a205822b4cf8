import KoineBase
import KoineSignaling

/// A message as it comes from a connection.
enum IncomingMessage: Sendable {
  case native(Result<ClientMessage, UnreadableMessage>)
  case browser(Result<BrowserMessage, SignalingError>)

  /// Bytes that it holds, about.
  fileprivate var weight: Int {
    switch self {
    case .native(.success(let message)), .browser(.success(.other(let message))): message.weight
    case .browser(.success(.join(_, let offer))), .browser(.success(.offer(let offer))): offer.sdp.utf8.count + 1_024
    case .native(.failure), .browser(.failure): 128
    }
  }
}

/// One connection: where its answers go, and its messages that wait while an earlier one is being checked, so that all are
/// handled in order. On the network loop.
///
///     idle ── a message that needs a check ──→ busy ── the last message that waited has been handled ──→ idle
struct ClientLine {
  enum Acceptance: Hashable { case now, later, tooMuch, dropped }

  /// Messages that wait for a check, at most.
  static let limit = 1_024
  static let byteLimit = 4 << 20
  /// Renewals of a participant's credential that are checked: at once, and then per second.
  static let renewalBurst = 10.0
  static let renewalsPerSecond = 1.0
  /// After so many refused credentials in a row, or offers that cannot be read, the connection is closed.
  static let refusalLimit = 5

  let outlet: any MessageSink
  let pass: ConnectionLimiter.Permit?
  /// A message is being checked, or messages wait behind one that was.
  private(set) var isBusy = false
  /// No more of its messages are handled.
  var isClosing = false
  /// A participant's renewals do not count for its address: strangers at the same address must not hold them up.
  private var renewals: TokenBucket
  private var refusals = 0
  private var waiting: ArraySlice<IncomingMessage> = []
  private var waitingBytes = 0

  init(outlet: any MessageSink, pass: ConnectionLimiter.Permit? = nil, at now: Tick) {
    (self.outlet, self.pass) = (outlet, pass)
    renewals = TokenBucket(burst: Self.renewalBurst, perSecond: Self.renewalsPerSecond, now: now)
  }

  mutating func accept(_ message: IncomingMessage) -> Acceptance {
    guard !isClosing else { return .dropped }
    guard isBusy else { return .now }
    waitingBytes += message.weight
    guard waiting.count < Self.limit, waitingBytes <= Self.byteLimit else { return .tooMuch }
    waiting.append(message)
    return .later
  }

  mutating func beginCheck() { isBusy = true }

  /// - Returns: the first message that waits; nil where none does. Then the next is handled when it comes.
  mutating func takeWaiting() -> IncomingMessage? {
    guard !isClosing, let message = waiting.popFirst() else {
      (isBusy, waiting, waitingBytes) = (false, [], 0)
      return nil
    }
    waitingBytes -= message.weight
    return message
  }

  mutating func takeRenewal(at now: Tick) -> Bool { renewals.take(at: now) }

  mutating func credentialAccepted() { refusals = 0 }

  /// - Returns: whether it has had so many refused that it has to be closed.
  mutating func credentialRefused() -> Bool {
    refusals += 1
    return refusals >= Self.refusalLimit
  }
}
