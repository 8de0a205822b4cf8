import KoineBase
import KoineSignaling

/// How many key frames one receiver may cause, counted for each track, also across leaving it and subscribing again.
///
/// Of a stream (subscribing, resuming, RTCP PLI and FIR): three at once, then one in 1.7 s. By choosing another simulcast
/// layer: six at once, then 1.2 a second.
struct KeyFrameWishes {
  enum Kind {
    case stream, layer

    fileprivate var cost: Double {
      switch self {
      case .stream: 2
      case .layer: 1
      }
    }
  }

  private static let limit = 512
  private var budgets: [Track.ID: Budget] = [:]

  /// - Returns: false if the receiver has caused too many of late.
  mutating func take(_ kind: Kind, of track: Track.ID, at now: Tick) -> Bool {
    if budgets.count > Self.limit { budgets = budgets.filter { !$0.value.isFull(at: now) } }
    return budgets[track, default: Budget(burst: 6, perSecond: 1.2, now: now)].take(kind.cost, at: now)
  }
}
