import Koine
import KoineEmbeddedBackend
import Testing

struct SharedDeviceTests {
  @Test func previewAndTwoCallsShareOneCamera() async throws {
    let world = try virtualWorld()
    let device = CountingCamera(try Devices.camera("stamp:Ana,320x180@30"))
    let camera = SharedCamera(device, in: world)
    let preview = Sizes()
    camera.addSink(preview)
    await world.run(for: .seconds(1))
    #expect(preview.count > 25)
    #expect(device.starts == 1)
    let sessions = ["one", "two"].map { Session(JoinRequest(room: $0, name: "Ana"), in: world) }
    let streams = try sessions.map { try $0.publish(camera: camera.makeSource()) }
    for session in sessions { session.join { _ in } }
    await world.run(for: .seconds(1))
    let figures = await world.run { await sessions[1].statistics() }
    #expect((figures.streams.first?.sentVideo?.captured ?? 0) > 20)
    camera.removeSink(preview)
    let before = preview.count
    for stream in streams { stream.unpublish() }
    await world.run(for: .seconds(1))
    #expect(preview.count == before)
    #expect(device.starts == 1)
    #expect(device.stops == 1)
  }

  @Test func replacedCameraReachesAttachedSinks() async throws {
    let world = try virtualWorld()
    let camera = SharedCamera(try Devices.camera("stamp:Front,320x180@30"), in: world)
    let preview = Sizes()
    camera.addSink(preview)
    await world.run(for: .milliseconds(500))
    #expect(preview.last == 180)
    camera.replace(try Devices.camera("stamp:Back,320x240@30"))
    await world.run(for: .milliseconds(500))
    #expect(preview.last == 240)
  }

  @Test func cameraThatFailsToStartReportsTheError() async throws {
    let world = try virtualWorld()
    let camera = SharedCamera(BrokenCamera(), in: world)
    camera.addSink(Sizes())
    #expect(camera.failure as? BrokenCamera.Broken == .init())
    camera.replace(try Devices.camera("stamp:Ana"))
    #expect(camera.failure == nil)
  }
}

final class CountingCamera: VideoSource, Sendable {
  private let camera: any VideoSource
  private let counts = Lock((starts: 0, stops: 0))

  init(_ camera: any VideoSource) { self.camera = camera }

  var starts: Int { counts.withLock { $0.starts } }
  var stops: Int { counts.withLock { $0.stops } }
  var format: VideoFormat { camera.format }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    counts.withLock { $0.starts += 1 }
    try camera.start(on: lane, deliver: deliver)
  }

  func stop() {
    counts.withLock { $0.stops += 1 }
    camera.stop()
  }
}

final class BrokenCamera: VideoSource, Sendable {
  struct Broken: Error, Hashable {}
  let format = VideoFormat()
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws { throw Broken() }
  func stop() {}
}
