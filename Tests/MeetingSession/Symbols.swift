import AmazonChimeSDK
import class Koine.Machine
import KoineAVFoundation
import KoineCoreVideo
import Testing

// Every [seed] and [core] symbol with its exact signature, as an app would name it. Most of it has only to compile; the
// numbers of enumerations are looked at in `ValueTests`.

struct MeetingSymbols {
  /// Conforms as the guide's older page has it: the newer methods may be missing.
  private final class Older: AudioVideoObserver {
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

  private final class Everything: AudioVideoObserver, RealtimeObserver, VideoTileObserver, MetricsObserver,
    DeviceChangeObserver, ActiveSpeakerObserver, ActiveSpeakerPolicy, DataMessageObserver, ContentShareObserver,
    CaptureSourceObserver, VideoSource, VideoSink, Logger
  {
    func audioSessionDidStartConnecting(reconnecting: Bool) {}
    func audioSessionDidStart(reconnecting: Bool) {}
    func audioSessionDidDrop() {}
    func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { _ = sessionStatus.statusCode.rawValue }
    func audioSessionDidCancelReconnect() {}
    func connectionDidRecover() {}
    func connectionDidBecomePoor() {}
    func videoSessionDidStartConnecting() {}
    func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
    func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
    func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {}
    func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {}
    func cameraSendAvailabilityDidChange(available: Bool) {}
    func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
      let _: [(AttendeeInfo, VolumeLevel)] = volumeUpdates.map { ($0.attendeeInfo, $0.volumeLevel) }
    }
    func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {
      let _: [(AttendeeInfo, SignalStrength)] = signalUpdates.map { ($0.attendeeInfo, $0.signalStrength) }
    }
    func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {}
    func videoTileDidAdd(tileState: VideoTileState) {
      let _: (Int, String, Int, Int, VideoPauseState, Bool, Bool) = (
        tileState.tileId, tileState.attendeeId, tileState.videoStreamContentWidth, tileState.videoStreamContentHeight,
        tileState.pauseState, tileState.isLocalTile, tileState.isContent
      )
    }
    func videoTileDidRemove(tileState: VideoTileState) {}
    func videoTileDidPause(tileState: VideoTileState) {}
    func videoTileDidResume(tileState: VideoTileState) {}
    func videoTileSizeDidChange(tileState: VideoTileState) {}
    func metricsDidReceive(metrics: [AnyHashable: Any]) { _ = metrics[ObservableMetric.videoSendFps] as? Double }
    func audioDeviceDidChange(freshAudioDeviceList: [MediaDevice]) {}
    var observerId: String { "id" }
    var scoresCallbackIntervalMs: Int { 100 }
    func activeSpeakerScoreDidChange(scores: [AttendeeInfo: Double]) {}
    func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) {}
    func calculateScore(attendeeInfo: AttendeeInfo, volume: VolumeLevel) -> Double { 0 }
    func prioritizeVideoSendBandwidthForActiveSpeaker() -> Bool { false }
    func dataMessageDidReceived(dataMessage: DataMessage) {
      let _: (Int64, String, Data, String, String, Bool, String?, Any?) = (
        dataMessage.timestampMs, dataMessage.topic, dataMessage.data, dataMessage.senderAttendeeId,
        dataMessage.senderExternalUserId, dataMessage.throttled, dataMessage.text(), dataMessage.fromJSON()
      )
    }
    func contentShareDidStart() {}
    func contentShareDidStop(status: ContentShareStatus) { _ = status.statusCode == .ok }
    func captureDidStart() {}
    func captureDidStop() {}
    func captureDidFail(error: CaptureSourceError) {}
    var videoContentHint: VideoContentHint = .motion
    func addVideoSink(sink: VideoSink) {}
    func removeVideoSink(sink: VideoSink) {}
    func onVideoFrameReceived(frame: VideoFrame) {
      let _: (Int, Int, Int64, VideoRotation, VideoFrameBuffer) = (
        frame.width, frame.height, frame.timestampNs, frame.rotation, frame.buffer
      )
    }
    func `default`(msg: String) {}
    func debug(debugFunction: () -> String) {}
    func info(msg: String) {}
    func fault(msg: String) {}
    func error(msg: String) {}
    func setLogLevel(level: LogLevel) {}
    func getLogLevel() -> LogLevel { .OFF }
  }

  /// Never run: only to be compiled.
  private func facade(
    _ configuration: MeetingSessionConfiguration, _ everything: Everything, _ view: DefaultVideoRenderView
  ) throws {
    let logger: Logger = ConsoleLogger(name: "app", level: .INFO)
    let session: MeetingSession = DefaultMeetingSession(configuration: configuration, logger: logger)
    let facade: AudioVideoFacade = session.audioVideo
    facade.addAudioVideoObserver(observer: everything)
    facade.addAudioVideoObserver(observer: Older())
    facade.addRealtimeObserver(observer: everything)
    facade.addVideoTileObserver(observer: everything)
    facade.addMetricsObserver(observer: everything)
    facade.addDeviceChangeObserver(observer: everything)
    facade.addContentShareObserver(observer: everything)
    facade.addActiveSpeakerObserver(policy: everything, observer: everything)
    facade.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: everything)
    facade.addRealtimeDataMessageObserver(topic: "chat", observer: everything)
    try facade.start()
    try facade.start(callKitEnabled: false)
    try facade.start(audioVideoConfiguration: AudioVideoConfiguration(audioMode: .mono48K))
    try facade.startLocalVideo()
    try facade.startLocalVideo(config: LocalVideoConfiguration(maxBitRateKbps: 600, simulcastEnabled: true))
    facade.startLocalVideo(source: everything)
    facade.startLocalVideo(source: everything, config: LocalVideoConfiguration())
    facade.stopLocalVideo()
    facade.startRemoteVideo()
    facade.stopRemoteVideo()
    facade.updateVideoSourceSubscriptions(
      addedOrUpdated: [RemoteVideoSource(): VideoSubscriptionConfiguration()], removed: [RemoteVideoSource()])
    facade.bindVideoView(videoView: view, tileId: 1)
    facade.unbindVideoView(tileId: 1)
    facade.pauseRemoteVideoTile(tileId: 1)
    facade.resumeRemoteVideoTile(tileId: 1)
    let _: Bool = facade.realtimeLocalMute()
    let _: Bool = facade.realtimeLocalUnmute()
    let _: Bool = facade.realtimeSetVoiceFocusEnabled(enabled: true)
    let _: Bool = facade.realtimeIsVoiceFocusEnabled()
    try facade.realtimeSendDataMessage(topic: "chat", data: "Hi", lifetimeMs: 300_000)
    facade.removeRealtimeDataMessageObserverFromTopic(topic: "chat")
    let devices: [MediaDevice] = facade.listAudioDevices()
    facade.chooseAudioDevice(mediaDevice: devices[0])
    let _: MediaDevice? = facade.getActiveAudioDevice()
    let _: MediaDevice? = facade.getActiveCamera()
    facade.switchCamera()
    let share = ContentShareSource()
    share.videoSource = everything
    facade.startContentShare(source: share)
    facade.startContentShare(source: share, config: LocalVideoConfiguration())
    facade.stopContentShare()
    let camera: CameraCaptureSource = DefaultCameraCaptureSource(logger: logger)
    camera.device = MediaDevice.listVideoDevices().first
    camera.format = VideoCaptureFormat(width: 1, height: 1, maxFrameRate: 1)
    camera.torchEnabled = false
    camera.addCaptureSourceObserver(observer: everything)
    camera.start()
    camera.switchCamera()
    camera.stop()
    let _: VideoCaptureSource = InAppScreenCaptureSource(logger: logger)
    facade.removeAudioVideoObserver(observer: everything)
    facade.removeRealtimeObserver(observer: everything)
    facade.removeVideoTileObserver(observer: everything)
    facade.removeMetricsObserver(observer: everything)
    facade.removeDeviceChangeObserver(observer: everything)
    facade.removeContentShareObserver(observer: everything)
    facade.removeActiveSpeakerObserver(observer: everything)
    facade.stop()
  }

  @Test func theRestIsThere() {
    #expect(Versioning.sdkVersion() == "0.27.2" && VideoBitrateConstants().videoHighResolutionBitrateKbps == 2_500)
    let everything = Everything()
    everything.videoContentHint = .text
    #expect(everything.videoContentHint == .text)
    let tile = DefaultVideoTile(
      tileId: 3, attendeeId: "ana", videoStreamContentWidth: 4, videoStreamContentHeight: 5, isLocalTile: false,
      logger: everything)
    #expect(tile.state.tileId == 3 && tile.state.pauseState == .unpaused && tile.videoRenderView == nil)
    let speaker = MediaDevice(label: "Speaker", type: .audioBuiltInSpeaker)
    let headset = MediaDevice(
      label: "Headset",
      port: AVAudioSessionPortDescription(
        Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence")))
    #expect(speaker.port == nil && headset.type == .audioWiredHeadset && MediaDevice(label: "x").type == .other)
    let cameras: [MediaDevice] = MediaDevice.listVideoDevices()
    #expect(cameras.map(\.type) == [.videoFrontCamera, .videoBackCamera])
    let formats: [VideoCaptureFormat] = MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: cameras[0])
    #expect(!formats.isEmpty && formats.allSatisfy { $0.width <= 1_280 && $0.maxFrameRate <= 30 })
    #expect(MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: speaker).isEmpty)
    let few = MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: cameras[0], videoMaxResolution: .low)
    #expect(few.allSatisfy { $0.height <= VideoResolution.low.height })
  }
}
