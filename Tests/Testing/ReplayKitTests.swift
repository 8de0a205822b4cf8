import AmazonChimeSDK
import AmazonIVSBroadcast
import Foundation
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import KoineMediaFiles
import KoineReplayKit
import KoineTestSupport
import KoineTesting
import Testing

/// Captures and broadcasts of the screen of a test room's machine.
@Suite struct ReplayKitTests {
  private final class Samples: Sendable {
    private struct State {
      var kinds: [RPSampleBufferType] = []
      var names: Set<String> = []
      var isLoud: Set<RPSampleBufferType> = []
      var times: [Double] = []
    }
    private let state = Lock(State())

    func add(_ sample: CMSampleBuffer, _ type: RPSampleBufferType) {
      let name = CMSampleBufferGetImageBuffer(sample)?.videoFrame().flatMap { StampReader.read($0)?.name }
      let isLoud = sample.stereoSamples()?.contains { $0.magnitude > 1_000 } ?? false
      state.withLock { state in
        state.kinds.append(type)
        if let name { state.names.insert(name) }
        if isLoud { state.isLoud.insert(type) }
        if type == .video { state.times.append(sample.presentationTimeStamp.seconds) }
      }
    }

    func count(_ type: RPSampleBufferType) -> Int { state.withLock { $0.kinds.count { $0 == type } } }
    var names: Set<String> { state.withLock { $0.names } }
    var loud: Set<RPSampleBufferType> { state.withLock { $0.isLoud } }
    var times: [Double] { state.withLock { $0.times } }
  }

  private final class Results: Sendable {
    private let codes = Lock<[Int]>([])
    var all: [Int] { codes.withLock { $0 } }
    func add(_ error: (any Error)?) { codes.withLock { $0.append((error as NSError?)?.code ?? 0) } }
  }

  /// A handler as an app's broadcast extension has it.
  private class Handler: RPBroadcastSampleHandler {
    let samples = Samples()
    let calls = Lock<[String]>([])
    override func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {
      calls.withLock { $0.append("started \(setupInfo?["stage"] as? NSString ?? "")") }
      updateServiceInfo(["viewers": NSNumber(value: 3)])
    }
    override func broadcastPaused() { calls.withLock { $0.append("paused") } }
    override func broadcastResumed() { calls.withLock { $0.append("resumed") } }
    override func broadcastFinished() { calls.withLock { $0.append("finished") } }
    override func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {
      samples.add(sampleBuffer, sampleBufferType)
    }
  }

  @Test func recorderCapturesScreenAppAudioAndMicrophone() async throws {
    let room = try await TestRoom()
    let bea = try await room.join("Bea")
    let app = Session(JoinRequest(room: room.id, participantID: "ana", name: "Ana"), in: room.world(of: "Ana"))
    app.join { _ in }
    await room.until { room.speaker.hears("Bea") }
    let (samples, results) = (Samples(), Results())
    let recorder = room.enter(as: "Ana") { RPScreenRecorder.shared() }
    #expect(recorder === room.enter(as: "Ana") { RPScreenRecorder.shared() })
    #expect(recorder !== room.enter(as: "Bea") { RPScreenRecorder.shared() })
    #expect(recorder.isAvailable)
    recorder.startCapture(
      handler: { sample, type, error in if error == nil { samples.add(sample, type) } },
      completionHandler: { results.add($0) })
    await room.run(for: .seconds(2))
    #expect(results.all == [0])
    #expect(recorder.isRecording)
    #expect(samples.names == ["Ana"])
    #expect((9...11).contains(samples.count(.video)), "5 frames a second: \(samples.count(.video))")
    #expect(samples.times == samples.times.sorted())
    #expect((195...205).contains(samples.count(.audioApp)), "10 ms each: \(samples.count(.audioApp))")
    #expect(samples.loud == [.audioApp])
    #expect(samples.count(.audioMic) == 0)
    recorder.isMicrophoneEnabled = true
    await room.run(for: .seconds(1))
    #expect(samples.loud == [.audioApp, .audioMic])
    recorder.stopCapture { results.add($0) }
    await room.run(for: .milliseconds(50))
    let before = samples.count(.video) + samples.count(.audioApp) + samples.count(.audioMic)
    await room.run(for: .seconds(1))
    #expect(samples.count(.video) + samples.count(.audioApp) + samples.count(.audioMic) == before)
    #expect(results.all == [0, 0])
    #expect(!recorder.isRecording)
    bea.leave()
    app.leave {}
  }

  @Test func captureThatCannotStartReportsTheReason() async throws {
    let room = try await TestRoom()
    let recorder = room.enter(as: "Ana") { RPScreenRecorder.shared() }
    let results = Results()
    func start() { recorder.startCapture(handler: nil) { results.add($0) } }
    recorder.stopCapture { results.add($0) }
    room.setScreenCapture(allowed: false, for: "Ana")
    start()
    room.setScreenCapture(allowed: true, for: "Ana")
    room.machine(of: "Ana").beginInterruption()
    #expect(!recorder.isAvailable)
    start()
    room.machine(of: "Ana").endInterruption()
    #expect(!recorder.isRecording)
    start()
    start()
    await room.run(for: .milliseconds(50))
    let reasons: [RPRecordingErrorCode] = [
      .attemptToStopNonRecording, .userDeclined, .activePhoneCall, .codeSuccessful, .attemptToStartInRecordingState,
    ]
    #expect(results.all == reasons.map(\.rawValue))
    try await recorder.stopCapture()
    let world = World(backend: EmbeddedBackend(virtual: 1), devices: DefaultDevices(screen: "nothing"))
    let blind = World.$current.withValue(world) { RPScreenRecorder.shared() }
    #expect(!blind.isAvailable)
    let error = await #expect(throws: NSError.self) { try await blind.startCapture(handler: nil) }
    #expect(error?.domain == RPRecordingErrorDomain)
    #expect(error?.code == RPRecordingErrorCode.failedToStart.rawValue)
  }

  @Test func recorderCapturesNoVideoInTheBackground() async throws {
    let room = try await TestRoom()
    let samples = Samples()
    let recorder = room.enter(as: "Ana") { RPScreenRecorder.shared() }
    try await recorder.startCapture(handler: { sample, type, _ in samples.add(sample, type) })
    room.machine(of: "Ana").moveToBackground()
    await room.run(for: .seconds(1))
    #expect(samples.count(.video) == 0)
    #expect(samples.count(.audioApp) > 90)
    room.machine(of: "Ana").returnToForeground()
    await room.until { samples.count(.video) > 3 }
    try await recorder.stopCapture()
  }

  @Test func broadcastHandlerGetsSamplesUntilPausedOrFinished() async throws {
    let room = try await TestRoom()
    let handler = Handler()
    let broadcast = room.broadcastScreen(of: "Ana", withMicrophone: true, setupInfo: ["stage": NSString("tea")]) {
      handler
    }
    room.machine(of: "Ana").moveToBackground()  // the screen then shows another app
    await room.run(for: .seconds(1))
    #expect(broadcast.state == .running)
    #expect(handler.samples.names == ["Ana"])
    #expect(handler.samples.loud == [.audioMic])
    #expect(broadcast.serviceInfo?["viewers"] as? NSNumber == 3)
    broadcast.pause()
    await room.run(for: .milliseconds(50))
    let paused = handler.samples.count(.audioApp)
    await room.run(for: .seconds(1))
    #expect(handler.samples.count(.audioApp) == paused)
    broadcast.resume()
    await room.run(for: .seconds(1))
    #expect(handler.samples.count(.audioApp) > paused + 90)
    broadcast.finish()
    broadcast.finish()
    await room.run(for: .milliseconds(50))
    let finished = handler.samples.count(.audioApp)
    await room.run(for: .seconds(1))
    #expect(handler.samples.count(.audioApp) == finished)
    #expect(handler.calls.withLock { $0 } == ["started tea", "paused", "resumed", "finished"])
    #expect(broadcast.error == nil)
  }

  private struct Refusal: Error, Equatable { var number = 1 }

  private final class FailingHandler: Handler {
    var isEarly: Bool
    init(isEarly: Bool) {
      self.isEarly = isEarly
      super.init()
      if isEarly { finishBroadcastWithError(Refusal()) }
    }
    override func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {
      super.processSampleBuffer(sampleBuffer, with: sampleBufferType)
      finishBroadcastWithError(Refusal(number: 2))
    }
  }

  @Test(arguments: [true, false]) func handlersErrorEndsTheBroadcast(isEarly: Bool) async throws {
    let room = try await TestRoom()
    let handler = FailingHandler(isEarly: isEarly)
    let broadcast = room.broadcastScreen(of: "Ana") { handler }
    await room.run(for: .seconds(1))
    broadcast.pause()
    broadcast.finish()
    await room.run(for: .milliseconds(50))
    #expect(broadcast.state == .finished)
    #expect(broadcast.error as? Refusal == Refusal(number: isEarly ? 1 : 2))
    #expect(handler.samples.count(.video) + handler.samples.count(.audioApp) == (isEarly ? 0 : 1))
    #expect(handler.calls.withLock { $0 } == (isEarly ? [] : ["started "]))
  }

  // MARK: In the vendors' SDKs

  /// A broadcast extension that publishes the screen on a stage.
  private final class StageHandler: RPBroadcastSampleHandler, IVSStageStrategy {
    private let source = IVSDeviceDiscovery().createImageSource(withName: "screen")
    private let token: String
    private lazy var stream = IVSLocalStageStream(device: source)
    private var stage: IVSStage?

    init(token: String) { self.token = token }

    override func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {
      do {
        stage = try IVSStage(token: token, strategy: self)
        try stage?.join()
      } catch { finishBroadcastWithError(error) }
    }
    override func broadcastFinished() { stage?.leave() }
    override func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {
      if sampleBufferType == .video { source.onSampleBuffer(sampleBuffer) }
    }
    func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
      -> [IVSLocalStageStream]
    { [stream] }
    func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
    func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo)
      -> IVSStageSubscribeType
    { .none }
  }

  @Test func screenOfAnExtensionReachesTheStage() async throws {
    let room = try await TestRoom()
    let bea = try await room.join("Bea")
    let token = try room.credential(.stageStrategy, for: "Ana").token
    let broadcast = room.broadcastScreen(of: "Ana") { StageHandler(token: token) }
    await room.until("Bea sees Ana's screen") { bea.sees("Ana") }
    #expect(broadcast.error == nil)
    broadcast.finish()
    await room.until("Ana has left") { bea.others.isEmpty }
  }

  /// As in the vendor's guide for low-latency streaming.
  private final class BroadcastHandler: RPBroadcastSampleHandler, IVSBroadcastSession.Delegate {
    let states = Lock<[IVSBroadcastSession.State]>([])
    let peaks = Lock<[Double]>([])
    private let file: URL
    private(set) var session: IVSReplayKitBroadcastSession?

    init(file: URL) {
      self.file = file
      super.init()
      do {
        let config = IVSPresets.configurations().standardLandscape()
        try config.video.setSize(CGSize(width: 640, height: 360))
        session = try IVSReplayKitBroadcastSession(
          videoConfiguration: config.video, audioConfig: config.audio, delegate: self)
      } catch { finishBroadcastWithError(error) }
    }

    override func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {
      do { try session?.start(with: file, streamKey: "key") } catch { finishBroadcastWithError(error) }
    }
    override func broadcastFinished() {
      session?.broadcastFinished()
      do { try session?.start(with: file, streamKey: "") } catch { finishBroadcastWithError(error) }
      session = nil
    }
    override func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {
      switch sampleBufferType {
      case .audioApp: session?.systemAudioSource.onSampleBuffer(sampleBuffer)
      case .audioMic: session?.microphoneSource.onSampleBuffer(sampleBuffer)
      case .video:
        if let imageSource = session?.systemImageSource,
          let orientationAttachment = CMGetAttachment(
            sampleBuffer, key: RPVideoSampleOrientationKey as CFString, attachmentModeOut: nil) as? NSNumber,
          let orientation = CGImagePropertyOrientation(rawValue: orientationAttachment.uint32Value)
        {
          switch orientation {
          case .up, .upMirrored: imageSource.setHandsetRotation(0)
          case .down, .downMirrored: imageSource.setHandsetRotation(Float.pi)
          case .right, .rightMirrored: imageSource.setHandsetRotation(-(Float.pi / 2))
          case .left, .leftMirrored: imageSource.setHandsetRotation((Float.pi / 2))
          }
        }
        session?.systemImageSource.onSampleBuffer(sampleBuffer)
      }
    }
    func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State) {
      states.withLock { $0.append(state) }
    }
    func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: any Error) {}
    func broadcastSession(_ session: IVSBroadcastSession, audioStatsUpdatedWithPeak peak: Double, rms: Double) {
      peaks.withLock { $0.append(peak) }
    }
  }

  @Test func replayKitBroadcastSessionWritesScreenAndAudio() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let file = URL(fileURLWithPath: folder.file("screen.webm"))
    let room = try await TestRoom()
    var handlers: [BroadcastHandler] = []
    let broadcast = room.broadcastScreen(of: "Ana", withMicrophone: true) {
      handlers.append(BroadcastHandler(file: file))
      return handlers[0]
    }
    let handler = try #require(handlers.first)
    room.machine(of: "Ana").moveToBackground()
    await room.run(for: .seconds(2))
    broadcast.finish()
    await room.run(for: .milliseconds(100))
    #expect(handler.states.withLock { $0 } == [.connecting, .connected, .disconnected])
    #expect((broadcast.error as NSError?)?.code == IVSBroadcastError.sessionIsNotReady.rawValue, "once it is over")
    #expect(handler.peaks.withLock { $0.max() }.map { $0 > -30 } == true, "the microphone")
    #expect(room.enter(as: "Ana") { IVSSession.applicationAudioSessionStrategy } == .noAction)
    let raw = folder.file("frame.yuv")
    _ = try await Command(
      "ffmpeg", "-v", "error", "-ss", "1", "-i", file.path, "-frames:v", "1", "-pix_fmt", "yuv420p", "-f", "rawvideo",
      raw
    ).run()
    let pixels = try Data(contentsOf: URL(fileURLWithPath: raw))
    let frame = pixels.withUnsafeBytes {
      VideoFrame.from(i420: $0, width: 640, height: 360, captured: .zero, pool: FramePool(limit: 0))
    }
    #expect(StampReader.read(try #require(frame))?.name == "Ana")
  }

  @Test func stoppedReplayKitBroadcastSessionStartsAgain() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let files = ["first.webm", "second.webm"].map { URL(fileURLWithPath: folder.file($0)) }
    let room = try await TestRoom()
    var handlers: [BroadcastHandler] = []
    let broadcast = room.broadcastScreen(of: "Ana") {
      handlers.append(BroadcastHandler(file: files[0]))
      return handlers[0]
    }
    let handler = try #require(handlers.first)
    await room.run(for: .seconds(1))
    handler.session?.stop()
    await room.run(for: .milliseconds(100))
    #expect(handler.states.withLock { $0 } == [.connecting, .connected, .disconnected])
    let size = try Data(contentsOf: files[0]).count
    #expect(size > 1_000)
    await room.run(for: .seconds(1))
    #expect(try Data(contentsOf: files[0]).count == size, "nothing more is written")
    try handler.session?.start(with: files[1], streamKey: "key")
    await room.run(for: .seconds(1))
    broadcast.finish()
    await room.run(for: .milliseconds(100))
    #expect(handler.states.withLock { $0.suffix(3) } == [.connecting, .connected, .disconnected])
    #expect(handler.states.withLock { $0.count } == 6)
    #expect(try Data(contentsOf: files[1]).count > 1_000)
  }

  @Test func chimeSharesTheScreenOfReplayKit() async throws {
    let room = try await TestRoom()
    let bea = try await room.join("Bea")
    let credential = try room.credential(.meetingSession, for: "Ana")
    let app = try room.enter(as: "Ana") {
      try MeetingApp(
        createMeeting: Data(credential.createMeetingJSON.utf8), createAttendee: Data(credential.createAttendeeJSON.utf8)
      )
    }
    try room.enter(as: "Ana") { try app.start() }
    await room.until { bea.others == ["Ana"] }
    let (source, recorder) = room.enter(as: "Ana") {
      (ReplayKitSource(logger: app.session.logger), RPScreenRecorder.shared())
    }
    #expect(source.videoContentHint == VideoContentHint.detail)
    let share = ContentShareSource()
    share.videoSource = source
    app.session.audioVideo.startContentShare(source: share)
    try await recorder.startCapture(handler: { sample, type, _ in
      source.processSampleBuffer(sampleBuffer: sample, type: type)
    })
    await room.until("Bea sees the screen") { bea.seesScreen(of: "Ana") }
    try await recorder.stopCapture()
    await room.run(for: .seconds(5))
    #expect(bea.seesScreen(of: "Ana"), "the last frame is sent again")
    source.stop()
    await room.until("no frame is sent any more") { !bea.seesScreen(of: "Ana") }
    app.stop()
  }

  @Test func recorderDoesNotKeepItsWorld() async throws {
    weak var world: World?
    do {
      let made = World(backend: EmbeddedBackend(virtual: 1), devices: DefaultDevices(screen: "pattern:64x36@5"))
      let recorder = World.$current.withValue(made) { RPScreenRecorder.shared() }
      try await recorder.startCapture(handler: nil)
      await made.run(for: .milliseconds(500))
      try await recorder.stopCapture()
      world = made
      #expect(world != nil)
    }
    #expect(world == nil)
  }

  /// A screen that is turned by a quarter, in a world of its own.
  @Test func turnedScreenIsTurnedBackByTheHandsetRotation() async throws {
    let feed = VideoFeed(repeatingAfter: .milliseconds(100))
    Devices.register(camera: "turned-screen") { _ in feed }
    let world = World(backend: EmbeddedBackend(virtual: 1), devices: DefaultDevices(screen: "turned-screen"))
    let orientations = Lock<Set<UInt32>>([])
    let (source, recorder) = World.$current.withValue(world) {
      (IVSDeviceDiscovery().createImageSource(withName: "screen"), RPScreenRecorder.shared())
    }
    let sizes = Lock<[CGSize]>([])
    source.setOnFrameCallback { frame in sizes.withLock { $0.append(frame.size) } }
    try await recorder.startCapture(handler: { sample, type, _ in
      guard type == .video else { return }
      let orientation = CMGetAttachment(sample, key: RPVideoSampleOrientationKey, attachmentModeOut: nil) as? NSNumber
      orientations.withLock { _ = $0.insert(orientation?.uint32Value ?? 0) }
      source.setHandsetRotation(-(Float.pi / 2))
      source.onSampleBuffer(sample)
    })
    await world.run(for: .milliseconds(50))
    feed.push(
      FramePool(limit: 0).make(
        width: 64, height: 36, captured: world.backend.scheduler.now, quarterTurns: 1
      ) { _ in })
    await world.run(for: .milliseconds(500))
    #expect(orientations.withLock { $0 } == [CGImagePropertyOrientation.right.rawValue])
    #expect(sizes.withLock { $0.last } == CGSize(width: 36, height: 64))
    try await recorder.stopCapture()
  }
}
