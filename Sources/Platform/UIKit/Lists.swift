public import Foundation

extension IndexPath {
  /// A place in a table.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
  /// A place in a collection.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
  public var section: Int { self[startIndex] }
  public var row: Int { self[index(after: startIndex)] }
  public var item: Int { row }
}

extension CGRect {
  /// Whether the rectangles have a common area; an edge in common is none.
  fileprivate func overlaps(_ other: CGRect) -> Bool {
    minX < other.maxX && other.minX < maxX && minY < other.maxY && other.minY < maxY
  }
}

// MARK: Tables

@preconcurrency @MainActor
public protocol UITableViewDataSource: AnyObject {
  func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int
  func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell
  func numberOfSections(in tableView: UITableView) -> Int
  func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String?
  func tableView(
    _ tableView: UITableView, commit editingStyle: UITableViewCell.EditingStyle, forRowAt indexPath: IndexPath)
  func tableView(_ tableView: UITableView, canEditRowAt indexPath: IndexPath) -> Bool
}
extension UITableViewDataSource {
  public func numberOfSections(in tableView: UITableView) -> Int { 1 }
  public func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String? { nil }
  public func tableView(
    _ tableView: UITableView, commit editingStyle: UITableViewCell.EditingStyle, forRowAt indexPath: IndexPath
  ) {}
  public func tableView(_ tableView: UITableView, canEditRowAt indexPath: IndexPath) -> Bool { false }
}

@preconcurrency @MainActor
public protocol UITableViewDelegate: UIScrollViewDelegate {
  func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath)
  func tableView(_ tableView: UITableView, didDeselectRowAt indexPath: IndexPath)
  func tableView(_ tableView: UITableView, heightForRowAt indexPath: IndexPath) -> CGFloat
  func tableView(_ tableView: UITableView, willDisplay cell: UITableViewCell, forRowAt indexPath: IndexPath)
  func tableView(_ tableView: UITableView, didEndDisplaying cell: UITableViewCell, forRowAt indexPath: IndexPath)
}
extension UITableViewDelegate {
  public func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) {}
  public func tableView(_ tableView: UITableView, didDeselectRowAt indexPath: IndexPath) {}
  public func tableView(_ tableView: UITableView, heightForRowAt indexPath: IndexPath) -> CGFloat {
    tableView.rowHeight
  }
  public func tableView(_ tableView: UITableView, willDisplay cell: UITableViewCell, forRowAt indexPath: IndexPath) {}
  public func tableView(_ tableView: UITableView, didEndDisplaying cell: UITableViewCell, forRowAt indexPath: IndexPath)
  {}
}

/// One row of a table.
@preconcurrency @MainActor
open class UITableViewCell: UIView {
  public enum CellStyle: Int, Sendable { case `default`, value1, value2, subtitle }
  public enum SelectionStyle: Int, Sendable { case none, blue, gray, `default` }
  public enum AccessoryType: Int, Sendable {
    case none, disclosureIndicator, detailDisclosureButton, checkmark, detailButton
  }
  public enum EditingStyle: Int, Sendable { case none, delete, insert }

  public let contentView = UIView(frame: .zero)
  public private(set) lazy var textLabel: UILabel? = makeLabel()
  public private(set) lazy var detailTextLabel: UILabel? = style == .default ? nil : makeLabel()
  public private(set) lazy var imageView: UIImageView? = {
    let view = UIImageView(frame: .zero)
    contentView.addSubview(view)
    return view
  }()
  public let reuseIdentifier: String?
  private let style: CellStyle
  open var selectionStyle = SelectionStyle.default
  open var accessoryType = AccessoryType.none
  open var accessoryView: UIView?
  open var isSelected = false
  open var isHighlighted = false

  public init(style: CellStyle = .default, reuseIdentifier: String? = nil) {
    (self.style, self.reuseIdentifier) = (style, reuseIdentifier)
    super.init(frame: CGRect(x: 0, y: 0, width: 320, height: 44))
    addSubview(contentView)
  }
  public required init?(coder: NSCoder) { nil }

  /// For a table that makes a cell of a registered class. A subclass with the two designated inits, or none, inherits it.
  public required convenience init(reusedAs identifier: String) {
    self.init(style: .default, reuseIdentifier: identifier)
  }

  private func makeLabel() -> UILabel {
    let label = UILabel(frame: .zero)
    label.font = UIFont.systemFont(ofSize: UIFont.labelFontSize)
    contentView.addSubview(label)
    return label
  }

  open func prepareForReuse() {}
  open func setSelected(_ selected: Bool, animated: Bool) { isSelected = selected }

  open override func layoutSubviews() {
    super.layoutSubviews()
    contentView.frame = bounds
    var left: CGFloat = 16
    if let image = _image?.image {
      _image?.frame = CGRect(
        x: left, y: bounds.midY - image.size.height / 2, width: image.size.width, height: image.size.height)
      left += image.size.width + 16
    }
    let hasTwoLines = style == .subtitle && detail?.text != nil
    let height = hasTwoLines ? bounds.height / 2 : bounds.height
    text?.frame = CGRect(x: left, y: 0, width: bounds.width - left - 16, height: height)
    guard let detail else { return }
    if style == .subtitle {
      detail.frame = CGRect(x: left, y: height, width: bounds.width - left - 16, height: bounds.height - height)
    } else {
      let width = detail.intrinsicContentSize.width
      detail.frame = CGRect(x: bounds.width - width - 16, y: 0, width: width, height: bounds.height)
    }
  }
  // Labels that were never asked for are not made by the layout.
  private var text: UILabel? { contentView.subviews.contains { $0 is UILabel } ? textLabel : nil }
  private var detail: UILabel? { style == .default || text == nil ? nil : detailTextLabel }
  private var _image: UIImageView? { contentView.subviews.lazy.compactMap { $0 as? UIImageView }.first }
}

/// A list that asks its data source for rows, and keeps the visible ones in the view tree.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uitableview)
@preconcurrency @MainActor
open class UITableView: UIScrollView {
  public enum Style: Int, Sendable { case plain, grouped, insetGrouped }
  public enum RowAnimation: Int, Sendable { case fade, right, left, top, bottom, none, middle, automatic = 100 }
  public enum ScrollPosition: Int, Sendable { case none, top, middle, bottom }
  public enum SeparatorStyle: Int, Sendable { case none, singleLine }
  nonisolated public static let automaticDimension: CGFloat = -1

  public let style: Style
  open weak var dataSource: (any UITableViewDataSource)? { didSet { reloadData() } }
  /// The table's delegate; `delegate`, as UIKit types it, is a scroll view's delegate here.
  open override var delegate: (any UIScrollViewDelegate)? {
    get { super.delegate }
    set {
      super.delegate = newValue
      reloadData()
    }
  }
  /// In points; `automaticDimension`: the height that a cell's constraints give, else 44.
  open var rowHeight: CGFloat = automaticDimension { didSet { reloadData() } }
  open var estimatedRowHeight: CGFloat = automaticDimension
  open var sectionHeaderHeight: CGFloat = 28
  open var separatorStyle = SeparatorStyle.singleLine
  open var allowsSelection = true
  open var allowsMultipleSelection = false
  open var isEditing = false
  open var tableHeaderView: UIView? { didSet { replace(oldValue, tableHeaderView) } }
  open var tableFooterView: UIView? { didSet { replace(oldValue, tableFooterView) } }
  open var refreshControl: UIControl?
  open var backgroundView: UIView?
  private var classes: [String: UITableViewCell.Type] = [:]
  private var unused: [String: [UITableViewCell]] = [:]
  private var visible: [IndexPath: UITableViewCell] = [:]
  private var headers: [UILabel] = []
  private var selected: Set<IndexPath> = []
  /// Frames by section and row; nil: to be asked for again.
  private var rows: [[CGRect]]?

  public init(frame: CGRect, style: Style) {
    self.style = style
    super.init(frame: frame)
  }
  public override init(frame: CGRect) {
    style = .plain
    super.init(frame: frame)
  }
  public required init?(coder: NSCoder) { nil }

  private var tableDelegate: (any UITableViewDelegate)? { delegate as? any UITableViewDelegate }

  // MARK: Cells

  open func register(_ cellClass: AnyClass?, forCellReuseIdentifier identifier: String) {
    classes[identifier] = cellClass as? UITableViewCell.Type
  }

  open func dequeueReusableCell(withIdentifier identifier: String) -> UITableViewCell? {
    if let cell = unused[identifier]?.popLast() {
      cell.prepareForReuse()
      return cell
    }
    return classes[identifier].map { $0.init(reusedAs: identifier) }
  }

  /// - Parameter identifier: a registered one. Another one is an error of the app, which UIKit answers with an exception: here the cell is
  ///   a plain one, and the error is written once.
  open func dequeueReusableCell(withIdentifier identifier: String, for indexPath: IndexPath) -> UITableViewCell {
    if let cell = dequeueReusableCell(withIdentifier: identifier) { return cell }
    LayoutProblems.report("no cell is registered for '\(identifier)'")
    return UITableViewCell(style: .default, reuseIdentifier: identifier)
  }

  open func cellForRow(at indexPath: IndexPath) -> UITableViewCell? { visible[indexPath] }
  open func indexPath(for cell: UITableViewCell) -> IndexPath? { visible.first { $0.value === cell }?.key }
  open func indexPathForRow(at point: CGPoint) -> IndexPath? {
    layOutRows()
    for (section, frames) in (rows ?? []).enumerated() {
      if let row = frames.firstIndex(where: { $0.contains(point) }) { return IndexPath(row: row, section: section) }
    }
    return nil
  }
  open var visibleCells: [UITableViewCell] { visible.sorted { $0.key < $1.key }.map(\.value) }
  open var indexPathsForVisibleRows: [IndexPath]? { visible.keys.sorted() }
  open var numberOfSections: Int { dataSource?.numberOfSections(in: self) ?? 0 }
  open func numberOfRows(inSection section: Int) -> Int {
    dataSource?.tableView(self, numberOfRowsInSection: section) ?? 0
  }
  open func rectForRow(at indexPath: IndexPath) -> CGRect {
    layOutRows()
    guard let rows, rows.indices.contains(indexPath.section), rows[indexPath.section].indices.contains(indexPath.row)
    else {
      return .zero
    }
    return rows[indexPath.section][indexPath.row]
  }

  // MARK: Changes

  /// Asks the data source for everything again at the next layout.
  open func reloadData() {
    for (_, cell) in visible { recycle(cell) }
    (visible, rows) = ([:], nil)
    selected = []
    setNeedsLayout()
  }

  // The data source has changed already: the visible rows are asked for again, whatever the change.
  open func insertRows(at indexPaths: [IndexPath], with animation: RowAnimation) { reloadKeepingSelection() }
  open func deleteRows(at indexPaths: [IndexPath], with animation: RowAnimation) { reloadKeepingSelection() }
  open func reloadRows(at indexPaths: [IndexPath], with animation: RowAnimation) { reloadKeepingSelection() }
  open func moveRow(at indexPath: IndexPath, to newIndexPath: IndexPath) { reloadKeepingSelection() }
  open func insertSections(_ sections: IndexSet, with animation: RowAnimation) { reloadKeepingSelection() }
  open func deleteSections(_ sections: IndexSet, with animation: RowAnimation) { reloadKeepingSelection() }
  open func reloadSections(_ sections: IndexSet, with animation: RowAnimation) { reloadKeepingSelection() }
  open func beginUpdates() {}
  open func endUpdates() { reloadKeepingSelection() }
  open func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {
    updates?()
    reloadKeepingSelection()
    layoutIfNeeded()
    completion?(true)
  }

  private func reloadKeepingSelection() {
    let kept = selected
    reloadData()
    selected = kept
  }

  // MARK: Selection

  open var indexPathForSelectedRow: IndexPath? { selected.min() }
  open var indexPathsForSelectedRows: [IndexPath]? { selected.isEmpty ? nil : selected.sorted() }
  open func selectRow(at indexPath: IndexPath?, animated: Bool, scrollPosition: ScrollPosition) {
    if !allowsMultipleSelection { selected = [] }
    if let indexPath { selected.insert(indexPath) }
    for (path, cell) in visible { cell.setSelected(selected.contains(path), animated: animated) }
  }
  open func deselectRow(at indexPath: IndexPath, animated: Bool) {
    selected.remove(indexPath)
    visible[indexPath]?.setSelected(false, animated: animated)
  }
  open func scrollToRow(at indexPath: IndexPath, at scrollPosition: ScrollPosition, animated: Bool) {
    scrollRectToVisible(rectForRow(at: indexPath), animated: animated)
  }

  /// As when a person taps a row.
  func tap(row indexPath: IndexPath) {
    guard allowsSelection else { return }
    selectRow(at: indexPath, animated: false, scrollPosition: .none)
    tableDelegate?.tableView(self, didSelectRowAt: indexPath)
  }

  // MARK: Layout

  open override func layoutSubviews() {
    super.layoutSubviews()
    layOutRows()
    showVisibleRows()
  }

  private func replace(_ old: UIView?, _ new: UIView?) {
    old?.removeFromSuperview()
    if let new { addSubview(new) }
    rows = nil
    setNeedsLayout()
  }

  private func layOutRows() {
    guard rows == nil, let dataSource else { return }
    for header in headers { header.removeFromSuperview() }
    headers = []
    var (top, found): (CGFloat, [[CGRect]]) = (0, [])
    if let header = tableHeaderView {
      header.frame = CGRect(x: 0, y: 0, width: bounds.width, height: header.frame.height)
      top += header.frame.height
    }
    for section in 0..<numberOfSections {
      if let title = dataSource.tableView(self, titleForHeaderInSection: section) {
        let label = UILabel(frame: CGRect(x: 16, y: top, width: bounds.width - 32, height: sectionHeaderHeight))
        label.font = UIFont.systemFont(ofSize: 13)
        label.text = title
        headers.append(label)
        addSubview(label)
        top += sectionHeaderHeight
      }
      var frames: [CGRect] = []
      for row in 0..<numberOfRows(inSection: section) {
        let height = height(of: IndexPath(row: row, section: section))
        frames.append(CGRect(x: 0, y: top, width: bounds.width, height: height))
        top += height
      }
      found.append(frames)
    }
    if let footer = tableFooterView {
      footer.frame = CGRect(x: 0, y: top, width: bounds.width, height: footer.frame.height)
      top += footer.frame.height
    }
    rows = found
    contentSize = CGSize(width: bounds.width, height: top)
  }

  private func height(of indexPath: IndexPath) -> CGFloat {
    let asked = tableDelegate?.tableView(self, heightForRowAt: indexPath) ?? rowHeight
    guard asked < 0 else { return asked }
    // The height is that of the cell's constraints.
    guard let cell = visible[indexPath] ?? dataSource?.tableView(self, cellForRowAt: indexPath) else { return 44 }
    visible[indexPath] = cell
    if cell.superview !== self { addSubview(cell) }
    guard !cell.contentView.heldConstraints.isEmpty else { return 44 }
    return max(
      1,
      cell.contentView.systemLayoutSizeFitting(
        CGSize(width: bounds.width, height: 0), withHorizontalFittingPriority: .required,
        verticalFittingPriority: .fittingSizeLevel
      ).height)
  }

  private func showVisibleRows() {
    guard let rows, let dataSource else { return }
    let area = visibleRect
    var shown: [IndexPath: UITableViewCell] = [:]
    for (section, frames) in rows.enumerated() {
      for (row, frame) in frames.enumerated() where frame.overlaps(area) {
        let path = IndexPath(row: row, section: section)
        let isNew = visible[path] == nil
        let cell = visible.removeValue(forKey: path) ?? dataSource.tableView(self, cellForRowAt: path)
        if cell.superview !== self { addSubview(cell) }
        cell.frame = frame
        cell.contentView.frame = cell.bounds
        cell.setSelected(selected.contains(path), animated: false)
        if isNew { tableDelegate?.tableView(self, willDisplay: cell, forRowAt: path) }
        shown[path] = cell
      }
    }
    for (path, cell) in visible {
      recycle(cell)
      tableDelegate?.tableView(self, didEndDisplaying: cell, forRowAt: path)
    }
    visible = shown
  }

  private func recycle(_ cell: UITableViewCell) {
    cell.removeFromSuperview()
    if let identifier = cell.reuseIdentifier { unused[identifier, default: []].append(cell) }
  }
}

// MARK: Collections

@preconcurrency @MainActor
public protocol UICollectionViewDataSource: AnyObject {
  func collectionView(_ collectionView: UICollectionView, numberOfItemsInSection section: Int) -> Int
  func collectionView(_ collectionView: UICollectionView, cellForItemAt indexPath: IndexPath) -> UICollectionViewCell
  func numberOfSections(in collectionView: UICollectionView) -> Int
}
extension UICollectionViewDataSource {
  public func numberOfSections(in collectionView: UICollectionView) -> Int { 1 }
}

@preconcurrency @MainActor
public protocol UICollectionViewDelegate: UIScrollViewDelegate {
  func collectionView(_ collectionView: UICollectionView, didSelectItemAt indexPath: IndexPath)
  func collectionView(
    _ collectionView: UICollectionView, willDisplay cell: UICollectionViewCell, forItemAt indexPath: IndexPath)
  func collectionView(
    _ collectionView: UICollectionView, didEndDisplaying cell: UICollectionViewCell, forItemAt indexPath: IndexPath)
}
extension UICollectionViewDelegate {
  public func collectionView(_ collectionView: UICollectionView, didSelectItemAt indexPath: IndexPath) {}
  public func collectionView(
    _ collectionView: UICollectionView, willDisplay cell: UICollectionViewCell, forItemAt indexPath: IndexPath
  ) {}
  public func collectionView(
    _ collectionView: UICollectionView, didEndDisplaying cell: UICollectionViewCell, forItemAt indexPath: IndexPath
  ) {}
}

@preconcurrency @MainActor
public protocol UICollectionViewDelegateFlowLayout: UICollectionViewDelegate {
  func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    sizeForItemAt indexPath: IndexPath
  ) -> CGSize
  func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    insetForSectionAt section: Int
  ) -> UIEdgeInsets
  func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    minimumLineSpacingForSectionAt section: Int
  ) -> CGFloat
  func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    minimumInteritemSpacingForSectionAt section: Int
  ) -> CGFloat
}
extension UICollectionViewDelegateFlowLayout {
  private func flow(_ layout: UICollectionViewLayout) -> UICollectionViewFlowLayout {
    layout as? UICollectionViewFlowLayout ?? UICollectionViewFlowLayout()
  }
  public func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    sizeForItemAt indexPath: IndexPath
  ) -> CGSize { flow(collectionViewLayout).itemSize }
  public func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    insetForSectionAt section: Int
  ) -> UIEdgeInsets { flow(collectionViewLayout).sectionInset }
  public func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    minimumLineSpacingForSectionAt section: Int
  ) -> CGFloat { flow(collectionViewLayout).minimumLineSpacing }
  public func collectionView(
    _ collectionView: UICollectionView, layout collectionViewLayout: UICollectionViewLayout,
    minimumInteritemSpacingForSectionAt section: Int
  ) -> CGFloat { flow(collectionViewLayout).minimumInteritemSpacing }
}

/// One item of a collection.
@preconcurrency @MainActor
open class UICollectionViewCell: UIView {
  public let contentView = UIView(frame: .zero)
  public internal(set) var reuseIdentifier: String?
  open var isSelected = false
  open var isHighlighted = false
  open var backgroundView: UIView?

  public override init(frame: CGRect) {
    super.init(frame: frame)
    contentView.frame = bounds
    addSubview(contentView)
  }
  public required init?(coder: NSCoder) { nil }

  /// For a collection that makes a cell of a registered class. A subclass with the two designated inits, or none, inherits it.
  public required convenience init(reusedAs identifier: String) {
    self.init(frame: .zero)
    reuseIdentifier = identifier
  }

  open func prepareForReuse() {}
  open override func layoutSubviews() {
    super.layoutSubviews()
    contentView.frame = bounds
  }
}

/// Computes the frames of a collection's items. A subclass overrides `layoutAttributesForItem`; the system's is the flow layout.
@preconcurrency @MainActor
open class UICollectionViewLayout: NSObject {
  public internal(set) weak var collectionView: UICollectionView?
  public override init() { super.init() }
  open func prepare() {}
  open func invalidateLayout() { collectionView?.setNeedsFrames() }
  open var collectionViewContentSize: CGSize { .zero }
  open func layoutAttributesForItem(at indexPath: IndexPath) -> UICollectionViewLayoutAttributes? { nil }
}

@preconcurrency @MainActor
open class UICollectionViewLayoutAttributes: NSObject {
  open var frame = CGRect.zero
  open var indexPath: IndexPath
  open var isHidden = false
  open var alpha: CGFloat = 1
  open var zIndex = 0
  public init(forCellWith indexPath: IndexPath) { self.indexPath = indexPath }
}

/// Places items one after the other in lines.
@preconcurrency @MainActor
open class UICollectionViewFlowLayout: UICollectionViewLayout {
  public enum ScrollDirection: Int, Sendable { case vertical, horizontal }
  open var itemSize = CGSize(width: 50, height: 50) { didSet { invalidateLayout() } }
  open var minimumLineSpacing: CGFloat = 10 { didSet { invalidateLayout() } }
  open var minimumInteritemSpacing: CGFloat = 10 { didSet { invalidateLayout() } }
  open var sectionInset = UIEdgeInsets.zero { didSet { invalidateLayout() } }
  open var scrollDirection = ScrollDirection.vertical { didSet { invalidateLayout() } }
  private var frames: [IndexPath: CGRect] = [:]
  private var size = CGSize.zero

  open override func prepare() {
    super.prepare()
    guard let view = collectionView else { return }
    let delegate = view.delegate as? any UICollectionViewDelegateFlowLayout
    let isVertical = scrollDirection == .vertical
    // `along` is the direction of a line, `across` that in which lines follow each other.
    func along(_ size: CGSize) -> CGFloat { isVertical ? size.width : size.height }
    func across(_ size: CGSize) -> CGFloat { isVertical ? size.height : size.width }
    var start: CGFloat = 0
    frames = [:]
    for section in 0..<view.numberOfSections {
      let inset = delegate?.collectionView(view, layout: self, insetForSectionAt: section) ?? sectionInset
      let lineSpacing =
        delegate?.collectionView(view, layout: self, minimumLineSpacingForSectionAt: section) ?? minimumLineSpacing
      let itemSpacing =
        delegate?.collectionView(view, layout: self, minimumInteritemSpacingForSectionAt: section)
        ?? minimumInteritemSpacing
      let (first, last) = isVertical ? (inset.left, inset.right) : (inset.top, inset.bottom)
      let length = along(view.bounds.size) - first - last
      start += isVertical ? inset.top : inset.left
      var line: [(IndexPath, CGSize)] = []
      var isFirstLine = true
      func finishLine(isLast: Bool) {
        guard !line.isEmpty else { return }
        if !isFirstLine { start += lineSpacing }
        isFirstLine = false
        let used = line.reduce(0) { $0 + along($1.1) }
        // A full line is spread over the whole width; the last one keeps the least distance.
        let gap = line.count > 1 && !isLast ? (length - used) / CGFloat(line.count - 1) : itemSpacing
        let height = line.map { across($0.1) }.max() ?? 0
        var place = first
        for (path, size) in line {
          let middle = start + (height - across(size)) / 2
          frames[path] = CGRect(
            origin: isVertical ? CGPoint(x: place, y: middle) : CGPoint(x: middle, y: place), size: size)
          place += along(size) + gap
        }
        start += height
        line = []
      }
      for item in 0..<view.numberOfItems(inSection: section) {
        let path = IndexPath(item: item, section: section)
        let size = delegate?.collectionView(view, layout: self, sizeForItemAt: path) ?? itemSize
        let used = line.reduce(0) { $0 + along($1.1) + itemSpacing }
        if !line.isEmpty, used + along(size) > length + 0.01 { finishLine(isLast: false) }
        line.append((path, size))
      }
      finishLine(isLast: true)
      start += isVertical ? inset.bottom : inset.right
    }
    size =
      isVertical ? CGSize(width: view.bounds.width, height: start) : CGSize(width: start, height: view.bounds.height)
  }

  open override var collectionViewContentSize: CGSize { size }
  open override func layoutAttributesForItem(at indexPath: IndexPath) -> UICollectionViewLayoutAttributes? {
    guard let frame = frames[indexPath] else { return nil }
    let attributes = UICollectionViewLayoutAttributes(forCellWith: indexPath)
    attributes.frame = frame
    return attributes
  }
}

/// Items that a layout places; the visible ones are in the view tree.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uicollectionview)
@preconcurrency @MainActor
open class UICollectionView: UIScrollView {
  public enum ScrollPosition: Int, Sendable { case top, centeredVertically, bottom, left, centeredHorizontally, right }

  open var collectionViewLayout: UICollectionViewLayout { didSet { adopt(collectionViewLayout) } }
  open weak var dataSource: (any UICollectionViewDataSource)? { didSet { reloadData() } }
  open override var delegate: (any UIScrollViewDelegate)? {
    get { super.delegate }
    set {
      super.delegate = newValue
      reloadData()
    }
  }
  open var allowsSelection = true
  open var backgroundView: UIView?
  private var classes: [String: UICollectionViewCell.Type] = [:]
  private var unused: [String: [UICollectionViewCell]] = [:]
  private var visible: [IndexPath: UICollectionViewCell] = [:]
  private var selected: Set<IndexPath> = []
  private var needsFrames = true
  private var laidOutSize = CGSize.zero

  public init(frame: CGRect, collectionViewLayout layout: UICollectionViewLayout) {
    collectionViewLayout = layout
    super.init(frame: frame)
    adopt(layout)
  }
  public required init?(coder: NSCoder) { nil }

  private func adopt(_ layout: UICollectionViewLayout) {
    layout.collectionView = self
    setNeedsFrames()
  }

  func setNeedsFrames() {
    needsFrames = true
    setNeedsLayout()
  }

  open func setCollectionViewLayout(_ layout: UICollectionViewLayout, animated: Bool) { collectionViewLayout = layout }

  open func register(_ cellClass: AnyClass?, forCellWithReuseIdentifier identifier: String) {
    classes[identifier] = cellClass as? UICollectionViewCell.Type
  }

  /// - Parameter identifier: a registered one. For another one the cell is a plain one, and the error is written once.
  open func dequeueReusableCell(withReuseIdentifier identifier: String, for indexPath: IndexPath)
    -> UICollectionViewCell
  {
    if let cell = unused[identifier]?.popLast() {
      cell.prepareForReuse()
      return cell
    }
    if classes[identifier] == nil { LayoutProblems.report("no cell is registered for '\(identifier)'") }
    return (classes[identifier] ?? UICollectionViewCell.self).init(reusedAs: identifier)
  }

  open var numberOfSections: Int { dataSource?.numberOfSections(in: self) ?? 0 }
  open func numberOfItems(inSection section: Int) -> Int {
    dataSource?.collectionView(self, numberOfItemsInSection: section) ?? 0
  }
  open func cellForItem(at indexPath: IndexPath) -> UICollectionViewCell? { visible[indexPath] }
  open func indexPath(for cell: UICollectionViewCell) -> IndexPath? { visible.first { $0.value === cell }?.key }
  open var visibleCells: [UICollectionViewCell] { visible.sorted { $0.key < $1.key }.map(\.value) }
  open var indexPathsForVisibleItems: [IndexPath] { visible.keys.sorted() }
  open func layoutAttributesForItem(at indexPath: IndexPath) -> UICollectionViewLayoutAttributes? {
    collectionViewLayout.layoutAttributesForItem(at: indexPath)
  }

  /// Asks the data source for everything again at the next layout.
  open func reloadData() {
    for (_, cell) in visible { recycle(cell) }
    visible = [:]
    setNeedsFrames()
  }

  // The data source has changed already: the visible items are asked for again, whatever the change.
  open func insertItems(at indexPaths: [IndexPath]) { reloadData() }
  open func deleteItems(at indexPaths: [IndexPath]) { reloadData() }
  open func reloadItems(at indexPaths: [IndexPath]) { reloadData() }
  open func moveItem(at indexPath: IndexPath, to newIndexPath: IndexPath) { reloadData() }
  open func insertSections(_ sections: IndexSet) { reloadData() }
  open func deleteSections(_ sections: IndexSet) { reloadData() }
  open func reloadSections(_ sections: IndexSet) { reloadData() }
  open func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {
    updates?()
    reloadData()
    layoutIfNeeded()
    completion?(true)
  }

  open var indexPathsForSelectedItems: [IndexPath]? { selected.sorted() }
  open func selectItem(at indexPath: IndexPath?, animated: Bool, scrollPosition: ScrollPosition) {
    selected = indexPath.map { [$0] } ?? []
    for (path, cell) in visible { cell.isSelected = selected.contains(path) }
  }
  open func deselectItem(at indexPath: IndexPath, animated: Bool) {
    selected.remove(indexPath)
    visible[indexPath]?.isSelected = false
  }
  open func scrollToItem(at indexPath: IndexPath, at scrollPosition: ScrollPosition, animated: Bool) {
    layoutIfNeeded()
    if let frame = layoutAttributesForItem(at: indexPath)?.frame { scrollRectToVisible(frame, animated: animated) }
  }

  /// As when a person taps an item.
  func tap(item indexPath: IndexPath) {
    guard allowsSelection else { return }
    selectItem(at: indexPath, animated: false, scrollPosition: .top)
    (delegate as? any UICollectionViewDelegate)?.collectionView(self, didSelectItemAt: indexPath)
  }

  open override func layoutSubviews() {
    super.layoutSubviews()
    if needsFrames || laidOutSize != bounds.size {
      (needsFrames, laidOutSize) = (false, bounds.size)
      collectionViewLayout.prepare()
      contentSize = collectionViewLayout.collectionViewContentSize
    }
    showVisibleItems()
  }

  private func showVisibleItems() {
    guard let dataSource else { return }
    let collectionDelegate = delegate as? any UICollectionViewDelegate
    let area = visibleRect
    var shown: [IndexPath: UICollectionViewCell] = [:]
    for section in 0..<numberOfSections {
      for item in 0..<numberOfItems(inSection: section) {
        let path = IndexPath(item: item, section: section)
        guard let attributes = layoutAttributesForItem(at: path), attributes.frame.overlaps(area) else { continue }
        let isNew = visible[path] == nil
        let cell = visible.removeValue(forKey: path) ?? dataSource.collectionView(self, cellForItemAt: path)
        if cell.superview !== self { addSubview(cell) }
        (cell.frame, cell.isHidden, cell.alpha) = (attributes.frame, attributes.isHidden, attributes.alpha)
        cell.contentView.frame = cell.bounds
        cell.isSelected = selected.contains(path)
        if isNew { collectionDelegate?.collectionView(self, willDisplay: cell, forItemAt: path) }
        shown[path] = cell
      }
    }
    for (path, cell) in visible {
      recycle(cell)
      collectionDelegate?.collectionView(self, didEndDisplaying: cell, forItemAt: path)
    }
    visible = shown
  }

  private func recycle(_ cell: UICollectionViewCell) {
    cell.removeFromSuperview()
    if let identifier = cell.reuseIdentifier { unused[identifier, default: []].append(cell) }
  }
}
