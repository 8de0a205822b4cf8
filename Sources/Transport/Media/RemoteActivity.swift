import KoineBase

/// What is not sent to a receiver for the moment, because it does not answer.
package enum MediaHold: Sendable, Hashable { case none, video, all }

/// When the other end was last heard, and whether it answers while media is being sent to it.
///
/// Silence counts from the first media packet after the last datagram of the other end, so that a receiver that is sent
/// nothing owes no answer. Receivers of video report at least once a second; receivers of audio at least check consent every
/// 5 s, give or take 20 % (RFC 7675).
struct RemoteActivity {
  static let videoLimit = Duration.seconds(2)
  static let audioLimit = Duration.seconds(6)

  private(set) var lastReceived: Tick
  private(set) var hold = MediaHold.none
  private var unansweredSince: Tick?

  init(now: Tick) { lastReceived = now }

  /// An authenticated datagram has come.
  /// - Returns: whether `hold` has changed.
  mutating func received(at now: Tick) -> Bool {
    lastReceived = now
    return restart()
  }

  mutating func sentMedia(at now: Tick) { if unansweredSince == nil { unansweredSince = now } }

  /// Something new is to be sent, for which the other end has asked by signalling.
  /// - Returns: whether `hold` has changed.
  mutating func restart() -> Bool {
    unansweredSince = nil
    defer { hold = .none }
    return hold != .none
  }

  var deadline: Tick? {
    guard let unansweredSince else { return nil }
    switch hold {
    case .none: return unansweredSince + Self.videoLimit
    case .video: return unansweredSince + Self.audioLimit
    case .all: return nil
    }
  }

  /// - Returns: whether `hold` has changed.
  mutating func handleTimeout(at now: Tick) -> Bool {
    guard let deadline, deadline <= now, let unansweredSince else { return false }
    hold = now - unansweredSince >= Self.audioLimit ? .all : .video
    return true
  }
}
