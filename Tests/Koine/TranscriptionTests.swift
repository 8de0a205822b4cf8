import Dispatch
@testable import Koine
import KoineEmbeddedBackend
import struct KoineSignaling.RoomService
import KoineTokens
import Testing

/// A room with a transcriber: requests and permissions, what participants are told, and the audio that the transcriber receives.
@Suite struct TranscriptionTests {
  private let world: World
  private let backend: EmbeddedBackend
  private let transcriber = ScriptedTranscriber()

  init() throws {
    world = try virtualWorld()
    backend = try #require(world.backend as? EmbeddedBackend)
  }

  private func serve() { TranscriptionService.serve(world, with: transcriber) }

  private func enter(
    _ name: String, rights: Set<KoineToken.Right>? = nil, microphone: Bool = true
  ) async throws -> (session: Session, told: Lock<[String]>, stream: LocalStream?) {
    let now = NumericDate.ofSystemClock()
    let credential = try rights.map {
      try KoineToken(rights: $0, issued: now, expires: now + 600).signed(with: SigningKey(generating: .p256))
    }
    let session = Session(JoinRequest(room: "tea", credential: credential, participantID: name, name: name), in: world)
    let told = Lock<[String]>([])
    session.observe { [weak session] event in
      switch event {
      case .transcriptionChanged(let new):
        #expect(session?.transcription == new)
        told.withLock { $0.append("\(new.state) \(new.language)") }
      case .transcribed(let segment):
        told.withLock { $0.append("\(segment.participant): \(segment.text)\(segment.isFinal ? "." : "…")") }
      case .transcriptionFailed(let failure): told.withLock { $0.append("failed \(failure.code.rawValue)") }
      case .messageReceived(let message): told.withLock { $0.append("message \(message.topic)") }
      case .failed(let failure): told.withLock { $0.append("error \(failure)") }
      default: break
      }
    }
    let stream = try microphone ? session.publish(microphone: Devices.microphone("tone")) : nil
    session.join { _ in }
    await world.run(for: .milliseconds(500))
    return (session, told, stream)
  }

  /// - Returns: the failure's code, or `done`; nil without an answer.
  private func outcome(
    _ request: (@escaping @Sendable (Result<Void, Failure>) -> Void) -> Void, within limit: Duration = .seconds(2)
  ) async -> [String] {
    let outcomes = Lock<[String]>([])
    request { result in
      let text = if case .failure(let failure) = result { failure.code.rawValue } else { "done" }
      outcomes.withLock { $0.append(text) }
    }
    await world.run(for: limit)
    return outcomes.withLock { $0 }
  }

  @Test func participantsAudioReachesTranscriberAndItsTextReachesAllParticipants() async throws {
    serve()
    let (ana, anaTold, _) = try await enter("ana")
    let (ben, benTold, _) = try await enter("ben", microphone: false)
    #expect(ana.canBeTranscribed)
    #expect(await outcome { ana.startTranscription(language: "EN-us", completion: $0) } == ["done"])
    #expect(ben.transcription == RoomTranscription(.on, language: "en-US"))
    #expect(ben.participants.map(\.name) == ["ana"], "the service is hidden")
    #expect(transcriber.requests == ["tea ana microphone-1 en-US"])
    #expect(transcriber.blocks(of: "ana") > 100)
    transcriber.hear("ana", 1, "hel", isFinal: false)
    transcriber.hear("ana", 1, "hello", isFinal: true)
    await world.run(for: .milliseconds(200))
    let expected = ["starting en-US", "on en-US", "ana: hel…", "ana: hello."]
    #expect(anaTold.withLock { $0 } == expected)
    #expect(benTold.withLock { $0 } == expected)
  }

  @Test func segmentHasTimesOfTheSessionsClockAndWords() async throws {
    serve()
    let (ana, _, _) = try await enter("ana")
    _ = await outcome { ana.startTranscription(completion: $0) }
    let segments = Lock<[TranscriptSegment]>([])
    ana.observe { if case .transcribed(let segment) = $0 { segments.withLock { $0.append(segment) } } }
    let end = world.backend.scheduler.now
    let words = [TranscriptWord(text: "hi", start: end - .seconds(1), end: end, confidence: 7)]
    transcriber.hear("ana", 4, "hi", isFinal: true, from: end - .seconds(1), words: words)
    await world.run(for: .milliseconds(200))
    let segment = try #require(segments.withLock { $0.first })
    #expect(segment.end == end)
    #expect(segment.start == end - .seconds(1))
    #expect(segment.words == [TranscriptWord(text: "hi", start: end - .seconds(1), end: end, confidence: 1)])
    #expect(segment.id == "ana/1.4")
    #expect(segment.language == "en-US", "the transcriber's first language")
  }

  @Test func roomWithoutTranscriberRefusesStart() async throws {
    let (ana, told, _) = try await enter("ana")
    #expect(!ana.canBeTranscribed)
    #expect(await outcome { ana.startTranscription(completion: $0) } == ["noTranscriber"])
    #expect(told.withLock { $0 }.isEmpty)
  }

  @Test func participantWithoutPermissionCannotStartButLearnsLanguages() async throws {
    serve()
    let (ben, told, _) = try await enter("ben", rights: [.publish, .subscribe, .send])
    #expect(await outcome { ben.startTranscription(completion: $0) } == ["forbidden"])
    #expect(await outcome { ben.stopTranscription(completion: $0) } == ["forbidden"])
    let languages = Lock<[String]>([])
    ben.transcriptionLanguages { result in languages.withLock { $0 = (try? result.get()) ?? [] } }
    await world.run(for: .milliseconds(200))
    #expect(languages.withLock { $0 } == ["en-US", "de-DE"])
    #expect(told.withLock { $0 }.isEmpty)
  }

  @Test func unknownLanguageIsRefused() async throws {
    serve()
    let (ana, _, _) = try await enter("ana")
    #expect(await outcome { ana.startTranscription(language: "tlh", completion: $0) } == ["unknownLanguage"])
    let long = String(repeating: "x", count: 36)
    #expect(await outcome { ana.startTranscription(language: long, completion: $0) } == ["unknownLanguage"])
    #expect(ana.transcription == .off)
  }

  @Test func lateJoinerGetsStateAndNoOldText() async throws {
    serve()
    let (ana, _, _) = try await enter("ana")
    _ = await outcome { ana.startTranscription(language: "de-DE", completion: $0) }
    transcriber.hear("ana", 1, "hallo", isFinal: true)
    let (ben, told, _) = try await enter("ben", microphone: false)
    #expect(told.withLock { $0 } == ["on de-DE"])
    #expect(ben.transcription.language == "de-DE")
    _ = await outcome { ben.stopTranscription(completion: $0) }
    let (_, later, _) = try await enter("cleo", microphone: false)
    #expect(later.withLock { $0 }.isEmpty)
  }

  @Test func stopEndsSessionsAfterTheirLastResults() async throws {
    serve()
    let (ana, told, _) = try await enter("ana")
    _ = await outcome { ana.startTranscription(completion: $0) }
    transcriber.textAtEnd = "the end"
    #expect(await outcome { ana.stopTranscription(completion: $0) } == ["done"])
    #expect(told.withLock { $0.suffix(3) } == ["stopping en-US", "ana: the end.", "off "])
    #expect(transcriber.running == [])
    let blocks = transcriber.blocks(of: "ana")
    await world.run(for: .seconds(1))
    #expect(transcriber.blocks(of: "ana") == blocks, "no audio after the end")
    transcriber.hear("ana", 9, "too late", isFinal: true)
    await world.run(for: .milliseconds(200))
    #expect(told.withLock { $0.last } == "off ")
    #expect(await outcome { ana.stopTranscription(completion: $0) } == ["done"], "it is stopped already")
  }

  @Test func startDuringStopTakesPlaceAfterIt() async throws {
    serve()
    let (ana, told, _) = try await enter("ana")
    _ = await outcome { ana.startTranscription(completion: $0) }
    ana.stopTranscription { _ in }
    await world.run(for: .milliseconds(100))
    #expect(ana.transcription.state == .stopping)
    #expect(await outcome { ana.startTranscription(language: "de-DE", completion: $0) } == ["done"])
    #expect(told.withLock { $0.suffix(4) } == ["stopping en-US", "off ", "starting de-DE", "on de-DE"])
  }

  @Test func mutedMicrophoneIsNotTranscribed() async throws {
    serve()
    let (ana, _, stream) = try await enter("ana")
    _ = await outcome { ana.startTranscription(completion: $0) }
    stream?.setMuted(true)
    await world.run(for: .milliseconds(200))
    #expect(transcriber.running == [])
    stream?.setMuted(false)
    await world.run(for: .milliseconds(200))
    #expect(transcriber.running == ["ana"])
    #expect(transcriber.requests.count == 2)
  }

  @Test func languageChangeStartsNewSessions() async throws {
    serve()
    let (ana, told, _) = try await enter("ana")
    #expect(await outcome { ana.setTranscriptionLanguage("de-DE", completion: $0) } == ["wrongState"])
    _ = await outcome { ana.startTranscription(completion: $0) }
    #expect(await outcome { ana.setTranscriptionLanguage("de-de", completion: $0) } == ["done"])
    #expect(told.withLock { $0.last } == "on de-DE")
    #expect(transcriber.requests.last == "tea ana microphone-1 de-DE")
    #expect(transcriber.running == ["ana"])
  }

  @Test func participantThatCannotBeTranscribedIsReported() async throws {
    serve()
    transcriber.refused = ["ben"]
    let (ana, told, _) = try await enter("ana")
    let (ben, _, _) = try await enter("ben")
    _ = await outcome { ana.startTranscription(completion: $0) }
    #expect(told.withLock { $0 } == ["starting en-US", "on en-US", "failed internal"])
    #expect(transcriber.running == ["ana"])
    #expect(ben.transcription.state == .on)
    let (_, later, _) = try await enter("cleo", microphone: false)
    #expect(later.withLock { $0 } == ["on en-US"], "an earlier failure is no state")
  }

  @Test func lastParticipantsDepartureEndsTranscription() async throws {
    serve()
    let (ana, _, _) = try await enter("ana")
    _ = await outcome { ana.startTranscription(completion: $0) }
    ana.leave {}
    await world.run(for: .seconds(2))
    #expect(transcriber.running == [])
    let (_, told, _) = try await enter("ben")
    #expect(told.withLock { $0 }.isEmpty)
  }

  @Test func requestsFailOnceWhenTheSessionEnds() async throws {
    serve()
    let (ana, _, _) = try await enter("ana")
    backend.cutNetwork(of: "ana", for: .seconds(120))
    let order = Lock<[String]>([])
    ana.observe { if case .stateChanged(.ended) = $0 { order.withLock { $0.append("ended") } } }
    ana.startTranscription { result in
      if case .failure(let failure) = result { order.withLock { $0.append(failure.code.rawValue) } }
    }
    ana.leave {}
    await world.run(for: .seconds(40))
    #expect(order.withLock { $0 } == ["ended", "ended"], "the request's failure, then the end")
  }

  @Test func requestWithoutAnswerFailsAfterItsPatience() async throws {
    backend.attend(as: "transcripts") { TranscriptionService.roomService { _ in } }
    let (ana, _, _) = try await enter("ana")
    #expect(await outcome({ ana.startTranscription(completion: $0) }, within: .seconds(29)) == [])
    #expect(await outcome({ ana.stopTranscription(completion: $0) }, within: .seconds(31)) == ["unreachable"])
  }

  @Test func requestsThatWaitAreLimited() async throws {
    backend.attend(as: "transcripts") { TranscriptionService.roomService { _ in } }
    let (ana, _, _) = try await enter("ana")
    for _ in 0..<PendingTranscription.limit { ana.startTranscription { _ in } }
    #expect(await outcome { ana.startTranscription(completion: $0) } == ["tooMany"])
  }

  @Test func routerRestartKeepsTranscriptionOn() async throws {
    serve()
    let (ana, told, _) = try await enter("ana")
    _ = await outcome { ana.startTranscription(completion: $0) }
    backend.restartRouter()
    await world.run(for: .seconds(10))
    #expect(ana.state == .connected)
    #expect(ana.transcription.state == .on)
    transcriber.hear("ana", 8, "still here", isFinal: true)
    await world.run(for: .milliseconds(300))
    #expect(told.withLock { $0.last } == "ana: still here.")
  }

  /// In a process of its own: other tests have rooms without a transcriber.
  @Test func transcriberOfTheProcessServesRoomsInside() async {
    await #expect(processExitsWith: .success) {
      let world = try virtualWorld()
      let ana = Session(JoinRequest(room: "tea", participantID: "ana", name: "ana"), in: world)
      ana.join { _ in }
      await world.run(for: .milliseconds(500))
      #expect(!ana.canBeTranscribed)
      Transcribers.use(ScriptedTranscriber())
      let ben = Session(JoinRequest(room: "tea", participantID: "ben", name: "ben"), in: world)
      ben.join { _ in }
      await world.run(for: .milliseconds(500))
      #expect(ana.canBeTranscribed, "the next join starts the service")
      ana.startTranscription { _ in }
      await world.run(for: .seconds(1))
      #expect(ben.transcription.state == .on)
    }
  }

  @Test func secondServiceIsNotStarted() throws {
    #expect(TranscriptionService.serve(world, with: transcriber) != nil)
    #expect(TranscriptionService.serve(world, with: transcriber) == nil)
  }

  @Test func recordingAndTranscriptServicesShareTheRouter() async throws {
    let heard = Lock<[String]>([])
    backend.attend {
      RoomService(names: ["koine.recording"]) { message in heard.withLock { $0.append(message.topic) } }
    }
    serve()
    let (ana, _, _) = try await enter("ana")
    #expect(ana.services == ["koine.recording"] + TranscriptionService.names)
    try ana.send(DataMessage(topic: "koine.recording", payload: [], to: ["koine.recording"]))
    #expect(await outcome { ana.startTranscription(completion: $0) } == ["done"])
    #expect(heard.withLock { $0.contains("koine.recording") })
    let (ben, told, _) = try await enter("ben", rights: [.send, .subscribe])
    try ben.send(DataMessage(topic: "koine.recording", payload: [], to: ["koine.recording"]))
    await world.run(for: .milliseconds(300))
    #expect(told.withLock { $0 }.contains { $0.contains("forbidden") }, "the recorder keeps its permission")
  }
}

/// The parts of the service: limits, and results that come too often, too late or too large.
@Suite struct TranscriptionPartsTests {
  @Test func partialResultsBeyondTheRateAreDropped() {
    let clock = Scheduler.virtual()
    let sent = Lock<[String]>([])
    let results = TranscriptResults(clock: clock) { result, _ in sent.withLock { $0.append(result.text) } }
    for number in 0..<30 { results.receive(.scripted(1, "\(number)", isFinal: false)) }
    results.receive(.scripted(1, "all", isFinal: true))
    results.receive(.scripted(1, "after", isFinal: false))
    #expect(sent.withLock { $0.count } == 21)
    #expect(sent.withLock { $0.last } == "all")
    #expect(results.dropped == 11)
  }

  @Test func closedSessionsResultsAreDropped() {
    let sent = Lock(0)
    let results = TranscriptResults(clock: .virtual()) { _, _ in sent.withLock { $0 += 1 } }
    results.close()
    results.receive(.scripted(1, "late", isFinal: true))
    #expect(sent.withLock { $0 } == 0)
  }

  @Test func longTextAndWordsAreCut() {
    var result = TranscriberResult.scripted(1, String(repeating: "é", count: 5_000), isFinal: true)
    result.words = (0..<300).map { _ in TranscriptWord(text: "a", start: .zero, end: .zero, confidence: .nan) }
    let sent = SentSegment(result, id: "a", participant: "ana", language: "en-US", clock: .virtual())
    #expect(sent.text.utf8.count == 4_096)
    #expect(sent.words?.count == 256)
    #expect(sent.words?.first?.confidence == nil)
    let payload = TranscriptMessages.encode(sent)
    #expect(!payload.isEmpty)
    #expect(payload.count <= 64 * 1_024)
    #expect(TranscriptMessages.decode(SentSegment.self, payload) == sent)
  }

  @Test func timesOfMessagesBeyondADayAreClamped() {
    let clock = Scheduler.virtual()
    #expect(clock.tick(ofWallTime: .max) == clock.now + .seconds(86_400))
    #expect(clock.tick(ofWallTime: .min) == clock.now)
    #expect(clock.tick(ofWallTime: -1_000_000_000_000) == clock.now - .seconds(86_400))
    #expect(clock.tick(ofWallTime: clock.wallTime(of: clock.now)) == clock.now)
  }

  /// A recogniser that blocks: its feed keeps five seconds of audio and drops the oldest blocks.
  @Test func slowTranscriberLosesTheOldestAudio() async {
    let session = BlockingSession()
    let feed = TranscriberFeed(session, clock: .real, results: TranscriptResults(clock: .real) { _, _ in })
    feed.play(AudioBlock(captured: .zero))
    session.started.wait()
    for number in 1...TranscriberFeed.capacity + 10 {
      feed.play(AudioBlock(captured: Tick(nanoseconds: Int64(number))))
    }
    feed.finish()
    session.gate.signal()
    session.ended.wait()
    #expect(feed.dropped == 10)
    #expect(session.received.withLock { $0.count } == TranscriberFeed.capacity + 1)
    #expect(session.received.withLock { $0[1].captured.nanoseconds } == 11)
  }

  @Test func roomsAndParticipantsAreLimited() async throws {
    let world = try virtualWorld()
    let backend = try #require(world.backend as? EmbeddedBackend)
    let transcriber = ScriptedTranscriber()
    let logged = Lock<[String]>([])
    let service = TranscriptionService(
      transcriber, rules: .init(rooms: 1, participants: 1), world: { world },
      credential: { try backend.hiddenCredential(for: $0, name: "transcriber") }, say: { backend.send($0) },
      log: { line in logged.withLock { $0.append(line) } })
    let sessions = ["ana", "ben"].map { Session(JoinRequest(room: "tea", participantID: $0, name: $0), in: world) }
    let streams = try sessions.map { try $0.publish(microphone: Devices.microphone("tone")) }
    for session in sessions {
      session.join { _ in }
      await world.run(for: .milliseconds(300))
    }
    let outcomes = Lock<[String]>([])
    for room in ["tea", "milk"] {
      service.start(room) { result in
        let text = if case .failure(let failure) = result { failure.code.rawValue } else { "done" }
        outcomes.withLock { $0.append("\(room) \(text)") }
      }
    }
    await world.run(for: .seconds(1))
    #expect(outcomes.withLock { $0 } == ["milk tooMany", "tea done"])
    #expect(transcriber.running == ["ana"])
    streams[0].setMuted(true)
    await world.run(for: .milliseconds(300))
    #expect(transcriber.running == ["ben"], "the next one that waits")
    await world.run { await service.close() }
    #expect(transcriber.running == [])
    service.start("tea") { result in outcomes.withLock { $0.append("\(result)") } }
    await world.run(for: .milliseconds(300))
    #expect(outcomes.withLock { $0.last }?.contains("ended") == true)
    #expect(logged.withLock { $0 } == ["transcribes tea"])
  }
}

private final class BlockingSession: TranscriberSession, Sendable {
  let (started, gate, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  let received = Lock<[AudioBlock]>([])

  func receiveAudio(_ block: AudioBlock) {
    let isFirst = received.withLock { received in
      received.append(block)
      return received.count == 1
    }
    guard isFirst else { return }
    started.signal()
    gate.wait()
  }
  func finish() { ended.signal() }
}

extension TranscriberResult {
  fileprivate static func scripted(_ utterance: Int, _ text: String, isFinal: Bool) -> TranscriberResult {
    TranscriberResult(utterance: utterance, text: text, isFinal: isFinal, start: .zero, end: .zero)
  }
}

/// Counts audio and gives the results that a test wants.
private final class ScriptedTranscriber: Transcriber, Sendable {
  private final class Run: TranscriberSession, Sendable {
    let participant: String
    let results: @Sendable (TranscriberResult) -> Void
    let blocks = Lock(0)
    let ended: @Sendable (Run) -> Void

    init(
      _ participant: String, _ results: @escaping @Sendable (TranscriberResult) -> Void,
      ended: @escaping @Sendable (Run) -> Void
    ) {
      (self.participant, self.results, self.ended) = (participant, results, ended)
    }
    func receiveAudio(_ block: AudioBlock) { blocks.withLock { $0 += 1 } }
    func finish() { ended(self) }
  }

  private struct State {
    var runs: [Run] = []
    var newest: [String: Run] = [:]
    var requests: [String] = []
    var refused: Set<String> = []
    var textAtEnd: String?
  }
  private struct Refusal: Error {}

  private let state = Lock(State())
  let languages = ["en-US", "de-DE"]

  var requests: [String] { state.withLock { $0.requests } }
  var running: [String] { state.withLock { $0.runs.map(\.participant) } }
  var refused: Set<String> {
    get { state.withLock { $0.refused } }
    set { state.withLock { $0.refused = newValue } }
  }
  var textAtEnd: String? {
    get { state.withLock { $0.textAtEnd } }
    set { state.withLock { $0.textAtEnd = newValue } }
  }
  func blocks(of participant: String) -> Int {
    state.withLock { $0.newest[participant] }?.blocks.withLock { $0 } ?? 0
  }

  func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
  {
    let name = request.participant.id
    if refused.contains(name) { throw Refusal() }
    let run = Run(name, results) { [weak self] run in
      guard let self else { return }
      state.withLock { $0.runs.removeAll { $0 === run } }
      if let text = textAtEnd { run.results(.scripted(100, text, isFinal: true)) }
    }
    state.withLock { state in
      state.runs.append(run)
      state.newest[name] = run
      state.requests.append("\(request.room) \(name) \(request.track.track) \(request.language)")
    }
    return run
  }

  func hear(
    _ participant: String, _ utterance: Int, _ text: String, isFinal: Bool, from start: Tick = .zero,
    words: [TranscriptWord] = []
  ) {
    let end = words.last?.end ?? start
    state.withLock { $0.newest[participant] }?.results(
      TranscriberResult(utterance: utterance, text: text, isFinal: isFinal, start: start, end: end, words: words))
  }
}
