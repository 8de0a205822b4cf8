import Dispatch
import Foundation
import Koine
import KoineTestSupport
import Testing

@testable import KoineMediaFiles

/// X11 screens, on the test's own X server, and the parts of Video4Linux that need no camera.
@Suite(.timeLimit(.minutes(15))) struct VideoDeviceTests {
  init() { MediaFiles.register() }

  private func frames(of camera: any VideoSource) throws -> AsyncStream<VideoFrame> {
    let (stream, continuation) = AsyncStream.makeStream(of: VideoFrame.self)
    try camera.start(on: Scheduler.real.lane("test camera")) { continuation.yield($0) }
    continuation.onTermination = { _ in camera.stop() }
    return stream
  }

  /// Waits for a frame of this colour, not counting the middle, where the pointer is.
  private func wait(for color: (y: Int, u: Int, v: Int), in pictures: AsyncStream<VideoFrame>) async -> VideoFrame? {
    for await picture in pictures {
      let pixels = picture.i420()
      let (width, height) = (picture.width, picture.height)
      let luma = Int(pixels[height / 4 * width + width / 4])
      let chroma = (width / 2) * (height / 8) + width / 8
      let u = Int(pixels[width * height + chroma])
      let v = Int(pixels[width * height + (width / 2) * (height / 2) + chroma])
      if abs(luma - color.y) < 6, abs(u - color.u) < 6, abs(v - color.v) < 6 { return picture }
    }
    return nil
  }

  private let red = (y: 81, u: 90, v: 240)
  private let green = (y: 145, u: 54, v: 34)

  @Test func screenCaptureFollowsChanges() async throws {
    try await ScreenServer.with { server in
      try await server.paint("#ff0000")
      let screen = try Devices.camera("x11:\(server.display),160x120@20")
      #expect(screen.format == VideoFormat(width: 160, height: 120, framesPerSecond: 20))
      let before = Scheduler.real.now
      let first = try #require(await wait(for: red, in: try frames(of: screen)))
      #expect(
        first.width == 160 && first.height == 120 && first.captured > before && first.captured <= Scheduler.real.now)
      try await server.paint("#00ff00")
      #expect(await wait(for: green, in: try frames(of: screen)) != nil, "started again")
    }
  }

  @Test func screenCaptureUsesTheScreensSizeByDefault() async throws {
    try await ScreenServer.with { server in
      let screen = try Devices.camera("x11:\(server.display)")
      #expect(screen.format == VideoFormat(width: 320, height: 240, framesPerSecond: 15))
      try await server.paint("#ff0000")
      #expect(await wait(for: red, in: try frames(of: screen))?.width == 320)
      #expect(throws: DeviceError.self, "a virtual clock") {
        try screen.start(on: Scheduler.virtual().lane("x")) { _ in }
      }
    }
  }

  @Test func blockedLaneDropsFrames() async throws {
    try await ScreenServer.with { server in
      let screen = try Devices.camera("x11:\(server.display),32x24@60")
      let lane = Scheduler.real.lane("busy")
      let open = DispatchSemaphore(value: 0)
      let (stream, continuation) = AsyncStream.makeStream(of: Tick.self)
      lane.post { open.wait() }
      try screen.start(on: lane) { continuation.yield($0.captured) }
      // Another reader of the same screen sees twenty pictures pass meanwhile.
      var passed = 0
      for await _ in try frames(of: Devices.camera("x11:\(server.display),32x24@60")) {
        passed += 1
        if passed == 20 { break }
      }
      let opened = Scheduler.real.now
      open.signal()
      var early = 0
      for await captured in stream {
        if captured >= opened { break }
        early += 1
      }
      screen.stop()
      #expect((1...2).contains(early), "the one that waited, and perhaps one that was being read")
    }
  }

  @Test func invalidDeviceTextsThrow() {
    for text in [
      "x11", "x11:", "x11:nothing", "x11::9876", "x11::0,4x4", "v4l2", "v4l2:", "v4l2:video0", "v4l2:/dev/null",
      "v4l2:/no/such/file", "v4l2:/dev/null,640x480@0",
    ] {
      #expect(throws: DeviceError.self, "\(text)") { try Devices.camera(text) }
    }
  }

  @Test func cameraPlugAndUnplugAreReported() async throws {
    let home = try Folder()
    let folder = home.path
    let machine = Machine([], delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    var events = machine.events().makeAsyncIterator()
    func plug(_ name: String) { _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil) }
    plug("video3")
    plug("video1")
    plug("videos")
    let cameras = try #require(
      CameraWatch(machine, folder: folder) { path in path.hasSuffix("1") ? nil : "Camera \(path.suffix(1))" })
    let watch = DeviceWatch(sound: nil, cameras: cameras)
    #expect(machine.devices.map(\.source) == ["v4l2:\(folder)/video3"])
    plug("video0")
    while machine.devices.count < 2, await events.next() != nil {}
    #expect(machine.current(.camera)?.name == "Camera 3")
    try FileManager.default.removeItem(atPath: "\(folder)/video3")
    while machine.current(.camera)?.name != "Camera 0", await events.next() != nil {}
    #expect(machine.devices.count == 1)
    try FileManager.default.moveItem(atPath: "\(folder)/video0", toPath: "\(folder)/away")
    while !machine.devices.isEmpty, await events.next() != nil {}
    try FileManager.default.moveItem(atPath: "\(folder)/away", toPath: "\(folder)/video2")
    while machine.current(.camera)?.name != "Camera 2", await events.next() != nil {}
    withExtendedLifetime(watch) {}
  }

  @Test func pathWithoutCameraIsNotDescribed() {
    #expect(CameraWatch.describe("/dev/null") == nil)
    #expect(CameraWatch.describe("/nowhere") == nil)
  }
}
