public import Foundation
import Koine
public import KoineUIKit

/// A view that shows the video of its tile.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols.html)
public protocol VideoRenderView: VideoSink {}

/// Shows a tile's video. Headless: read the shown frame with `snapshot()` or `writePNG(to:)`.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultVideoRenderView.html)
@preconcurrency @MainActor
public final class DefaultVideoRenderView: VideoView, VideoRenderView {
  nonisolated private let isMirrored = Lock(false)
  nonisolated private let pool = FramePool(limit: 4)

  public override init(frame: CGRect) { super.init(frame: frame) }
  public convenience init() { self.init(frame: .zero) }
  public required init?(coder: NSCoder) { nil }

  /// Left and right exchanged, from the next picture on; for showing people themselves.
  nonisolated public var mirror: Bool {
    get { isMirrored.withLock { $0 } }
    set { isMirrored.withLock { $0 = newValue } }
  }

  nonisolated public func onVideoFrameReceived(frame: VideoFrame) {
    guard let picture = frame.engineFrame(captured: Tick(nanoseconds: frame.timestampNs)) else { return }
    render(mirror ? picture.upright(pool: pool).mirrored(pool: pool) : picture)
  }

  nonisolated public func resetImage() { clear() }
}
