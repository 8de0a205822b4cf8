import AmazonChimeSDK

/// A small app of the meeting-session style: microphone, camera, a chat, and a video tile for each participant.
final class MeetingApp: NSObject {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 180))
  let session: DefaultMeetingSession
  private(set) var log: [String] = []
  private(set) var attendees: [String] = []
  private(set) var captureErrors: [String] = []
  private var camera: DefaultCameraCaptureSource?
  private var tiles: [Int: DefaultVideoRenderView] = [:]

  /// - Parameters: the JSON answers of the team's own server.
  init(createMeeting: Data, createAttendee: Data) throws {
    struct Answer<Value: Decodable>: Decodable { let value: Value }
    let meeting = try JSONDecoder().decode(CreateMeetingAnswer.self, from: createMeeting).Meeting
    let attendee = try JSONDecoder().decode(CreateAttendeeAnswer.self, from: createAttendee).Attendee
    let placement = meeting.MediaPlacement
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(
        meeting: Meeting(
          externalMeetingId: meeting.ExternalMeetingId,
          mediaPlacement: MediaPlacement(
            audioFallbackUrl: placement.AudioFallbackUrl, audioHostUrl: placement.AudioHostUrl,
            signalingUrl: placement.SignalingUrl, turnControlUrl: placement.TurnControlUrl),
          mediaRegion: meeting.MediaRegion, meetingId: meeting.MeetingId)),
      createAttendeeResponse: CreateAttendeeResponse(
        attendee: Attendee(
          attendeeId: attendee.AttendeeId, externalUserId: attendee.ExternalUserId, joinToken: attendee.JoinToken)))
    session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "app", level: .OFF))
  }

  func start() throws {
    let audioVideo = session.audioVideo
    audioVideo.addAudioVideoObserver(observer: self)
    audioVideo.addRealtimeObserver(observer: self)
    audioVideo.addVideoTileObserver(observer: self)
    audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self)
    audioVideo.addDeviceChangeObserver(observer: self)
    try audioVideo.start()
    try audioVideo.startLocalVideo()
    audioVideo.startRemoteVideo()
  }

  func sendMessage(_ text: String) throws {
    try session.audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 0)
  }

  func stop() { session.audioVideo.stop() }

  /// A camera of the app's own making.
  func startCamera() {
    let camera = DefaultCameraCaptureSource(logger: session.logger)
    camera.addCaptureSourceObserver(observer: self)
    camera.start()
    self.camera = camera
  }
}

private struct CreateMeetingAnswer: Decodable {
  struct Meeting: Decodable {
    struct Placement: Decodable { let AudioFallbackUrl, AudioHostUrl, SignalingUrl, TurnControlUrl: String }
    let MeetingId, MediaRegion: String
    let ExternalMeetingId: String?
    let MediaPlacement: Placement
  }
  let Meeting: Meeting
}

private struct CreateAttendeeAnswer: Decodable {
  struct Attendee: Decodable { let AttendeeId, ExternalUserId, JoinToken: String }
  let Attendee: Attendee
}

extension MeetingApp: AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) { log.append(reconnecting ? "reconnecting" : "connecting") }
  func audioSessionDidStart(reconnecting: Bool) { log.append(reconnecting ? "restarted" : "started") }
  func audioSessionDidDrop() { log.append("dropped") }
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    log.append("stopped \(sessionStatus.statusCode)")
  }
  func audioSessionDidCancelReconnect() { log.append("gave up reconnecting") }
  func connectionDidRecover() { log.append("recovered") }
  func connectionDidBecomePoor() { log.append("poor") }
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
}

extension MeetingApp: RealtimeObserver {
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { attendees += attendeeInfo.map(\.attendeeId) }
  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
    attendees.removeAll { attendeeInfo.map(\.attendeeId).contains($0) }
  }
  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {
    attendees.removeAll { attendeeInfo.map(\.attendeeId).contains($0) }
  }
  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) { log += attendeeInfo.map { "muted \($0.attendeeId)" } }
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {}
}

extension MeetingApp: VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    let tile = DefaultVideoRenderView()
    tile.frame = CGRect(x: tileState.isLocalTile ? 320 : 0, y: 0, width: 320, height: 180)
    view.addSubview(tile)
    tiles[tileState.tileId] = tile
    session.audioVideo.bindVideoView(videoView: tile, tileId: tileState.tileId)
  }
  func videoTileDidRemove(tileState: VideoTileState) {
    session.audioVideo.unbindVideoView(tileId: tileState.tileId)
    tiles.removeValue(forKey: tileState.tileId)?.removeFromSuperview()
  }
  func videoTileDidPause(tileState: VideoTileState) {}
  func videoTileDidResume(tileState: VideoTileState) {}
  func videoTileSizeDidChange(tileState: VideoTileState) {}
}

extension MeetingApp: DataMessageObserver {
  func dataMessageDidReceived(dataMessage: DataMessage) { log.append("chat \(dataMessage.text() ?? "")") }
}

extension MeetingApp: DeviceChangeObserver {
  func audioDeviceDidChange(freshAudioDeviceList: [MediaDevice]) {
    log.append("devices \(freshAudioDeviceList.map(\.label).joined(separator: ", "))")
  }
}

extension MeetingApp: CaptureSourceObserver {
  func captureDidStart() {}
  func captureDidStop() {}
  func captureDidFail(error: CaptureSourceError) { captureErrors.append("\(error)") }
}
