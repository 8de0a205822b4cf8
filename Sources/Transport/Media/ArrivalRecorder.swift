import KoineBase
import KoineRTP

/// The receiving end of transport-wide congestion control: notes when each packet of the connection came, and reports it
/// every 50 ms (draft-holmer-rmcat-transport-wide-cc-extensions-01).
struct ArrivalRecorder {
  private static let interval = Duration.milliseconds(50)
  private static let limit = 2_000
  private var arrivals: [Tick?] = []
  /// Of the first entry.
  private var first: Int64 = 0
  private var sequence = ExtendedSequence()
  private var count: UInt8 = 0
  private(set) var deadline: Tick?

  mutating func received(_ number: UInt16, at now: Tick) {
    let full = sequence.extend(number)
    if arrivals.isEmpty, full >= first || first == 0 { first = full }
    guard full >= first, full - first < Int64(Self.limit) else { return }  // reported as lost already, or absurd
    while Int64(arrivals.count) <= full - first { arrivals.append(nil) }
    arrivals[Int(full - first)] = arrivals[Int(full - first)] ?? now
    if deadline == nil { deadline = now + Self.interval }
  }

  mutating func feedback(sender: UInt32, media: UInt32, at now: Tick) -> TransportFeedback? {
    guard let due = deadline, now >= due, let start = arrivals.compactMap(\.self).first else { return nil }
    let reference = start.nanoseconds / 64_000_000
    var previous = reference * 64_000_000
    var deltas: [Int16?] = []
    for arrival in arrivals {
      guard let arrival else {
        deltas.append(nil)
        continue
      }
      let steps = (arrival.nanoseconds - previous) / 250_000
      guard let delta = Int16(exactly: steps) else { break }  // too far apart for one packet: the rest goes next time
      deltas.append(delta)
      previous += steps * 250_000
    }
    let base = UInt16(truncatingIfNeeded: first)
    first += Int64(deltas.count)
    arrivals.removeFirst(deltas.count)
    deadline = arrivals.isEmpty ? nil : now + Self.interval
    count &+= 1
    guard !deltas.isEmpty else { return nil }
    return TransportFeedback(
      sender: sender, media: media, base: base, referenceTime: UInt32(truncatingIfNeeded: reference) & 0xFF_FFFF,
      number: count, deltas: deltas)
  }
}
