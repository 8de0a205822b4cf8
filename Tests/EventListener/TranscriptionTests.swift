import Foundation
import Koine
import KoineEmbeddedBackend
import KoineTokens
import Testing
import VideoSDKRTC

/// Live text of a meeting.
@Suite struct TranscriptionTests {
  private let environment = TestEnvironment(EmbeddedBackend(virtual: 4))
  private let prompter = Prompter()

  private func join(_ name: String, token: String = "") async -> (meeting: Meeting, texts: TextListener) {
    let (meeting, recorder) = environment.meeting(name, id: name.lowercased(), camera: false, token: token)
    let texts = TextListener(recorder)
    meeting.addEventListener(texts)
    meeting.join()
    await environment.run()
    return (meeting, texts)
  }

  @Test func textReachesAllMeetingsWithParticipantAndTime() async throws {
    TranscriptionService.serve(environment.world, with: prompter)
    let (ana, ben) = (await join("Ana"), await join("Ben"))
    let config = TranscriptionConfig(
      webHookUrl: "https://example.com", summary: SummaryConfig(enabled: true, prompt: "Write a summary"))
    ana.meeting.startTranscription(config: config)
    await environment.run()
    #expect(ben.texts.states == [.TRANSCRIPTION_STARTING, .TRANSCRIPTION_STARTED])
    #expect(ben.meeting.transcriptionState == .TRANSCRIPTION_STARTED)
    prompter.say("hel", as: "ben", isFinal: false)
    prompter.say("hello", as: "ben", isFinal: true)
    await environment.run(.milliseconds(300))
    for listener in [ana.texts, ben.texts] {
      #expect(listener.texts.map(\.text) == ["hel", "hello"])
      #expect(listener.texts.map(\.type) == ["interim", "final"])
      #expect(Set(listener.texts.map(\.participantId)) == ["ben"])
      #expect(Set(listener.texts.map(\.participantName)) == ["Ben"])
    }
    let age = try #require(ana.texts.ages.last)
    #expect(abs(age - 1) < 0.3, "the utterance began a second before it was said")
    ben.meeting.stopTranscription()
    await environment.run()
    #expect(
      ana.texts.states == [
        .TRANSCRIPTION_STARTING, .TRANSCRIPTION_STARTED, .TRANSCRIPTION_STOPPING, .TRANSCRIPTION_STOPPED,
      ])
    #expect(ana.texts.errors.isEmpty)
  }

  @Test func lateParticipantReceivesPresentState() async throws {
    TranscriptionService.serve(environment.world, with: prompter)
    let ana = await join("Ana")
    ana.meeting.startTranscription()
    await environment.run()
    let ben = await join("Ben")
    #expect(ben.texts.states == [.TRANSCRIPTION_STARTED])
    #expect(ben.texts.texts.isEmpty)
  }

  @Test func meetingWithoutTranscriberReportsTheVendorsError() async throws {
    let ana = await join("Ana")
    ana.meeting.startTranscription()
    await environment.run()
    ana.meeting.stopTranscription()
    await environment.run()
    #expect(ana.texts.errors == [.START_TRANSCRIPTION_FAILED, .STOP_TRANSCRIPTION_FAILED])
    #expect(ana.texts.states.isEmpty)
    #expect(VideoSDKError.START_TRANSCRIPTION_FAILED.rawValue == 4031)
    #expect(VideoSDKError.STOP_TRANSCRIPTION_FAILED.rawValue == 4032)
  }

  @Test func participantThatCannotBeTranscribedIsReported() async throws {
    TranscriptionService.serve(environment.world, with: prompter)
    let ana = await join("Ana")
    ana.meeting.startTranscription()
    await environment.run()
    let mute = await join("Mute")
    #expect(ana.texts.errors == [.TRANSCRIPTION_FAILED])
    #expect(VideoSDKError.TRANSCRIPTION_FAILED.rawValue == 5007)
    withExtendedLifetime(mute) {}
  }

  @Test func startBeforeTheJoinIsReported() async throws {
    let (meeting, recorder) = environment.meeting("Ana", id: "ana")
    let texts = TextListener(recorder)
    meeting.addEventListener(texts)
    meeting.startTranscription()
    await environment.run()
    #expect(texts.errors == [.START_TRANSCRIPTION_FAILED])
  }
}

/// Writes down what it is told of the transcription.
private final class TextListener: MeetingEventListener, Sendable {
  private struct Callbacks {
    var states: [TranscriptionState] = []
    var texts: [TranscriptionText] = []
    var ages: [Double] = []
    var errors: [VideoSDKError] = []
  }
  private let told = Lock(Callbacks())
  private let recorder: Recorder
  var states: [TranscriptionState] { told.withLock { $0.states } }
  var texts: [TranscriptionText] { told.withLock { $0.texts } }
  /// Of the texts' timestamps, in seconds, when they arrived.
  var ages: [Double] { told.withLock { $0.ages } }
  var errors: [VideoSDKError] { told.withLock { $0.errors } }

  /// - Parameter recorder: kept, because a meeting holds its listeners weakly.
  init(_ recorder: Recorder) { self.recorder = recorder }

  func onTranscriptionStateChanged(state: TranscriptionState) { told.withLock { $0.states.append(state) } }
  func onTranscriptionText(_ data: TranscriptionText) {
    told.withLock { told in
      told.texts.append(data)
      told.ages.append(Date().timeIntervalSince1970 - Double(data.timestamp) / 1_000)
    }
  }
  func onError(error: VideoSDKError) { told.withLock { $0.errors.append(error) } }
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

  private let runs = Lock<[String: (run: Run, clock: Scheduler)]>([:])
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
