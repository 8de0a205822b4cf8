#sourceLocation(file: "Samples/apps/call-agent/SlideShare.swift", line: 1)
import AVFoundation
import AzureCommunicationCalling
import Foundation

/// Sends a slide, a page in one colour, as the shared screen, five times a second.
final class SlideShare: NSObject, ScreenShareOutgoingVideoStreamDelegate, @unchecked Sendable {
  let stream: ScreenShareOutgoingVideoStream
  private let slide: CVPixelBuffer
  private let clock: any Clock<Duration>
  private var sending: Task<Void, Never>?

  /// - Returns: nil if there is no memory for the slide.
  init?(luma: UInt8, clock: any Clock<Duration>) {
    guard let slide = Self.makeSlide(width: 640, height: 360, luma: luma) else { return nil }
    let format = VideoStreamFormat()
    format.resolution = .p360
    format.pixelFormat = .nv12
    format.framesPerSecond = 15
    format.stride1 = 640
    format.stride2 = 640
    let options = RawOutgoingVideoStreamOptions()
    options.formats = [format]
    stream = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
    self.slide = slide
    self.clock = clock
    super.init()
    stream.delegate = self
  }

  private static func makeSlide(width: Int, height: Int, luma: UInt8) -> CVPixelBuffer? {
    var slide: CVPixelBuffer?
    let format = kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange
    guard CVPixelBufferCreate(kCFAllocatorDefault, width, height, format, nil, &slide) == kCVReturnSuccess,
      let slide, CVPixelBufferLockBaseAddress(slide, []) == kCVReturnSuccess
    else { return nil }
    defer { CVPixelBufferUnlockBaseAddress(slide, []) }
    for (plane, value) in [luma, 128].enumerated() {
      guard let base = CVPixelBufferGetBaseAddressOfPlane(slide, plane) else { return nil }
      let size = CVPixelBufferGetBytesPerRowOfPlane(slide, plane) * CVPixelBufferGetHeightOfPlane(slide, plane)
      memset(base, Int32(value), size)
    }
    return slide
  }

  func screenShareOutgoingVideoStream(
    _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
    didChangeState args: VideoStreamStateChangedEventArgs
  ) {
    let isStarted = args.stream.state == .started
    onMain { [weak self] in isStarted ? self?.startSending() : self?.stopSending() }
  }

  private func startSending() {
    guard sending == nil else { return }
    sending = Task { @MainActor [weak self, clock] in
      while !Task.isCancelled {
        self?.sendFrame()
        try? await clock.sleep(for: .milliseconds(200))
      }
    }
  }

  func stopSending() {
    sending?.cancel()
    sending = nil
  }

  private func sendFrame() {
    let frame = RawVideoFrameBuffer()
    frame.buffer = slide
    frame.streamFormat = stream.format
    frame.timestampInTicks = stream.timestampInTicks
    stream.send(frame: frame) { _ in }  // A frame that is lost is followed by the next one.
  }
}
