// The SDK's callbacks as reports about one attendee (`koine port --to meeting-session`): the same file for every app.
import AmazonChimeSDK

extension MeetingCall: AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) {
    report(.phaseChanged(reconnecting ? .reconnecting : .connecting))
  }
  func audioSessionDidStart(reconnecting: Bool) {
    if wanted.contains(.microphone), !hasEntered { set(.microphone, of: localParticipant.id, isSent: true) }
    report(.phaseChanged(.connected))
    if hasEntered { return }
    hasEntered = true
    report(.joined)
  }
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { end(sessionStatus.statusCode) }
  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) { update(sources, areSent: true) }
  func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) { update(sources, areSent: false) }
  func audioSessionDidDrop() {}
  func audioSessionDidCancelReconnect() {}
  func connectionDidRecover() {}
  func connectionDidBecomePoor() {}
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
}

extension MeetingCall: RealtimeObserver, ActiveSpeakerObserver {
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
    for one in attendeeInfo where !DefaultModality(id: one.attendeeId).isOfType(type: .content) {
      let id = one.attendeeId
      if id == localParticipant.id || participants[id] != nil { continue }
      let person = MeetingPerson(id: id, name: one.externalUserId, isLocal: false)
      (participants[id], _) = (person, report(.personJoined(person)))
      set(.microphone, of: id, isSent: true)  // an attendee without a mute callback is not muted
      if sources[id] != nil { set(.camera, of: id, isSent: true) }
      if sources[id + "#content"] != nil { set(.screen, of: id, isSent: true) }
    }
  }
  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
    for person in attendeeInfo.compactMap({ participants[$0.attendeeId] }) {
      for stream in Array(person.streams.values) { set(stream.kind, of: person.id, isSent: false) }
      (participants[person.id], _, _) = (nil, known.remove(person.id), report(.personLeft(person)))
    }
  }
  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { attendeesDidLeave(attendeeInfo: attendeeInfo) }
  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {
    for one in attendeeInfo { set(.microphone, of: one.attendeeId, isSent: false) }
  }
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {
    for one in attendeeInfo { set(.microphone, of: one.attendeeId, isSent: true) }
  }
  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) { report(.speakerChanged(attendeeInfo.first?.attendeeId)) }
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    let levels = volumeUpdates.map { ($0.attendeeInfo.attendeeId, MeetingStream.level(of: $0.volumeLevel)) }
    for update in volumeUpdates where update.attendeeInfo.attendeeId == localParticipant.id {
      set(.microphone, of: localParticipant.id, isSent: update.volumeLevel != .muted)
    }
    // Whether an attendee is muted is known with its first volume.
    for person in levels.compactMap({ participants[$0.0] }) where known.insert(person.id).inserted {
      report(.streamsKnown(person))
    }
    report(.levelsChanged(Dictionary(levels, uniquingKeysWith: { $1 })))
  }
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
}

extension MeetingCall: VideoTileObserver, ContentShareObserver, CaptureSourceObserver, DataMessageObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    tiles[tileState.attendeeId] = tileState.tileId
    if let view = views[tileState.attendeeId] { media.bindVideoView(videoView: view, tileId: tileState.tileId) }
    if tileState.isLocalTile { set(.camera, of: localParticipant.id, isSent: true) }
  }
  func videoTileDidRemove(tileState: VideoTileState) {
    tiles[tileState.attendeeId] = nil
    if tileState.isLocalTile { set(.camera, of: localParticipant.id, isSent: false) }
  }
  func videoTileDidPause(tileState: VideoTileState) {}
  func videoTileDidResume(tileState: VideoTileState) {}
  func videoTileSizeDidChange(tileState: VideoTileState) {}
  func captureDidStart() {
    if let screen { startShare(screen) }
  }
  func startShare(_ frames: any VideoSource) {
    let content = ContentShareSource()
    content.videoSource = frames
    isShareStarting = true
    media.startContentShare(source: content)
  }
  func captureDidStop() { setStream(kind: .screen, isOn: false) }
  func captureDidFail(error: CaptureSourceError) {
    report(.failed(.screen))
    setStream(kind: .screen, isOn: false)
  }
  /// A share cannot be stopped before it has begun: a stop that came too early is made up for here.
  func contentShareDidStart() {
    isShareStarting = false
    if screen == nil { media.stopContentShare() } else { set(.screen, of: localParticipant.id, isSent: true) }
  }
  func contentShareDidStop(status: ContentShareStatus) {
    isShareStarting = false
    if status.statusCode != .ok { report(.failed(.screen)) }
    setStream(kind: .screen, isOn: false)
    set(.screen, of: localParticipant.id, isSent: false)
    if isOver { media.removeContentShareObserver(observer: self) }
  }
  func dataMessageDidReceived(dataMessage: DataMessage) {
    if dataMessage.throttled { return report(.failed(.message)) }
    guard let text = dataMessage.text(), dataMessage.senderAttendeeId != localParticipant.id else { return }
    let (sender, time) = (dataMessage.senderAttendeeId, dataMessage.timestampMs)
    let id = "\(sender) \(time) \(text)"  // after a reconnect the service sends kept messages again
    guard !messages.contains(where: { $0.id == id }) else { return }
    let name = dataMessage.senderExternalUserId
    receive(MeetingMessage(id: id, topic: dataMessage.topic, senderID: sender, senderName: name, text: text))
  }
}
