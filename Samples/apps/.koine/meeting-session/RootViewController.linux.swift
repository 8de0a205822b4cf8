#sourceLocation(file: "Samples/apps/meeting-session/RootViewController.swift", line: 1)
import Combine
import UIKit

/// The app's window: the join screen, and the call screen over it while a meeting lasts.
final class RootViewController: UIViewController {
  let joinScreen: JoinViewController
  private(set) var callScreen: CallViewController?
  private var subscription: AnyCancellable?

  init(service: JoinService) {
    joinScreen = JoinViewController(service: service)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.addSubview(joinScreen.view)
    joinScreen.onJoin = { [weak self] in self?.join($0) }
  }

  private func join(_ info: JoinInfo) {
    guard callScreen == nil else { return }
    let model = CallModel(joining: info, withCamera: joinScreen.startsWithCamera)
    let screen = CallViewController(model: model)
    callScreen = screen
    view.addSubview(screen.view)
    joinScreen.view.isHidden = true
    subscription = model.$phase.receive(on: DispatchQueue.main).sink { [weak self] phase in
      if case .ended(let text) = phase { self?.end(text) }
    }
    model.join()
  }

  private func end(_ text: String) {
    callScreen?.view.removeFromSuperview()
    callScreen = nil
    subscription = nil
    joinScreen.view.isHidden = false
    joinScreen.show(text)
  }
}
