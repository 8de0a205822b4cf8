import Glibc
import KoineBase

/// The bitrate that packet loss allows (gcc-02, section 6): loss above 10 % lowers it, loss below 2 % raises it fast, loss between
/// them raises it slowly.
///
/// A path may lose packets at any send rate, as radio does. If the send rate falls by more than 25 % and the loss stays about the
/// same, that loss is taken as the path's own loss, and only loss beyond it counts.
struct LossBasedEstimator {
  private let limits: BandwidthEstimator.Limits
  private struct Count {
    var lost = 0
    var total = 0
    var windows = 1

    var fraction: Double { total == 0 ? 0 : Double(lost) / Double(total) }

    mutating func add(_ other: Count) {
      windows = total == 0 ? 1 : windows + 1
      lost += other.lost
      total += other.total
    }
  }

  /// A reduction of the send rate: the rate where it began, the loss before it, and the loss at the reduced rate.
  private struct Trial {
    let bitrate: Double
    var before: Count
    var after = Count()
  }

  /// In bit/s.
  private(set) var bitrate: Double
  /// 0...1, smoothed.
  private(set) var loss = 0.0
  /// The path's own loss at any send rate; 0...1.
  private var ownLoss = 0.0
  private var trial: Trial?
  private var window = Count()
  private var since: Tick?
  private static let interval = Duration.milliseconds(300)
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
    window.total += 1
    if isLost { window.lost += 1 }
  }

  /// - Parameter isQueued: whether the path's queue is long. Its loss is then congestion, not the path's own loss.
  mutating func update(delayEstimate: Double, isQueued: Bool, at now: Tick) {
    if isQueued { trial = nil }
    let start = since ?? now
    since = start
    guard now - start > Self.interval, window.total >= Self.fewest else { return }
    let window = window
    if window.fraction > loss {
      loss += (window.fraction - loss) * 0.5
    } else {
      // By time, so that a stream of few packets, with its long windows, recovers as soon as another.
      let intervals = min(((now - start).inSeconds / Self.interval.inSeconds).rounded(.down), 4)
      loss = window.fraction + (loss - window.fraction) * pow(0.7, intervals)
    }
    (self.window, since) = (Count(), now)
    if loss < ownLoss { ownLoss = max(loss, ownLoss - 0.02) }
    let excess = loss - ownLoss
    guard excess > Self.tooMuch else {
      if excess < Self.tooMuch / 2 { trial = nil }
      bitrate = min(bitrate * (excess < 0.02 ? 1.5 : 1.1) + 50_000, Double(limits.maximum))
      return
    }
    let rate = min(bitrate, delayEstimate)
    if let found = judge(rate: rate, isQueued: isQueued, window) {
      ownLoss = min(found.loss, Self.mostOwnLoss)
      bitrate = found.bitrate
    } else {
      bitrate = max(rate * (1 - 0.5 * (excess - Self.tooMuch / 2)), Double(limits.minimum * 2))
    }
  }

  /// Follows a reduction.
  /// - Returns: where it began, and the loss, once much less has been sent and as much was lost all the same.
  private mutating func judge(rate: Double, isQueued: Bool, _ window: Count) -> (bitrate: Double, loss: Double)? {
    guard !isQueued else { return nil }
    guard var current = trial else {
      trial = Trial(bitrate: rate, before: window)
      return nil
    }
    if rate >= current.bitrate * Self.trialDepth {
      if current.before.windows < 2 { current.before.add(window) }
      trial = current
      return nil
    }
    current.after.add(window)
    trial = current
    guard current.after.windows >= 2 else { return nil }
    let isOwn = current.after.fraction > current.before.fraction * 0.75
    trial = isOwn ? nil : Trial(bitrate: rate, before: current.after)
    return isOwn ? (current.bitrate, current.after.fraction) : nil
  }
}
