#sourceLocation(file: "Samples/apps/meeting-session/MeetingText.swift", line: 1)
import AmazonChimeSDK

/// The texts that a user reads when a meeting ends or an action fails.
enum MeetingText {
  static let offline = "Messages can be sent when the meeting is connected."
  static let reconnected = "You are connected again."
  static let throttled = "Too many messages at once: the last one was not sent."
  static let shareFailed = "The screen is no longer shared: the service failed."

  /// Why a meeting is over.
  static func end(_ code: MeetingSessionStatusCode) -> String {
    switch code {
    case .ok: return "You left the meeting."
    case .audioServerHungup, .audioDisconnectAudio: return "The host ended the meeting or removed you."
    case .audioCallEnded: return "The meeting is over."
    case .audioJoinedFromAnotherDevice: return "You joined this meeting on another device."
    case .audioAuthenticationRejected: return "Your invitation is not valid. Ask the host for a new one."
    case .audioCallAtCapacity: return "The meeting is full."
    case .audioServiceUnavailable, .videoServiceUnavailable: return "The meeting service is not available."
    case .audioInternalServerError: return "The meeting service failed. Try again later."
    case .audioDisconnected, .connectionHealthReconnect, .networkBecomePoor: return "The connection was lost."
    case .audioInputDeviceNotResponding: return "The microphone does not respond."
    case .audioOutputDeviceNotResponding: return "The speaker does not respond."
    case .videoAtCapacityViewOnly: return "The meeting has no room for another camera."
    case .unknown: return "The meeting ended for an unknown reason."
    @unknown default: return "The meeting ended for an unknown reason (\(code.rawValue))."
    }
  }

  /// Why an action did not work.
  static func failure(_ error: Error) -> String {
    switch error {
    case PermissionError.audioPermissionError: return "Allow the microphone in Settings to join a meeting."
    case PermissionError.videoPermissionError: return "Allow the camera in Settings to be seen."
    case is MediaError: return "The sound could not be started."
    case SendDataMessageError.invalidDataLength: return "The message is too long."
    case is SendDataMessageError: return "The message could not be sent."
    case is CaptureSourceError: return "The screen could not be shared."
    case is DecodingError: return "The answer of the meeting server is not understood."
    default: return "The meeting server is not reached: \(error.localizedDescription)"
    }
  }
}
