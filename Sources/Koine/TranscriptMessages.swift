import KoineJSONCodec

/// Names and limits of the transcript service's messages. All payloads are JSON objects.
enum TranscriptMessages {
  /// Name of the service: receives requests, and sends the state of the transcription and answers.
  static let service = "koine.transcript"
  /// The name under which the service sends text. It has no status, so that late joiners get no old text.
  static let captions = "koine.captions"
  /// Most bytes of a text.
  static let textLimit = 4_096
  /// Most words of a text with times.
  static let wordLimit = 256
  /// Most bytes of a language's tag (RFC 5646, 4.4.1).
  static let tagLimit = 35
  /// Most entities of a text.
  static let entityLimit = 32
  /// Most bytes of an entity's type, and of its category.
  static let typeLimit = 32
  /// Most languages that a text may be in.
  static let scoreLimit = 16
  /// Most bytes of the reason of an interruption, and of the name of a region.
  static let reasonLimit = 256
  /// Most languages in an answer.
  static let languageLimit = 256
  /// Limits of each payload.
  static let limits = JSONCodec.Limits(depth: 6, size: 64 * 1_024, values: 4_096)

  /// - Returns: empty for a value that is too large, which the limits above exclude.
  static func encode(_ value: some Encodable) -> [UInt8] { (try? JSONCodec.encode(value, limits: limits)) ?? [] }
  static func decode<Value: Decodable>(_ type: Value.Type, _ payload: [UInt8]) -> Value? {
    try? JSONCodec.decode(type, from: payload, limits: limits)
  }
}

/// A participant's message to the service.
struct TranscriptionRequest: Codable, Hashable {
  enum Action: String, Codable { case start, stop, language, query }
  /// The answer repeats it.
  var id: String
  var action: Action
  var language: String?
}

/// The service's message about the transcription: to all participants whenever it changes, or to one as an answer.
struct TranscriptionReport: Codable, Hashable {
  /// The request's; nil in messages to all.
  var id: String?
  var state: String
  var language: String
  /// In an answer.
  var languages: [String]?
  var failure: Failure?
  var interruption: String?
  var region: String?

  init(_ transcription: RoomTranscription, id: String? = nil, languages: [String]? = nil, failure: Failure? = nil) {
    (self.id, state, language) = (id, transcription.state.rawValue, transcription.language)
    (self.languages, self.failure) = (languages, failure)
    interruption = transcription.interruption?.prefix(bytes: TranscriptMessages.reasonLimit)
    if !transcription.region.isEmpty { region = transcription.region.prefix(bytes: TranscriptMessages.reasonLimit) }
  }

  var transcription: RoomTranscription {
    RoomTranscription(
      RoomTranscription.State(rawValue: state) ?? .off, language: language, interruption: interruption,
      region: region ?? "")
  }
}

/// A segment as it is sent. Times are in milliseconds of `Scheduler.wallClock`.
struct SentSegment: Codable, Hashable {
  struct Word: Codable, Hashable {
    var text: String
    var start, end: Int64
    var confidence: Double?
    var kind: String?
    var isStable, matchesFilter: Bool?
  }
  struct Entity: Codable, Hashable {
    var text, type, category: String
    var confidence: Double?
    var start, end: Int64
  }
  struct Language: Codable, Hashable {
    var language: String
    var score: Double
  }

  var id: String
  var participant: String
  var text: String
  var isFinal: Bool
  var language: String
  var start, end: Int64
  var words: [Word]?
  var languages: [Language]?
  var entities: [Entity]?
  var channel: String?

  init(_ result: TranscriberResult, id: String, participant: Participant.ID, language: String, clock: Scheduler) {
    (self.id, self.participant, isFinal) = (id, participant, result.isFinal)
    text = result.text.prefix(bytes: TranscriptMessages.textLimit)
    self.language = (result.language ?? language).prefix(bytes: TranscriptMessages.tagLimit)
    (start, end) = (clock.wallTime(of: result.start), clock.wallTime(of: result.end))
    channel = result.channel?.prefix(bytes: TranscriptMessages.typeLimit)
    if !result.languages.isEmpty {
      languages = result.languages.prefix(TranscriptMessages.scoreLimit).map {
        Language(
          language: $0.language.prefix(bytes: TranscriptMessages.tagLimit), score: Self.probability($0.score) ?? 0)
      }
    }
    var left = TranscriptMessages.textLimit
    if !result.entities.isEmpty {
      entities = result.entities.prefix(TranscriptMessages.entityLimit).compactMap { entity in
        left -= entity.text.utf8.count
        guard left >= 0 else { return nil }
        return Entity(
          text: entity.text, type: entity.type.prefix(bytes: TranscriptMessages.typeLimit),
          category: entity.category.prefix(bytes: TranscriptMessages.typeLimit),
          confidence: Self.probability(entity.confidence), start: clock.wallTime(of: entity.start),
          end: clock.wallTime(of: entity.end))
      }
    }
    guard !result.words.isEmpty else { return }
    left = TranscriptMessages.textLimit
    words = result.words.prefix(TranscriptMessages.wordLimit).compactMap { word in
      left -= word.text.utf8.count
      guard left >= 0 else { return nil }
      return Word(
        text: word.text, start: clock.wallTime(of: word.start), end: clock.wallTime(of: word.end),
        confidence: Self.probability(word.confidence), kind: word.kind?.rawValue, isStable: word.isStable,
        matchesFilter: word.matchesFilter ? true : nil)
    }
  }

  /// - Returns: the value within 0...1; nil if it is no number.
  private static func probability(_ value: Double?) -> Double? {
    value.flatMap { $0.isFinite ? min(max($0, 0), 1) : nil }
  }

  func segment(on clock: Scheduler) -> TranscriptSegment {
    TranscriptSegment(
      id: id, participant: participant, text: text.prefix(bytes: TranscriptMessages.textLimit), isFinal: isFinal,
      language: language,
      start: clock.tick(ofWallTime: start), end: clock.tick(ofWallTime: end),
      words: (words ?? []).prefix(TranscriptMessages.wordLimit).map {
        TranscriptWord(
          text: $0.text, start: clock.tick(ofWallTime: $0.start), end: clock.tick(ofWallTime: $0.end),
          confidence: $0.confidence, kind: $0.kind.flatMap(TranscriptWord.Kind.init), isStable: $0.isStable,
          matchesFilter: $0.matchesFilter ?? false)
      },
      languages: (languages ?? []).prefix(TranscriptMessages.scoreLimit).map {
        TranscribedLanguage($0.language, score: $0.score)
      },
      entities: (entities ?? []).prefix(TranscriptMessages.entityLimit).map {
        TranscribedEntity(
          $0.text, type: $0.type, category: $0.category, confidence: $0.confidence,
          start: clock.tick(ofWallTime: $0.start), end: clock.tick(ofWallTime: $0.end))
      }, channel: channel)
  }
}
