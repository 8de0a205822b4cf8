public import Foundation

/// Places its arranged subviews one after the other, by constraints of its own.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uistackview)
@preconcurrency @MainActor
open class UIStackView: UIView {
  public enum Distribution: Int, Sendable { case fill, fillEqually, fillProportionally, equalSpacing, equalCentering }
  public enum Alignment: Int, Sendable {
    case fill, leading, firstBaseline, center, trailing, lastBaseline
    public static let top = Alignment.leading
    public static let bottom = Alignment.trailing
  }

  open var axis = NSLayoutConstraint.Axis.horizontal { didSet { setNeedsLayout() } }
  open var distribution = Distribution.fill { didSet { setNeedsLayout() } }
  open var alignment = Alignment.fill { didSet { setNeedsLayout() } }
  /// In points.
  open var spacing: CGFloat = 0 { didSet { setNeedsLayout() } }
  open var isLayoutMarginsRelativeArrangement = false { didSet { setNeedsLayout() } }
  public private(set) var arrangedSubviews: [UIView] = []
  private var customSpacing: [ObjectIdentifier: CGFloat] = [:]

  public override init(frame: CGRect) { super.init(frame: frame) }
  public convenience init(arrangedSubviews views: [UIView]) {
    self.init(frame: .zero)
    for view in views { addArrangedSubview(view) }
  }
  public required init?(coder: NSCoder) { nil }

  open func addArrangedSubview(_ view: UIView) { insertArrangedSubview(view, at: arrangedSubviews.count) }

  open func insertArrangedSubview(_ view: UIView, at stackIndex: Int) {
    arrangedSubviews.removeAll { $0 === view }
    arrangedSubviews.insert(view, at: min(max(stackIndex, 0), arrangedSubviews.count))
    view.translatesAutoresizingMaskIntoConstraints = false
    if view.superview !== self { addSubview(view) }
    setNeedsLayout()
  }

  /// The view stays a subview.
  open func removeArrangedSubview(_ view: UIView) {
    arrangedSubviews.removeAll { $0 === view }
    setNeedsLayout()
  }

  open override func willRemoveSubview(_ subview: UIView) {
    super.willRemoveSubview(subview)
    arrangedSubviews.removeAll { $0 === subview }
  }

  open func setCustomSpacing(_ spacing: CGFloat, after arrangedSubview: UIView) {
    customSpacing[ObjectIdentifier(arrangedSubview)] = spacing
    setNeedsLayout()
  }
  open func customSpacing(after arrangedSubview: UIView) -> CGFloat {
    customSpacing[ObjectIdentifier(arrangedSubview)] ?? spacing
  }

  /// Constraints that place the arranged subviews, and the guides between them. Constraints hold guides weakly.
  struct Arrangement {
    var constraints: [NSLayoutConstraint] = []
    var guides: [UILayoutGuide] = []
  }

  /// Of the arranged subviews that are not hidden; the others get no size.
  func makeArrangement() -> Arrangement {
    let views = arrangedSubviews.filter { !$0.isHidden }
    let isHorizontal = axis == .horizontal
    let inside = isLayoutMarginsRelativeArrangement ? layoutMargins : .zero
    typealias Attribute = NSLayoutConstraint.Attribute
    let (start, end, length): (Attribute, Attribute, Attribute) =
      isHorizontal ? (.left, .right, .width) : (.top, .bottom, .height)
    let (near, far): (CGFloat, CGFloat) = isHorizontal ? (inside.left, inside.right) : (inside.top, inside.bottom)
    var made = Arrangement()
    func add(
      _ item: AnyObject, _ first: Attribute, _ other: AnyObject?, _ second: Attribute, _ multiplier: CGFloat = 1,
      _ constant: CGFloat = 0, relation: NSLayoutConstraint.Relation = .equal, priority: UILayoutPriority = .required
    ) {
      let constraint = NSLayoutConstraint(
        item: item, attribute: first, relatedBy: relation, toItem: other, attribute: second, multiplier: multiplier,
        constant: constant)
      constraint.priority = priority
      made.constraints.append(constraint)
    }
    for view in arrangedSubviews where view.isHidden {
      for attribute in [Attribute.width, .height] {
        add(view, attribute, nil, .notAnAttribute, priority: UILayoutPriority(999))
      }
    }
    guard let first = views.first, let last = views.last else { return made }
    add(first, start, self, start, 1, near)
    add(last, end, self, end, 1, -far)
    for (view, next) in zip(views, views.dropFirst()) {
      let gap = customSpacing(after: view)
      switch distribution {
      case .fill, .fillEqually, .fillProportionally: add(next, start, view, end, 1, gap)
      case .equalSpacing, .equalCentering: add(next, start, view, end, 1, gap, relation: .greaterThanOrEqual)
      }
    }
    switch distribution {
    case .fill: break
    case .fillEqually: for view in views.dropFirst() { add(view, length, first, length) }
    case .fillProportionally:
      func own(_ view: UIView) -> CGFloat {
        isHorizontal ? view.intrinsicContentSize.width : view.intrinsicContentSize.height
      }
      for view in views.dropFirst() where own(first) > 0 && own(view) > 0 {
        add(view, length, first, length, own(view) / own(first), priority: UILayoutPriority(999))
      }
    case .equalSpacing, .equalCentering:
      // Between each two neighbours a gap of one size: next.start - view.end is equal for all pairs.
      let guides = zip(views, views.dropFirst()).map { view, next -> UILayoutGuide in
        let guide = UILayoutGuide()
        made.guides.append(guide)
        guide.owningView = self
        add(guide, start, view, distribution == .equalSpacing ? end : isHorizontal ? .centerX : .centerY)
        add(guide, end, next, distribution == .equalSpacing ? start : isHorizontal ? .centerX : .centerY)
        return guide
      }
      for guide in guides.dropFirst() { add(guide, length, guides.first, length, priority: UILayoutPriority(999)) }
    }
    let (top, bottom, middle): (Attribute, Attribute, Attribute) =
      isHorizontal ? (.top, .bottom, .centerY) : (.left, .right, .centerX)
    let (above, below): (CGFloat, CGFloat) = isHorizontal ? (inside.top, inside.bottom) : (inside.left, inside.right)
    for view in views {
      switch alignment {
      case .fill:
        add(view, top, self, top, 1, above)
        add(view, bottom, self, bottom, 1, -below)
      case .leading, .firstBaseline:
        add(view, top, self, top, 1, above)
        add(view, bottom, self, bottom, 1, -below, relation: .lessThanOrEqual)
      case .trailing, .lastBaseline:
        add(view, bottom, self, bottom, 1, -below)
        add(view, top, self, top, 1, above, relation: .greaterThanOrEqual)
      case .center:
        add(view, middle, self, middle, 1, (above - below) / 2)
        add(view, top, self, top, 1, above, relation: .greaterThanOrEqual)
      }
    }
    // Across, the stack is as small as its largest view permits.
    add(self, isHorizontal ? .height : .width, nil, .notAnAttribute, priority: UILayoutPriority(49))
    return made
  }
}
