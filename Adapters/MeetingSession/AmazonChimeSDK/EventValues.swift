public import KoineUIKit

// Values in the attributes of events.

/// Whether the app is in front of its user.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/AppState.html)
public enum AppState: Int, CustomStringConvertible, Sendable {
  case active, inactive, foreground, background, terminated, other

  public init(from applicationState: UIApplication.State) {
    self =
      switch applicationState {
      case .active: .active
      case .inactive: .inactive
      case .background: .background
      }
  }

  public var description: String {
    ["Active", "Inactive", "Foreground", "Background", "Terminated", "Other"][rawValue]
  }
}

/// The state of the battery, as an attribute of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/BatteryState.html)
public enum BatteryState: Int, CustomStringConvertible, Sendable {
  case charging, discharging, full, unknown
  public var description: String { ["Charging", "Discharging", "Full", "Unknown"][rawValue] }
}

/// The kind of network of the machine, as an attribute of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/NetworkConnectionType.html)
public enum NetworkConnectionType: Int, CustomStringConvertible, Sendable {
  case wifi, cellular, wiredEthernet, other, none, unknown
  public var description: String { ["Wifi", "Cellular", "Ethernet", "Other", "None", "Unknown"][rawValue] }
}

/// Why a running camera gives no frames.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoInterruptionReason.html)
public enum VideoInterruptionReason: Int, Error, CustomStringConvertible, Sendable {
  case videoDeviceNotAvailableInBackground, videoDeviceInUseByAnotherClient
  case videoDeviceNotAvailableWithMultipleForegroundApps, videoDeviceNotAvailableDueToSystemPressure, other
  public var description: String {
    [
      "videoDeviceNotAvailableInBackground", "videoDeviceInUseByAnotherClient",
      "videoDeviceNotAvailableWithMultipleForegroundApps", "videoDeviceNotAvailableDueToSystemPressure", "other",
    ][rawValue]
  }
}

/// Why noise suppression could not be switched, as an attribute of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VoiceFocusError.html)
public enum VoiceFocusError: Int, Error, CustomStringConvertible, Sendable {
  case audioClientNotStarted, audioClientError, setParamFailed, notInitialized, other

  /// - Parameter status: of the vendor's audio client.
  public init(from status: Int) {
    self =
      switch status {
      case 1: .audioClientError
      case 6: .notInitialized
      case 19: .setParamFailed
      default: .other
      }
  }

  public var description: String {
    ["audioClientNotStarted", "audioClientError", "setParamFailed", "notInitialized", "other"][rawValue]
  }
}

/// Why video failed, as an attribute of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoClientFailedError.html)
public enum VideoClientFailedError: Int, Error, CustomStringConvertible, Sendable {
  case authenticationFailed, peerConnectionCreateFailed, maxRetryPeriodExceeded, other
  public var description: String {
    ["authenticationFailed", "peerConnectionCreateFailed", "maxRetryPeriodExceeded", "other"][rawValue]
  }
}

/// Why the signalling connection was lost, as an attribute of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/SignalingDroppedError.html)
public enum SignalingDroppedError: Int, Error, CustomStringConvertible, Sendable {
  case none, signalingClientDisconnected, signalingClientClosed, signalingClientEOF, signalingClientError
  case signalingClientProxyError, signalingClientOpenFailed, signalFrameParseFailed, signalFrameSerializeFailed
  case signalFrameSendingFailed, internalServerError, other
  public var description: String {
    [
      "none", "signalingClientDisconnected", "signalingClientClosed", "signalingClientEOF", "signalingClientError",
      "signalingClientProxyError", "signalingClientOpenFailed", "signalFrameParseFailed", "signalFrameSerializeFailed",
      "signalFrameSendingFailed", "internalServerError", "other",
    ][rawValue]
  }
}

/// An error of a resource of the machine, as an attribute of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/ResourceError.html)
public enum ResourceError: Int, Error, CustomStringConvertible, Sendable {
  case notFound
  public var description: String { "notFound" }
}
