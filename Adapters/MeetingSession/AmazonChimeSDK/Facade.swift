/// All operations of a meeting in one protocol.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols.html)
public protocol AudioVideoFacade: AudioVideoControllerFacade, RealtimeControllerFacade, DeviceController,
  VideoTileControllerFacade, ActiveSpeakerDetectorFacade, ContentShareController, EventAnalyticsFacade
{}

/// Starts and stops the meeting and its video, and registers observers of both.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/AudioVideoControllerFacade.html)
public protocol AudioVideoControllerFacade: AnyObject {
  var configuration: MeetingSessionConfiguration { get }
  var logger: any Logger { get }

  /// Begins to connect. How it goes is told to `AudioVideoObserver`s.
  /// - Throws: `PermissionError` without the permission to record; `MediaError.illegalState` when started already;
  ///   `MediaError.audioFailedToStart` when there is nothing to connect to.
  func start(audioVideoConfiguration: AudioVideoConfiguration) throws
  func start(callKitEnabled: Bool) throws
  func start() throws
  func stop()
  /// Sends the internal camera.
  /// - Throws: `PermissionError.videoPermissionError`.
  func startLocalVideo() throws
  func startLocalVideo(config: LocalVideoConfiguration) throws
  func startLocalVideo(source: any VideoSource)
  func startLocalVideo(source: any VideoSource, config: LocalVideoConfiguration)
  func stopLocalVideo()
  func startRemoteVideo()
  func stopRemoteVideo()
  func addAudioVideoObserver(observer: any AudioVideoObserver)
  func removeAudioVideoObserver(observer: any AudioVideoObserver)
  func addMetricsObserver(observer: any MetricsObserver)
  func removeMetricsObserver(observer: any MetricsObserver)
  /// From the first call on only the videos asked for are received.
  func updateVideoSourceSubscriptions(
    addedOrUpdated: [RemoteVideoSource: VideoSubscriptionConfiguration], removed: [RemoteVideoSource])
}

/// Mutes the microphone, sends data messages, and registers observers of attendees.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/RealtimeControllerFacade.html)
public protocol RealtimeControllerFacade: AnyObject {
  /// - Returns: false before the start and after the stop.
  func realtimeLocalMute() -> Bool
  func realtimeLocalUnmute() -> Bool
  func addRealtimeObserver(observer: any RealtimeObserver)
  func removeRealtimeObserver(observer: any RealtimeObserver)
  func addRealtimeDataMessageObserver(topic: String, observer: any DataMessageObserver)
  /// Removes all observers of the topic.
  func removeRealtimeDataMessageObserverFromTopic(topic: String)
  /// - Parameters:
  ///   - data: text, bytes, or an array or dictionary that can be JSON; at most 2048 bytes.
  ///   - lifetimeMs: how long late joiners still receive the message, in milliseconds, at most five minutes.
  /// - Throws: `SendDataMessageError`. Before the start nothing is thrown, and nothing sent.
  func realtimeSendDataMessage(topic: String, data: Any, lifetimeMs: Int32) throws
  /// Adds an observer of live transcription. The vendor declares this method and the next as optional.
  func addRealtimeTranscriptEventObserver(observer: any TranscriptEventObserver)
  func removeRealtimeTranscriptEventObserver(observer: any TranscriptEventObserver)
  func realtimeSetVoiceFocusEnabled(enabled: Bool) -> Bool
  func realtimeIsVoiceFocusEnabled() -> Bool
}

extension RealtimeControllerFacade {
  public func realtimeSendDataMessage(topic: String, data: Any) throws {
    try realtimeSendDataMessage(topic: topic, data: data, lifetimeMs: 0)
  }
}

/// Lists and chooses audio devices, and switches the camera.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/DeviceController.html)
public protocol DeviceController: AnyObject {
  func listAudioDevices() -> [MediaDevice]
  func chooseAudioDevice(mediaDevice: MediaDevice)
  func addDeviceChangeObserver(observer: any DeviceChangeObserver)
  func removeDeviceChangeObserver(observer: any DeviceChangeObserver)
  func switchCamera()
  func getActiveCamera() -> MediaDevice?
  func getActiveAudioDevice() -> MediaDevice?
}

/// Binds video tiles to views, and pauses and resumes remote video.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoTileControllerFacade.html)
public protocol VideoTileControllerFacade: AnyObject {
  /// Shows a tile on a view: one tile to a view, one view to a tile.
  func bindVideoView(videoView: any VideoRenderView, tileId: Int)
  func unbindVideoView(tileId: Int)
  func addVideoTileObserver(observer: any VideoTileObserver)
  func removeVideoTileObserver(observer: any VideoTileObserver)
  /// The room stops forwarding this picture to us.
  func pauseRemoteVideoTile(tileId: Int)
  func resumeRemoteVideoTile(tileId: Int)
}

/// Makes tiles of the videos that arrive.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoTileController.html)
public protocol VideoTileController: VideoTileControllerFacade {
  func onReceiveFrame(frame: VideoFrame?, videoId: Int, attendeeId: String?, pauseState: VideoPauseState)
}

/// Registers observers of the active speakers.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/ActiveSpeakerDetectorFacade.html)
public protocol ActiveSpeakerDetectorFacade: AnyObject {
  func addActiveSpeakerObserver(policy: any ActiveSpeakerPolicy, observer: any ActiveSpeakerObserver)
  func removeActiveSpeakerObserver(observer: any ActiveSpeakerObserver)
  /// Has no effect, as in the vendor's SDK.
  func hasBandwidthPriorityCallback(hasBandwidthPriority: Bool)
}

/// Starts and stops a content share, and registers its observers.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/ContentShareController.html)
public protocol ContentShareController: AnyObject {
  func startContentShare(source: ContentShareSource)
  func startContentShare(source: ContentShareSource, config: LocalVideoConfiguration)
  func stopContentShare()
  func addContentShareObserver(observer: any ContentShareObserver)
  func removeContentShareObserver(observer: any ContentShareObserver)
}
