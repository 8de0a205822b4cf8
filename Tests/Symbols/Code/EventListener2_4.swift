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

  @Test func extendedAdditions() throws {
    let _:
      (CustomVideoTrackConfig?, AVCaptureDevice.Position?, Bool?, PreferredCodec?, BitrateMode?, EncodingLayer?)
        throws -> CustomRTCMediaStream? =
        VideoSDK.createCameraVideoTrack(encoderConfig:facingMode:multiStream:codec:bitrateMode:maxLayer:)
    _ = try VideoSDK.createCameraVideoTrack(encoderConfig: .h720p_w1280p, multiStream: true, codec: .H264)
    _ = try VideoSDK.createCameraVideoTrack(bitrateMode: .BANDWIDTH_OPTIMIZED, maxLayer: .MAX_LAYER_2)
    let meeting = VideoSDK.initMeeting(
      meetingId: "tea", customAudioTrack: nil, multiStream: nil, preferredProtocol: .UDP_ONLY, signalingBaseUrl: nil,
      metaData: ["seat": 7])
    let _: MeetingState = meeting.meetingState
    let _: TranscriptionState = meeting.transcriptionState
    let _: PreferredProtocol = meeting.preferredProtocol
    let _: String? = meeting.signalingBaseUrl
    let _: [String: Any]? = meeting.localParticipant.metaData
    let _: KeyPath<MediaStream, Bool> = \MediaStream.isPaused
    let _: (Meeting) -> (LeaveReason) -> Void = Meeting.leave(reason:)
    let _: (Int) -> LeaveReason = LeaveReason.from(code:)
    let _: KeyPath<LeaveReason, String> = \LeaveReason.message
    let _: ReferenceWritableKeyPath<PubSubMessage, [String: Any]> = \PubSubMessage.payload
    let _: (Meeting) -> (String, String?, RecordingConfig?, PostTranscriptionConfig?) -> Void =
      Meeting.startRecording(webhookUrl:awsDirPath:config:transcription:)
    let _: (Meeting) -> (HLSConfig?, PostTranscriptionConfig?) -> Void = Meeting.startHLS(config:transcription:)
  }

  /// Never run: it has only to compile.
  private func additionsProtocols(_ meetingEventListener: any MeetingEventListener) {
    let _: (String) -> Void = meetingEventListener.onMicChanged(selectedDevice:)
    let _: (LeaveReason) -> Void = meetingEventListener.onMeetingLeft(reason:)
    let _: (Participant, LeaveReason) -> Void = meetingEventListener.onParticipantLeft(_:reason:)
    let _: (QualityLimitationType, QualityLimitationState, String) -> Void =
      meetingEventListener.onQualityLimitation(type:state:timestamp:)
    let _: (String) -> Void = meetingEventListener.onPausedAllStreams(kind:)
    let _: (String) -> Void = meetingEventListener.onResumedAllStreams(kind:)
  }
}
