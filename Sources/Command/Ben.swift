import Foundation
import Koine
import KoineBackends
import KoineUIKit
import VideoSDKRTC
import WebRTC

/// Ben's app, in the event-listener style.
@MainActor
final class Ben {
  let meeting: Meeting
  /// Shows the other one.
  let screen = RTCMTLVideoView(frame: .zero)
  /// Shows Ben himself.
  let mirror = RTCMTLVideoView(frame: .zero)
  private(set) var others: [String] = []
  private var left: CheckedContinuation<Void, Never>?
  private var isOver = false

  init(world: World) {
    meeting = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "demo", participantName: "Ben", micEnabled: true, webcamEnabled: true)
    }
    meeting.addEventListener(self)
    meeting.join(cameraPosition: .front)
  }

  func leave() async {
    meeting.leave()
    if !isOver { await withCheckedContinuation { left = $0 } }
  }
}

extension Ben: @preconcurrency MeetingEventListener {
  func onMeetingJoined() { meeting.localParticipant.addEventListener(self) }

  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    others.append(participant.displayName)
    participant.addEventListener(self)
  }

  func onMeetingStateChanged(meetingState: MeetingState) {
    guard meetingState == .CLOSED else { return }
    isOver = true
    left?.resume()
    left = nil
  }
}

extension Ben: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    guard stream.kind == .state(value: .video), let track = stream.track as? RTCVideoTrack else { return }
    track.add(participant.isLocal ? mirror : screen)
  }
}
