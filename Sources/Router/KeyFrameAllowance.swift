import KoineBase
import KoineSignaling

/// Limits how many key frames one receiver causes, for each track, also across leaving it and subscribing again: a key frame
/// costs all receivers of the track quality.
///
/// One for each receiver. By subscribing, resuming, RTCP PLI and FIR: three at once, then one in 1.7 s. By choosing another
/// simulcast layer: six at once, then 1.2 a second. Key frames that the router needs by itself are not counted.
struct KeyFrameAllowance {
  /// What the receiver has done to need a key frame.
  enum Cause {
    case stream, layer

    fileprivate var cost: Double {
      switch self {
      case .stream: 2
      case .layer: 1
      }
    }
  }

  /// Of tracks; beyond, those with their full allowance are forgotten.
  private static let limit = 512
  private var budgets: [Track.ID: TokenBucket] = [:]

  /// - Returns: false if the receiver has caused too many of late.
  mutating func spend(_ cause: Cause, of track: Track.ID, at now: Tick) -> Bool {
    if budgets.count > Self.limit { budgets = budgets.filter { !$0.value.isFull(at: now) } }
    return budgets[track, default: TokenBucket(burst: 6, perSecond: 1.2, now: now)].take(cause.cost, at: now)
  }
}
