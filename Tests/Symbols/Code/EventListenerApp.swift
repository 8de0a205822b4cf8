import Foundation
import VideoSDKRTC

// The symbols as an app writes them, with the one import that many have. None of this is run: it has only to compile, in
// every mode.

/// Implements everything, of all generations.
final class ListenerScreen: MeetingEventListener, ParticipantEventListener, PubSubMessageListener {
  private var meeting: Meeting?
  private var participants: [Participant] = []
  private var lines: [String] = []
  private var renderer: RTCVideoRenderer?

  func appear() {
    VideoSDK.config(token: "token")
    meeting = VideoSDK.initMeeting(meetingId: "m", participantName: "Ana", micEnabled: true, webcamEnabled: true)
    meeting?.addEventListener(self)
    meeting?.join(cameraPosition: .front)
  }

  func onMeetingJoined() {
    guard let localParticipant = self.meeting?.localParticipant else { return }
    participants.append(localParticipant)
    localParticipant.addEventListener(self)
    localParticipant.setQuality(.high)
    meeting?.pubsub.subscribe(topic: "CHAT", forListener: self)
    lines = meeting?.pubsub.getMessagesForTopic("CHAT").map { $0.senderName + ": " + $0.message } ?? []
  }
  func onMeetingLeft() {
    meeting?.localParticipant.removeEventListener(self)
    meeting?.removeEventListener(self)
  }
  func onMeetingLeft(reason: LeaveReason) { print(reason.rawValue) }
  func onParticipantJoined(_ participant: Participant) {
    participants.append(participant)
    participant.addEventListener(self)
  }
  func onParticipantLeft(_ participant: Participant) { participants.removeAll { $0.id == participant.id } }
  func onParticipantLeft(_ participant: Participant, reason: LeaveReason) { onParticipantLeft(participant) }
  func onSpeakerChanged(participantId: String?) { print(participantId ?? "nobody") }
  func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    if participantId == nil { reject() } else { accept() }
  }
  func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    accept()
  }
  func onRecordingStarted() {}
  func onRecordingStoppped() {}
  func onRecordingStopped() {}
  func onLivestreamStarted() {}
  func onLivestreamStopped() {}
  func onSocketError(message: String) {}
  func onMeetingStateChanged(meetingState: MeetingState) {
    switch meetingState {
    case .CLOSED, .DISCONNECTED: participants.removeAll()
    default: break
    }
  }
  func onError(error: VideoSDKError) {
    if error == .DUPLICATE_PARTICIPANT { meeting?.leave() }
  }
  func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?) {}
  func onLivestreamStateChanged(state: LiveStreamState) {}
  func onRecordingStateChanged(state: RecordingState) {}
  func onPinStateChanged(participantId: String, pinType: PinType) {}
  func onParticipantModeChanged(participantId: String, mode: Mode) {}
  func onPresenterChanged(activePresenterId: String?) { print(activePresenterId == meeting?.activePresenterId) }
  func onMicChanged(selectedDevice: String) {}
  func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: String) {}
  func onMediaStatusChanged(peerId: String, kind: String, newStatus: Bool) {}

  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
    switch stream.kind {
    case .state(value: .video): if let renderer { (stream.track as? RTCVideoTrack)?.add(renderer) }
    case .state(value: .audio): print((stream.track as? RTCAudioTrack)?.source as Any)
    default: break
    }
    if case .state(let mediaKind) = stream.kind, mediaKind == .video { print(stream.id) }
  }
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
    let track =
      participants.first(where: { $0.isLocal })?.streams.first(where: { $1.kind == .state(value: .video) })?.value
      .track as? RTCVideoTrack
    if let renderer { track?.remove(renderer) }
  }
  func onMessageReceived(_ message: PubSubMessage) {
    lines.append([message.id, message.topic, message.senderId, message.timestamp].joined(separator: " "))
  }
}

/// Misses everything that may be missed.
final class ListenerNewcomer: MeetingEventListener, ParticipantEventListener {}

/// A value may listen to a participant.
struct ListenerValue: ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {}
}

/// The buttons of an app of 2.0.14.
func buttons2_0_14(_ meeting: Meeting, _ other: Participant, _ listener: ListenerScreen) throws {
  let camera: CustomRTCMediaStream? = try VideoSDK.createCameraVideoTrack(
    encoderConfig: .h720p_w1280p, facingMode: .front, multiStream: true)
  meeting.join()
  meeting.enableWebcam()
  meeting.enableWebcam(customVideoStream: camera)
  meeting.disableWebcam()
  meeting.switchWebcam()
  meeting.muteMic()
  meeting.unmuteMic()
  meeting.startRecording(webhookUrl: "https://example.invalid/hook")
  meeting.stopRecording()
  meeting.startLivestream(outputs: [LivestreamOutput(url: "rtmp://example.invalid/live", streamKey: "k")])
  meeting.stopLivestream()
  meeting.pubsub.publish(topic: "CHAT", message: "Hi", options: ["persist": true])
  meeting.pubsub.unsubscribe(topic: "CHAT", forListener: listener)
  other.enableMic()
  other.disableMic()
  other.enableWebcam()
  other.disableWebcam()
  other.remove()
  print(meeting.participants.count, other.displayName, other.videoQuality, meeting.id)
  meeting.end()
}

/// What an app of 2.4 may write besides.
func buttons2_4(_ meeting: Meeting) async throws {
  await meeting.enableScreenShare()
  await meeting.disableScreenShare()
  meeting.changeMic(selectedDevice: meeting.getMics().first?.deviceName ?? "")
  try await meeting.pubsub.publish(topic: "CHAT", message: "Hi", options: ["persist": true], payload: ["a": 1])
  let store = meeting.realtimeStore
  let watcher = StoreWatcher()
  try await store.observe(key: "poll", forListener: watcher)
  try await store.set(key: "poll", value: "open")
  let poll: String? = try await store.get(key: "poll")
  try await store.stopObserving(key: "poll", forListener: watcher)
  print(poll ?? "closed")
  meeting.setVideoProcessor(processor: GrayProcessor())
  meeting.setVideoProcessor(processor: nil)
  meeting.pauseAllStreams()
  meeting.resumeAllStreams("video")
  let microphone = try VideoSDK.createAudioTrack(
    noiseConfig: noiseConfig(
      noiseSupression: true, echoCancellation: true, autoGainControl: true, highPassFilter: true))
  meeting.unmuteMic(customAudioStream: microphone)
  meeting.switchTo(meetingId: "other", token: "")
}

final class StoreWatcher: RealtimeStoreEventListener {
  nonisolated init() {}
  nonisolated func onValueChanged(key: String, value: String?, updatedBy: String) { print(key, value ?? "", updatedBy) }
}

final class GrayProcessor: VideoSDKVideoProcessor {
  nonisolated init() {}
  nonisolated func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? {
    guard let pixels = (frame.buffer as? RTCCVPixelBuffer)?.pixelBuffer else { return frame }
    CVPixelBufferLockBaseAddress(pixels, [])
    CVPixelBufferUnlockBaseAddress(pixels, [])
    return frame
  }
}
