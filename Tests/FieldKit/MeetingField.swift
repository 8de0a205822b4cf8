import AmazonChimeSDK
import Foundation

/// One app of the meeting style, written over the vendor's API alone. Keep it until its trace has been read.
public final class MeetingField: NSObject, AudioVideoObserver, RealtimeObserver, VideoTileObserver, @unchecked Sendable
{
  public let trace: FieldTrace
  private var session: DefaultMeetingSession?
  private var sources: [RemoteVideoSource] = []

  public init(_ who: String, scenario: String = "leave.seen") {
    trace = FieldTrace(scenario: scenario, who: who, style: "meeting-session")
  }

  public func join(_ configuration: MeetingSessionConfiguration) throws {
    let kinds = MediaDevice.listVideoDevices().map { $0.type == .videoBackCamera ? "back" : "front" }
    trace.told("asked", "cameras: \(kinds.joined(separator: ", "))")
    let session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "field"))
    self.session = session
    session.audioVideo.addAudioVideoObserver(observer: self)
    session.audioVideo.addRealtimeObserver(observer: self)
    session.audioVideo.addVideoTileObserver(observer: self)
    try trace.call { try session.audioVideo.start() }
    try session.audioVideo.startLocalVideo()
    session.audioVideo.startRemoteVideo()
  }

  public func mute() { _ = session?.audioVideo.realtimeLocalMute() }

  /// Unsubscribes from all sources, to record the callbacks of their tiles at once and after some seconds.
  public func unsubscribeFromEverybody() {
    trace.told("asked", "unsubscribe")
    session?.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [:], removed: sources)
  }

  /// - Parameter releasing: whether the session is released at once.
  public func leave(releasing: Bool) {
    trace.call { session?.audioVideo.stop() }
    if releasing { release() }
  }

  /// Releases everything, without leaving unless that has been done.
  public func release() { session = nil }

  // MARK: Callbacks

  public func audioSessionDidStartConnecting(reconnecting: Bool) { if reconnecting { trace.told("reconnecting") } }
  public func audioSessionDidStart(reconnecting: Bool) { trace.told(reconnecting ? "reconnected" : "connected") }
  public func audioSessionDidDrop() { trace.told("reconnecting", "dropped") }
  public func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    trace.told("ended", "audio, \(sessionStatus.statusCode)")
  }
  public func audioSessionDidCancelReconnect() {}
  public func connectionDidRecover() {}
  public func connectionDidBecomePoor() {}
  public func videoSessionDidStartConnecting() {}
  public func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  public func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    trace.told("ended", "video, \(sessionStatus.statusCode)")
  }
  public func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) { self.sources += sources }
  public func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {
    self.sources.removeAll { sources.contains($0) }
  }
  public func cameraSendAvailabilityDidChange(available: Bool) {}

  public func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
  public func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
  public func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { note("joined", attendeeInfo) }
  public func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) { note("left", attendeeInfo) }
  public func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { note("left", attendeeInfo) }
  public func attendeesDidMute(attendeeInfo: [AttendeeInfo]) { note("muted", attendeeInfo) }
  public func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) { note("unmuted", attendeeInfo) }
  private func note(_ told: String, _ attendees: [AttendeeInfo]) {
    for attendee in attendees { trace.told(told, of: attendee.attendeeId) }
  }

  public func videoTileDidAdd(tileState: VideoTileState) { note("pictureOn", tileState) }
  public func videoTileDidRemove(tileState: VideoTileState) { note("pictureOff", tileState) }
  public func videoTileDidPause(tileState: VideoTileState) { note("asked", tileState) }
  public func videoTileDidResume(tileState: VideoTileState) { note("asked", tileState) }
  public func videoTileSizeDidChange(tileState: VideoTileState) { note("asked", tileState) }
  private func note(_ told: String, _ tile: VideoTileState) {
    guard !tile.isLocalTile else { return }
    let size = "\(tile.videoStreamContentWidth)x\(tile.videoStreamContentHeight)"
    trace.told(told, of: tile.attendeeId, "tile \(tile.tileId), \(size), pause state \(tile.pauseState.rawValue)")
  }
}
