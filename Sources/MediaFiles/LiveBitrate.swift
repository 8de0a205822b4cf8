/// Finds the bitrate of the video of a live stream from how fast its server takes the stream. Sans-IO: it gets what was written and how
/// long the writing waited, and answers with the bitrate.
///
/// While the server takes everything at once, writing never waits. Once the connection's buffers are full, each write waits, and frames
/// queue up in front of the encoder. A window of a second is congested if both last throughout it. Then the bitrate falls below what was
/// written in the window. After several calm windows in a row it rises again.
struct LiveBitrate {
  /// What was written since the beginning.
  struct Totals {
    /// Of video.
    var bytes = 0
    /// For how long the writing of video and audio waited for the server.
    var waited = Duration.zero
  }

  /// Frames that all wait so long in front of the encoder, while at least half of the time goes into waiting for the server, are a sign of
  /// congestion.
  private static let congestedBacklog = Duration.milliseconds(200)
  private static let calmBacklog = Duration.milliseconds(100)
  private static let window = Duration.seconds(1)
  /// Of the rate that the server has taken, so that the backlog shrinks.
  private static let decrease = 0.85

  private let limits: ClosedRange<Int>
  private let increase: Double
  private let calmWindows: Int
  /// In bit/s.
  private(set) var bitrate: Int
  private var windowStart: Duration?
  private var before = Totals()
  /// The shortest wait in the window: single frames also wait because the machine is busy.
  private var backlog: Duration?
  private var lastBacklog = Duration.zero
  private var calm = 0

  /// - Parameters:
  ///   - bitrate: to begin with, in bit/s.
  ///   - increasesQuickly: by 20 % after two calm seconds; otherwise by 8 % after five.
  init(_ bitrate: Int, within limits: ClosedRange<Int>, increasesQuickly: Bool) {
    self.limits = limits
    self.bitrate = min(max(bitrate, limits.lowerBound), limits.upperBound)
    (increase, calmWindows) = increasesQuickly ? (1.2, 2) : (1.08, 5)
  }

  /// - Parameters:
  ///   - totals: what was written so far.
  ///   - waited: how long the newest written frame waited in front of the encoder.
  ///   - now: any clock's time.
  /// - Returns: whether the bitrate is another now.
  mutating func frameWritten(_ totals: Totals, waited: Duration, at now: Duration) -> Bool {
    guard let start = windowStart else {
      (windowStart, before) = (now, totals)
      return false
    }
    backlog = min(backlog ?? waited, waited)
    let length = now - start
    guard length >= Self.window else { return false }
    let old = bitrate
    judge(
      Double(totals.bytes - before.bytes) * 8 / (length / .seconds(1)),
      waiting: (totals.waited - before.waited) / length)
    (lastBacklog, backlog) = (backlog ?? .zero, nil)
    (windowStart, before) = (now, totals)
    return bitrate != old
  }

  /// - Parameters:
  ///   - taken: by the server, in bit/s.
  ///   - waiting: the part of the window in which writing waited.
  private mutating func judge(_ taken: Double, waiting: Double) {
    let backlog = backlog ?? .zero
    if waiting >= 0.5, backlog >= Self.congestedBacklog {
      calm = 0
      // A backlog that shrinks needs no further decrease.
      guard backlog >= lastBacklog || taken < Double(bitrate) else { return }
      set(min(taken, Double(bitrate)) * Self.decrease)
    } else if waiting < 0.2, backlog < Self.calmBacklog {
      calm += 1
      guard calm >= calmWindows else { return }
      calm = 0
      set(Double(bitrate) * increase)
    } else {
      calm = 0
    }
  }

  private mutating func set(_ wanted: Double) {
    bitrate = min(max(Int(wanted), limits.lowerBound), limits.upperBound)
  }
}
