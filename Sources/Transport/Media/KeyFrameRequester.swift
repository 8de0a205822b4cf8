import KoineBase

/// When to ask a sender for a key frame (RFC 4585, 6.3.1), and when to ask again.
///
/// The engine or the router may want one; a stream of frames wants one by itself while it has none to begin with, or has
/// been blocked by a gap for longer than retransmissions take.
struct KeyFrameRequester {
  private static let interval = Duration.milliseconds(300)
  /// Between a request and its copy, on a path that may lose one. The sender takes both for one (`PeerSender`).
  private static let echoPause = Duration.milliseconds(15)
  /// Asks until a key frame has come, rather than once per wish.
  private let repeats: Bool
  private var isWanted = false
  private var lastRequest: Tick?
  private var echo: Tick?
  private(set) var requests = 0

  init(repeats: Bool) { self.repeats = repeats }

  mutating func want() { isWanted = true }
  mutating func keyFrameCame() { (isWanted, echo) = (false, nil) }

  /// - Parameters:
  ///   - waitingUntil: for how long the first key frame is left to arrive by itself.
  ///   - blockedUntil: for how long the gap that keeps frames back is left to retransmissions.
  /// - Returns: when to ask next; the beginning of time means now.
  func deadline(waitingUntil: Tick?, blockedUntil: Tick?) -> Tick? {
    let own = waitingUntil.sooner(blockedUntil)
    guard let wish = isWanted ? .zero : own else { return echo }
    let next: Tick? = lastRequest.map { max(wish, $0 + Self.interval) } ?? wish
    return next.sooner(echo)
  }

  /// - Parameter isLossy: the path may lose the request.
  mutating func requested(at now: Tick, isLossy: Bool) {
    requests += 1
    let isCopy = echo.map { now >= $0 } ?? false
    if isCopy { echo = nil }
    // A copy that leaves very late is the next request, too: no deadline stays in the past.
    if isCopy, let lastRequest, now - lastRequest < Self.interval { return }
    lastRequest = now
    if isLossy, !isCopy { echo = now + Self.echoPause }
    if !repeats { isWanted = false }
  }
}
