public import Foundation
import Koine
public import KoineUIKit

/// Shows a device's pictures by itself, for as long as the view lives.
@preconcurrency @MainActor
public final class IVSImagePreviewView: VideoView {
  nonisolated private let mirrored: Lock<Bool>
  nonisolated private let aspectMode: IVSBroadcastConfiguration.AspectMode
  nonisolated private let end: @Sendable () -> Void
  private static let pool = FramePool(limit: 0)

  /// - Parameter end: called when the view goes.
  nonisolated init(
    _ aspectMode: IVSBroadcastConfiguration.AspectMode, isMirrored: Bool, end: @escaping @Sendable () -> Void
  ) {
    mirrored = Lock(isMirrored)
    self.aspectMode = aspectMode
    self.end = end
    super.init(frame: .zero)
  }

  nonisolated public required init?(coder: NSCoder) { nil }

  deinit { end() }

  /// On by default for the front camera.
  nonisolated public func setMirrored(_ mirrored: Bool) { self.mirrored.withLock { $0 = mirrored } }

  public override func draw(into canvas: inout Canvas, area: CGRect) {
    guard let frame = lastFrame else { return }
    let isMirrored = mirrored.withLock { $0 }
    let upright = isMirrored ? frame.upright(pool: Self.pool).mirrored(pool: Self.pool) : frame
    let mode: UIView.ContentMode =
      switch aspectMode {
      case .none: .scaleToFill
      case .fit: .scaleAspectFit
      case .fill: .scaleAspectFill
      }
    canvas.draw(upright, in: area, mode: mode)
  }
}
