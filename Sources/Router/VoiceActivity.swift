import Glibc
import KoineBase

/// How much one voice speaks, on three time scales.
///
/// After I. Volfin and I. Cohen, “Dominant speaker identification for multipoint videoconferencing” (Computer Speech and
/// Language 27, 2013), fed with the levels of RFC 6464 instead of spectra: ten decibels stand for one of the paper's
/// sub-bands, and a frame that is hardly louder than the quietest of the last seconds is noise, which has no active ones.
/// Immediate: 20 ms; medium: 100 ms; long: 1 s.
struct VoiceActivity {
  /// The scores by which two voices are compared: logarithms of the likelihoods that a voice speaks.
  struct Scores: Equatable { var immediate, medium, long: Double }

  static let frame: Duration = .milliseconds(20)
  private static let subBands = 13
  /// In dB.
  private static let bandWidth = 10
  private static let mediumFrames = 5
  private static let longMediums = 10
  /// Sub-bands active in a frame that counts as speech.
  private static let frameThreshold = 7
  /// Frames of speech in 100 ms that count as speech.
  private static let mediumThreshold = 4
  private static let frames = mediumFrames * longMediums
  /// Steady sound up to −35 dBov is taken for noise; a frame is heard that is so much louder, in dB.
  private static let loudestNoise: UInt8 = 92
  private static let noiseMargin = 12
  private static let noiseFrames = 250

  private static let immediateScores = table(subBands, lambda: 0.78)
  private static let mediumScores = table(mediumFrames, lambda: 24)
  private static let longScores = table(longMediums, lambda: 47)

  /// Active sub-bands in each frame of the last second, a ring.
  private var bands = [UInt8](repeating: 0, count: frames)
  private var next = 0
  private var lastHeard: Tick?
  /// The quietest of the current and of the previous five seconds.
  private var quietest = (now: UInt8.max, before: UInt8.max)
  private var framesOfNoise = 0
  /// How many frames the last packet stood for.
  private var lastFrames = 1

  /// - Parameters:
  ///   - level: −127...0 dBov.
  ///   - frames: that the packet stands for.
  mutating func heard(_ level: Int8, frames: Int = 1, at now: Tick) {
    fillSilence(until: now)
    lastFrames = min(max(frames, 1), Self.frames)
    for _ in 0..<lastFrames { push(UInt8(clamping: 127 + Int(level))) }
    lastHeard = now
  }

  mutating func scores(at now: Tick) -> Scores {
    fillSilence(until: now)
    var mediums = (0, 0)  // frames of speech in the last 100 ms; 100 ms stretches of speech in the last second
    for stretch in 0..<Self.longMediums {
      let speech = speech(in: stretch)
      if stretch == 0 { mediums.0 = speech }
      if speech > Self.mediumThreshold { mediums.1 += 1 }
    }
    return Scores(
      immediate: Self.immediateScores[min(band(0), Self.subBands)], medium: Self.mediumScores[mediums.0],
      long: Self.longScores[mediums.1])
  }

  /// Whether at least 60 of the last 100 ms were speech.
  mutating func isSpeaking(at now: Tick) -> Bool {
    fillSilence(until: now)
    return speech(in: 0) >= 3
  }

  /// Frames of speech in 100 ms, 0 the latest.
  private func speech(in stretch: Int) -> Int {
    (0..<Self.mediumFrames).count { band(stretch * Self.mediumFrames + $0) > Self.frameThreshold }
  }

  /// - Parameter age: in frames, 0 the newest.
  private func band(_ age: Int) -> Int { Int(bands[(next + 2 * Self.frames - 1 - age) % Self.frames]) }

  private mutating func push(_ loudness: UInt8) {
    let noise = min(quietest.now, quietest.before)
    let isNoise = noise <= Self.loudestNoise && Int(loudness) < Int(noise) + Self.noiseMargin
    bands[next] = isNoise ? 0 : loudness / UInt8(Self.bandWidth)
    next = (next + 1) % Self.frames
    quietest.now = min(quietest.now, loudness)
    framesOfNoise += 1
    guard framesOfNoise == Self.noiseFrames else { return }
    quietest = (.max, quietest.now)
    framesOfNoise = 0
  }

  /// Packets that did not come, as with discontinuous transmission, are silence. One frame's lateness is forgiven.
  private mutating func fillSilence(until now: Tick) {
    guard let lastHeard else { return }
    let missing = (now - lastHeard).nanoseconds / Self.frame.nanoseconds - Int64(lastFrames)
    guard missing > 0 else { return }
    for _ in 0..<min(Int(missing), Self.frames) { push(0) }
    self.lastHeard = lastHeard + Self.frame * Int(missing)
  }

  /// By how many of `total` are active: the logarithm of the likelihood ratio under speech (binomial, p = 0.5) and silence
  /// (exponential).
  private static func table(_ total: Int, lambda: Double) -> [Double] {
    (0...total).map { active in
      let choose = lgamma(Double(total + 1)) - lgamma(Double(active + 1)) - lgamma(Double(total - active + 1))
      let score = choose + Double(total) * log(0.5) - log(lambda) + lambda * Double(active)
      return log(max(score, 1e-10))
    }
  }
}
