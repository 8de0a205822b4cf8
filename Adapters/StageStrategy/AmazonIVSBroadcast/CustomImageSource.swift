import Foundation
import Koine
import KoineCoreMedia
import KoineCoreVideo

/// Pictures that the app hands in; the newest is repeated until there is another.
final class CustomImageSource: ImageDevice, IVSCustomImageSource, PublishableImages, @unchecked Sendable {  // constant
  private static let largest = 32_400_000

  private let source = PushedPictures()
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
    guard let frame = CMSampleBufferGetImageBuffer(sampleBuffer)?.videoFrame(captured: now) else { return }
    guard frame.width * frame.height * 4 <= Self.largest else {
      return report(NSError.ivs(.imageTooLarge, "\(frame.width)×\(frame.height) pixels are too many", source: tag()))
    }
    source.push(frame, at: now)
  }
}

/// A camera that is given its pictures.
private final class PushedPictures: VideoSource, @unchecked Sendable {  // `state` is a lock
  private struct State {
    var latest: VideoFrame?
    var output: (lane: Lane, deliver: @Sendable (VideoFrame) -> Void)?
    var run = 0
    var pushed = Tick.zero
  }
  private static let repetition = Duration.milliseconds(100)
  private let state = Lock(State())

  var format: VideoFormat {
    guard let frame = state.withLock({ $0.latest }) else { return VideoFormat() }
    return VideoFormat(width: frame.width, height: frame.height)
  }

  func push(_ frame: VideoFrame, at now: Tick) {
    let output = state.withLock { state in
      state.latest = frame
      state.pushed = now
      return state.output
    }
    if let output { output.lane.post { output.deliver(frame) } }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let run = state.withLock { state in
      state.output = (lane, deliver)
      state.run += 1
      return state.run
    }
    lane.post { [weak self] in self?.again(run) }
  }

  func stop() {
    state.withLock { state in
      state.output = nil
      state.run += 1
    }
  }

  private func again(_ run: Int) {
    guard let output = state.withLock({ $0.run == run ? $0.output : nil }) else { return }
    let now = output.lane.scheduler.now
    let (latest, pushed) = state.withLock { ($0.latest, $0.pushed) }
    if let latest, now - pushed >= Self.repetition { output.deliver(latest.with(captured: now)) }
    output.lane.post(at: now + Self.repetition) { [weak self] in self?.again(run) }
  }
}
