#sourceLocation(file: "Samples/apps/event-listener/ChatViewController.swift", line: 1)
import Combine
import UIKit

/// The messages of the call, and a line to write the next one.
final class ChatViewController: UIViewController, SelectorPerforming {
  var draft = ""
  var lines: [String] { list.lines }

  private let model: CallModel
  let list = LineListView()
  private var observation: AnyCancellable?

  init(model: CallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  override func loadView() {
    view = list
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    navigationItem.leftBarButtonItem = UIBarButtonItem(
      title: "Earlier", style: .plain, target: self, action: Selector("openTapped"))
    navigationItem.rightBarButtonItem = UIBarButtonItem(
      title: "Send", style: .plain, target: self, action: Selector("sendTapped"))
    observation = model.$state.map(\.messages).removeDuplicates().receive(on: DispatchQueue.main).sink {
      [weak self] messages in
      self?.list.lines = messages.map(\.line)
    }
  }

  /// The listener gets only messages sent from now on; this reads the earlier ones.
        func openTapped() { model.readChatHistory() }

        func sendTapped() {
    let text = draft.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !text.isEmpty else { return }
    model.send(text)
    draft = ""
  }

#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "openTapped":
      self.openTapped()
      return true
    case "sendTapped":
      self.sendTapped()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Samples/apps/event-listener/ChatViewController.swift", line: 45)
}
