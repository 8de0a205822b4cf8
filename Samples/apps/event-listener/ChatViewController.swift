import Combine
import UIKit

/// The messages of the call, and a line to write the next one.
final class ChatViewController: UIViewController {
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
      title: "Earlier", style: .plain, target: self, action: #selector(openTapped))
    navigationItem.rightBarButtonItem = UIBarButtonItem(
      title: "Send", style: .plain, target: self, action: #selector(sendTapped))
    observation = model.$state.map(\.messages).removeDuplicates().receive(on: DispatchQueue.main).sink {
      [weak self] messages in
      self?.list.lines = messages.map(\.line)
    }
  }

  /// The listener gets only messages sent from now on; this reads the earlier ones.
  @objc func openTapped() { model.readChatHistory() }

  @objc func sendTapped() {
    let text = draft.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !text.isEmpty else { return }
    model.send(text)
    draft = ""
  }
}
