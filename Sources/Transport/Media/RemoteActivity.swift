import KoineBase

/// Media that is held back from a receiver because it does not answer.
package enum MediaHold: Sendable, Hashable { case none, video, all }

/// When the other end was last heard, and whether it answers while media is being sent to it.
///
/// Silence counts from the first packet, of video or of any media, after the last datagram of the other end, so that a receiver
/// that is sent nothing owes no answer. Receivers of video report at least once a second; receivers of audio at least check
/// consent every 5 s, give or take 20 % (RFC 7675).
struct RemoteActivity {
  static let videoLimit = Duration.seconds(2)
  static let audioLimit = Duration.seconds(6)

  private(set) var lastReceived: Tick
  private(set) var hold = MediaHold.none
  private var mediaUnansweredSince: Tick?
  private var videoUnansweredSince: Tick?

  init(now: Tick) { lastReceived = now }

  /// An authenticated datagram has come.
  /// - Returns: whether `hold` has changed.
  mutating func received(at now: Tick) -> Bool {
    lastReceived = now
    return restart()
  }

  mutating func sentMedia(isVideo: Bool, at now: Tick) {
    if mediaUnansweredSince == nil { mediaUnansweredSince = now }
    if isVideo, videoUnansweredSince == nil { videoUnansweredSince = now }
  }

  /// Something new is to be sent, for which the other end has asked by signalling.
  /// - Returns: whether `hold` has changed.
  mutating func restart() -> Bool {
    (mediaUnansweredSince, videoUnansweredSince) = (nil, nil)
    defer { hold = .none }
    return hold != .none
  }

  var deadline: Tick? {
    switch hold {
    case .none: videoEnds.sooner(mediaEnds)
    case .video: mediaEnds
    case .all: nil
    }
  }

  private var videoEnds: Tick? { videoUnansweredSince.map { $0 + Self.videoLimit } }
  private var mediaEnds: Tick? { mediaUnansweredSince.map { $0 + Self.audioLimit } }

  /// - Returns: whether `hold` has changed.
  mutating func handleTimeout(at now: Tick) -> Bool {
    guard let deadline, deadline <= now else { return false }
    hold = mediaEnds.map { $0 <= now } == true ? .all : .video
    return true
  }
}
