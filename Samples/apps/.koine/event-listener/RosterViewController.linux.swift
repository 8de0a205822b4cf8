#sourceLocation(file: "Samples/apps/event-listener/RosterViewController.swift", line: 1)
import Combine
import UIKit

/// The participants by name, with the host's tools.
final class RosterViewController: UIViewController {
  private(set) var rows: [RosterRow] = []

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
    observation = model.$state.map(\.roster).removeDuplicates().receive(on: DispatchQueue.main).sink {
      [weak self] rows in
      self?.rows = rows
      self?.list.lines = rows.map(\.text)
    }
  }

  func muteTapped(_ row: RosterRow) { model.mute(row.id) }
  func askToUnmuteTapped(_ row: RosterRow) { model.askToUnmute(row.id) }
  func removeTapped(_ row: RosterRow) { model.remove(row.id) }
}
