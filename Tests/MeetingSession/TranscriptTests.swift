import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Live transcription of a meeting.
@Suite struct TranscriptTests {
  private let environment = TestEnvironment()
  private let prompter = Prompter()

  private func observe(_ app: App) -> TranscriptRecorder {
    let recorder = TranscriptRecorder()
    app.audioVideo.addRealtimeTranscriptEventObserver?(observer: recorder)
    return recorder
  }

  /// As an app's own back end starts the transcription.
  private func startTranscription() async throws -> TranscriptionService {
    let service = try #require(TranscriptionService.serve(environment.world, with: prompter))
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] { try app.audioVideo.start() }
    apps.withLock { $0 = [ana, ben] }
    await environment.run()
    observers.withLock { $0 = [observe(ana), observe(ben)] }
    service.start("tea", language: "en-US") { _ in }
    await environment.run()
    return service
  }
  private let apps = Lock<[App]>([])
  private let observers = Lock<[TranscriptRecorder]>([])

  @Test func transcriptsHaveResultsAlternativesItemsAndAttendee() async throws {
    let service = try await startTranscription()
    let observer = try #require(observers.withLock { $0.last })
    let now = environment.world.backend.scheduler.now
    let words = [
      TranscriptWord(text: "hello", start: now - .seconds(1), end: now - .milliseconds(600), confidence: 0.9),
      TranscriptWord(text: "there.", start: now - .milliseconds(600), end: now, confidence: 0.8),
    ]
    prompter.say("hello", as: "ana", isFinal: false)
    prompter.say("hello there.", as: "ana", isFinal: true, words: words)
    await environment.run(.milliseconds(300))
    let results = observer.transcripts.flatMap(\.results)
    #expect(results.map(\.isPartial) == [true, false])
    #expect(Set(results.map(\.resultId)).count == 1)
    #expect(results.map { $0.alternatives.map(\.transcript) } == [["hello"], ["hello there."]])
    let result = try #require(results.last)
    #expect(result.endTimeMs - result.startTimeMs == 1_000)
    #expect(abs(Double(result.endTimeMs) / 1_000 - Date().timeIntervalSince1970) < 60)
    #expect(result.languageCode == "en-US")
    #expect(result.channelId == nil)
    #expect(result.languageIdentification == nil)
    let items = try #require(result.alternatives.first?.items)
    #expect(items.map(\.content) == ["hello", "there", "."])
    #expect(items.map(\.type) == [.pronunciation, .pronunciation, .punctuation])
    #expect(items.map { $0.endTimeMs - result.startTimeMs } == [400, 1_000, 1_000])
    #expect(items.map(\.attendee.attendeeId) == ["ana", "ana", "ana"])
    #expect(items.first?.attendee.externalUserId == "Ana")
    #expect(items.map(\.confidence) == [0.9, 0.8, 0.8])
    #expect(items.allSatisfy { !$0.vocabularyFilterMatch && $0.stable == nil })
    #expect(result.alternatives.first?.entities == nil)
    let partial = try #require(results.first?.alternatives.first?.items)
    #expect(partial.map(\.content) == ["hello"], "words of the text where the transcriber gives none")
    withExtendedLifetime(service) {}
  }

  @Test func statusTellsStartAndStopAndLateAttendeesReceiveStart() async throws {
    let service = try await startTranscription()
    let observer = try #require(observers.withLock { $0.first })
    #expect(observer.statuses.map(\.type) == [.started])
    #expect(
      observer.statuses.first?.transcriptionConfiguration == #"{"EngineTranscribeSettings":{"LanguageCode":"en-US"}}"#)
    #expect(observer.statuses.first?.transcriptionRegion == "")
    #expect(observer.statuses.first?.message == nil)
    let late = environment.app("Cleo")
    let heard = observe(late)
    try late.audioVideo.start()
    await environment.run()
    #expect(heard.statuses.map(\.type) == [.started])
    let first = try #require(apps.withLock { $0.first })
    first.audioVideo.removeRealtimeTranscriptEventObserver(observer: observer)
    service.stop("tea") { _ in }
    await environment.run()
    #expect(heard.statuses.map(\.type) == [.started, .stopped])
    #expect(observer.statuses.count == 1, "it was removed")
    #expect(heard.statuses.map(\.eventTimeMs) == heard.statuses.map(\.eventTimeMs).sorted())
  }

  @Test func attendeeThatCannotBeTranscribedIsAFailedStatus() async throws {
    let service = try await startTranscription()
    let observer = try #require(observers.withLock { $0.first })
    let mute = environment.app("mute")
    try mute.audioVideo.start()
    await environment.run()
    #expect(observer.statuses.map(\.type) == [.started, .failed])
    #expect(observer.statuses.last?.message?.contains("mute") == true)
    withExtendedLifetime(service) {}
  }

  @Test func observersAreCalledWithAndWithoutQuestionMark() async throws {
    let app = environment.app("Ana")
    let recorder = TranscriptRecorder()
    app.audioVideo.addRealtimeTranscriptEventObserver(observer: recorder)
    app.audioVideo.addRealtimeTranscriptEventObserver?(observer: recorder)
    app.audioVideo.removeRealtimeTranscriptEventObserver?(observer: recorder)
    let service = try #require(TranscriptionService.serve(environment.world, with: prompter))
    try app.audioVideo.start()
    await environment.run()
    service.start("tea") { _ in }
    await environment.run()
    #expect(recorder.statuses.isEmpty)
  }

  @Test func transcriptValuesKeepWhatTheyAreMadeOf() {
    let attendee = AttendeeInfo(attendeeId: "a", externalUserId: "Ana")
    let item = TranscriptItem(
      type: .punctuation, startTimeMs: 1, endTimeMs: 2, attendee: attendee, content: "!", vocabularyFilterMatch: true,
      stable: true, confidence: 0.5)
    let entity = TranscriptEntity(
      type: "NAME", content: "Ana", category: "PII", confidence: 0.4, startTimeMs: 3, endTimeMs: 4)
    let alternative = TranscriptAlternative(items: [item], transcript: "!", entities: [entity])
    let language = TranscriptLanguageWithScore(languageCode: "en-US", score: 0.3)
    let result = TranscriptResult(
      resultId: "r", channelId: "ch_0", isPartial: true, startTimeMs: 1, endTimeMs: 2, alternatives: [alternative],
      languageCode: "en-US", languageIdentification: [language])
    #expect(Transcript(results: [result]).results.first?.resultId == "r")
    #expect(result.alternatives.first?.items.first?.stable == true)
    #expect(result.alternatives.first?.entities?.first?.category == "PII")
    #expect(result.languageIdentification?.first?.score == 0.3)
    #expect(TranscriptItemType.allCases.map(\.description) == ["unknown", "pronunciation", "punctuation"])
    #expect((0..<6).compactMap(TranscriptionStatusType.init(rawValue:)).map(\.description).last == "failed")
  }
}

private final class TranscriptRecorder: TranscriptEventObserver, Sendable {
  private let told = Lock<(transcripts: [Transcript], statuses: [TranscriptionStatus])>(([], []))
  var transcripts: [Transcript] { told.withLock { $0.transcripts } }
  var statuses: [TranscriptionStatus] { told.withLock { $0.statuses } }

  func transcriptEventDidReceive(transcriptEvent: any TranscriptEvent) {
    told.withLock { told in
      if let transcript = transcriptEvent as? Transcript { told.transcripts.append(transcript) }
      if let status = transcriptEvent as? TranscriptionStatus { told.statuses.append(status) }
    }
  }
}

/// A transcriber that gives the results that a test wants.
private final class Prompter: Transcriber, Sendable {
  private final class Run: TranscriberSession, Sendable {
    let (id, results): (String, @Sendable (TranscriberResult) -> Void)
    private let ended: @Sendable (String) -> Void
    init(
      _ id: String, _ results: @escaping @Sendable (TranscriberResult) -> Void,
      ended: @escaping @Sendable (String) -> Void
    ) {
      (self.id, self.results, self.ended) = (id, results, ended)
    }
    func receiveAudio(_ block: AudioBlock) {}
    func finish() { ended(id) }
  }

  private let runs = Lock<[String: (run: Run, clock: Koine.Scheduler)]>([:])
  let languages = ["en-US", "de-DE"]

  func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
  {
    let id = request.participant.id
    guard id != "mute" else { throw CocoaError(.featureUnsupported) }
    let run = Run(id, results) { [weak self] id in self?.runs.withLock { $0[id] = nil } }
    runs.withLock { $0[id] = (run, request.scheduler) }
    return run
  }

  /// The utterance began a second ago.
  func say(_ text: String, as id: String, isFinal: Bool, words: [TranscriptWord] = []) {
    guard let (run, clock) = runs.withLock({ $0[id] }) else { return }
    run.results(
      TranscriberResult(
        utterance: 1, text: text, isFinal: isFinal, start: clock.now - .seconds(1), end: clock.now, words: words))
  }
}
