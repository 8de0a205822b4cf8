import AmazonChimeSDK
import Testing

// Live transcription of version 0.27 with its exact signatures.

struct MeetingTranscript {
  @Test func transcript() {
    let _: any TranscriptEvent.Type = Transcript.self
    let _: ([TranscriptResult]) -> Transcript = Transcript.init(results:)
    let _: KeyPath<Transcript, [TranscriptResult]> = \Transcript.results
    let _:
      (String, String?, Bool, Int64, Int64, [TranscriptAlternative], String?, [TranscriptLanguageWithScore]?) ->
        TranscriptResult = TranscriptResult.init(
          resultId:channelId:isPartial:startTimeMs:endTimeMs:alternatives:languageCode:languageIdentification:)
    let _: KeyPath<TranscriptResult, String> = \TranscriptResult.resultId
    let _: KeyPath<TranscriptResult, String?> = \TranscriptResult.channelId
    let _: KeyPath<TranscriptResult, Bool> = \TranscriptResult.isPartial
    let _: KeyPath<TranscriptResult, Int64> = \TranscriptResult.startTimeMs
    let _: KeyPath<TranscriptResult, Int64> = \TranscriptResult.endTimeMs
    let _: KeyPath<TranscriptResult, [TranscriptAlternative]> = \TranscriptResult.alternatives
    let _: KeyPath<TranscriptResult, String?> = \TranscriptResult.languageCode
    let _: KeyPath<TranscriptResult, [TranscriptLanguageWithScore]?> = \TranscriptResult.languageIdentification
    let _: ([TranscriptItem], String, [TranscriptEntity]?) -> TranscriptAlternative = TranscriptAlternative.init(
      items:transcript:entities:)
    let _: KeyPath<TranscriptAlternative, [TranscriptItem]> = \TranscriptAlternative.items
    let _: KeyPath<TranscriptAlternative, [TranscriptEntity]?> = \TranscriptAlternative.entities
    let _: KeyPath<TranscriptAlternative, String> = \TranscriptAlternative.transcript
    let _: (TranscriptItemType, Int64, Int64, AttendeeInfo, String, Bool, Bool?, Double?) -> TranscriptItem =
      TranscriptItem.init(
        type:startTimeMs:endTimeMs:attendee:content:vocabularyFilterMatch:stable:confidence:)
    let _: KeyPath<TranscriptItem, TranscriptItemType> = \TranscriptItem.type
    let _: KeyPath<TranscriptItem, Int64> = \TranscriptItem.startTimeMs
    let _: KeyPath<TranscriptItem, Int64> = \TranscriptItem.endTimeMs
    let _: KeyPath<TranscriptItem, AttendeeInfo> = \TranscriptItem.attendee
    let _: KeyPath<TranscriptItem, String> = \TranscriptItem.content
    let _: KeyPath<TranscriptItem, Bool> = \TranscriptItem.vocabularyFilterMatch
    let _: KeyPath<TranscriptItem, Bool?> = \TranscriptItem.stable
    let _: KeyPath<TranscriptItem, Double?> = \TranscriptItem.confidence
    let _: (String, String, String, Double?, Int64, Int64) -> TranscriptEntity = TranscriptEntity.init(
      type:content:category:confidence:startTimeMs:endTimeMs:)
    let _: KeyPath<TranscriptEntity, String> = \TranscriptEntity.type
    let _: KeyPath<TranscriptEntity, String> = \TranscriptEntity.content
    let _: KeyPath<TranscriptEntity, String> = \TranscriptEntity.category
    let _: KeyPath<TranscriptEntity, Double?> = \TranscriptEntity.confidence
    let _: KeyPath<TranscriptEntity, Int64> = \TranscriptEntity.startTimeMs
    let _: KeyPath<TranscriptEntity, Int64> = \TranscriptEntity.endTimeMs
    let _: (String, Double) -> TranscriptLanguageWithScore = TranscriptLanguageWithScore.init(languageCode:score:)
    let _: KeyPath<TranscriptLanguageWithScore, String> = \TranscriptLanguageWithScore.languageCode
    let _: KeyPath<TranscriptLanguageWithScore, Double> = \TranscriptLanguageWithScore.score
    #expect(
      [TranscriptItemType.unknown, .pronunciation, .punctuation].map(\.rawValue) == [0, 1, 2])
  }

  @Test func status() {
    let _: any TranscriptEvent.Type = TranscriptionStatus.self
    let _: (TranscriptionStatusType, Int64, String, String, String?) -> TranscriptionStatus = TranscriptionStatus.init(
      type:eventTimeMs:transcriptionRegion:transcriptionConfiguration:message:)
    let _: KeyPath<TranscriptionStatus, TranscriptionStatusType> = \TranscriptionStatus.type
    let _: KeyPath<TranscriptionStatus, Int64> = \TranscriptionStatus.eventTimeMs
    let _: KeyPath<TranscriptionStatus, String> = \TranscriptionStatus.transcriptionRegion
    let _: KeyPath<TranscriptionStatus, String> = \TranscriptionStatus.transcriptionConfiguration
    let _: KeyPath<TranscriptionStatus, String?> = \TranscriptionStatus.message
    #expect(
      [TranscriptionStatusType.unknown, .started, .interrupted, .resumed, .stopped, .failed].map(\.rawValue) == [
        0, 1, 2, 3, 4, 5,
      ])
  }

  /// Never run: it has only to compile.
  private func transcriptProtocols(
    _ audioVideo: any AudioVideoFacade, _ transcriptEventObserver: any TranscriptEventObserver
  ) {
    let _: (any TranscriptEvent) -> Void = transcriptEventObserver.transcriptEventDidReceive(transcriptEvent:)
    let _: (any TranscriptEventObserver) -> Void = audioVideo.addRealtimeTranscriptEventObserver(observer:)
    let _: (any TranscriptEventObserver) -> Void = audioVideo.removeRealtimeTranscriptEventObserver(observer:)
    audioVideo.addRealtimeTranscriptEventObserver?(observer: transcriptEventObserver)
    audioVideo.removeRealtimeTranscriptEventObserver?(observer: transcriptEventObserver)
    audioVideo.addRealtimeTranscriptEventObserver(observer: transcriptEventObserver)
    audioVideo.removeRealtimeTranscriptEventObserver(observer: transcriptEventObserver)
  }
}
