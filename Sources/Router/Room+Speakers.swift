import KoineBase
import KoineSignaling

extension Room {
  func reportSpeakers(at now: Tick) {
    let report = speakers.report(at: now)
    guard !report.isEmpty else { return }
    let speakers = Speakers(levels: levels(report.levels), dominant: report.dominant.flatMap(owner))
    tellOthers(.speakers(speakers), than: nil)
  }

  /// Who came in the middle of a conversation learns who leads it, and how loud everybody was when it was last told.
  func tellSpeakers(to member: Member) {
    let told = Speakers(levels: levels(speakers.reported), dominant: speakers.dominant.flatMap(owner))
    guard !told.levels.isEmpty || told.dominant != nil else { return }
    outbox.post(.speakers(told), to: member.connection)
  }

  /// By participant: the loudest voice counts.
  private func levels(_ voices: [(voice: SpeakerBoard.Voice, level: Int8)]) -> [String: Int] {
    var levels: [String: Int] = [:]
    for (voice, level) in voices {
      guard let owner = owner(of: voice) else { continue }
      levels[owner] = max(levels[owner] ?? -127, Int(level))
    }
    return levels
  }

  private func owner(of voice: SpeakerBoard.Voice) -> String? {
    voices.indices.contains(voice) ? voices[voice]?.owner.id : nil
  }
}
