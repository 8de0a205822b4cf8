import KoineBase

/// When to ask a sender for a key frame (RFC 4585, 6.3.1), and when to ask again.
///
/// The engine or the router may want one; a stream of frames wants one by itself while it has none to begin with, or has
/// been blocked by a gap for longer than retransmissions take.
struct KeyFrameRequester {
  private static let interval = Duration.milliseconds(300)
  /// Asks until a key frame has come, rather than once per wish.
  private let repeats: Bool
  private var isWanted = false
  private var lastRequest: Tick?
  private(set) var requests = 0

  init(repeats: Bool) { self.repeats = repeats }

  mutating func want() { isWanted = true }
  mutating func keyFrameCame() { isWanted = false }

  /// - Parameters:
  ///   - waitingUntil: for how long the first key frame is left to arrive by itself.
  ///   - blockedUntil: for how long the gap that keeps frames back is left to retransmissions.
  /// - Returns: when to ask next; the beginning of time means now.
  func deadline(waitingUntil: Tick?, blockedUntil: Tick?) -> Tick? {
    let own = waitingUntil.sooner(blockedUntil)
    guard let wish = isWanted ? .zero : own else { return nil }
    return lastRequest.map { max(wish, $0 + Self.interval) } ?? wish
  }

  mutating func requested(at now: Tick) {
    lastRequest = now
    requests += 1
    if !repeats { isWanted = false }
  }
}
