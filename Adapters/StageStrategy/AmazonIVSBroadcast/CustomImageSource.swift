import Foundation
import Koine
import KoineCoreMedia
import KoineCoreVideo

/// Pictures that the app hands in; the newest is repeated until there is another.
final class CustomImageSource: ImageDevice, IVSCustomImageSource, PublishableImages, @unchecked Sendable {  // constant
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
    let now = world.backend.scheduler.now
    guard let pixels = CMSampleBufferGetImageBuffer(sampleBuffer),
      CVPixelBufferGetPixelFormatType(pixels) != kCVPixelFormatType_32ARGB, let frame = pixels.videoFrame(captured: now)
    else { return report(NSError.ivs(.invalidVideoFormat, "no pixels in a format of images", source: tag())) }
    guard frame.width * frame.height * 4 <= Self.largest else {
      return report(NSError.ivs(.imageTooLarge, "\(frame.width)×\(frame.height) pixels are too many", source: tag()))
    }
    source.push(frame)
  }
}
