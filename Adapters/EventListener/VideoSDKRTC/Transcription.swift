import Foundation
import Koine

// Live text of the room's transcript service. The property names are those of the vendor's Android and JavaScript references, which the
// iOS guide uses in its text.
// https://docs.videosdk.live/ios/guide/video-and-audio-calling-api-sdk/transcription-and-summary/realtime-transcribe-meeting

/// Whether a meeting is transcribed.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public enum TranscriptionState: String, Sendable {
  case TRANSCRIPTION_STARTING, TRANSCRIPTION_STARTED, TRANSCRIPTION_STOPPING, TRANSCRIPTION_STOPPED
}

/// A summary of the transcript. Kept: Koine writes no summaries.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class SummaryConfig {
  public var enabled: Bool
  public var prompt: String?

  public init(enabled: Bool, prompt: String? = nil) { (self.enabled, self.prompt) = (enabled, prompt) }
}

/// Whether the text of a recording is written after it. Kept: Koine writes none.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class PostTranscriptionConfig {
  public var enabled: Bool
  public var summary: SummaryConfig?

  public init(enabled: Bool, summary: SummaryConfig? = nil) { (self.enabled, self.summary) = (enabled, summary) }
}

/// Options for the start of a transcription.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public class TranscriptionConfig {
  /// Kept: no webhook is called.
  public var webHookUrl: String?
  /// Kept: Koine writes no summaries.
  public var summary: SummaryConfig?

  public init(webHookUrl: String? = nil, summary: SummaryConfig? = nil) {
    (self.webHookUrl, self.summary) = (webHookUrl, summary)
  }
}

/// What a participant has said, as far as it has been recognised. A later text of the same participant replaces it until one is final.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public struct TranscriptionText: Sendable {
  public let participantId: String
  public let participantName: String
  public let text: String
  /// When the utterance began, in milliseconds since 1970.
  public let timestamp: Int
  /// `interim` or `final`.
  public let type: String
}

extension Meeting {
  /// Starts live text of all participants, for all participants. Listeners are notified of the state and of each text. If there is no
  /// transcriber, or the local participant lacks the permission, the error is `START_TRANSCRIPTION_FAILED`.
  /// - Parameter config: without effect: Koine calls no webhook and writes no summaries.
  public func startTranscription(config: TranscriptionConfig? = nil) {
    if config?.webHookUrl?.isEmpty == false { NoEffect.transcriptionWebhook.log() }
    if config?.summary?.enabled == true { NoEffect.summary.log() }
    guard let session = state.withLock({ $0.isOver || !$0.hasJoined ? nil : $0.session }) else {
      return report(.START_TRANSCRIPTION_FAILED)
    }
    session.startTranscription { [weak self] in self?.transcriptionAnswered($0, .START_TRANSCRIPTION_FAILED) }
  }

  /// Stops live text for all participants. If that fails, the error is `STOP_TRANSCRIPTION_FAILED`.
  public func stopTranscription() {
    guard let session = state.withLock({ $0.isOver || !$0.hasJoined ? nil : $0.session }) else {
      return report(.STOP_TRANSCRIPTION_FAILED)
    }
    session.stopTranscription { [weak self] in self?.transcriptionAnswered($0, .STOP_TRANSCRIPTION_FAILED) }
  }

  // MARK: On the delivery queue

  private func transcriptionAnswered(_ result: Result<Void, Failure>, _ error: VideoSDKError) {
    guard case .failure = result, !state.withLock({ $0.isOver }) else { return }
    notifyListeners { $0.onError(error: error) }
  }

  func transcriptionChanged(to new: RoomTranscription) {
    let present = TranscriptionState(new.state)
    let hasChanged = state.withLock { state in
      defer { state.transcription = present }
      return state.transcription != present
    }
    // The style has no word for another language, or for an interruption.
    if hasChanged { notifyListeners { $0.onTranscriptionStateChanged(state: present) } }
  }

  func transcribed(_ segment: TranscriptSegment, in session: Session) {
    let people = [session.localParticipant] + session.participants
    let age = (session.world.backend.scheduler.now - segment.start).inSeconds
    let text = TranscriptionText(
      participantId: segment.participant,
      participantName: people.first { $0.id == segment.participant }?.name ?? "", text: segment.text,
      timestamp: Int((Date().timeIntervalSince1970 - age) * 1_000), type: segment.isFinal ? "final" : "interim")
    notifyListeners { $0.onTranscriptionText(text) }
  }
}

extension TranscriptionState {
  fileprivate init(_ state: RoomTranscription.State) {
    self =
      switch state {
      case .starting: .TRANSCRIPTION_STARTING
      case .on: .TRANSCRIPTION_STARTED
      case .stopping: .TRANSCRIPTION_STOPPING
      case .off: .TRANSCRIPTION_STOPPED
      }
  }
}
