public import KoineUIKit

// Values in the attributes of events.

/// Whether the app is in front of its user.
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

public enum BatteryState: Int, CustomStringConvertible, Sendable {
  case charging, discharging, full, unknown
  public var description: String { ["Charging", "Discharging", "Full", "Unknown"][rawValue] }
}

public enum NetworkConnectionType: Int, CustomStringConvertible, Sendable {
  case wifi, cellular, wiredEthernet, other, none, unknown
  public var description: String { ["Wifi", "Cellular", "Ethernet", "Other", "None", "Unknown"][rawValue] }
}

/// Why a running camera gives no frames.
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

public enum VideoClientFailedError: Int, Error, CustomStringConvertible, Sendable {
  case authenticationFailed, peerConnectionCreateFailed, maxRetryPeriodExceeded, other
  public var description: String {
    ["authenticationFailed", "peerConnectionCreateFailed", "maxRetryPeriodExceeded", "other"][rawValue]
  }
}

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

public enum ResourceError: Int, Error, CustomStringConvertible, Sendable {
  case notFound
  public var description: String { "notFound" }
}
