import Foundation
import Koine
import KoineTesting
import KoineUIKit
import Testing

/// Tiles of a session in a collection, with a button that leaves.
private final class CallScreen: UIViewController, UICollectionViewDataSource {
  final class TileCell: UICollectionViewCell {
    let video = VideoView(frame: .zero)
    override init(frame: CGRect) {
      super.init(frame: frame)
      contentView.addSubview(video)
    }
    required init?(coder: NSCoder) { nil }
    override func layoutSubviews() {
      super.layoutSubviews()
      video.frame = contentView.bounds
    }
  }

  let session: Session
  private var tiles: [Tile] = []
  private lazy var list: UICollectionView = {
    let layout = UICollectionViewFlowLayout()
    layout.itemSize = CGSize(width: 320, height: 180)
    return UICollectionView(frame: .zero, collectionViewLayout: layout)
  }()

  init(_ session: Session) {
    self.session = session
    super.init()
    session.observe { [weak self] event in
      MainActor.assumeIsolated { self?.handle(event) }
    }
  }

  override func viewDidLoad() {
    super.viewDidLoad()
    list.register(TileCell.self, forCellWithReuseIdentifier: "tile")
    list.dataSource = self
    let leave = UIButton(
      type: .system, primaryAction: UIAction(title: "Leave") { [weak self] _ in self?.session.leave {} })
    let stack = UIStackView(arrangedSubviews: [list, leave])
    stack.axis = .vertical
    stack.translatesAutoresizingMaskIntoConstraints = false
    view.addSubview(stack)
    NSLayoutConstraint.activate([
      stack.leadingAnchor.constraint(equalTo: view.safeAreaLayoutGuide.leadingAnchor),
      stack.trailingAnchor.constraint(equalTo: view.safeAreaLayoutGuide.trailingAnchor),
      stack.topAnchor.constraint(equalTo: view.safeAreaLayoutGuide.topAnchor),
      stack.bottomAnchor.constraint(equalTo: view.safeAreaLayoutGuide.bottomAnchor),
    ])
  }

  private func handle(_ event: SessionEvent) {
    guard case .tileAdded(let tile) = event else {
      guard case .tileRemoved(let tile) = event, let index = tiles.firstIndex(where: { $0.id == tile.id }) else {
        return
      }
      tiles.remove(at: index)
      return list.deleteItems(at: [IndexPath(item: index, section: 0)])
    }
    tiles.append(tile)
    list.insertItems(at: [IndexPath(item: tiles.count - 1, section: 0)])
  }

  func collectionView(_ collectionView: UICollectionView, numberOfItemsInSection section: Int) -> Int { tiles.count }
  func collectionView(_ collectionView: UICollectionView, cellForItemAt indexPath: IndexPath) -> UICollectionViewCell {
    let cell = collectionView.dequeueReusableCell(withReuseIdentifier: "tile", for: indexPath)
    if let cell = cell as? TileCell { session.attach(cell.video, to: tiles[indexPath.item].stream) }
    return cell
  }
}

/// Taps of a test reach an app's screen, and tiles in its lists are seen.
@MainActor
@Suite struct TapTests {
  @Test func tilesInCellsAreSeenAfterInsertionAndDeletionAndTheButtonLeaves() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 3))
    let bea = try await room.join("Bea")
    let session = Session(JoinRequest(room: room.id, participantID: "ana", name: "Ana"), in: room.world(of: "Ana"))
    let screen = room.enter(as: "Ana") { CallScreen(session) }
    _ = room.enter(as: "Ana") { screen.view }
    session.join { _ in }
    await room.until("Bea is seen") { room.screen(screen.view).names == ["Bea"] }
    let cleo = try await room.join("Cleo")
    await room.until("both are seen") { Set(room.screen(screen.view).names) == ["Bea", "Cleo"] }
    bea.leave()
    await room.until("Cleo is seen") { room.screen(screen.view).names == ["Cleo"] }
    try room.tap("Leave", in: screen.view)
    await room.until("Ana has left") { cleo.others.isEmpty }
  }
}
