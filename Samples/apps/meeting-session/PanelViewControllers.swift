import Combine
import UIKit

/// A panel of text lines that follows the model.
class PanelViewController: UIViewController {
  fileprivate let model: CallModel
  private var labels: [UILabel] = []
  private var subscription: AnyCancellable?

  init(model: CallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.backgroundColor = .white
    subscription = model.objectWillChange.receive(on: DispatchQueue.main).sink { [weak self] _ in self?.render() }
    render()
  }

  fileprivate var lines: [String] { [] }

  private func render() {
    for label in labels { label.removeFromSuperview() }
    labels = lines.enumerated().map { index, line in
      let label = UILabel(frame: CGRect(x: 8, y: CGFloat(index) * 24, width: 284, height: 24))
      label.text = line
      view.addSubview(label)
      return label
    }
  }
}

/// The attendees with their marks.
final class RosterViewController: PanelViewController {
  override fileprivate var lines: [String] { model.roster.entries.map(\.title) }
}

/// The newest lines of the chat.
final class ChatViewController: PanelViewController {
  var draft = ""

  override fileprivate var lines: [String] { model.messages.suffix(14).map { "\($0.sender): \($0.text)" } }

  override func viewDidLoad() {
    super.viewDidLoad()
    let button = UIButton(frame: CGRect(x: 8, y: 324, width: 80, height: 28))
    button.setTitle("Send", for: .normal)
    button.addTarget(self, action: #selector(sendTapped), for: .touchUpInside)
    view.addSubview(button)
  }

  @objc func sendTapped() {
    guard !draft.isEmpty else { return }
    model.send(draft)
    draft = ""
  }
}
