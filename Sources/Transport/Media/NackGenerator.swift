import KoineBase
import KoineRTP

/// Finds out which packets of a stream are missing and when to ask for them (RFC 4585, 6.2.1).
///
/// A gap is asked about once it has outlived the reordering that is usual on the path, then once per round trip, and
/// given up after a second: what waits for it must then be helped by a key frame.
struct NackGenerator {
  private struct Missing {
    let sequence: Int64
    let since: Tick
    var nextRequest: Tick
    var requests = 0
  }

  private static let limit = 1_000
  private static let patience = Duration.seconds(1)
  private static let requestLimit = 12
  private var missing: [Missing] = []  // in rising order
  private var highest: Int64?
  /// How late packets that were missed came by themselves, smoothed.
  private var reordering = Duration.milliseconds(3)
  private(set) var requested = 0
  private(set) var recovered = 0
  private(set) var abandoned = 0

  /// - Parameter isRecovered: came as a retransmission, not late by itself.
  mutating func received(_ sequence: Int64, isRecovered: Bool, at now: Tick) {
    guard let last = highest else {
      highest = sequence
      return
    }
    guard sequence > last else {
      if let index = missing.firstIndex(where: { $0.sequence == sequence }) {
        let entry = missing.remove(at: index)
        if isRecovered { recovered += 1 } else { adapt(to: now - entry.since) }
      }
      return
    }
    if sequence - last > Int64(Self.limit) {
      missing.removeAll(keepingCapacity: true)  // a new beginning rather than a gap
    } else {
      for gap in (last + 1)..<sequence {
        missing.append(Missing(sequence: gap, since: now, nextRequest: now + reordering))
      }
    }
    highest = sequence
  }

  private mutating func adapt(to lateness: Duration) {
    // Up at once, down slowly: asking too early costs a packet, asking late costs a little time.
    let goal = min(lateness + .milliseconds(1), .milliseconds(30))
    reordering = goal > reordering ? goal : max(reordering - (reordering - goal) / 32, .milliseconds(2))
  }

  var deadline: Tick? { missing.lazy.map(\.nextRequest).min() }

  /// Appends what is to be asked for now.
  mutating func collect(into sequences: inout [UInt16], roundTrip: Duration, at now: Tick) {
    abandoned += missing.count
    missing.removeAll { now - $0.since > Self.patience || $0.requests >= Self.requestLimit }
    abandoned -= missing.count
    if missing.count > Self.limit {
      abandoned += missing.count - Self.limit
      missing.removeFirst(missing.count - Self.limit)
    }
    for index in missing.indices where missing[index].nextRequest <= now {
      missing[index].requests += 1
      missing[index].nextRequest = now + max(roundTrip + roundTrip / 4, .milliseconds(20))
      sequences.append(UInt16(truncatingIfNeeded: missing[index].sequence))
      requested += 1
    }
  }

  /// The oldest packet still hoped for.
  var oldestMissing: Int64? { missing.first?.sequence }
}
