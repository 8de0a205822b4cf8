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
    let _: (String, String, String, Bool, Bool, CustomRTCMediaStream?, CustomRTCMediaStream?, Bool?, Mode?) -> Meeting =
      VideoSDK.initMeeting(
        meetingId:participantId:participantName:micEnabled:webcamEnabled:customCameraVideoStream:customAudioTrack:
        multiStream:mode:)
    let _: (noiseConfig?) throws -> CustomRTCMediaStream? = VideoSDK.createAudioTrack(noiseConfig:)
    let _: (Bool?, Bool?, Bool?, Bool?) -> noiseConfig = noiseConfig.init(
      noiseSupression:echoCancellation:autoGainControl:highPassFilter:)
    let _: WritableKeyPath<noiseConfig, Bool?> = \noiseConfig.noiseSupression
  }

  @Test func meeting() {
    let _: KeyPath<Meeting, CustomRTCMediaStream?> = \Meeting.customVideoMediaStream
    let _: KeyPath<Meeting, CustomRTCMediaStream?> = \Meeting.customAudioMediaStream
    let _: KeyPath<Meeting, RealtimeStore> = \Meeting.realtimeStore
    let _: (Meeting) -> (String, String) -> Void = Meeting.switchTo(meetingId:token:)
    let _: (Meeting) -> (String, String, Mode) -> Void = Meeting.switchTo(meetingId:token:mode:)
    let _: (Meeting) -> (String?) -> Void = Meeting.pauseAllStreams(_:)
    let _: (Meeting) -> (String?) -> Void = Meeting.resumeAllStreams(_:)
    let _: (Meeting) -> ((any VideoSDKVideoProcessor)?) -> Void = Meeting.setVideoProcessor(processor:)
    let _: (Meeting) -> (CustomRTCMediaStream?) -> Void = Meeting.unmuteMic(customAudioStream:)
    let _: any Error = RealtimeStoreError.operationFailed("")
    #expect([RealtimeStoreError.keyNotFound, .invalidKey, .valueTooLarge].count == 3)
  }

  @Test func frames() {
    let buffer = RTCMutableI420Buffer(width: 4, height: 2)
    let _: UnsafeMutablePointer<UInt8> = buffer.mutableDataY
    let _: UnsafePointer<UInt8> = buffer.toI420().dataY
    let frame = RTCVideoFrame(buffer: buffer, rotation: ._90, timeStampNs: 7)
    let _: any RTCVideoFrameBuffer = frame.newI420().buffer
    #expect(frame.width == 4)
    #expect(frame.rotation == ._90)
    #expect(frame.timeStampNs == 7)
    #expect((frame.buffer as? RTCCVPixelBuffer)?.pixelBuffer == nil)
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
    let _: (String) -> Void = meetingEventListener.onPausedAllStreams(kind:)
    let _: (String) -> Void = meetingEventListener.onResumedAllStreams(kind:)
  }
}
