// The names of events and of their attributes. Raw values and descriptions are the vendor's
// (https://aws.github.io/amazon-chime-sdk-ios/Enums/EventName.html).

/// A major event of a meeting.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/EventName.html)
public enum EventName: Int, CaseIterable, CustomStringConvertible, Sendable {
  case audioInputSelected, audioInputFailed, videoInputSelected, videoInputFailed
  case meetingStartRequested, meetingStartSucceeded, meetingReconnected, meetingStartFailed, meetingFailed, meetingEnded
  case videoClientSignalingOpened, videoClientSignalingDropped
  case contentShareSignalingOpened, contentShareSignalingDropped
  /// Never sent: the router's address is known, so that no candidates are gathered.
  case videoClientIceGatheringCompleted
  /// Never sent: the router's address is known, so that no candidates are gathered.
  case contentShareIceGatheringCompleted
  case contentShareStartRequested, contentShareStarted, contentShareStopped, contentShareFailed
  case appStateChanged
  case appMemoryLow
  case voiceFocusEnabled, voiceFocusDisabled, voiceFocusEnableFailed, voiceFocusDisableFailed
  case audioInterruptionBegan, audioInterruptionEnded, videoInterruptionBegan, videoInterruptionEnded
  case networkConnectionTypeChanged
  case unknown

  public var description: String {
    [
      "audioInputSelected", "audioInputFailed", "videoInputSelected", "videoInputFailed", "meetingStartRequested",
      "meetingStartSucceeded", "meetingReconnected", "meetingStartFailed", "meetingFailed", "meetingEnded",
      "videoClientSignalingOpened", "videoClientSignalingDropped", "contentShareSignalingOpened",
      "contentShareSignalingDropped", "videoClientIceGatheringCompleted", "contentShareIceGatheringCompleted",
      "contentShareStartRequested", "contentShareStarted", "contentShareStopped", "contentShareFailed",
      "appStateChanged", "appMemoryLow", "voiceFocusEnabled", "voiceFocusDisabled", "voiceFocusEnableFailed",
      "voiceFocusDisableFailed", "audioInterruptionBegan", "audioInterruptionEnded", "videoInterruptionBegan",
      "videoInterruptionEnded", "networkConnectionTypeChanged", "unknown",
    ][rawValue]
  }
}

/// A state in a meeting's history. The names are those of `EventName`, the raw values are not.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/MeetingHistoryEventName.html)
public enum MeetingHistoryEventName: Int, CaseIterable, CustomStringConvertible, Sendable {
  case audioInputSelected, audioInputFailed, videoInputSelected, videoInputFailed
  case meetingStartFailed, meetingStartRequested, meetingStartSucceeded, meetingEnded, meetingFailed, meetingReconnected
  case videoClientSignalingOpened, videoClientSignalingDropped
  case contentShareSignalingOpened, contentShareSignalingDropped
  case videoClientIceGatheringCompleted, contentShareIceGatheringCompleted
  case contentShareStartRequested, contentShareStarted, contentShareStopped, contentShareFailed
  case appStateChanged, appMemoryLow
  case voiceFocusEnabled, voiceFocusDisabled, voiceFocusEnableFailed, voiceFocusDisableFailed
  case audioInterruptionBegan, audioInterruptionEnded, videoInterruptionBegan, videoInterruptionEnded
  case networkConnectionTypeChanged, unknown

  public var description: String { eventName.description }

  /// The event of the same name.
  var eventName: EventName {
    switch self {
    case .meetingStartFailed: .meetingStartFailed
    case .meetingStartRequested: .meetingStartRequested
    case .meetingStartSucceeded: .meetingStartSucceeded
    case .meetingEnded: .meetingEnded
    case .meetingFailed: .meetingFailed
    case .meetingReconnected: .meetingReconnected
    default: EventName(rawValue: rawValue) ?? .unknown  // all others have the same places
    }
  }

  /// The state of the same name.
  init(_ name: EventName) { self = Self.allCases.first { $0.eventName == name } ?? .unknown }
}

/// An attribute of an event.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/EventAttributeName.html)
public enum EventAttributeName: Int, CaseIterable, CustomStringConvertible, Sendable {
  case deviceName, deviceManufacturer, deviceModel, osName, osVersion, sdkName, sdkVersion, mediaSdkVersion
  /// Milliseconds since 1970, as an `Int64`.
  case timestampMs
  case attendeeId, externalMeetingId, externalUserId, meetingId
  /// For apps: the SDK sets it in no event.
  case meetingHistory
  /// The most tiles at one time so far: local, remote and content.
  case maxVideoTileCount
  /// From `start()` to `audioSessionDidStart`, in milliseconds.
  case meetingStartDurationMs
  /// From `audioSessionDidDrop` to `audioSessionDidStart`, in milliseconds; in `meetingReconnected` only.
  case meetingReconnectDurationMs
  /// Since `audioSessionDidStart`, in milliseconds.
  case meetingDurationMs
  case meetingErrorMessage
  /// A `MeetingSessionStatusCode`.
  case meetingStatus
  /// The number of `connectionDidBecomePoor` so far.
  case poorConnectionCount
  /// The number of reconnections so far.
  case retryCount
  /// A `CaptureSourceError`, `MediaError` or `PermissionError`.
  case videoInputError
  /// A `MediaError` or `PermissionError`.
  case audioInputError
  /// A `SignalingDroppedError`.
  case signalingDroppedError
  /// A `VideoClientFailedError`.
  case contentShareError
  /// An `AppState`.
  case appState
  /// An `NSNumber` with a `Float`, 0 (empty) to 1 (full). Set if the machine has a battery (`Machine.power`).
  case batteryLevel
  /// A `BatteryState`.
  case batteryState
  /// A `VoiceFocusError`.
  case voiceFocusError
  /// The description of a `MediaDeviceType`.
  case audioDeviceType, videoDeviceType
  /// Always false: machines have no such mode.
  case lowPowerModeEnabled
  /// A `VideoInterruptionReason`.
  case videoInterruptionReason
  /// Never set: no candidates are gathered.
  case iceGatheringDurationMs
  /// From the attempt to connect to the open connection, in milliseconds.
  case signalingOpenDurationMs
  /// A `NetworkConnectionType`.
  case networkConnectionType

  public var description: String {
    [
      "deviceName", "deviceManufacturer", "deviceModel", "osName", "osVersion", "sdkName", "sdkVersion",
      "mediaSdkVersion", "timestampMs", "attendeeId", "externalMeetingId", "externalUserId", "meetingId",
      "meetingHistory", "maxVideoTileCount", "meetingStartDurationMs", "meetingReconnectDurationMs",
      "meetingDurationMs", "meetingErrorMessage", "meetingStatus", "poorConnectionCount", "retryCount",
      "videoInputError", "audioInputError", "signalingDroppedError", "contentShareError", "appState", "batteryLevel",
      "batteryState", "voiceFocusError", "audioDeviceType", "videoDeviceType", "lowPowerModeEnabled",
      "videoInterruptionReason", "iceGatheringDurationMs", "signalingOpenDurationMs", "networkConnectionType",
    ][rawValue]
  }
}
