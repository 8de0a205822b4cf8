import Foundation
import Koine

/// An object that reports errors asynchronously: a stage, its audio manager or a device.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSErrorSource.html)
public protocol IVSErrorSource: NSObjectProtocol {
  /// Held weakly.
  var errorDelegate: (any IVSErrorDelegate)? { get set }
}

/// Notified of errors that occur outside of the app's calls.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSErrorDelegate.html)
public protocol IVSErrorDelegate: NSObjectProtocol {
  /// On the delivery queue (main unless the app chose otherwise).
  func source(_ source: any IVSErrorSource, didEmitError error: any Error)
}

/// The domain of every error of this SDK, which are all `NSError`s.
public let IVSBroadcastErrorDomain = "com.amazonaws.ivs.broadcast"
/// In every error's `userInfo`: a Bool in an NSNumber.
public let IVSBroadcastErrorIsFatalKey = "IVSBroadcastErrorIsFatalKey"
/// In every error's `userInfo`: the source of the error.
public let IVSBroadcastSourceDescriptionErrorKey = "IVSBroadcastSourceDescription"
/// In every error's `userInfo`: the name of the code.
public let IVSBroadcastResultDescriptionErrorKey = "IVSBroadcastResultDescription"
/// In every error's `userInfo`: different for each error.
public let IVSBroadcastUidDescriptionErrorKey = "IVSBroadcastUidDescription"

/// The vendor's error codes.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSBroadcastError.html)
public enum IVSBroadcastError: Int, Sendable {
  case deviceExchangeIncompatibleTypes = 10100
  case deviceNotFound = 10101
  case deviceAttachDeviceCouldNotAddAsInput = 10102
  case deviceAttachDeviceCouldNotAddOutputStream = 10103
  case deviceTypeAlreadyAttached = 10104
  case deviceFoundNoMatchingSlot = 10105
  case unsupportedDeviceType = 10106
  case tooManyExternalAudioInputs = 10107
  case noSupportedPixelFormats = 10108
  case exchangeDeviceOldDeviceNotAttached = 10109
  case deviceAlreadyAttached = 10110
  case deviceNotPublishing = 10111
  case configurationInvalidAudioBitrate = 10200
  case configurationInvalidAudioChannels = 10201
  case configurationInvalidVideoInitialBitrate = 10202
  case configurationInvalidVideoMaxBitrate = 10203
  case configurationInvalidVideoMinBitrate = 10204
  case configurationInvalidVideoTargetFramerate = 10205
  case configurationInvalidVideoKeyframeInterval = 10206
  case configurationInvalidVideoSize = 10207
  case configurationInvalidSlotName = 10208
  case configurationInvalidSlotGain = 10209
  case configurationInvalidSlotTransparency = 10210
  case configurationDuplicateSlotNames = 10211
  case stageConfigurationInvalidVideoMaxBitrate = 10220
  case stageConfigurationInvalidVideoMinBitrate = 10221
  case stageConfigurationInvalidVideoTargetFramerate = 10222
  case stageConfigurationInvalidVideoSize = 10223
  case stageConfigurationInvalidAudioMaxBitrate = 10224
  case previewMetalLibraryInvalid = 10300
  case previewMetalStateDescriptorInvalid = 10301
  case metalNotSupported = 10302
  case sessionIsNotReady = 10400
  case invalidVideoFormat = 10401
  case imageTooLarge = 10402
  case pcmDataTooLong = 10403
  case invalidAudioSessionStrategy = 10404
  case networkConnectivityLost = 10405
  case foregroundOnly = 10406
  case invalidState = 10410
  case pcmUnsupportedSample = 10411
  case appSuspension = 10412
}

/// Codes of a stage, which the vendor's guide lists by number.
enum StageFault: Int {
  case malformedToken = 1000
  case expiredToken = 1001
  case publishOfferFailed = 1020
  case stageAtCapacity = 1024
  case invalidToken = 1026
  case joinRefused = 1027
  case badResponse = 1203
  case networkError = 1300

  /// Fatal: the stage has no connection any more, or never gets one.
  var isFatal: Bool {
    switch self {
    case .malformedToken, .expiredToken, .invalidToken, .joinRefused, .networkError: true
    case .publishOfferFailed, .stageAtCapacity, .badResponse: false
    }
  }

  /// What the room said, in the vendor's numbers.
  init(_ error: Failure) {
    self =
      switch error.code {
      case .unauthorized, .forbidden, .invalidParticipantID: .invalidToken
      case .invalidRoom: .joinRefused
      case .roomFull: .stageAtCapacity
      case .unreachable, .notConnected, .ended: .networkError
      default: .badResponse
      }
  }
}

extension NSError {
  static func ivs(_ fault: StageFault, _ message: String, fatal: Bool? = nil) -> NSError {
    ivs(fault.rawValue, "\(fault)", message, source: "IVSStage", fatal: fatal ?? fault.isFatal)
  }

  static func ivs(_ code: IVSBroadcastError, _ message: String, source: String, fatal: Bool = false) -> NSError {
    ivs(code.rawValue, "\(code)", message, source: source, fatal: fatal)
  }

  private static func ivs(_ code: Int, _ name: String, _ message: String, source: String, fatal: Bool) -> NSError {
    NSError(
      domain: IVSBroadcastErrorDomain, code: code,
      userInfo: [
        NSLocalizedDescriptionKey: message, IVSBroadcastErrorIsFatalKey: NSNumber(value: fatal),
        IVSBroadcastSourceDescriptionErrorKey: source, IVSBroadcastResultDescriptionErrorKey: name,
        IVSBroadcastUidDescriptionErrorKey: UUID().uuidString,
      ])
  }
}
