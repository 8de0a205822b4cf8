import AmazonChimeSDK
import Foundation
import Koine
import Testing

/// Parts of the SDK that apps use on their own.
@Suite struct HelperTests {
  private let environment = TestEnvironment()

  private func inWorld<Value>(_ make: () -> Value) -> Value {
    World.$current.withValue(environment.world, operation: make)
  }

  @Test func intervalSchedulerFollowsTheClockOfTheRoom() async {
    let count = Lock(0)
    let scheduler: any AmazonChimeSDK.Scheduler = inWorld {
      IntervalScheduler(intervalMs: 100) { count.withLock { $0 += 1 } }
    }
    await environment.run()
    #expect(count.withLock { $0 } == 0, "not before the start")
    scheduler.start()
    scheduler.start()
    await environment.run(.milliseconds(99))
    #expect(count.withLock { $0 } == 0, "first after one interval")
    await environment.run(.milliseconds(951))
    #expect(count.withLock { $0 } == 10)
    scheduler.stop()
    scheduler.stop()
    await environment.run()
    #expect(count.withLock { $0 } == 10)
    scheduler.start()
    await environment.run(.milliseconds(250))
    #expect(count.withLock { $0 } == 12, "may be started again")
  }

  @Test func releasedIntervalSchedulerStops() async {
    let count = Lock(0)
    var scheduler: IntervalScheduler? = inWorld { IntervalScheduler(intervalMs: 100) { count.withLock { $0 += 1 } } }
    scheduler?.start()
    scheduler = nil
    await environment.run()
    #expect(count.withLock { $0 } == 0)
  }

  private final class Listener: ActiveSpeakerObserver, Sendable {
    let lists = Lock<[[String]]>([])
    let observerId = "listener"
    func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) {
      lists.withLock { $0.append(attendeeInfo.map(\.attendeeId)) }
    }
  }

  private final class Policy: ActiveSpeakerPolicy, Sendable {
    let asked = Lock(0)
    func calculateScore(attendeeInfo: AttendeeInfo, volume: VolumeLevel) -> Double { volume == .high ? 1 : 0 }
    func prioritizeVideoSendBandwidthForActiveSpeaker() -> Bool {
      asked.withLock { $0 += 1 }
      return true
    }
  }

  @Test func activeSpeakerDetectorOfTheAppFollowsTheRoster() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    let (listener, policy) = (Listener(), Policy())
    let detector = inWorld { DefaultActiveSpeakerDetector(selfAttendeeId: "ana") }
    detector.addActiveSpeakerObserver(policy: policy, observer: listener)
    ana.audioVideo.addRealtimeObserver(observer: detector)
    try ben.audioVideo.start(
      audioVideoConfiguration: AudioVideoConfiguration(audioDeviceCapabilities: .outputOnly))
    try ana.audioVideo.start()
    await environment.run(.seconds(2))
    #expect(listener.lists.withLock { $0.last } == ["ana"])
    #expect(policy.asked.withLock { $0 } > 0, "the local attendee is the first")
    _ = ana.audioVideo.realtimeLocalMute()
    await environment.run(.seconds(2))
    #expect(listener.lists.withLock { $0.last } == [])
    let (count, asked) = (listener.lists.withLock { $0.count }, policy.asked.withLock { $0 })
    detector.removeActiveSpeakerObserver(observer: listener)
    _ = ana.audioVideo.realtimeLocalUnmute()
    await environment.run(.seconds(2))
    #expect(listener.lists.withLock { $0.count } == count)
    #expect(policy.asked.withLock { $0 } == asked)
  }

  @Test func activeSpeakerObserverOfFacadeOrDetectorIsNotifiedUntilRemoved() async throws {
    let ana = environment.app("Ana")
    let detector = inWorld { DefaultActiveSpeakerDetector(selfAttendeeId: "ana") }
    ana.audioVideo.addRealtimeObserver(observer: detector)
    let sources: [any ActiveSpeakerDetectorFacade] = [ana.audioVideo, detector]
    let listeners = sources.map { _ in Listener() }
    for (source, listener) in zip(sources, listeners) {
      source.addActiveSpeakerObserver(policy: Policy(), observer: listener)
    }
    try ana.audioVideo.start()
    await environment.run(.seconds(2))
    for listener in listeners { #expect(listener.lists.withLock { $0.last } == ["ana"]) }
    for (source, listener) in zip(sources, listeners) { source.removeActiveSpeakerObserver(observer: listener) }
    let counts = listeners.map { $0.lists.withLock { $0.count } }
    _ = ana.audioVideo.realtimeLocalMute()
    await environment.run(.seconds(2))
    #expect(listeners.map { $0.lists.withLock { $0.count } } == counts)
  }

  @Test func policyIsAskedForBandwidthOnlyWhileTheLocalAttendeeIsFirst() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    let (own, others) = (Policy(), Policy())
    ana.audioVideo.addActiveSpeakerObserver(policy: own, observer: Listener())
    ben.audioVideo.addActiveSpeakerObserver(policy: others, observer: Listener())
    try ana.audioVideo.start()
    try ben.audioVideo.start(
      audioVideoConfiguration: AudioVideoConfiguration(audioDeviceCapabilities: .outputOnly))
    await environment.run(.seconds(2))
    #expect(own.asked.withLock { $0 } > 0)
    #expect(others.asked.withLock { $0 } == 0)
  }

  /// A screen that gives one frame.
  private final class StillScreen: Koine.VideoSource, Sendable {
    let format = VideoFormat(width: 320, height: 180, framesPerSecond: 10)
    private let inner = Lock<(any Koine.VideoSource)?>(nil)
    private let isDone = Lock(false)

    func start(on lane: Lane, deliver: @escaping @Sendable (Koine.VideoFrame) -> Void) throws {
      let pattern = try Devices.camera("pattern:320x180@10")
      inner.withLock { $0 = pattern }
      try pattern.start(on: lane) { [isDone] frame in
        let isFirst = isDone.withLock { done in
          defer { done = true }
          return !done
        }
        if isFirst { deliver(frame) }
      }
    }

    func stop() { inner.withLock { $0 }?.stop() }
  }

  private final class Sink: AmazonChimeSDK.VideoSink, Sendable {
    let times = Lock<[Int64]>([])
    func onVideoFrameReceived(frame: AmazonChimeSDK.VideoFrame) { times.withLock { $0.append(frame.timestampNs) } }
  }

  @Test func screenThatDoesNotChangeIsSentAgainFiveTimesASecond() async {
    Devices.register(camera: "still-screen") { _ throws(DeviceError) in StillScreen() }
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(screen: "still-screen"))
    let screen = World.$current.withValue(world) { InAppScreenCaptureSource(logger: Quiet()) }
    let sink = Sink()
    screen.addVideoSink(sink: sink)
    screen.start()
    await world.run(for: .seconds(2))
    let times = sink.times.withLock { $0 }
    #expect((9...11).contains(times.count))
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 200_000_000 }, "under rising timestamps")
    screen.stop()
    await world.run(for: .seconds(2))
    #expect(sink.times.withLock { $0.count } == times.count)
  }

  private final class TileListener: VideoTileObserver, Sendable {
    let lines = Lock<[String]>([])
    private func note(_ word: String, _ state: VideoTileState) {
      let size = "\(state.videoStreamContentWidth)x\(state.videoStreamContentHeight)"
      lines.withLock { $0.append("\(word) \(state.attendeeId) \(size) \(state.pauseState)") }
    }
    func videoTileDidAdd(tileState: VideoTileState) { note(tileState.isLocalTile ? "local" : "add", tileState) }
    func videoTileDidRemove(tileState: VideoTileState) { note("remove", tileState) }
    func videoTileDidPause(tileState: VideoTileState) { note("pause", tileState) }
    func videoTileDidResume(tileState: VideoTileState) { note("resume", tileState) }
    func videoTileSizeDidChange(tileState: VideoTileState) { note("size", tileState) }
  }

  private func frame(_ width: Int, _ height: Int) throws -> AmazonChimeSDK.VideoFrame {
    var made: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, width, height, kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, nil, &made)
    return AmazonChimeSDK.VideoFrame(
      timestampNs: 0, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: try #require(made)))
  }

  @Test func tileControllerMakesTilesOfFrames() async throws {
    let controller = DefaultVideoTileController(environment.world.delivery, Quiet(), selfId: "ana")
    let (listener, view) = (TileListener(), Screen())
    controller.addVideoTileObserver(observer: listener)
    func receive(_ frame: AmazonChimeSDK.VideoFrame?, _ id: Int, _ attendee: String?, _ state: VideoPauseState) async {
      environment.world.delivery.queue.sync {
        controller.onReceiveFrame(frame: frame, videoId: id, attendeeId: attendee, pauseState: state)
      }
      await environment.run(.milliseconds(1))
    }
    func lines() -> [String] {
      listener.lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
    let (small, large) = (try frame(64, 36), try frame(128, 72))
    await receive(nil, 1, "ben", .unpaused)
    #expect(lines() == [], "the end of an unknown video")
    await receive(small, 1, "ben", .unpaused)
    #expect(lines() == ["add ben 64x36 unpaused"])
    controller.bindVideoView(videoView: view, tileId: 1)
    await receive(large, 1, "ben", .unpaused)
    #expect(lines() == ["size ben 128x72 unpaused"])
    #expect(view.frames == 1)
    await receive(nil, 1, "ben", .pausedForPoorConnection)
    await receive(large, 1, "ben", .pausedForPoorConnection)
    #expect(lines() == ["pause ben 128x72 pausedForPoorConnection"])
    #expect(view.frames == 1, "a paused tile shows nothing")
    controller.pauseRemoteVideoTile(tileId: 1)
    await receive(nil, 1, "ben", .pausedForPoorConnection)
    #expect(lines() == ["pause ben 128x72 pausedByUserRequest"])
    controller.resumeRemoteVideoTile(tileId: 1)
    await receive(large, 1, "ben", .unpaused)
    #expect(lines() == ["resume ben 128x72 unpaused"])
    await receive(nil, 2, "cleo", .pausedForPoorConnection)
    #expect(lines() == ["add cleo 0x0 pausedForPoorConnection"])
    await receive(small, 3, nil, .unpaused)
    #expect(lines() == ["local ana 64x36 unpaused"])
    controller.pauseRemoteVideoTile(tileId: 3)
    await receive(nil, 1, "ben", .unpaused)
    #expect(lines() == ["remove ben 128x72 unpaused"], "a local tile cannot be paused")
  }
}
