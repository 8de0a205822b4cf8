import Foundation

/// Computes the frames of all views below a root from their constraints, in one system of linear constraints.
@MainActor struct LayoutEngine {
  /// Position in the superview, and size.
  private struct Box {
    var x, y, width, height: LinearExpression
  }

  private enum Size {
    case fixed(CGSize)
    /// As close to the size as the constraints inside permit.
    case fitting(CGSize, horizontal: UILayoutPriority, vertical: UILayoutPriority)
  }

  private let root: UIView
  private var solver = LinearSolver()
  private var boxes: [ObjectIdentifier: Box] = [:]
  /// Views whose frames the solver decides, a superview before its subviews.
  private var solved: [UIView] = []
  private var guides: [UILayoutGuide] = []
  private var arrangements: [UIStackView.Arrangement] = []
  /// Constraints that need not hold, which are added last.
  private var optional: [(LinearExpression, LinearSolver.Relation, Double)] = []

  private init(_ root: UIView, _ size: Size) {
    self.root = root
    switch size {
    case .fixed(let size):
      boxes[ObjectIdentifier(root)] = Box(
        x: .init(0), y: .init(0), width: .init(Double(size.width)), height: .init(Double(size.height)))
    case .fitting(let size, let horizontal, let vertical):
      let (width, height) = (LinearExpression(solver.makeVariable()), LinearExpression(solver.makeVariable()))
      boxes[ObjectIdentifier(root)] = Box(x: .init(0), y: .init(0), width: width, height: height)
      require(width, .greaterThanOrEqual)
      require(height, .greaterThanOrEqual)
      add(width - Double(size.width), .equal, horizontal)
      add(height - Double(size.height), .equal, vertical)
      addIntrinsicSize(of: root)
    }
    addBoxes(below: root)
    addConstraints(of: root)
    for arrangement in arrangements { for constraint in arrangement.constraints { add(constraint) } }
    for (expression, relation, weight) in optional {
      // A constraint with a weight is never unsatisfiable.
      try? solver.add(expression, relation, weight: weight)
    }
  }

  /// Sets the frames of all views below a root that has its size.
  static func layOut(_ root: UIView) {
    guard needsSolver(root) else { return }
    LayoutEngine(root, .fixed(root.frame.size)).apply()
  }

  /// The size of a view that its constraints, and those inside, permit.
  static func size(
    of view: UIView, fitting size: CGSize, horizontal: UILayoutPriority, vertical: UILayoutPriority
  ) -> CGSize {
    let engine = LayoutEngine(view, .fitting(size, horizontal: horizontal, vertical: vertical))
    guard let box = engine.boxes[ObjectIdentifier(view)] else { return .zero }
    return CGSize(width: engine.value(box.width), height: engine.value(box.height))
  }

  private static func needsSolver(_ view: UIView) -> Bool {
    !view.heldConstraints.isEmpty || !view.translatesAutoresizingMaskIntoConstraints || view is UIStackView
      || view.subviews.contains(where: needsSolver)
  }

  // MARK: Views

  private mutating func addBoxes(below view: UIView) {
    guard let outer = boxes[ObjectIdentifier(view)] else { return }
    var own = view.layoutGuides
    if let stack = view as? UIStackView {
      let arrangement = stack.makeArrangement()
      arrangements.append(arrangement)
      own += arrangement.guides
    }
    for guide in own where boxes[ObjectIdentifier(guide)] == nil {
      boxes[ObjectIdentifier(guide)] = makeBox()
      guides.append(guide)
    }
    for subview in view.subviews {
      if subview.translatesAutoresizingMaskIntoConstraints {
        boxes[ObjectIdentifier(subview)] = autoresized(subview, in: view, outer)
      } else {
        boxes[ObjectIdentifier(subview)] = makeBox()
        solved.append(subview)
        addIntrinsicSize(of: subview)
      }
      addBoxes(below: subview)
    }
  }

  private mutating func makeBox() -> Box {
    let box = Box(
      x: LinearExpression(solver.makeVariable()), y: LinearExpression(solver.makeVariable()),
      width: LinearExpression(solver.makeVariable()), height: LinearExpression(solver.makeVariable()))
    require(box.width, .greaterThanOrEqual)
    require(box.height, .greaterThanOrEqual)
    return box
  }

  /// A view with a frame, which follows its superview's size as its mask says.
  private func autoresized(_ view: UIView, in superview: UIView, _ outer: Box) -> Box {
    let (frame, mask, size) = (view.frame, view.autoresizingMask, superview.bounds.size)
    func follow(
      _ start: CGFloat, _ length: CGFloat, _ outerLength: CGFloat, _ outer: LinearExpression, stretches: Bool,
      moves: Bool
    ) -> (LinearExpression, LinearExpression) {
      let growth = outer - Double(outerLength)
      return (
        LinearExpression(Double(start)) + (moves && !stretches ? 1 : 0) * growth,
        LinearExpression(Double(length)) + (stretches ? 1 : 0) * growth
      )
    }
    let (x, width) = follow(
      frame.minX, frame.width, size.width, outer.width, stretches: mask.contains(.flexibleWidth),
      moves: mask.contains(.flexibleLeftMargin))
    let (y, height) = follow(
      frame.minY, frame.height, size.height, outer.height, stretches: mask.contains(.flexibleHeight),
      moves: mask.contains(.flexibleTopMargin))
    return Box(x: x, y: y, width: width, height: height)
  }

  private mutating func addIntrinsicSize(of view: UIView) {
    guard let box = boxes[ObjectIdentifier(view)] else { return }
    let size = view.layoutSize
    for (length, expression, axis) in [
      (size.width, box.width, NSLayoutConstraint.Axis.horizontal), (size.height, box.height, .vertical),
    ] where length >= 0 {
      add(expression - Double(length), .greaterThanOrEqual, view.contentCompressionResistancePriority(for: axis))
      add(expression - Double(length), .lessThanOrEqual, view.contentHuggingPriority(for: axis))
    }
  }

  // MARK: Constraints

  private mutating func addConstraints(of view: UIView) {
    for constraint in view.heldConstraints { add(constraint) }
    for subview in view.subviews { addConstraints(of: subview) }
  }

  private mutating func add(_ constraint: NSLayoutConstraint) {
    guard let first = expression(constraint.firstItem, constraint.firstAttribute) else { return }
    var difference = first - Double(constraint.constant)
    if let item = constraint.secondItem {
      guard let second = expression(item, constraint.secondAttribute) else { return }
      difference = difference - Double(constraint.multiplier) * second
    }
    let relation: LinearSolver.Relation =
      switch constraint.relation {
      case .equal: .equal
      case .lessThanOrEqual: .lessThanOrEqual
      case .greaterThanOrEqual: .greaterThanOrEqual
      }
    guard let weight = constraint.priority.weight else {
      if !require(difference, relation) {
        LayoutProblems.report("a required constraint contradicts others, and is left out: \(constraint.summary)")
      }
      return
    }
    optional.append((difference, relation, weight))
  }

  @discardableResult
  private mutating func require(_ expression: LinearExpression, _ relation: LinearSolver.Relation) -> Bool {
    do {
      try solver.add(expression, relation, weight: nil)
      return true
    } catch { return false }
  }

  private mutating func add(
    _ expression: LinearExpression, _ relation: LinearSolver.Relation, _ priority: UILayoutPriority
  ) {
    if let weight = priority.weight {
      optional.append((expression, relation, weight))
    } else {
      require(expression, relation)
    }
  }

  /// An attribute of a view or guide in the coordinates of the root; nil if the item is not below the root.
  private func expression(_ item: AnyObject?, _ attribute: NSLayoutConstraint.Attribute) -> LinearExpression? {
    guard let item, let (box, owner, insets) = place(of: item) else { return nil }
    guard let origin = origin(of: owner) else { return nil }
    func x(_ offset: LinearExpression) -> LinearExpression { origin.x + box.x + offset }
    func y(_ offset: LinearExpression) -> LinearExpression { origin.y + box.y + offset }
    let margins = insets ?? (item as? UIView)?.layoutMargins ?? .zero
    let own = insets ?? .zero
    switch attribute {
    case .left, .leading: return x(.init(Double(own.left)))
    case .right, .trailing: return x(box.width - Double(own.right))
    case .top: return y(.init(Double(own.top)))
    case .bottom, .lastBaseline: return y(box.height - Double(own.bottom))
    case .firstBaseline: return y(box.height)
    case .width: return box.width - Double(own.left + own.right)
    case .height: return box.height - Double(own.top + own.bottom)
    case .centerX: return x(0.5 * (box.width + Double(own.left - own.right)))
    case .centerY: return y(0.5 * (box.height + Double(own.top - own.bottom)))
    case .leftMargin, .leadingMargin: return x(.init(Double(margins.left)))
    case .rightMargin, .trailingMargin: return x(box.width - Double(margins.right))
    case .topMargin: return y(.init(Double(margins.top)))
    case .bottomMargin: return y(box.height - Double(margins.bottom))
    case .centerXWithinMargins: return x(0.5 * (box.width + Double(margins.left - margins.right)))
    case .centerYWithinMargins: return y(0.5 * (box.height + Double(margins.top - margins.bottom)))
    case .notAnAttribute: return nil
    }
  }

  /// The box of an item, the view in whose coordinates it is (nil: the root's own), and the insets of a guide at its view's edges.
  private func place(of item: AnyObject) -> (Box, UIView?, UIEdgeInsets?)? {
    if let view = item as? UIView {
      return boxes[ObjectIdentifier(view)].map { ($0, view === root ? nil : view.superview, nil) }
    }
    guard let guide = item as? UILayoutGuide, let owner = guide.owningView else { return nil }
    guard let insets = guide.insets else { return boxes[ObjectIdentifier(guide)].map { ($0, owner, nil) } }
    return boxes[ObjectIdentifier(owner)].map { ($0, owner === root ? nil : owner.superview, insets) }
  }

  private func origin(of view: UIView?) -> (x: LinearExpression, y: LinearExpression)? {
    var (x, y) = (LinearExpression(0), LinearExpression(0))
    var current = view
    while let view = current, view !== root {
      guard let box = boxes[ObjectIdentifier(view)] else { return nil }
      (x, y) = (x + box.x, y + box.y)
      current = view.superview
    }
    return view == nil || current === root ? (x, y) : nil
  }

  // MARK: Frames

  private func value(_ expression: LinearExpression) -> CGFloat {
    let sum = expression.terms.reduce(expression.constant) { $0 + $1.value * solver.value(of: $1.key) }
    return CGFloat((sum * 64).rounded() / 64)
  }

  private func frame(_ box: Box) -> CGRect {
    CGRect(x: value(box.x), y: value(box.y), width: value(box.width), height: value(box.height))
  }

  private func apply() {
    for guide in guides { if let box = boxes[ObjectIdentifier(guide)] { guide.solvedFrame = frame(box) } }
    // Frames that follow a mask are set with the superview's, which changes the sizes that they follow.
    for view in solved {
      guard let box = boxes[ObjectIdentifier(view)] else { continue }
      let frame = frame(box)
      if view.frame != frame { view.frame = frame }
    }
  }
}
