import AVFoundation
import AmazonChimeSDK
import Combine

/// One meeting: owns the objects of the SDK and publishes what the screens show. Lives on the main thread.
final class CallModel: ObservableObject, @unchecked Sendable {  // used on the main thread
  enum Phase: Equatable {
    case connecting, inMeeting, reconnecting
    case ended(String)
  }

  static let chatTopic = "chat"
  /// Later attendees still read the chat of the last five minutes.
  static let chatLifetimeMs: Int32 = 300_000

  @Published private(set) var phase = Phase.connecting
  @Published private(set) var roster = Roster()
  @Published private(set) var tiles: [Tile] = []
  @Published private(set) var messages: [ChatMessage] = []
  @Published private(set) var isMuted = false
  @Published private(set) var isCameraOn = false
  @Published private(set) var usesFrontCamera = true
  @Published private(set) var isSharing = false
  @Published private(set) var hasPoorConnection = false
  @Published private(set) var notice: String?

  let observerId = UUID().uuidString
  private let logger = ConsoleLogger(name: "MeetingSessionApp", level: .ERROR)
  private let session: MeetingSession
  private let startsWithCamera: Bool
  private var screenSource: InAppScreenCaptureSource?
  private var audioVideo: AudioVideoFacade { session.audioVideo }
  private var localAttendeeId: String { session.configuration.credentials.attendeeId }

  init(joining info: JoinInfo, withCamera: Bool) {
    session = DefaultMeetingSession(configuration: info.configuration, logger: logger)
    startsWithCamera = withCamera
  }

  // MARK: Joining and leaving

  func join() {
    audioVideo.addAudioVideoObserver(observer: self)
    audioVideo.addRealtimeObserver(observer: self)
    audioVideo.addVideoTileObserver(observer: self)
    audioVideo.addContentShareObserver(observer: self)
    audioVideo.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
    audioVideo.addRealtimeDataMessageObserver(topic: Self.chatTopic, observer: self)
    do {
      try audioVideo.start()
      audioVideo.startRemoteVideo()
    } catch { finish(MeetingText.failure(error)) }
  }

  /// The end is told by `audioSessionDidStopWithStatus`.
  func leave() {
    stopSharing()
    audioVideo.stopLocalVideo()
    audioVideo.stop()
  }

  private func finish(_ text: String) {
    stopSharing()
    for tile in tiles { audioVideo.unbindVideoView(tileId: tile.state.tileId) }
    tiles = []
    // The session holds its observers, and this observer holds the session.
    audioVideo.removeAudioVideoObserver(observer: self)
    audioVideo.removeRealtimeObserver(observer: self)
    audioVideo.removeVideoTileObserver(observer: self)
    audioVideo.removeContentShareObserver(observer: self)
    audioVideo.removeActiveSpeakerObserver(observer: self)
    audioVideo.removeRealtimeDataMessageObserverFromTopic(topic: Self.chatTopic)
    phase = .ended(text)
  }

  // MARK: Microphone and camera

  func setMuted(_ muted: Bool) {
    notice = nil
    let isDone = muted ? audioVideo.realtimeLocalMute() : audioVideo.realtimeLocalUnmute()
    if isDone { isMuted = muted }
  }

  func setCameraOn(_ isOn: Bool) {
    notice = nil
    guard isOn else {
      audioVideo.stopLocalVideo()
      isCameraOn = false
      return
    }
    AVCaptureDevice.requestAccess(for: .video) { [weak self] isGranted in
      DispatchQueue.main.async { self?.startCamera(isGranted: isGranted) }
    }
  }

  private func startCamera(isGranted: Bool) {
    do {
      guard isGranted else { throw PermissionError.videoPermissionError }
      try audioVideo.startLocalVideo()
      isCameraOn = true
      readCamera()
    } catch { notice = MeetingText.failure(error) }
  }

  func switchCamera() {
    audioVideo.switchCamera()
    readCamera()
  }

  private func readCamera() { usesFrontCamera = audioVideo.getActiveCamera()?.type == .videoFrontCamera }

  // MARK: Tiles

  func bind(_ videoView: VideoRenderView, to tile: Tile) {
    audioVideo.bindVideoView(videoView: videoView, tileId: tile.state.tileId)
  }

  func title(of tile: Tile) -> String {
    let name = roster[DefaultModality(id: tile.state.attendeeId).base]?.name ?? ""
    let title = tile.state.isLocalTile ? "\(name) (you)" : tile.state.isContent ? "\(name)'s screen" : name
    return tile.state.pauseState == .unpaused ? title : "\(title), paused"
  }

  // MARK: Sharing the screen

  func startSharing() {
    guard screenSource == nil else { return }
    notice = nil
    let source = InAppScreenCaptureSource(logger: logger)
    screenSource = source
    source.addCaptureSourceObserver(observer: self)
    source.start()
  }

  func stopSharing() {
    guard let source = screenSource else { return }
    screenSource = nil
    source.removeCaptureSourceObserver(observer: self)
    source.stop()
    audioVideo.stopContentShare()
    isSharing = false
  }

  // MARK: Chat

  func send(_ text: String) {
    notice = nil
    // The SDK drops messages outside of a meeting, without an error.
    guard phase == .inMeeting else {
      notice = MeetingText.offline
      return
    }
    do {
      try audioVideo.realtimeSendDataMessage(topic: Self.chatTopic, data: text, lifetimeMs: Self.chatLifetimeMs)
      messages.append(ChatMessage(sender: "You", text: text, timestampMs: nil))
    } catch { notice = MeetingText.failure(error) }
  }
}

extension CallModel: AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) { phase = reconnecting ? .reconnecting : .connecting }

  func audioSessionDidStart(reconnecting: Bool) {
    phase = .inMeeting
    if reconnecting {
      notice = MeetingText.reconnected
    } else if startsWithCamera {
      setCameraOn(true)
    }
  }

  func audioSessionDidDrop() { phase = .reconnecting }

  /// The stop callback, which follows, says why.
  func audioSessionDidCancelReconnect() {}

  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    // After a failure only the sound has ended; the video side ends with this call.
    if sessionStatus.statusCode != .ok { audioVideo.stop() }
    finish(MeetingText.end(sessionStatus.statusCode))
  }

  func connectionDidBecomePoor() { hasPoorConnection = true }
  func connectionDidRecover() { hasPoorConnection = false }
  func videoSessionDidStartConnecting() {}

  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {
    if sessionStatus.statusCode != .ok { notice = MeetingText.end(sessionStatus.statusCode) }
  }

  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    if sessionStatus.statusCode != .ok { notice = MeetingText.end(sessionStatus.statusCode) }
  }

  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
  func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}

  func cameraSendAvailabilityDidChange(available: Bool) {
    notice = available ? nil : MeetingText.end(.videoAtCapacityViewOnly)
  }
}

extension CallModel: RealtimeObserver, ActiveSpeakerObserver {
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { roster.add(attendeeInfo, localAttendeeId: localAttendeeId) }

  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) { roster.remove(attendeeInfo) }

  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {
    roster.remove(attendeeInfo)
    for attendee in attendeeInfo where !attendee.isContent { notice = "\(attendee.displayName) lost the connection." }
  }

  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { roster.update(attendee.attendeeId) { $0.isMuted = true } }
  }

  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo { roster.update(attendee.attendeeId) { $0.isMuted = false } }
  }

  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) { roster.markSpeakers(attendeeInfo) }
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {}
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
}

extension CallModel: VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) { tiles.append(Tile(state: tileState)) }

  func videoTileDidRemove(tileState: VideoTileState) {
    audioVideo.unbindVideoView(tileId: tileState.tileId)
    tiles.removeAll { $0.state.tileId == tileState.tileId }
  }

  func videoTileDidPause(tileState: VideoTileState) { objectWillChange.send() }
  func videoTileDidResume(tileState: VideoTileState) { objectWillChange.send() }
  func videoTileSizeDidChange(tileState: VideoTileState) {}
}

extension CallModel: DataMessageObserver {
  func dataMessageDidReceived(dataMessage: DataMessage) {
    guard !dataMessage.throttled else {
      notice = MeetingText.throttled
      return
    }
    guard let text = dataMessage.text(), dataMessage.senderAttendeeId != localAttendeeId else { return }
    let sender = AttendeeInfo(
      attendeeId: dataMessage.senderAttendeeId, externalUserId: dataMessage.senderExternalUserId)
    let message = ChatMessage(sender: sender.displayName, text: text, timestampMs: dataMessage.timestampMs)
    // After a reconnect the server tells stored messages again.
    if !messages.contains(message) { messages.append(message) }
  }
}

extension CallModel: ContentShareObserver, CaptureSourceObserver {
  func captureDidStart() {
    guard let screenSource else { return }
    let content = ContentShareSource()
    content.videoSource = screenSource
    audioVideo.startContentShare(source: content)
  }

  func captureDidStop() { stopSharing() }

  func captureDidFail(error: CaptureSourceError) {
    notice = MeetingText.failure(error)
    stopSharing()
  }

  func contentShareDidStart() {
    // A share that is not connected yet cannot be stopped: a stop that came too early is made up for here.
    guard screenSource != nil else { return audioVideo.stopContentShare() }
    isSharing = true
  }

  func contentShareDidStop(status: ContentShareStatus) {
    if status.statusCode != .ok { notice = MeetingText.shareFailed }
    stopSharing()
  }
}
