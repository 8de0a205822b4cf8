import Foundation
import KoineUIKit
import VideoSDKRTC

/// The screen of the sample, written as the vendor's tutorial writes it: listen, and show the enabled videos.
///
/// The local video is in the lower right corner. The remote video that was enabled last is large.
@MainActor
final class MeetingViewController: UIViewController {
  var meeting: Meeting?
  /// All participants, the local one included, in the order of joining.
  var participants: [Participant] = []
  let remoteParticipantVideoContainer = RTCMTLVideoView(frame: CGRect(x: 0, y: 0, width: 960, height: 540))
  let localParticipantViewVideoContainer = RTCMTLVideoView(frame: CGRect(x: 704, y: 388, width: 240, height: 135))
  let remoteName = UILabel(frame: CGRect(x: 16, y: 500, width: 640, height: 24))
  let localName = UILabel(frame: CGRect(x: 712, y: 496, width: 224, height: 20))
  var trace: (String) -> Void = { _ in }
  var left: () -> Void = {}
  /// Where the room is to be recorded, if it is.
  var recordings: String?
  var wantsPlaylist = false
  private var isSharing = false
  private(set) var isMicOn = true
  private(set) var isCameraOn = true
  private(set) var problem: VideoSDKError?

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 960, height: 540)
    view.backgroundColor = .black
    remoteParticipantVideoContainer.videoContentMode = .scaleAspectFit
    localParticipantViewVideoContainer.videoContentMode = .scaleAspectFill
    remoteParticipantVideoContainer.isHidden = true
    localParticipantViewVideoContainer.isHidden = true
    for label in [remoteName, localName] { label.textColor = .white }
    for part in [remoteParticipantVideoContainer, remoteName, localParticipantViewVideoContainer, localName] {
      view.addSubview(part)
    }
  }

  func initializeMeeting(room: String, participant: String, name: String) {
    loadViewIfNeeded()
    meeting = VideoSDK.initMeeting(
      meetingId: room,
      participantId: participant,
      participantName: name,
      micEnabled: true,
      webcamEnabled: true
    )
    meeting?.addEventListener(self)
    meeting?.join(cameraPosition: .front)
  }

  func toggleMic() {
    isMicOn.toggle()
    if isMicOn { meeting?.unmuteMic() } else { meeting?.muteMic() }
  }

  func toggleCamera() {
    isCameraOn.toggle()
    if isCameraOn { meeting?.enableWebcam() } else { meeting?.disableWebcam() }
  }

  func toggleShare() {
    guard let meeting else { return }
    isSharing.toggle()
    let shares = isSharing
    Task { if shares { await meeting.enableScreenShare() } else { await meeting.disableScreenShare() } }
  }

  /// Sends a chat message. The room keeps it, so that later participants get it, too.
  func say(_ text: String) { meeting?.pubsub.publish(topic: "CHAT", message: text, options: ["persist": true]) }

  func raiseHand() { meeting?.pubsub.publish(topic: "RAISE_HAND", message: "Raise Hand by Me") }

  /// Asks all remote participants to turn their microphones on. Each of them accepts or rejects the request.
  func askForMicrophones() { for participant in participants where !participant.isLocal { participant.enableMic() } }
}

extension MeetingViewController: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    trace("onMeetingJoined()")
    guard let localParticipant = meeting?.localParticipant else { return }
    participants.append(localParticipant)
    localParticipant.addEventListener(self)
    for topic in ["CHAT", "RAISE_HAND"] { meeting?.pubsub.subscribe(topic: topic, forListener: self) }
    if let recordings { meeting?.startRecording(webhookUrl: "", awsDirPath: recordings) }
    if wantsPlaylist { meeting?.startHLS() }
  }

  func onRecordingStateChanged(state: RecordingState) { trace("onRecordingStateChanged(state: \(state))") }

  func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?) {
    trace("onHlsStateChanged(state: \(state), hlsUrl: \(hlsUrl?.playbackHlsUrl ?? "nil"))")
  }

  func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    trace("onMicRequested(participantId: \(name(of: participantId)))")
    accept()
  }

  func onMeetingLeft(reason: LeaveReason) { trace("onMeetingLeft(reason: \(reason) \(reason.rawValue))") }

  func onMeetingLeft() {
    trace("onMeetingLeft()")
    for topic in ["CHAT", "RAISE_HAND"] { meeting?.pubsub.unsubscribe(topic: topic, forListener: self) }
    meeting?.localParticipant.removeEventListener(self)
    meeting?.removeEventListener(self)
    left()
  }

  func onParticipantJoined(_ participant: Participant) {
    trace("onParticipantJoined(\(participant.displayName))")
    participants.append(participant)
    participant.addEventListener(self)
  }

  func onParticipantLeft(_ participant: Participant) {
    trace("onParticipantLeft(\(participant.displayName))")
    participants.removeAll { $0 === participant }
  }

  func onSpeakerChanged(participantId: String?) {
    trace("onSpeakerChanged(participantId: \(name(of: participantId)))")
  }

  func onMeetingStateChanged(meetingState: MeetingState) {
    trace("onMeetingStateChanged(meetingState: \(meetingState))")
    if meetingState == .CLOSED { left() }
  }

  func onError(error: VideoSDKError) {
    trace("onError(error: \(error) \(error.rawValue))")
    problem = error
  }

  private func name(of id: String?) -> String {
    participants.first { $0.id == id }?.displayName ?? id ?? "nil"
  }
}

extension MeetingViewController: @preconcurrency PubSubMessageListener {
  func onMessageReceived(_ message: PubSubMessage) {
    trace("onMessageReceived(\(message.topic) from \(message.senderName): \(message.message))")
  }
}

extension MeetingViewController: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
    trace("onStreamEnabled(\(stream.kind), forParticipant: \(participant.displayName))")
    updateView(participant: participant, forStream: stream, enabled: true)
  }

  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
    trace("onStreamDisabled(\(stream.kind), forParticipant: \(participant.displayName))")
    updateView(participant: participant, forStream: stream, enabled: false)
  }

  private func updateView(participant: Participant, forStream stream: MediaStream, enabled: Bool) {
    switch stream.kind {
    case .state(value: .video):
      guard let track = stream.track as? RTCVideoTrack else { return }
      if enabled { showVideoView(participant, track) } else { hideVideoView(participant, track) }
    default:
      break
    }
  }

  private func showVideoView(_ participant: Participant, _ track: RTCVideoTrack) {
    let container = participant.isLocal ? localParticipantViewVideoContainer : remoteParticipantVideoContainer
    let label = participant.isLocal ? localName : remoteName
    UIView.animate(withDuration: 0.5) {
      track.add(container)
      container.isHidden = false
      label.text = participant.displayName
    }
  }

  private func hideVideoView(_ participant: Participant, _ track: RTCVideoTrack) {
    let container = participant.isLocal ? localParticipantViewVideoContainer : remoteParticipantVideoContainer
    UIView.animate(withDuration: 0.5) {
      track.remove(container)
      container.isHidden = true
    }
  }
}
