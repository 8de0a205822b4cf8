import Foundation
import KoineAVFoundation
import KoineUIKit
import Testing
import VideoSDKRTC
import WebRTC

// Every [seed] and [core] symbol of version 2.0.14 with its exact signature.

struct ListenerVersion2_0_14 {
  @Test func videoSDK() {
    let _: VideoSDK.Type = VideoSDK.self
    let _: (String, String, String, Bool, Bool, CustomRTCMediaStream?, Mode?) -> Meeting = VideoSDK.initMeeting(
      meetingId:participantId:participantName:micEnabled:webcamEnabled:customCameraVideoStream:mode:)
    let _: (String) -> Void = VideoSDK.config(token:)
    let _: (CustomVideoTrackConfig?, AVCaptureDevice.Position?, Bool?) throws -> CustomRTCMediaStream? = VideoSDK
      .createCameraVideoTrack(encoderConfig:facingMode:multiStream:)
    let _: CustomRTCMediaStream.Type = CustomRTCMediaStream.self
    let _: [CustomVideoTrackConfig] = [
      CustomVideoTrackConfig.h90p_w160p, .h180p_w320p, .h216p_w384p, .h360p_w640p, .h540p_w960p, .h720p_w1280p,
      .h1080p_w1920p, .h1440p_w2560p, .h2160p_w3840p, .h120p_w160p, .h180p_w240p, .h240p_w320p, .h360p_w480p,
      .h480p_w640p, .h540p_w720p, .h720p_w960p, .h1080p_w1440p, .h1440p_w1920p,
    ]
  }

  @Test func meeting() {
    let _: Meeting.Type = Meeting.self
    let _: any Equatable.Type = Meeting.self
    let _: KeyPath<Meeting, Participant> = \Meeting.localParticipant
    let _: (Meeting) -> (AVCaptureDevice.Position) -> Void = Meeting.join(cameraPosition:)
    let _: (Meeting) -> (any MeetingEventListener) -> Void = Meeting.addEventListener(_:)
    let _: KeyPath<Meeting, String> = \Meeting.id
    let _: KeyPath<Meeting, [String: Participant]> = \Meeting.participants
    let _: (Meeting) -> () -> Void = Meeting.join
    let _: (Meeting) -> () -> Void = Meeting.leave
    let _: (Meeting) -> () -> Void = Meeting.end
    let _: KeyPath<Meeting, PubSub> = \Meeting.pubsub
    let _: (Meeting) -> (CustomRTCMediaStream?) -> Void = Meeting.enableWebcam(customVideoStream:)
    let _: (Meeting) -> () -> Void = Meeting.disableWebcam
    let _: (Meeting) -> () -> Void = Meeting.muteMic
    let _: (Meeting) -> () -> Void = Meeting.unmuteMic
    let _: (Meeting) -> () -> Void = Meeting.switchWebcam
    let _: (Meeting) -> (String, String?, RecordingConfig?) -> Void = Meeting.startRecording(
      webhookUrl:awsDirPath:config:)
    let _: (Meeting) -> () -> Void = Meeting.stopRecording
    let _: (Meeting) -> ([LivestreamOutput]) -> Void = Meeting.startLivestream(outputs:)
    let _: (Meeting) -> () -> Void = Meeting.stopLivestream
    let _: (Meeting) -> (any MeetingEventListener) -> Void = Meeting.removeEventListener(_:)
  }

  /// Never run: it has only to compile.
  private func meetingEventListenerProtocols(_ meetingEventListener: any MeetingEventListener) {
    let _: AnyObject = meetingEventListener
    let _: () -> Void = meetingEventListener.onMeetingJoined
    let _: (Participant) -> Void = meetingEventListener.onParticipantJoined(_:)
    let _: () -> Void = meetingEventListener.onMeetingLeft
    let _: (Participant) -> Void = meetingEventListener.onParticipantLeft(_:)
    let _: (MeetingState) -> Void = meetingEventListener.onMeetingStateChanged(meetingState:)
    let _: (String?) -> Void = meetingEventListener.onSpeakerChanged(participantId:)
    let _: (String?, @escaping () -> Void, @escaping () -> Void) -> Void = meetingEventListener.onMicRequested(
      participantId:accept:reject:)
    let _: (String?, @escaping () -> Void, @escaping () -> Void) -> Void = meetingEventListener.onWebcamRequested(
      participantId:accept:reject:)
    let _: () -> Void = meetingEventListener.onRecordingStarted
    let _: () -> Void = meetingEventListener.onRecordingStoppped
    let _: () -> Void = meetingEventListener.onLivestreamStarted
    let _: () -> Void = meetingEventListener.onLivestreamStopped
    let _: (VideoSDKError) -> Void = meetingEventListener.onError(error:)
  }

  @Test func participant() {
    let _: Participant.Type = Participant.self
    let _: any Equatable.Type = Participant.self
    let _: KeyPath<Participant, String> = \Participant.displayName
    let _: KeyPath<Participant, Bool> = \Participant.isLocal
    let _: KeyPath<Participant, [String: MediaStream]> = \Participant.streams
    let _: (Participant) -> (any ParticipantEventListener) -> Void = Participant.addEventListener(_:)
    let _: KeyPath<Participant, String> = \Participant.id
    let _: KeyPath<Participant, VideoQuality> = \Participant.videoQuality
    let _: (Participant) -> (VideoQuality) -> Void = Participant.setQuality(_:)
    let _: (Participant) -> (any ParticipantEventListener) -> Void = Participant.removeEventListener(_:)
    let _: (Participant) -> () -> Void = Participant.enableMic
    let _: (Participant) -> () -> Void = Participant.enableWebcam
    let _: (Participant) -> () -> Void = Participant.disableMic
    let _: (Participant) -> () -> Void = Participant.disableWebcam
    let _: (Participant) -> () -> Void = Participant.remove
  }

  /// Never run: it has only to compile.
  private func participantEventListenerProtocols(_ participantEventListener: any ParticipantEventListener) {
    let _: (MediaStream, Participant) -> Void = participantEventListener.onStreamEnabled(_:forParticipant:)
    let _: (MediaStream, Participant) -> Void = participantEventListener.onStreamDisabled(_:forParticipant:)
  }

  @Test func mediaStreamAndItsKinds() {
    let _: MediaStream.Type = MediaStream.self
    let _: any Equatable.Type = MediaStream.self
    let _: KeyPath<MediaStream, MediaType> = \MediaStream.kind
    let _: KeyPath<MediaStream, RTCMediaStreamTrack> = \MediaStream.track
    let _: KeyPath<MediaStream, String> = \MediaStream.id
    let _: [MediaType] = [MediaType.share]
    let _: (MediaKind) -> MediaType = MediaType.state(value:)
    #expect([MediaKind.audio, .video].map(\.rawValue) == ["audio", "video"])
  }

  @Test func pubSub() {
    let _: PubSub.Type = PubSub.self
    let _: (PubSub) -> (String, String, [String: Any]) -> Void = PubSub.publish(topic:message:options:)
    let _: (PubSub) -> (String, any PubSubMessageListener) -> Void = PubSub.subscribe(topic:forListener:)
    let _: (PubSub) -> (String, any PubSubMessageListener) -> Void = PubSub.unsubscribe(topic:forListener:)
    let _: (PubSub) -> (String) -> [PubSubMessage] = PubSub.getMessagesForTopic(_:)
    let _: NSObject.Type = PubSubMessage.self
    let _: ReferenceWritableKeyPath<PubSubMessage, String> = \PubSubMessage.id
    let _: ReferenceWritableKeyPath<PubSubMessage, String> = \PubSubMessage.topic
    let _: ReferenceWritableKeyPath<PubSubMessage, String> = \PubSubMessage.message
    let _: ReferenceWritableKeyPath<PubSubMessage, String> = \PubSubMessage.senderId
    let _: ReferenceWritableKeyPath<PubSubMessage, String> = \PubSubMessage.senderName
    let _: ReferenceWritableKeyPath<PubSubMessage, String> = \PubSubMessage.timestamp
  }

  /// Never run: it has only to compile.
  private func pubSubProtocols(_ pubSubMessageListener: any PubSubMessageListener) {
    let _: (PubSubMessage) -> Void = pubSubMessageListener.onMessageReceived(_:)
  }

  @Test func valueTypesEnumsConfigs() {
    #expect(
      [MeetingState.CONNECTING, .CONNECTED, .CLOSING, .CLOSED, .CANCELLED].map(\.rawValue) == [
        "CONNECTING", "CONNECTED", "CLOSING", "CLOSED", "CANCELLED",
      ])
    #expect([Mode.CONFERENCE, .VIEWER].map(\.rawValue) == ["CONFERENCE", "VIEWER"])
    #expect([VideoQuality.high, .medium, .low].map(\.rawValue) == ["high", "medium", "low"])
    let _: LivestreamOutput.Type = LivestreamOutput.self
    let _: (String, String) -> LivestreamOutput = LivestreamOutput.init(url:streamKey:)
    let _: KeyPath<LivestreamOutput, String> = \LivestreamOutput.url
    let _: KeyPath<LivestreamOutput, String> = \LivestreamOutput.streamKey
    #expect(
      [
        VideoSDKError.UNKNOWN_ERROR, .INVALID_API_KEY, .INVALID_TOKEN, .INVALID_MEETING_ID, .INVALID_PARTICIPANT_ID,
        .DUPLICATE_PARTICIPANT, .ACCOUNT_DEACTIVATED, .ACCOUNT_DISCONTINUED, .INVALID_PERMISSIONS,
        .MAX_PARTCIPANT_REACHED, .MAX_SPEAKER_REACHED, .START_RECORDING_FAILED, .STOP_RECORDING_FAILED,
        .START_LIVESTREAM_FAILED, .STOP_LIVESTREAM_FAILED, .INVALID_LIVESTREAM_CONFIG, .START_HLS_FAILED,
        .STOP_HLS_FAILED, .RECORDING_FAILED, .LIVESTREAM_FAILED, .HLS_FAILED, .ERROR_GET_VIDEO_MEDIA,
        .ERROR_GET_AUDIO_MEDIA, .ERROR_GET_DISPLAY_MEDIA, .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED,
        .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED, .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED,
      ].map(\.rawValue) == [
        4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007, 4008, 4009, 4010, 4011, 4012, 4013, 4014, 4015, 4016, 4017,
        5001, 5002, 5003, 3011, 3012, 3013, 3014, 3015, 3016,
      ])
  }

  @Test func webRTCAndAppleSurface() {
    let _: NSObject.Type = RTCMediaStreamTrack.self
    let _: KeyPath<RTCMediaStreamTrack, String> = \RTCMediaStreamTrack.kind
    let _: KeyPath<RTCMediaStreamTrack, String> = \RTCMediaStreamTrack.trackId
    let _: ReferenceWritableKeyPath<RTCMediaStreamTrack, Bool> = \RTCMediaStreamTrack.isEnabled
    let _: KeyPath<RTCMediaStreamTrack, RTCMediaStreamTrackState> = \RTCMediaStreamTrack.readyState
    let _: RTCMediaStreamTrackState.Type = RTCMediaStreamTrackState.self
    #expect(RTCMediaStreamTrackState.live != .ended)
    let _: RTCMediaStreamTrack.Type = RTCVideoTrack.self
    let _: (RTCVideoTrack) -> (any RTCVideoRenderer) -> Void = RTCVideoTrack.add(_:)
    let _: (RTCVideoTrack) -> (any RTCVideoRenderer) -> Void = RTCVideoTrack.remove(_:)
    let _: KeyPath<RTCVideoTrack, RTCVideoSource> = \RTCVideoTrack.source
    let _: RTCMediaStreamTrack.Type = RTCAudioTrack.self
    let _: KeyPath<RTCAudioTrack, RTCAudioSource> = \RTCAudioTrack.source
  }

  @Test @MainActor func webRTCAndAppleSurfaceOnTheMainActor() {
    let _: UIView.Type = RTCMTLVideoView.self
    let _: any RTCVideoRenderer.Type = RTCMTLVideoView.self
    let _: ReferenceWritableKeyPath<RTCMTLVideoView, UIView.ContentMode> = \RTCMTLVideoView.videoContentMode
    let _: ReferenceWritableKeyPath<RTCMTLVideoView, Bool> = \RTCMTLVideoView.isEnabled
    let _: ReferenceWritableKeyPath<RTCMTLVideoView, NSValue?> = \RTCMTLVideoView.rotationOverride
    let _: ReferenceWritableKeyPath<RTCMTLVideoView, (any RTCVideoViewDelegate)?> = \RTCMTLVideoView.delegate
    let _: () -> RTCMTLVideoView = RTCMTLVideoView.init
    let _: (CGRect) -> RTCMTLVideoView = RTCMTLVideoView.init(frame:)
  }

  /// Never run: it has only to compile.
  private func webRTCAndAppleSurfaceProtocols(_ videoRenderer: any RTCVideoRenderer) {
    let _: any NSObjectProtocol = videoRenderer
    let _: (CGSize) -> Void = videoRenderer.setSize(_:)
    let _: (RTCVideoFrame?) -> Void = videoRenderer.renderFrame(_:)
  }
}
