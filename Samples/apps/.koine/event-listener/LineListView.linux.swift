#sourceLocation(file: "Samples/apps/event-listener/LineListView.swift", line: 1)
import UIKit

/// Lines of text from the top downwards; the newest stay visible.
final class LineListView: UIView {
  var lines: [String] = [] {
    didSet { layOut() }
  }

  private static let lineHeight: CGFloat = 18

  func place(in frame: CGRect) {
    guard frame != self.frame else { return }
    self.frame = frame
    layOut()
  }

  private func layOut() {
    subviews.forEach { $0.removeFromSuperview() }
    let visible = lines.suffix(max(0, Int(bounds.height / Self.lineHeight)))
    for (index, line) in visible.enumerated() {
      let label = UILabel()
      label.text = line
      label.textColor = .white
      label.frame = CGRect(
        x: 8, y: CGFloat(index) * Self.lineHeight, width: max(0, bounds.width - 8), height: Self.lineHeight)
      addSubview(label)
    }
  }
}
