import Foundation
import KoineUIKit
import Testing

/// Lists, controls, controllers and images, without a call.
@MainActor
@Suite struct ScreenPartsTests {
  private final class Rows: NSObject, UITableViewDataSource, UITableViewDelegate {
    var names: [String]
    var tapped: [String] = []
    var cellsMade = 0
    init(_ names: [String]) { self.names = names }
    func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int { names.count }
    func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell {
      cellsMade += 1
      let cell = tableView.dequeueReusableCell(withIdentifier: "name", for: indexPath)
      cell.textLabel?.text = names[indexPath.row]
      return cell
    }
    func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) {
      tapped.append(names[indexPath.row])
    }
  }

  @Test func tableShowsTheVisibleRowsAndFollowsChanges() throws {
    let rows = Rows((0..<100).map { "row \($0)" })
    let table = UITableView(frame: CGRect(x: 0, y: 0, width: 300, height: 200))
    table.register(UITableViewCell.self, forCellReuseIdentifier: "name")
    table.rowHeight = 50
    table.dataSource = rows
    table.delegate = rows
    table.layoutIfNeeded()
    #expect(table.visibleCells.map { $0.textLabel?.text } == ["row 0", "row 1", "row 2", "row 3"])
    #expect(table.contentSize.height == 5_000)
    #expect(rows.cellsMade == 4)
    rows.names.remove(at: 1)
    table.deleteRows(at: [IndexPath(row: 1, section: 0)], with: .automatic)
    table.layoutIfNeeded()
    #expect(table.visibleCells.map { $0.textLabel?.text } == ["row 0", "row 2", "row 3", "row 4"])
    rows.names.insert("new", at: 0)
    table.insertRows(at: [IndexPath(row: 0, section: 0)], with: .fade)
    table.layoutIfNeeded()
    #expect(table.cellForRow(at: IndexPath(row: 0, section: 0))?.textLabel?.text == "new")
    #expect(table.cellForRow(at: IndexPath(row: 0, section: 0))?.frame == CGRect(x: 0, y: 0, width: 300, height: 50))
    try table.tap("row 2")
    #expect(rows.tapped == ["row 2"])
    table.scrollToRow(at: IndexPath(row: 50, section: 0), at: .bottom, animated: false)
    table.layoutIfNeeded()
    #expect(table.indexPathsForVisibleRows?.last == IndexPath(row: 50, section: 0))
    #expect(table.indexPathsForVisibleRows?.count == 4)
  }

  @Test func tableWithoutARowHeightAsksTheCellsConstraints() {
    final class Cell: UITableViewCell {
      override init(style: CellStyle, reuseIdentifier: String?) {
        super.init(style: style, reuseIdentifier: reuseIdentifier)
        let inner = UIView(frame: .zero)
        inner.translatesAutoresizingMaskIntoConstraints = false
        contentView.addSubview(inner)
        NSLayoutConstraint.activate([
          inner.topAnchor.constraint(equalTo: contentView.topAnchor, constant: 5),
          inner.bottomAnchor.constraint(equalTo: contentView.bottomAnchor, constant: -5),
          inner.heightAnchor.constraint(equalToConstant: 60),
        ])
      }
      required init?(coder: NSCoder) { nil }
    }
    let rows = Rows(["a", "b"])
    let table = UITableView(frame: CGRect(x: 0, y: 0, width: 300, height: 200))
    table.register(Cell.self, forCellReuseIdentifier: "name")
    table.dataSource = rows
    table.layoutIfNeeded()
    #expect(table.visibleCells.map(\.frame.height) == [70, 70])
  }

  private final class Items: NSObject, UICollectionViewDataSource, UICollectionViewDelegateFlowLayout {
    var count = 5
    func collectionView(_ collectionView: UICollectionView, numberOfItemsInSection section: Int) -> Int { count }
    func collectionView(_ collectionView: UICollectionView, cellForItemAt indexPath: IndexPath) -> UICollectionViewCell
    {
      collectionView.dequeueReusableCell(withReuseIdentifier: "tile", for: indexPath)
    }
    func collectionView(
      _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
      sizeForItemAt indexPath: IndexPath
    ) -> CGSize { CGSize(width: 100, height: 80) }
  }

  @Test func collectionPlacesItsItemsInLines() {
    let items = Items()
    let layout = UICollectionViewFlowLayout()
    layout.minimumInteritemSpacing = 10
    layout.minimumLineSpacing = 20
    layout.sectionInset = UIEdgeInsets(top: 5, left: 10, bottom: 5, right: 10)
    let view = UICollectionView(frame: CGRect(x: 0, y: 0, width: 260, height: 400), collectionViewLayout: layout)
    view.register(UICollectionViewCell.self, forCellWithReuseIdentifier: "tile")
    view.dataSource = items
    view.delegate = items
    view.layoutIfNeeded()
    #expect(
      view.visibleCells.map(\.frame.origin) == [
        CGPoint(x: 10, y: 5), CGPoint(x: 150, y: 5), CGPoint(x: 10, y: 105), CGPoint(x: 150, y: 105),
        CGPoint(x: 10, y: 205),
      ])
    items.count = 1
    view.reloadData()
    view.layoutIfNeeded()
    #expect(view.visibleCells.count == 1)
    #expect(view.contentSize.height == 90)
  }

  private final class Target: SelectorPerforming {
    var calls: [String] = []
    func performSelector(_ selector: Selector, sender: Any?) -> Bool {
      guard selector.name != "missing" else { return false }
      calls.append("\(selector.name) \(sender.map { "\(type(of: $0))" } ?? "-")")
      return true
    }
  }

  @Test func controlCallsItsTargetsAndActions() throws {
    let root = UIView(frame: CGRect(x: 0, y: 0, width: 300, height: 300))
    let (button, toggle, target) = (UIButton(type: .system), UISwitch(frame: .zero), Target())
    button.setTitle("Leave", for: .normal)
    button.addTarget(target, action: Selector("leave:"), for: .touchUpInside)
    button.addAction(UIAction { _ in target.calls.append("action") }, for: .touchUpInside)
    toggle.accessibilityIdentifier = "speaker"
    toggle.addTarget(target, action: Selector("changed:"), for: .valueChanged)
    root.addSubview(button)
    root.addSubview(toggle)
    try root.tap("Leave")
    try root.tap("speaker")
    #expect(target.calls == ["leave: UIButton", "action", "changed: UISwitch"])
    #expect(toggle.isOn)
    button.isEnabled = false
    let error = #expect(throws: TapError.self) { try root.tap("Leave") }
    #expect(error?.description == "'Leave' is disabled")
    button.isEnabled = true
    button.removeTarget(target, action: nil, for: .allEvents)
    target.calls = []
    try root.tap("Leave")
    #expect(target.calls == ["action"])
    let missing = #expect(throws: TapError.self) { try root.tap("Join") }
    #expect(missing?.description.contains("there is speaker, Leave") == true)
  }

  @Test func gesturesNotificationsAndBarButtonsCallTheirSelectors() throws {
    let controller = UIViewController()
    let target = Target()
    let tile = UILabel(frame: CGRect(x: 0, y: 0, width: 100, height: 20))
    tile.text = "Ben"
    tile.addGestureRecognizer(UITapGestureRecognizer(target: target, action: Selector("tileTapped:")))
    controller.view.addSubview(tile)
    controller.navigationItem.rightBarButtonItem = UIBarButtonItem(
      title: "Chat", style: .plain, target: target, action: Selector("openChat"))
    let name = Notification.Name("ScreenPartsTests")
    NotificationCenter.default.addObserver(target, selector: Selector("noted:"), name: name, object: nil)
    try controller.view.tap("Ben")
    try controller.view.tap("Chat")
    NotificationCenter.default.post(name: name, object: nil)
    #expect(
      target.calls == ["tileTapped: UITapGestureRecognizer", "openChat UIBarButtonItem", "noted: Notification"])
  }

  @Test func observerThatIsRemovedHearsNoNotification() {
    let (target, other) = (Target(), Target())
    let (left, joined) = (Notification.Name("left"), Notification.Name("joined"))
    let center = NotificationCenter()
    center.addObserver(target, selector: Selector("left:"), name: left, object: nil)
    center.addObserver(target, selector: Selector("joined:"), name: joined, object: nil)
    center.addObserver(other, selector: Selector("left:"), name: left, object: nil)
    center.removeObserver(target, name: left, object: nil)
    center.post(name: left, object: nil)
    center.post(name: joined, object: nil)
    #expect(target.calls == ["joined: Notification"])
    #expect(other.calls == ["left: Notification"])
    center.removeObserver(target)
    center.post(name: joined, object: nil)
    #expect(target.calls == ["joined: Notification"])
  }

  @Test func controlWithoutTargetAsksTheResponderChain() throws {
    final class Controller: UIViewController, SelectorPerforming {
      var calls: [String] = []
      func performSelector(_ selector: Selector, sender: Any?) -> Bool {
        calls.append(selector.name)
        return true
      }
    }
    let (controller, panel, button) = (Controller(), UIView(), UIButton(type: .system))
    button.setTitle("Leave", for: .normal)
    button.addTarget(nil, action: Selector("leave"), for: .touchUpInside)
    panel.frame = CGRect(x: 0, y: 0, width: 200, height: 100)
    panel.addSubview(button)
    controller.view.addSubview(panel)
    try controller.view.tap("Leave")
    #expect(controller.calls == ["leave"])
  }

  @Test func gestureEndsEditingOfItsView() throws {
    let view = UIView(frame: CGRect(x: 0, y: 0, width: 200, height: 100))
    let (field, label) = (UITextField(frame: CGRect(x: 0, y: 0, width: 100, height: 20)), UILabel())
    label.text = "Background"
    label.frame = CGRect(x: 0, y: 50, width: 100, height: 20)
    label.addGestureRecognizer(UITapGestureRecognizer(target: view, action: Selector("endEditing:")))
    view.addSubview(field)
    view.addSubview(label)
    field.becomeFirstResponder()
    try view.tap("Background")
    #expect(!field.isFirstResponder)
  }

  @Test func timerCallsItsSelector() {
    let target = Target()
    let timer = Timer.scheduledTimer(
      timeInterval: 60, target: target, selector: Selector("tick:"), userInfo: nil, repeats: true)
    timer.fire()
    timer.invalidate()
    #expect(target.calls == ["tick: Timer"])
  }

  @Test func textIsTypedAndReturned() throws {
    final class Delegate: UITextFieldDelegate {
      var calls: [String] = []
      func textFieldDidBeginEditing(_ textField: UITextField) { calls.append("begin") }
      func textFieldShouldReturn(_ textField: UITextField) -> Bool {
        calls.append("return \(textField.text ?? "")")
        textField.resignFirstResponder()
        return true
      }
      func textFieldDidEndEditing(_ textField: UITextField) { calls.append("end") }
    }
    let (root, field, delegate) = (UIView(frame: .zero), UITextField(frame: .zero), Delegate())
    field.placeholder = "Message"
    field.delegate = delegate
    field.addAction(UIAction { _ in delegate.calls.append("changed") }, for: .editingChanged)
    root.addSubview(field)
    try root.type("hello", into: "Message")
    try root.pressReturn(in: "Message")
    #expect(delegate.calls == ["begin", "changed", "return hello", "end"])
    #expect(throws: TapError.self) { try root.type("x", into: "Name") }
  }

  private final class Screen: UIViewController {
    let name: String
    let log: Log
    init(_ name: String, _ log: Log) {
      (self.name, self.log) = (name, log)
      super.init()
    }
    override func viewWillAppear(_ animated: Bool) { log.lines.append("\(name) will appear") }
    override func viewDidAppear(_ animated: Bool) { log.lines.append("\(name) appeared") }
    override func viewDidDisappear(_ animated: Bool) { log.lines.append("\(name) gone") }
  }
  private final class Log { var lines: [String] = [] }

  @Test func windowNavigationAndPresentationReportAppearances() throws {
    let log = Log()
    let (first, second, third) = (Screen("first", log), Screen("second", log), Screen("third", log))
    let navigation = UINavigationController(rootViewController: first)
    let window = UIWindow(frame: CGRect(x: 0, y: 0, width: 300, height: 300))
    window.rootViewController = navigation
    #expect(log.lines == [])
    window.makeKeyAndVisible()
    #expect(log.lines == ["first will appear", "first appeared"])
    log.lines = []
    navigation.pushViewController(second, animated: true)
    #expect(log.lines == ["first gone", "second will appear", "second appeared"])
    #expect(second.view.window === window)
    log.lines = []
    second.present(third, animated: true)
    #expect(log.lines == ["third will appear", "third appeared"])
    #expect(third.presentingViewController === second)
    log.lines = []
    third.dismiss(animated: true)
    navigation.popViewController(animated: true)
    #expect(log.lines == ["third gone", "second gone", "first will appear", "first appeared"])
  }

  @Test func alertsChoiceRunsItsHandlerAndCoversTheRest() throws {
    let controller = UIViewController()
    let log = Log()
    let button = UIButton(type: .system)
    button.setTitle("Behind", for: .normal)
    controller.view.addSubview(button)
    let alert = UIAlertController(title: "Leave?", message: "The call goes on.", preferredStyle: .alert)
    alert.addTextField { $0.placeholder = "Reason" }
    alert.addAction(UIAlertAction(title: "Cancel", style: .cancel))
    alert.addAction(
      UIAlertAction(title: "Leave", style: .destructive) { _ in log.lines.append(alert.textFields?.first?.text ?? "") })
    controller.present(alert, animated: true)
    #expect(throws: TapError.self) { try controller.view.tap("Behind") }
    try controller.view.type("late", into: "Reason")
    try controller.view.tap("Leave")
    #expect(log.lines == ["late"])
    #expect(controller.presentedViewController == nil)
    try controller.view.tap("Behind")
  }

  @Test func imageIsReadFromAPNGAndDrawn() throws {
    let source = UIView(frame: CGRect(x: 0, y: 0, width: 4, height: 2))
    source.backgroundColor = .red
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("koine-\(UUID().uuidString).png").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try source.writePNG(to: path)
    let image = try #require(UIImage(contentsOfFile: path))
    #expect(image.size == CGSize(width: 4, height: 2))
    #expect(UIImage(data: try #require(image.pngData())) == image)
    #expect(UIImage(data: Data([1, 2, 3])) == nil)
    let view = UIImageView(image: image)
    view.contentMode = .center
    view.frame = CGRect(x: 0, y: 0, width: 10, height: 10)
    view.backgroundColor = .blue
    let pixels = view.snapshot()
    #expect(pixels.color(x: 5, y: 5)?.red == 255)
    #expect(pixels.color(x: 1, y: 1)?.red == 0)
    view.contentMode = .scaleToFill
    #expect(view.snapshot().color(x: 1, y: 1)?.red == 255)
  }
}
