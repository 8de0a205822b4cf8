import Foundation
import Koine

/// The vendor's error codes. Several codes have more than one bit set: compare them as codes, not as flags.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallingcommunicationerrors)
public struct CallingCommunicationErrors: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let noAudioPermission = Self(rawValue: 1)
  public static let noVideoPermission = Self(rawValue: 2)
  public static let noAudioAndVideoPermission = Self(rawValue: 3)
  public static let receivedInvalidPushNotificationPayload = Self(rawValue: 4)
  public static let failedToSendRawAudioBuffer = Self(rawValue: 5)
  public static let cannotMuteVirtualAudioStream = Self(rawValue: 6)
  public static let failedToProcessPushNotificationPayload = Self(rawValue: 8)
  public static let invalidGuidGroupId = Self(rawValue: 16)
  public static let invalidPushNotificationDeviceRegistrationToken = Self(rawValue: 32)
  public static let multipleRenderersNotSupported = Self(rawValue: 64)
  public static let multipleViewsNotSupported = Self(rawValue: 128)
  public static let invalidLocalVideoStreamForVideoOptions = Self(rawValue: 256)
  public static let invalidVideoFormat = Self(rawValue: 257)
  public static let invalidBuffer = Self(rawValue: 258)
  public static let rawVideoFrameNotSent = Self(rawValue: 259)
  public static let unsupportedVideoStreamResolution = Self(rawValue: 260)
  public static let captionsFailedToStart = Self(rawValue: 261)
  public static let captionsDisabledByConfigurations = Self(rawValue: 262)
  public static let captionsPolicyDisabled = Self(rawValue: 263)
  public static let captionsNotActive = Self(rawValue: 264)
  public static let captionsRequestedLanguageNotSupported = Self(rawValue: 265)
  public static let failedToSetCaptionLanguage = Self(rawValue: 266)
  public static let setCaptionLanguageDisabled = Self(rawValue: 267)
  public static let setCaptionLanguageTeamsPremiumLicenseNeeded = Self(rawValue: 268)
  public static let captionsFailedToSetSpokenLanguage = Self(rawValue: 269)
  public static let captionsSetSpokenLanguageDisabled = Self(rawValue: 270)
  public static let getCaptionsFailedCallStateNotConnected = Self(rawValue: 271)
  public static let getCaptionsFailed = Self(rawValue: 272)
  public static let spotlightDisabledByConfigurations = Self(rawValue: 273)
  public static let maxSpotlightReached = Self(rawValue: 274)
  public static let spotlightParticipantEmptyList = Self(rawValue: 275)
  public static let signalingOperationFailed = Self(rawValue: 276)
  public static let musicModeNotEnabled = Self(rawValue: 277)
  public static let muteOthersForbidden = Self(rawValue: 278)
  public static let muteOthersInternalServerError = Self(rawValue: 279)
  public static let muteOthersNotFound = Self(rawValue: 280)
  public static let lobbyDisabledByConfigurations = Self(rawValue: 282)
  public static let lobbyConversationTypeNotSupported = Self(rawValue: 283)
  public static let lobbyMeetingRoleNotAllowed = Self(rawValue: 284)
  public static let lobbyParticipantNotExist = Self(rawValue: 285)
  public static let removeParticipantOperationFailure = Self(rawValue: 286)
  public static let lobbyAdmitOperationFailure = Self(rawValue: 287)
  public static let proxyNotAvailableForTeams = Self(rawValue: 288)
  public static let failedToSetMediaProxy = Self(rawValue: 289)
  public static let mediaStatisticsInvalidReportInterval = Self(rawValue: 290)
  public static let dataChannelFailedToStart = Self(rawValue: 291)
  public static let dataChannelSenderClosed = Self(rawValue: 292)
  public static let dataChannelRandomIdNotAvailable = Self(rawValue: 293)
  public static let dataChannelMessageSizeOverLimit = Self(rawValue: 294)
  public static let dataChannelMessageFailureForBandwidth = Self(rawValue: 295)
  public static let dataChannelMessageFailureForTrafficLimit = Self(rawValue: 296)
  public static let invalidTokenProvider = Self(rawValue: 297)
  public static let teamsForLifeMeetingJoinNotSupported = Self(rawValue: 298)
  public static let captionsFailedToStop = Self(rawValue: 301)
  public static let muteOthersNotSupported = Self(rawValue: 302)
  public static let switchSourceBlocked = Self(rawValue: 305)
  public static let surveyRatingScaleOutOfBounds = Self(rawValue: 306)
  public static let surveyRatingScaleInvalidThreshold = Self(rawValue: 307)
  public static let surveyScoreOutOfBounds = Self(rawValue: 308)
  public static let surveyDoubleSubmissionNotAllowed = Self(rawValue: 309)
  public static let realTimeTextContentTooLong = Self(rawValue: 311)
  public static let noMultipleConnectionsWithSameIdentity = Self(rawValue: 512)
  public static let invalidServerCallId = Self(rawValue: 1024)
  public static let localVideoStreamSwitchSourceFailure = Self(rawValue: 2048)
  public static let incomingCallAlreadyUnplaced = Self(rawValue: 4096)
  public static let invalidMeetingLink = Self(rawValue: 16384)
  public static let participantAddedToUnconnectedCall = Self(rawValue: 32768)
  public static let participantAlreadyAddedToCall = Self(rawValue: 65536)
  public static let callFeatureExtensionNotFound = Self(rawValue: 131072)
  public static let duplicateDeviceId = Self(rawValue: 262144)
  public static let virtualDeviceNotStarted = Self(rawValue: 1_048_576)
  public static let invalidVideoStreamCombination = Self(rawValue: 4_194_304)
  public static let displayNameLengthLongerThanSupported = Self(rawValue: 8_388_608)
  public static let failedToHangupForEveryone = Self(rawValue: 16_777_216)
  public static let noMultipleConnectionsWithDifferentClouds = Self(rawValue: 33_554_432)
  public static let featureExtensionNotFound = Self(rawValue: 67_108_864)
  public static let videoEffectNotSupported = Self(rawValue: 134_217_728)
  public static let invalidParticipantAddedToCall = Self(rawValue: 536_870_912)

  /// The vendor's domain is not public; ours stays as it is.
  static let domain = "AzureCommunicationCalling"

  func error(_ message: String) -> NSError {
    NSError(domain: Self.domain, code: rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }
}

extension NSError {
  /// What the common layer says, in the vendor's domain.
  convenience init(_ error: Failure) {
    let code =
      switch error.code {
      case .unauthorized: CallingCommunicationErrors.invalidTokenProvider.rawValue
      case .device: CallingCommunicationErrors.noVideoPermission.rawValue
      default: 0
      }
    self.init(
      domain: CallingCommunicationErrors.domain, code: code, userInfo: [NSLocalizedDescriptionKey: error.description])
  }
}

/// A completion handler. It is called once, on the delivery queue, and has no other use until then.
struct Handler<each Result>: @unchecked Sendable {
  private let call: (repeat each Result) -> Void
  init(_ call: @escaping (repeat each Result) -> Void) { self.call = call }
  func callAsFunction(_ result: repeat each Result) { call(repeat each result) }
}
