#sourceLocation(file: "Samples/apps/stage-strategy/SpeakerMeter.swift", line: 1)
/// Finds the active speaker in the levels of the audio devices: a stage measures and names no speaker.
struct SpeakerMeter {
  /// In dBFS. Breath and fans are below.
  private static let threshold: Float = -45
  /// The lead that another participant needs to take over, so that the mark does not flicker.
  private static let margin: Float = 3

  private var levels: [String: Float] = [:]
  private(set) var speaker: String?

  /// - Parameter rms: nil: the participant is muted or gone, and is measured no more.
  mutating func measure(_ member: String, rms: Float?) {
    levels[member] = rms.flatMap { $0 > Self.threshold ? $0 : nil }
    let loudest = levels.max { $0.value < $1.value }
    if let speaker, let level = levels[speaker], let loudest, loudest.value <= level + Self.margin { return }
    speaker = loudest?.key
  }
}
