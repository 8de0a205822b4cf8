import AzureCommunicationCalling
import Foundation
import Koine
import Testing

/// Captions and transcription of a call.
@Suite struct CaptionsTests {
  private let telephone: Telephone
  private let prompter = Prompter()

  init() throws { telephone = try Telephone() }

  private func call(_ user: String) async throws -> (agent: CallAgent, call: Call) {
    let (agent, recorder) = try await telephone.agent(user)
    agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { recorder.take($0, $1) }
    await telephone.run(.seconds(1))
    return (agent, try #require(recorder.call))
  }

  /// - Returns: the codes of the errors that the handler was called with; 0: none.
  private func codes(_ request: (@escaping ((any Error)?) -> Void) -> Void) async -> [Int] {
    let codes = Lock<[Int]>([])
    request { error in codes.withLock { $0.append((error as NSError?)?.code ?? 0) } }
    await telephone.run(.seconds(2))
    return codes.withLock { $0 }
  }

  private func captions(of call: Call) async throws -> CommunicationCaptions {
    let found = Lock<CallCaptions?>(nil)
    call.feature(Features.captions).getCaptions { captions, _ in found.withLock { $0 = captions } }
    await telephone.run(.milliseconds(500))
    return try #require(found.withLock { $0 } as? CommunicationCaptions)
  }

  private func options(_ language: String) -> StartCaptionsOptions {
    let options = StartCaptionsOptions()
    options.spokenLanguage = language
    return options
  }

  @Test func captionsHaveSpeakerTextTypeAndTime() async throws {
    TranscriptionService.serve(telephone.world, with: prompter)
    let (ana, ben) = (try await call("ana"), try await call("ben"))
    let captions = try await captions(of: ana.call)
    let hears = CaptionsRecorder()
    captions.delegate = hears
    #expect(captions.type == .communicationCaptions)
    #expect(captions.supportedSpokenLanguages == ["en-us", "de-de"])
    #expect(!captions.isEnabled)
    #expect(captions.activeSpokenLanguage == "en-us")
    #expect(await codes { captions.startCaptions(options: options("en-us"), completionHandler: $0) } == [0])
    #expect(captions.isEnabled)
    prompter.say("hel", as: "8:acs:ben", isFinal: false)
    prompter.say("hello", as: "8:acs:ben", isFinal: true)
    await telephone.run(.milliseconds(300))
    #expect(
      hears.words == ["enabled true", "8:acs:ben ben hel partial en-us", "8:acs:ben ben hello final en-us"])
    let age = try #require(hears.ages.last)
    #expect(abs(age - 1) < 0.3, "the utterance began a second before it was said")
    #expect(await codes { captions.stopCaptions(completionHandler: $0) } == [0])
    #expect(!captions.isEnabled)
    #expect(hears.words.last == "enabled false")
    withExtendedLifetime(ben) {}
  }

  @Test func transcriptionStateFollowsCaptionsOfAnotherParticipant() async throws {
    TranscriptionService.serve(telephone.world, with: prompter)
    let (ana, ben) = (try await call("ana"), try await call("ben"))
    let transcription = ana.call.feature(Features.transcription)
    let hears = CaptionsRecorder()
    transcription.delegate = hears
    #expect(!transcription.isTranscriptionActive)
    let captions = try await captions(of: ben.call)
    #expect(await codes { captions.startCaptions(startCaptionsOptions: nil, completionHandler: $0) } == [0])
    #expect(transcription.isTranscriptionActive)
    let late = try await call("eva")
    #expect(late.call.feature(Features.transcription).isTranscriptionActive, "also for a late joiner")
    #expect(await codes { captions.stopCaptions(completionHandler: $0) } == [0])
    #expect(!transcription.isTranscriptionActive)
    #expect(hears.words == ["transcription true", "transcription false"])
  }

  @Test func spokenLanguageChangesForAllParticipants() async throws {
    TranscriptionService.serve(telephone.world, with: prompter)
    let (ana, ben) = (try await call("ana"), try await call("ben"))
    let (own, other) = (try await captions(of: ana.call), try await captions(of: ben.call))
    let hears = CaptionsRecorder()
    other.delegate = hears
    #expect(try await captions(of: ana.call) === own, "the same object each time")
    let notActive = CallingCommunicationErrors.captionsNotActive.rawValue
    #expect(await codes { own.set(spokenLanguage: "de-de", completionHandler: $0) } == [notActive])
    #expect(await codes { own.stopCaptions(completionHandler: $0) } == [notActive])
    _ = await codes { own.startCaptions(options: nil, completionHandler: $0) }
    #expect(await codes { own.set(spokenLanguage: "de-de", completionHandler: $0) } == [0])
    #expect(other.activeSpokenLanguage == "de-de")
    #expect(hears.words == ["enabled true", "language de-de"])
    let unknown = CallingCommunicationErrors.captionsRequestedLanguageNotSupported.rawValue
    #expect(await codes { own.set(spokenLanguage: "tlh", completionHandler: $0) } == [unknown])
  }

  @Test func captionsWithoutTranscriberFailWithTheVendorsError() async throws {
    let ana = try await call("ana")
    let feature = ana.call.feature(Features.captions)
    let disabled = CallingCommunicationErrors.captionsDisabledByConfigurations.rawValue
    #expect(await codes { done in feature.getCaptions { done($0 == nil ? $1 : nil) } } == [disabled])
    ana.call.hangUp(options: nil) { _ in }
    await telephone.run(.seconds(1))
    let notConnected = CallingCommunicationErrors.getCaptionsFailedCallStateNotConnected.rawValue
    #expect(await codes { done in feature.getCaptions { done($0 == nil ? $1 : nil) } } == [notConnected])
  }

  @Test func unknownLanguageFailsWithTheVendorsError() async throws {
    TranscriptionService.serve(telephone.world, with: prompter)
    let ana = try await call("ana")
    let captions = try await captions(of: ana.call)
    let unknown = CallingCommunicationErrors.captionsRequestedLanguageNotSupported.rawValue
    #expect(await codes { captions.startCaptions(options: options("tlh"), completionHandler: $0) } == [unknown])
    ana.call.hangUp(options: nil) { _ in }
    await telephone.run(.seconds(1))
    let failed = CallingCommunicationErrors.captionsFailedToStart.rawValue
    #expect(await codes { captions.startCaptions(options: nil, completionHandler: $0) } == [failed])
  }
}

/// Writes down what it is told of captions.
private final class CaptionsRecorder: NSObject, CommunicationCaptionsDelegate, TranscriptionCallFeatureDelegate,
  @unchecked Sendable  // everything mutable is locked
{
  private let told = Lock<(words: [String], ages: [TimeInterval])>(([], []))
  var words: [String] { told.withLock { $0.words } }
  /// Of the captions' timestamps, in seconds, when they arrived.
  var ages: [TimeInterval] { told.withLock { $0.ages } }

  private func note(_ word: String) { told.withLock { $0.words.append(word) } }

  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didChangeCaptionsEnabledState args: PropertyChangedEventArgs
  ) {
    note("enabled \(communicationCaptions.isEnabled)")
  }
  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didChangeActiveSpokenLanguageState args: PropertyChangedEventArgs
  ) {
    note("language \(communicationCaptions.activeSpokenLanguage)")
  }
  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didReceiveCaptions args: CommunicationCaptionsReceivedEventArgs
  ) {
    let speaker = args.speaker
    note(
      "\(speaker.identifier.rawId) \(speaker.displayName) \(args.spokenText) \(args.resultType) \(args.spokenLanguage)")
    told.withLock { $0.ages.append(-args.timestamp.timeIntervalSinceNow) }
  }
  func transcriptionCallFeature(
    _ transcriptionCallFeature: TranscriptionCallFeature, didChangeTranscriptionState args: PropertyChangedEventArgs
  ) {
    note("transcription \(transcriptionCallFeature.isTranscriptionActive)")
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
