import KoineBase

/// How long the receiver should hold video frames back, so that retransmitted packets arrive before their frame is shown. It is sent
/// as the header extension playout-delay (http://www.webrtc.org/experiments/rtp-hdrext/playout-delay), which libwebrtc obeys.
///
/// libwebrtc estimates this delay itself, but only from frames that wait for packets. With temporal layers a frame to which no other
/// frame refers does not wait: its successor is decoded and shown, and the frame is skipped, although its packet is on the way.
/// So on a path that loses 5 % of the packets every seventh frame is not shown.
struct PlayoutDelay {
  /// In units of 10 ms; nil as long as the receiver need not be told.
  private(set) var minimum: UInt16?
  /// Of the path, over some seconds; 0...1. One lost packet is no reason to delay all frames.
  private var loss = 0.0
  private var lastUpdate: Tick?
  /// Since when less would be enough.
  private var longSince: Tick?

  private static let lossFrom = 0.01
  private static let lossMemory = Duration.seconds(3)
  /// A loss is noticed with the packet after the lost one, which may be of the next frame.
  private static let frameInterval = Duration.milliseconds(50)
  /// The delay covers two retransmissions up to the first of these, and one up to the second.
  private static let doubleLimit = Duration.milliseconds(250), limit = Duration.milliseconds(500)
  private static let unit = Duration.milliseconds(10)
  /// A change of the delay is visible, so smaller ones are left out, and the delay falls late.
  private static let step: UInt16 = 3
  private static let hold = Duration.seconds(10)

  /// - Parameters:
  ///   - loss: of the path, smoothed over about a second; 0...1.
  ///   - needed: the delay for retransmissions on that path; nil while it is not known.
  mutating func update(loss sample: Double, needed: Duration?, at now: Tick) {
    let elapsed = lastUpdate.map { now - $0 } ?? .milliseconds(100)
    lastUpdate = now
    loss += (sample - loss) * min(max(elapsed / Self.lossMemory, 0), 1)
    set(loss >= Self.lossFrom ? needed ?? .zero : .zero, at: now)
  }

  private mutating func set(_ delay: Duration, at now: Tick) {
    let wanted = UInt16(min(delay, Self.limit) / Self.unit)
    guard let current = minimum else {
      if wanted > 0 { minimum = wanted }
      return
    }
    if wanted + Self.step > current { longSince = nil }
    if wanted >= current + Self.step {
      minimum = wanted
    } else if wanted + Self.step <= current {
      let since = longSince ?? now
      longSince = since
      if now - since >= Self.hold { (minimum, longSince) = (wanted, nil) }
    }
  }

  /// How long a packet takes to the receiver if it is lost and has to be sent again.
  /// - Parameter roundTrip: of the path to the receiver.
  /// - Returns: zero where that is longer than frames may wait.
  static func forRetransmissions(roundTrip: Duration) -> Duration {
    let first = roundTrip + frameInterval
    return first > limit ? .zero : max(first, min(first + roundTrip, doubleLimit))
  }

  /// On two paths one after the other: from the publisher to the router, and from there to the receiver.
  static func sum(_ a: PlayoutDelay, _ b: PlayoutDelay) -> UInt16? {
    guard a.minimum != nil || b.minimum != nil else { return nil }
    return min((a.minimum ?? 0) + (b.minimum ?? 0), UInt16(limit / unit))
  }
}
