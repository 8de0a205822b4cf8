public import Koine

extension Person {
  /// Says a text that the room's transcriber recognises, if the room is transcribed and the person's microphone is on. It is not
  /// audible: the microphone keeps its tone. Each word takes 300 ms of the room's time and gives a partial result. The final result
  /// follows 300 ms after the last word. Texts that are said meanwhile wait, at most 100.
  ///
  ///     try await room.startTranscription()
  ///     bea.says("hello there")
  ///     await room.until("Ana reads it") { app.caption == "hello there" }
  /// - Parameter findings: what the transcriber reports about the text beyond its words.
  /// - Returns: whether the transcriber listens to the person. If not, the text is lost, as speech is.
  @discardableResult
  public func says(_ text: String, _ findings: SpeechFindings = SpeechFindings()) -> Bool {
    room.transcriber.say(text, findings, as: [id])
  }

  /// Segments of the room's transcript that have reached this person, in the order in which they arrived: the newest 1,000.
  public var transcript: [TranscriptSegment] { transcriptLog.segments }
}

/// What a test room's transcriber reports about a text beyond its words.
///
///     bea.says("call Ana [laughter] now", SpeechFindings(entities: [.init("Ana", type: "NAME", category: "PII")]))
///
/// A word of the text in square brackets is a sound and not a word (`TranscriptWord.Kind.sound`).
public struct SpeechFindings: Sendable, Hashable {
  /// A name, a number or another entity in the text.
  public struct Entity: Sendable, Hashable {
    /// The entity's words, as they are in the text. A text without these words has no such entity.
    public var text: String
    /// The type of the entity, such as `NAME`.
    public var type: String
    /// The group of the type, such as `PII`.
    public var category: String
    /// How sure the transcriber is, 0...1; nil: not known.
    public var confidence: Double?

    /// Creates an entity.
    public init(_ text: String, type: String, category: String, confidence: Double? = nil) {
      (self.text, self.type, self.category, self.confidence) = (text, type, category, confidence)
    }
  }

  /// The entities in the text. A result has those that are complete in it.
  public var entities: [Entity]
  /// The languages that the text may be in.
  public var languages: [TranscribedLanguage]
  /// The words that are in the transcriber's list of words to filter, without punctuation.
  public var filteredWords: Set<String>
  /// A word is stable once so many words follow it, and in the final result. Nil: the transcriber does not tell what is stable.
  public var stableAfter: Int?
  /// The channel of the microphone's audio to which the text belongs; nil: all channels together.
  public var channel: String?

  /// Creates findings.
  public init(
    entities: [Entity] = [], languages: [TranscribedLanguage] = [], filteredWords: Set<String> = [],
    stableAfter: Int? = nil, channel: String? = nil
  ) {
    (self.entities, self.languages, self.channel) = (entities, languages, channel)
    (self.filteredWords, self.stableAfter) = (filteredWords, stableAfter)
  }
}

extension TestRoom {
  /// The languages that the room's transcriber knows, as BCP 47 tags. It recognises the same texts in all of them.
  public static let transcriberLanguages = ["en-US", "de-DE", "es-ES", "fr-FR", "it-IT", "ja-JP", "pt-BR", "zh-CN"]

  /// Says a text as `Person.says(_:)` does, for the person with this name or the app that acts as this person.
  /// - Returns: whether the transcriber listens to the participant.
  @discardableResult
  public func say(_ text: String, _ findings: SpeechFindings = SpeechFindings(), as name: String) -> Bool {
    transcriber.say(text, findings, as: ids(of: name))
  }

  /// Lets the transcriber's session for the person, or for the app that acts as this person, fail. The room's transcript service starts it
  /// again after 1 s, and after 2, 4, 8 and 16 s more if that fails. Meanwhile the person is not transcribed.
  /// - Parameter failedRestarts: how many attempts to start it again fail.
  /// - Returns: whether the transcriber listened to the participant.
  @discardableResult
  public func failTranscriber(of name: String, failedRestarts: Int = 0) -> Bool {
    transcriber.fail(ids(of: name), failedRestarts: failedRestarts)
  }

  /// Whether the room's transcriber listens to the person, or to the app that acts as this person.
  public func isTranscribed(_ name: String) -> Bool { transcriber.listens(to: ids(of: name)) }

  /// Starts the transcription of the room, as an app's own back end does, and returns once it has started. The room needs a participant.
  /// - Parameters:
  ///   - language: one of `transcriberLanguages`; nil: the first.
  ///   - region: the region that the back end names to its vendor, such as `eu-central-1`.
  /// - Throws: `Failure` if it cannot be started.
  public func startTranscription(language: String? = nil, region: String = "") async throws {
    let outcome = Outcome()
    transcripts?.start(id, language: language, region: region) { outcome.set($0) }
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
  private struct Failed: Error, CustomStringConvertible {
    var description: String { "the test lets the transcriber fail" }
  }

  private let speakers = Lock<[Participant.ID: Speaker]>([:])
  /// Starts that are to fail, by participant.
  private let failures = Lock<[Participant.ID: Int]>([:])

  var languages: [String] { TestRoom.transcriberLanguages }

  func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
  {
    let id = request.participant.id
    let mustFail = failures.withLock { failures in
      guard let left = failures[id], left > 0 else { return false }
      failures[id] = left - 1
      return true
    }
    if mustFail { throw Failed() }
    let speaker = Speaker(request.scheduler, results, fail: { request.fail(Failed()) }) { [weak self] speaker in
      self?.speakers.withLock { if $0[id] === speaker { $0[id] = nil } }
    }
    speakers.withLock { $0[id] = speaker }
    return speaker
  }

  func listens(to ids: [Participant.ID]) -> Bool {
    speakers.withLock { speakers in ids.contains { speakers[$0] != nil } }
  }

  /// - Returns: whether one of the ids is a participant that is transcribed.
  func say(_ text: String, _ findings: SpeechFindings, as ids: [Participant.ID]) -> Bool {
    let speaker = speakers.withLock { speakers in ids.compactMap { speakers[$0] }.first }
    return speaker?.say(text, findings) ?? false
  }

  /// - Returns: whether one of the ids is a participant that is transcribed.
  func fail(_ ids: [Participant.ID], failedRestarts: Int) -> Bool {
    guard
      let (id, speaker) = speakers.withLock({ speakers in ids.compactMap { id in speakers[id].map { (id, $0) } }.first }
      )
    else { return false }
    failures.withLock { $0[id] = failedRestarts }
    speaker.fail()
    return true
  }
}

/// Turns what one person says into results on the room's clock.
private final class Speaker: TranscriberSession, Sendable {
  fileprivate struct State {
    var words: [TranscriptWord] = []
    /// The words of the present utterance that are not said yet, the next one first.
    var rest: [String] = []
    var findings = SpeechFindings()
    var start = Tick.zero
    var isSpeaking = false
    var waiting: [(words: [String], findings: SpeechFindings)] = []
    var utterance = 0
    var isFinished = false
  }

  /// How long a word takes, and the pause before the final result.
  private static let pace = Duration.milliseconds(300)
  private static let limit = 100
  private let lane: Lane
  private let results: @Sendable (TranscriberResult) -> Void
  private let ended: @Sendable (Speaker) -> Void
  let fail: @Sendable () -> Void
  private let state = Lock(State())

  init(
    _ scheduler: Scheduler, _ results: @escaping @Sendable (TranscriberResult) -> Void,
    fail: @escaping @Sendable () -> Void, ended: @escaping @Sendable (Speaker) -> Void
  ) {
    lane = scheduler.lane("speaker")
    (self.results, self.fail, self.ended) = (results, fail, ended)
  }

  func receiveAudio(_ block: AudioBlock) {}

  func say(_ text: String, _ findings: SpeechFindings) -> Bool {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard !words.isEmpty else { return true }
    let (isAccepted, isIdle) = state.withLock { state in
      guard !state.isFinished, state.waiting.count < Self.limit else { return (false, false) }
      state.waiting.append((words, findings))
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
      let next = state.waiting.removeFirst()
      (state.rest, state.findings, state.words, state.start) = (next.words, next.findings, [], now)
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
        let text = state.rest.removeFirst()
        let isSound = text.hasPrefix("[") && text.hasSuffix("]")
        state.words.append(
          TranscriptWord(
            text: text, start: now - Self.pace, end: now, confidence: 1, kind: isSound ? .sound : nil,
            matchesFilter: state.findings.filteredWords.contains(text.withoutMarks)))
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
    var words = words
    if let after = findings.stableAfter {
      for index in words.indices { words[index].isStable = isFinal || words.count - 1 - index >= after }
    }
    return TranscriberResult(
      utterance: utterance, text: words.map(\.text).joined(separator: " "), isFinal: isFinal, start: start,
      end: last.end, words: words, languages: findings.languages, entities: findings.entities.compactMap(found),
      channel: findings.channel)
  }

  /// - Returns: nil while the entity's words are not complete.
  private func found(_ entity: SpeechFindings.Entity) -> TranscribedEntity? {
    let wanted = entity.text.split(whereSeparator: \.isWhitespace).map { String($0).withoutMarks }
    guard !wanted.isEmpty, words.count >= wanted.count else { return nil }
    let said = words.map(\.text.withoutMarks)
    guard let first = (0...said.count - wanted.count).first(where: { Array(said[$0..<$0 + wanted.count]) == wanted })
    else { return nil }
    return TranscribedEntity(
      entity.text, type: entity.type, category: entity.category, confidence: entity.confidence,
      start: words[first].start, end: words[first + wanted.count - 1].end)
  }
}

extension String {
  /// Without the punctuation at its end.
  fileprivate var withoutMarks: String {
    var text = self[...]
    while text.last?.isPunctuation == true { text = text.dropLast() }
    return String(text)
  }
}
