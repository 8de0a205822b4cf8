import KoineBase
import KoineRTP

/// Finds out which packets of a stream are missing and when to ask for them (RFC 4585, 6.2.1).
///
/// A missing packet is requested once the gap has outlasted the path's usual reordering, and again each time an answer is overdue.
/// After a second the packet is given up, and the frames that depend on it need a key frame. Requests and answers get lost as
/// well, so every repeated request is sent twice, 15 ms apart. On a path with 8 % loss or more the first request is sent twice
/// as well, and requests are repeated before the answer is overdue.
struct NackGenerator {
  private struct Missing {
    let sequence: Int64
    let since: Tick
    var nextRequest: Tick
    var firstRequest: Tick?
    var requests = 0
  }

  /// Missing packets remembered at most; the oldest go first.
  static let limit = 1_000
  private static let patience = Duration.seconds(1)
  private static let requestLimit = 20
  /// 0...1; from here on a path counts as one that loses much.
  static let lossyFrom = 0.08
  private static let echoPause = Duration.milliseconds(15)
  private var missing: [Missing] = []  // in rising order
  private var highest: Int64?
  /// How late packets that were missed came by themselves, smoothed.
  private var reordering = Duration.milliseconds(3)
  private var answers = AnswerTime()
  /// Of the packets that did not come by themselves, over the last hundred or so; 0...1.
  private(set) var loss = 0.0
  private static let lossMemory = 96.0
  /// Whether the path loses packets, or so few have come that this is not known.
  var mayLose: Bool { loss >= 0.01 || lossWeight > 1 / Self.lossMemory }
  private var lossWeight = 1.0 / 16
  /// When `collect` next has work to do; may turn out to have none.
  private(set) var deadline: Tick?
  private(set) var requested = 0
  private(set) var recovered = 0
  private(set) var abandoned = 0

  var pending: Int { missing.count }

  /// How long frames that could do without a missing packet should wait for it all the same: for two answers.
  var patienceOfFrames: Duration {
    min(max(reordering + (answers.overdue ?? .milliseconds(75)) * 2, .milliseconds(60)), .milliseconds(250))
  }

  /// How long a gap may keep all frames back before a key frame is the better help: it comes no sooner than an answer, and
  /// its many packets are lost like others.
  var patienceWithGap: Duration {
    min(max((answers.overdue ?? .milliseconds(120)) * 3, .milliseconds(350)), .milliseconds(700))
  }

  /// - Parameter isRecovered: came as a retransmission, not late by itself.
  mutating func received(_ sequence: Int64, isRecovered: Bool, at now: Tick) {
    guard let last = highest else {
      highest = sequence
      return
    }
    guard sequence > last else { return arrived(sequence, isRecovered: isRecovered, at: now) }
    highest = sequence
    lossWeight = max(1 / (1 / lossWeight + 1), 1 / Self.lossMemory)  // the first packets tell quickly
    loss -= loss * lossWeight
    guard sequence - last <= Int64(Self.limit) else {
      abandoned += missing.count
      missing.removeAll(keepingCapacity: true)  // a new beginning rather than a gap
      return
    }
    guard sequence - last > 1 else { return }
    let due = now + reordering
    loss += (1 - loss) * min(Double(sequence - last - 1) * lossWeight, 0.5)
    for gap in (last + 1)..<sequence { missing.append(Missing(sequence: gap, since: now, nextRequest: due)) }
    deadline = deadline.sooner(due)
    guard missing.count > Self.limit else { return }
    abandoned += missing.count - Self.limit
    missing.removeFirst(missing.count - Self.limit)
  }

  /// What the first packet that came shows to be missing before it.
  mutating func expect(_ sequences: Range<Int64>, at now: Tick) {
    guard missing.isEmpty else { return }
    for sequence in sequences { missing.append(Missing(sequence: sequence, since: now, nextRequest: now + reordering)) }
    deadline = deadline.sooner(now + reordering)
  }

  private mutating func arrived(_ sequence: Int64, isRecovered: Bool, at now: Tick) {
    let index = firstIndex(notBefore: sequence)
    guard index < missing.count, missing[index].sequence == sequence else { return }
    let entry = missing.remove(at: index)
    if isRecovered {
      recovered += 1
      // After several requests it is unknown which one was answered (Karn's rule); one sample too long does no harm.
      if let asked = entry.firstRequest { answers.add(now - asked, isCertain: entry.requests <= 2) }
    } else {
      loss = max(loss - lossWeight, 0)
      adapt(to: now - entry.since)
    }
    if missing.isEmpty { deadline = nil }
  }

  private mutating func adapt(to lateness: Duration) {
    // Up at once, down slowly: asking too early costs a packet, asking late costs a little time.
    let goal = min(lateness + .milliseconds(1), .milliseconds(30))
    reordering = goal > reordering ? goal : max(reordering - (reordering - goal) / 32, .milliseconds(2))
  }

  /// Packets before this one are of no use any more.
  mutating func forget(before sequence: Int64) {
    guard let first = missing.first, first.sequence < sequence else { return }
    let count = firstIndex(notBefore: sequence)
    abandoned += count
    missing.removeFirst(count)
    if missing.isEmpty { deadline = nil }
  }

  /// Appends the sequence numbers to request now, in rising order.
  /// - Parameter roundTrip: the round trip time from reports, if known. Measured answer times are preferred to it.
  mutating func collect(into sequences: inout [UInt16], roundTrip: Duration?, at now: Tick) {
    guard let due = deadline, now >= due else { return }
    let before = missing.count
    missing.removeAll { now - $0.since >= Self.patience || $0.requests >= Self.requestLimit }
    abandoned += before - missing.count
    let pause = pause(roundTrip)
    let isLossy = loss >= Self.lossyFrom
    var soonest: Tick?
    for index in missing.indices {
      if missing[index].nextRequest <= now {
        missing[index].requests += 1
        missing[index].firstRequest = missing[index].firstRequest ?? now
        // 1 │ 2 3 │ 4 5 │ …, or 1 2 │ 3 4 │ … where much is lost
        let isEchoed = (missing[index].requests + (isLossy ? 1 : 0)).isMultiple(of: 2)
        missing[index].nextRequest = now + (isEchoed ? Self.echoPause : pause)
        sequences.append(UInt16(truncatingIfNeeded: missing[index].sequence))
        requested += 1
      }
      soonest = soonest.sooner(min(missing[index].nextRequest, missing[index].since + Self.patience))
    }
    deadline = soonest
  }

  /// Until the same is asked for again.
  private func pause(_ roundTrip: Duration?) -> Duration {
    if loss >= Self.lossyFrom, let quickest = answers.quickest { return max(quickest * 3 / 5, .milliseconds(20)) }
    return answers.overdue ?? max((roundTrip ?? .milliseconds(80)) * 5 / 4, .milliseconds(20))
  }

  private func firstIndex(notBefore sequence: Int64) -> Int {
    var low = 0
    var high = missing.count
    while low < high {
      let middle = (low + high) / 2
      if missing[middle].sequence < sequence { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// How long answers to requests take, pacing and waiting at the other end included (smoothed as in RFC 6298, section 2).
private struct AnswerTime {
  private var mean: Duration?
  private var deviation = Duration.zero
  /// The shortest of late: however many requests there were, an answer to the first one cannot be quicker.
  private(set) var quickest: Duration?

  /// - Parameter isCertain: it is known which request was answered.
  mutating func add(_ sample: Duration, isCertain: Bool) {
    quickest = min(sample, quickest.map { $0 + $0 / 50 } ?? sample)
    guard isCertain else { return }
    guard let mean else {
      self.mean = sample
      deviation = sample / 4
      return
    }
    let error = sample - mean
    deviation += ((error < .zero ? .zero - error : error) - deviation) / 4
    self.mean = mean + error / 8
  }

  /// Later than this an answer hardly comes; nil before the first.
  var overdue: Duration? {
    mean.map { min(max($0 + deviation * 2, .milliseconds(20)), .milliseconds(400)) }
  }
}
