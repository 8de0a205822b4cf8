#sourceLocation(file: "Samples/apps/stage-strategy/RosterViewController.swift", line: 1)
import UIKit

/// The list of publishing participants.
final class RosterViewController: UIViewController {
  private(set) var lines: [String] = []

  func show(_ members: [Member]) {
    lines = members.map(\.line)
    view.subviews.forEach { $0.removeFromSuperview() }
    for (index, line) in lines.enumerated() {
      let label = UILabel()
      label.frame = CGRect(x: 8, y: 4 + 20 * CGFloat(index), width: view.bounds.width - 16, height: 16)
      label.text = line
      label.textColor = .white
      view.addSubview(label)
    }
  }
}
