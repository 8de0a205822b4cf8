import Koine
import KoineAVFoundation

// The controllers that the facade consists of.

extension DefaultAudioVideoFacade {
  // MARK: Local and remote video

  public func startLocalVideo() throws { try startLocalVideo(config: LocalVideoConfiguration()) }

  public func startLocalVideo(config: LocalVideoConfiguration) throws {
    guard configuration.meetingFeatures.videoMaxResolution != .videoDisabled else {
      return logger.error(msg: "this meeting has no cameras")
    }
    guard environment.machine.permission(.camera) == .granted else {
      events.publishEvent(
        name: .videoInputFailed,
        attributes: [EventAttributeName.videoInputError: PermissionError.videoPermissionError])
      throw PermissionError.videoPermissionError
    }
    localVideo.startCamera(config, in: session)
  }

  public func startLocalVideo(source: any VideoSource) {
    startLocalVideo(source: source, config: LocalVideoConfiguration())
  }

  public func startLocalVideo(source: any VideoSource, config: LocalVideoConfiguration) {
    guard configuration.meetingFeatures.videoMaxResolution != .videoDisabled else {
      return logger.error(msg: "this meeting has no cameras")
    }
    localVideo.start(source, config, in: session)
  }

  public func stopLocalVideo() { if isRunning("stopLocalVideo") { localVideo.stop() } }
  public func startRemoteVideo() { if isRunning("startRemoteVideo") { videos.setReceiving(true) } }
  public func stopRemoteVideo() { if isRunning("stopRemoteVideo") { videos.setReceiving(false) } }

  public func updateVideoSourceSubscriptions(
    addedOrUpdated: [RemoteVideoSource: VideoSubscriptionConfiguration], removed: [RemoteVideoSource]
  ) {
    if isRunning("updateVideoSourceSubscriptions") { videos.subscribe(addedOrUpdated, removed: removed) }
  }

  private func isRunning(_ call: String) -> Bool {
    if session != nil { return true }
    logger.fault(msg: "\(call) needs a started meeting")
    return false
  }

  // MARK: Realtime

  public func realtimeLocalMute() -> Bool { session != nil && devices.setMuted(true) }
  public func realtimeLocalUnmute() -> Bool { session != nil && devices.setMuted(false) }
  public func addRealtimeObserver(observer: any RealtimeObserver) { roster.observers.add(observer) }
  public func removeRealtimeObserver(observer: any RealtimeObserver) { roster.observers.remove(observer) }

  public func addRealtimeDataMessageObserver(topic: String, observer: any DataMessageObserver) {
    messages.add(observer, topic: topic)
  }

  public func removeRealtimeDataMessageObserverFromTopic(topic: String) { messages.removeObservers(of: topic) }

  public func realtimeSendDataMessage(topic: String, data: Any, lifetimeMs: Int32) throws {
    guard let session else { return logger.error(msg: "a data message needs a started meeting") }
    let message = try messages.message(topic: topic, data: data, lifetimeMs: lifetimeMs)
    guard messages.takeCredit() else {
      let credentials = configuration.credentials
      return messages.receive(
        topic: topic, payload: message.payload,
        from: AttendeeInfo(attendeeId: credentials.attendeeId, externalUserId: credentials.externalUserId), age: .zero,
        throttled: true)
    }
    let isEarly = state.withLock { state in
      guard state.connections == 0 else { return false }
      state.unsent.append(message)  // goes out on connecting; the credit bounds how many these are
      return true
    }
    if !isEarly { transmit(message, in: session) }
  }

  func transmit(_ message: Koine.DataMessage, in session: Session) {
    do { try session.send(message) } catch { logger.error(msg: "a data message was not sent: \(error)") }
  }

  public func realtimeSetVoiceFocusEnabled(enabled: Bool) -> Bool {
    let isSet = session != nil && devices.setVoiceFocus(enabled)
    let attributes: [EventAttributeName: Any] = isSet ? [:] : [.voiceFocusError: VoiceFocusError.audioClientNotStarted]
    let name: EventName =
      switch (enabled, isSet) {
      case (true, true): .voiceFocusEnabled
      case (true, false): .voiceFocusEnableFailed
      case (false, true): .voiceFocusDisabled
      case (false, false): .voiceFocusDisableFailed
      }
    events.publishEvent(name: name, attributes: attributes, notifyObservers: false)
    return isSet
  }

  public func realtimeIsVoiceFocusEnabled() -> Bool { session != nil && devices.hasVoiceFocus }

  // MARK: Devices

  public func listAudioDevices() -> [MediaDevice] { devices.list() }
  public func chooseAudioDevice(mediaDevice: MediaDevice) { devices.choose(mediaDevice) }
  public func addDeviceChangeObserver(observer: any DeviceChangeObserver) { devices.observers.add(observer) }
  public func removeDeviceChangeObserver(observer: any DeviceChangeObserver) { devices.observers.remove(observer) }
  public func getActiveAudioDevice() -> MediaDevice? { devices.active }
  public func switchCamera() { localVideo.switchCamera() }
  public func getActiveCamera() -> MediaDevice? { localVideo.activeCamera }

  // MARK: Tiles

  public func bindVideoView(videoView: any VideoRenderView, tileId: Int) {
    tiles.bindVideoView(videoView: videoView, tileId: tileId)
  }
  public func unbindVideoView(tileId: Int) { tiles.unbindVideoView(tileId: tileId) }
  public func addVideoTileObserver(observer: any VideoTileObserver) { tiles.addVideoTileObserver(observer: observer) }
  public func removeVideoTileObserver(observer: any VideoTileObserver) {
    tiles.removeVideoTileObserver(observer: observer)
  }

  public func pauseRemoteVideoTile(tileId: Int) { tiles.pauseRemoteVideoTile(tileId: tileId) }
  public func resumeRemoteVideoTile(tileId: Int) { tiles.resumeRemoteVideoTile(tileId: tileId) }

  // MARK: Active speaker

  public func addActiveSpeakerObserver(policy: any ActiveSpeakerPolicy, observer: any ActiveSpeakerObserver) {
    speakers.add(policy, observer)
  }

  public func removeActiveSpeakerObserver(observer: any ActiveSpeakerObserver) { speakers.remove(observer) }

  public func hasBandwidthPriorityCallback(hasBandwidthPriority: Bool) { NoEffect.bandwidthPriority.log() }

  // MARK: Events

  public func addEventAnalyticsObserver(observer: any EventAnalyticsObserver) {
    events.addEventAnalyticsObserver(observer: observer)
  }

  public func removeEventAnalyticsObserver(observer: any EventAnalyticsObserver) {
    events.removeEventAnalyticsObserver(observer: observer)
  }

  public func getMeetingHistory() -> [MeetingHistoryEvent] { events.getMeetingHistory() }
  public func getCommonEventAttributes() -> [AnyHashable: Any] { events.getCommonEventAttributes() }

  // MARK: Content share

  public func startContentShare(source: ContentShareSource) {
    startContentShare(source: source, config: LocalVideoConfiguration())
  }

  public func startContentShare(source: ContentShareSource, config: LocalVideoConfiguration) {
    contentShare.start(source, config, in: session)
  }

  public func stopContentShare() { contentShare.stop() }
  public func addContentShareObserver(observer: any ContentShareObserver) { contentShare.observers.add(observer) }
  public func removeContentShareObserver(observer: any ContentShareObserver) { contentShare.observers.remove(observer) }
}
