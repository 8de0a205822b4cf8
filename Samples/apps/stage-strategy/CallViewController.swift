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
  @IBOutlet var muteButton: UIButton!
  @IBOutlet var cameraButton: UIButton!
  @IBOutlet var flipButton: UIButton!
  @IBOutlet var shareButton: UIButton!
  @IBOutlet var leaveButton: UIButton!

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

    add(statusLabel, in: CGRect(x: 8, y: 4, width: 384, height: 14))
    muteButton = button("Mute", #selector(muteTapped), 0)
    cameraButton = button("Camera", #selector(cameraTapped), 1)
    flipButton = button("Flip", #selector(switchCameraTapped), 2)
    shareButton = button("Share", #selector(shareTapped), 3)
    leaveButton = button("Leave", #selector(leaveTapped), 4)
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
    let center = NotificationCenter.default
    center.addObserver(
      self, selector: #selector(enteredBackground(_:)), name: UIApplication.didEnterBackgroundNotification,
      object: UIApplication.shared)
    center.addObserver(
      self, selector: #selector(leavesBackground), name: UIApplication.willEnterForegroundNotification,
      object: UIApplication.shared)
  }

  private func add(_ label: UILabel, in frame: CGRect) {
    label.frame = frame
    label.textColor = .white
    view.addSubview(label)
  }

  private func button(_ title: String, _ action: Selector, _ index: Int) -> UIButton {
    let button = UIButton(type: .system)
    button.frame = CGRect(x: 400 + 80 * CGFloat(index), y: 1, width: 78, height: 20)
    button.setTitle(title, for: .normal)
    button.addTarget(self, action: action, for: .touchUpInside)
    view.addSubview(button)
    return button
  }

  @objc private func enteredBackground(_ notification: Notification) { model.moveToBackground(true) }
  @objc private func leavesBackground() { model.moveToBackground(false) }

  // MARK: - Buttons

  @IBAction func muteTapped() { model.toggleMute() }
  @IBAction func cameraTapped() { model.toggleCamera() }
  @IBAction func switchCameraTapped() { model.switchCamera() }
  @IBAction func shareTapped() { model.toggleShare() }
  @IBAction func leaveTapped() { model.leave() }

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
