#sourceLocation(file: "Samples/apps/event-listener/CallText.swift", line: 1)
import VideoSDKRTC

/// The SDK's errors and reasons in words for a person.
enum CallText {
  static let notJoined = "The meeting could not be joined."
  static let left = "You left the meeting."
  static let connectionRestored = "The connection is back."
  static let connectionLost = "The connection to the meeting was lost."

  static func text(for error: VideoSDKError) -> String {
    switch error {
    case .INVALID_API_KEY, .INVALID_TOKEN: "Your invitation is not valid any more. Ask for a new one."
    case .INVALID_PERMISSIONS: "Your invitation does not allow this."
    case .INVALID_MEETING_ID: "There is no meeting with this number."
    case .INVALID_PARTICIPANT_ID: "Your user name cannot be used in a meeting."
    case .DUPLICATE_PARTICIPANT: "You joined this meeting on another device."
    case .ACCOUNT_DEACTIVATED, .ACCOUNT_DISCONTINUED: "Meetings are not available at present."
    case .MAX_PARTCIPANT_REACHED: "The meeting is full."
    case .MAX_SPEAKER_REACHED: "The meeting has no place for another speaker."
    case .START_RECORDING_FAILED, .STOP_RECORDING_FAILED, .RECORDING_FAILED: "The recording failed."
    case .START_LIVESTREAM_FAILED, .STOP_LIVESTREAM_FAILED, .INVALID_LIVESTREAM_CONFIG, .LIVESTREAM_FAILED,
      .START_HLS_FAILED, .STOP_HLS_FAILED, .HLS_FAILED:
      "The live stream failed."
    case .ERROR_GET_VIDEO_MEDIA: "The camera could not be started."
    case .ERROR_GET_AUDIO_MEDIA: "The microphone could not be started."
    case .ERROR_GET_DISPLAY_MEDIA: "The screen could not be shared."
    case .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED: "Allow the camera for this app in Settings."
    case .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED: "Allow the microphone for this app in Settings."
    case .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: "Allow screen recording for this app in Settings."
    default: "Something went wrong (\(error.rawValue)). Please try again."
    }
  }

  static func text(for reason: LeaveReason) -> String {
    switch reason {
    case .manualLeaveCalled: left
    case .removePeer, .removeAll, .removePeerApi: "The host removed you from the meeting."
    case .removePeerViewerModeChanged, .removePeerMediaRelayStop: "Your part in the meeting has ended."
    case .roomClose, .meetingEndApi: "The host ended the meeting."
    case .duplicateParticipant: text(for: VideoSDKError.DUPLICATE_PARTICIPANT)
    case .websocketDisconnected, .websocketConnectionAttemptsExhausted: connectionLost
    case .joinRoomFailed: notJoined
    case .switchRoom, .switchRoomFailed: "You went to another meeting."
    default: "The meeting has ended (\(reason.rawValue))."
    }
  }
}
