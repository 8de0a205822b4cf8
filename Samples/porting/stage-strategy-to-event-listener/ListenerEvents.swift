// What the SDK's listeners are told, as reports (`koine port --to event-listener`): the same file for every app.
import VideoSDKRTC
import WebRTC

/// What a meeting reports.
enum ListenerReport: @unchecked Sendable {  // made and used on the main queue only
  typealias Participant = VideoSDKRTC.Participant
  case phaseChanged(MeetingState), joined, left(LeaveReason), connectionLost, failed(VideoSDKError)
  case personJoined(Participant), personLeft(Participant), messageReceived(PubSubMessage)
  case streamAdded(MediaStream, Participant), streamRemoved(MediaStream, Participant)
  case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
  /// Whether the network is too slow for the video.
  case pathChanged(isPoor: Bool)
  /// From now on it is known what a participant sends.
  case streamsKnown(Participant)
}
/// What a stream shows or plays, in one word.
enum ListenerKind: Sendable, CaseIterable {
  case microphone, camera, screen
  init(_ type: MediaType) { self = type == .share ? .screen : type == .state(value: .video) ? .camera : .microphone }
  var isVideo: Bool { self != .microphone }
  var isAudio: Bool { self == .microphone }
}

extension MediaStream {
  var streamKind: ListenerKind { ListenerKind(kind) }
}

extension VideoSDKError {
  /// The stream that it is about.
  var kind: ListenerKind? {
    switch self {
    case .ERROR_GET_AUDIO_MEDIA, .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED: .microphone
    case .ERROR_GET_VIDEO_MEDIA, .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED: .camera
    case .ERROR_GET_DISPLAY_MEDIA, .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: .screen
    default: nil
    }
  }
}

extension ListenerCall: MeetingEventListener {
  func onMeetingStateChanged(meetingState: MeetingState) {
    switch meetingState {
    case .CONNECTING, .RECONNECTING: report(.phaseChanged(meetingState))
    case .CONNECTED: if hasEntered { report(.phaseChanged(.CONNECTED)) }  // before that, see `onMeetingJoined`
    case .CLOSED, .CANCELLED, .DISCONNECTED, .FAILED: if !hasEntered { end(nil) }
    default: break
    }
  }
  func onMeetingJoined() {
    hasEntered = true
    for topic in topics { meeting.pubsub.subscribe(topic: topic, forListener: self) }
    report(.phaseChanged(.CONNECTED))
    report(.joined)
  }
  func onMeetingLeft(reason: LeaveReason) { end(reason) }
  func onParticipantJoined(_ participant: Participant) {
    participant.addEventListener(self)
    report(.personJoined(participant))
    report(.streamsKnown(participant))
  }
  func onParticipantLeft(_ participant: Participant, reason: LeaveReason) {
    participant.removeEventListener(self)
    departure = reason
    report(.personLeft(participant))
  }
  /// The SDK names the active speaker, and measures nobody: in dBov, as one that is heard and others that are silent.
  func onSpeakerChanged(participantId: String?) {
    let people = [localParticipant.id] + participants.keys
    report(.levelsChanged(Dictionary(uniqueKeysWithValues: people.map { ($0, $0 == participantId ? -20 : -127) })))
    report(.speakerChanged(participantId))
  }
  func onPresenterChanged(activePresenterId: String?) { report(.presenterChanged(activePresenterId)) }
  func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: String) {
    if type == .CONGESTION { report(.pathChanged(isPoor: state == .DETECTED)) }
  }
  /// An error that ends the meeting is reported with the end.
  func onError(error: VideoSDKError) {
    let isFinal = error == .DUPLICATE_PARTICIPANT || !hasEntered && !(3_000..<4_000).contains(error.rawValue)
    if isFinal { failure = error } else { report(.failed(error)) }
  }
  func onSocketError(message: String) {
    isLost = true
    report(.connectionLost)
  }
}

extension ListenerCall: ParticipantEventListener, PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage) { report(.messageReceived(message)) }
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
    begin(stream, of: participant)
  }
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
    report(.streamRemoved(stream, participant))
  }
}
