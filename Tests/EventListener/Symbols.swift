import Foundation
import Testing
import VideoSDKRTC

// Every [seed] and [core] symbol with its exact signature, as an app would name it, with the one import that apps have.
// Most of it has only to compile.

struct ListenerSymbols {
  /// Misses everything that may be missed.
  private final class Nothing: MeetingEventListener, ParticipantEventListener {}

  /// Implements everything.
  private final class Everything: MeetingEventListener, ParticipantEventListener, PubSubMessageListener {
    func onMeetingJoined() {}
    func onMeetingLeft() {}
    func onMeetingLeft(reason: LeaveReason) {}
    func onParticipantJoined(_ participant: Participant) {}
    func onParticipantLeft(_ participant: Participant) {}
    func onParticipantLeft(_ participant: Participant, reason: LeaveReason) {}
    func onSpeakerChanged(participantId: String?) {}
    func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {}
    func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {}
    func onRecordingStarted() {}
    func onRecordingStoppped() {}
    func onRecordingStopped() {}
    func onLivestreamStarted() {}
    func onLivestreamStopped() {}
    func onSocketError(message: String) {}
    func onMeetingStateChanged(meetingState: MeetingState) {
      switch meetingState {
      case .CLOSED, .DISCONNECTED: break
      default: break
      }
    }
    func onError(error: VideoSDKError) {}
    func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?) {}
    func onLivestreamStateChanged(state: LiveStreamState) {}
    func onRecordingStateChanged(state: RecordingState) {}
    func onPinStateChanged(participantId: String, pinType: PinType) {}
    func onParticipantModeChanged(participantId: String, mode: Mode) {}
    func onPresenterChanged(activePresenterId: String?) {}
    func onMicChanged(selectedDevice: String) {}
    func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
      switch stream.kind {
      case .state(value: .video): _ = stream.track as? RTCVideoTrack
      case .state(value: .audio): _ = stream.track as? RTCAudioTrack
      default: break
      }
      if case .state(let mediaKind) = stream.kind, mediaKind == .video {}
    }
    func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {}
    func onMessageReceived(_ message: PubSubMessage) {}
  }

  /// Never run: only to be compiled.
  private func calls(_ optional: Meeting?, _ everything: Everything, _ renderer: RTCVideoRenderer) throws {
    VideoSDK.config(token: "")
    let camera: CustomRTCMediaStream? = try VideoSDK.createCameraVideoTrack(
      encoderConfig: .h720p_w1280p, facingMode: .front, multiStream: true)
    let meeting: Meeting = VideoSDK.initMeeting(
      meetingId: "a", participantId: "", participantName: "b", micEnabled: true, webcamEnabled: false,
      customCameraVideoStream: camera, mode: .CONFERENCE)
    optional?.addEventListener(everything)
    optional?.removeEventListener(everything)
    meeting.join(cameraPosition: .front)
    meeting.join()
    meeting.leave()
    meeting.end()
    meeting.enableWebcam()
    meeting.enableWebcam(customVideoStream: camera)
    meeting.disableWebcam()
    meeting.switchWebcam()
    meeting.muteMic()
    meeting.unmuteMic()
    meeting.startRecording(webhookUrl: "")
    meeting.startRecording(
      webhookUrl: "", awsDirPath: nil,
      config: RecordingConfig(
        layout: ConfigLayout(type: .GRID, priority: .SPEAKER, gridSize: 4), theme: .DARK, mode: .video_and_audio,
        quality: .high, orientation: .landscape))
    meeting.stopRecording()
    meeting.startLivestream(outputs: [LivestreamOutput(url: "rtmp://x", streamKey: "k")])
    meeting.stopLivestream()
    meeting.startHLS()
    meeting.stopHLS()
    meeting.changeMode(.VIEWER)
    let _: (String, Participant, [String: Participant], PubSub, Mode?) = (
      meeting.id, meeting.localParticipant, meeting.participants, meeting.pubsub, meeting.meetingMode
    )
    meeting.pubsub.publish(topic: "CHAT", message: "Hi", options: ["persist": true])
    meeting.pubsub.subscribe(topic: "CHAT", forListener: everything)
    meeting.pubsub.unsubscribe(topic: "CHAT", forListener: everything)
    let messages: [PubSubMessage] = meeting.pubsub.getMessagesForTopic("CHAT")
    let _: [[String]] = messages.map { [$0.id, $0.topic, $0.message, $0.senderId, $0.senderName, $0.timestamp] }
    let participant: Participant = meeting.localParticipant
    participant.addEventListener(everything)
    participant.removeEventListener(everything)
    participant.enableMic()
    participant.disableMic()
    participant.enableWebcam()
    participant.disableWebcam()
    participant.remove()
    participant.setQuality(.high)
    participant.pin()
    participant.unpin()
    let _: [String: Any]? = participant.getAudioStats()
    let _: [String: Any]? = participant.getVideoStats()
    let _: (String, String, Bool, VideoQuality) = (
      participant.id, participant.displayName, participant.isLocal, participant.videoQuality
    )
    let track =
      participant.streams.first(where: { $1.kind == .state(value: .video) })?.value.track as? RTCVideoTrack
    track?.add(renderer)
    track?.remove(renderer)
    let stream = participant.streams.values.first
    stream?.pause()
    stream?.resume()
    let _: (String, String?, Bool?) = ("\(String(describing: stream?.kind))", track?.trackId, track?.isEnabled)
    let _: Bool = track?.readyState == .live && track?.kind == "video"
  }

  /// Later versions, never run.
  private func later(_ meeting: Meeting) async {
    await meeting.enableScreenShare()
    await meeting.disableScreenShare()
    meeting.changeMic(selectedDevice: "a")
    let _: [(deviceName: String, deviceType: String)] = meeting.getMics()
    meeting.removeAllEventListeners()
    let _: String? = meeting.activePresenterId
  }

  @MainActor @Test func viewsAndTracks() {
    let view = RTCMTLVideoView()
    view.videoContentMode = .scaleAspectFill
    view.isHidden = true
    view.isEnabled = false
    let _: UIView & RTCVideoRenderer = RTCMTLVideoView(frame: .zero)
    #expect(view.videoContentMode == .scaleAspectFill)
    _ = (Nothing(), Everything())
  }

  @Test func valuesHaveTheVendorsNumbers() {
    let codes: [(VideoSDKError, Int)] = [
      (.UNKNOWN_ERROR, 4000), (.INVALID_TOKEN, 4002), (.DUPLICATE_PARTICIPANT, 4005), (.INVALID_PERMISSIONS, 4008),
      (.MAX_PARTCIPANT_REACHED, 4009), (.START_RECORDING_FAILED, 4011), (.INVALID_LIVESTREAM_CONFIG, 4015),
      (.STOP_HLS_FAILED, 4017), (.RECORDING_FAILED, 5001), (.HLS_FAILED, 5003), (.ERROR_GET_VIDEO_MEDIA, 3011),
      (.ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED, 3016),
    ]
    for (error, code) in codes { #expect(error.rawValue == code) }
    #expect(VideoQuality.allCases.map(\.rawValue) == ["high", "medium", "low"])
    #expect(Mode.CONFERENCE.rawValue == "CONFERENCE" && ConfigMode.video_and_audio.rawValue == "video-and-audio")
    #expect(LeaveReason.manualLeaveCalled.rawValue == 1101 && LeaveReason.roomClose.rawValue == 1006)
    #expect(AVCaptureDevice.Position.front.rawValue == 2 && MeetingState.CONNECTED.rawValue == "CONNECTED")
    let url = HLSUrl(playbackHlsUrl: "a")
    #expect(url.downstreamUrl.isEmpty && url.toJson()["playbackHlsUrl"] as? String == "a")
    let config = HLSConfig(
      layout: HLSLayout(type: .GRID, priority: .PIN, gridSize: 25), theme: .LIGHT, mode: .audio, quality: .med,
      orientation: .portrait)
    #expect((config.toJson()["layout"] as? [String: Any])?["gridSize"] as? Int == 25)
    #expect(LivestreamOutput(url: "u", streamKey: "k").toJSON()["streamKey"] as? String == "k")
    #expect(#"{"roomId":"a"}"#.toJSON()["roomId"] as? String == "a" && Data("[1]".utf8).toJSONArray().count == 1)
    #expect(["b": 1, "a": 2].toJSONString() == #"{"a":2,"b":1}"# && [1, 2].toJSONString() == "[1,2]")
    #expect("no".toJSON().isEmpty && Data("no".utf8).toJSONString() == "no")
  }
}
