import Combine
import UIKit

/// The call: its state, a tile for each picture, the roster, and the buttons.
final class CallViewController: UIViewController {
  let statusLabel = UILabel()
  let noticeLabel = UILabel()
  let muteLabel = UILabel()
  let cameraLabel = UILabel()
  let shareLabel = UILabel()
  let roster = RosterViewController()

  private let model: StageModel
  private let stageView = UIView()
  private var tileViews: [String: TileView] = [:]
  private var subscriptions: Set<AnyCancellable> = []

  init(model: StageModel) {
    self.model = model
    super.init(nibName: nil, bundle: nil)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) {
    fatalError("made in code")
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    view.frame = CGRect(x: 0, y: 0, width: 800, height: 640)
    view.backgroundColor = .black
    stageView.frame = CGRect(x: 0, y: 40, width: 800, height: 460)
    view.addSubview(stageView)
    roster.view.frame = CGRect(x: 0, y: 500, width: 800, height: 100)
    view.addSubview(roster.view)

    add(statusLabel, in: CGRect(x: 8, y: 4, width: 784, height: 14))
    add(noticeLabel, in: CGRect(x: 8, y: 22, width: 784, height: 14))
    for (index, label) in [muteLabel, cameraLabel, shareLabel].enumerated() {
      add(label, in: CGRect(x: 8 + 200 * CGFloat(index), y: 612, width: 180, height: 16))
    }
    // `objectWillChange` comes before the change, the main queue's next turn after it.
    model.objectWillChange
      .receive(on: DispatchQueue.main)
      .sink { [weak self] in self?.render() }
      .store(in: &subscriptions)
    render()
    observe(UIApplication.didEnterBackgroundNotification) { $0.moveToBackground(true) }
    observe(UIApplication.willEnterForegroundNotification) { $0.moveToBackground(false) }
  }

  private func add(_ label: UILabel, in frame: CGRect) {
    label.frame = frame
    label.textColor = .white
    view.addSubview(label)
  }

  private func observe(_ name: Notification.Name, _ change: @escaping (StageModel) -> Void) {
    NotificationCenter.default.publisher(for: name, object: UIApplication.shared)
      .sink { [model] _ in change(model) }
      .store(in: &subscriptions)
  }

  // MARK: - Buttons

  func muteTapped() { model.toggleMute() }
  func cameraTapped() { model.toggleCamera() }
  func switchCameraTapped() { model.switchCamera() }
  func shareTapped() { model.toggleShare() }
  func leaveTapped() { model.leave() }

  // MARK: - Drawing

  private func render() {
    statusLabel.text = model.phase.text
    noticeLabel.text = model.notice
    muteLabel.text = model.isMuted ? "Unmute" : "Mute"
    cameraLabel.text = model.isCameraOff ? "Camera on" : model.isUsingBackCamera ? "Back camera" : "Front camera"
    shareLabel.text = model.isSharing ? "Stop sharing" : "Share screen"
    roster.show(model.members)
    renderTiles()
  }

  private func renderTiles() {
    let tiles = model.tiles
    let ids = Set(tiles.map(\.id))
    for (id, tileView) in tileViews where !ids.contains(id) {
      tileView.removeFromSuperview()
      tileViews[id] = nil
    }
    let columns = max(1, Int(Double(tiles.count).squareRoot().rounded(.up)))
    let width = stageView.bounds.width / CGFloat(columns)
    let height = stageView.bounds.height / CGFloat(max(1, (tiles.count + columns - 1) / columns))
    for (index, tile) in tiles.enumerated() {
      let (column, row) = (CGFloat(index % columns), CGFloat(index / columns))
      tileView(for: tile).show(tile, in: CGRect(x: column * width, y: row * height, width: width, height: height))
    }
  }

  private func tileView(for tile: Tile) -> TileView {
    if let tileView = tileViews[tile.id] { return tileView }
    let tileView = TileView()
    tileView.preview = model.makePreview(of: tile)
    tileViews[tile.id] = tileView
    stageView.addSubview(tileView)
    return tileView
  }
}
