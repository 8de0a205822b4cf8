/// A part of a room's transcript: what one participant has said in one utterance, as far as it has been recognised.
public struct TranscriptSegment: Sendable, Hashable, Identifiable {
  /// Id of the utterance. A later segment with the same id replaces the earlier one.
  public let id: String
  /// Id of the participant that spoke.
  public let participant: Participant.ID
  /// The whole text of the utterance so far, at most 4,096 bytes of UTF-8.
  public let text: String
  /// Whether the text is final. No further segment has this id then.
  public let isFinal: Bool
  /// The spoken language as a BCP 47 tag; empty: not known.
  public let language: String
  /// When the utterance began, on the session's clock. From another machine it is as exact as both machines' clocks agree.
  public let start: Tick
  /// The end of the recognised part of the utterance, on the session's clock.
  public let end: Tick
  /// The words with their times, at most 256; empty if the transcriber does not know them.
  public let words: [TranscriptWord]
  /// The languages that the utterance may be in, the likeliest first, at most 16; empty if the transcriber does not identify languages.
  public let languages: [TranscribedLanguage]
  /// Entities in the text, at most 32; empty if the transcriber finds none.
  public let entities: [TranscribedEntity]
  /// The channel of the microphone's audio in the transcriber's words; nil: all channels together.
  public let channel: String?

  package init(
    id: String, participant: Participant.ID, text: String, isFinal: Bool, language: String, start: Tick, end: Tick,
    words: [TranscriptWord] = [], languages: [TranscribedLanguage] = [], entities: [TranscribedEntity] = [],
    channel: String? = nil
  ) {
    (self.id, self.participant, self.text, self.isFinal) = (id, participant, text, isFinal)
    (self.language, self.start, self.end, self.words) = (language, start, end, words)
    (self.languages, self.entities, self.channel) = (languages, entities, channel)
  }
}

/// A language in which an utterance may be, with its probability.
public struct TranscribedLanguage: Sendable, Hashable {
  /// A BCP 47 tag.
  public var language: String
  /// The probability, 0...1.
  public var score: Double

  /// Creates a language with its probability.
  public init(_ language: String, score: Double) { (self.language, self.score) = (language, score) }
}

/// A name, a number or another entity that a transcriber has found in a text.
public struct TranscribedEntity: Sendable, Hashable {
  /// The entity, as it is in the text.
  public var text: String
  /// The type of the entity in the transcriber's words, such as `NAME` or `PHONE`. At most 32 bytes of UTF-8; the rest is cut off.
  public var type: String
  /// The group to which the type belongs in the transcriber's words, such as `PII`. At most 32 bytes of UTF-8; the rest is cut off.
  public var category: String
  /// How sure the transcriber is, 0...1; nil: not known.
  public var confidence: Double?
  /// When the entity began, on the clock of the result or session.
  public var start: Tick
  /// When the entity ended, on the same clock.
  public var end: Tick

  /// Creates an entity.
  public init(_ text: String, type: String, category: String, confidence: Double? = nil, start: Tick, end: Tick) {
    (self.text, self.type, self.category, self.confidence) = (text, type, category, confidence)
    (self.start, self.end) = (start, end)
  }
}

/// A recognised word with its time.
public struct TranscriptWord: Sendable, Hashable {
  /// The kind of an item of a transcript.
  public enum Kind: String, Sendable {
    /// A spoken word.
    case word
    /// A punctuation mark.
    case punctuation
    /// A sound that is no speech, such as laughter.
    case sound
  }

  /// The word.
  public var text: String
  /// When the word began, on the clock of the result or session.
  public var start: Tick
  /// When the word ended, on the same clock.
  public var end: Tick
  /// How sure the transcriber is, 0...1; nil: not known.
  public var confidence: Double?
  /// The kind of the item; nil: a word, possibly with a mark at its end.
  public var kind: Kind?
  /// Whether later results of the utterance keep the word as it is; nil: the transcriber does not tell.
  public var isStable: Bool?
  /// Whether the word is in a list of words that the transcriber is to filter.
  public var matchesFilter: Bool

  /// Creates a word.
  public init(
    text: String, start: Tick, end: Tick, confidence: Double? = nil, kind: Kind? = nil, isStable: Bool? = nil,
    matchesFilter: Bool = false
  ) {
    (self.text, self.start, self.end, self.confidence) = (text, start, end, confidence)
    (self.kind, self.isStable, self.matchesFilter) = (kind, isStable, matchesFilter)
  }
}

/// The state of a room's transcription, the same for all participants.
public struct RoomTranscription: Sendable, Hashable {
  /// Whether the room is being transcribed.
  public enum State: String, Sendable {
    /// The room is not transcribed.
    case off
    /// A participant has requested the transcription; no text arrives yet.
    case starting
    /// Participants with an unmuted microphone are transcribed.
    case on
    /// The transcription ends; the last final segments still arrive.
    case stopping
  }

  /// Whether the room is being transcribed.
  public let state: State
  /// The spoken language as a BCP 47 tag. Empty: none was named, or the room is not transcribed.
  public let language: String
  /// Why text of at least one participant is missing at present: the transcriber has failed, and the service starts it again or has given
  /// up. Nil: no transcriber has failed.
  public let interruption: String?
  /// The region in which the app's back end has the room transcribed, in the words of its vendor. Empty: none was named.
  public let region: String

  package init(_ state: State, language: String = "", interruption: String? = nil, region: String = "") {
    (self.state, self.language, self.interruption, self.region) = (state, language, interruption, region)
  }

  /// The room is not transcribed.
  public static let off = RoomTranscription(.off)
}
