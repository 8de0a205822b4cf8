import KoineBase
import KoineSignaling

extension Room {
  func reportSpeakers(at now: Tick) {
    let report = speakers.report(at: now)
    if !report.isEmpty { tellOthers(.speakers(speakers.speakers(report)), than: nil) }
  }

  /// For a participant that joins.
  func tellSpeakers(to member: Member) {
    let status = speakers.status
    guard !status.levels.isEmpty || status.dominant != nil else { return }
    outbox.post(.speakers(status), to: member.client)
  }
}
