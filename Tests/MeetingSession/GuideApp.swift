// swift-format-ignore-file

import AmazonChimeSDK

// The vendor's guide, section by section, as an app writes it: bare protocol names, observers with what the guide lists
// and no more, callbacks on the main queue.

class GuideApp: AudioVideoObserver, RealtimeObserver, VideoTileObserver, MetricsObserver, DataMessageObserver,
    ContentShareObserver, DeviceChangeObserver, ActiveSpeakerObserver {
    let logger = ConsoleLogger(name: "test", level: LogLevel.OFF)
    let meetingSession: MeetingSession
    var tiles: [Int: DefaultVideoRenderView] = [:]
    var attendees: [String: String] = [:]
    var log: [String] = []
    let observerId = "guide"
    let scoresCallbackIntervalMs = 1000

    // 1b, 1c
    init(meeting: CreateMeetingResponse, attendee: CreateAttendeeResponse) {
        let configuration = MeetingSessionConfiguration(createMeetingResponse: meeting, createAttendeeResponse: attendee)
        meetingSession = DefaultMeetingSession(configuration: configuration, logger: logger)
    }

    func configure() {
        // 2a, 2b
        let devices: DeviceController = meetingSession.audioVideo
        if let device = devices.listAudioDevices().first { devices.chooseAudioDevice(mediaDevice: device) }
        meetingSession.audioVideo.addDeviceChangeObserver(observer: self)
        // 3
        AVAudioSession.sharedInstance().requestRecordPermission { granted in self.log.append("record \(granted)") }
        AVCaptureDevice.requestAccess(for: .video) { granted in self.log.append("camera \(granted)") }
        // 4, 6, 8d, 9, 10, 13b
        meetingSession.audioVideo.addAudioVideoObserver(observer: self)
        meetingSession.audioVideo.addRealtimeObserver(observer: self)
        meetingSession.audioVideo.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
        meetingSession.audioVideo.addVideoTileObserver(observer: self)
        meetingSession.audioVideo.addMetricsObserver(observer: self)
        meetingSession.audioVideo.addRealtimeDataMessageObserver(topic: "topic", observer: self)
        meetingSession.audioVideo.addContentShareObserver(observer: self)
    }

    // 5, 8a, 8c
    func start() throws {
        try meetingSession.audioVideo.start(callKitEnabled: false)
        try meetingSession.audioVideo.startLocalVideo(config: LocalVideoConfiguration(maxBitRateKbps: 600))
        meetingSession.audioVideo.startRemoteVideo()
    }

    // 8b, 8f, 8g, 8h, 10, 11, 13a, 14
    func use(_ source: VideoSource) throws {
        meetingSession.audioVideo.switchCamera()
        if meetingSession.audioVideo.getActiveCamera()?.type == .videoBackCamera { log.append("back camera") }
        for tileId in tiles.keys {
            meetingSession.audioVideo.pauseRemoteVideoTile(tileId: tileId)
            meetingSession.audioVideo.resumeRemoteVideoTile(tileId: tileId)
        }
        try meetingSession.audioVideo.realtimeSendDataMessage(topic: "topic", data: "message", lifetimeMs: 1000)
        _ = meetingSession.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true)
        if meetingSession.audioVideo.realtimeLocalMute() { _ = meetingSession.audioVideo.realtimeLocalUnmute() }
        let content = ContentShareSource()
        content.videoSource = source
        meetingSession.audioVideo.startContentShare(source: content)
        let configuration = VideoSubscriptionConfiguration()
        configuration.priority = .highest
        var updated: Dictionary<RemoteVideoSource, VideoSubscriptionConfiguration> = [:]
        for source in sources { updated[source] = configuration }
        meetingSession.audioVideo.updateVideoSourceSubscriptions(addedOrUpdated: updated, removed: [])
    }

    func stop() {
        meetingSession.audioVideo.stopContentShare()
        meetingSession.audioVideo.stopLocalVideo()
        meetingSession.audioVideo.stopRemoteVideo()
        meetingSession.audioVideo.stop()
    }

    // 4
    var sources: [RemoteVideoSource] = []
    func audioSessionDidStartConnecting(reconnecting: Bool) { log.append("connecting") }
    func audioSessionDidStart(reconnecting: Bool) { log.append("started") }
    func audioSessionDidDrop() {}
    func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { log.append("stopped \(sessionStatus.statusCode)") }
    func audioSessionDidCancelReconnect() {}
    func connectionDidBecomePoor() {}
    func connectionDidRecover() {}
    func videoSessionDidStartConnecting() {}
    func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
    func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
    func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) { self.sources += sources }
    // 6
    func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
        for update in volumeUpdates where update.volumeLevel == .muted { log.append("muted \(update.attendeeInfo.externalUserId)") }
    }
    func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
    func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
        for info in attendeeInfo { attendees[info.attendeeId] = info.externalUserId }
    }
    func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) { for info in attendeeInfo { attendees[info.attendeeId] = nil } }
    func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {}
    func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {}
    func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) { if !attendeeInfo.isEmpty { log.append("speaking") } }
    func activeSpeakerScoreDidChange(scores: [AttendeeInfo: Double]) { if scores.count > 1 { log.append("scores") } }
    // 8
    func videoTileDidAdd(tileState: VideoTileState) {
        let view = DefaultVideoRenderView()
        view.mirror = tileState.isLocalTile
        tiles[tileState.tileId] = view
        meetingSession.audioVideo.bindVideoView(videoView: view, tileId: tileState.tileId)
        if tileState.isContent { log.append("content") }
    }
    func videoTileDidRemove(tileState: VideoTileState) {
        meetingSession.audioVideo.unbindVideoView(tileId: tileState.tileId)
        tiles[tileState.tileId] = nil
    }
    func videoTileDidPause(tileState: VideoTileState) { log.append("pause") }
    func videoTileDidResume(tileState: VideoTileState) { log.append("resume") }
    func videoTileSizeDidChange(tileState: VideoTileState) {}
    // 9, 10, 13
    func metricsDidReceive(metrics: [AnyHashable: Any]) {
        if let rate = metrics[ObservableMetric.videoSendFps] as? Double, rate > 5 { log.append("metrics") }
    }
    func dataMessageDidReceived(dataMessage: DataMessage) { log.append(dataMessage.text() ?? "") }
    func contentShareDidStart() { log.append("share") }
    func contentShareDidStop(status: ContentShareStatus) { log.append("share \(status.statusCode)") }
    func audioDeviceDidChange(freshAudioDeviceList: [MediaDevice]) {}
}
