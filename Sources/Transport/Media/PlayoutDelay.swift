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
  /// Since when less would be enough.
  private var longSince: Tick?

  static let lossFrom = 0.01
  /// A loss is noticed with the packet after the lost one, which may be of the next frame.
  private static let frameInterval = Duration.milliseconds(50)
  /// The delay covers two retransmissions up to the first of these, and one up to the second.
  private static let doubleLimit = Duration.milliseconds(250), limit = Duration.milliseconds(500)
  private static let unit = Duration.milliseconds(10)
  /// A change of the delay is visible, so smaller ones are left out, and the delay falls late.
  private static let step: UInt16 = 3
  private static let hold = Duration.seconds(10)

  /// - Parameter wanted: the delay that is needed now; zero where packets do not get lost.
  mutating func update(_ wanted: Duration, at now: Tick) {
    let wanted = UInt16(min(wanted, Self.limit) / Self.unit)
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

  /// The time that a packet takes to the receiver that is lost at first.
  /// - Parameters:
  ///   - loss: of the path to the receiver; 0...1, smoothed.
  ///   - roundTrip: of that path; nil before the first measurement.
  static func forRetransmissions(atLoss loss: Double, roundTrip: Duration?) -> Duration {
    guard loss >= lossFrom, let roundTrip else { return .zero }
    let first = roundTrip + frameInterval
    return max(first, min(first + roundTrip, doubleLimit))
  }

  /// On two paths one after the other: from the publisher to the router, and from there to the receiver.
  static func sum(_ a: PlayoutDelay, _ b: PlayoutDelay) -> UInt16? {
    guard a.minimum != nil || b.minimum != nil else { return nil }
    return min((a.minimum ?? 0) + (b.minimum ?? 0), UInt16(limit / unit))
  }
}
