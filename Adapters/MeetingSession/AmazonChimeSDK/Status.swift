import Koine

/// The result of starting or the reason for ending the meeting's audio or video.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingSessionStatus.html)
public final class MeetingSessionStatus: Sendable {
  public let statusCode: MeetingSessionStatusCode
  public init(statusCode: MeetingSessionStatusCode) { self.statusCode = statusCode }
}

/// Codes of a meeting session's status.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/MeetingSessionStatusCode.html)
public enum MeetingSessionStatusCode: UInt32, CustomStringConvertible, Sendable {
  case ok = 0
  case audioDisconnected = 9
  case connectionHealthReconnect = 10
  case videoServiceUnavailable = 12
  case networkBecomePoor = 59
  case audioServerHungup = 60
  case audioJoinedFromAnotherDevice = 61
  case audioInternalServerError = 62
  case audioAuthenticationRejected = 63
  case audioCallAtCapacity = 64
  case audioServiceUnavailable = 65
  case audioDisconnectAudio = 69
  case audioCallEnded = 75
  case unknown = 78
  case audioInputDeviceNotResponding = 82
  case audioOutputDeviceNotResponding = 83
  case videoAtCapacityViewOnly = 206

  public var description: String {
    switch self {
    case .ok: "ok"
    case .audioDisconnected: "audioDisconnected"
    case .connectionHealthReconnect: "connectionHealthReconnect"
    case .videoServiceUnavailable: "videoServiceUnavailable"
    case .networkBecomePoor: "networkBecomePoor"
    case .audioServerHungup: "audioServerHungup"
    case .audioJoinedFromAnotherDevice: "audioJoinedFromAnotherDevice"
    case .audioInternalServerError: "audioInternalServerError"
    case .audioAuthenticationRejected: "audioAuthenticationRejected"
    case .audioCallAtCapacity: "audioCallAtCapacity"
    case .audioServiceUnavailable: "audioServiceUnavailable"
    case .audioDisconnectAudio: "audioDisconnectAudio"
    case .audioCallEnded: "audioCallEnded"
    case .unknown: "unknown"
    case .audioInputDeviceNotResponding: "audioInputDeviceNotResponding"
    case .audioOutputDeviceNotResponding: "audioOutputDeviceNotResponding"
    case .videoAtCapacityViewOnly: "videoAtCapacityViewOnly"
    }
  }

  init(_ reason: EndReason) {
    self =
      switch reason {
      case .left: .ok
      case .lost: .audioDisconnected
      case .removed, .removedByService, .roomClosed, .roomClosedByService, .expired: .audioServerHungup
      case .duplicate: .audioJoinedFromAnotherDevice
      case .refused(let error):
        switch error.code {
        case .unauthorized, .forbidden: .audioAuthenticationRejected
        case .roomFull: .audioCallAtCapacity
        case .unreachable: .audioServiceUnavailable
        case .ended: .audioCallEnded
        default: .audioInternalServerError
        }
      }
  }
}

// MARK: Errors

/// A missing permission to use the microphone or the camera.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/PermissionError.html)
public enum PermissionError: Int, Error, CustomStringConvertible, Sendable {
  case audioPermissionError, videoPermissionError
  public var description: String { ["audioPermissionError", "videoPermissionError"][rawValue] }
}

/// An error of the meeting's media.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/MediaError.html)
public enum MediaError: Int, Error, CustomStringConvertible, Sendable {
  case illegalState, audioFailedToStart, noCameraSelected, noAudioDevices, overrideOutputAudioPortFailed
  case setPreferredAudioInputFailed
  public var description: String {
    [
      "illegalState", "audioFailedToStart", "noCameraSelected", "noAudioDevices", "overrideOutputAudioPortFailed",
      "setPreferredAudioInputFailed",
    ][rawValue]
  }
}

/// The reason why a data message cannot be sent.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/SendDataMessageError.html)
public enum SendDataMessageError: Int, Error, CustomStringConvertible, Sendable {
  case invalidDataLength, invalidTopic, negativeLifetimeParameter, invalidData
  public var description: String {
    ["invalidDataLength", "invalidTopic", "negativeLifetimeParameter", "invalidData"][rawValue]
  }
}

/// The reason why a capture source failed.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/CaptureSourceError.html)
public enum CaptureSourceError: Int, Error, CustomStringConvertible, Sendable {
  case unknown, systemFailure, configurationFailure, invalidFrame
  public var description: String { ["unknown", "systemFailure", "configurationFailure", "invalidFrame"][rawValue] }
}

// MARK: Ids with a modality

/// Modality of an attendee id.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/ModalityType.html)
public enum ModalityType: Int, Error, CustomStringConvertible, Sendable {
  case content
  public var description: String { "content" }
}

/// Splits an attendee id into base and modality: `<base>` or `<base>#content`.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultModality.html)
public final class DefaultModality: Sendable {
  public static let separator: Character = "#"
  public let id: String
  public let base: String
  public let modality: String?

  public init(id: String) {
    self.id = id
    let parts = id.split(separator: Self.separator)
    base = parts.first.map(String.init) ?? ""
    modality = parts.count == 2 ? String(parts[1]) : nil
  }

  public func isOfType(type: ModalityType) -> Bool { modality == type.description }

  /// The attendee id of an attendee's content share. The id of a share is returned unchanged.
  static func content(of id: String) -> String {
    DefaultModality(id: id).isOfType(type: .content) ? id : "\(id)\(separator)\(ModalityType.content)"
  }
}
