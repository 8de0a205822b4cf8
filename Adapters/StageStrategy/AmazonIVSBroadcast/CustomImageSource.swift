import Foundation
import Koine
import KoineCoreMedia
import KoineCoreVideo

/// Pictures that the app hands in; the newest is repeated until there is another.
class CustomImageSource: ImageDevice, IVSCustomImageSource, PublishableImages, @unchecked Sendable {  // constant
  private static let largest = 32_400_000

  private let source = VideoFeed(repeatingAfter: .milliseconds(100))
  private let camera: SharedCamera

  init(named name: String, in world: World) {
    camera = SharedCamera(source, in: world)
    super.init(
      IVSDeviceDescriptor(urn: "koine:image:\(UUID().uuidString)", friendlyName: name, type: .userImage), in: world)
  }

  override func attach(_ sink: any VideoSink) { camera.addSink(sink) }
  override func detach(_ sink: any VideoSink) { camera.removeSink(sink) }
  var format: VideoFormat { camera.format }
  func makeVideoSource() -> any VideoSource { camera.makeSource() }

  func onSampleBuffer(_ sampleBuffer: CMSampleBuffer) {
    guard let frame = frame(of: sampleBuffer) else { return }
    source.push(frame)
  }

  /// Reports what is wrong with it. Nil then.
  func frame(of sampleBuffer: CMSampleBuffer) -> VideoFrame? {
    let now = world.backend.scheduler.now
    guard let pixels = CMSampleBufferGetImageBuffer(sampleBuffer),
      CVPixelBufferGetPixelFormatType(pixels) != kCVPixelFormatType_32ARGB,
      let own = pixels.videoFrame(captured: now)
    else {
      report(NSError.ivs(.invalidVideoFormat, "no pixels in a format of images", source: tag()))
      return nil
    }
    // A positive handset rotation turns the image counterclockwise, as the vendor's guide maps the orientations of ReplayKit.
    let turns = (4 - quarterTurns) & 3
    let frame = turns == 0 ? own : own.with(quarterTurns: (own.quarterTurns + turns) & 3)
    guard frame.width * frame.height * 4 <= Self.largest else {
      report(NSError.ivs(.imageTooLarge, "\(frame.width)×\(frame.height) pixels are too many", source: tag()))
      return nil
    }
    return frame
  }
}

/// Gathers the frames that a broadcast shows while the app is in the background.
final class BackgroundImageSource: CustomImageSource, IVSBackgroundImageSource, @unchecked Sendable {  // a lock
  private struct State {
    var frames: [VideoFrame] = []
    var isFinished = false
  }

  private let onFinish: @Sendable ([VideoFrame]) -> Void
  private let state = Lock(State())

  init(in world: World, onFinish: @escaping @Sendable ([VideoFrame]) -> Void) {
    self.onFinish = onFinish
    super.init(named: "background", in: world)
  }

  override func onSampleBuffer(_ sampleBuffer: CMSampleBuffer) {
    guard let frame = frame(of: sampleBuffer) else { return }
    let isLate = state.withLock { state in
      if !state.isFinished { state.frames.append(frame) }
      return state.isFinished
    }
    if isLate { report(NSError.ivs(.invalidState, "the background image source is finished", source: tag())) }
  }

  func add(_ pixelBuffer: CVPixelBuffer) {
    onSampleBuffer(CMSampleBuffer(imageBuffer: pixelBuffer, presentationTimeStamp: .zero))
  }

  func finish() {
    let frames = state.withLock { state -> [VideoFrame]? in
      guard !state.isFinished else { return nil }
      defer { (state.isFinished, state.frames) = (true, []) }
      return state.frames
    }
    if let frames { onFinish(frames) }
  }
}
