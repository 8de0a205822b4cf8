#sourceLocation(file: "Samples/apps/meeting-session/CallViewController.swift", line: 1)
import AmazonChimeSDK
import Combine
import UIKit

/// The meeting: tiles on the left, roster and chat on the right, a banner above and the state of the devices below.
final class CallViewController: UIViewController, SelectorPerforming {
  let chatScreen: ChatViewController
  let rosterScreen: RosterViewController
  private let model: CallModel
  private let bannerLabel = UILabel(frame: CGRect(x: 0, y: 0, width: 1024, height: 32))
  private let noticeLabel = UILabel(frame: CGRect(x: 0, y: 704, width: 724, height: 32))
  private let stateLabel = UILabel(frame: CGRect(x: 0, y: 736, width: 724, height: 32))
  let stage = UIView(frame: CGRect(x: 0, y: 32, width: 724, height: 672))
  private var tileViews: [Tile.ID: TileView] = [:]
  private var subscription: AnyCancellable?

  init(model: CallModel) {
    self.model = model
    rosterScreen = RosterViewController(model: model)
    chatScreen = ChatViewController(model: model)
    super.init(nibName: nil, bundle: nil)
  }

  required init?(coder: NSCoder) { fatalError("This screen is made in code.") }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 1024, height: 768)
    view.backgroundColor = .black
    rosterScreen.view.frame = CGRect(x: 724, y: 32, width: 300, height: 352)
    chatScreen.view.frame = CGRect(x: 724, y: 384, width: 300, height: 352)
    for label in [bannerLabel, noticeLabel, stateLabel] { label.textColor = .white }
    let panels: [UIView] = [rosterScreen.view, chatScreen.view]
    for part in panels + [stage, bannerLabel, noticeLabel, stateLabel] { view.addSubview(part) }
    for (index, (title, action)) in buttons.enumerated() {
      let button = UIButton(frame: CGRect(x: 724 + 60 * CGFloat(index), y: 738, width: 58, height: 28))
      button.setTitle(title, for: .normal)
      button.addTarget(self, action: action, for: .touchUpInside)
      view.addSubview(button)
    }
    subscription = model.objectWillChange.receive(on: DispatchQueue.main).sink { [weak self] _ in self?.render() }
    render()
  }

  private var buttons: [(title: String, action: Selector)] {
    [
      ("Mute", Selector("muteTapped")), ("Camera", Selector("cameraTapped")), ("Flip", Selector("switchCameraTapped")),
      ("Share", Selector("shareTapped")), ("Leave", Selector("leaveTapped")),
    ]
  }

        func muteTapped() { model.setMuted(!model.isMuted) }
        func cameraTapped() { model.setCameraOn(!model.isCameraOn) }
        func switchCameraTapped() { model.switchCamera() }
        func shareTapped() { model.isSharing ? model.stopSharing() : model.startSharing() }
        func leaveTapped() { model.leave() }

  private func render() {
    let camera = model.isCameraOn ? "\(model.usesFrontCamera ? "front" : "back") camera on" : "camera off"
    bannerLabel.text = banner
    noticeLabel.text = model.notice ?? (model.hasPoorConnection ? "Your connection is poor." : nil)
    stateLabel.text = "\(model.isMuted ? "Microphone off" : "Microphone on"), \(camera)"
    renderTiles()
  }

  private var banner: String {
    switch model.phase {
    case .connecting: return "Joining…"
    case .reconnecting: return "Reconnecting…"
    case .ended(let text): return text
    case .inMeeting: return model.isSharing ? "You are sharing your screen." : "In the meeting"
    }
  }

  private func renderTiles() {
    for (id, tileView) in tileViews where !model.tiles.contains(where: { $0.id == id }) {
      tileView.removeFromSuperview()
      tileViews[id] = nil
    }
    let tiles = model.tiles.filter(\.state.isContent) + model.tiles.filter { !$0.state.isContent }
    let columns = tiles.count > 1 ? 2 : 1
    let size = CGSize(width: stage.bounds.width / CGFloat(columns), height: 224)
    for (index, tile) in tiles.enumerated() {
      let tileView = tileViews[tile.id] ?? makeTileView(for: tile)
      let (row, column) = index.quotientAndRemainder(dividingBy: columns)
      tileView.frame = CGRect(
        x: CGFloat(column) * size.width, y: CGFloat(row) * size.height, width: size.width, height: size.height)
      tileView.show(title: model.title(of: tile), isMirrored: tile.state.isLocalTile && model.usesFrontCamera)
    }
  }

  private func makeTileView(for tile: Tile) -> TileView {
    let tileView = TileView(frame: .zero)
    tileViews[tile.id] = tileView
    stage.addSubview(tileView)
    model.bind(tileView.videoView, to: tile)
    return tileView
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
    case "leaveTapped":
      self.leaveTapped()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Samples/apps/meeting-session/CallViewController.swift", line: 99)
}

/// A picture with a name at its lower edge.
final class TileView: UIView {
  let videoView = DefaultVideoRenderView()
  private let titleLabel = UILabel()

  override init(frame: CGRect) {
    super.init(frame: frame)
    videoView.contentMode = .scaleAspectFit
    titleLabel.textColor = .white
    addSubview(videoView)
    addSubview(titleLabel)
  }

  required init?(coder: NSCoder) { fatalError("This view is made in code.") }

  func show(title: String, isMirrored: Bool) {
    videoView.frame = bounds
    videoView.mirror = isMirrored
    titleLabel.frame = CGRect(x: 8, y: bounds.height - 24, width: bounds.width - 16, height: 24)
    titleLabel.text = title
  }
}
