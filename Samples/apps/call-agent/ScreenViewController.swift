import Combine
import UIKit

/// What the app's screens have in common: the size of a telephone, the model, and labels that follow it.
class ScreenViewController: UIViewController {
  let model: CallModel
  var subscriptions: Set<AnyCancellable> = []
  private(set) var rows: [UILabel] = []

  init(model: CallModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("init(coder:) has not been implemented") }

  override func loadView() {
    view = UIView(frame: CGRect(x: 0, y: 0, width: 390, height: 844))
    view.backgroundColor = .white
  }

  func show<Value>(_ values: Published<Value>.Publisher, in label: UILabel, _ text: @escaping (Value) -> String?) {
    view.addSubview(label)
    values.sink { [weak label] value in label?.text = text(value) }.store(in: &subscriptions)
  }

  /// Buttons side by side.
  func addButtons(_ buttons: [(title: String, action: Selector)], y: CGFloat) {
    let width = (view.bounds.width - 20) / CGFloat(buttons.count)
    for (index, (title, action)) in buttons.enumerated() {
      let button = UIButton(type: .system)
      button.frame = CGRect(x: 10 + width * CGFloat(index), y: y, width: width - 4, height: 28)
      button.setTitle(title, for: .normal)
      button.addTarget(self, action: action, for: .touchUpInside)
      view.addSubview(button)
    }
  }

  /// Lists texts from the top to the bottom.
  func list(_ texts: [String]) {
    for row in rows { row.removeFromSuperview() }
    rows = texts.enumerated().map { index, text in
      let row = UILabel(frame: CGRect(x: 20, y: 60 + 30 * index, width: 350, height: 30))
      row.text = text
      view.addSubview(row)
      return row
    }
  }
}

/// The first screen: signing in, joining a room, calling and being called.
final class JoinViewController: ScreenViewController {
  var token = ""
  var name = ""
  var room = ""
  var callee = ""

  let statusLabel = UILabel(frame: CGRect(x: 20, y: 60, width: 350, height: 30))
  let noticeLabel = UILabel(frame: CGRect(x: 20, y: 90, width: 350, height: 30))
  let callerLabel = UILabel(frame: CGRect(x: 20, y: 120, width: 350, height: 30))

  override func viewDidLoad() {
    super.viewDidLoad()
    show(model.$phase, in: statusLabel) { CallText.ofPhase($0) }
    show(model.$notice, in: noticeLabel) { $0 }
    show(model.$caller, in: callerLabel) { $0.map { "\($0) is calling…" } }
    addButtons(
      [("Sign in", #selector(signInTapped)), ("Join", #selector(joinTapped)), ("Call", #selector(callTapped))], y: 200)
    addButtons([("Accept", #selector(acceptTapped)), ("Decline", #selector(declineTapped))], y: 240)
    model.askForPermissions()
  }

  @objc func signInTapped() { model.signIn(token: token, name: name) }
  @objc func joinTapped() { model.join(room: room) }
  @objc func callTapped() { model.ring(callee) }
  @objc func acceptTapped() { model.accept() }
  @objc func declineTapped() { model.decline() }
}

/// The people in the call.
final class RosterViewController: ScreenViewController {
  override func viewDidLoad() {
    super.viewDidLoad()
    model.$roster.sink { [weak self] roster in self?.list(roster.map(\.text)) }.store(in: &subscriptions)
  }
}

/// The texts that the people in the call write.
final class ChatViewController: ScreenViewController {
  var draft = ""

  override func viewDidLoad() {
    super.viewDidLoad()
    model.chat.$lines.sink { [weak self] lines in self?.list(lines) }.store(in: &subscriptions)
    addButtons([("Send", #selector(sendTapped))], y: 800)
  }

  @objc func sendTapped() {
    if model.chat.send(draft) { draft = "" }
  }
}
