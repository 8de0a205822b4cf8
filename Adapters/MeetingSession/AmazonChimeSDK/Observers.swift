/// Notified of the meeting's own connection. All observers are called on the delivery queue (main unless the app chose
/// another) and held strongly until removed.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/AudioVideoObserver.html)
public protocol AudioVideoObserver: AnyObject {
  func audioSessionDidStartConnecting(reconnecting: Bool)
  func audioSessionDidStart(reconnecting: Bool)
  func audioSessionDidDrop()
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus)
  func audioSessionDidCancelReconnect()
  func connectionDidRecover()
  func connectionDidBecomePoor()
  func videoSessionDidStartConnecting()
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus)
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus)
  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource])
  func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource])
  func cameraSendAvailabilityDidChange(available: Bool)
}

/// The guide's list ends before these three, the vendor's protocol does not: code written from either conforms.
extension AudioVideoObserver {
  public func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
  public func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}
  public func cameraSendAvailabilityDidChange(available: Bool) {}
}

/// Notified of changes of attendees. Each call names only the attendees with a changed value.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/RealtimeObserver.html)
public protocol RealtimeObserver: AnyObject {
  func volumeDidChange(volumeUpdates: [VolumeUpdate])
  func signalStrengthDidChange(signalUpdates: [SignalUpdate])
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo])
  func attendeesDidLeave(attendeeInfo: [AttendeeInfo])
  func attendeesDidDrop(attendeeInfo: [AttendeeInfo])
  func attendeesDidMute(attendeeInfo: [AttendeeInfo])
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo])
}

/// Notified when audio devices are connected or disconnected.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/DeviceChangeObserver.html)
public protocol DeviceChangeObserver: AnyObject {
  func audioDeviceDidChange(freshAudioDeviceList: [MediaDevice])
}

/// Notified of the meeting's metrics, once a second.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/MetricsObserver.html)
public protocol MetricsObserver: AnyObject {
  /// - Parameter metrics: keyed by `ObservableMetric`; a value that is not known is not there.
  func metricsDidReceive(metrics: [AnyHashable: Any])
}

/// Notified when video tiles are added, removed, paused, resumed or resized.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoTileObserver.html)
public protocol VideoTileObserver: AnyObject {
  func videoTileDidAdd(tileState: VideoTileState)
  func videoTileDidRemove(tileState: VideoTileState)
  func videoTileDidPause(tileState: VideoTileState)
  func videoTileDidResume(tileState: VideoTileState)
  func videoTileSizeDidChange(tileState: VideoTileState)
}

/// Notified of data messages of a topic.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/DataMessageObserver.html)
public protocol DataMessageObserver: AnyObject {
  func dataMessageDidReceived(dataMessage: DataMessage)
}

/// Notified when the local content share starts or stops.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/ContentShareObserver.html)
public protocol ContentShareObserver: AnyObject {
  func contentShareDidStart()
  func contentShareDidStop(status: ContentShareStatus)
}

/// Notified of the active speakers and of their scores.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/ActiveSpeakerObserver.html)
public protocol ActiveSpeakerObserver: AnyObject {
  /// Identifies the observer. An observer with the same id replaces the earlier one.
  var observerId: String { get }
  /// Interval of `activeSpeakerScoreDidChange`, in milliseconds; 0, the default: never.
  var scoresCallbackIntervalMs: Int { get }
  /// - Parameter attendeeInfo: the active speakers, the most active first.
  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo])
  func activeSpeakerScoreDidChange(scores: [AttendeeInfo: Double])
}

extension ActiveSpeakerObserver {
  public var scoresCallbackIntervalMs: Int { 0 }
  public func activeSpeakerScoreDidChange(scores: [AttendeeInfo: Double]) {}
}
