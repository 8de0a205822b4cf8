import KoineBase

/// The voices of a room: which of them are forwarded, how loud they are, and who leads the conversation.
///
/// Up to `limit` voices all are forwarded; beyond, the loudest. Loudness rises within 60 ms and falls within a second,
/// and a challenger must be 6 dB above the weakest forwarded voice for three packets: speech gets through at its first
/// syllable, and a pause between words loses nothing. Levels are told in batches, at most five times a second; who leads is
/// looked at every 60 ms and told at once.
struct SpeakerBoard {
  /// A voice's place in the board; stable while it is there.
  typealias Voice = Int

  struct Report: Equatable {
    var levels: [(voice: Voice, level: Int8)] = []
    var dominant: Voice?
    var dominantChanged = false
    var isEmpty: Bool { levels.isEmpty && !dominantChanged }

    static func == (a: Report, b: Report) -> Bool {
      a.dominant == b.dominant && a.dominantChanged == b.dominantChanged
        && a.levels.elementsEqual(b.levels) { $0 == $1 }
    }
  }

  private struct Entry {
    var isPresent = true
    var isForwarded = false
    /// Smoothed, 0...127.
    var loudness: Float = 0
    /// Packets in a row in which it was louder than the weakest forwarded voice.
    var challenges = 0
    /// The loudest since the last report.
    var peak: Int8 = -127
    var reported: Int8 = -127
    var activity = VoiceActivity()
  }

  static let reportInterval: Duration = .milliseconds(200)
  static let decisionInterval: Duration = .milliseconds(60)
  private static let advantage: Float = 6
  /// After so long without speech nobody leads.
  private static let silence: Duration = .seconds(3)
  /// Changes smaller than this are not worth a message, in dB.
  private static let step = 2

  private let limit: Int
  private var voices: [Entry] = []
  private var free: [Voice] = []
  private(set) var forwarded: [Voice] = []
  private(set) var dominant: Voice?
  private var dominantTold: Voice?
  /// When the leader, or anybody who could have taken the lead, was last heard to speak.
  private var lastSpeech: Tick?
  private var lastReport: Tick?
  /// When levels are next told; nil while there is nothing to tell.
  private var nextReport: Tick?
  private var nextDecision: Tick?

  /// What has been told of those who are not silent.
  var reported: [(voice: Voice, level: Int8)] {
    voices.indices.compactMap { voice in
      let entry = voices[voice]
      return entry.isPresent && entry.reported > -127 ? (voice, entry.reported) : nil
    }
  }

  init(limit: Int) {
    self.limit = limit
    forwarded.reserveCapacity(limit)
  }

  /// When `report` is next due; nil while nobody is heard.
  var deadline: Tick? { nextReport.sooner(nextDecision) }

  mutating func add() -> Voice {
    let voice: Voice
    if let place = free.popLast() {
      voice = place
      voices[voice] = Entry()
    } else {
      voice = voices.count
      voices.append(Entry())
    }
    if forwarded.count < limit { forward(voice) }
    return voice
  }

  mutating func remove(_ voice: Voice, at now: Tick) {
    guard isPresent(voice) else { return }
    voices[voice].isPresent = false
    free.append(voice)
    rest(voice)
    if dominant == voice {
      dominant = nil
      wake(at: now)
    }
  }

  /// A muted voice gives up its place.
  mutating func mute(_ voice: Voice, at now: Tick) {
    guard isPresent(voice) else { return }
    voices[voice].loudness = 0
    voices[voice].activity = VoiceActivity()
    if voices[voice].reported != -127 { wake(at: now) }
    if forwarded.count == limit, voices.count - free.count > limit { rest(voice) }
  }

  func isForwarded(_ voice: Voice) -> Bool { isPresent(voice) && voices[voice].isForwarded }

  /// Takes one packet's level, in constant time.
  /// - Parameter frames: of 20 ms, that the packet stands for.
  /// - Returns: whether the packet is to be forwarded.
  mutating func heard(_ voice: Voice, level: Int8?, frames: Int = 1, at now: Tick) -> Bool {
    guard isPresent(voice) else { return false }
    guard let level else { return voices[voice].isForwarded }
    let loudness = Float(127 + Int(level))
    let rate: Float = loudness > voices[voice].loudness ? 0.3 : 0.02
    voices[voice].loudness += rate * (loudness - voices[voice].loudness)
    voices[voice].peak = max(voices[voice].peak, level)
    voices[voice].activity.heard(level, frames: frames, at: now)
    if nextReport == nil, level > -127 { wake(at: now) }
    if !voices[voice].isForwarded { challenge(voice) }
    return voices[voice].isForwarded
  }

  /// Call when `deadline` has come.
  mutating func report(at now: Tick) -> Report {
    if let due = nextDecision, due <= now {
      decide(at: now)
      nextDecision = isWatching ? now + Self.decisionInterval : nil
    }
    let areLevelsDue = nextReport.map { $0 <= now } ?? false
    guard areLevelsDue || dominant != dominantTold else { return Report() }
    nextReport = nil
    lastReport = now
    var report = Report(dominant: dominant, dominantChanged: dominant != dominantTold)
    dominantTold = dominant
    var isAnybodyHeard = false
    for voice in voices.indices where voices[voice].isPresent {
      let level = voices[voice].peak
      voices[voice].peak = -127
      if abs(Int(level) - Int(voices[voice].reported)) >= Self.step {
        voices[voice].reported = level
        report.levels.append((voice, level))
      }
      if voices[voice].reported != -127 { isAnybodyHeard = true }
    }
    if isAnybodyHeard {
      wake(at: now)  // so that their falling silent is told
    } else if !isWatching {
      nextDecision = nil
    }
    return report
  }

  /// Whether there is anything to decide: somebody to be heard, or a leader who may have fallen silent.
  private var isWatching: Bool { nextReport != nil || dominant != nil }

  // MARK: Who is forwarded

  private mutating func challenge(_ voice: Voice) {
    if forwarded.count < limit { return forward(voice) }
    guard let weakest = forwarded.min(by: { voices[$0].loudness < voices[$1].loudness }) else { return }
    guard voices[voice].loudness > voices[weakest].loudness + Self.advantage else {
      voices[voice].challenges = 0
      return
    }
    voices[voice].challenges += 1
    guard voices[voice].challenges >= 3 else { return }
    rest(weakest)
    forward(voice)
  }

  private mutating func forward(_ voice: Voice) {
    guard !voices[voice].isForwarded else { return }
    voices[voice].isForwarded = true
    voices[voice].challenges = 0
    forwarded.append(voice)
  }

  private mutating func rest(_ voice: Voice) {
    voices[voice].isForwarded = false
    forwarded.removeAll { $0 == voice }
  }

  // MARK: Who leads

  /// A new voice leads when it beats the old one on all three time scales: the paper's C1, C2 and C3 are 3, 2 and 0. Unlike
  /// in the paper, nobody leads any more once nobody has spoken for a while.
  private mutating func decide(at now: Tick) {
    var best: (voice: Voice, margin: Double)?
    let leader = dominant.map { voices[$0].activity.scores(at: now) }
    var isAnybodySpeaking = dominant.map { voices[$0].activity.isSpeaking(at: now) } ?? false
    for voice in voices.indices where voices[voice].isPresent && voice != dominant {
      guard voices[voice].activity.isSpeaking(at: now) else { continue }
      isAnybodySpeaking = true
      let scores = voices[voice].activity.scores(at: now)
      var margin = scores.medium
      if let leader {
        guard scores.immediate - leader.immediate > 3, scores.medium - leader.medium > 2, scores.long > leader.long
        else { continue }
        margin -= leader.medium
      }
      if best.map({ margin > $0.margin }) ?? true { best = (voice, margin) }
    }
    if let best { dominant = best.voice }
    if isAnybodySpeaking || lastSpeech == nil { lastSpeech = now }
    if let lastSpeech, now - lastSpeech >= Self.silence { dominant = nil }
  }

  private func isPresent(_ voice: Voice) -> Bool { voices.indices.contains(voice) && voices[voice].isPresent }

  private mutating func wake(at now: Tick) {
    let soonest = lastReport.map { max($0 + Self.reportInterval, now) } ?? now + Self.reportInterval
    nextReport = nextReport.sooner(soonest)
    nextDecision = nextDecision.sooner(now + Self.decisionInterval)
  }
}
