import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineSimulatedNetwork
import KoineTestSupport
import KoineTokens
import Testing
import VideoSDKRTC

/// Requests between participants, screen shares, and recordings of the room.
@Suite(.serialized) struct ModerationTests {
  private let environment = TestEnvironment()

  private func two(
    anaMode: Mode = .CONFERENCE, benCamera: Bool = true
  ) async throws -> (ana: Meeting, told: Recorder, ben: Meeting, others: Recorder) {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    let (ben, others) = environment.meeting("Ben", id: "ben", camera: benCamera)
    ana.join()
    ben.join()
    await environment.run()
    told.forget()
    others.forget()
    return (ana, told, ben, others)
  }

  @Test func remoteParticipantIsMutedWithoutConfirmation() async throws {
    let (ana, told, ben, others) = try await two()
    let remote = try #require(ana.participants["ben"])
    remote.disableMic()
    remote.disableWebcam()
    await environment.run()
    #expect(others.told == ["Ben -audio", "Ben -video"])
    #expect(told.told == ["Ben -audio", "Ben -video"])
    #expect(ben.localParticipant.streams.isEmpty)
    ana.localParticipant.disableMic()
    ana.localParticipant.enableMic()
    ana.localParticipant.disableWebcam()
    ana.localParticipant.enableWebcam()
    await environment.run()
    #expect(ana.localParticipant.streams.count == 2)
  }

  @Test func unmuteRequestIsAcceptedOrRejectedByParticipant() async throws {
    let (ana, told, ben, others) = try await two(benCamera: false)
    ben.muteMic()
    await environment.run()
    told.forget()
    others.answers { $0 == "ben asked mic by ana" }
    let remote = try #require(ana.participants["ben"])
    remote.enableWebcam()
    remote.enableMic()
    await environment.run()
    #expect(others.told.contains("ben asked webcam by ana"))
    #expect(others.told.contains("ben asked mic by ana"))
    #expect(told.told == ["Ben +audio"], "the camera was refused, which nobody hears of")
  }

  @Test func removedParticipantAndEndedMeetingReportTheReason() async throws {
    let (ana, told, ben, others) = try await two()
    for recorder in [told, others] { recorder.reasons.withLock { $0 = true } }
    ana.participants["ben"]?.remove()
    await environment.run()
    #expect(others.told.suffix(3) == ["CLOSED", "out", "out removePeer"])
    #expect(told.told.suffix(2) == ["Ben left", "Ben left removePeer"])
    let (cleo, third) = environment.meeting("Cleo")
    third.reasons.withLock { $0 = true }
    cleo.join()
    await environment.run()
    ana.end()
    await environment.run()
    for recorder in [told, third] { #expect(recorder.told.suffix(3) == ["CLOSED", "out", "out roomClose"]) }
    withExtendedLifetime(ben) {}
  }

  @Test func expiredTokenIsRefusedOnJoin() async throws {
    let key = try SigningKey(secret: Array("a secret of thirty-two characters".utf8))
    let now = NumericDate.ofSystemClock()
    let late = VideoSDKToken(apiKey: "key", permissions: [.join], issued: now + -7_200, expires: now + -3_600)
    let (ana, told) = environment.meeting("Ana", token: try late.signed(with: key))
    ana.join()
    await environment.run()
    #expect(told.told == ["CONNECTING", "error INVALID_TOKEN", "CLOSED"])
  }

  @Test func tokenWithoutModeratePermissionCannotModerate() async throws {
    let key = try SigningKey(secret: Array("a secret of thirty-two characters".utf8))
    let now = NumericDate.ofSystemClock()
    let token = { (permissions: [VideoSDKToken.Permission]) throws in
      try VideoSDKToken(apiKey: "key", permissions: permissions, issued: now, expires: now + 3_600).signed(with: key)
    }
    let (ana, told) = environment.meeting("Ana", id: "ana", token: try token([.join]))
    let (ben, others) = environment.meeting("Ben", id: "ben", token: try token([.join, .moderate]))
    ana.join()
    ben.join()
    await environment.run()
    told.forget()
    others.forget()
    ana.participants["ben"]?.disableMic()
    ana.participants["ben"]?.remove()
    await environment.run()
    #expect(told.told == ["error INVALID_PERMISSIONS", "error INVALID_PERMISSIONS"])
    #expect(others.told.isEmpty)
  }

  @Test func screenShareIsASeparateStreamWithPresenter() async throws {
    let (ana, told, ben, others) = try await two()
    await environment.world.run { await ana.enableScreenShare() }
    await environment.run()
    #expect(told.told == ["presenter ana", "Ana +share"])
    #expect(others.told == told.told)
    #expect(ana.activePresenterId == "ana")
    #expect(ben.activePresenterId == "ana")
    let share = ben.participants["ana"]?.streams.values.first { $0.kind == .share }
    let track = try #require(share?.track as? RTCVideoTrack)
    let screen = Screen()
    track.add(screen)
    await environment.run()
    #expect(screen.sizes == [CGSize(width: 320, height: 180)], "as the world's devices say")
    await environment.world.run { await ana.disableScreenShare() }
    await environment.run()
    #expect(others.told.suffix(2) == ["presenter -", "Ana -share"])
    #expect(ben.activePresenterId == nil)
  }

  @Test func unknownScreenSourceIsAnError() async throws {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "tone", screen: "nothing"))
    let ana = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana") }
    let told = Recorder()
    ana.addEventListener(told)
    ana.join()
    await environment.run()
    told.forget()
    await environment.world.run { await ana.enableScreenShare() }
    await environment.run()
    #expect(told.told == ["error ERROR_GET_DISPLAY_MEDIA"])
    #expect(ana.activePresenterId == nil)
  }

  @Test func viewerNeitherSendsNorReceivesMedia() async throws {
    let (ana, told, ben, others) = try await two()
    ben.changeMode(.VIEWER)
    await environment.run()
    #expect(told.told == ["Ben -audio", "Ben -video", "ben VIEWER"])
    #expect(
      others.told.contains("Ana -video") && ben.meetingMode == .VIEWER && ana.participants["ben"]?.mode == .VIEWER)
    told.forget()
    others.forget()
    ben.changeMode(.RECV_ONLY)
    await environment.run()
    #expect(others.told.contains("Ana +video"))
    #expect(told.told == ["ben RECV_ONLY"])
    ben.changeMode(.SEND_AND_RECV)
    await environment.run()
    #expect(told.told.suffix(2) == ["Ben +audio", "Ben +video"] || told.told.contains("Ben +video"))
    let (cleo, third) = World.$current.withValue(environment.world) {
      let meeting = VideoSDK.initMeeting(
        meetingId: "tea", participantId: "cleo", participantName: "Cleo", mode: .VIEWER)
      let recorder = Recorder()
      recorder.meeting = meeting
      meeting.addEventListener(recorder)
      return (meeting, recorder)
    }
    cleo.join()
    await environment.run()
    #expect(!third.told.contains { $0.contains("+") })
    #expect(third.told.contains("Ana joined"))
    #expect(ana.participants["cleo"]?.mode == .VIEWER)
  }

  @Test func localParticipantModeIsSettable() async throws {
    let (ana, told, ben, _) = try await two()
    ana.localParticipant.mode = .RECV_ONLY
    await environment.run()
    #expect(ben.participants["ana"]?.mode == .RECV_ONLY)
    #expect(ben.participants["ana"]?.streams.isEmpty == true)
    #expect(told.told.contains("ana RECV_ONLY"))
    #expect(ana.meetingMode == .RECV_ONLY)
  }

  @Test(arguments: [true, false]) func entryRequestIsAllowedOrDenied(_ isLetIn: Bool) async throws {
    let now = NumericDate.ofSystemClock()
    let key = try SigningKey(generating: .p256)
    let ask = VideoSDKToken(apiKey: "key", permissions: [.ask], issued: now, expires: now + 600)
    let (ana, told) = environment.meeting("Ana", id: "ana", mic: false, camera: false)
    ana.join()
    await environment.run()
    told.forget()
    told.answers { _ in isLetIn }
    let (eva, others) = environment.meeting(
      "Eva", id: "eva", mic: false, camera: false, token: try ask.signed(with: key))
    eva.join()
    await environment.run()
    if isLetIn {
      #expect(told.told == ["entry asked by Eva", "eva allowed", "Eva joined"])
      #expect(others.told == ["CONNECTING", "eva allowed", "CONNECTED", "in", "Ana joined"])
    } else {
      #expect(told.told == ["entry asked by Eva", "eva denied"])
      #expect(others.told == ["CONNECTING", "eva denied", "CLOSED"])
    }
  }

  private final class Fuse: BroadcastOutput, Sendable {
    static let failure = Lock<(@Sendable (any Error) -> Void)?>(nil)
    static let closed = Lock(0)
    struct Blown: Error {}
    func receive(_ frame: EncodedFrame) {}
    func close() throws {
      Self.closed.withLock { $0 += 1 }
      throw Blown()
    }
    func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) { Self.failure.withLock { $0 = handler } }
  }

  @Test func failingOutputIsReportedWithItsErrorCode() async throws {
    BroadcastOutputs.register("fuse:") { _ in Fuse() }
    let (ana, told, ben, _) = try await two()
    Fuse.closed.withLock { $0 = 0 }
    ana.startLivestream(outputs: [LivestreamOutput(url: "fuse://x", streamKey: "")])
    await environment.run()
    #expect(ben.liveStreamState == .LIVESTREAM_STARTED)
    told.forget()
    for _ in 1...2 { Fuse.failure.withLock { $0 }?(Fuse.Blown()) }
    await environment.run()
    #expect(told.told == ["error LIVESTREAM_FAILED", "LIVESTREAM_STOPPED", "livestream stopped"])
    #expect(ben.liveStreamState == .LIVESTREAM_STOPPED)
    BroadcastOutputs.$own.withValue(["m3u8": { _ in Fuse() }]) { ana.startHLS() }
    await environment.run()
    told.forget()
    Fuse.failure.withLock { $0 }?(Fuse.Blown())
    await environment.run()
    #expect(told.told == ["error HLS_FAILED", "HLS_STOPPED"])
    #expect(ben.hlsState == .HLS_STOPPED)
    #expect(Fuse.closed.withLock { $0 } == 2)
  }

  @Test func hlsPlaylistIsReportedAsPlayable() async throws {
    let (ana, told, ben, others) = try await two()
    BroadcastOutputs.$own.withValue(["m3u8": { _ in Fuse() }]) { ana.startHLS() }
    await environment.run()
    let begun = [HLSState.HLS_STARTING, .HLS_STARTED].map(\.rawValue) + ["HLS_PLAYABLE at a place"]
    #expect(told.told == begun)
    #expect(others.told.suffix(2) == ["HLS_STARTED", "HLS_PLAYABLE at a place"])
    #expect(ben.hlsState == .HLS_PLAYABLE)
    ana.stopHLS()
    await environment.run()
    #expect(ana.hlsState == .HLS_STOPPED)
    #expect(ben.hlsUrls == nil)
    #expect(told.told.suffix(3) == [HLSState.HLS_STOPPING.rawValue, "error STOP_HLS_FAILED", "HLS_STOPPED"])
  }

  @Test func hlsPlaylistThatFailsToStartIsReported() async throws {
    let (ana, told, ben, others) = try await two()
    BroadcastOutputs.$own.withValue(["m3u8": { _ in throw Fuse.Blown() }]) {
      ana.startHLS(transcription: PostTranscriptionConfig(enabled: true))
    }
    await environment.run()
    #expect(told.told == ["HLS_STARTING", "error START_HLS_FAILED", "HLS_STOPPED"])
    #expect(ana.hlsUrls == nil)
    #expect(!others.told.contains("HLS_STARTED"))
    #expect(ben.hlsState == .HLS_STOPPED)
  }

  /// At the end a folder has the file's name, or the file cannot be created in the first place.
  @Test(arguments: [true, false]) func unwritableRecordingIsReported(_ beginsWell: Bool) async throws {
    MediaFiles.register()
    let folder = try Folder()
    let (ana, told, ben, _) = try await two()
    ana.startRecording(webhookUrl: "", awsDirPath: beginsWell ? folder.path : "/proc")
    await self.environment.run(.seconds(2))
    if beginsWell {
      let environment = try #require(ana.recordingPlace)
      #expect(ben.recordingState == .RECORDING_STARTED)
      try FileManager.default.createDirectory(
        at: environment.appendingPathComponent("full"), withIntermediateDirectories: true)
      ana.stopRecording()
      await self.environment.run()
      #expect(told.told.contains("error STOP_RECORDING_FAILED"))
    } else {
      let isTold = await self.environment.world.run(
        until: { told.told.contains("error RECORDING_FAILED") }, limit: .seconds(30))
      #expect(isTold)
      await self.environment.run()
    }
    #expect(ben.recordingState == .RECORDING_STOPPED)
    #expect(ana.recordingState == .RECORDING_STOPPED)
  }

  @Test func livestreamThatFailsToStopIsReported() async throws {
    BroadcastOutputs.register("fuse:") { _ in Fuse() }
    let (ana, told, ben, _) = try await two()
    ana.startLivestream(outputs: [LivestreamOutput(url: "fuse://y", streamKey: "")])
    await environment.run()
    told.forget()
    ana.stopLivestream()
    await environment.run()
    let words = ["LIVESTREAM_STOPPING", "error STOP_LIVESTREAM_FAILED", "LIVESTREAM_STOPPED", "livestream stopped"]
    #expect(told.told == words)
    #expect(ben.liveStreamState == .LIVESTREAM_STOPPED)
  }

  /// A router without a co-located recorder: the client that starts a stream composes it.
  private final class Bare: Backend {
    private let backend = EmbeddedBackend(virtual: 3)
    var scheduler: Scheduler { backend.scheduler }
    var capabilities: BackendCapabilities { backend.capabilities }
    func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
      backend.connect(request, receiver: receiver)
    }
    func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
      backend.register(request, receiver: receiver)
    }
  }

  /// A live stream that fails while it starts. All participants are notified at once.
  private final class Torn: BroadcastOutput, Sendable {
    struct IsTorn: Error {}
    private let world: World
    private let failure = Lock<(@Sendable (any Error) -> Void)?>(nil)
    init(_ world: World) { self.world = world }
    func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) { failure.withLock { $0 = handler } }
    func onReadable(_ handler: @escaping @Sendable () -> Void) {}
    func start(_ plan: BroadcastPlan) {
      failure.withLock { $0 }?(IsTorn())
      let scheduler = world.backend.scheduler
      scheduler.advance(to: scheduler.now + .milliseconds(1))
      world.delivery.queue.sync {}
    }
    func receive(_ frame: EncodedFrame) {}
    func close() throws { throw IsTorn() }
  }

  @Test func clientSideLivestreamHidesItsStreamKey() async throws {
    let environment = TestEnvironment(Bare())
    let ((ana, _), (ben, _)) = (environment.meeting("Ana", id: "ana"), environment.meeting("Ben", id: "ben"))
    ana.join()
    ben.join()
    await environment.run()
    BroadcastOutputs.$own.withValue(["fuse:": { _ in Fuse() }]) {
      ana.startLivestream(outputs: [LivestreamOutput(url: "fuse://host/live", streamKey: "secret")])
    }
    await environment.run()
    #expect(ben.liveStreamState == .LIVESTREAM_STARTED)
    let seen = try #require(ben.session?.participants.first { $0.id == "ana" }?.attributes)
    #expect(seen.keys.contains("koine.livestream"))
    #expect(!"\(seen)".contains("secret"))
    ana.stopLivestream()
    await environment.run()
    #expect(ben.liveStreamState == .LIVESTREAM_STOPPED)
  }

  @Test func clientSideLivestreamThatFailsDuringStartIsStopped() async {
    let environment = TestEnvironment(Bare())
    let (ana, told) = environment.meeting("Ana", id: "ana")
    ana.join()
    await environment.run()
    let world = environment.world
    BroadcastOutputs.$own.withValue(["torn:": { _ in Torn(world) }]) {
      ana.startLivestream(outputs: [LivestreamOutput(url: "torn://x", streamKey: "")])
    }
    await environment.run()
    #expect(told.told.contains("error START_LIVESTREAM_FAILED"))
    #expect(ana.liveStreamState == .LIVESTREAM_STOPPED)
  }

  @Test func pinsAreReportedToAllParticipantsAndLateJoiners() async throws {
    let (ana, told, ben, others) = try await two()
    ana.participants["ben"]?.pin()
    await environment.run()
    #expect(told.told == ["pinned ben SHARE_AND_CAM"])
    #expect(others.told == told.told)
    #expect(ben.pinnedParticipants["ben"]?.cam == true)
    #expect(ben.localParticipant.pinState.share == true)
    told.forget()
    ana.localParticipant.pin("nobody")
    await environment.run()
    #expect(told.told == ["error INVALID_PARTICIPANT_ID"])
    ben.localParticipant.unpin(.SHARE)
    await environment.run()
    ana.localParticipant.pin("ben", .SHARE)
    await environment.run()
    #expect(told.told.suffix(2) == ["pinned ben SHARE", "pinned ben SHARE"])
    #expect(ana.localParticipant.pinState.share != true)
    #expect(ben.localParticipant.pinState.share == true)
    ben.localParticipant.unpin(.SHARE)
    await environment.run()
    #expect(ana.participants["ben"]?.pinState.share == false)
    #expect(ana.pinnedParticipants["ben"]?.cam == true)
    let (cleo, _) = environment.meeting("Cleo")
    cleo.join()
    await environment.run()
    #expect(cleo.participants["ben"]?.pinState.cam == true)

    ben.localParticipant.unpin(PinType.SHARE_AND_CAM)
    await environment.run()
    var state: ParticipantPinState = try #require(ana.participants["ben"]).pinState
    #expect(state.cam == false && state.share == false)
    told.forget()
    cleo.participants["ben"]?.pin(PinType.CAM)
    await environment.run()
    #expect(told.told == ["pinned ben CAM"])
    state = try #require(ana.participants["ben"]).pinState
    #expect(state.cam == true && state.share == false)
    #expect(ana.pinnedParticipants == ["ben": state])
  }

  @Test func lowerQualityReceivesSmallerFrames() async throws {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern:640x360@15", microphone: "silence"))
    let big = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "tea", participantId: "big", participantName: "Big")
    }
    let (ana, told) = environment.meeting("Ana", camera: false)
    big.join()
    ana.join()
    await environment.run()
    let screen = Screen()
    let track = told.streams.compactMap { $0.track as? RTCVideoTrack }.last
    track?.add(screen)
    await environment.run(.seconds(3))
    #expect(screen.sizes.last == CGSize(width: 640, height: 360))
    ana.participants["big"]?.setQuality(.low)
    await environment.run(.seconds(3))
    #expect(screen.sizes.last == CGSize(width: 320, height: 180))
    #expect(ana.participants["big"]?.videoQuality == .low)
    ana.participants["big"]?.setQuality(.high)
    await environment.run(.seconds(3))
    #expect(screen.sizes.last == CGSize(width: 640, height: 360))
    withExtendedLifetime(big) {}
  }

  @Test func switchWebcamTogglesTheCameraWithinOneStream() async throws {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern:160x90@15", microphone: "silence", backCamera: "pattern:320x180@15"))
    let ana = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana") }
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join(cameraPosition: .back)
    ben.join()
    await environment.run()
    let screen = Screen()
    (told.streams.last { $0.track is RTCVideoTrack }?.track as? RTCVideoTrack)?.add(screen)
    await environment.run()
    ana.switchWebcam()
    await environment.run()
    ana.switchWebcam()
    await environment.run()
    #expect(screen.sizes.map(\.width) == [320, 160, 320], "one stream throughout")
    #expect(told.told.filter { $0 == "Ana +video" }.count == 1)
  }

  @Test func participantStatisticsAreMeasuredValues() async throws {
    let (ana, _, ben, _) = try await two()
    await environment.run(.seconds(3))
    let sound = try #require(ben.participants["ana"]?.getAudioStats())
    let picture = try #require(ben.participants["ana"]?.getVideoStats())
    let own = try #require(ana.localParticipant.getVideoStats())
    #expect((sound["totalPackets"] as? Int ?? 0) > 50)
    #expect((sound["bitrate"] as? Double ?? 0) > 5)
    #expect((picture["size"] as? [String: Any])?["width"] as? Int == 160)
    #expect(picture["codec"] as? String == "VP8")
    #expect((own["totalPackets"] as? Int ?? 0) > 0)
    #expect(own["rtt"] is Double)
    #expect(own["packetsLost"] as? Int == 0)
    #expect(ben.participants["ana"]?.getShareStats() == nil)
  }

  @Test func outgoingPacketLossIsCounted() async throws {
    let (ana, _, _, _) = try await two()
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    func lost() throws -> Int { try #require(ana.localParticipant.getAudioStats()?["packetsLost"] as? Int) }
    await environment.run(.seconds(3))
    #expect(try lost() == 0)
    var counts: [Int] = []
    for _ in 0..<2 {
      backend.cutNetwork(of: "ana", for: .seconds(3))
      await environment.run(.seconds(12))
      counts.append(try lost())
    }
    #expect(counts[0] > 50 && counts[0] < 160 && counts[1] > counts[0] + 50, "of 50 a second: \(counts)")
    let session = try #require(ana.session)
    let figures = await environment.world.run { await session.statistics() }
    let (sound, picture) = (ana.localParticipant.getAudioStats(), ana.localParticipant.getVideoStats())
    let own = figures.streams.filter { $0.outgoing != nil }
    #expect(own.count == 2)
    for stream in own {
      let words = stream.stream.kind == .camera ? picture : sound
      #expect(words?["packetsLost"] as? Int == stream.outgoing?.reportedLost)
    }
  }

  @Test func videoStatisticsNameTheCodec() async throws {
    let eva = Session(JoinRequest(room: "tea", participantID: "eva", name: "Eva"), in: environment.world)
    try eva.publish(camera: Devices.camera("pattern:160x90@30"), options: VideoPublishOptions(codec: .vp9))
    let (ana, _) = environment.meeting("Ana", id: "ana")
    ana.join()
    eva.join { _ in }
    await environment.run(.seconds(3))
    #expect(ana.participants["eva"]?.getVideoStats()?["codec"] as? String == "VP9")
  }

  @Test func recordingIsWrittenAndReportedToAllParticipants() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let (ana, told, ben, others) = try await two()
    let look = RecordingConfig(
      layout: ConfigLayout(type: .GRID, priority: .SPEAKER, gridSize: 4), theme: .DARK, mode: .video_and_audio,
      quality: .high, orientation: .landscape)
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path, config: look)
    await environment.run(.seconds(3))
    let begun = [RecordingState.RECORDING_STARTING, .RECORDING_STARTED].map(\.rawValue) + ["recording started"]
    #expect(told.told == begun)
    #expect(others.told.suffix(2) == begun.suffix(2))
    #expect(ben.recordingState == .RECORDING_STARTED)
    ben.stopRecording()  // every participant may
    await environment.run()
    let ended = [RecordingState.RECORDING_STOPPING, .RECORDING_STOPPED].map(\.rawValue)
    #expect(told.told.suffix(4) == ended[...] + ["recording stopped", "recording stopped 2.6"])
    #expect(others.told.last == "recording stopped 2.6")
    #expect(ana.recordingState == .RECORDING_STOPPED)
    let file = try #require(folder.names.first)
    let size = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)[.size] as? Int ?? 0
    #expect(file.hasPrefix("tea-"))
    #expect(size > 20_000)
  }

  @Test func unwritableOutputsAreReportedAsVendorErrors() async throws {
    let (ana, told, _, _) = try await two()
    ana.startLivestream(outputs: [])
    ana.startLivestream(outputs: [LivestreamOutput(url: "nowhere://x", streamKey: "k")])
    ana.startRecording(webhookUrl: "", awsDirPath: "/dev/null/folder")
    await environment.run()
    #expect(
      told.told.contains("error INVALID_LIVESTREAM_CONFIG") && told.told.contains("error START_LIVESTREAM_FAILED"))
    #expect(told.told.contains("error START_RECORDING_FAILED"))
    #expect(ana.liveStreamState == .LIVESTREAM_STOPPED)
    #expect(!told.told.contains("recording stopped"), "it never began")
  }
}
