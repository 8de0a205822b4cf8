public import Foundation

/// How strongly a layout constraint is wanted: 1 to 1,000; a constraint of 1,000 must hold.
public struct UILayoutPriority: Hashable, Sendable, RawRepresentable {
  public var rawValue: Float
  public init(rawValue: Float) { self.rawValue = rawValue }
  public init(_ rawValue: Float) { self.rawValue = rawValue }

  public static let required = UILayoutPriority(1_000)
  public static let defaultHigh = UILayoutPriority(750)
  public static let defaultLow = UILayoutPriority(250)
  public static let fittingSizeLevel = UILayoutPriority(50)

  /// For the solver: nil for `required`. Each level outweighs a few constraints of the levels below.
  var weight: Double? { rawValue >= 1_000 ? nil : pow(10, Double(max(rawValue, 1)) / 125) }
}

/// A linear relation between an edge, a centre or a size of a view and one of another view.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/nslayoutconstraint)
@preconcurrency @MainActor
public class NSLayoutConstraint: NSObject {
  public enum Attribute: Int, Sendable {
    case left = 1, right, top, bottom, leading, trailing, width, height, centerX, centerY, lastBaseline, firstBaseline
    case leftMargin, rightMargin, topMargin, bottomMargin, leadingMargin, trailingMargin, centerXWithinMargins
    case centerYWithinMargins
    case notAnAttribute = 0
    public static let baseline = Attribute.lastBaseline
  }
  public enum Relation: Int, Sendable { case lessThanOrEqual = -1, equal, greaterThanOrEqual }
  public enum Axis: Int, Sendable { case horizontal, vertical }

  public private(set) weak var firstItem: AnyObject?
  public private(set) weak var secondItem: AnyObject?
  public let firstAttribute, secondAttribute: Attribute
  public let relation: Relation
  public let multiplier: CGFloat
  public var constant: CGFloat { didSet { if constant != oldValue { needsLayout() } } }
  public var priority = UILayoutPriority.required { didSet { if priority != oldValue { needsLayout() } } }
  public var identifier: String?
  public var shouldBeArchived = false
  /// The nearest view that contains both items; it keeps the constraint while that is active.
  private weak var holder: UIView?

  /// - Parameters:
  ///   - view1: a `UIView` or a `UILayoutGuide`.
  ///   - view2: likewise; nil: the constraint sets a size to `constant`.
  public init(
    item view1: Any, attribute attr1: Attribute, relatedBy relation: Relation, toItem view2: Any?,
    attribute attr2: Attribute, multiplier: CGFloat, constant: CGFloat
  ) {
    (firstItem, secondItem) = (view1 as AnyObject, view2 as AnyObject?)
    (firstAttribute, secondAttribute, self.relation) = (attr1, attr2, relation)
    (self.multiplier, self.constant) = (multiplier, constant)
    super.init()
  }

  public var isActive: Bool {
    get { holder != nil }
    set { newValue ? activate() : deactivate() }
  }

  public class func activate(_ constraints: [NSLayoutConstraint]) {
    for constraint in constraints { constraint.activate() }
  }
  public class func deactivate(_ constraints: [NSLayoutConstraint]) {
    for constraint in constraints { constraint.deactivate() }
  }

  private func activate() {
    guard holder == nil, let first = owner(of: firstItem) else { return }
    guard secondItem == nil || owner(of: secondItem) != nil else { return }
    let second = owner(of: secondItem)
    guard let view = second.map({ first.nearestCommonAncestor(with: $0) }) ?? first else {
      return LayoutProblems.report("the items of a constraint are in no common view: \(summary)")
    }
    hold(in: view)
  }

  /// Makes the constraint active in a view.
  func hold(in view: UIView) {
    guard holder !== view else { return }
    deactivate()
    holder = view
    view.heldConstraints.append(self)
    view.setNeedsLayout()
  }

  func deactivate() {
    holder?.heldConstraints.removeAll { $0 === self }
    needsLayout()
    holder = nil
  }

  private func needsLayout() { holder?.setNeedsLayout() }

  func owner(of item: AnyObject?) -> UIView? { (item as? UIView) ?? (item as? UILayoutGuide)?.owningView }

  /// For messages: `UILabel.top = UIView.top + 8`.
  var summary: String {
    func name(_ item: AnyObject?, _ attribute: Attribute) -> String {
      item.map { "\(type(of: $0)).\(attribute)" } ?? ""
    }
    let sign = relation == .equal ? "=" : relation == .lessThanOrEqual ? "<=" : ">="
    let right = [name(secondItem, secondAttribute), constant == 0 && secondItem != nil ? "" : "\(constant)"]
    return "\(identifier.map { $0 + ": " } ?? "")\(name(firstItem, firstAttribute)) \(sign) "
      + right.filter { !$0.isEmpty }.joined(separator: " + ")
  }
}

/// Writes a problem of the layout to standard error, once in a process for each text.
enum LayoutProblems {
  private static let reported = Reported()

  static func report(_ text: String) {
    guard reported.insert(text) else { return }
    FileHandle.standardError.write(Data("UIKit: \(text)\n".utf8))
  }

  private final class Reported: @unchecked Sendable {  // `texts` is used under the lock
    private let lock = NSLock()
    private var texts: Set<String> = []
    func insert(_ text: String) -> Bool { lock.withLock { texts.insert(text).inserted } }
  }
}

/// A factory of constraints from an edge, a centre or a size.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/nslayoutanchor)
@preconcurrency @MainActor
public class NSLayoutAnchor<AnchorType: AnyObject>: NSObject {
  let item: AnyObject
  let attribute: NSLayoutConstraint.Attribute

  init(_ item: AnyObject, _ attribute: NSLayoutConstraint.Attribute) {
    (self.item, self.attribute) = (item, attribute)
    super.init()
  }

  func make(
    _ relation: NSLayoutConstraint.Relation, _ other: NSLayoutAnchor<AnchorType>, _ multiplier: CGFloat = 1,
    _ constant: CGFloat
  ) -> NSLayoutConstraint {
    NSLayoutConstraint(
      item: item, attribute: attribute, relatedBy: relation, toItem: other.item, attribute: other.attribute,
      multiplier: multiplier, constant: constant)
  }

  public func constraint(equalTo anchor: NSLayoutAnchor<AnchorType>, constant: CGFloat = 0) -> NSLayoutConstraint {
    make(.equal, anchor, 1, constant)
  }
  public func constraint(
    greaterThanOrEqualTo anchor: NSLayoutAnchor<AnchorType>, constant: CGFloat = 0
  ) -> NSLayoutConstraint { make(.greaterThanOrEqual, anchor, 1, constant) }
  public func constraint(
    lessThanOrEqualTo anchor: NSLayoutAnchor<AnchorType>, constant: CGFloat = 0
  ) -> NSLayoutConstraint { make(.lessThanOrEqual, anchor, 1, constant) }
}

/// The distance that the system uses between neighbouring views, in points.
private let systemSpacing: CGFloat = 8

public class NSLayoutXAxisAnchor: NSLayoutAnchor<NSLayoutXAxisAnchor> {
  public func constraint(
    equalToSystemSpacingAfter anchor: NSLayoutXAxisAnchor, multiplier: CGFloat
  ) -> NSLayoutConstraint { make(.equal, anchor, 1, systemSpacing * multiplier) }
  public func constraint(
    greaterThanOrEqualToSystemSpacingAfter anchor: NSLayoutXAxisAnchor, multiplier: CGFloat
  ) -> NSLayoutConstraint { make(.greaterThanOrEqual, anchor, 1, systemSpacing * multiplier) }
}

public class NSLayoutYAxisAnchor: NSLayoutAnchor<NSLayoutYAxisAnchor> {
  public func constraint(
    equalToSystemSpacingBelow anchor: NSLayoutYAxisAnchor, multiplier: CGFloat
  ) -> NSLayoutConstraint { make(.equal, anchor, 1, systemSpacing * multiplier) }
  public func constraint(
    greaterThanOrEqualToSystemSpacingBelow anchor: NSLayoutYAxisAnchor, multiplier: CGFloat
  ) -> NSLayoutConstraint { make(.greaterThanOrEqual, anchor, 1, systemSpacing * multiplier) }
}

public class NSLayoutDimension: NSLayoutAnchor<NSLayoutDimension> {
  private func make(_ relation: NSLayoutConstraint.Relation, constant: CGFloat) -> NSLayoutConstraint {
    NSLayoutConstraint(
      item: item, attribute: attribute, relatedBy: relation, toItem: nil, attribute: .notAnAttribute, multiplier: 1,
      constant: constant)
  }
  public func constraint(equalToConstant c: CGFloat) -> NSLayoutConstraint { make(.equal, constant: c) }
  public func constraint(greaterThanOrEqualToConstant c: CGFloat) -> NSLayoutConstraint {
    make(.greaterThanOrEqual, constant: c)
  }
  public func constraint(lessThanOrEqualToConstant c: CGFloat) -> NSLayoutConstraint {
    make(.lessThanOrEqual, constant: c)
  }
  public func constraint(
    equalTo anchor: NSLayoutDimension, multiplier m: CGFloat, constant c: CGFloat = 0
  ) -> NSLayoutConstraint { make(.equal, anchor, m, c) }
  public func constraint(
    greaterThanOrEqualTo anchor: NSLayoutDimension, multiplier m: CGFloat, constant c: CGFloat = 0
  ) -> NSLayoutConstraint { make(.greaterThanOrEqual, anchor, m, c) }
  public func constraint(
    lessThanOrEqualTo anchor: NSLayoutDimension, multiplier m: CGFloat, constant c: CGFloat = 0
  ) -> NSLayoutConstraint { make(.lessThanOrEqual, anchor, m, c) }
}

/// A rectangle of a view that constraints may name: its safe area, its margins, or one of the app's own.
@preconcurrency @MainActor
public class UILayoutGuide: NSObject {
  enum Place { case free, safeArea, margins }

  public internal(set) weak var owningView: UIView?
  public var identifier = ""
  let place: Place
  /// Of a guide of the app's own, since the last layout.
  var solvedFrame = CGRect.zero

  nonisolated public override init() {
    place = .free
    super.init()
  }

  init(of view: UIView, _ place: Place) {
    (owningView, self.place) = (view, place)
    super.init()
  }

  /// Distances from the edges of the owning view; nil for a guide of the app's own.
  var insets: UIEdgeInsets? {
    switch place {
    case .free: nil
    case .safeArea: .zero
    case .margins: owningView?.layoutMargins ?? .zero
    }
  }

  /// In the coordinates of the owning view.
  public var layoutFrame: CGRect {
    insets.map { (owningView?.bounds ?? .zero).inset(by: $0) } ?? solvedFrame
  }

  public var leadingAnchor: NSLayoutXAxisAnchor { NSLayoutXAxisAnchor(self, .leading) }
  public var trailingAnchor: NSLayoutXAxisAnchor { NSLayoutXAxisAnchor(self, .trailing) }
  public var leftAnchor: NSLayoutXAxisAnchor { NSLayoutXAxisAnchor(self, .left) }
  public var rightAnchor: NSLayoutXAxisAnchor { NSLayoutXAxisAnchor(self, .right) }
  public var topAnchor: NSLayoutYAxisAnchor { NSLayoutYAxisAnchor(self, .top) }
  public var bottomAnchor: NSLayoutYAxisAnchor { NSLayoutYAxisAnchor(self, .bottom) }
  public var widthAnchor: NSLayoutDimension { NSLayoutDimension(self, .width) }
  public var heightAnchor: NSLayoutDimension { NSLayoutDimension(self, .height) }
  public var centerXAnchor: NSLayoutXAxisAnchor { NSLayoutXAxisAnchor(self, .centerX) }
  public var centerYAnchor: NSLayoutYAxisAnchor { NSLayoutYAxisAnchor(self, .centerY) }
}

/// Distances from the edges of a rectangle, in points.
public struct UIEdgeInsets: Hashable, Sendable {
  public var top, left, bottom, right: CGFloat
  public init() { (top, left, bottom, right) = (0, 0, 0, 0) }
  public init(top: CGFloat, left: CGFloat, bottom: CGFloat, right: CGFloat) {
    (self.top, self.left, self.bottom, self.right) = (top, left, bottom, right)
  }
  public static let zero = UIEdgeInsets()
}

/// Distances from the edges of a rectangle in the direction of reading, which here is from left to right.
public struct NSDirectionalEdgeInsets: Hashable, Sendable {
  public var top, leading, bottom, trailing: CGFloat
  public init() { (top, leading, bottom, trailing) = (0, 0, 0, 0) }
  public init(top: CGFloat, leading: CGFloat, bottom: CGFloat, trailing: CGFloat) {
    (self.top, self.leading, self.bottom, self.trailing) = (top, leading, bottom, trailing)
  }
  public static let zero = NSDirectionalEdgeInsets()
}

extension CGRect {
  public func inset(by insets: UIEdgeInsets) -> CGRect {
    CGRect(
      x: minX + insets.left, y: minY + insets.top, width: max(0, width - insets.left - insets.right),
      height: max(0, height - insets.top - insets.bottom))
  }
}
