import VideoSDKRTC
import WebRTC

/// What Docs/porting.md shows in the words of the event listener.
@MainActor
final class EventListenerExample {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  private(set) var people: [String] = []
  private(set) var muted: Set<String> = []
  private(set) var speaker: String?
  private(set) var texts: [String] = []
  private(set) var isRecorded = false
  private var meeting: Meeting!
  private var pictures: [String: RTCMTLVideoView] = [:]

  // example: join
  func enter(_ room: String, as name: String, id: String, with token: String) {
    VideoSDK.config(token: token)
    meeting = VideoSDK.initMeeting(
      meetingId: room, participantId: id, participantName: name, micEnabled: true, webcamEnabled: false)
    meeting.addEventListener(self)
    meeting.join()
  }

  func goAway() {
    meeting.leave()
  }
  // end

  // example: mute
  func setMuted(_ isMuted: Bool) {
    if isMuted { meeting.muteMic() } else { meeting.unmuteMic() }
  }
  // end

  // example: camera
  func setCameraOn(_ isOn: Bool) {
    if isOn { meeting.enableWebcam() } else { meeting.disableWebcam() }
  }
  // end

  // example: quality
  func publishSmall() throws {
    let track = try VideoSDK.createCameraVideoTrack(
      encoderConfig: .h180p_w320p, facingMode: .front, multiStream: false)
    meeting.enableWebcam(customVideoStream: track)
  }

  func wantLess(of person: Participant) {
    person.setQuality(.low)
  }
  // end

  // example: render
  func show(_ track: RTCVideoTrack, of participant: Participant) {
    let picture = RTCMTLVideoView(frame: view.bounds)
    pictures[participant.id] = picture
    view.addSubview(picture)
    track.add(picture)
  }
  // end

  // example: share
  func setSharing(_ isOn: Bool) async {
    if isOn { await meeting.enableScreenShare() } else { await meeting.disableScreenShare() }
  }

  func isShare(_ stream: MediaStream) -> Bool { stream.kind == .share }
  // end

  // example: chat
  func openChat() {  // once joined
    meeting.pubsub.subscribe(topic: "chat", forListener: self)
  }

  func say(_ text: String) {
    meeting.pubsub.publish(topic: "chat", message: text, options: [:])
  }
  // end

  // example: record
  func startRecording(in folder: String) {
    meeting.startRecording(webhookUrl: "", awsDirPath: folder)
  }

  func stopRecording() {
    meeting.stopRecording()
  }
  // end
}

extension EventListenerExample: @preconcurrency MeetingEventListener {
  func onMeetingJoined() { openChat() }

  // example: people
  func onParticipantJoined(_ participant: Participant) {
    people.append(participant.displayName)
    muted.insert(participant.displayName)  // until a stream of sound comes
    participant.addEventListener(self)  // here: its streams are told next
  }

  func onParticipantLeft(_ participant: Participant) {
    people.removeAll { $0 == participant.displayName }
  }
  // end

  // example: speaker
  func onSpeakerChanged(participantId: String?) {
    speaker = participantId.flatMap { meeting.participants[$0] }?.displayName
  }
  // end

  // example: record
  func onRecordingStateChanged(state: RecordingState) {
    isRecorded = state == .RECORDING_STARTED
  }
  // end
}

extension EventListenerExample: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
    soundCame(stream, of: participant)
    pictureCame(stream, of: participant)
  }

  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
    soundWent(stream, of: participant)
    pictureWent(stream, of: participant)
  }

  // example: mute
  func soundCame(_ stream: MediaStream, of participant: Participant) {  // onStreamEnabled
    if stream.kind == .state(value: .audio) { muted.remove(participant.displayName) }
  }

  func soundWent(_ stream: MediaStream, of participant: Participant) {  // onStreamDisabled
    if stream.kind == .state(value: .audio) { muted.insert(participant.displayName) }
  }
  // end

  // example: render
  func pictureCame(_ stream: MediaStream, of participant: Participant) {  // onStreamEnabled
    guard stream.kind == .state(value: .video), let track = stream.track as? RTCVideoTrack else { return }
    show(track, of: participant)
  }

  func pictureWent(_ stream: MediaStream, of participant: Participant) {  // onStreamDisabled
    guard stream.kind == .state(value: .video) else { return }
    pictures.removeValue(forKey: participant.id)?.removeFromSuperview()
  }
  // end
}

extension EventListenerExample: @preconcurrency PubSubMessageListener {
  // example: chat
  func onMessageReceived(_ message: PubSubMessage) {
    guard message.senderId != meeting.localParticipant.id else { return }  // one hears oneself
    texts.append(message.message)
  }
  // end
}
