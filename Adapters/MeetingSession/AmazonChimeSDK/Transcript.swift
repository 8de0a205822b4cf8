import Foundation
import Koine

// Live transcription: the text of the room's transcript service. An app's own back end starts it (`StartMeetingTranscription`); here
// `TranscriptionService.start`, a participant of another style, or a test (`TestRoom.startTranscription`) does.
// https://docs.aws.amazon.com/chime-sdk/latest/dg/meeting-transcription.html

/// Hears of the meeting's transcription, on the delivery queue.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/TranscriptEventObserver.html)
public protocol TranscriptEventObserver: AnyObject {
  /// - Parameter transcriptEvent: a `Transcript` or a `TranscriptionStatus`.
  func transcriptEventDidReceive(transcriptEvent: any TranscriptEvent)
}

/// A `Transcript` or a `TranscriptionStatus`.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/TranscriptEvent.html)
public protocol TranscriptEvent {}

/// What happened to the transcription of a meeting.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/TranscriptionStatusType.html)
public enum TranscriptionStatusType: Int, CustomStringConvertible, Sendable {
  /// `interrupted`: the transcriber of at least one attendee has failed, and is started again. `resumed`: all of them run again.
  case unknown, started, interrupted, resumed, stopped, failed
  public var description: String {
    ["unknown", "started", "interrupted", "resumed", "stopped", "failed"][rawValue]
  }
}

/// A change of the transcription. A late joiner receives `started`.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptionStatus.html)
public final class TranscriptionStatus: TranscriptEvent, Sendable {
  public let type: TranscriptionStatusType
  /// In milliseconds since 1970.
  public let eventTimeMs: Int64
  /// As the app's back end has named it (`TranscriptionService.start(_:language:region:completion:)`); empty if it has named none.
  public let transcriptionRegion: String
  /// JSON in the form of the vendor's `TranscriptionConfiguration`, with the language.
  public let transcriptionConfiguration: String
  /// Why it has failed or was interrupted.
  public let message: String?

  public init(
    type: TranscriptionStatusType, eventTimeMs: Int64, transcriptionRegion: String, transcriptionConfiguration: String,
    message: String?
  ) {
    (self.type, self.eventTimeMs, self.message) = (type, eventTimeMs, message)
    (self.transcriptionRegion, self.transcriptionConfiguration) = (transcriptionRegion, transcriptionConfiguration)
  }
}

/// Recognised text.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/Transcript.html)
public final class Transcript: TranscriptEvent, Sendable {
  public let results: [TranscriptResult]

  public init(results: [TranscriptResult]) { self.results = results }
}

/// An utterance as far as it has been recognised. A later result with the same id replaces it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptResult.html)
public final class TranscriptResult: Sendable {
  public let resultId: String
  /// The channel of the attendee's audio in the transcriber's words; nil if the transcriber does not tell channels apart.
  public let channelId: String?
  public let isPartial: Bool
  /// In milliseconds since 1970.
  public let startTimeMs: Int64
  /// In milliseconds since 1970.
  public let endTimeMs: Int64
  /// One here.
  public let alternatives: [TranscriptAlternative]
  /// A BCP 47 tag; nil: not known.
  public let languageCode: String?
  /// Nil if the transcriber identifies no languages.
  public let languageIdentification: [TranscriptLanguageWithScore]?

  public init(
    resultId: String, channelId: String?, isPartial: Bool, startTimeMs: Int64, endTimeMs: Int64,
    alternatives: [TranscriptAlternative], languageCode: String?, languageIdentification: [TranscriptLanguageWithScore]?
  ) {
    (self.resultId, self.channelId, self.isPartial) = (resultId, channelId, isPartial)
    (self.startTimeMs, self.endTimeMs, self.alternatives) = (startTimeMs, endTimeMs, alternatives)
    (self.languageCode, self.languageIdentification) = (languageCode, languageIdentification)
  }
}

/// One reading of a part of a transcript, with its items and entities.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptAlternative.html)
public final class TranscriptAlternative: Sendable {
  public let items: [TranscriptItem]
  /// Nil if the transcriber has found none.
  public let entities: [TranscriptEntity]?
  /// The whole text.
  public let transcript: String

  public init(items: [TranscriptItem], transcript: String, entities: [TranscriptEntity]?) {
    (self.items, self.entities, self.transcript) = (items, entities, transcript)
  }
}

/// Whether an item of a transcript is a word or a punctuation mark. A sound that is no speech is `unknown`.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/TranscriptItemType.html)
public enum TranscriptItemType: Int, CaseIterable, CustomStringConvertible, Sendable {
  case unknown, pronunciation, punctuation
  public var description: String { ["unknown", "pronunciation", "punctuation"][rawValue] }
}

/// A word or a punctuation mark. Its attendee is the speaker.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptItem.html)
public final class TranscriptItem: Sendable {
  public let type: TranscriptItemType
  /// In milliseconds since 1970. The utterance's, if the transcriber does not know the words' times.
  public let startTimeMs: Int64
  public let endTimeMs: Int64
  public let attendee: AttendeeInfo
  public let content: String
  /// Whether the transcriber is to filter the word.
  public let vocabularyFilterMatch: Bool
  /// Whether later results keep the item as it is; nil: the transcriber does not tell.
  public let stable: Bool?
  /// 0...1; nil: not known.
  public let confidence: Double?

  public init(
    type: TranscriptItemType, startTimeMs: Int64, endTimeMs: Int64, attendee: AttendeeInfo, content: String,
    vocabularyFilterMatch: Bool, stable: Bool?, confidence: Double?
  ) {
    (self.type, self.startTimeMs, self.endTimeMs, self.attendee) = (type, startTimeMs, endTimeMs, attendee)
    (self.content, self.vocabularyFilterMatch) = (content, vocabularyFilterMatch)
    (self.stable, self.confidence) = (stable, confidence)
  }
}

/// A name, a number or another entity in a text.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptEntity.html)
public final class TranscriptEntity: Sendable {
  public let type: String
  public let content: String
  public let category: String
  public let confidence: Double?
  public let startTimeMs: Int64
  public let endTimeMs: Int64

  public init(
    type: String, content: String, category: String, confidence: Double?, startTimeMs: Int64, endTimeMs: Int64
  ) {
    (self.type, self.content, self.category, self.confidence) = (type, content, category, confidence)
    (self.startTimeMs, self.endTimeMs) = (startTimeMs, endTimeMs)
  }
}

/// A language with its probability.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptLanguageWithScore.html)
public final class TranscriptLanguageWithScore: Sendable {
  public let languageCode: String
  public let score: Double

  public init(languageCode: String, score: Double) { (self.languageCode, self.score) = (languageCode, score) }
}

// MARK: Observers

/// A method that the vendor's protocol declares as optional: code calls it with and without a question mark.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/TranscriptEventObserverMethod.html)
public struct TranscriptEventObserverMethod {
  fileprivate let call: (any TranscriptEventObserver) -> Void
  public func callAsFunction(observer: any TranscriptEventObserver) { call(observer) }
}

extension RealtimeControllerFacade {
  /// For `audioVideo.addRealtimeTranscriptEventObserver?(observer: self)`.
  public var addRealtimeTranscriptEventObserver: TranscriptEventObserverMethod? {
    TranscriptEventObserverMethod { self.addRealtimeTranscriptEventObserver(observer: $0) }
  }
  /// For `audioVideo.removeRealtimeTranscriptEventObserver?(observer: self)`.
  public var removeRealtimeTranscriptEventObserver: TranscriptEventObserverMethod? {
    TranscriptEventObserverMethod { self.removeRealtimeTranscriptEventObserver(observer: $0) }
  }
}

extension DefaultAudioVideoFacade {
  public func addRealtimeTranscriptEventObserver(observer: any TranscriptEventObserver) {
    transcriptObservers.add(observer)
  }

  public func removeRealtimeTranscriptEventObserver(observer: any TranscriptEventObserver) {
    transcriptObservers.remove(observer)
  }

  // MARK: On the delivery queue

  func transcriptionChanged(to new: RoomTranscription) {
    let isActive = new.state == .on || new.state == .stopping
    let hasChanged = state.withLock { state in
      defer { state.isTranscribed = isActive }
      return state.isTranscribed != isActive
    }
    if hasChanged { notifyOfTranscription(isActive ? .started : .stopped, new) }
    let isInterrupted = isActive && new.interruption != nil
    let wasInterrupted = state.withLock { state in
      defer { state.transcriptionIsInterrupted = isInterrupted }
      return state.transcriptionIsInterrupted
    }
    guard isActive, isInterrupted != wasInterrupted else { return }
    notifyOfTranscription(isInterrupted ? .interrupted : .resumed, new, new.interruption)
  }

  func transcriptionFailed(_ failure: Failure, in session: Session) {
    notifyOfTranscription(.failed, session.transcription, failure.message)
  }

  private func notifyOfTranscription(
    _ type: TranscriptionStatusType, _ transcription: RoomTranscription, _ message: String? = nil
  ) {
    var settings: [String: String] = [:]
    if !transcription.language.isEmpty { settings["LanguageCode"] = transcription.language }
    if !transcription.region.isEmpty { settings["Region"] = transcription.region }
    let json = try? JSONSerialization.data(withJSONObject: ["EngineTranscribeSettings": settings], options: .sortedKeys)
    let status = TranscriptionStatus(
      type: type, eventTimeMs: environment.timestampMs, transcriptionRegion: transcription.region,
      transcriptionConfiguration: json.map { String(decoding: $0, as: UTF8.self) } ?? "", message: message)
    transcriptObservers.notify { $0.transcriptEventDidReceive(transcriptEvent: status) }
  }

  func transcribed(_ segment: TranscriptSegment) {
    let attendee =
      roster.info(of: segment.participant)
      ?? AttendeeInfo(attendeeId: segment.participant, externalUserId: segment.participant)
    let entities = segment.entities.map {
      TranscriptEntity(
        type: $0.type, content: $0.text, category: $0.category, confidence: $0.confidence,
        startTimeMs: milliseconds($0.start), endTimeMs: milliseconds($0.end))
    }
    let languages = segment.languages.map { TranscriptLanguageWithScore(languageCode: $0.language, score: $0.score) }
    let alternative = TranscriptAlternative(
      items: items(of: segment, by: attendee), transcript: segment.text, entities: entities.isEmpty ? nil : entities)
    let result = TranscriptResult(
      resultId: segment.id, channelId: segment.channel, isPartial: !segment.isFinal,
      startTimeMs: milliseconds(segment.start),
      endTimeMs: milliseconds(segment.end), alternatives: [alternative],
      languageCode: segment.language.isEmpty ? nil : segment.language,
      languageIdentification: languages.isEmpty ? nil : languages)
    let transcript = Transcript(results: [result])
    transcriptObservers.notify { $0.transcriptEventDidReceive(transcriptEvent: transcript) }
  }

  private func milliseconds(_ tick: Tick) -> Int64 {
    environment.timestampMs - (environment.now - tick).nanoseconds / 1_000_000
  }

  /// Words with the transcriber's times; without them, the text's own words with the times of the utterance.
  private func items(of segment: TranscriptSegment, by attendee: AttendeeInfo) -> [TranscriptItem] {
    let words =
      segment.words.isEmpty
      ? segment.text.split(whereSeparator: \.isWhitespace).map {
        TranscriptWord(text: String($0), start: segment.start, end: segment.end)
      } : segment.words
    return words.flatMap { word in
      return word.parts.filter { !$0.1.isEmpty }.map { type, content in
        TranscriptItem(
          type: type, startTimeMs: milliseconds(word.start), endTimeMs: milliseconds(word.end), attendee: attendee,
          content: content, vocabularyFilterMatch: word.matchesFilter && type == .pronunciation, stable: word.isStable,
          confidence: word.confidence)
      }
    }
  }
}

extension TranscriptWord {
  /// The items of which the word consists: a word without a kind may have a mark at its end.
  fileprivate var parts: [(TranscriptItemType, String)] {
    switch kind {
    case .punctuation: return [(.punctuation, text)]
    case .sound: return [(.unknown, text)]
    case .word, nil:
      let marks = String(text.reversed().prefix { $0.isPunctuation }.reversed())
      return [(.pronunciation, String(text.dropLast(marks.count))), (.punctuation, marks)]
    }
  }
}
