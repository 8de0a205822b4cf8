import Koine
import KoineConformanceDrivers
@testable import KoineConformanceKit
import KoineEmbeddedBackend
import Testing

/// Cameras and microphones of an app that releases its objects are free within a second.
@MainActor @Suite struct DeviceReleaseTests {
  /// Running devices of one test.
  private final class Running: Sendable {
    private let state = Lock((now: 0, started: 0))
    var now: Int { state.withLock { $0.now } }
    var started: Int { state.withLock { $0.started } }
    func begin() { state.withLock { $0 = ($0.now + 1, $0.started + 1) } }
    /// - Parameter isOn: false afterwards; what did not run does not end.
    func end(_ isOn: Lock<Bool>) {
      let wasOn = isOn.withLock { isOn in
        defer { isOn = false }
        return isOn
      }
      if wasOn { state.withLock { $0.now -= 1 } }
    }
  }

  private final class CountedCamera: VideoSource {
    private let source: any VideoSource
    private let running: Running
    private let isOn = Lock(false)
    var format: VideoFormat { source.format }
    init(_ source: any VideoSource, _ running: Running) { (self.source, self.running) = (source, running) }
    func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
      try source.start(on: lane, deliver: deliver)
      isOn.withLock { $0 = true }
      running.begin()
    }
    func stop() {
      source.stop()
      running.end(isOn)
    }
  }

  private final class CountedMicrophone: AudioSource {
    private let source: any AudioSource
    private let running: Running
    private let isOn = Lock(false)
    var channels: Int { source.channels }
    init(_ source: any AudioSource, _ running: Running) { (self.source, self.running) = (source, running) }
    func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
      try source.start(on: lane, deliver: deliver)
      isOn.withLock { $0 = true }
      running.begin()
    }
    func stop() {
      source.stop()
      running.end(isOn)
    }
  }

  /// With a leave before the release, and without.
  @Test(arguments: Style.allCases, [false, true])
  func devicesOfReleasedAppStopWithinASecond(_ style: Style, leavesFirst: Bool) async throws {
    let running = Running()
    let kind = "counted-\(style.rawValue)-\(leavesFirst)"
    Devices.register(camera: kind) { _ throws(DeviceError) in
      CountedCamera(try Devices.camera("pattern:160x90@15"), running)
    }
    Devices.register(microphone: kind) { _ throws(DeviceError) in
      CountedMicrophone(try Devices.microphone("tone"), running)
    }
    let world = World(
      backend: EmbeddedBackend(virtual: 3), devices: DefaultDevices(camera: kind, microphone: kind),
      stamps: StampedMedia())
    let context = ScenarioContext("koine", style.rawValue, at: KoineEnvironment(world, isVirtual: true))
    let ben = try await context.joined("Ben", style: style.rawValue)
    try await context.until("camera and microphone run") { running.now >= 2 }
    if leavesFirst { ben.leave() }
    context.drop(ben)
    await context.run(milliseconds: 1_000)
    #expect(running.now == 0)
    #expect(running.started >= 2)
  }
}
