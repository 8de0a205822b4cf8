import Foundation
import Koine

/// The vendor's error codes. Several are no single bits, so they are to be read as codes, not as flags.
public struct CallingCommunicationErrors: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let noAudioPermission = Self(rawValue: 1)
  public static let noVideoPermission = Self(rawValue: 2)
  public static let noAudioAndVideoPermission = Self(rawValue: 3)
  public static let invalidGuidGroupId = Self(rawValue: 16)
  public static let multipleRenderersNotSupported = Self(rawValue: 64)
  public static let multipleViewsNotSupported = Self(rawValue: 128)
  public static let invalidLocalVideoStreamForVideoOptions = Self(rawValue: 256)
  public static let noMultipleConnectionsWithSameIdentity = Self(rawValue: 512)
  public static let localVideoStreamSwitchSourceFailure = Self(rawValue: 2048)
  public static let incomingCallAlreadyUnplaced = Self(rawValue: 4096)
  public static let participantAddedToUnconnectedCall = Self(rawValue: 32768)
  public static let participantAlreadyAddedToCall = Self(rawValue: 65536)
  public static let invalidVideoStreamCombination = Self(rawValue: 4_194_304)
  public static let displayNameLengthLongerThanSupported = Self(rawValue: 8_388_608)
  public static let failedToHangupForEveryone = Self(rawValue: 16_777_216)
  public static let removeParticipantOperationFailure = Self(rawValue: 286)
  public static let invalidTokenProvider = Self(rawValue: 297)

  /// The vendor's domain is not public; ours stays as it is.
  static let domain = "AzureCommunicationCalling"

  func error(_ message: String) -> NSError {
    NSError(domain: Self.domain, code: rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }
}

extension NSError {
  /// What the common layer says, in the vendor's domain.
  convenience init(_ error: SessionError) {
    let code =
      switch error.code {
      case .invalidCredential: CallingCommunicationErrors.invalidTokenProvider.rawValue
      case .device: CallingCommunicationErrors.noVideoPermission.rawValue
      default: 0
      }
    self.init(
      domain: CallingCommunicationErrors.domain, code: code, userInfo: [NSLocalizedDescriptionKey: error.description])
  }
}

/// Completion handlers are called once, on the delivery queue; until then nobody else touches them.
struct Handler<each Result>: @unchecked Sendable {
  private let call: (repeat each Result) -> Void
  init(_ call: @escaping (repeat each Result) -> Void) { self.call = call }
  func callAsFunction(_ result: repeat each Result) { call(repeat each result) }
}
