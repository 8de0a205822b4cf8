public import Koine

extension Person {
  /// Says a text that the room's transcriber recognises, if the room is transcribed and the person's microphone is on. It is not
  /// audible: the microphone keeps its tone. Each word takes 300 ms of the room's time and gives a partial result. The final result
  /// follows 300 ms after the last word. Texts that are said meanwhile wait, at most 100.
  ///
  ///     try await room.startTranscription()
  ///     bea.says("hello there")
  ///     await room.until("Ana reads it") { app.caption == "hello there" }
  /// - Returns: whether the transcriber listens to the person. If not, the text is lost, as speech is.
  @discardableResult
  public func says(_ text: String) -> Bool { room.transcriber.say(text, as: [id]) }

  /// Segments of the room's transcript that have reached this person, in the order in which they arrived: the newest 1,000.
  public var transcript: [TranscriptSegment] { transcriptLog.segments }
}

extension TestRoom {
  /// The languages that the room's transcriber knows, as BCP 47 tags. It recognises the same texts in all of them.
  public static let transcriberLanguages = ["en-US", "de-DE", "es-ES", "fr-FR", "it-IT", "ja-JP", "pt-BR", "zh-CN"]

  /// Says a text as `Person.says(_:)` does, for the person with this name or the app that acts as this person.
  /// - Returns: whether the transcriber listens to the participant.
  @discardableResult
  public func say(_ text: String, as name: String) -> Bool { transcriber.say(text, as: ids(of: name)) }

  /// Whether the room's transcriber listens to the person, or to the app that acts as this person.
  public func isTranscribed(_ name: String) -> Bool { transcriber.listens(to: ids(of: name)) }

  /// Starts the transcription of the room, as an app's own back end does, and returns once it has started. The room needs a participant.
  /// - Parameter language: one of `transcriberLanguages`; nil: the first.
  /// - Throws: `Failure` if it cannot be started.
  public func startTranscription(language: String? = nil) async throws {
    let outcome = Outcome()
    transcripts?.start(id, language: language) { outcome.set($0) }
    try await finish(outcome, "the transcription has not started")
  }

  /// Stops the transcription of the room, as an app's own back end does, and returns once it has stopped.
  /// - Throws: `Failure` if it cannot be stopped.
  public func stopTranscription() async throws {
    let outcome = Outcome()
    transcripts?.stop(id) { outcome.set($0) }
    try await finish(outcome, "the transcription has not stopped")
  }

  private func ids(of name: String) -> [Participant.ID] { [people.entry(named: name).id, identity(of: name)] }
}

/// Keeps the segments that have reached a person.
final class TranscriptLog: Sendable {
  private static let limit = 1_000
  private let kept = Lock<[TranscriptSegment]>([])

  var segments: [TranscriptSegment] { kept.withLock { $0 } }

  func add(_ segment: TranscriptSegment) {
    kept.withLock { kept in
      if kept.count == Self.limit { kept.removeFirst() }
      kept.append(segment)
    }
  }
}

/// The transcriber of a test room: it gets the texts from the test instead of the audio.
final class TestTranscriber: Transcriber, Sendable {
  private let speakers = Lock<[Participant.ID: Speaker]>([:])

  var languages: [String] { TestRoom.transcriberLanguages }

  func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
  {
    let id = request.participant.id
    let speaker = Speaker(request.scheduler, results) { [weak self] speaker in
      self?.speakers.withLock { if $0[id] === speaker { $0[id] = nil } }
    }
    speakers.withLock { $0[id] = speaker }
    return speaker
  }

  func listens(to ids: [Participant.ID]) -> Bool {
    speakers.withLock { speakers in ids.contains { speakers[$0] != nil } }
  }

  /// - Returns: whether one of the ids is a participant that is transcribed.
  func say(_ text: String, as ids: [Participant.ID]) -> Bool {
    let speaker = speakers.withLock { speakers in ids.compactMap { speakers[$0] }.first }
    return speaker?.say(text) ?? false
  }
}

/// Turns what one person says into results on the room's clock.
private final class Speaker: TranscriberSession, Sendable {
  fileprivate struct State {
    var words: [TranscriptWord] = []
    /// The words of the present utterance that are not said yet, the next one first.
    var rest: [String] = []
    var start = Tick.zero
    var isSpeaking = false
    var waiting: [[String]] = []
    var utterance = 0
    var isFinished = false
  }

  /// How long a word takes, and the pause before the final result.
  private static let pace = Duration.milliseconds(300)
  private static let limit = 100
  private let lane: Lane
  private let results: @Sendable (TranscriberResult) -> Void
  private let ended: @Sendable (Speaker) -> Void
  private let state = Lock(State())

  init(
    _ scheduler: Scheduler, _ results: @escaping @Sendable (TranscriberResult) -> Void,
    ended: @escaping @Sendable (Speaker) -> Void
  ) {
    lane = scheduler.lane("speaker")
    (self.results, self.ended) = (results, ended)
  }

  func receiveAudio(_ block: AudioBlock) {}

  func say(_ text: String) -> Bool {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard !words.isEmpty else { return true }
    let (isAccepted, isIdle) = state.withLock { state in
      guard !state.isFinished, state.waiting.count < Self.limit else { return (false, false) }
      state.waiting.append(words)
      defer { state.isSpeaking = true }
      return (true, !state.isSpeaking)
    }
    if isIdle { lane.post { [self] in begin() } }
    return isAccepted
  }

  private func begin() {
    let now = lane.scheduler.now
    let isSpeaking = state.withLock { state in
      guard !state.isFinished, !state.waiting.isEmpty else {
        state.isSpeaking = false
        return false
      }
      (state.rest, state.words, state.start) = (state.waiting.removeFirst(), [], now)
      state.utterance += 1
      return true
    }
    if isSpeaking { lane.post(at: now + Self.pace) { [weak self] in self?.goOn() } }
  }

  /// A word has been said, or the pause after the last one is over.
  private func goOn() {
    let now = lane.scheduler.now
    let (result, isLast) = state.withLock { state -> (TranscriberResult?, Bool) in
      guard !state.isFinished else { return (nil, true) }
      let isLast = state.rest.isEmpty
      if !isLast {
        state.words.append(
          TranscriptWord(text: state.rest.removeFirst(), start: now - Self.pace, end: now, confidence: 1))
      }
      return (state.result(isFinal: isLast), isLast)
    }
    guard let result else { return }
    results(result)
    guard !isLast else { return begin() }
    lane.post(at: now + Self.pace) { [weak self] in self?.goOn() }
  }

  /// The words so far are final.
  func finish() {
    let result = state.withLock { state -> TranscriberResult? in
      defer { (state.isFinished, state.words, state.rest, state.waiting) = (true, [], [], []) }
      return state.isFinished ? nil : state.result(isFinal: true)
    }
    if let result { results(result) }
    ended(self)
  }
}

extension Speaker.State {
  /// - Returns: nil before the first word, and after the final result.
  fileprivate func result(isFinal: Bool) -> TranscriberResult? {
    guard let last = words.last, isSpeaking else { return nil }
    return TranscriberResult(
      utterance: utterance, text: words.map(\.text).joined(separator: " "), isFinal: isFinal, start: start,
      end: last.end, words: words)
  }
}
