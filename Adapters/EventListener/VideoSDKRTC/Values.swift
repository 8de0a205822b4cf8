import CrossVendorConventions
import Koine
public import Mediasoup

/// State of the meeting's connection: the names up to 2.2.1 and the newer names.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/properties)
public enum MeetingState: String, Sendable {
  case CONNECTING, CONNECTED, CLOSING, CLOSED, CANCELLED, RECONNECTING
  /// Newer names, for `switch` statements of apps. Koine reports the older names.
  case DISCONNECTED, FAILED
}

/// The transport that a meeting is to prefer. Kept: ICE chooses the path. The vendor added it in 2.1.3.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/initMeeting)
public enum PreferredProtocol: String, Sendable { case UDP_OVER_TCP, UDP_ONLY, TCP_ONLY }

/// The cause of a limited quality. Koine reports `CONGESTION`.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/events)
public enum QualityLimitationType: String, Sendable { case CPU, BANDWIDTH, CONGESTION }

/// Whether a quality has become limited, or is no longer.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/events)
public enum QualityLimitationState: String, Sendable { case DETECTED, RESOLVED }

/// Quality of a received video.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/participant-class/methods)
public enum VideoQuality: String, CaseIterable, Sendable { case high, medium, low }

/// The media of a stream.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/stream-class/properties)
public enum MediaType: Hashable, Sendable {
  case share
  case state(value: MediaKind)

  init(_ kind: Track.Kind) {
    switch kind {
    case .microphone: self = .state(value: .audio)
    case .camera: self = .state(value: .video)
    case .screen, .screenSound: self = .share
    }
  }
}

/// The vendor's error codes, as far as the engine can determine them.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/error-codes)
public enum VideoSDKError: Int, Sendable {
  case UNKNOWN_ERROR = 4000
  case INVALID_API_KEY = 4001
  case INVALID_TOKEN = 4002
  case INVALID_MEETING_ID = 4003
  case INVALID_PARTICIPANT_ID = 4004
  case DUPLICATE_PARTICIPANT = 4005
  case ACCOUNT_DEACTIVATED = 4006
  case ACCOUNT_DISCONTINUED = 4007
  case INVALID_PERMISSIONS = 4008
  case MAX_PARTCIPANT_REACHED = 4009
  case MAX_SPEAKER_REACHED = 4010
  case START_RECORDING_FAILED = 4011
  case STOP_RECORDING_FAILED = 4012
  case START_LIVESTREAM_FAILED = 4013
  case STOP_LIVESTREAM_FAILED = 4014
  case INVALID_LIVESTREAM_CONFIG = 4015
  case START_HLS_FAILED = 4016
  case STOP_HLS_FAILED = 4017
  case START_TRANSCRIPTION_FAILED = 4031
  case STOP_TRANSCRIPTION_FAILED = 4032
  case RECORDING_FAILED = 5001
  case LIVESTREAM_FAILED = 5002
  case HLS_FAILED = 5003
  case TRANSCRIPTION_FAILED = 5007
  case ERROR_GET_VIDEO_MEDIA = 3011
  case ERROR_GET_AUDIO_MEDIA = 3012
  case ERROR_GET_DISPLAY_MEDIA = 3013
  case ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED = 3014
  case ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED = 3015
  case ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED = 3016

  init(_ error: Failure) {
    self =
      switch error.code {
      case .invalidRoom: .INVALID_MEETING_ID
      case .invalidParticipantID: .INVALID_PARTICIPANT_ID
      case .unauthorized: .INVALID_TOKEN
      case .forbidden: .INVALID_PERMISSIONS
      case .roomFull: .MAX_PARTCIPANT_REACHED
      default: .UNKNOWN_ERROR
      }
  }
}

extension VideoSDKError {
  /// The vendor's number and name of the error, and what it means, such as `4002 INVALID_TOKEN: the token is empty, malformed or
  /// expired`. Newer versions of the vendor's SDK have it; older ones have the number only.
  public var message: String { "\(rawValue) \(self): \(meaning)" }

  /// The same as `message`, so that code for errors of Foundation says something useful. The vendor's type is no `Error`.
  public var localizedDescription: String { message }

  private var meaning: String {
    switch self {
    case .UNKNOWN_ERROR: "an error without a number of its own"
    case .INVALID_API_KEY: "the API key in the token is empty or unknown"
    case .INVALID_TOKEN: "the token is empty, malformed or expired"
    case .INVALID_MEETING_ID: "the meeting id is empty or unknown"
    case .INVALID_PARTICIPANT_ID: "the participant id is empty or has whitespace in it"
    case .DUPLICATE_PARTICIPANT: "the same participant id has joined from elsewhere"
    case .ACCOUNT_DEACTIVATED: "the account is deactivated"
    case .ACCOUNT_DISCONTINUED: "the account is discontinued"
    case .INVALID_PERMISSIONS: "the token's permissions do not allow it"
    case .MAX_PARTCIPANT_REACHED: "the meeting is full"
    case .MAX_SPEAKER_REACHED: "the meeting has as many speakers as it may have"
    case .START_RECORDING_FAILED: "the recording could not be started"
    case .STOP_RECORDING_FAILED: "the recording could not be stopped"
    case .START_LIVESTREAM_FAILED: "the live stream could not be started"
    case .STOP_LIVESTREAM_FAILED: "the live stream could not be stopped"
    case .INVALID_LIVESTREAM_CONFIG: "the live stream's outputs are not valid"
    case .START_HLS_FAILED: "the HLS stream could not be started"
    case .STOP_HLS_FAILED: "the HLS stream could not be stopped"
    case .START_TRANSCRIPTION_FAILED: "the transcription could not be started"
    case .STOP_TRANSCRIPTION_FAILED: "the transcription could not be stopped"
    case .TRANSCRIPTION_FAILED: "the transcription has failed"
    case .RECORDING_FAILED: "the recording has failed"
    case .LIVESTREAM_FAILED: "the live stream has failed"
    case .HLS_FAILED: "the HLS stream has failed"
    case .ERROR_GET_VIDEO_MEDIA: "the camera could not be opened"
    case .ERROR_GET_AUDIO_MEDIA: "the microphone could not be opened"
    case .ERROR_GET_DISPLAY_MEDIA: "the screen could not be captured"
    case .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED: "the app has no permission for the camera"
    case .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED: "the app has no permission for the microphone"
    case .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: "the app has no permission to capture the screen"
    }
  }

  /// Of a stream that could not be published.
  init(_ error: Failure, of kind: Track.Kind) {
    self =
      switch (error.code, kind) {
      case (.device, .microphone): .ERROR_GET_AUDIO_MEDIA
      case (.device, .camera): .ERROR_GET_VIDEO_MEDIA
      case (.device, _): .ERROR_GET_DISPLAY_MEDIA
      default: VideoSDKError(error)
      }
  }
}

/// The reason why a participant left the meeting.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/properties)
public enum LeaveReason: Int, CaseIterable, Sendable {
  case websocketDisconnected = 1001
  case removePeer = 1002
  case removePeerViewerModeChanged = 1003
  case removePeerMediaRelayStop = 1004
  case switchRoom = 1005
  case roomClose = 1006
  case unknown = 1007
  case removeAll = 1008
  case meetingEndApi = 1009
  case removePeerApi = 1010
  case duplicateParticipant = 1011
  case manualLeaveCalled = 1101
  case websocketConnectionAttemptsExhausted = 1102
  case joinRoomFailed = 1103
  case switchRoomFailed = 1104

  /// - Returns: `unknown` for a number that is none of the vendor's.
  public static func from(code: Int) -> LeaveReason { LeaveReason(rawValue: code) ?? .unknown }

  /// The vendor's number and name of the reason, such as `1101 manualLeaveCalled`.
  public var message: String { "\(rawValue) \(self)" }

  /// - Parameter isSwitching: whether the local participant was on its way from another meeting.
  init(_ reason: EndReason, isSwitching: Bool = false) {
    self =
      switch reason {
      case .left: .manualLeaveCalled
      case .refused: isSwitching ? .switchRoomFailed : .joinRoomFailed
      case .lost: isSwitching ? .switchRoomFailed : .websocketConnectionAttemptsExhausted
      case .removed, .expired: .removePeer
      case .duplicate: .duplicateParticipant
      case .roomClosed: .roomClose
      case .removedByService: .removePeerApi
      case .roomClosedByService: .meetingEndApi
      }
  }

  init(_ reason: DepartureReason, of participant: Koine.Participant) {
    self =
      switch reason {
      case .left where participant.attributes[Convention.switching] != nil: .switchRoom
      case .left: .manualLeaveCalled
      case .dropped: .websocketDisconnected
      case .removed: .removePeer
      }
  }
}
