import Glibc
import KoineBase

/// How much one voice speaks, on three time scales.
///
/// After I. Volfin and I. Cohen, “Dominant speaker identification for multipoint videoconferencing” (Computer Speech and
/// Language 27, 2013), fed with the levels of RFC 6464 instead of spectra: a level stands for the number of active
/// sub-bands. Immediate: 20 ms; medium: 100 ms; long: 1 s.
struct VoiceActivity {
  /// What is compared between two voices: logarithms of likelihoods that it speaks.
  struct Scores { var immediate, medium, long: Double }

  static let frame: Duration = .milliseconds(20)
  private static let subBands = 13
  private static let mediumFrames = 5
  private static let longMediums = 10
  /// Sub-bands active in a frame that counts as speech, of nine that a level can reach.
  private static let frameThreshold = 7
  /// Frames of speech in 100 ms that count as speech.
  private static let mediumThreshold = 4
  private static let frames = mediumFrames * longMediums

  /// The last second, a ring of loudness 0...127.
  private var levels = [UInt8](repeating: 0, count: frames)
  private var next = 0
  private var lastHeard: Tick?

  /// - Parameter level: −127...0 dBov.
  mutating func heard(_ level: Int8, at now: Tick) {
    fillSilence(until: now)
    push(UInt8(clamping: 127 + Int(level)))
    lastHeard = now
  }

  mutating func scores(at now: Tick) -> Scores {
    fillSilence(until: now)
    var mediums = (0, 0)  // frames of speech in the last 100 ms; 100 ms stretches of speech in the last second
    for stretch in 0..<Self.longMediums {
      var speech = 0
      for frame in 0..<Self.mediumFrames where bands(stretch * Self.mediumFrames + frame) > Self.frameThreshold {
        speech += 1
      }
      if stretch == 0 { mediums.0 = speech }
      if speech > Self.mediumThreshold { mediums.1 += 1 }
    }
    return Scores(
      immediate: Self.score(bands(0), of: Self.subBands, lambda: 0.78),
      medium: Self.score(mediums.0, of: Self.mediumFrames, lambda: 24),
      long: Self.score(mediums.1, of: Self.longMediums, lambda: 47))
  }

  /// Whether at least 60 of the last 100 ms were speech.
  var isSpeaking: Bool { (0..<Self.mediumFrames).count { bands($0) > Self.frameThreshold } >= 3 }

  /// - Parameter age: in frames, 0 the newest.
  private func bands(_ age: Int) -> Int {
    Int(levels[(next + 2 * Self.frames - 1 - age) % Self.frames]) / Self.subBands
  }

  private mutating func push(_ level: UInt8) {
    levels[next] = level
    next = (next + 1) % Self.frames
  }

  /// Packets that did not come, as with discontinuous transmission, are silence. One frame's lateness is forgiven.
  private mutating func fillSilence(until now: Tick) {
    guard let lastHeard else { return }
    let missing = (now - lastHeard).nanoseconds / Self.frame.nanoseconds - 1
    guard missing > 0 else { return }
    for _ in 0..<min(Int(missing), Self.frames) { push(0) }
    self.lastHeard = lastHeard + Self.frame * Int(missing)
  }

  /// The likelihood ratio of `active` of `total` under speech (binomial, p = 0.5) and silence (exponential), as its logarithm.
  private static func score(_ active: Int, of total: Int, lambda: Double) -> Double {
    let choose = lgamma(Double(total + 1)) - lgamma(Double(active + 1)) - lgamma(Double(total - active + 1))
    let score = choose + Double(total) * log(0.5) - log(lambda) + lambda * Double(active)
    return log(max(score, 1e-10))
  }
}
