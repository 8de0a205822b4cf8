#sourceLocation(file: "Samples/apps/event-listener/JoinViewController.swift", line: 1)
import Combine
import UIKit

/// Asks for a name and the devices to start with, and shows the call screen while there is a call.
final class JoinViewController: UIViewController, SelectorPerforming {
  var invitation: Ring?
  var name = ""
  var startsWithMicrophone = true
  var startsWithCamera = true
  var message: String? { messageLabel.text }
  private(set) var callScreen: CallViewController?

  private let model = CallModel()
  private let messageLabel = UILabel()
            private var joinButton: UIButton!
  private var observation: AnyCancellable?

  override func viewDidLoad() {
    super.viewDidLoad()
    view.backgroundColor = .white
    messageLabel.textColor = .red
    messageLabel.frame = CGRect(x: 20, y: 40, width: 600, height: 24)
    view.addSubview(messageLabel)
    joinButton = UIButton(type: .system)
    joinButton.setTitle("Join", for: .normal)
    joinButton.frame = CGRect(x: 20, y: 80, width: 100, height: 28)
    joinButton.addTarget(self, action: Selector("joinTapped"), for: .touchUpInside)
    view.addSubview(joinButton)
    observation = model.$state.map(\.phase).removeDuplicates().receive(on: DispatchQueue.main)
      .sink { [weak self] phase in self?.follow(phase) }
  }

        func joinTapped() {
    let name = self.name.trimmingCharacters(in: .whitespaces)
    messageLabel.text = nil
    guard let invitation else { return messageLabel.text = "Open the link of your invitation first." }
    guard !name.isEmpty else { return messageLabel.text = "Enter your name." }
    model.join(with: invitation, name: name, microphoneOn: startsWithMicrophone, cameraOn: startsWithCamera)
  }

  private func follow(_ phase: CallState.Phase) {
    switch phase {
    case .idle:
      break
    case .joining, .connected, .reconnecting, .leaving:
      guard callScreen == nil else { return }
      let screen = CallViewController(model: model)
      screen.view.frame = view.bounds
      view.addSubview(screen.view)
      callScreen = screen
    case .ended(let text):
      callScreen?.view.removeFromSuperview()
      callScreen = nil
      messageLabel.text = text
    }
  }

#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "joinTapped":
      self.joinTapped()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Samples/apps/event-listener/JoinViewController.swift", line: 57)
}
