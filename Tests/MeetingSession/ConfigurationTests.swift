import AmazonChimeSDK
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// What `AudioVideoConfiguration` and the camera's settings do.
@Suite struct ConfigurationTests {
  private let environment = TestEnvironment()
  private var backend: EmbeddedBackend { get throws { try #require(environment.world.backend as? EmbeddedBackend) } }

  private func start(_ app: App, timeout: Int) throws {
    try app.audioVideo.start(audioVideoConfiguration: AudioVideoConfiguration(reconnectTimeoutMs: timeout))
  }

  @Test func lostConnectionIsGivenUpAfterTheReconnectTimeout() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    try start(ana, timeout: 10_000)
    try start(ben, timeout: 60_000)
    await environment.run(.seconds(2))
    for name in ["ana", "ben"] { try backend.cutNetwork(of: name, for: .seconds(3_600)) }
    while !ana.lines.contains("audio dropped") { await environment.run(.milliseconds(100)) }
    await environment.run(.seconds(9))
    #expect(!ana.lines.contains("audio stopped audioDisconnected"))
    await environment.run(.seconds(2))
    #expect(
      ana.lines.suffix(3) == [
        "audio cancelled", "audio stopped audioDisconnected", "video stopped videoServiceUnavailable",
      ])
    await environment.run(.seconds(40))
    #expect(!ben.lines.contains { $0.hasPrefix("audio stopped") })
    await environment.run(.seconds(20))
    #expect(ben.lines.contains("audio stopped audioDisconnected"))
  }

  @Test func connectionLostForTwoMinutesIsRestoredByDefault() async throws {
    let app = environment.app("Ana")
    try app.audioVideo.start()
    await environment.run(.seconds(2))
    try backend.cutNetwork(of: "ana", for: .seconds(120))
    await environment.run(.seconds(180))
    #expect(app.lines.contains("audio started again"))
    #expect(!app.lines.contains { $0.hasPrefix("audio stopped") })
  }

  @Test func receivedVideoHasABandwidthEstimateOfThePath() async throws {
    let environment = TestEnvironment(network: "rate=400k,delay=20ms")
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      app.audioVideo.startRemoteVideo()
    }
    func bandwidths(_ app: App) -> [Int] {
      app.told.withLock { $0.metrics }.compactMap { $0[ObservableMetric.videoAvailableReceiveBandwidth] as? Int }
    }
    await environment.run(.seconds(5))
    #expect(bandwidths(ana) == [], "no video is received")
    // Noise takes all the bitrate that there is.
    ben.audioVideo.startLocalVideo(
      source: try Noise(in: environment.world), config: LocalVideoConfiguration(maxBitRateKbps: 1_500))
    await environment.run(.seconds(20))
    let last = try #require(bandwidths(ana).last)
    #expect((150_000...450_000).contains(last))
    backend.setNetwork(try NetworkSpec("delay=20ms"))
    await environment.run(.seconds(30))
    #expect(bandwidths(ana).last.map { $0 > last } == true, "it follows the path")
    #expect(bandwidths(ben) == [], "he receives none")
  }

  private func camera() -> DefaultCameraCaptureSource {
    World.$current.withValue(environment.world) { DefaultCameraCaptureSource(logger: Quiet()) }
  }

  private func plugInTorch() {
    environment.world.machine.plugIn(
      Machine.Device(
        id: "back camera", kind: .camera, name: "Back camera", attachment: .back, source: "pattern", hasTorch: true))
  }

  @Test func torchIsThatOfTheMachinesCamera() {
    plugInTorch()
    let machine = environment.world.machine
    let camera = camera()
    #expect(!camera.torchAvailable, "the front camera has none")
    camera.torchEnabled = true
    #expect(!camera.torchEnabled)
    camera.switchCamera()
    #expect(camera.torchAvailable)
    camera.torchEnabled = true
    #expect(camera.torchEnabled)
    #expect(machine.isTorchOn("back camera"))
    camera.torchEnabled = false
    #expect(!machine.isTorchOn("back camera"))
    camera.torchEnabled = true
    camera.switchCamera()
    #expect(!camera.torchEnabled, "the other camera has none")
    #expect(!machine.isTorchOn("back camera"))
  }

  @Test func torchGoesOffWithItsCamera() {
    plugInTorch()
    let machine = environment.world.machine
    var camera: DefaultCameraCaptureSource? = camera()
    camera?.switchCamera()
    camera?.torchEnabled = true
    #expect(machine.isTorchOn("back camera"))
    machine.unplug("back camera")
    #expect(camera?.torchEnabled == false)
    plugInTorch()
    camera?.torchEnabled = true
    camera = nil
    #expect(!machine.isTorchOn("back camera"), "released")
  }
}

/// A camera of noise, which no encoder can make small.
private final class Noise: AmazonChimeSDK.VideoSource, @unchecked Sendable {  // `random` is touched on the lane only
  var videoContentHint = VideoContentHint.motion
  private let sinks = Lock<[any AmazonChimeSDK.VideoSink]>([])
  private let clock: any Koine.VideoSource
  private var random = SeededRandom(seed: 5)

  init(in world: World) throws {
    clock = try Devices.camera("pattern:192x108@15")
    try clock.start(on: world.backend.scheduler.lane("noise")) { [weak self] in self?.draw($0) }
  }

  func addVideoSink(sink: any AmazonChimeSDK.VideoSink) { sinks.withLock { $0.append(sink) } }
  func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { sinks.withLock { $0.removeAll { $0 === sink } } }

  private func draw(_ frame: Koine.VideoFrame) {
    var made: CVPixelBuffer?
    guard
      CVPixelBufferCreate(
        nil, frame.width, frame.height, kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, nil, &made)
        == kCVReturnSuccess,
      let buffer = made
    else { return }
    CVPixelBufferLockBaseAddress(buffer, [])
    for plane in 0..<2 {
      let count = CVPixelBufferGetBytesPerRowOfPlane(buffer, plane) * CVPixelBufferGetHeightOfPlane(buffer, plane)
      let bytes = UnsafeMutableRawBufferPointer(start: CVPixelBufferGetBaseAddressOfPlane(buffer, plane), count: count)
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
    }
    CVPixelBufferUnlockBaseAddress(buffer, [])
    let noise = AmazonChimeSDK.VideoFrame(
      timestampNs: frame.captured.nanoseconds, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: buffer))
    for sink in sinks.withLock({ $0 }) { sink.onVideoFrameReceived(frame: noise) }
  }
}
