import Koine
import KoineUIKit
import VideoSDKRTC
import WebRTC

/// Written in the event-listener style.
@MainActor
final class ListenerDriver: Driver {
  let style = Style.listener
  let id: Koine.Participant.ID
  let name: String
  private let meeting: Meeting
  private var sightings = Sightings()
  private let ownView = RTCMTLVideoView()
  private(set) var isConnected = false
  private(set) var isOver = false
  let heard: [String] = []

  init(name: String, room: String, in world: World) {
    self.name = name
    id = name.lowercased()
    let id = id
    meeting = World.$current.withValue(world) {
      VideoSDK.initMeeting(
        meetingId: room, participantId: id, participantName: name, micEnabled: true, webcamEnabled: true)
    }
    meeting.addEventListener(self)
  }

  var session: Session? { meeting.session }
  var others: [Seen] { sightings.seen }
  var mirror: VideoView? { ownView }

  func join() { meeting.join(cameraPosition: .front) }
  func leave() { meeting.leave() }
  func setMicrophoneMuted(_ isMuted: Bool) { if isMuted { meeting.muteMic() } else { meeting.unmuteMic() } }
  func setCameraOn(_ isOn: Bool) { if isOn { meeting.enableWebcam() } else { meeting.disableWebcam() } }
  func say(_ text: String) -> Bool { false }
}

extension ListenerDriver: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    isConnected = true
    meeting.localParticipant.addEventListener(self)
  }

  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    sightings.add(participant.id, Sighting(name: participant.displayName, isMicrophoneMuted: true))
    participant.addEventListener(self)
  }

  func onParticipantLeft(_ participant: VideoSDKRTC.Participant) { sightings.remove(participant.id) }

  func onSpeakerChanged(participantId: String?) {
    if let participantId { sightings.change(participantId) { $0.hasSpoken = true } }
  }

  func onMeetingStateChanged(meetingState: MeetingState) {
    guard meetingState == .CLOSED else { return }
    isConnected = false
    isOver = true
  }
}

extension ListenerDriver: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    switch stream.kind {
    case .state(value: .video):
      guard let track = stream.track as? RTCVideoTrack else { return }
      if participant.isLocal { return track.add(ownView) }
      let view = (sightings[participant.id]?.view as? RTCMTLVideoView) ?? RTCMTLVideoView()
      track.add(view)
      sightings.change(participant.id) {
        $0.view = view
        $0.hasPicture = true
      }
    case .state(value: .audio): sightings.change(participant.id) { $0.isMicrophoneMuted = false }
    default: break
    }
  }

  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    switch stream.kind {
    case .state(value: .video): sightings.change(participant.id) { $0.hasPicture = false }
    case .state(value: .audio): sightings.change(participant.id) { $0.isMicrophoneMuted = true }
    default: break
    }
  }
}
