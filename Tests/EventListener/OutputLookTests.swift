import Foundation
import Koine
import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing
import VideoSDKRTC
import WebRTC

/// The looks of recordings, playlists and outputs that a client composes, by their pixels.
@Suite struct OutputLookTests {
  private let environment: TestEnvironment

  init() { environment = TestEnvironment(EmbeddedBackend(virtual: 4)) }

  /// Keeps the last composed frame.
  private final class Probe: RawBroadcastOutput, Sendable {
    private let seen = Lock<(plan: BroadcastPlan?, frame: VideoFrame?, blocks: Int)>((nil, nil, 0))
    var plan: BroadcastPlan? { seen.withLock { $0.plan } }
    var frame: VideoFrame? { seen.withLock { $0.frame } }
    var blocks: Int { seen.withLock { $0.blocks } }
    func start(_ plan: BroadcastPlan) { seen.withLock { $0.plan = plan } }
    func render(_ frame: VideoFrame) { seen.withLock { $0.frame = frame } }
    func play(_ block: AudioBlock) { seen.withLock { $0.blocks += 1 } }
    func flush() {}
    func close() throws {}

    /// The brightness at a place, as parts of the width and height.
    func luma(_ x: Double, _ y: Double) -> Int {
      guard let frame else { return -1 }
      return frame.withPlanes { planes in
        Int(planes.y[Int(y * Double(frame.height)) * planes.lumaStride + Int(x * Double(frame.width))])
      }
    }
  }

  /// Paints a camera's frames in one brightness.
  private struct Paint: VideoSDKVideoProcessor {
    let luma: Int32
    func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? {
      let buffer = RTCMutableI420Buffer(width: frame.width, height: frame.height)
      memset(buffer.mutableDataY, luma, Int(frame.width * frame.height))
      memset(buffer.mutableDataU, 128, Int(buffer.chromaWidth * buffer.chromaHeight))
      memset(buffer.mutableDataV, 128, Int(buffer.chromaWidth * buffer.chromaHeight))
      return RTCVideoFrame(buffer: buffer, rotation: frame.rotation, timeStampNs: frame.timeStampNs)
    }
  }

  private static let (ana, ben) = (80, 160)

  private func two(in environment: TestEnvironment) async -> (ana: Meeting, ben: Meeting) {
    let (ana, _) = environment.meeting("Ana", id: "ana", mic: false)
    let (ben, _) = environment.meeting("Ben", id: "ben")
    ana.setVideoProcessor(processor: Paint(luma: Int32(Self.ana)))
    ben.setVideoProcessor(processor: Paint(luma: Int32(Self.ben)))
    ana.join()
    await environment.run()
    ben.join()
    await environment.run(.seconds(2))
    return (ana, ben)
  }

  private func config(
    _ type: ConfigLayoutGrid, _ priority: ConfigLayoutPriority = .SPEAKER, gridSize: Int = 4,
    theme: ConfigTheme = .DEFAULT, mode: ConfigMode = .video_and_audio, quality: ConfigQuality = .low,
    orientation: ConfigOrientation = .landscape
  ) -> RecordingConfig {
    RecordingConfig(
      layout: ConfigLayout(type: type, priority: priority, gridSize: gridSize), theme: theme, mode: mode,
      quality: quality, orientation: orientation)
  }

  /// Records for two seconds.
  private func record(
    _ meeting: Meeting, _ config: RecordingConfig, in environment: TestEnvironment? = nil
  ) async -> Probe {
    let probe = Probe()
    BroadcastOutputs.$own.withValue(["webm": { _ in probe }]) {
      meeting.startRecording(webhookUrl: "", config: config)
    }
    let environment = environment ?? self.environment
    await environment.run(.seconds(2))
    meeting.stopRecording()
    await environment.run()
    return probe
  }

  private func isNear(_ luma: Int, _ expected: Int) -> Bool { (luma - expected).magnitude < 16 }

  @Test func gridShowsTilesSideBySideOnTheThemesColor() async {
    let (ana, ben) = await two(in: environment)
    let light = await record(ana, config(.GRID, theme: .LIGHT))
    #expect(light.frame?.width == 640)
    #expect(light.frame?.height == 360)
    #expect(isNear(light.luma(0.25, 0.5), Self.ana))
    #expect(isNear(light.luma(0.75, 0.5), Self.ben))
    #expect(isNear(light.luma(0.5, 0.02), 235), "around the videos: white")
    let dark = await record(ana, config(.GRID, theme: .DARK))
    #expect((20...60).contains(dark.luma(0.5, 0.02)), "dark grey: \(dark.luma(0.5, 0.02))")
    let plain = await record(ana, config(.GRID))
    #expect(plain.luma(0.5, 0.02) == 16)
    withExtendedLifetime(ben) {}
  }

  @Test func sidebarShowsThePinnedVideoLarge() async {
    let (ana, ben) = await two(in: environment)
    ana.localParticipant.pin()
    await environment.run()
    let pinned = await record(ben, config(.SIDEBAR, .PIN))
    #expect(isNear(pinned.luma(0.4, 0.5), Self.ana))
    #expect(isNear(pinned.luma(0.9, 0.5), Self.ben))
    #expect(pinned.luma(0.9, 0.1) == 16, "the column's video keeps its shape")
    let spoken = await record(ben, config(.SIDEBAR, .SPEAKER))
    #expect(isNear(spoken.luma(0.4, 0.5), Self.ben), "only Ben's microphone is on")
    #expect(isNear(spoken.luma(0.9, 0.5), Self.ana))
    ana.localParticipant.unpin()
    await environment.run()
    let unpinned = await record(ben, config(.SIDEBAR, .PIN))
    #expect(isNear(unpinned.luma(0.4, 0.5), Self.ben))
  }

  @Test func spotlightAndGridSizeOfOneShowOneVideo() async {
    let (ana, ben) = await two(in: environment)
    let spotlight = await record(ana, config(.SPOTLIGHT))
    for x in [0.02, 0.5, 0.98] { #expect(isNear(spotlight.luma(x, 0.5), Self.ben)) }
    let single = await record(ana, config(.GRID, gridSize: 1))
    #expect(isNear(single.luma(0.02, 0.5), Self.ben))
    ana.localParticipant.pin()
    await environment.run()
    let pinned = await record(ana, config(.GRID, .PIN, gridSize: 1))
    #expect(isNear(pinned.luma(0.98, 0.5), Self.ana))
    withExtendedLifetime(ben) {}
  }

  @Test(arguments: [
    (ConfigQuality.low, ConfigOrientation.portrait, 360, 640), (.med, .landscape, 1_280, 720),
    (.high, .portrait, 1_080, 1_920),
  ])
  func qualityAndOrientationGiveTheSize(
    _ quality: ConfigQuality, _ orientation: ConfigOrientation, _ width: Int, _ height: Int
  ) async {
    let (ana, ben) = await two(in: environment)
    let probe = await record(ana, config(.GRID, quality: quality, orientation: orientation))
    #expect(probe.frame?.width == width)
    #expect(probe.frame?.height == height)
    #expect(probe.plan?.width == width)
    let isPortrait = orientation == .portrait
    #expect(isNear(probe.luma(isPortrait ? 0.5 : 0.25, isPortrait ? 0.25 : 0.5), Self.ana))
    #expect(isNear(probe.luma(isPortrait ? 0.5 : 0.75, isPortrait ? 0.75 : 0.5), Self.ben))
    withExtendedLifetime(ben) {}
  }

  @Test func playlistHasTheConfiguredLook() async {
    let (ana, ben) = await two(in: environment)
    let probe = Probe()
    let look = HLSConfig(
      layout: ConfigLayout(type: .SPOTLIGHT, priority: .SPEAKER, gridSize: 25), theme: .LIGHT, mode: .video_and_audio,
      quality: .low, orientation: .portrait)
    BroadcastOutputs.$own.withValue(["m3u8": { _ in probe }]) { ana.startHLS(config: look) }
    await environment.run(.seconds(2))
    #expect(probe.frame?.width == 360)
    #expect(isNear(probe.luma(0.5, 0.5), Self.ben))
    #expect(isNear(probe.luma(0.5, 0.02), 235))
    ana.stopHLS()
    await environment.run()
    withExtendedLifetime(ben) {}
  }

  @Test func audioModeRecordsAudioOnly() async throws {
    let (ana, ben) = await two(in: environment)
    let probe = await record(ana, config(.GRID, mode: .audio))
    #expect(probe.frame == nil)
    #expect(probe.blocks > 100)
    #expect(probe.plan?.hasVideo == false)
    MediaFiles.register()
    let folder = try Folder()
    ana.startRecording(webhookUrl: "", awsDirPath: folder.path, config: config(.GRID, mode: .audio))
    await environment.run(.seconds(2))
    ana.stopRecording()
    await environment.run()
    let file = try #require(folder.names.first { $0.hasSuffix(".webm") })
    let streams = try await Command(
      "ffprobe", "-v", "error", "-show_entries", "stream=codec_type:format=duration", "-of",
      "default=noprint_wrappers=1:nokey=1", folder.file(file)
    ).run().split(separator: "\n").map(String.init)
    #expect(streams.first == "audio")
    #expect(streams.count == 2)
    #expect(streams.last.flatMap(Double.init) ?? 0 > 1.5)
    withExtendedLifetime(ben) {}
  }

  /// A router that has no recorder: the client composes the room.
  private final class Bare: Backend {
    private let backend = EmbeddedBackend(virtual: 3)
    var scheduler: Scheduler { backend.scheduler }
    var capabilities: BackendCapabilities { backend.capabilities.subtracting(.recording) }
    func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
      backend.connect(request, receiver: receiver)
    }
    func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
      backend.register(request, receiver: receiver)
    }
  }

  @Test func clientThatComposesTheRoomAppliesTheLook() async {
    let bare = TestEnvironment(Bare())
    let (ana, ben) = await two(in: bare)
    ana.localParticipant.pin()
    await bare.run()
    let pinned = await record(ana, config(.SIDEBAR, .PIN, theme: .LIGHT), in: bare)
    #expect(pinned.frame?.width == 640)
    #expect(isNear(pinned.luma(0.4, 0.5), Self.ana))
    #expect(isNear(pinned.luma(0.9, 0.5), Self.ben))
    #expect(isNear(pinned.luma(0.9, 0.1), 235))
    let spoken = await record(ana, config(.SPOTLIGHT, .SPEAKER), in: bare)
    #expect(isNear(spoken.luma(0.02, 0.5), Self.ben))
    let audio = await record(ana, config(.GRID, mode: .audio), in: bare)
    #expect(audio.frame == nil)
    #expect(audio.blocks > 100)
    withExtendedLifetime(ben) {}
  }

  @Test func switchEndsTheClientsOutputAndReportsItAsStopped() async {
    let bare = TestEnvironment(Bare())
    let (ana, told) = bare.meeting("Ana", id: "ana")
    ana.join()
    await bare.run()
    let probe = Probe()
    BroadcastOutputs.$own.withValue(["webm": { _ in probe }]) { ana.startRecording(webhookUrl: "") }
    await bare.run()
    #expect(ana.recordingState == .RECORDING_STARTED)
    told.forget()
    ana.switchTo(meetingId: "cake", token: "")
    await bare.run()
    #expect(told.told.prefix(3) == ["RECORDING_STOPPED", "recording stopped", "recording stopped 2.6"])
    #expect(ana.recordingState == .RECORDING_STOPPED)
    let blocks = probe.blocks
    await bare.run()
    #expect(probe.blocks == blocks)
  }
}
