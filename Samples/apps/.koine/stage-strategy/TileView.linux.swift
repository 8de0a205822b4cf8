#sourceLocation(file: "Samples/apps/stage-strategy/TileView.swift", line: 1)
import UIKit

/// A picture with a caption, or the caption alone while the camera is off.
final class TileView: UIView {
  private let caption = UILabel()
  var preview: UIView? {
    didSet {
      if let preview { insertSubview(preview, at: 0) }
    }
  }

  func show(_ tile: Tile, in frame: CGRect) {
    self.frame = frame
    backgroundColor = tile.isSpeaking ? .green : .darkGray
    preview?.frame = bounds
    preview?.isHidden = tile.isOff
    caption.frame = CGRect(x: 4, y: bounds.height - 16, width: bounds.width - 8, height: 12)
    caption.text = tile.isOff ? "\(tile.caption): camera off" : tile.caption
    caption.textColor = .white
    addSubview(caption)
  }
}
