import Testing
import VideoSDKRTC

// Live text, which came with 2.1.2, with its exact signatures.

struct ListenerVersion2_1_2 {
  @Test func additions() {
    let _: (Meeting) -> (TranscriptionConfig?) -> Void = Meeting.startTranscription(config:)
    let _: (Meeting) -> () -> Void = Meeting.stopTranscription
    let _: (String?, SummaryConfig?) -> TranscriptionConfig = TranscriptionConfig.init(webHookUrl:summary:)
    let _: ReferenceWritableKeyPath<TranscriptionConfig, String?> = \TranscriptionConfig.webHookUrl
    let _: ReferenceWritableKeyPath<TranscriptionConfig, SummaryConfig?> = \TranscriptionConfig.summary
    let _: (Bool, String?) -> SummaryConfig = SummaryConfig.init(enabled:prompt:)
    let _: ReferenceWritableKeyPath<SummaryConfig, Bool> = \SummaryConfig.enabled
    let _: ReferenceWritableKeyPath<SummaryConfig, String?> = \SummaryConfig.prompt
    let _: KeyPath<TranscriptionText, String> = \TranscriptionText.participantId
    let _: KeyPath<TranscriptionText, String> = \TranscriptionText.participantName
    let _: KeyPath<TranscriptionText, String> = \TranscriptionText.text
    let _: KeyPath<TranscriptionText, Int> = \TranscriptionText.timestamp
    let _: KeyPath<TranscriptionText, String> = \TranscriptionText.type
    #expect(
      [
        TranscriptionState.TRANSCRIPTION_STARTING, .TRANSCRIPTION_STARTED, .TRANSCRIPTION_STOPPING,
        .TRANSCRIPTION_STOPPED,
      ].map(\.rawValue) == [
        "TRANSCRIPTION_STARTING", "TRANSCRIPTION_STARTED", "TRANSCRIPTION_STOPPING", "TRANSCRIPTION_STOPPED",
      ])
    #expect(
      [
        VideoSDKError.START_TRANSCRIPTION_FAILED, .STOP_TRANSCRIPTION_FAILED, .TRANSCRIPTION_FAILED,
      ].map(\.rawValue) == [4031, 4032, 5007])
  }

  /// Never run: it has only to compile.
  private func additionsProtocols(_ meeting: Meeting, _ meetingEventListener: any MeetingEventListener) {
    meeting.startTranscription()
    let _: (TranscriptionState) -> Void = meetingEventListener.onTranscriptionStateChanged(state:)
    let _: (TranscriptionText) -> Void = meetingEventListener.onTranscriptionText(_:)
  }
}
