import AmazonChimeSDK
import AmazonChimeSDKMedia
import Foundation
import KoineCoreVideo
import KoineUIKit

// The symbols as an app writes them. It has to compile in every mode, and the model runs in each (`RunningTests`).

/// Conforms as the guide's older page has it: the newer methods may be missing.
final class MeetingNewcomer: AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) {}
  func audioSessionDidStart(reconnecting: Bool) {}
  func audioSessionDidDrop() {}
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
  func audioSessionDidCancelReconnect() {}
  func connectionDidRecover() {}
  func connectionDidBecomePoor() {}
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
}

/// A view model that observes everything, as in the vendor's demo.
final class MeetingModel: NSObject, AudioVideoObserver, RealtimeObserver, VideoTileObserver, MetricsObserver,
  DeviceChangeObserver, ActiveSpeakerObserver, DataMessageObserver, ContentShareObserver, CaptureSourceObserver
{
  private let session: MeetingSession
  private var attendees: Set<AttendeeInfo> = []
  private var volumes: [AttendeeInfo: VolumeLevel] = [:]
  private var signals: [AttendeeInfo: SignalStrength] = [:]
  private var sources: [RemoteVideoSource] = []
  private var lines: [String] = []
  private let camera: CameraCaptureSource

  init(_ meeting: CreateMeetingResponse, _ attendee: CreateAttendeeResponse) {
    let logger: AmazonChimeSDK.Logger = ConsoleLogger(name: "MeetingModel", level: .INFO)
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: meeting, createAttendeeResponse: attendee, urlRewriter: { url in url })
    session = DefaultMeetingSession(configuration: configuration, logger: logger)
    camera = DefaultCameraCaptureSource(logger: logger)
    super.init()
  }

  /// From what the service answers, as the demo's own decoder makes it.
  convenience init(host: String, id: String, token: String, name: String = "Ana") {
    let placement = MediaPlacement(
      audioFallbackUrl: host, audioHostUrl: host, signalingUrl: host, turnControlUrl: host)
    let meeting = Meeting(
      externalMeetingId: nil, mediaPlacement: placement, mediaRegion: "here", meetingId: id)
    self.init(
      CreateMeetingResponse(meeting: meeting),
      CreateAttendeeResponse(attendee: Attendee(attendeeId: name.lowercased(), externalUserId: name, joinToken: token)))
  }

  var names: Set<String> { Set(attendees.map(\.externalUserId)) }
  var remoteVideos: Int { sources.count }
  var lastLine: String? { lines.last }

  func start() throws {
    let facade: AudioVideoFacade = session.audioVideo
    facade.addAudioVideoObserver(observer: self)
    facade.addRealtimeObserver(observer: self)
    facade.addVideoTileObserver(observer: self)
    facade.addMetricsObserver(observer: self)
    facade.addDeviceChangeObserver(observer: self)
    facade.addContentShareObserver(observer: self)
    facade.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
    facade.addRealtimeDataMessageObserver(topic: "chat", observer: self)
    try facade.start(audioVideoConfiguration: AudioVideoConfiguration(audioMode: .mono48K, callKitEnabled: false))
    facade.startRemoteVideo()
    do {
      try facade.startLocalVideo()
    } catch PermissionError.videoPermissionError {
      session.logger.error(msg: "no camera")
    }
    camera.addCaptureSourceObserver(observer: self)
    camera.device = MediaDevice.listVideoDevices().first { $0.type == .videoFrontCamera }
    camera.format = VideoCaptureFormat(width: 640, height: 360, maxFrameRate: 15)
    camera.start()
    let blurred = PassingProcessor()
    camera.addVideoSink(sink: blurred)
    facade.startLocalVideo(
      source: blurred, config: LocalVideoConfiguration(maxBitRateKbps: 600, simulcastEnabled: true))
  }

  func stop() {
    let facade = session.audioVideo
    facade.removeAudioVideoObserver(observer: self)
    facade.removeRealtimeDataMessageObserverFromTopic(topic: "chat")
    facade.stopLocalVideo()
    facade.stopRemoteVideo()
    facade.stop()
  }

  func send(_ text: String) throws {
    try session.audioVideo.realtimeSendDataMessage(topic: "chat", data: text, lifetimeMs: 300_000)
  }

  func toggleMute(_ isMuted: Bool) -> Bool {
    isMuted ? session.audioVideo.realtimeLocalUnmute() : session.audioVideo.realtimeLocalMute()
  }

  func share() {
    let share = ContentShareSource()
    share.videoSource = InAppScreenCaptureSource(logger: session.logger)
    session.audioVideo.startContentShare(source: share)
    session.audioVideo.stopContentShare()
  }

  func page(_ visible: Set<String>) {
    let wish = VideoSubscriptionConfiguration()
    wish.priority = .highest
    wish.targetResolution = .low
    session.audioVideo.updateVideoSourceSubscriptions(
      addedOrUpdated: Dictionary(
        uniqueKeysWithValues: sources.filter { visible.contains($0.attendeeId) }.map { ($0, wish) }),
      removed: sources.filter { !visible.contains($0.attendeeId) })
  }

  func chooseSpeaker() {
    let facade: DeviceController = session.audioVideo
    for device in facade.listAudioDevices() where device.type == .audioBuiltInSpeaker {
      facade.chooseAudioDevice(mediaDevice: device)
    }
    facade.switchCamera()
    print(facade.getActiveCamera()?.label as Any, facade.getActiveAudioDevice()?.label as Any)
    print(session.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true))
  }

  func audioSessionDidStartConnecting(reconnecting: Bool) {}
  func audioSessionDidStart(reconnecting: Bool) {}
  func audioSessionDidDrop() {}
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    switch sessionStatus.statusCode {
    case .ok: break
    case .audioCallEnded, .audioServerHungup: lines.append("over")
    case .audioJoinedFromAnotherDevice: lines.append("elsewhere")
    default: lines.append(sessionStatus.statusCode.description)
    }
  }
  func audioSessionDidCancelReconnect() {}
  func connectionDidRecover() {}
  func connectionDidBecomePoor() {}
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) { self.sources += sources }
  func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {
    self.sources.removeAll { sources.contains($0) }
  }
  func cameraSendAvailabilityDidChange(available: Bool) {}
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    for update in volumeUpdates { volumes[update.attendeeInfo] = update.volumeLevel }
  }
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {
    for update in signalUpdates { signals[update.attendeeInfo] = update.signalStrength }
  }
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
    for attendee in attendeeInfo where DefaultModality(id: attendee.attendeeId).isOfType(type: .content) == false {
      attendees.insert(attendee)
    }
  }
  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) { attendees.subtract(attendeeInfo) }
  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { attendees.subtract(attendeeInfo) }
  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {}
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {}
  func videoTileDidAdd(tileState: VideoTileState) {
    guard !tileState.isLocalTile, !tileState.isContent else { return }
    print(tileState.attendeeId, tileState.videoStreamContentWidth, tileState.videoStreamContentHeight)
    session.audioVideo.pauseRemoteVideoTile(tileId: tileState.tileId)
    session.audioVideo.resumeRemoteVideoTile(tileId: tileState.tileId)
  }
  func videoTileDidRemove(tileState: VideoTileState) {
    session.audioVideo.unbindVideoView(tileId: tileState.tileId)
  }
  func videoTileDidPause(tileState: VideoTileState) {
    if tileState.pauseState == .pausedForPoorConnection { lines.append("poor") }
  }
  func videoTileDidResume(tileState: VideoTileState) {}
  func videoTileSizeDidChange(tileState: VideoTileState) {}
  func metricsDidReceive(metrics: [AnyHashable: Any]) {
    print(metrics[ObservableMetric.videoSendFps] as? Double ?? 0)
  }
  func audioDeviceDidChange(freshAudioDeviceList: [MediaDevice]) {}
  var observerId: String { "model" }
  var scoresCallbackIntervalMs: Int { 5_000 }
  func activeSpeakerScoreDidChange(scores: [AttendeeInfo: Double]) {}
  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) {}
  func dataMessageDidReceived(dataMessage: DataMessage) {
    lines.append(dataMessage.senderExternalUserId + ": " + (dataMessage.text() ?? ""))
    print(dataMessage.timestampMs, dataMessage.throttled, dataMessage.fromJSON() as Any)
  }
  func contentShareDidStart() {}
  func contentShareDidStop(status: ContentShareStatus) { print(status.statusCode == .ok) }
  func captureDidStart() {}
  func captureDidStop() {}
  func captureDidFail(error: CaptureSourceError) { print(error.description) }
}

/// A video processor, as the custom video guide has it. It is called wherever pictures are made, as by the vendor: an app whose
/// default is the main actor has to say so.
nonisolated final class PassingProcessor: VideoSource, VideoSink {
  var videoContentHint = VideoContentHint.motion
  private var sinks: [VideoSink] = []
  func addVideoSink(sink: VideoSink) { sinks.append(sink) }
  func removeVideoSink(sink: VideoSink) { sinks.removeAll { $0 === sink } }
  func onVideoFrameReceived(frame: VideoFrame) {
    guard let pixels = (frame.buffer as? VideoFramePixelBuffer)?.pixelBuffer else { return }
    let passed = VideoFrame(
      timestampNs: frame.timestampNs, rotation: frame.rotation, buffer: VideoFramePixelBuffer(pixelBuffer: pixels))
    for sink in sinks { sink.onVideoFrameReceived(frame: passed) }
  }
}

/// The app's own rules for active speakers.
final class LoudestSpeaks: ActiveSpeakerPolicy {
  func calculateScore(attendeeInfo: AttendeeInfo, volume: VolumeLevel) -> Double { Double(volume.rawValue) }
  func prioritizeVideoSendBandwidthForActiveSpeaker() -> Bool { false }
}

/// A logger of the app's own.
final class QuietLogger: AmazonChimeSDK.Logger {
  private var level = LogLevel.OFF
  func `default`(msg: String) {}
  func debug(debugFunction: () -> String) { if level == .DEBUG { print(debugFunction()) } }
  func info(msg: String) {}
  func fault(msg: String) {}
  func error(msg: String) {}
  func setLogLevel(level: LogLevel) { self.level = level }
  func getLogLevel() -> LogLevel { level }
}

@MainActor
final class TileCell {
  let view = DefaultVideoRenderView(frame: .zero)

  func show(_ tile: VideoTileState, _ facade: AudioVideoFacade) {
    view.mirror = tile.isLocalTile
    view.contentMode = .scaleAspectFit
    facade.bindVideoView(videoView: view, tileId: tile.tileId)
  }

  func prepareForReuse() { view.resetImage() }
}
