import KoineBase
import KoineSignaling

extension Room {
  func reportSpeakers(at now: Tick) {
    let report = speakers.report(at: now)
    guard !report.isEmpty else { return }
    var levels: [String: Int8] = [:]
    for (voice, level) in report.levels {
      guard let owner = owner(of: voice) else { continue }
      levels[owner] = max(levels[owner] ?? -127, level)
    }
    tellOthers(.speakers(Speakers(levels: levels, dominant: report.dominant.flatMap(owner))), than: nil)
  }

  /// Who came in the middle of a conversation learns who leads it.
  func tellSpeakers(to member: Member) {
    guard let dominant = speakers.dominant.flatMap(owner) else { return }
    outbox.post(.speakers(Speakers(levels: [:], dominant: dominant)), to: member.connection)
  }

  private func owner(of voice: SpeakerBoard.Voice) -> String? {
    voices.indices.contains(voice) ? voices[voice]?.owner.id : nil
  }
}
