#sourceLocation(file: "Samples/apps/stage-strategy/JoinViewController.swift", line: 1)
import Combine
import UIKit

/// The first screen: a token, and the reason for the end of the last call. A call covers it.
final class JoinViewController: UIViewController, SelectorPerforming {
  /// The text that the user has pasted.
  var tokenText = ""
  let messageLabel = UILabel()
  let hintLabel = UILabel()
  let callScreen: CallViewController

  private let model: StageModel
  private var subscription: AnyCancellable?

  init(model: StageModel = StageModel()) {
    self.model = model
    callScreen = CallViewController(model: model)
    super.init(nibName: nil, bundle: nil)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) {
    fatalError("made in code")
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 800, height: 640)
    messageLabel.frame = CGRect(x: 8, y: 40, width: 784, height: 16)
    hintLabel.frame = CGRect(x: 8, y: 64, width: 784, height: 16)
    for subview: UIView in [messageLabel, hintLabel, callScreen.view] { view.addSubview(subview) }
    for (index, (title, action)) in [("Join", Selector("joinTapped")), ("Rejoin", Selector("rejoinTapped"))]
      .enumerated()
    {
      let button = UIButton(frame: CGRect(x: 8 + 88 * CGFloat(index), y: 96, width: 80, height: 24))
      button.setTitle(title, for: .normal)
      button.addTarget(self, action: action, for: .touchUpInside)
      view.insertSubview(button, belowSubview: callScreen.view)
    }
    subscription = model.objectWillChange.receive(on: DispatchQueue.main).sink { [weak self] in self?.render() }
    render()
    model.requestAccess()
  }

        func joinTapped() {
    model.join(token: tokenText.trimmingCharacters(in: .whitespacesAndNewlines))
  }

        func rejoinTapped() { model.rejoin() }

  var isInCall: Bool { model.phase.isInCall }

  private func render() {
    messageLabel.text = model.phase.text
    hintLabel.text = model.notice
    callScreen.view.isHidden = !isInCall
  }

#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "joinTapped":
      self.joinTapped()
      return true
    case "rejoinTapped":
      self.rejoinTapped()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Samples/apps/stage-strategy/JoinViewController.swift", line: 58)
}
