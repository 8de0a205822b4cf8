import KoineBase

/// What loss allows (gcc-02, section 6): above 10 % less, below 2 % soon more, between them slowly more.
///
/// A path may lose packets whatever is sent: radio does. So when much less has been sent and as much was lost all the
/// same, that loss is taken to be the path's own, and only what goes beyond it counts.
struct LossCeiling {
  private let limits: BandwidthEstimator.Limits
  /// In bit/s.
  private(set) var bitrate: Double
  /// 0...1, smoothed.
  private(set) var loss = 0.0
  /// Of the path, however little is sent; 0...1.
  private var ownLoss = 0.0
  /// Where the present reduction began.
  private var trial: (bitrate: Double, loss: Double)?
  private var lost = 0
  private var total = 0
  private var since: Tick?
  private static let window = Duration.milliseconds(300)
  /// So few packets say nothing.
  private static let fewest = 20
  private static let tooMuch = 0.10
  /// Of the rate where the trial began.
  private static let trialDepth = 0.75
  private static let mostOwnLoss = 0.5

  init(limits: BandwidthEstimator.Limits) {
    self.limits = limits
    bitrate = Double(limits.maximum)
  }

  mutating func count(isLost: Bool) {
    total += 1
    if isLost { lost += 1 }
  }

  /// - Parameter isQueued: the path's queue is long: what is lost there has nothing to do with the path itself.
  mutating func update(delayEstimate: Double, isQueued: Bool, at now: Tick) {
    if isQueued { trial = nil }
    let start = since ?? now
    since = start
    guard now - start > Self.window, total >= Self.fewest else { return }
    let fraction = Double(lost) / Double(total)
    loss += (fraction - loss) * (fraction > loss ? 0.5 : 0.3)
    (lost, total, since) = (0, 0, now)
    if loss < ownLoss { ownLoss = max(loss, ownLoss - 0.02) }
    let excess = loss - ownLoss
    guard excess > Self.tooMuch else {
      if excess < Self.tooMuch / 2 { trial = nil }
      bitrate = min(bitrate * (excess < 0.02 ? 1.5 : 1.1) + 50_000, Double(limits.maximum))
      return
    }
    let now = min(bitrate, delayEstimate)
    if let began = trial, now < began.bitrate * Self.trialDepth {
      if loss > began.loss * 0.7 {
        ownLoss = min(loss, Self.mostOwnLoss)
        bitrate = began.bitrate
        trial = nil
        return
      }
      trial = (now, loss)
    } else if !isQueued {
      trial = trial ?? (now, loss)
    }
    bitrate = max(now * (1 - 0.5 * (excess - Self.tooMuch / 2)), Double(limits.minimum * 2))
  }
}
