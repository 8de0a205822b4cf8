public import Foundation
import Koine

// Transcription and captions: text of the room's transcript service.
// https://learn.microsoft.com/azure/communication-services/how-tos/calling-sdk/closed-captions-teams-interop-how-to

// MARK: Transcription

/// Notified on the delivery queue of changes of the transcription call feature.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol TranscriptionCallFeatureDelegate: NSObjectProtocol {
  func transcriptionCallFeature(
    _ transcriptionCallFeature: TranscriptionCallFeature, didChangeTranscriptionState args: PropertyChangedEventArgs)
}

extension TranscriptionCallFeatureDelegate {
  public func transcriptionCallFeature(
    _ transcriptionCallFeature: TranscriptionCallFeature, didChangeTranscriptionState args: PropertyChangedEventArgs
  ) {}
}

/// Whether the call is transcribed, for any participant of any vendor's style. Captions are a transcription, too.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class TranscriptionCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any TranscriptionCallFeatureDelegate>()
  private let active = Lock(false)

  public var isTranscriptionActive: Bool { active.withLock { $0 } }
  public weak var delegate: (any TranscriptionCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func callStarted() {
    let isActive = call?.session.transcription.isActive ?? false
    active.withLock { $0 = isActive }
  }

  override func handle(_ event: SessionEvent) {
    guard case .transcriptionChanged(let new) = event else { return }
    let hasChanged = active.withLock { active in
      defer { active = new.isActive }
      return active != new.isActive
    }
    if hasChanged { delegate?.transcriptionCallFeature(self, didChangeTranscriptionState: PropertyChangedEventArgs()) }
  }
}

extension RoomTranscription {
  /// Text may arrive.
  fileprivate var isActive: Bool { state == .on || state == .stopping }
}

// MARK: Captions

/// The kind of captions that a call has.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum CaptionsType: Int, Sendable {
  case teamsCaptions, communicationCaptions
}

/// Whether the text of a caption may still change.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum CaptionsResultType: Int, Sendable {
  case partial, final
}

/// Options for the start of captions.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class StartCaptionsOptions: NSObject {
  /// The spoken language as a BCP 47 tag such as `en-us`; empty: the first of `supportedSpokenLanguages`.
  public var spokenLanguage = ""
  public override init() {}
}

/// Notified on the delivery queue of changes of the captions call feature.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol CaptionsCallFeatureDelegate: NSObjectProtocol {
  /// Not called: the type is always `communicationCaptions`.
  func captionsCallFeature(
    _ captionsCallFeature: CaptionsCallFeature, didChangeActiveCaptionsType args: PropertyChangedEventArgs)
}

extension CaptionsCallFeatureDelegate {
  public func captionsCallFeature(
    _ captionsCallFeature: CaptionsCallFeature, didChangeActiveCaptionsType args: PropertyChangedEventArgs
  ) {}
}

extension Features {
  public static var captions: CaptionsCallFeature.Type { CaptionsCallFeature.self }
}

/// The captions of a call, from the room's transcript service.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CaptionsCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any CaptionsCallFeatureDelegate>()
  private let made = Lock<CommunicationCaptions?>(nil)

  /// Kept: its one method is not called, because the type of captions does not change here.
  public weak var delegate: (any CaptionsCallFeatureDelegate)? {
    get { listener.it }
    set {
      listener.it = newValue
      if newValue != nil { NoEffect.captionsType.log() }
    }
  }

  /// Gives the call's captions, the same object each time.
  /// - Parameter completionHandler: called once, on the delivery queue. The error is `getCaptionsFailedCallStateNotConnected`, or
  ///   `captionsDisabledByConfigurations` in a room without a transcriber.
  public func getCaptions(completionHandler: @escaping (CallCaptions?, (any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    guard let call, call.isUp else {
      let error = CallingCommunicationErrors.getCaptionsFailedCallStateNotConnected.error("the call is not connected")
      return delivery.deliver { handler(nil, error) }
    }
    call.session.transcriptionLanguages { [weak self] result in
      switch result {
      case .success(let languages):
        guard let captions = self?.captions(of: call, languages) else {
          return handler(nil, CallingCommunicationErrors.getCaptionsFailed.error("the call is over"))
        }
        handler(captions, nil)
      case .failure(let failure): handler(nil, failure.captionsError(.getCaptionsFailed))
      }
    }
  }

  nonisolated(nonsending) public func getCaptions() async throws -> CallCaptions {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<CallCaptions, any Error>) in
      getCaptions { captions, error in
        if let captions {
          done.resume(returning: captions)
        } else {
          done.resume(throwing: error ?? CancellationError())
        }
      }
    }
  }

  private func captions(of call: Call, _ languages: [String]) -> CommunicationCaptions {
    made.withLock { made in
      let captions = made ?? CommunicationCaptions(call, languages)
      made = captions
      return captions
    }
  }

  override func handle(_ event: SessionEvent) { made.withLock { $0 }?.handle(event) }
}

/// The captions of a call. Text comes to the delegate of `CommunicationCaptions`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public class CallCaptions: NSObject, @unchecked Sendable {  // everything mutable is locked
  fileprivate struct State {
    var isEnabled: Bool
    var language: String
  }

  fileprivate weak var call: Call?
  fileprivate let delivery: Delivery
  fileprivate let state: Lock<State>
  /// The languages that the room's transcriber knows, as BCP 47 tags in small letters.
  public let supportedSpokenLanguages: [String]
  public var type: CaptionsType { .communicationCaptions }

  fileprivate init(_ call: Call, _ languages: [String]) {
    self.call = call
    delivery = call.delivery
    supportedSpokenLanguages = languages.map { $0.lowercased() }
    let present = call.session.transcription
    let language = present.language.isEmpty ? languages.first ?? "" : present.language
    state = Lock(State(isEnabled: present.isActive, language: language.lowercased()))
  }

  /// Whether the call has captions, started by any participant.
  public var isEnabled: Bool { state.withLock { $0.isEnabled } }
  /// The spoken language as a BCP 47 tag in small letters; while there are no captions, the last one or the default.
  public var activeSpokenLanguage: String { state.withLock { $0.language } }

  /// Starts captions for all participants.
  /// - Parameter completionHandler: called once, on the delivery queue, after `isEnabled` is true. The error is
  ///   `captionsRequestedLanguageNotSupported`, `captionsPolicyDisabled` without the permission, `captionsDisabledByConfigurations`
  ///   without a transcriber, or `captionsFailedToStart`.
  public func startCaptions(
    options: StartCaptionsOptions?, completionHandler: @escaping ((any Error)?) -> Void
  ) {
    let language = options?.spokenLanguage ?? ""
    perform(.captionsFailedToStart, completionHandler) { session, done in
      session.startTranscription(language: language.isEmpty ? nil : language, completion: done)
    }
  }

  /// As `startCaptions(options:completionHandler:)`, in the spelling of the vendor's guide.
  public func startCaptions(
    startCaptionsOptions: StartCaptionsOptions?, completionHandler: @escaping ((any Error)?) -> Void
  ) {
    startCaptions(options: startCaptionsOptions, completionHandler: completionHandler)
  }

  /// Stops captions for all participants.
  /// - Parameter completionHandler: called once, on the delivery queue, after `isEnabled` is false. The error is `captionsNotActive` or
  ///   `captionsFailedToStop`.
  public func stopCaptions(completionHandler: @escaping ((any Error)?) -> Void) {
    guard isEnabled else { return complete(completionHandler, .captionsNotActive, "there are no captions") }
    perform(.captionsFailedToStop, completionHandler) { $0.stopTranscription(completion: $1) }
  }

  /// Changes the spoken language of running captions for all participants.
  /// - Parameter completionHandler: called once, on the delivery queue. The error is `captionsNotActive`,
  ///   `captionsRequestedLanguageNotSupported`, `captionsSetSpokenLanguageDisabled` without the permission, or
  ///   `captionsFailedToSetSpokenLanguage`.
  public func set(spokenLanguage: String, completionHandler: @escaping ((any Error)?) -> Void) {
    guard isEnabled else { return complete(completionHandler, .captionsNotActive, "there are no captions") }
    perform(.captionsFailedToSetSpokenLanguage, completionHandler) {
      $0.setTranscriptionLanguage(spokenLanguage, completion: $1)
    }
  }

  nonisolated(nonsending) public func startCaptions(options: StartCaptionsOptions?) async throws {
    try await completion { startCaptions(options: options, completionHandler: $0) }
  }
  nonisolated(nonsending) public func stopCaptions() async throws {
    try await completion { stopCaptions(completionHandler: $0) }
  }
  nonisolated(nonsending) public func set(spokenLanguage: String) async throws {
    try await completion { set(spokenLanguage: spokenLanguage, completionHandler: $0) }
  }

  private func perform(
    _ code: CallingCommunicationErrors, _ completionHandler: @escaping ((any Error)?) -> Void,
    _ request: (Session, @escaping @Sendable (Result<Void, Failure>) -> Void) -> Void
  ) {
    guard let call, call.isUp else { return complete(completionHandler, code, "the call is not connected") }
    let handler = Handler(completionHandler)
    request(call.session) { result in
      if case .failure(let failure) = result { handler(failure.captionsError(code)) } else { handler(nil) }
    }
  }

  private func complete(
    _ completionHandler: @escaping ((any Error)?) -> Void, _ code: CallingCommunicationErrors, _ text: String
  ) {
    let handler = Handler(completionHandler)
    delivery.deliver { handler(code.error(text)) }
  }
}

/// Notified on the delivery queue of changes of the communication captions.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol CommunicationCaptionsDelegate: NSObjectProtocol {
  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didChangeActiveSpokenLanguageState args: PropertyChangedEventArgs)
  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didChangeCaptionsEnabledState args: PropertyChangedEventArgs)
  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didReceiveCaptions args: CommunicationCaptionsReceivedEventArgs)
}

extension CommunicationCaptionsDelegate {
  public func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didChangeActiveSpokenLanguageState args: PropertyChangedEventArgs
  ) {}
  public func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didChangeCaptionsEnabledState args: PropertyChangedEventArgs
  ) {}
  public func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didReceiveCaptions args: CommunicationCaptionsReceivedEventArgs
  ) {}
}

/// One caption: the speaker, the text, its time, and whether the text is final.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CommunicationCaptionsReceivedEventArgs: NSObject, @unchecked Sendable {  // constant
  /// The local participant is a speaker, too.
  public let speaker: CallerInfo
  /// The whole text of the utterance so far. A later text of the same speaker replaces it until one is final.
  public let spokenText: String
  /// As a BCP 47 tag in small letters.
  public let spokenLanguage: String
  public let resultType: CaptionsResultType
  /// When the utterance began.
  public let timestamp: Date

  fileprivate init(_ segment: TranscriptSegment, in session: Session) {
    let people = [session.localParticipant] + session.participants
    speaker = CallerInfo(
      displayName: people.first { $0.id == segment.participant }?.name ?? "",
      identifier: ParticipantIdentifiers.identifier(of: segment.participant))
    (spokenText, spokenLanguage) = (segment.text, segment.language.lowercased())
    resultType = segment.isFinal ? .final : .partial
    timestamp = Date(timeIntervalSinceNow: (segment.start - session.world.backend.scheduler.now).inSeconds)
  }
}

/// Captions of a call: starts and stops them, sets the language, and delivers the text.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CommunicationCaptions: CallCaptions, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any CommunicationCaptionsDelegate>()

  public weak var delegate: (any CommunicationCaptionsDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// On the delivery queue.
  fileprivate func handle(_ event: SessionEvent) {
    switch event {
    case .transcriptionChanged(let new): changed(to: new)
    case .transcribed(let segment):
      guard let session = call?.session else { return }
      let args = CommunicationCaptionsReceivedEventArgs(segment, in: session)
      delegate?.communicationCaptions(self, didReceiveCaptions: args)
    default: break
    }
  }

  private func changed(to new: RoomTranscription) {
    let language = new.language.lowercased()
    let (isOther, isAnotherLanguage) = state.withLock { state in
      let isAnotherLanguage = !language.isEmpty && state.language != language
      if isAnotherLanguage { state.language = language }
      defer { state.isEnabled = new.isActive }
      return (state.isEnabled != new.isActive, isAnotherLanguage)
    }
    if isAnotherLanguage {
      delegate?.communicationCaptions(self, didChangeActiveSpokenLanguageState: PropertyChangedEventArgs())
    }
    if isOther { delegate?.communicationCaptions(self, didChangeCaptionsEnabledState: PropertyChangedEventArgs()) }
  }
}

extension Call {
  fileprivate var isUp: Bool { [.connected, .localHold, .remoteHold].contains(state) }
}

extension Failure {
  /// - Parameter code: for failures that the vendor has no code of its own for.
  fileprivate func captionsError(_ code: CallingCommunicationErrors) -> NSError {
    let own: CallingCommunicationErrors =
      switch self.code {
      case .noTranscriber: .captionsDisabledByConfigurations
      case .unknownLanguage: .captionsRequestedLanguageNotSupported
      case .forbidden:
        code == .captionsFailedToSetSpokenLanguage ? .captionsSetSpokenLanguageDisabled : .captionsPolicyDisabled
      case .wrongState: .captionsNotActive
      default: code
      }
    return own.error(message)
  }
}
