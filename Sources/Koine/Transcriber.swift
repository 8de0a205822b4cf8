/// A speech recogniser that turns participants' audio into text: the plug-in point for transcripts.
///
///     Transcribers.use(MyRecogniser())           // once, in the program with the room's router
///     try await session.startTranscription(language: "en-US")
///     for await event in session.events() { if case .transcribed(let segment) = event { show(segment) } }
///
/// The transcript service (`TranscriptionService`) starts a session of the transcriber for each participant whose microphone is on, and
/// sends the session's results to all participants of the room.
public protocol Transcriber: Sendable {
  /// The languages that the transcriber knows, as BCP 47 tags such as `en-US`. The first is used if a request names none. Empty: the
  /// transcriber accepts every tag.
  var languages: [String] { get }

  /// Starts to recognise one participant's speech. Called on the service's delivery queue, so it must return soon.
  /// - Parameter results: receives partial and final results. Any thread may call it, also after `finish()` for half a second.
  /// - Throws: any error, if this participant cannot be transcribed. The room is notified (`SessionEvent.transcriptionFailed`), and other
  ///   participants are transcribed nevertheless.
  func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
}

/// The recognition of one participant's speech, from an unmuted microphone to its muting, its end, or the end of the transcription.
public protocol TranscriberSession: AnyObject, Sendable {
  /// Receives 10 ms of the participant's audio at 48 kHz, in order. The session's calls come one at a time, in real time on a thread of
  /// this session, which may block: up to 5 s of audio wait meanwhile, then the oldest blocks are dropped. On a virtual clock the call
  /// is made at once on the clock's thread. No audio arrives while the participant sends none; `AudioBlock.captured` shows such gaps.
  func receiveAudio(_ block: AudioBlock)
  /// Ends the session. No audio follows. Results that are still open should be given within half a second.
  func finish()
}

/// The speech that a transcriber is to recognise.
public struct TranscriberRequest: Sendable {
  /// The room's name.
  public var room: String
  /// The participant that speaks.
  public var participant: Participant
  /// Id of the participant's microphone track.
  public var track: Track.ID
  /// The spoken language as a BCP 47 tag: one of `Transcriber.languages` unless that is empty. Empty: none was named.
  public var language: String
  /// The clock of the room. A transcriber that waits should do so on it, so that it works in virtual time.
  public var scheduler: Scheduler
  /// Reports that the session cannot continue, for example because a recogniser's server is gone. Any thread may call it; only the first
  /// call of a session counts. The service finishes the session and starts another one for the participant after 1 s. If that fails as
  /// well, the service waits 2, 4, 8 and 16 s before the next attempts, and then gives the participant up until
  /// the participant's microphone is muted and unmuted. Meanwhile `RoomTranscription.interruption` has the error's text.
  public var fail: @Sendable (any Error) -> Void

  /// Creates a request.
  public init(
    room: String, participant: Participant, track: Track.ID, language: String, scheduler: Scheduler,
    fail: @escaping @Sendable (any Error) -> Void = { _ in }
  ) {
    (self.room, self.participant, self.track) = (room, participant, track)
    (self.language, self.scheduler, self.fail) = (language, scheduler, fail)
  }
}

/// A partial or final result of a transcriber.
public struct TranscriberResult: Sendable, Hashable {
  /// The number of the utterance within its session. Each result of an utterance replaces the utterance's earlier results.
  public var utterance: Int
  /// The whole text of the utterance so far. At most 4,096 bytes of UTF-8; the rest is cut off.
  public var text: String
  /// Whether the result is final. Results after the final one of the same utterance are dropped.
  public var isFinal: Bool
  /// When the utterance began, on the request's clock.
  public var start: Tick
  /// The end of the recognised part of the utterance, on the request's clock.
  public var end: Tick
  /// The words with their times, if the transcriber knows them. At most 256.
  public var words: [TranscriptWord]
  /// The language that the transcriber has recognised, as a BCP 47 tag; nil: the requested one.
  public var language: String?
  /// The languages that the utterance may be in, the likeliest first, if the transcriber identifies languages. At most 16.
  public var languages: [TranscribedLanguage]
  /// Names, numbers and other entities that the transcriber has found in the text, in their order. At most 32.
  public var entities: [TranscribedEntity]
  /// The channel of the microphone's audio, in the transcriber's words, such as `ch_0`, if the transcriber recognises each channel by
  /// itself. At most 32 bytes of UTF-8; the rest is cut off. Nil: all channels together.
  public var channel: String?

  /// Creates a result.
  public init(
    utterance: Int, text: String, isFinal: Bool, start: Tick, end: Tick, words: [TranscriptWord] = [],
    language: String? = nil, languages: [TranscribedLanguage] = [], entities: [TranscribedEntity] = [],
    channel: String? = nil
  ) {
    (self.utterance, self.text, self.isFinal) = (utterance, text, isFinal)
    (self.start, self.end, self.words, self.language) = (start, end, words, language)
    (self.languages, self.entities, self.channel) = (languages, entities, channel)
  }
}

/// The transcriber of this program.
public enum Transcribers {
  private static let chosen = Lock<(any Transcriber)?>(nil)

  /// The transcriber of this process; nil if the program has chosen none.
  public static var current: (any Transcriber)? { chosen.withLock { $0 } }
  /// Sets the transcriber of this process. Any thread may call it. It serves the rooms of each backend inside the process from the next
  /// join of a session on, unless the backend has a transcript service already. A server has its own `TranscriptionService`.
  public static func use(_ transcriber: any Transcriber) { chosen.withLock { $0 = transcriber } }
}
