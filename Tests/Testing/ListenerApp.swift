import VideoSDKRTC
import WebRTC

/// A small app of the event-listener style. It shows the video of all participants.
@MainActor
final class ListenerApp {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 180))
  private(set) var log: [String] = []
  private(set) var errors: [VideoSDKError] = []
  private(set) var socketErrors: [String] = []
  private(set) var meetingStates: [MeetingState] = []
  private(set) var leaveReasons: [LeaveReason] = []
  private(set) var microphones: [String] = []
  var onJoined: () -> Void = {}
  private let meeting: Meeting
  private var views: [String: RTCMTLVideoView] = [:]

  init(meetingID: String, participantID: String) {
    meeting = VideoSDK.initMeeting(
      meetingId: meetingID, participantId: participantID, participantName: "Ana", micEnabled: true, webcamEnabled: true)
    meeting.addEventListener(self)
  }

  func join() { meeting.join(cameraPosition: .front) }
  func leave() { meeting.leave() }
}

extension ListenerApp: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    log.append("joined")
    meeting.localParticipant.addEventListener(self)
    onJoined()
  }
  func onMeetingLeft() { log.append("left") }
  func onMeetingLeft(reason: LeaveReason) { leaveReasons.append(reason) }
  func onMeetingStateChanged(meetingState: MeetingState) { meetingStates.append(meetingState) }
  func onError(error: VideoSDKError) { errors.append(error) }
  func onSocketError(message: String) { socketErrors.append(message) }
  func onMicChanged(selectedDevice: String) { microphones.append(selectedDevice) }
  func onParticipantJoined(_ participant: Participant) {
    log.append("+\(participant.displayName)")
    participant.addEventListener(self)
  }
  func onParticipantLeft(_ participant: Participant) { log.append("-\(participant.displayName)") }
}

extension ListenerApp: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
    guard let track = stream.track as? RTCVideoTrack else { return }
    let picture = RTCMTLVideoView()
    picture.frame = CGRect(x: participant.isLocal ? 320 : 0, y: 0, width: 320, height: 180)
    track.add(picture)
    view.addSubview(picture)
    views[participant.id] = picture
  }
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
    guard stream.track is RTCVideoTrack else { return }
    views.removeValue(forKey: participant.id)?.removeFromSuperview()
  }
}
