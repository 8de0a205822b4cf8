import KoineBase
import KoineSignaling

/// Decides which of a room's microphones are forwarded, measures how loud they are, and finds the active speaker.
///
/// One for each room. `add` registers a published microphone, `receivePacket` takes the audio level of each of its packets
/// (RFC 6464) and answers whether the packet is forwarded, in constant time; `mute` and `remove` end that. `report` is called
/// when `deadline` has come, and answers with the notifications for the participants.
///
/// Up to `limit` sources all are forwarded; beyond, the loudest. Loudness rises within 60 ms and falls within a second,
/// and a challenger must be 6 dB above the weakest forwarded source for three packets: speech gets through at its first
/// syllable, and a pause between words loses nothing. Levels are reported in batches, at most five times a second; the
/// active speaker is decided every 60 ms and reported at once. Levels are in dBov, -127...0.
struct ActiveSpeakerDetector {
  /// A microphone's index in the detector; stable until it is removed, then free for the next one.
  typealias AudioSource = Int

  struct Level: Equatable {
    var source: AudioSource
    var level: Int8
  }

  struct Report: Equatable {
    /// Those that have changed by 2 dB or more.
    var levels: [Level] = []
    var dominant: AudioSource?
    var dominantChanged = false
    var isEmpty: Bool { levels.isEmpty && !dominantChanged }
  }

  private struct Entry {
    let participant: Participant.ID
    var isPresent = true
    var isForwarded = false
    /// Smoothed, 0...127.
    var loudness: Float = 0
    /// Packets in a row in which it was louder than the weakest forwarded source.
    var challenges = 0
    /// The highest level since the last report.
    var peak: Int8 = -127
    var reported: Int8 = -127
    var activity = VoiceActivity()
  }

  static let reportInterval: Duration = .milliseconds(200)
  static let decisionInterval: Duration = .milliseconds(60)
  private static let advantage: Float = 6
  /// After so long without speech there is no active speaker.
  private static let silence: Duration = .seconds(3)
  /// Changes smaller than this are not worth a message, in dB.
  private static let step = 2

  private let limit: Int
  private var sources: [Entry] = []
  private var free: [AudioSource] = []
  private(set) var forwarded: [AudioSource] = []
  private(set) var dominant: AudioSource?
  private var dominantReported: AudioSource?
  /// When the active speaker, or a source that could have become it, last spoke.
  private var lastSpeech: Tick?
  private var lastReport: Tick?
  /// When levels are next reported; nil while there is nothing to report.
  private var nextReport: Tick?
  private var nextDecision: Tick?

  init(limit: Int) {
    self.limit = limit
    forwarded.reserveCapacity(limit)
  }

  /// When `report` is next due; nil while all sources are silent.
  var deadline: Tick? { nextReport.sooner(nextDecision) }

  // MARK: Sources

  mutating func add(_ participant: Participant.ID) -> AudioSource {
    let source: AudioSource
    if let place = free.popLast() {
      source = place
      sources[source] = Entry(participant: participant)
    } else {
      source = sources.count
      sources.append(Entry(participant: participant))
    }
    if forwarded.count < limit { forward(source) }
    return source
  }

  mutating func remove(_ source: AudioSource, at now: Tick) {
    guard isPresent(source) else { return }
    sources[source].isPresent = false
    free.append(source)
    stopForwarding(source)
    if dominant == source {
      dominant = nil
      wake(at: now)
    }
  }

  /// A muted source gives up its place among the forwarded ones.
  mutating func mute(_ source: AudioSource, at now: Tick) {
    guard isPresent(source) else { return }
    sources[source].loudness = 0
    sources[source].activity = VoiceActivity()
    if sources[source].reported != -127 { wake(at: now) }
    if forwarded.count == limit, sources.count - free.count > limit { stopForwarding(source) }
  }

  func isForwarded(_ source: AudioSource) -> Bool { isPresent(source) && sources[source].isForwarded }

  /// Takes one packet's level; nil: the packet does not say.
  /// - Parameter frames: of 20 ms, that the packet stands for.
  /// - Returns: whether the packet is to be forwarded.
  mutating func receivePacket(_ source: AudioSource, level: Int8?, frames: Int = 1, at now: Tick) -> Bool {
    guard isPresent(source) else { return false }
    guard let level else { return sources[source].isForwarded }
    let loudness = Float(127 + Int(level))
    let rate: Float = loudness > sources[source].loudness ? 0.3 : 0.02
    sources[source].loudness += rate * (loudness - sources[source].loudness)
    sources[source].peak = max(sources[source].peak, level)
    sources[source].activity.heard(level, frames: frames, at: now)
    if nextReport == nil, level > -127 { wake(at: now) }
    if !sources[source].isForwarded { challenge(source) }
    return sources[source].isForwarded
  }

  /// Call when `deadline` has come.
  mutating func report(at now: Tick) -> Report {
    if let due = nextDecision, due <= now {
      decide(at: now)
      nextDecision = isWatching ? now + Self.decisionInterval : nil
    }
    let areLevelsDue = nextReport.map { $0 <= now } ?? false
    guard areLevelsDue || dominant != dominantReported else { return Report() }
    nextReport = nil
    lastReport = now
    var report = Report(dominant: dominant, dominantChanged: dominant != dominantReported)
    dominantReported = dominant
    var isAnySourceHeard = false
    for source in sources.indices where sources[source].isPresent {
      let level = sources[source].peak
      sources[source].peak = -127
      if abs(Int(level) - Int(sources[source].reported)) >= Self.step {
        sources[source].reported = level
        report.levels.append(Level(source: source, level: level))
      }
      if sources[source].reported != -127 { isAnySourceHeard = true }
    }
    if isAnySourceHeard {
      wake(at: now)  // so that silence is reported
    } else if !isWatching {
      nextDecision = nil
    }
    return report
  }

  /// Whether there is anything to decide: a source that is not silent, or an active speaker that may have fallen silent.
  private var isWatching: Bool { nextReport != nil || dominant != nil }

  // MARK: By participant

  /// The report as the participants get it. If a participant has several microphones, the loudest counts.
  func speakers(_ report: Report) -> Speakers {
    var levels: [Participant.ID: Int] = [:]
    for entry in report.levels {
      guard let participant = participant(entry.source) else { continue }
      levels[participant] = max(levels[participant] ?? -127, Int(entry.level))
    }
    return Speakers(levels: levels, dominant: report.dominant.flatMap(participant))
  }

  /// For a participant that joins: the active speaker, and the levels that have been reported of sources that are not silent.
  var status: Speakers {
    let levels = sources.indices.compactMap { source -> Level? in
      let entry = sources[source]
      return entry.isPresent && entry.reported > -127 ? Level(source: source, level: entry.reported) : nil
    }
    return speakers(Report(levels: levels, dominant: dominant))
  }

  private func participant(_ source: AudioSource) -> Participant.ID? {
    isPresent(source) ? sources[source].participant : nil
  }

  // MARK: Forwarded sources

  private mutating func challenge(_ source: AudioSource) {
    if forwarded.count < limit { return forward(source) }
    guard let weakest = forwarded.min(by: { sources[$0].loudness < sources[$1].loudness }) else { return }
    guard sources[source].loudness > sources[weakest].loudness + Self.advantage else {
      sources[source].challenges = 0
      return
    }
    sources[source].challenges += 1
    guard sources[source].challenges >= 3 else { return }
    stopForwarding(weakest)
    forward(source)
  }

  private mutating func forward(_ source: AudioSource) {
    guard !sources[source].isForwarded else { return }
    sources[source].isForwarded = true
    sources[source].challenges = 0
    forwarded.append(source)
  }

  private mutating func stopForwarding(_ source: AudioSource) {
    sources[source].isForwarded = false
    forwarded.removeAll { $0 == source }
  }

  // MARK: Active speaker

  /// Another source becomes the active speaker when it beats the present one on all three time scales: the paper's C1, C2
  /// and C3 (`VoiceActivity`) are 3, 2 and 0. Unlike in the paper, there is none after 3 s without speech.
  private mutating func decide(at now: Tick) {
    var best: (source: AudioSource, margin: Double)?
    let leader = dominant.map { sources[$0].activity.scores(at: now) }
    var isAnySourceSpeaking = dominant.map { sources[$0].activity.isSpeaking(at: now) } ?? false
    for source in sources.indices where sources[source].isPresent && source != dominant {
      guard sources[source].activity.isSpeaking(at: now) else { continue }
      isAnySourceSpeaking = true
      let scores = sources[source].activity.scores(at: now)
      var margin = scores.medium
      if let leader {
        guard scores.immediate - leader.immediate > 3, scores.medium - leader.medium > 2, scores.long > leader.long
        else { continue }
        margin -= leader.medium
      }
      if best.map({ margin > $0.margin }) ?? true { best = (source, margin) }
    }
    if let best { dominant = best.source }
    if isAnySourceSpeaking || lastSpeech == nil { lastSpeech = now }
    if let lastSpeech, now - lastSpeech >= Self.silence { dominant = nil }
  }

  private func isPresent(_ source: AudioSource) -> Bool {
    sources.indices.contains(source) && sources[source].isPresent
  }

  private mutating func wake(at now: Tick) {
    let soonest = lastReport.map { max($0 + Self.reportInterval, now) } ?? now + Self.reportInterval
    nextReport = nextReport.sooner(soonest)
    nextDecision = nextDecision.sooner(now + Self.decisionInterval)
  }
}
