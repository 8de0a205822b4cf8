import AmazonChimeSDK

/// What Docs/porting.md shows in the words of the meeting session.
final class MeetingSessionExample: NSObject {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  private(set) var people: [String] = []
  private(set) var muted: Set<String> = []
  private(set) var speaker: String?
  private(set) var texts: [String] = []
  private var session: DefaultMeetingSession!
  private var sources: [RemoteVideoSource] = []
  private var pictures: [Int: DefaultVideoRenderView] = [:]
  private var screen: InAppScreenCaptureSource?
  private var audioVideo: AudioVideoFacade { session.audioVideo }

  // example: join
  func enter(_ meeting: CreateMeetingResponse, as attendee: CreateAttendeeResponse) throws {
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: meeting, createAttendeeResponse: attendee)
    session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "app"))
    audioVideo.addRealtimeObserver(observer: self)
    audioVideo.addVideoTileObserver(observer: self)
    try audioVideo.start()
    audioVideo.startRemoteVideo()
  }

  func goAway() {
    audioVideo.stopContentShare()  // else it would go on
    audioVideo.stop()
  }
  // end

  // example: mute
  func setMuted(_ isMuted: Bool) {
    _ = isMuted ? audioVideo.realtimeLocalMute() : audioVideo.realtimeLocalUnmute()
  }
  // end

  // example: speaker
  func followSpeakers() {
    audioVideo.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
  }
  // end

  // example: camera
  func setCameraOn(_ isOn: Bool) throws {
    if isOn { try audioVideo.startLocalVideo() } else { audioVideo.stopLocalVideo() }
  }
  // end

  // example: quality
  func publishSmall() throws {
    try audioVideo.startLocalVideo(
      config: LocalVideoConfiguration(maxBitRateKbps: 300, simulcastEnabled: false))
  }

  func wantLess(of source: RemoteVideoSource) {
    let configuration = VideoSubscriptionConfiguration()
    configuration.targetResolution = .low
    audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: [source: configuration], removed: [])
  }
  // end

  // example: share
  func startSharing() {
    let screen = InAppScreenCaptureSource(logger: session.logger)
    let source = ContentShareSource()
    source.videoSource = screen
    screen.start()
    audioVideo.startContentShare(source: source)
    self.screen = screen
  }

  func stopSharing() {
    screen?.stop()
    audioVideo.stopContentShare()
  }

  func isShare(_ tile: VideoTileState) -> Bool { tile.isContent }
  // end

  // example: chat
  func openChat() {
    audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self)
  }

  func say(_ text: String) throws {
    try audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 0)
  }
  // end
}

extension MeetingSessionExample: RealtimeObserver {
  // example: people
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
    let own = session.configuration.credentials.attendeeId
    for attendee in attendeeInfo where attendee.attendeeId != own {
      guard !DefaultModality(id: attendee.attendeeId).isOfType(type: .content) else { continue }  // a share
      people.append(attendee.externalUserId)
    }
  }

  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { people.removeAll { $0 == attendee.externalUserId } }
  }

  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {
    attendeesDidLeave(attendeeInfo: attendeeInfo)
  }
  // end

  // example: mute
  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {
    muted.formUnion(attendeeInfo.map(\.externalUserId))
  }

  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {
    muted.subtract(attendeeInfo.map(\.externalUserId))
  }
  // end

  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
}

extension MeetingSessionExample: ActiveSpeakerObserver {
  var observerId: String { "example" }

  // example: speaker
  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) {
    speaker = attendeeInfo.first?.externalUserId
  }
  // end
}

extension MeetingSessionExample: VideoTileObserver {
  // example: render
  func videoTileDidAdd(tileState: VideoTileState) {
    let picture = DefaultVideoRenderView()
    picture.frame = view.bounds
    pictures[tileState.tileId] = picture
    view.addSubview(picture)
    audioVideo.bindVideoView(videoView: picture, tileId: tileState.tileId)
  }

  func videoTileDidRemove(tileState: VideoTileState) {
    audioVideo.unbindVideoView(tileId: tileState.tileId)
    pictures.removeValue(forKey: tileState.tileId)?.removeFromSuperview()
  }
  // end

  func videoTileDidPause(tileState: VideoTileState) {}
  func videoTileDidResume(tileState: VideoTileState) {}
  func videoTileSizeDidChange(tileState: VideoTileState) {}
}

extension MeetingSessionExample: DataMessageObserver {
  // example: chat
  func dataMessageDidReceived(dataMessage: DataMessage) {
    texts.append(dataMessage.text() ?? "")
  }
  // end
}
