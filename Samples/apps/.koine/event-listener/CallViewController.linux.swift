#sourceLocation(file: "Samples/apps/event-listener/CallViewController.swift", line: 1)
import Combine
import UIKit

/// The call: tiles, roster, chat, and a bar that says how things are.
final class CallViewController: UIViewController, SelectorPerforming {
  let roster: RosterViewController
  let chat: ChatViewController

  var status: String? { statusLabel.text }
  var notice: String? { noticeLabel.text }
  var question: String? { questionLabel.text }
  private(set) var muteTitle = ""
  private(set) var cameraTitle = ""
  private(set) var switchTitle = ""
  private(set) var shareTitle = ""

  private let model: CallModel
  private let stage = UIView()
  private let statusLabel = UILabel()
  private let noticeLabel = UILabel()
  private let questionLabel = UILabel()
            private var toolbar: UIStackView!
  private var tileViews: [Tile.ID: TileView] = [:]
  private var observation: AnyCancellable?

  private static let barHeight: CGFloat = 24
  private static let panelWidth: CGFloat = 280

  init(model: CallModel) {
    self.model = model
    roster = RosterViewController(model: model)
    chat = ChatViewController(model: model)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.backgroundColor = .black
    [statusLabel, noticeLabel, questionLabel].forEach { $0.textColor = .white }
    toolbar = UIStackView(arrangedSubviews: [
      button("Mute", Selector("muteTapped")), button("Camera", Selector("cameraTapped")),
      button("Flip", Selector("switchCameraTapped")), button("Share", Selector("shareTapped")),
      button("Accept", Selector("acceptTapped")), button("Decline", Selector("declineTapped")),
      button("Leave", Selector("leaveTapped")), button("End", Selector("endForAllTapped")),
    ])
    toolbar.distribution = .fillEqually
    [stage, statusLabel, noticeLabel, questionLabel, toolbar, roster.view, chat.view].forEach(view.addSubview)
    observation = model.$state.receive(on: DispatchQueue.main).sink { [weak self] state in self?.render(state) }
  }

  // MARK: Buttons

  private func button(_ title: String, _ action: Selector) -> UIButton {
    let button = UIButton(type: .system)
    button.setTitle(title, for: .normal)
    button.addTarget(self, action: action, for: .touchUpInside)
    return button
  }

            func muteTapped() { model.toggleMicrophone() }
            func cameraTapped() { model.toggleCamera() }
            func switchCameraTapped() { model.switchCamera() }
            func shareTapped() { model.toggleSharing() }
            func acceptTapped() { model.answer(true) }
            func declineTapped() { model.answer(false) }
            func leaveTapped() { model.leave() }
            func endForAllTapped() { model.endForAll() }

  // MARK: Drawing

  private func render(_ state: CallState) {
    statusLabel.text = statusText(state)
    noticeLabel.text = state.notice
    questionLabel.text = state.question
    muteTitle = state.isMicrophoneOn ? "Mute" : "Unmute"
    cameraTitle = state.isCameraOn ? "Camera off" : "Camera on"
    switchTitle = state.isFrontCamera ? "Back camera" : "Front camera"
    shareTitle = state.isSharing ? "Stop sharing" : "Share screen"
    layOutPanels()
    layOut(state.tiles)
  }

  private func statusText(_ state: CallState) -> String {
    switch state.phase {
    case .idle, .ended: return ""
    case .joining: return "Joining…"
    case .reconnecting: return "Reconnecting…"
    case .leaving: return "Leaving…"
    case .connected:
      if state.isSharing { return "You are sharing your screen" }
      if let presenter = state.presenter { return "\(presenter) is presenting" }
      return state.roster.count > 1 ? "\(state.roster.count) people" : "Waiting for the others…"
    }
  }

  private func layOutPanels() {
    let size = view.bounds.size
    let bar = Self.barHeight
    let left = max(0, size.width - Self.panelWidth)
    let height = max(0, size.height - 4 * bar)
    toolbar.frame = CGRect(x: 0, y: size.height - 3 * bar, width: left, height: bar)
    statusLabel.frame = CGRect(x: 0, y: 0, width: size.width, height: bar)
    stage.frame = CGRect(x: 0, y: bar, width: left, height: height)
    roster.view.frame = CGRect(x: left, y: bar, width: Self.panelWidth, height: height / 2)
    chat.view.frame = CGRect(
      x: left, y: bar + height / 2, width: Self.panelWidth, height: height / 2)
    noticeLabel.frame = CGRect(x: 0, y: size.height - 2 * bar, width: size.width, height: bar)
    questionLabel.frame = CGRect(x: 0, y: size.height - bar, width: size.width, height: bar)
  }

  /// Screens fill the upper half, where there are any.
  private func layOut(_ tiles: [Tile]) {
    for (id, view) in tileViews where !tiles.contains(where: { $0.id == id }) {
      view.stop()
      view.removeFromSuperview()
      tileViews[id] = nil
    }
    let screens = tiles.filter { $0.id.kind == .share }
    let cameras = tiles.filter { $0.id.kind == .camera }
    let (upper, lower) = stage.bounds.divided(atDistance: stage.bounds.height / 2, from: .minYEdge)
    place(screens, in: upper)
    place(cameras, in: screens.isEmpty ? stage.bounds : lower)
  }

  private func place(_ tiles: [Tile], in area: CGRect) {
    guard !tiles.isEmpty else { return }
    let columns = Int(Double(tiles.count).squareRoot().rounded(.up))
    let rows = (tiles.count + columns - 1) / columns
    let width = area.width / CGFloat(columns)
    let height = area.height / CGFloat(rows)
    for (index, tile) in tiles.enumerated() {
      let x = area.minX + CGFloat(index % columns) * width
      let y = area.minY + CGFloat(index / columns) * height
      tileView(for: tile).show(tile, in: CGRect(x: x, y: y, width: width, height: height))
    }
  }

  private func tileView(for tile: Tile) -> TileView {
    if let view = tileViews[tile.id] { return view }
    let view = TileView()
    tileViews[tile.id] = view
    stage.addSubview(view)
    return view
  }

#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "muteTapped":
      self.muteTapped()
      return true
    case "cameraTapped":
      self.cameraTapped()
      return true
    case "switchCameraTapped":
      self.switchCameraTapped()
      return true
    case "shareTapped":
      self.shareTapped()
      return true
    case "acceptTapped":
      self.acceptTapped()
      return true
    case "declineTapped":
      self.declineTapped()
      return true
    case "leaveTapped":
      self.leaveTapped()
      return true
    case "endForAllTapped":
      self.endForAllTapped()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Samples/apps/event-listener/CallViewController.swift", line: 147)
}
