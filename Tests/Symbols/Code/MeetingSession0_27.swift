import AmazonChimeSDK
import Foundation
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import KoineReplayKit
import KoineUIKit
import Testing

// Every [seed] and [core] symbol of version 0.27 with its exact signature.

struct MeetingVersion0_27 {
  @Test func logging() {
    #expect([LogLevel.DEFAULT, .DEBUG, .INFO, .FAULT, .ERROR, .OFF].map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    let _: ConsoleLogger.Type = ConsoleLogger.self
    let _: any Logger.Type = ConsoleLogger.self
    let _: (String, LogLevel) -> ConsoleLogger = ConsoleLogger.init(name:level:)
  }

  /// Never run: it has only to compile.
  private func loggingProtocols(_ logger: any Logger) {
    let _: AnyObject = logger
    let _: (String) -> Void = logger.default(msg:)
    let _: (() -> String) -> Void = logger.debug(debugFunction:)
    let _: (String) -> Void = logger.info(msg:)
    let _: (String) -> Void = logger.fault(msg:)
    let _: (String) -> Void = logger.error(msg:)
    let _: (LogLevel) -> Void = logger.setLogLevel(level:)
    let _: () -> LogLevel = logger.getLogLevel
  }

  @Test func session() {
    let _: DefaultMeetingSession.Type = DefaultMeetingSession.self
    let _: any MeetingSession.Type = DefaultMeetingSession.self
    let _: (MeetingSessionConfiguration, any Logger) -> DefaultMeetingSession = DefaultMeetingSession.init(
      configuration:logger:)
    let _: MeetingSessionConfiguration.Type = MeetingSessionConfiguration.self
    let _: (CreateMeetingResponse, CreateAttendeeResponse) -> MeetingSessionConfiguration = MeetingSessionConfiguration
      .init(createMeetingResponse:createAttendeeResponse:)
    let _: KeyPath<MeetingSessionConfiguration, String> = \MeetingSessionConfiguration.meetingId
    let _: KeyPath<MeetingSessionConfiguration, String?> = \MeetingSessionConfiguration.externalMeetingId
    let _: KeyPath<MeetingSessionConfiguration, MeetingSessionCredentials> = \MeetingSessionConfiguration.credentials
    let _: KeyPath<MeetingSessionConfiguration, MeetingSessionURLs> = \MeetingSessionConfiguration.urls
    let _: KeyPath<MeetingSessionConfiguration, URLRewriter> = \MeetingSessionConfiguration.urlRewriter
    let _: KeyPath<MeetingSessionConfiguration, MeetingFeatures> = \MeetingSessionConfiguration.meetingFeatures
    let _: KeyPath<MeetingSessionConfiguration, String?> = \MeetingSessionConfiguration.primaryMeetingId
    let _: (CreateMeetingResponse, CreateAttendeeResponse, @escaping URLRewriter) -> MeetingSessionConfiguration =
      MeetingSessionConfiguration.init(createMeetingResponse:createAttendeeResponse:urlRewriter:)
    let _:
      (String, MeetingSessionCredentials, MeetingSessionURLs, @escaping URLRewriter) -> MeetingSessionConfiguration =
        MeetingSessionConfiguration.init(meetingId:credentials:urls:urlRewriter:)
    let _:
      (String, String?, MeetingSessionCredentials, MeetingSessionURLs, @escaping URLRewriter) ->
        MeetingSessionConfiguration = MeetingSessionConfiguration.init(
          meetingId:externalMeetingId:credentials:urls:urlRewriter:)
    let _:
      (String, String?, MeetingSessionCredentials, MeetingSessionURLs, @escaping URLRewriter, MeetingFeatures) ->
        MeetingSessionConfiguration = MeetingSessionConfiguration.init(
          meetingId:externalMeetingId:credentials:urls:urlRewriter:meetingFeatures:)
    let _:
      (String, String?, MeetingSessionCredentials, MeetingSessionURLs, @escaping URLRewriter, String?) ->
        MeetingSessionConfiguration = MeetingSessionConfiguration.init(
          meetingId:externalMeetingId:credentials:urls:urlRewriter:primaryMeetingId:)
    let _:
      (String, String?, MeetingSessionCredentials, MeetingSessionURLs, @escaping URLRewriter, String?, MeetingFeatures)
        -> MeetingSessionConfiguration = MeetingSessionConfiguration.init(
          meetingId:externalMeetingId:credentials:urls:urlRewriter:primaryMeetingId:meetingFeatures:)
    let _: MeetingSessionCredentials.Type = MeetingSessionCredentials.self
    let _: any Codable.Type = MeetingSessionCredentials.self
    let _: (String, String, String) -> MeetingSessionCredentials = MeetingSessionCredentials.init(
      attendeeId:externalUserId:joinToken:)
    let _: MeetingSessionURLs.Type = MeetingSessionURLs.self
    let _: any Codable.Type = MeetingSessionURLs.self
    let _: (String, String, String, String, URLRewriter) -> MeetingSessionURLs = MeetingSessionURLs.init(
      audioFallbackUrl:audioHostUrl:turnControlUrl:signalingUrl:urlRewriter:)
    let _: (String, String, String, String, URLRewriter, String?) -> MeetingSessionURLs = MeetingSessionURLs.init(
      audioFallbackUrl:audioHostUrl:turnControlUrl:signalingUrl:urlRewriter:ingestionUrl:)
    let _: KeyPath<MeetingSessionURLs, String> = \MeetingSessionURLs.audioFallbackUrl
    let _: KeyPath<MeetingSessionURLs, String> = \MeetingSessionURLs.audioHostUrl
    let _: KeyPath<MeetingSessionURLs, String> = \MeetingSessionURLs.turnControlUrl
    let _: KeyPath<MeetingSessionURLs, String> = \MeetingSessionURLs.signalingUrl
    let _: KeyPath<MeetingSessionURLs, String?> = \MeetingSessionURLs.ingestionUrl
    let _: ((_ url: String) -> String).Type = URLRewriter.self
    let _: URLRewriterUtils.Type = URLRewriterUtils.self
    let _: URLRewriter = URLRewriterUtils.defaultUrlRewriter
    let _: CreateMeetingResponse.Type = CreateMeetingResponse.self
    let _: any Decodable.Type = CreateMeetingResponse.self
    let _: (Meeting) -> CreateMeetingResponse = CreateMeetingResponse.init(meeting:)
    let _: CreateAttendeeResponse.Type = CreateAttendeeResponse.self
    let _: any Decodable.Type = CreateAttendeeResponse.self
    let _: (Attendee) -> CreateAttendeeResponse = CreateAttendeeResponse.init(attendee:)
    let _: Attendee.Type = Attendee.self
    let _: any Decodable.Type = Attendee.self
    let _: (String, String, String) -> Attendee = Attendee.init(attendeeId:externalUserId:joinToken:)
    let _: Meeting.Type = Meeting.self
    let _: any Decodable.Type = Meeting.self
    let _: (String?, MediaPlacement, String, String) -> Meeting = Meeting.init(
      externalMeetingId:mediaPlacement:mediaRegion:meetingId:)
    let _: (String?, MediaPlacement, MeetingFeatures, String, String, String?) -> Meeting = Meeting.init(
      externalMeetingId:mediaPlacement:meetingFeatures:mediaRegion:meetingId:primaryMeetingId:)
    let _: MediaPlacement.Type = MediaPlacement.self
    let _: any Decodable.Type = MediaPlacement.self
    let _: (String, String, String, String) -> MediaPlacement = MediaPlacement.init(
      audioFallbackUrl:audioHostUrl:signalingUrl:turnControlUrl:)
    let _: (String, String, String, String, String?) -> MediaPlacement = MediaPlacement.init(
      audioFallbackUrl:audioHostUrl:signalingUrl:turnControlUrl:eventIngestionUrl:)
    let _: MeetingSessionStatus.Type = MeetingSessionStatus.self
    let _: KeyPath<MeetingSessionStatus, MeetingSessionStatusCode> = \MeetingSessionStatus.statusCode
    let _: (MeetingSessionStatusCode) -> MeetingSessionStatus = MeetingSessionStatus.init(statusCode:)
    #expect(
      [
        MeetingSessionStatusCode.ok, .audioDisconnected, .connectionHealthReconnect, .videoServiceUnavailable,
        .networkBecomePoor, .audioServerHungup, .audioJoinedFromAnotherDevice, .audioInternalServerError,
        .audioAuthenticationRejected, .audioCallAtCapacity, .audioServiceUnavailable, .audioDisconnectAudio,
        .audioCallEnded, .unknown, .audioInputDeviceNotResponding, .audioOutputDeviceNotResponding,
        .videoAtCapacityViewOnly,
      ].map(\.rawValue) == [0, 9, 10, 12, 59, 60, 61, 62, 63, 64, 65, 69, 75, 78, 82, 83, 206])
    let _: DefaultModality.Type = DefaultModality.self
    let _: (String) -> DefaultModality = DefaultModality.init(id:)
    let _: KeyPath<DefaultModality, String> = \DefaultModality.id
    let _: KeyPath<DefaultModality, String> = \DefaultModality.base
    let _: KeyPath<DefaultModality, String?> = \DefaultModality.modality
    let _: (DefaultModality) -> (ModalityType) -> Bool = DefaultModality.isOfType(type:)
    #expect([ModalityType.content].map(\.rawValue) == [0])
  }

  /// Never run: it has only to compile.
  private func sessionProtocols(_ meetingSession: any MeetingSession) {
    let _: AnyObject = meetingSession
    let _: MeetingSessionConfiguration = meetingSession.configuration
    let _: any Logger = meetingSession.logger
    let _: any AudioVideoFacade = meetingSession.audioVideo
  }

  /// Never run: it has only to compile.
  private func theFacadeProtocols(
    _ audioVideoFacade: any AudioVideoFacade, _ audioVideoControllerFacade: any AudioVideoControllerFacade,
    _ realtimeControllerFacade: any RealtimeControllerFacade, _ deviceController: any DeviceController,
    _ videoTileControllerFacade: any VideoTileControllerFacade,
    _ activeSpeakerDetectorFacade: any ActiveSpeakerDetectorFacade, _ contentShareController: any ContentShareController
  ) {
    let _: any AudioVideoControllerFacade = audioVideoFacade
    let _: any RealtimeControllerFacade = audioVideoFacade
    let _: any DeviceController = audioVideoFacade
    let _: any VideoTileControllerFacade = audioVideoFacade
    let _: any ActiveSpeakerDetectorFacade = audioVideoFacade
    let _: any ContentShareController = audioVideoFacade
    let _: AnyObject = audioVideoControllerFacade
    let _: (Bool) throws -> Void = audioVideoControllerFacade.start(callKitEnabled:)
    let _: () throws -> Void = audioVideoControllerFacade.start
    let _: () -> Void = audioVideoControllerFacade.stop
    let _: MeetingSessionConfiguration = audioVideoControllerFacade.configuration
    let _: any Logger = audioVideoControllerFacade.logger
    let _: (AudioVideoConfiguration) throws -> Void = audioVideoControllerFacade.start(audioVideoConfiguration:)
    let _: () throws -> Void = audioVideoControllerFacade.startLocalVideo
    let _: (LocalVideoConfiguration) throws -> Void = audioVideoControllerFacade.startLocalVideo(config:)
    let _: (any VideoSource) -> Void = audioVideoControllerFacade.startLocalVideo(source:)
    let _: () -> Void = audioVideoControllerFacade.stopLocalVideo
    let _: () -> Void = audioVideoControllerFacade.startRemoteVideo
    let _: () -> Void = audioVideoControllerFacade.stopRemoteVideo
    let _: (any VideoSource, LocalVideoConfiguration) -> Void = audioVideoControllerFacade.startLocalVideo(
      source:config:)
    let _: (any AudioVideoObserver) -> Void = audioVideoControllerFacade.addAudioVideoObserver(observer:)
    let _: (any AudioVideoObserver) -> Void = audioVideoControllerFacade.removeAudioVideoObserver(observer:)
    let _: (any MetricsObserver) -> Void = audioVideoControllerFacade.addMetricsObserver(observer:)
    let _: (any MetricsObserver) -> Void = audioVideoControllerFacade.removeMetricsObserver(observer:)
    let _: ([RemoteVideoSource: VideoSubscriptionConfiguration], [RemoteVideoSource]) -> Void =
      audioVideoControllerFacade.updateVideoSourceSubscriptions(addedOrUpdated:removed:)
    let _: AnyObject = realtimeControllerFacade
    let _: () -> Bool = realtimeControllerFacade.realtimeLocalMute
    let _: () -> Bool = realtimeControllerFacade.realtimeLocalUnmute
    let _: (any RealtimeObserver) -> Void = realtimeControllerFacade.addRealtimeObserver(observer:)
    let _: (any RealtimeObserver) -> Void = realtimeControllerFacade.removeRealtimeObserver(observer:)
    let _: (String, any DataMessageObserver) -> Void = realtimeControllerFacade.addRealtimeDataMessageObserver(
      topic:observer:)
    let _: (String) -> Void = realtimeControllerFacade.removeRealtimeDataMessageObserverFromTopic(topic:)
    let _: (String, Any, Int32) throws -> Void = realtimeControllerFacade.realtimeSendDataMessage(
      topic:data:lifetimeMs:)
    let _: (Bool) -> Bool = realtimeControllerFacade.realtimeSetVoiceFocusEnabled(enabled:)
    let _: () -> Bool = realtimeControllerFacade.realtimeIsVoiceFocusEnabled
    let _: AnyObject = deviceController
    let _: () -> [MediaDevice] = deviceController.listAudioDevices
    let _: (MediaDevice) -> Void = deviceController.chooseAudioDevice(mediaDevice:)
    let _: (any DeviceChangeObserver) -> Void = deviceController.addDeviceChangeObserver(observer:)
    let _: (any DeviceChangeObserver) -> Void = deviceController.removeDeviceChangeObserver(observer:)
    let _: () -> Void = deviceController.switchCamera
    let _: () -> MediaDevice? = deviceController.getActiveCamera
    let _: () -> MediaDevice? = deviceController.getActiveAudioDevice
    let _: AnyObject = videoTileControllerFacade
    let _: (any VideoRenderView, Int) -> Void = videoTileControllerFacade.bindVideoView(videoView:tileId:)
    let _: (Int) -> Void = videoTileControllerFacade.unbindVideoView(tileId:)
    let _: (any VideoTileObserver) -> Void = videoTileControllerFacade.addVideoTileObserver(observer:)
    let _: (any VideoTileObserver) -> Void = videoTileControllerFacade.removeVideoTileObserver(observer:)
    let _: (Int) -> Void = videoTileControllerFacade.pauseRemoteVideoTile(tileId:)
    let _: (Int) -> Void = videoTileControllerFacade.resumeRemoteVideoTile(tileId:)
    let _: AnyObject = activeSpeakerDetectorFacade
    let _: (any ActiveSpeakerPolicy, any ActiveSpeakerObserver) -> Void = activeSpeakerDetectorFacade
      .addActiveSpeakerObserver(policy:observer:)
    let _: (any ActiveSpeakerObserver) -> Void = activeSpeakerDetectorFacade.removeActiveSpeakerObserver(observer:)
    let _: AnyObject = contentShareController
    let _: (ContentShareSource) -> Void = contentShareController.startContentShare(source:)
    let _: () -> Void = contentShareController.stopContentShare
    let _: (any ContentShareObserver) -> Void = contentShareController.addContentShareObserver(observer:)
    let _: (any ContentShareObserver) -> Void = contentShareController.removeContentShareObserver(observer:)
    let _: (ContentShareSource, LocalVideoConfiguration) -> Void = contentShareController.startContentShare(
      source:config:)
  }

  @Test func audioVideoConfiguration() {
    let _: AudioVideoConfiguration.Type = AudioVideoConfiguration.self
    let _: any CustomStringConvertible.Type = AudioVideoConfiguration.self
    let _: KeyPath<AudioVideoConfiguration, AudioDeviceCapabilities> = \AudioVideoConfiguration.audioDeviceCapabilities
    let _: KeyPath<AudioVideoConfiguration, VideoResolution> = \AudioVideoConfiguration.videoMaxResolution
    let _: () -> AudioVideoConfiguration = AudioVideoConfiguration.init
    let _: (AudioMode) -> AudioVideoConfiguration = AudioVideoConfiguration.init(audioMode:)
    let _: (AudioDeviceCapabilities) -> AudioVideoConfiguration = AudioVideoConfiguration.init(audioDeviceCapabilities:)
    let _: (Bool) -> AudioVideoConfiguration = AudioVideoConfiguration.init(callKitEnabled:)
    let _: (Bool) -> AudioVideoConfiguration = AudioVideoConfiguration.init(enableAudioRedundancy:)
    let _: (VideoResolution) -> AudioVideoConfiguration = AudioVideoConfiguration.init(videoMaxResolution:)
    let _: (Int) -> AudioVideoConfiguration = AudioVideoConfiguration.init(reconnectTimeoutMs:)
    let _: (AudioMode, Bool) -> AudioVideoConfiguration = AudioVideoConfiguration.init(audioMode:callKitEnabled:)
    let _: (AudioMode, Bool, Bool) -> AudioVideoConfiguration = AudioVideoConfiguration.init(
      audioMode:callKitEnabled:enableAudioRedundancy:)
    let _: (AudioMode, Bool, Bool, VideoResolution) -> AudioVideoConfiguration = AudioVideoConfiguration.init(
      audioMode:callKitEnabled:enableAudioRedundancy:videoMaxResolution:)
    let _: (AudioMode, AudioDeviceCapabilities, Bool, Bool, VideoResolution) -> AudioVideoConfiguration =
      AudioVideoConfiguration.init(
        audioMode:audioDeviceCapabilities:callKitEnabled:enableAudioRedundancy:videoMaxResolution:)
    let _: (AudioMode, AudioDeviceCapabilities, Bool, Bool, VideoResolution, Int) -> AudioVideoConfiguration =
      AudioVideoConfiguration.init(
        audioMode:audioDeviceCapabilities:callKitEnabled:enableAudioRedundancy:videoMaxResolution:reconnectTimeoutMs:)
    let _: KeyPath<AudioVideoConfiguration, AudioMode> = \AudioVideoConfiguration.audioMode
    let _: KeyPath<AudioVideoConfiguration, Bool> = \AudioVideoConfiguration.enableAudioRedundancy
    let _: KeyPath<AudioVideoConfiguration, Bool> = \AudioVideoConfiguration.callKitEnabled
    let _: KeyPath<AudioVideoConfiguration, Int> = \AudioVideoConfiguration.reconnectTimeoutMs
    #expect([AudioDeviceCapabilities.none, .outputOnly, .inputAndOutput].map(\.rawValue) == [0, 1, 2])
    #expect([AudioMode.mono16K, .mono48K, .stereo48K].map(\.rawValue) == [1, 2, 3])
  }

  @Test func observersOfTheSession() {
    let _: AttendeeInfo.Type = AttendeeInfo.self
    let _: any Hashable.Type = AttendeeInfo.self
    let _: any Comparable.Type = AttendeeInfo.self
    let _: any CustomStringConvertible.Type = AttendeeInfo.self
    let _: KeyPath<AttendeeInfo, String> = \AttendeeInfo.attendeeId
    let _: KeyPath<AttendeeInfo, String> = \AttendeeInfo.externalUserId
    let _: (String, String) -> AttendeeInfo = AttendeeInfo.init(attendeeId:externalUserId:)
    let _: VolumeUpdate.Type = VolumeUpdate.self
    let _: KeyPath<VolumeUpdate, AttendeeInfo> = \VolumeUpdate.attendeeInfo
    let _: KeyPath<VolumeUpdate, VolumeLevel> = \VolumeUpdate.volumeLevel
    #expect([VolumeLevel.muted, .notSpeaking, .low, .medium, .high].map(\.rawValue) == [-1, 0, 1, 2, 3])
    let _: SignalUpdate.Type = SignalUpdate.self
    let _: KeyPath<SignalUpdate, AttendeeInfo> = \SignalUpdate.attendeeInfo
    let _: KeyPath<SignalUpdate, SignalStrength> = \SignalUpdate.signalStrength
    #expect([SignalStrength.none, .low, .high].map(\.rawValue) == [0, 1, 2])
    #expect(
      [
        ObservableMetric.audioReceivePacketLossPercent, .audioSendPacketLossPercent, .videoAvailableSendBandwidth,
        .videoSendBitrate, .videoSendPacketLossPercent, .videoSendFps, .videoSendRttMs, .videoReceiveBitrate,
        .videoReceivePacketLossPercent, .contentShareVideoSendBitrate, .contentShareVideoSendPacketLossPercent,
        .contentShareVideoSendFps, .contentShareVideoSendRttMs, .videoAvailableReceiveBandwidth,
      ].map(\.rawValue) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 3])
  }

  /// Never run: it has only to compile.
  private func observersOfTheSessionProtocols(
    _ audioVideoObserver: any AudioVideoObserver, _ realtimeObserver: any RealtimeObserver,
    _ deviceChangeObserver: any DeviceChangeObserver, _ metricsObserver: any MetricsObserver
  ) {
    let _: AnyObject = audioVideoObserver
    let _: (Bool) -> Void = audioVideoObserver.audioSessionDidStartConnecting(reconnecting:)
    let _: (Bool) -> Void = audioVideoObserver.audioSessionDidStart(reconnecting:)
    let _: () -> Void = audioVideoObserver.audioSessionDidDrop
    let _: () -> Void = audioVideoObserver.connectionDidRecover
    let _: () -> Void = audioVideoObserver.connectionDidBecomePoor
    let _: (MeetingSessionStatus) -> Void = audioVideoObserver.audioSessionDidStopWithStatus(sessionStatus:)
    let _: () -> Void = audioVideoObserver.videoSessionDidStartConnecting
    let _: (MeetingSessionStatus) -> Void = audioVideoObserver.videoSessionDidStartWithStatus(sessionStatus:)
    let _: (MeetingSessionStatus) -> Void = audioVideoObserver.videoSessionDidStopWithStatus(sessionStatus:)
    let _: () -> Void = audioVideoObserver.audioSessionDidCancelReconnect
    let _: ([RemoteVideoSource]) -> Void = audioVideoObserver.remoteVideoSourcesDidBecomeAvailable(sources:)
    let _: ([RemoteVideoSource]) -> Void = audioVideoObserver.remoteVideoSourcesDidBecomeUnavailable(sources:)
    let _: (Bool) -> Void = audioVideoObserver.cameraSendAvailabilityDidChange(available:)
    let _: AnyObject = realtimeObserver
    let _: ([AttendeeInfo]) -> Void = realtimeObserver.attendeesDidJoin(attendeeInfo:)
    let _: ([AttendeeInfo]) -> Void = realtimeObserver.attendeesDidLeave(attendeeInfo:)
    let _: ([AttendeeInfo]) -> Void = realtimeObserver.attendeesDidMute(attendeeInfo:)
    let _: ([AttendeeInfo]) -> Void = realtimeObserver.attendeesDidUnmute(attendeeInfo:)
    let _: ([AttendeeInfo]) -> Void = realtimeObserver.attendeesDidDrop(attendeeInfo:)
    let _: ([VolumeUpdate]) -> Void = realtimeObserver.volumeDidChange(volumeUpdates:)
    let _: ([SignalUpdate]) -> Void = realtimeObserver.signalStrengthDidChange(signalUpdates:)
    let _: AnyObject = deviceChangeObserver
    let _: ([MediaDevice]) -> Void = deviceChangeObserver.audioDeviceDidChange(freshAudioDeviceList:)
    let _: AnyObject = metricsObserver
    let _: ([AnyHashable: Any]) -> Void = metricsObserver.metricsDidReceive(metrics:)
  }

  @Test func activeSpeaker() {
    let _: DefaultActiveSpeakerPolicy.Type = DefaultActiveSpeakerPolicy.self
    let _: any ActiveSpeakerPolicy.Type = DefaultActiveSpeakerPolicy.self
    let _: () -> DefaultActiveSpeakerPolicy = DefaultActiveSpeakerPolicy.init
    let _: (Double, Double, Double) -> DefaultActiveSpeakerPolicy = DefaultActiveSpeakerPolicy.init(
      speakerWeight:cutoffThreshold:takeoverRate:)
  }

  /// Never run: it has only to compile.
  private func activeSpeakerProtocols(
    _ activeSpeakerPolicy: any ActiveSpeakerPolicy, _ activeSpeakerObserver: any ActiveSpeakerObserver
  ) {
    let _: AnyObject = activeSpeakerPolicy
    let _: (AttendeeInfo, VolumeLevel) -> Double = activeSpeakerPolicy.calculateScore(attendeeInfo:volume:)
    let _: () -> Bool = activeSpeakerPolicy.prioritizeVideoSendBandwidthForActiveSpeaker
    let _: AnyObject = activeSpeakerObserver
    let _: Int = activeSpeakerObserver.scoresCallbackIntervalMs
    let _: ([AttendeeInfo: Double]) -> Void = activeSpeakerObserver.activeSpeakerScoreDidChange(scores:)
    let _: ([AttendeeInfo]) -> Void = activeSpeakerObserver.activeSpeakerDidDetect(attendeeInfo:)
    let _: String = activeSpeakerObserver.observerId
  }

  @Test func videoTilesAndRendering() {
    #expect([VideoPauseState.unpaused, .pausedByUserRequest, .pausedForPoorConnection].map(\.rawValue) == [0, 1, 2])
    let _: VideoTileState.Type = VideoTileState.self
    let _: KeyPath<VideoTileState, Int> = \VideoTileState.tileId
    let _: KeyPath<VideoTileState, String> = \VideoTileState.attendeeId
    let _: ReferenceWritableKeyPath<VideoTileState, Int> = \VideoTileState.videoStreamContentWidth
    let _: ReferenceWritableKeyPath<VideoTileState, Int> = \VideoTileState.videoStreamContentHeight
    let _: ReferenceWritableKeyPath<VideoTileState, VideoPauseState> = \VideoTileState.pauseState
    let _: KeyPath<VideoTileState, Bool> = \VideoTileState.isLocalTile
    let _: KeyPath<VideoTileState, Bool> = \VideoTileState.isContent
  }

  @Test @MainActor func videoTilesAndRenderingOnTheMainActor() {
    let _: UIView.Type = DefaultVideoRenderView.self
    let _: any VideoRenderView.Type = DefaultVideoRenderView.self
    let _: ReferenceWritableKeyPath<DefaultVideoRenderView, Bool> = \DefaultVideoRenderView.mirror
    let _: (DefaultVideoRenderView) -> (VideoFrame) -> Void = DefaultVideoRenderView.onVideoFrameReceived(frame:)
    let _: (DefaultVideoRenderView) -> () -> Void = DefaultVideoRenderView.resetImage
  }

  /// Never run: it has only to compile.
  private func videoTilesAndRenderingProtocols(
    _ videoTileObserver: any VideoTileObserver, _ videoTile: any VideoTile, _ videoRenderView: any VideoRenderView
  ) {
    let _: AnyObject = videoTileObserver
    let _: (VideoTileState) -> Void = videoTileObserver.videoTileDidAdd(tileState:)
    let _: (VideoTileState) -> Void = videoTileObserver.videoTileDidRemove(tileState:)
    let _: (VideoTileState) -> Void = videoTileObserver.videoTileSizeDidChange(tileState:)
    let _: (VideoTileState) -> Void = videoTileObserver.videoTileDidPause(tileState:)
    let _: (VideoTileState) -> Void = videoTileObserver.videoTileDidResume(tileState:)
    let _: any VideoSink = videoTile
    let _: VideoTileState = videoTile.state
    let _: (any VideoRenderView)? = videoTile.videoRenderView
    let _: ((any VideoRenderView)?) -> Void = { videoTile.videoRenderView = $0 }
    let _: ((any VideoRenderView)?) -> Void = videoTile.bind(videoRenderView:)
    let _: () -> Void = videoTile.unbind
    let _: (VideoPauseState) -> Void = videoTile.setPauseState(pauseState:)
    let _: any VideoSink = videoRenderView
  }

  @Test func videoDataPath() {
    let _: VideoFramePixelBuffer.Type = VideoFramePixelBuffer.self
    let _: any VideoFrameBuffer.Type = VideoFramePixelBuffer.self
    let _: (CVPixelBuffer) -> VideoFramePixelBuffer = VideoFramePixelBuffer.init(pixelBuffer:)
    let _: KeyPath<VideoFramePixelBuffer, CVPixelBuffer> = \VideoFramePixelBuffer.pixelBuffer
    let _: VideoFrame.Type = VideoFrame.self
    let _: KeyPath<VideoFrame, Int> = \VideoFrame.width
    let _: KeyPath<VideoFrame, Int> = \VideoFrame.height
    let _: KeyPath<VideoFrame, Int64> = \VideoFrame.timestampNs
    let _: KeyPath<VideoFrame, VideoRotation> = \VideoFrame.rotation
    let _: KeyPath<VideoFrame, any VideoFrameBuffer> = \VideoFrame.buffer
    let _: (Int64, VideoRotation, any VideoFrameBuffer) -> VideoFrame = VideoFrame.init(timestampNs:rotation:buffer:)
    #expect([VideoRotation.rotation0, .rotation90, .rotation180, .rotation270].map(\.rawValue) == [0, 90, 180, 270])
    #expect([VideoContentHint.none, .motion, .detail, .text].map(\.rawValue) == [0, 1, 2, 3])
    let _: LocalVideoConfiguration.Type = LocalVideoConfiguration.self
    let _: (UInt32, Bool) -> LocalVideoConfiguration = LocalVideoConfiguration.init(maxBitRateKbps:simulcastEnabled:)
    let _: ReferenceWritableKeyPath<LocalVideoConfiguration, UInt32> = \LocalVideoConfiguration.maxBitRateKbps
    let _: ReferenceWritableKeyPath<LocalVideoConfiguration, Bool> = \LocalVideoConfiguration.simulcastEnabled
    let _: RemoteVideoSource.Type = RemoteVideoSource.self
    let _: any Hashable.Type = RemoteVideoSource.self
    let _: () -> RemoteVideoSource = RemoteVideoSource.init
    let _: ReferenceWritableKeyPath<RemoteVideoSource, String> = \RemoteVideoSource.attendeeId
    let _: VideoSubscriptionConfiguration.Type = VideoSubscriptionConfiguration.self
    let _: () -> VideoSubscriptionConfiguration = VideoSubscriptionConfiguration.init
    let _: ReferenceWritableKeyPath<VideoSubscriptionConfiguration, VideoPriority> =
      \VideoSubscriptionConfiguration.priority
    let _: ReferenceWritableKeyPath<VideoSubscriptionConfiguration, VideoResolution> =
      \VideoSubscriptionConfiguration.targetResolution
    #expect([VideoPriority.lowest, .low, .medium, .high, .highest].map(\.rawValue) == [0, 10, 20, 30, 40])
    let _: VideoResolution.Type = VideoResolution.self
    let _: any Hashable.Type = VideoResolution.self
    let _: any CustomStringConvertible.Type = VideoResolution.self
    let _: VideoResolution = VideoResolution.low
    let _: VideoResolution = VideoResolution.medium
    let _: VideoResolution = VideoResolution.high
    let _: VideoResolution = VideoResolution.videoDisabled
    let _: VideoResolution = VideoResolution.videoResolutionHD
    let _: VideoResolution = VideoResolution.videoResolutionFHD
    let _: VideoResolution = VideoResolution.videoResolutionUHD
    let _: KeyPath<VideoResolution, Int> = \VideoResolution.width
    let _: KeyPath<VideoResolution, Int> = \VideoResolution.height
    let _: DefaultCameraCaptureSource.Type = DefaultCameraCaptureSource.self
    let _: any CameraCaptureSource.Type = DefaultCameraCaptureSource.self
    let _: (any Logger) -> DefaultCameraCaptureSource = DefaultCameraCaptureSource.init(logger:)
    let _: KeyPath<DefaultCameraCaptureSource, Bool> = \DefaultCameraCaptureSource.torchAvailable
    let _: VideoCaptureFormat.Type = VideoCaptureFormat.self
    let _: any Hashable.Type = VideoCaptureFormat.self
    let _: (Int, Int, Int) -> VideoCaptureFormat = VideoCaptureFormat.init(width:height:maxFrameRate:)
    let _: KeyPath<VideoCaptureFormat, Int> = \VideoCaptureFormat.width
    let _: KeyPath<VideoCaptureFormat, Int> = \VideoCaptureFormat.height
    let _: KeyPath<VideoCaptureFormat, Int> = \VideoCaptureFormat.maxFrameRate
    #expect(
      [CaptureSourceError.unknown, .systemFailure, .configurationFailure, .invalidFrame].map(\.rawValue) == [
        0, 1, 2, 3,
      ])
  }

  /// Never run: it has only to compile.
  private func videoDataPathProtocols(
    _ videoSink: any VideoSink, _ videoFrameBuffer: any VideoFrameBuffer, _ videoSource: any VideoSource,
    _ videoCaptureSource: any VideoCaptureSource, _ cameraCaptureSource: any CameraCaptureSource,
    _ captureSourceObserver: any CaptureSourceObserver
  ) {
    let _: AnyObject = videoSink
    let _: (VideoFrame) -> Void = videoSink.onVideoFrameReceived(frame:)
    let _: AnyObject = videoFrameBuffer
    let _: () -> Int = videoFrameBuffer.width
    let _: () -> Int = videoFrameBuffer.height
    let _: AnyObject = videoSource
    let _: (any VideoSink) -> Void = videoSource.addVideoSink(sink:)
    let _: (any VideoSink) -> Void = videoSource.removeVideoSink(sink:)
    let _: VideoContentHint = videoSource.videoContentHint
    let _: (VideoContentHint) -> Void = { videoSource.videoContentHint = $0 }
    let _: any VideoSource = videoCaptureSource
    let _: () -> Void = videoCaptureSource.start
    let _: () -> Void = videoCaptureSource.stop
    let _: (any CaptureSourceObserver) -> Void = videoCaptureSource.addCaptureSourceObserver(observer:)
    let _: (any CaptureSourceObserver) -> Void = videoCaptureSource.removeCaptureSourceObserver(observer:)
    let _: any VideoCaptureSource = cameraCaptureSource
    let _: MediaDevice? = cameraCaptureSource.device
    let _: (MediaDevice?) -> Void = { cameraCaptureSource.device = $0 }
    let _: VideoCaptureFormat = cameraCaptureSource.format
    let _: (VideoCaptureFormat) -> Void = { cameraCaptureSource.format = $0 }
    let _: () -> Void = cameraCaptureSource.switchCamera
    let _: Bool = cameraCaptureSource.torchEnabled
    let _: (Bool) -> Void = { cameraCaptureSource.torchEnabled = $0 }
    let _: AnyObject = captureSourceObserver
    let _: () -> Void = captureSourceObserver.captureDidStart
    let _: () -> Void = captureSourceObserver.captureDidStop
    let _: (CaptureSourceError) -> Void = captureSourceObserver.captureDidFail(error:)
  }

  @Test func devices() {
    let _: MediaDevice.Type = MediaDevice.self
    let _: any Hashable.Type = MediaDevice.self
    let _: any CustomStringConvertible.Type = MediaDevice.self
    let _: KeyPath<MediaDevice, String> = \MediaDevice.label
    let _: KeyPath<MediaDevice, MediaDeviceType> = \MediaDevice.type
    let _: KeyPath<MediaDevice, AVAudioSessionPortDescription?> = \MediaDevice.port
    let _: (String, MediaDeviceType) -> MediaDevice = MediaDevice.init(label:type:)
    let _: (String, AVAudioSessionPortDescription?) -> MediaDevice = MediaDevice.init(label:port:)
    let _: () -> [MediaDevice] = MediaDevice.listVideoDevices
    let _: (MediaDevice) -> [VideoCaptureFormat] = MediaDevice.listSupportedVideoCaptureFormats(mediaDevice:)
    let _: (MediaDevice, VideoResolution) -> [VideoCaptureFormat] = MediaDevice.listSupportedVideoCaptureFormats(
      mediaDevice:videoMaxResolution:)
    #expect(
      [
        MediaDeviceType.audioBluetooth, .audioWiredHeadset, .audioBuiltInSpeaker, .audioHandset, .videoFrontCamera,
        .videoBackCamera, .other,
      ].map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6])
  }

  @Test func dataMessages() {
    let _: DataMessage.Type = DataMessage.self
    let _: KeyPath<DataMessage, Int64> = \DataMessage.timestampMs
    let _: KeyPath<DataMessage, String> = \DataMessage.topic
    let _: KeyPath<DataMessage, Data> = \DataMessage.data
    let _: KeyPath<DataMessage, String> = \DataMessage.senderAttendeeId
    let _: KeyPath<DataMessage, String> = \DataMessage.senderExternalUserId
    let _: (String, Data, String, String, Int64, Bool) -> DataMessage = DataMessage.init(
      topic:data:senderAttendeeId:senderExternalUserId:timestampMs:throttled:)
    let _: (DataMessage) -> () -> String? = DataMessage.text
    let _: (DataMessage) -> () -> Any? = DataMessage.fromJSON
    let _: KeyPath<DataMessage, Bool> = \DataMessage.throttled
  }

  /// Never run: it has only to compile.
  private func dataMessagesProtocols(_ dataMessageObserver: any DataMessageObserver) {
    let _: AnyObject = dataMessageObserver
    let _: (DataMessage) -> Void = dataMessageObserver.dataMessageDidReceived(dataMessage:)
  }

  @Test func contentShare() {
    let _: ContentShareSource.Type = ContentShareSource.self
    let _: () -> ContentShareSource = ContentShareSource.init
    let _: ReferenceWritableKeyPath<ContentShareSource, (any VideoSource)?> = \ContentShareSource.videoSource
    let _: ContentShareStatus.Type = ContentShareStatus.self
    let _: KeyPath<ContentShareStatus, ContentShareStatusCode> = \ContentShareStatus.statusCode
    #expect([ContentShareStatusCode.ok, .videoServiceFailed].map(\.rawValue) == [0, 1])
    let _: any VideoSource.Type = ReplayKitSource.self
    let _: (any Logger) -> ReplayKitSource = ReplayKitSource.init(logger:)
    let _: (ReplayKitSource) -> (CMSampleBuffer, RPSampleBufferType) -> Void = ReplayKitSource
      .processSampleBuffer(sampleBuffer:type:)
    let _: (ReplayKitSource) -> () -> Void = ReplayKitSource.stop
    let _: InAppScreenCaptureSource.Type = InAppScreenCaptureSource.self
    let _: any VideoCaptureSource.Type = InAppScreenCaptureSource.self
    let _: (any Logger) -> InAppScreenCaptureSource = InAppScreenCaptureSource.init(logger:)
  }

  /// Never run: it has only to compile.
  private func contentShareProtocols(_ contentShareObserver: any ContentShareObserver) {
    let _: AnyObject = contentShareObserver
    let _: () -> Void = contentShareObserver.contentShareDidStart
    let _: (ContentShareStatus) -> Void = contentShareObserver.contentShareDidStop(status:)
  }

  @Test func errors() {
    #expect([PermissionError.audioPermissionError, .videoPermissionError].map(\.rawValue) == [0, 1])
    #expect(
      [
        MediaError.illegalState, .audioFailedToStart, .noCameraSelected, .noAudioDevices,
        .overrideOutputAudioPortFailed, .setPreferredAudioInputFailed,
      ].map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect(
      [SendDataMessageError.invalidDataLength, .invalidTopic, .negativeLifetimeParameter, .invalidData].map(\.rawValue)
        == [0, 1, 2, 3])
  }

  @Test func events() {
    #expect(EventName.allCases.count == 32)
    #expect(MeetingHistoryEventName.allCases.count == 32)
    #expect(EventAttributeName.allCases.count == 37)
    let _: any EventAnalyticsController.Type = DefaultEventAnalyticsController.self
    let _: (DefaultCameraCaptureSource) -> ((any EventAnalyticsController)?) -> Void = DefaultCameraCaptureSource
      .setEventAnalyticsController(eventAnalyticsController:)
    let _: KeyPath<MeetingHistoryEvent, MeetingHistoryEventName> = \MeetingHistoryEvent.meetingHistoryEventName
    let _: KeyPath<MeetingHistoryEvent, Int64> = \MeetingHistoryEvent.timestampMs
    let _: (MeetingHistoryEventName, Int64) -> MeetingHistoryEvent = MeetingHistoryEvent.init(
      meetingHistoryEventName:timestampMs:)
    let _: (EventName, [AnyHashable: Any]) -> SDKEvent = SDKEvent.init(eventName:eventAttributes:)
    let _: (MeetingHistoryEventName, [AnyHashable: Any]) -> SDKEvent = SDKEvent.init(
      meetingHistoryEventName:eventAttributes:)
    let _: KeyPath<SDKEvent, String> = \SDKEvent.name
    let _: KeyPath<SDKEvent, [AnyHashable: Any]> = \SDKEvent.eventAttributes
    #expect((["a": 1] as [AnyHashable: Any]).toJsonString() == "{\"a\":\"1\"}")
    #expect([AppState.active, .inactive, .foreground, .background, .terminated, .other].map(\.rawValue).last == 5)
    #expect([BatteryState.charging, .discharging, .full, .unknown].map(\.rawValue).last == 3)
    #expect(
      [NetworkConnectionType.wifi, .cellular, .wiredEthernet, .other, .none, .unknown].map(\.rawValue).last == 5)
    let _: (Int) -> VoiceFocusError = VoiceFocusError.init(from:)
    #expect([VideoClientFailedError.authenticationFailed, .other].map(\.rawValue) == [0, 3])
    #expect([SignalingDroppedError.none, .other].map(\.rawValue) == [0, 11])
    #expect(VideoInterruptionReason.other.rawValue == 4)
    #expect(ResourceError.notFound.rawValue == 0)
  }

  /// Never run: it has only to compile.
  private func eventsProtocols(
    _ session: any MeetingSession, _ controller: any EventAnalyticsController, _ facade: any AudioVideoFacade,
    _ observer: any EventAnalyticsObserver
  ) {
    let _: any EventAnalyticsController = session.eventAnalyticsController
    let _: any EventAnalyticsFacade = facade
    let _: (any EventAnalyticsObserver) -> Void = facade.addEventAnalyticsObserver(observer:)
    let _: (any EventAnalyticsObserver) -> Void = facade.removeEventAnalyticsObserver(observer:)
    let _: () -> [MeetingHistoryEvent] = facade.getMeetingHistory
    let _: () -> [AnyHashable: Any] = facade.getCommonEventAttributes
    let _: (EventName) -> Void = controller.publishEvent(name:)
    let _: (EventName, [AnyHashable: Any]) -> Void = controller.publishEvent(name:attributes:)
    let _: (EventName, [AnyHashable: Any], Bool) -> Void = controller.publishEvent(name:attributes:notifyObservers:)
    let _: (MeetingHistoryEventName) -> Void = controller.pushHistory(historyEventName:)
    let _: (EventName, [AnyHashable: Any]) -> Void = observer.eventDidReceive(name:attributes:)
  }

  @Test func ingestion() {
    let _: (MeetingSessionConfiguration, any Logger, any EventReporterFactory) -> DefaultMeetingSession =
      DefaultMeetingSession.init(configuration:logger:eventReporterFactory:)
    let _: any EventReporterFactory.Type = NoopEventReporterFactory.self
    let _: () -> NoopEventReporterFactory = NoopEventReporterFactory.init
    let _: (IngestionConfiguration, any Logger) -> DefaultMeetingEventReporterFactory =
      DefaultMeetingEventReporterFactory.init(ingestionConfiguration:logger:)
    let builder = IngestionConfigurationBuilder().setFlushSize(flushSize: 10).setFlushIntervalMs(flushIntervalMs: 1_000)
      .setRetryCountLimit(retryCountLimit: 3)
    let client = MeetingEventClientConfiguration(eventClientJoinToken: "t", meetingId: "m", attendeeId: "a")
    let configuration = builder.build(disabled: true, ingestionUrl: "", clientConiguration: client)
    #expect(configuration.disabled)
    let _: any EventClientConfiguration = configuration.clientConfiguration
    #expect(EventClientType.allCases.map(\.description) == ["Meet", "Chat"])
    let _: any Codable.Type = IngestionRecord.self
    let _: any Codable.Type = IngestionEvent.self
    let _: any Codable.Type = IngestionPayload.self
    let _: any Codable.Type = AnyCodable.self
  }

  /// Never run: it has only to compile.
  private func ingestionProtocols(_ reporter: any EventReporter, _ factory: any EventReporterFactory) {
    let _: (SDKEvent) -> Void = reporter.report(event:)
    let _: () -> Void = reporter.start
    let _: () -> Void = reporter.stop
    let _: () -> (any EventReporter)? = factory.createEventReporter
  }

  @Test func helpers() {
    let _: any Scheduler.Type = IntervalScheduler.self
    let _: (Int, @escaping () -> Void) -> IntervalScheduler = IntervalScheduler.init(intervalMs:callback:)
    let _: (IntervalScheduler) -> () -> Void = IntervalScheduler.start
    let _: (IntervalScheduler) -> () -> Void = IntervalScheduler.stop
    let _: any ActiveSpeakerDetectorFacade.Type = DefaultActiveSpeakerDetector.self
    let _: any RealtimeObserver.Type = DefaultActiveSpeakerDetector.self
    let _: (String) -> DefaultActiveSpeakerDetector = DefaultActiveSpeakerDetector.init(selfAttendeeId:)
    let _: any VideoTileController.Type = DefaultVideoTileController.self
    let _: VideoFrameResender.Type = VideoFrameResender.self
  }

  /// Never run: it has only to compile.
  private func helpersProtocols(_ detector: any ActiveSpeakerDetectorFacade, _ tiles: any VideoTileController) {
    let _: (Bool) -> Void = detector.hasBandwidthPriorityCallback(hasBandwidthPriority:)
    let _: (VideoFrame?, Int, String?, VideoPauseState) -> Void = tiles.onReceiveFrame(
      frame:videoId:attendeeId:pauseState:)
  }
}
