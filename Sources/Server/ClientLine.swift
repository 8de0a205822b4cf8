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
struct ClientLine {
  enum Acceptance: Hashable { case now, later, tooMuch, dropped }

  /// Messages that wait for a check, at most.
  static let limit = 1_024
  static let byteLimit = 4 << 20

  let outlet: any SignalOutlet
  /// The address that refused credentials count for.
  let visitor: SocketAddress?
  let pass: DoorKeeper.Pass?
  var isChecking = false
  /// No more of its messages are handled.
  var isClosing = false
  private var refusals = 0
  private var waiting: [IncomingMessage] = []
  private var waitingBytes = 0

  init(outlet: any SignalOutlet, visitor: SocketAddress?, pass: DoorKeeper.Pass? = nil) {
    (self.outlet, self.visitor, self.pass) = (outlet, visitor, pass)
  }

  mutating func accept(_ message: IncomingMessage) -> Acceptance {
    guard !isClosing else { return .dropped }
    guard isChecking else { return .now }
    waitingBytes += message.weight
    guard waiting.count < Self.limit, waitingBytes <= Self.byteLimit else { return .tooMuch }
    waiting.append(message)
    return .later
  }

  /// All that waited, once the check is over. They come back by `accept`, as one of them may need a check, too.
  mutating func takeWaiting() -> [IncomingMessage] {
    (isChecking, waitingBytes) = (false, 0)
    defer { waiting = [] }
    return waiting
  }

  mutating func credentialAccepted() { refusals = 0 }

  /// - Returns: whether it has had so many refused that it has to be closed.
  mutating func credentialRefused() -> Bool {
    refusals += 1
    return refusals >= RefusedCredentials.perConnection
  }
}
