public import Foundation
public import Koine

/// Shows the newest frame it was given. Frames may come from any thread; the view draws the last one.
@preconcurrency @MainActor
open class VideoView: UIView, VideoSink {
  private struct Shown {
    var frame: VideoFrame?
    var count = 0
  }
  nonisolated private let shown = Lock(Shown())

  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  nonisolated open func render(_ frame: VideoFrame) {
    shown.withLock { shown in
      shown.frame = frame
      shown.count += 1
    }
  }

  nonisolated public var lastFrame: VideoFrame? { shown.withLock { $0.frame } }
  /// How many frames were given to the view.
  nonisolated public var framesRendered: Int { shown.withLock { $0.count } }
  /// Forgets the picture.
  nonisolated public func clear() { shown.withLock { $0.frame = nil } }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    if let frame = lastFrame { canvas.draw(frame, in: area, mode: contentMode) }
  }
}

/// Tiles in as square a grid as fits, each with its name.
@preconcurrency @MainActor
public final class TileGrid: UIView {
  private static let tile = CGSize(width: 640, height: 360)
  private static let gap: CGFloat = 12

  /// - Parameter tiles: names and frames; nil for a tile without a frame.
  public init(_ tiles: [(name: String, frame: VideoFrame?)]) {
    let columns = max(1, Int(Double(tiles.count).squareRoot().rounded(.up)))
    let rows = max(1, (tiles.count + columns - 1) / columns)
    let (tile, gap) = (Self.tile, Self.gap)
    super.init(
      frame: CGRect(
        x: 0, y: 0, width: CGFloat(columns) * (tile.width + gap) + gap,
        height: CGFloat(rows) * (tile.height + gap) + gap))
    backgroundColor = UIColor(red: 0.09, green: 0.10, blue: 0.13, alpha: 1)
    for (index, entry) in tiles.enumerated() {
      let origin = CGPoint(
        x: gap + CGFloat(index % columns) * (tile.width + gap), y: gap + CGFloat(index / columns) * (tile.height + gap))
      addTile(entry.name, entry.frame, at: origin)
    }
  }

  public required init?(coder: NSCoder) { nil }

  private func addTile(_ name: String, _ frame: VideoFrame?, at origin: CGPoint) {
    let view = VideoView(frame: CGRect(origin: origin, size: Self.tile))
    view.backgroundColor = UIColor(red: 0.16, green: 0.18, blue: 0.22, alpha: 1)
    view.contentMode = .scaleAspectFit
    if let frame { view.render(frame) }
    let width = CGFloat(18 * name.count + 20)
    let plate = UIView(frame: CGRect(x: 12, y: 12, width: width, height: 36))
    plate.backgroundColor = UIColor(red: 0.09, green: 0.10, blue: 0.13, alpha: 1)
    let label = UILabel(frame: CGRect(x: 10, y: 6, width: width - 20, height: 24))
    label.text = name
    label.textColor = .white
    plate.addSubview(label)
    view.addSubview(plate)
    addSubview(view)
  }
}
