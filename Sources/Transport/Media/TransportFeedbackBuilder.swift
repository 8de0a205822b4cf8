import KoineBase
import KoineRTP

/// The receiving end of transport-wide congestion control: notes when each packet of the connection came, and reports it
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
///
/// A client reports 50 ms after the first packet that has not been reported. A server has many peers, and no timer of its own for each
/// of them: its report leaves with the first packet that comes 30 ms after that one (50 ms if there are many), and after 70 ms at the
/// latest.
///
/// A packet that came after its neighbours had been reported is reported with them once more, so that the sender does not
/// take reordering for loss.
struct TransportFeedbackBuilder {
  private static let interval = Duration.milliseconds(50)
  /// Of a server: how long a report waits for a packet, and how much longer it waits at first if there are `many`.
  private static let shortest = Duration.milliseconds(30)
  private static let longest = Duration.milliseconds(70)
  private static let many: Int64 = 8
  private static let pause = Duration.milliseconds(20)
  /// A packet this far behind the newest is not reported any more.
  private static let window: Int64 = 512
  private static let size: Int64 = 2048
  /// So that a report fits a datagram even if every delta takes two bytes.
  private static let packetsPerReport: Int64 = 400
  private static let missing = Int64.min
  private var arrivals: [Int64] = []  // in ns, a ring; allocated with the first packet
  private var highest: Int64 = 0
  /// The first packet of the next report.
  private var next: Int64 = 0
  private var sequence = ExtendedSequence()
  private var reports: UInt8 = 0
  private(set) var deadline: Tick?
  /// From then on the next packet takes the report along.
  private var worthwhile = Tick.zero
  private let waitsForPackets: Bool
  /// Of the newest report, which shares the memory until it is written: each report then takes that of the one before.
  private var deltas: [Int16?] = []

  /// - Parameter waitsForPackets: whether the other ends are many, as a server's are.
  init(waitsForPackets: Bool) { self.waitsForPackets = waitsForPackets }

  mutating func received(_ number: UInt16, at now: Tick) {
    let full = sequence.extend(number)
    if arrivals.isEmpty {
      arrivals = Array(repeating: Self.missing, count: Int(Self.size))
      startReport(at: full)
    }
    if full > highest {
      if full - highest >= Self.size / 2 { startReport(at: full) }
      while highest < full {
        highest += 1
        arrivals[index(highest)] = Self.missing
      }
    } else if highest - full >= Self.window || arrivals[index(full)] != Self.missing {
      return
    }
    arrivals[index(full)] = now.nanoseconds
    next = min(next, full)
    guard deadline == nil else { return }
    deadline = now + (waitsForPackets ? Self.longest : Self.interval)
    worthwhile = now + (waitsForPackets ? Self.shortest : Self.interval)
  }

  /// - Parameter isAwake: a packet has just come.
  func isDue(at now: Tick, isAwake: Bool) -> Bool {
    guard let deadline else { return false }
    guard isAwake else { return now >= deadline }
    return now >= (waitsForPackets && highest - next >= Self.many ? worthwhile + Self.pause : worthwhile)
  }

  /// The next report, if there is anything to report; there may be another right behind it.
  mutating func feedback(sender: UInt32, media: UInt32, at now: Tick) -> TransportFeedback? {
    guard deadline != nil else { return nil }
    next = max(next, highest - Self.size / 2)
    guard let first = (next...highest).first(where: { arrivals[index($0)] != Self.missing }) else {
      deadline = nil
      return nil
    }
    let reference = arrivals[index(first)] / 64_000_000
    var previous = reference * 64_000_000
    deltas.removeAll(keepingCapacity: true)
    let base = next
    while next <= highest, next - base < Self.packetsPerReport {
      let arrival = arrivals[index(next)]
      if arrival == Self.missing {
        deltas.append(nil)
      } else {
        let steps = (arrival - previous) / 250_000
        guard let delta = Int16(exactly: steps) else { break }  // too far apart for one report
        deltas.append(delta)
        previous += steps * 250_000
      }
      next += 1
    }
    if next > highest { deadline = nil }
    reports &+= 1
    return TransportFeedback(
      sender: sender, media: media, base: UInt16(truncatingIfNeeded: base),
      referenceTime: UInt32(truncatingIfNeeded: reference) & 0xFF_FFFF, number: reports, deltas: deltas)
  }

  private mutating func startReport(at full: Int64) {
    highest = full - 1
    next = full
  }

  private func index(_ full: Int64) -> Int { Int(full & (Self.size - 1)) }
}
