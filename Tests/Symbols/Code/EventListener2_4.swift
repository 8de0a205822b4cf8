import Foundation
import KoineAVFoundation
import KoineUIKit
import Testing
import VideoSDKRTC
import WebRTC

// What came between 2.0.14 and 2.4, with its exact signature.

struct ListenerVersion2_4 {
  @Test func videoSDK() {
    let _: (String, String, String, Bool, Bool, CustomRTCMediaStream?, Bool?, Mode?) -> Meeting = VideoSDK.initMeeting(
      meetingId:participantId:participantName:micEnabled:webcamEnabled:customCameraVideoStream:multiStream:mode:)
  }

  @Test func valueTypesEnumsConfigs() {
    #expect([MeetingState.RECONNECTING, .DISCONNECTED].map(\.rawValue) == ["RECONNECTING", "DISCONNECTED"])
    #expect(
      [Mode.SEND_AND_RECV, .SIGNALLING_ONLY, .RECV_ONLY].map(\.rawValue) == [
        "SEND_AND_RECV", "SIGNALLING_ONLY", "RECV_ONLY",
      ])
  }

  @Test func additions() {
    let _: (Meeting) -> (String) -> Void = Meeting.changeMic(selectedDevice:)
    let _: (Meeting) -> () -> [(deviceName: String, deviceType: String)] = Meeting.getMics
    let _: LeaveReason.Type = LeaveReason.self
    #expect(
      [
        LeaveReason.websocketDisconnected, .removePeer, .removePeerViewerModeChanged, .removePeerMediaRelayStop,
        .switchRoom, .roomClose, .unknown, .removeAll, .meetingEndApi, .removePeerApi, .duplicateParticipant,
      ].map(\.rawValue) == Array(1001...1011))
    #expect(
      [LeaveReason.manualLeaveCalled, .websocketConnectionAttemptsExhausted, .joinRoomFailed, .switchRoomFailed].map(
        \.rawValue) == Array(1101...1104))
  }

  /// Never run: it has only to compile.
  private func additionsProtocols(_ meetingEventListener: any MeetingEventListener) {
    let _: (String) -> Void = meetingEventListener.onMicChanged(selectedDevice:)
    let _: (LeaveReason) -> Void = meetingEventListener.onMeetingLeft(reason:)
    let _: (Participant, LeaveReason) -> Void = meetingEventListener.onParticipantLeft(_:reason:)
    let _: (String, String, Int) -> Void = meetingEventListener.onQualityLimitation(type:state:timestamp:)
  }
}
