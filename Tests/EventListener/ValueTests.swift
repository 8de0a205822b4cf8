import Foundation
import Testing
import VideoSDKRTC

/// Raw values and texts of the vendor's types, and the JSON of configurations.
struct ValueTests {
  @MainActor @Test func videoViewKeepsItsProperties() {
    let view = RTCMTLVideoView()
    view.videoContentMode = .scaleAspectFill
    view.isHidden = true
    view.isEnabled = false
    #expect(view.videoContentMode == .scaleAspectFill)
    #expect(view.isHidden)
    #expect(!view.isEnabled)
  }

  @Test func errorMessageHasCodeNameAndMeaning() {
    let error = VideoSDKError.INVALID_TOKEN
    #expect(error.localizedDescription == "4002 INVALID_TOKEN: the token is empty, malformed or expired")
    #expect(VideoSDKError.HLS_FAILED.message == "5003 HLS_FAILED: the HLS stream has failed")
  }

  @Test func valuesHaveTheVendorsRawValues() {
    let codes: [(VideoSDKError, Int)] = [
      (.UNKNOWN_ERROR, 4000), (.INVALID_TOKEN, 4002), (.DUPLICATE_PARTICIPANT, 4005), (.INVALID_PERMISSIONS, 4008),
      (.MAX_PARTCIPANT_REACHED, 4009), (.START_RECORDING_FAILED, 4011), (.INVALID_LIVESTREAM_CONFIG, 4015),
      (.STOP_HLS_FAILED, 4017), (.RECORDING_FAILED, 5001), (.HLS_FAILED, 5003), (.ERROR_GET_VIDEO_MEDIA, 3011),
      (.ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED, 3016),
    ]
    for (error, code) in codes { #expect(error.rawValue == code) }
    // Nothing here gives these: apps switch over all of them, and keep their numbers.
    let ungiven: [(VideoSDKError, Int)] = [
      (.INVALID_API_KEY, 4001), (.ACCOUNT_DEACTIVATED, 4006), (.ACCOUNT_DISCONTINUED, 4007),
      (.MAX_SPEAKER_REACHED, 4010), (.ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED, 3016),
    ]
    for (error, code) in ungiven { #expect(error.rawValue == code && VideoSDKError(rawValue: code) == error) }
    let states: [MeetingState] = [.CANCELLED, .DISCONNECTED, .FAILED]
    #expect(states.map(\.rawValue) == ["CANCELLED", "DISCONNECTED", "FAILED"])
    #expect(VideoQuality.allCases.map(\.rawValue) == ["high", "medium", "low"])
    #expect(Mode.CONFERENCE.rawValue == "CONFERENCE")
    #expect(ConfigMode.video_and_audio.rawValue == "video-and-audio")
    #expect(LeaveReason.manualLeaveCalled.rawValue == 1101)
    #expect(LeaveReason.roomClose.rawValue == 1006)
    #expect(LeaveReason.from(code: 1006) == .roomClose && LeaveReason.from(code: 7) == .unknown)
    #expect(LeaveReason.manualLeaveCalled.message == "1101 manualLeaveCalled" && LeaveReason.allCases.count == 15)
    #expect(PreferredProtocol.UDP_OVER_TCP.rawValue == "UDP_OVER_TCP" && PreferredCodec.H264.rawValue == "H264")
    #expect(AVCaptureDevice.Position.front.rawValue == 2)
    #expect(MeetingState.CONNECTED.rawValue == "CONNECTED")
    let url = HLSUrl(playbackHlsUrl: "a")
    #expect(url.downstreamUrl.isEmpty)
    #expect(url.livestreamUrl.isEmpty)
    #expect(url.playbackHlsUrl == "a")
    #expect(url.toJson()["playbackHlsUrl"] as? String == "a")
    let config = HLSConfig(
      layout: HLSLayout(type: .GRID, priority: .PIN, gridSize: 25), theme: .LIGHT, mode: .audio, quality: .med,
      orientation: .portrait)
    #expect((config.toJson()["layout"] as? [String: Any])?["gridSize"] as? Int == 25)
    let output = LivestreamOutput(url: "u", streamKey: "k")
    #expect(output.url == "u")
    #expect(output.streamKey == "k")
    #expect(config.layout.gridSize == 25)
    #expect(output.toJSON()["streamKey"] as? String == "k" && [output].toJSONArray().count == 1)
    #expect(#"{"roomId":"a"}"#.toJSON()["roomId"] as? String == "a" && Data("[1]".utf8).toJSONArray().count == 1)
    #expect(["b": 1, "a": 2].toJSONString() == #"{"a":2,"b":1}"#)
    #expect([1, 2].toJSONString() == "[1,2]")
    #expect("no".toJSON().isEmpty)
    #expect(Data("no".utf8).toJSONString() == "no")
  }
}
