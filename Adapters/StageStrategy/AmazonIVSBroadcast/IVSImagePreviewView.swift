public import Foundation
import Koine
public import KoineUIKit

/// A view that shows the video of a device for as long as the view exists.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSImagePreviewView.html)
@preconcurrency @MainActor
public final class IVSImagePreviewView: VideoView {
  nonisolated private let mirrored: Lock<Bool>
  nonisolated private let aspectMode: IVSBroadcastConfiguration.AspectMode
  nonisolated private let end: @Sendable () -> Void
  private static let pool = FramePool(limit: 0)

  /// - Parameter end: called when the view goes.
  init(
    _ aspectMode: IVSBroadcastConfiguration.AspectMode, isMirrored: Bool, end: @escaping @Sendable () -> Void
  ) {
    mirrored = Lock(isMirrored)
    self.aspectMode = aspectMode
    self.end = end
    super.init(frame: .zero)
  }

  public required init?(coder: NSCoder) { nil }

  deinit { end() }

  /// On by default for the front camera.
  nonisolated public func setMirrored(_ mirrored: Bool) { self.mirrored.withLock { $0 = mirrored } }

  /// Follows the aspect mode that the preview was made with. A value set here has no effect, as with the vendor's view, which
  /// draws into a layer of its own.
  public override var contentMode: UIView.ContentMode {
    get {
      switch aspectMode {
      case .none: .scaleToFill
      case .fit: .scaleAspectFit
      case .fill: .scaleAspectFill
      }
    }
    set {}
  }

  public override func draw(into canvas: inout Canvas, area: CGRect) {
    guard let frame = lastFrame else { return }
    let isMirrored = mirrored.withLock { $0 }
    let upright = isMirrored ? frame.upright(pool: Self.pool).mirrored(pool: Self.pool) : frame
    canvas.draw(upright, in: area, mode: contentMode)
  }
}
