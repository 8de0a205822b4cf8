import KoineBase

/// Decides how many earlier payloads the packets of one audio stream repeat (RFC 2198), from the loss on the path they take.
///
/// One copy covers losses that come singly, two cover pairs. Copies are kept for some seconds after the loss has gone, and a
/// path that has not been measured yet gets one.
struct AudioRedundancy {
  /// 0...1: from here on packets carry one copy, or two. At 10 % one copy leaves 1 %.
  private static let oneFrom = 0.01, twoFrom = 0.10
  /// Of one packet's loss in the average: of some three seconds, as two copies cost much for a burst.
  private static let weight = 1.0 / 150
  private static let untilMeasured = Duration.seconds(3)
  private static let hold = Duration.seconds(10)
  static let most = 2
  private var level = 1
  private var average = 0.0
  private var until: Tick?
  /// How many copies packets carry now; 0 before the first.
  var current: Int { until == nil ? 0 : level }

  /// To be asked once for each packet.
  /// - Parameter loss: as measured last, 0...1.
  mutating func copies(atLoss loss: Double, at now: Tick) -> Int {
    average += (loss - average) * Self.weight
    let wanted = average >= Self.twoFrom ? 2 : loss >= Self.oneFrom ? 1 : 0
    guard let end = until else {
      until = now + Self.untilMeasured
      return level
    }
    if wanted >= level, wanted > 0 {
      (level, until) = (wanted, now + Self.hold)
    } else if now >= end {
      (level, until) = (wanted, now + Self.hold)
    }
    return level
  }
}
