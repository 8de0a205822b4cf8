public import Dispatch
public import Foundation
import Koine
import KoineCoreVideo
import KoineUIKit

/// What all devices of ours have in common; public only because `IVSCamera` and `IVSMicrophone` are made of it.
public class StageDevice: NSObject, IVSDevice, @unchecked Sendable {  // `common` is a lock, the rest is constant
  private struct Common { weak var errorDelegate: (any IVSErrorDelegate)? }

  let world: World
  private let own: IVSDeviceDescriptor
  private let common = Lock(Common())

  init(_ descriptor: IVSDeviceDescriptor, in world: World) {
    own = descriptor
    self.world = world
  }

  public var errorDelegate: (any IVSErrorDelegate)? {
    get { common.withLock { $0.errorDelegate } }
    set { common.withLock { $0.errorDelegate = newValue } }
  }

  public func descriptor() -> IVSDeviceDescriptor { own }
  public func tag() -> String { own.urn }

  /// On the delivery queue.
  func report(_ error: any Error) {
    world.delivery.deliver { [weak self] in
      if let self { errorDelegate?.source(self, didEmitError: error) }
    }
  }
}

/// A device that can be published as pictures, or bound to a mixer.
protocol PublishableImages: AnyObject {
  var format: VideoFormat { get }
  func makeVideoSource() -> any VideoSource
}

/// A device that delivers video frames to attached sinks.
public class ImageDevice: StageDevice, IVSImageDevice, @unchecked Sendable {  // `frames` and `rotation` are locks
  private let frames = Lock<LatestFrameSink?>(nil)
  private let rotation = Lock<UInt8>(0)

  func attach(_ sink: any VideoSink) {}
  func detach(_ sink: any VideoSink) {}

  /// Id of the participant that sends this video; nil: the machine's own video, or the app's.
  var participant: String? { nil }
  /// The usual way to show such pictures.
  var isMirroredInPreviews: Bool { false }
  /// Clockwise quarter turns.
  var quarterTurns: UInt8 { rotation.withLock { $0 } }

  public func previewView() -> IVSImagePreviewView { makePreview(.fit) }
  public func previewView(with aspectMode: IVSBroadcastConfiguration.AspectMode) throws -> IVSImagePreviewView {
    makePreview(aspectMode)
  }

  func makePreview(_ aspectMode: IVSBroadcastConfiguration.AspectMode) -> IVSImagePreviewView {
    let feed = PreviewFeed()
    // The view keeps its device: an app may hold nothing but the view.
    let view = UIView.makeOnAnyThread { [self] in
      IVSImagePreviewView(aspectMode, isMirrored: isMirroredInPreviews) { [self] in detach(feed) }
    }
    feed.show(in: view)
    attach(feed)
    return view
  }

  public func setHandsetRotation(_ rotation: Float) {
    guard rotation.isFinite else { return }
    let turns = (rotation / (.pi / 2)).rounded().truncatingRemainder(dividingBy: 4)
    self.rotation.withLock { $0 = UInt8(turns < 0 ? turns + 4 : turns) & 3 }
  }

  public func setOnFrameCallback(_ callback: ((IVSImageDeviceFrame) -> Void)?) {
    setOnFrameCallbackQueue(world.delivery.queue, includePixelBuffer: false, callback: callback)
  }

  public func setOnFrameCallbackQueue(
    _ queue: DispatchQueue, includePixelBuffer: Bool, callback: ((IVSImageDeviceFrame) -> Void)?
  ) {
    let delivery = queue === world.delivery.queue ? world.delivery : Delivery(queue: queue)
    let new = callback.map { callback in
      nonisolated(unsafe) let callback = callback  // called on one queue only
      return LatestFrameSink(delivery) { picture in
        let size = picture.displaySize
        callback(
          IVSImageDeviceFrame(
            size: CGSize(width: size.width, height: size.height),
            pixelBuffer: includePixelBuffer ? CVPixelBuffer(picture) : nil))
      }
    }
    let old = frames.withLock { frames in
      defer { frames = new }
      return frames
    }
    if let old {
      old.close()
      detach(old)
    }
    if let new { attach(new) }
  }
}

/// Shows pictures in a view without keeping it alive.
private final class PreviewFeed: VideoSink, @unchecked Sendable {  // `target` is a lock
  private struct Target { weak var view: IVSImagePreviewView? }
  private let target = Lock(Target())

  func show(in view: IVSImagePreviewView) { target.withLock { $0.view = view } }
  func render(_ frame: VideoFrame) { target.withLock { $0.view }?.render(frame) }
}

/// A remote participant's pictures, while they are subscribed to.
final class RemoteImageDevice: ImageDevice, @unchecked Sendable {  // `session` is weak and constant otherwise
  private let stream: Track.ID
  private weak let session: Session?

  init(_ stream: Track.ID, _ session: Session) {
    self.stream = stream
    self.session = session
    super.init(
      IVSDeviceDescriptor(urn: "koine:\(stream)", friendlyName: "\(stream)", type: .userImage), in: session.world)
  }

  override var participant: String? { stream.participant }
  override func attach(_ sink: any VideoSink) { session?.attach(sink, to: stream) }
  override func detach(_ sink: any VideoSink) { session?.detach(sink, from: stream) }
}
