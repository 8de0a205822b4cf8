import Combine
import UIKit

/// The call: its pictures, its state, and the buttons below.
final class CallViewController: ScreenViewController {
  let statusLabel = UILabel(frame: CGRect(x: 10, y: 50, width: 370, height: 20))
  let noticeLabel = UILabel(frame: CGRect(x: 10, y: 70, width: 370, height: 20))
  let speakerLabel = UILabel(frame: CGRect(x: 10, y: 90, width: 370, height: 20))
  let microphoneLabel = UILabel(frame: CGRect(x: 10, y: 790, width: 120, height: 20))
  let cameraLabel = UILabel(frame: CGRect(x: 130, y: 790, width: 120, height: 20))
  let shareLabel = UILabel(frame: CGRect(x: 250, y: 790, width: 120, height: 20))
  private let grid = UIView(frame: CGRect(x: 0, y: 115, width: 390, height: 665))
  private(set) var tileViews: [TileView] = []

  override func viewDidLoad() {
    super.viewDidLoad()
    view.addSubview(grid)
    show(model.$phase, in: statusLabel) { CallText.ofPhase($0) }
    show(model.$notice, in: noticeLabel) { $0 }
    show(model.$activeSpeaker, in: speakerLabel) { $0.map { "\($0) speaks" } }
    show(model.$isMuted, in: microphoneLabel) { $0 ? "Muted" : "Microphone on" }
    show(model.$camera, in: cameraLabel) { $0 ?? "Camera off" }
    show(model.$isSharing, in: shareLabel) { $0 ? "You share your screen" : nil }
    model.video.$tiles.sink { [weak self] tiles in self?.show(tiles) }.store(in: &subscriptions)
    addButtons(
      [
        ("Mute", #selector(muteTapped)), ("Camera", #selector(cameraTapped)), ("Flip", #selector(switchCameraTapped)),
        ("Share", #selector(shareTapped)), ("Leave", #selector(CallViewController.leaveTapped(_:))),
      ], y: 812)
  }

  /// Shares come first, over the whole width; the cameras follow in two columns.
  private func show(_ tiles: [Tile]) {
    for tileView in tileViews { tileView.removeFromSuperview() }
    let (shares, cameras) = (tiles.filter(\.isShare), tiles.filter { !$0.isShare })
    let width = grid.bounds.width
    let below = CGFloat(shares.count) * TileView.height(of: width)
    tileViews = shares.enumerated().map { index, tile in
      TileView(tile, x: 0, y: CGFloat(index) * TileView.height(of: width), width: width)
    }
    tileViews += cameras.enumerated().map { index, tile in
      let y = below + CGFloat(index / 2) * TileView.height(of: width / 2)
      return TileView(tile, x: CGFloat(index % 2) * width / 2, y: y, width: width / 2)
    }
    for tileView in tileViews { grid.addSubview(tileView) }
  }

  @objc func muteTapped() { model.setMuted(!model.isMuted) }
  @objc func cameraTapped() { model.camera == nil ? model.turnCameraOn() : model.turnCameraOff() }
  @objc func switchCameraTapped() { model.switchCamera() }
  @objc func shareTapped() { model.isSharing ? model.stopSharing() : model.startSharing() }
  @objc func leaveTapped(_ sender: UIButton? = nil) { model.leave() }
}

/// A picture over its title.
final class TileView: UIView {
  let titleLabel: UILabel
  private static let titleHeight: CGFloat = 20
  static func height(of width: CGFloat) -> CGFloat { width * 9 / 16 + titleHeight }

  init(_ tile: Tile, x: CGFloat, y: CGFloat, width: CGFloat) {
    let height = Self.height(of: width) - Self.titleHeight
    titleLabel = UILabel(frame: CGRect(x: 4, y: height, width: width - 8, height: Self.titleHeight))
    super.init(frame: CGRect(x: x, y: y, width: width, height: height + Self.titleHeight))
    titleLabel.text = tile.title
    tile.picture.frame = CGRect(x: 0, y: 0, width: width, height: height)
    addSubview(tile.picture)
    addSubview(titleLabel)
  }

  required init?(coder: NSCoder) { fatalError("init(coder:) has not been implemented") }
}
