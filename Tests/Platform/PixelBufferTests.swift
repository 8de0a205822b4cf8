import Dispatch
import Koine
import KoineAVFoundation
import KoineCoreVideo
import KoineEmbeddedBackend
import Testing

/// Pixel buffers that apps make, write, and hand to the engine.
@Suite struct PixelBufferTests {
  private func make(_ format: OSType, _ width: Int, _ height: Int) throws -> CVPixelBuffer {
    var buffer: CVPixelBuffer?
    #expect(CVPixelBufferCreate(kCFAllocatorDefault, width, height, format, nil, &buffer) == kCVReturnSuccess)
    return try #require(buffer)
  }

  /// Writes one value into every byte of a plane, row by row.
  private func fill(_ buffer: CVPixelBuffer, plane: Int, bytes: Int, _ value: UInt8) throws {
    let base = try #require(CVPixelBufferGetBaseAddressOfPlane(buffer, plane))
    for row in 0..<CVPixelBufferGetHeightOfPlane(buffer, plane) {
      let start = base + row * CVPixelBufferGetBytesPerRowOfPlane(buffer, plane)
      start.assumingMemoryBound(to: UInt8.self).update(repeating: value, count: bytes)
    }
  }

  private func color(_ frame: VideoFrame) -> [UInt8] {
    frame.withPlanes { planes in
      let last = (planes.chromaHeight - 1) * planes.chromaStride + planes.chromaWidth - 1
      return [
        planes.y[0], planes.y[(planes.height - 1) * planes.lumaStride + planes.width - 1], planes.u[last],
        planes.v[last],
      ]
    }
  }

  @Test(arguments: [(64, 36), (33, 17), (1, 1)])
  func writtenPlanesBecomeAVideoFrame(width: Int, height: Int) throws {
    let chroma = (width + 1) / 2
    let planar = try make(kCVPixelFormatType_420YpCbCr8Planar, width, height)
    CVPixelBufferLockBaseAddress(planar, [])
    #expect(CVPixelBufferGetPlaneCount(planar) == 3)
    #expect(CVPixelBufferGetBaseAddress(planar) == nil)
    for (plane, value) in [UInt8(90), 110, 150].enumerated() {
      try fill(planar, plane: plane, bytes: plane == 0 ? width : chroma, value)
    }
    CVPixelBufferUnlockBaseAddress(planar, [])
    let first = try #require(planar.videoFrame(captured: Tick(nanoseconds: 5), quarterTurns: 1))
    #expect(color(first) == [90, 90, 110, 150])
    #expect(first.captured.nanoseconds == 5)
    #expect(first.quarterTurns == 1)

    let biPlanar = try make(kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, width, height)
    CVPixelBufferLockBaseAddress(biPlanar, [])
    #expect(CVPixelBufferGetPlaneCount(biPlanar) == 2)
    #expect(CVPixelBufferGetWidthOfPlane(biPlanar, 1) == chroma)
    try fill(biPlanar, plane: 0, bytes: width, 90)
    try fill(biPlanar, plane: 1, bytes: 2 * chroma, 120)
    #expect(color(try #require(biPlanar.videoFrame())) == [90, 90, 120, 120])
  }

  @Test func bgraPixelsKeepTheirColors() throws {
    let buffer = try make(kCVPixelFormatType_32BGRA, 32, 16)
    CVPixelBufferLockBaseAddress(buffer, CVPixelBufferLockFlags(rawValue: 0))
    let base = try #require(CVPixelBufferGetBaseAddress(buffer)?.assumingMemoryBound(to: UInt8.self))
    for row in 0..<16 {
      for column in 0..<32 {
        let pixel = base + row * CVPixelBufferGetBytesPerRow(buffer) + 4 * column
        (pixel[0], pixel[1], pixel[2], pixel[3]) = (200, 100, 50, 255)
      }
    }
    #expect(CVPixelBufferGetPlaneCount(buffer) == 0)
    #expect(CVPixelBufferGetBaseAddressOfPlane(buffer, 7) == nil)
    let pixels = try #require(buffer.videoFrame()).pixels(.bgra)
    for (value, expected) in zip(pixels, [UInt8(200), 100, 50]) { #expect(abs(Int(value) - Int(expected)) < 4) }
  }

  @Test func writingToAnEngineFrameWritesACopy() throws {
    let frame = FramePool(limit: 0).make(width: 16, height: 16, captured: .zero) { planes in
      for index in 0..<planes.lumaStride * 16 { planes.y[index] = 100 }
      for index in 0..<planes.chromaStride * 8 { (planes.u[index], planes.v[index]) = (128, 128) }
    }
    let buffer = CVPixelBuffer(frame)
    CVPixelBufferLockBaseAddress(buffer, .readOnly)
    #expect(
      CVPixelBufferGetBaseAddressOfPlane(buffer, 0) == frame.withPlanes { UnsafeMutableRawPointer(mutating: $0.y) })
    CVPixelBufferLockBaseAddress(buffer, [])
    try fill(buffer, plane: 0, bytes: 16, 10)
    #expect(color(frame) == [100, 100, 128, 128])
    #expect(color(try #require(buffer.videoFrame())) == [10, 10, 128, 128])
  }

  @Test func invalidFormatsAndSizesReturnErrorCodes() {
    var buffer: CVPixelBuffer?
    #expect(CVPixelBufferCreate(nil, 16, 16, 0x1234, nil, &buffer) == kCVReturnInvalidPixelFormat)
    #expect(CVPixelBufferCreate(nil, 0, 16, kCVPixelFormatType_32BGRA, nil, &buffer) == kCVReturnInvalidSize)
    #expect(CVPixelBufferCreate(nil, .max, 16, kCVPixelFormatType_32BGRA, [:], &buffer) == kCVReturnInvalidSize)
    #expect(buffer == nil)
  }

  @Test func permissionIsGrantedOnTheDeliveryQueueUnlessDenied() async {
    let delivery = Delivery(queue: DispatchQueue(label: "delivery"))
    let world = World(backend: EmbeddedBackend(virtual: 1), delivery: delivery)
    await World.$current.withValue(world) {
      let granted = await withCheckedContinuation { done in
        AVAudioSession.sharedInstance().requestRecordPermission { isGranted in
          dispatchPrecondition(condition: .onQueue(delivery.queue))
          done.resume(returning: isGranted)
        }
      }
      #expect(granted)
      #expect(AVAudioSession.sharedInstance().recordPermission == .granted)
      #expect(await AVCaptureDevice.requestAccess(for: .video))
      world.machine.setPermission(.undetermined, .camera)
      world.machine.willAnswer(.denied, .camera)
      #expect(AVCaptureDevice.authorizationStatus(for: .video) == .notDetermined)
      #expect(AVCaptureDevice.authorizationStatus(for: .audio) == .authorized)
      let denied = await withCheckedContinuation { done in
        AVCaptureDevice.requestAccess(for: .video) { done.resume(returning: !$0) }
      }
      #expect(denied)
      #expect(AVCaptureDevice.authorizationStatus(for: .video) == .denied)
    }
  }
}
