import KoineBase
import KoineMedia
import Testing

@Suite struct PortraitTests {
  /// The pixels of a camera after 0.3 s.
  private func pixels(_ words: String) throws -> [UInt8] {
    let scheduler = Scheduler.virtual()
    let camera = try Devices.camera(words)
    let frames = Lock<[VideoFrame]>([])
    try camera.start(on: scheduler.lane("camera")) { frame in frames.withLock { $0.append(frame) } }
    scheduler.advance(to: scheduler.now + .milliseconds(300))
    camera.stop()
    let last = try #require(frames.withLock { $0.last })
    return last.pixels(.rgba)
  }

  @Test(arguments: ["portrait:Ana,320x180@30", "portrait:Ana,17x16@10", "portrait", "portrait:,1280x720"])
  func portraitIsDrawnInEverySize(words: String) throws {
    let pixels = try pixels(words)
    #expect(Set(pixels).count > 3)
  }

  @Test func portraitsOfTwoNamesDifferAndOfOneNameAgree() throws {
    #expect(try pixels("portrait:Ana,160x90@30") == pixels("portrait:Ana,160x90@30"))
    #expect(try pixels("portrait:Ana,160x90@30") != pixels("portrait:Ben,160x90@30"))
  }

  @Test func portraitOfAnInvalidSizeIsRefused() {
    #expect(throws: DeviceError.self) { try Devices.camera("portrait:Ana,1x1") }
  }
}
