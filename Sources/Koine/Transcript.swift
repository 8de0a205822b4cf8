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

  package init(
    id: String, participant: Participant.ID, text: String, isFinal: Bool, language: String, start: Tick, end: Tick,
    words: [TranscriptWord] = []
  ) {
    (self.id, self.participant, self.text, self.isFinal) = (id, participant, text, isFinal)
    (self.language, self.start, self.end, self.words) = (language, start, end, words)
  }
}

/// A recognised word with its time.
public struct TranscriptWord: Sendable, Hashable {
  /// The word.
  public var text: String
  /// When the word began, on the clock of the result or session.
  public var start: Tick
  /// When the word ended, on the same clock.
  public var end: Tick
  /// How sure the transcriber is, 0...1; nil: not known.
  public var confidence: Double?

  /// Creates a word.
  public init(text: String, start: Tick, end: Tick, confidence: Double? = nil) {
    (self.text, self.start, self.end, self.confidence) = (text, start, end, confidence)
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

  package init(_ state: State, language: String = "") { (self.state, self.language) = (state, language) }

  /// The room is not transcribed.
  public static let off = RoomTranscription(.off)
}
