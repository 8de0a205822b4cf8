import Foundation
import VideoSDKRTC

/// One app of the event-listener style, written over the vendor's API alone. Keep it until its trace has been read.
public final class ListenerField: NSObject, MeetingEventListener, ParticipantEventListener, @unchecked Sendable {
  public let trace: FieldTrace
  private var meeting: Meeting?

  public init(_ who: String, scenario: String = "leave.seen") {
    trace = FieldTrace(scenario: scenario, who: who, style: "event-listener")
  }

  /// - Parameter token: nil where `VideoSDK.config` has been called.
  public func join(token: String?, meetingId: String, name: String) {
    if let token { VideoSDK.config(token: token) }
    let meeting = VideoSDK.initMeeting(
      meetingId: meetingId, participantName: name, micEnabled: true, webcamEnabled: true)
    self.meeting = meeting
    meeting.addEventListener(self)
    trace.call { meeting.join() }
  }

  public func mute() { meeting?.muteMic() }

  /// - Parameter releasing: whether the meeting is released at once.
  public func leave(releasing: Bool) {
    trace.call { meeting?.leave() }
    if releasing { release() }
  }

  /// Releases everything, without leaving unless that has been done.
  public func release() { meeting = nil }

  // MARK: Callbacks

  public func onMeetingJoined() { trace.told("connected") }
  public func onMeetingLeft() { trace.told("ended", "onMeetingLeft") }
  /// In which order the end is told: CLOSING, CLOSED, onMeetingLeft?
  public func onMeetingStateChanged(meetingState: MeetingState) {
    switch meetingState {
    case .CLOSING: trace.told("ended", "CLOSING")
    case .CLOSED: trace.told("ended", "CLOSED")
    case .RECONNECTING: trace.told("reconnecting")
    default: break
    }
  }
  public func onParticipantJoined(_ participant: Participant) {
    participant.addEventListener(self)
    trace.told("joined", of: participant.id, agrees: meeting.map { $0.participants[participant.id] != nil })
  }
  public func onParticipantLeft(_ participant: Participant) {
    trace.told("left", of: participant.id, agrees: meeting.map { $0.participants[participant.id] == nil })
  }
  public func onSpeakerChanged(participantId: String?) {}
  public func onError(error: VideoSDKError) { trace.told("failed", "\(error)") }

  public func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
    note(stream, participant, "unmuted", "pictureOn")
  }
  public func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
    note(stream, participant, "muted", "pictureOff")
  }
  private func note(_ stream: MediaStream, _ participant: Participant, _ sound: String, _ picture: String) {
    switch stream.kind {
    case .state(value: .audio): trace.told(sound, of: participant.id)
    case .state(value: .video): trace.told(picture, of: participant.id)
    default: break
    }
  }
}
