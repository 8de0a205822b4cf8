import Dispatch
import Foundation
import Koine
import Testing

/// Devices that open slowly, while callers request the same device or another. A call that waits where it must not would wait
/// forever, so the time limit fails the test.
@Suite(.timeLimit(.minutes(5))) struct SlowDeviceTests {
  private func lane() -> Lane { Scheduler.real.lane("slow device") }

  /// Runs the work on its own thread.
  private func begin<Value: Sendable>(_ work: @escaping @Sendable () -> Value) -> Task<Value, Never> {
    Task {
      await withCheckedContinuation { done in
        Thread.detachNewThread { done.resume(returning: work()) }
      }
    }
  }

  private func fails(_ source: any VideoSource) -> Bool {
    do {
      try source.start(on: lane()) { _ in }
      return false
    } catch {
      return true
    }
  }

  @Test(arguments: [false, true]) func concurrentRequestsForDeviceShareItsOutcome(failing: Bool) async throws {
    let world = try virtualWorld()
    let slow = SlowCamera(fails: failing)
    let camera = SharedCamera(slow, in: world)
    let first = begin { fails(camera.makeSource()) }
    await slow.opening()
    let second = begin { fails(camera.makeSource()) }
    let (preview, other) = (Sizes(), CountingCamera(try Devices.camera("stamp:Ben")))
    camera.addSink(preview)  // returns although the device is not open
    #expect(camera.failure == nil)
    #expect(camera.format == slow.format)
    let another = SharedCamera(other, in: world)
    another.addSink(preview)
    #expect(other.starts == 1, "others are not held up")
    slow.open()
    #expect(await first.value == failing)
    #expect(await second.value == failing)
    #expect((camera.failure != nil) == failing)
    #expect(slow.calls.filter { $0 != "opening" } == (failing ? [] : ["opened"]))
  }

  @Test func cameraStoppedWhileOpeningIsClosedAfterOpening() async throws {
    let slow = SlowCamera()
    let camera = SharedCamera(slow, in: try virtualWorld())
    let source = camera.makeSource()
    let asker = begin { fails(source) }
    await slow.opening()
    source.stop()  // returns although the device is not open
    #expect(slow.calls == ["opening"])
    slow.open()
    #expect(await !asker.value)
    #expect(slow.calls == ["opening", "opened", "closed"])
  }

  @Test func cameraReplacedWhileOpeningIsClosedAndItsReplacementStarts() async throws {
    let slow = SlowCamera()
    let camera = SharedCamera(slow, in: try virtualWorld())
    let asker = begin { fails(camera.makeSource()) }
    await slow.opening()
    let other = CountingCamera(try Devices.camera("stamp:Ben"))
    camera.replace(other)
    slow.open()
    #expect(await !asker.value)
    #expect(slow.calls == ["opening", "opened", "closed"])
    #expect(other.starts == 1)
  }

  @Test func machineCameraStoppedWhileOpeningIsClosedAfterOpening() async throws {
    let slow = SlowCamera()
    Devices.register(camera: "slow eye") { _ throws(DeviceError) in slow }
    let machine = Machine([.init(id: "eye", kind: .camera, name: "eye", source: "slow eye")])
    let source = try machine.makeCamera("eye")
    let asker = begin { fails(source) }
    await slow.opening()
    let other = Machine.Device(id: "other", kind: .camera, name: "other", source: "stamp:Ben")
    machine.plugIn(other)
    try machine.makeCamera("other").start(on: lane()) { _ in }
    source.stop()
    machine.unplug("eye")
    slow.open()
    #expect(await !asker.value)
    #expect(slow.calls == ["opening", "opened", "closed"])
  }

  /// The device change may have removed the cause of the failure.
  @Test func deviceThatFailsDuringDeviceChangeIsRetried() async throws {
    let slow = SlowCamera(fails: true)
    Devices.register(camera: "slow failing eye") { _ throws(DeviceError) in slow }
    let machine = Machine([.init(id: "eye", kind: .camera, name: "eye", source: "slow failing eye")])
    let source = try machine.makeCamera("eye")
    let asker = begin { fails(source) }
    await slow.opening()
    machine.plugIn(.init(id: "other", kind: .camera, name: "other", source: "stamp:Ben"))
    slow.open()
    #expect(await asker.value)
    #expect(slow.calls.filter { $0 == "opening" }.count == 2)
  }

  @Test func playbackIsNotBlockedByOpeningLoudspeaker() async throws {
    let (gate, played) = (Gate(), Lock(0))
    Devices.register(loudspeaker: "slow ear") { _ throws(DeviceError) in
      gate.pass()
      return CountingAudioSink(played)
    }
    let machine = Machine([.init(id: "none", kind: .loudspeaker, name: "none", source: "none")])
    let loudspeaker = machine.makeLoudspeaker()
    let person = begin { machine.plugIn(.init(id: "ear", kind: .loudspeaker, name: "ear", source: "slow ear")) }
    await gate.reached()
    loudspeaker.play(AudioBlock(captured: .zero))
    #expect(played.withLock { $0 } == 0)
    gate.open()
    await person.value
    loudspeaker.play(AudioBlock(captured: .zero))
    #expect(played.withLock { $0 } == 1)
  }

  /// Sources are the app's: they may do anything from inside `start`.
  @Test func cameraMayBeRemovedOrReplacedDuringItsStart() throws {
    let camera = SlowCamera()
    camera.open()
    let shared = SharedCamera(camera, in: try virtualWorld())
    let preview = Sizes()
    let other = CountingCamera(try Devices.camera("stamp:Ben"))
    camera.whenOpened { [weak shared] in shared?.removeSink(preview) }
    shared.addSink(preview)
    #expect(camera.calls == ["opening", "opened", "closed"])
    camera.whenOpened { [weak shared] in shared?.replace(other) }
    shared.addSink(preview)
    #expect(camera.calls.suffix(3) == ["opening", "opened", "closed"])
    #expect(other.starts == 1)
    #expect(other.stops == 0)
    shared.removeSink(preview)
    #expect(other.stops == 1)
  }
}

/// Blocks callers of `pass` until `open` is called.
private final class Gate: Sendable {
  private let news = AsyncStream<Void>.makeStream()
  private let lock = DispatchSemaphore(value: 0)

  func pass() {
    news.continuation.yield()
    lock.wait()
    lock.signal()
  }

  func open() { lock.signal() }
  /// Returns once a caller waits at the gate.
  func reached() async { for await _ in news.stream { return } }
}

private final class SlowCamera: VideoSource, Sendable {
  struct Broken: Error {}

  let format = VideoFormat()
  private let fails: Bool
  private let gate = Gate()
  private let log = Lock<[String]>([])
  private let then = Lock<(@Sendable () -> Void)?>(nil)

  init(fails: Bool = false) { self.fails = fails }

  var calls: [String] { log.withLock { $0 } }
  func opening() async { await gate.reached() }
  func open() { gate.open() }
  /// Once.
  func whenOpened(_ work: @escaping @Sendable () -> Void) { then.withLock { $0 = work } }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    log.withLock { $0.append("opening") }
    gate.pass()
    if fails { throw Broken() }
    log.withLock { $0.append("opened") }
    let work = then.withLock { then in
      defer { then = nil }
      return then
    }
    work?()
  }

  func stop() { log.withLock { $0.append("closed") } }
}

private final class CountingAudioSink: AudioSink, Sendable {
  private let played: Lock<Int>
  init(_ played: Lock<Int>) { self.played = played }
  func play(_ block: AudioBlock) { played.withLock { $0 += 1 } }
}
