import AmazonChimeSDK
import Foundation
import Koine
import KoineAVFoundation
import KoineTokens
import Testing

/// Raw values and descriptions, and the service's JSON.
@Suite struct ValueTests {
  @Test func enumsHaveTheVendorsRawValuesAndDescriptions() {
    #expect(LogLevel.allCases.map(\.description) == ["DEFAULT", "DEBUG", "INFO", "FAULT", "ERROR", "OFF"])
    #expect(VolumeLevel.allCases.map(\.rawValue) == [-1, 0, 1, 2, 3])
    #expect(VolumeLevel.allCases.map(\.description) == ["muted", "notSpeaking", "low", "medium", "high"])
    #expect(
      VideoPauseState.allCases.map(\.description) == ["unpaused", "pausedByUserRequest", "pausedForPoorConnection"])
    #expect(SignalStrength.allCases.map(\.description) == ["none", "low", "high"])
    #expect(MeetingSessionStatusCode(rawValue: 206) == .videoAtCapacityViewOnly)
    #expect(MeetingSessionStatusCode.audioServerHungup.description == "audioServerHungup")
    #expect(AudioMode(rawValue: 4) == nil)
    #expect(AudioMode.stereo48K.description == "stereo48K")
    #expect(ObservableMetric(rawValue: 13) == .contentShareVideoSendRttMs)
    #expect(
      ObservableMetric.contentShareVideoSendFps.isContentShareMetric
        && !ObservableMetric.videoSendFps.isContentShareMetric)
    #expect(MediaDeviceType(rawValue: 4)?.description == "videoFrontCamera")
    #expect(VideoRotation.rotation270.description == "rotation_270")
    #expect(VideoContentHint.text.rawValue == 3)
    #expect(SendDataMessageError.invalidData.description == "invalidData")
  }

  @Test func modalityIsParsedFromAttendeeID() {
    let content = DefaultModality(id: "ana#content")
    #expect(content.base == "ana")
    #expect(content.modality == "content")
    #expect(content.isOfType(type: .content))
    #expect(DefaultModality(id: "a#b#c").modality == nil)
    #expect(DefaultModality(id: "a#b#c").base == "a")
    #expect(DefaultModality(id: "#content").base == "content")
    #expect(DefaultModality(id: "").base == "")
  }

  @Test func serviceResponsesAreDecoded() throws {
    let meeting = """
      {"Meeting": {"MeetingId": "m", "MediaRegion": "r", "ExternalMeetingId": "e", "MediaPlacement":
      {"AudioHostUrl": "a", "SignalingUrl": "s"}, "MeetingFeatures": {"Video": {"MaxResolution": "FHD"}}}}
      """
    let attendee = #"{"Attendee": {"AttendeeId": "i", "ExternalUserId": "u", "JoinToken": "t"}}"#
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: try JSONDecoder().decode(CreateMeetingResponse.self, from: Data(meeting.utf8)),
      createAttendeeResponse: try JSONDecoder().decode(CreateAttendeeResponse.self, from: Data(attendee.utf8)),
      urlRewriter: { "https://\($0)" })
    #expect(configuration.meetingId == "m")
    #expect(configuration.externalMeetingId == "e")
    #expect(configuration.credentials.joinToken == "t")
    #expect(configuration.urls.signalingUrl == "https://s")
    #expect(configuration.urls.audioFallbackUrl == "https://a")
    #expect(configuration.urls.ingestionUrl == nil)
    #expect(configuration.meetingFeatures.videoMaxResolution === VideoResolution.videoResolutionFHD)
    #expect(MeetingFeatures(video: "4k", content: "NONE").videoMaxResolution == .videoResolutionUHD)
    #expect(MeetingFeatures(video: "4k", content: "NONE").contentMaxResolution == .videoDisabled)
  }

  @Test func koineJoinInfoIsDecodedAsServiceResponses() throws {
    let key = try SigningKey(generating: .p256)
    let pass = try ChimeJoinInfo.create(
      ChimeJoinInfo.Meeting(meetingID: "tea", mediaPlacement: .at("embedded:"), mediaRegion: "here"), attendeeID: "ana",
      externalUserID: "Ana", issued: NumericDate(1_000), with: key)
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: try JSONDecoder().decode(
        CreateMeetingResponse.self, from: Data(try pass.createMeetingJSON.utf8)),
      createAttendeeResponse: try JSONDecoder().decode(
        CreateAttendeeResponse.self, from: Data(try pass.createAttendeeJSON.utf8)))
    #expect(configuration.meetingId == "tea")
    #expect(configuration.credentials.attendeeId == "ana")
    #expect(configuration.credentials.joinToken == pass.attendee.joinToken)
  }

  @Test func loggerDoesNotEvaluateMessagesBelowItsLevel() async throws {
    let logger = ConsoleLogger(name: "test")
    #expect(logger.getLogLevel() == .INFO)
    logger.setLogLevel(level: .OFF)
    var wasAsked = false
    logger.debug {
      wasAsked = true
      return ""
    }
    #expect(!wasAsked, "text that nobody reads is not made")
    logger.default(msg: "not written: the logger is off")
    // In a process of its own, so that only the logger writes to standard error.
    let done = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let logger = ConsoleLogger(name: "test", level: .DEFAULT)
        logger.default(msg: "written")
        logger.debug { "debugged" }
        logger.setLogLevel(level: .INFO)
        logger.default(msg: "not written")
        logger.info(msg: "informed")
        logger.fault(msg: "faulty")
        logger.error(msg: "wrong")
      })
    let written = String(decoding: done.standardErrorContent, as: UTF8.self)
    let expected = """
      [DEFAULT] test - written
      [DEBUG] test - debugged
      [INFO] test - informed
      [FAULT] test - faulty
      [ERROR] test - wrong

      """
    #expect(written.contains(expected))
  }

  @Test func configurationsKeepTheirValuesAndDefaultTheRest() {
    let configurations = [
      AudioVideoConfiguration(audioMode: .mono16K, callKitEnabled: true),
      AudioVideoConfiguration(audioMode: .mono16K, callKitEnabled: true, enableAudioRedundancy: false),
      AudioVideoConfiguration(
        audioMode: .mono16K, callKitEnabled: true, enableAudioRedundancy: false, videoMaxResolution: .low),
      AudioVideoConfiguration(
        audioMode: .mono16K, audioDeviceCapabilities: .outputOnly, callKitEnabled: true, enableAudioRedundancy: false,
        videoMaxResolution: .low),
    ]
    #expect(configurations.allSatisfy { $0.audioMode == .mono16K && $0.callKitEnabled })
    #expect(configurations.allSatisfy { $0.reconnectTimeoutMs == 180_000 })
    #expect(configurations.map(\.enableAudioRedundancy) == [true, false, false, false])
    let standard = AudioVideoConfiguration.defaultVideoMaxResolution
    #expect(configurations.map { $0.videoMaxResolution === standard } == [true, true, false, false])
    #expect(configurations.suffix(2).allSatisfy { $0.videoMaxResolution === VideoResolution.low })
    #expect(
      configurations.map(\.audioDeviceCapabilities) == [
        .inputAndOutput, .inputAndOutput, .inputAndOutput, .outputOnly,
      ])
  }

  @Test func sessionConfigurationsKeepTheirValuesAndDefaultTheRest() {
    let credentials = MeetingSessionCredentials(attendeeId: "ana", externalUserId: "Ana", joinToken: "token")
    let urls = MeetingSessionURLs(
      audioFallbackUrl: "fallback", audioHostUrl: "host", turnControlUrl: "turn", signalingUrl: "signaling",
      urlRewriter: { "https://\($0)" })
    #expect(urls.audioFallbackUrl == "https://fallback" && urls.audioHostUrl == "https://host")
    #expect(urls.turnControlUrl == "https://turn" && urls.signalingUrl == "https://signaling")
    #expect(urls.ingestionUrl == nil)
    let rewriter: URLRewriter = { "\($0)?own" }
    let features = MeetingFeatures(video: "4k", content: "NONE")
    let configurations = [
      MeetingSessionConfiguration(meetingId: "tea", credentials: credentials, urls: urls, urlRewriter: rewriter),
      MeetingSessionConfiguration(
        meetingId: "tea", externalMeetingId: "Tea", credentials: credentials, urls: urls, urlRewriter: rewriter),
      MeetingSessionConfiguration(
        meetingId: "tea", externalMeetingId: "Tea", credentials: credentials, urls: urls, urlRewriter: rewriter,
        meetingFeatures: features),
      MeetingSessionConfiguration(
        meetingId: "tea", externalMeetingId: "Tea", credentials: credentials, urls: urls, urlRewriter: rewriter,
        primaryMeetingId: "primary"),
    ]
    #expect(configurations.allSatisfy { $0.meetingId == "tea" && $0.credentials === credentials && $0.urls === urls })
    #expect(configurations.allSatisfy { $0.urlRewriter("a") == "a?own" })
    #expect(configurations.map(\.externalMeetingId) == [nil, "Tea", "Tea", "Tea"])
    #expect(configurations.map(\.primaryMeetingId) == [nil, nil, nil, "primary"])
    let standard = MeetingFeatures()
    #expect(
      configurations.map { $0.meetingFeatures.videoMaxResolution === features.videoMaxResolution } == [
        false, false, true, false,
      ])
    #expect(
      configurations.map { $0.meetingFeatures.contentMaxResolution === standard.contentMaxResolution } == [
        true, true, false, true,
      ])
  }

  @Test func configurationsAndAttendeesHaveTheirValues() {
    let configuration = AudioVideoConfiguration(audioMode: .mono48K, callKitEnabled: true)
    #expect(configuration.enableAudioRedundancy)
    #expect(configuration.reconnectTimeoutMs == 180_000)
    #expect(configuration.description.hasPrefix("audioMode: mono48K, audioDeviceCapabilities: inputAndOutput, callKit"))
    let (ana, other) = (
      AttendeeInfo(attendeeId: "a", externalUserId: "x"), AttendeeInfo(attendeeId: "a", externalUserId: "y")
    )
    #expect(ana == other)
    #expect(ana.hashValue == other.hashValue)
    #expect(!(ana < other))
    #expect(
      VideoCaptureFormat(width: 1, height: 2, maxFrameRate: 3)
        == VideoCaptureFormat(width: 1, height: 2, maxFrameRate: 3))
    #expect(MediaDevice.listVideoDevices().map(\.type) == [.videoBackCamera, .videoFrontCamera])
    let formats = MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: MediaDevice.listVideoDevices()[0])
    #expect(formats.allSatisfy { $0.width <= 1_280 && $0.height <= 720 })
    #expect(!formats.isEmpty)
    #expect(MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: MediaDevice(label: "x", type: .other)).isEmpty)
    #expect(
      DataMessage(
        topic: "t", data: Data([0xFF]), senderAttendeeId: "", senderExternalUserId: "", timestampMs: 0, throttled: false
      ).text() == nil)
  }

  @Test func devicesAndTilesAreBuiltFromTheirParts() {
    #expect(Versioning.sdkVersion() == "0.27.2")
    #expect(VideoBitrateConstants().videoHighResolutionBitrateKbps == 2_500)
    #expect(VideoBitrateConstants().contentHighResolutionBitrateKbps == 2_500)
    let tile = DefaultVideoTile(
      tileId: 3, attendeeId: "ana", videoStreamContentWidth: 4, videoStreamContentHeight: 5, isLocalTile: false,
      logger: ConsoleLogger(name: "tile"))
    #expect(tile.state.tileId == 3)
    #expect(tile.state.pauseState == .unpaused)
    #expect(tile.videoRenderView == nil)
    let speaker = MediaDevice(label: "Speaker", type: .audioBuiltInSpeaker)
    let headset = MediaDevice(
      label: "Headset",
      port: AVAudioSessionPortDescription(
        Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence")))
    #expect(speaker.port == nil)
    #expect(headset.type == .audioWiredHeadset)
    #expect(MediaDevice(label: "x").type == .other)
    let cameras: [MediaDevice] = MediaDevice.listVideoDevices()
    let few = MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: cameras[0], videoMaxResolution: .low)
    #expect(few.allSatisfy { $0.height <= VideoResolution.low.height })
    #expect(MediaDevice.listSupportedVideoCaptureFormats(mediaDevice: speaker).isEmpty)
    #expect(AttendeeStatus.allCases.map(\.rawValue) == [1, 2, 3])
    #expect("\(AttendeeStatus.dropped)" == "dropped")
  }
}
