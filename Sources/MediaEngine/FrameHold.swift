import KoineBase

/// Encoded frames that wait a minimum delay after the quickest possible arrival of the last seconds, before they are decoded.
///
/// Waiting frames are encoded, because decoded ones would take hundreds of megabytes. Measured on the sender's RTP clock, so
/// the delay absorbs the path's jitter.
struct FrameHold {
  private struct Entry {
    let frame: EncodedFrame
    /// When the frame would be due without a minimum delay.
    let earliest: Tick
  }

  /// More frames than 10 s hold at 60 frames per second are not kept waiting.
  private static let limit = 700
  private static let window = Duration.seconds(10)
  /// Frames later than the minimum delay by more than this have a longer path, or a new clock.
  private static let resync = Duration.seconds(1)
  private static let clockRate: Int64 = 90_000

  private var entries: [Entry] = []
  private var first = 0
  /// The last frame's RTP timestamp, without wraps.
  private var timestamp: Int64?
  /// Transit times of the last seconds that are smaller than all later ones, in ns.
  private var minima: [(at: Tick, transit: Int64)] = []

  var isEmpty: Bool { first == entries.count }

  mutating func insert(_ frame: EncodedFrame, minimum: Duration) {
    let last = timestamp ?? Int64(frame.rtpTimestamp)
    let unwrapped = last + Int64(Int32(bitPattern: frame.rtpTimestamp &- UInt32(truncatingIfNeeded: last)))
    timestamp = unwrapped
    let seconds = unwrapped.quotientAndRemainder(dividingBy: Self.clockRate)
    let position = seconds.quotient * 1_000_000_000 + seconds.remainder * 1_000_000_000 / Self.clockRate
    let transit = frame.arrived.nanoseconds &- position
    minima.removeAll { frame.arrived - $0.at > Self.window }
    if let base = minima.first?.transit, .nanoseconds(transit &- base) > minimum + Self.resync { minima = [] }
    while let last = minima.last, last.transit >= transit { minima.removeLast() }
    minima.append((frame.arrived, transit))
    entries.append(Entry(frame: frame, earliest: Tick(nanoseconds: position &+ minima[0].transit)))
  }

  /// When the oldest frame is due; nil if none waits.
  func nextDue(minimum: Duration) -> Tick? { isEmpty ? nil : entries[first].earliest + minimum }

  /// Removes and returns the frames that are due, in their order.
  mutating func takeDue(at now: Tick, minimum: Duration) -> [EncodedFrame] {
    let start = first
    while first < entries.count, entries.count - first > Self.limit || entries[first].earliest + minimum <= now {
      first += 1
    }
    let due = entries[start..<first].map(\.frame)
    if first > 64 || isEmpty {
      entries.removeFirst(first)
      first = 0
    }
    return due
  }

  mutating func removeAll() { self = FrameHold() }
}
