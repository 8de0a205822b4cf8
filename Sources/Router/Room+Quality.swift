import KoineBase
import KoineSignaling
import KoineTransport

// The connection quality of each participant, measured in both directions. All participants are notified when it changes. What a
// receiver's path carries is reported to that receiver only.

extension Room {
  static let qualityInterval: Duration = .seconds(1)

  func checkQuality(at now: Tick) {
    guard let due = nextQualityCheck, due <= now else { return }
    nextQualityCheck = members.isEmpty ? nil : (now + Self.qualityInterval).roundedUp(to: .sharedTurn)
    var changes: [String: ConnectionQuality] = [:]
    for member in members where member.measureQuality(at: now) && !member.grants.isHidden {
      changes[member.id] = member.quality
    }
    for member in members { reportEstimate(to: member) }
    guard !changes.isEmpty else { return }
    tellOthers(.quality(changes), than: nil)
  }

  private func reportEstimate(to member: Member) {
    guard member.isConnected, let estimate = member.layerAllocator.estimate,
      member.subscriptions.contains(where: { !$0.track.codec.isAudio })
    else { return }
    if let reported = member.reportedEstimate, abs(estimate - reported) <= reported / 10 { return }
    member.reportedEstimate = estimate
    outbox.post(.bandwidth(estimate), to: member.client)
  }

  /// Sends a new member the connection quality of all members with less than the best quality.
  func tellQuality(to member: Member) {
    let poor = members.filter { $0.quality != ConnectionQuality() && $0 !== member && !$0.grants.isHidden }
    guard !poor.isEmpty else { return }
    outbox.post(
      .quality(Dictionary(uniqueKeysWithValues: poor.map { ($0.id, $0.quality) })), to: member.client)
  }
}

extension ConnectionQuality.Level {
  /// - Parameters:
  ///   - loss: 0...1.
  ///   - roundTrip: in milliseconds; nil before the first measurement.
  ///   - jitter: in milliseconds (RFC 3550, 6.4.1); what comes so late is waited for.
  init(loss: Double, roundTrip: Double?, jitter: Double = 0) {
    let wait = roundTrip ?? 0
    if loss > 0.2 || wait > 1_000 || jitter > 200 {
      self = .none
    } else if loss > 0.05 || wait > 400 || jitter > 60 {
      self = .low
    } else {
      self = .high
    }
  }
}

/// A second's worth of counting on a participant's way in, and what became of it.
struct PathMeter {
  private var packets = 0
  private var lost = 0
  private(set) var loss = 0.0

  /// - Parameters: since the stay began.
  mutating func count(packets: Int, lost: Int) {
    guard packets >= self.packets, lost >= self.lost else {  // a track was withdrawn with its counts
      (self.packets, self.lost) = (packets, lost)
      return
    }
    let (came, missed) = (packets - self.packets, lost - self.lost)
    guard came + missed > 20 else { return }  // too few: they are counted with the next ones
    (self.packets, self.lost) = (packets, lost)
    loss = Double(missed) / Double(came + missed)
  }
}

extension Member {
  /// - Returns: whether it has changed.
  func measureQuality(at now: Tick) -> Bool {
    guard isConnected else { return false }
    let figures = slot.peer.statistics(at: now)
    var (packets, lost) = (0, 0)
    var jitter = 0.0
    for stream in figures.incoming.values {
      jitter = max(jitter, stream.jitter)
      packets += stream.packets
      // A retransmitted packet that arrives in time is not audible as loss, but it shows the path's loss.
      lost += stream.lost + stream.recovered
    }
    meter.count(packets: packets, lost: lost)
    let new = ConnectionQuality(
      sending: ConnectionQuality.Level(loss: meter.loss, roundTrip: figures.roundTripTime, jitter: jitter),
      receiving: ConnectionQuality.Level(
        loss: slot.peer.outgoingLoss, roundTrip: figures.roundTripTime,
        jitter: figures.outgoing.values.reduce(0) { max($0, $1.reportedJitter) }))
    defer { quality = new }
    return new != quality
  }
}
