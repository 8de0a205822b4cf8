import Foundation

/// What a sample buffer of ReplayKit holds.
public enum RPSampleBufferType: Int, Sendable {
  /// A frame of the screen.
  case video = 1
  /// Audio that the app plays.
  case audioApp = 2
  /// Audio of the microphone.
  case audioMic = 3
}

/// The key of the attachment of video that says how to turn the frame: an `NSNumber` with a raw value of `CGImagePropertyOrientation`.
public let RPVideoSampleOrientationKey = "RPVideoSampleOrientation"

/// How an image is turned for display. On Apple's systems this type is in ImageIO.
public enum CGImagePropertyOrientation: UInt32, Sendable {
  case up = 1
  case upMirrored = 2
  /// By half a turn.
  case down = 3
  case downMirrored = 4
  case leftMirrored = 5
  /// Clockwise, by a quarter turn.
  case right = 6
  case rightMirrored = 7
  /// Counterclockwise, by a quarter turn.
  case left = 8

  /// - Parameter quarterTurns: clockwise turns to apply for display.
  init(quarterTurns: UInt8) { self = [.up, .right, .down, .left][Int(quarterTurns & 3)] }
}

/// The domain of ReplayKit's errors.
public let RPRecordingErrorDomain = "com.apple.ReplayKit.RPRecordingErrorDomain"

/// Why a capture or a broadcast does not start or has ended.
public enum RPRecordingErrorCode: Int, Sendable {
  case unknown = -5800
  case userDeclined = -5801
  case disabled = -5802
  case failedToStart = -5803
  case failed = -5804
  case insufficientStorage = -5805
  case interrupted = -5806
  case contentResize = -5807
  case broadcastInvalidSession = -5808
  case systemDormancy = -5809
  case entitlements = -5810
  case activePhoneCall = -5811
  case failedToSave = -5812
  case carPlay = -5813
  case failedApplicationConnectionInvalid = -5814
  case failedApplicationConnectionInterrupted = -5815
  case failedNoMatchingApplicationContext = -5816
  case failedMediaServicesFailure = -5817
  case videoMixingFailure = -5818
  case broadcastSetupFailed = -5819
  case failedToObtainURL = -5820
  case failedIncorrectTimeStamps = -5821
  case failedToProcessFirstSample = -5822
  case failedAssetWriterFailedToSave = -5823
  case failedNoAssetWriter = -5824
  case failedAssetWriterInWrongState = -5825
  case failedAssetWriterExportFailed = -5826
  case failedToRemoveFile = -5827
  case failedAssetWriterExportCanceled = -5828
  case attemptToStopNonRecording = -5829
  case attemptToStartInRecordingState = -5830
  case photoFailure = -5831
  case recordingInvalidSession = -5832
  case failedToStartCaptureStack = -5833
  case invalidParameter = -5834
  case filePermissions = -5835
  case exportClipToURLInProgress = -5836
  case codeSuccessful = 0

  func error(_ message: String) -> NSError {
    NSError(domain: RPRecordingErrorDomain, code: rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }
}
