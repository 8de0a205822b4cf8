public import Foundation
import Koine

@preconcurrency @MainActor
open class UIResponder: NSObject {
  public override init() { super.init() }

  /// Makes a view on the current thread, which need not be the main one: vendors' objects make views on theirs (not Apple's).
  ///
  /// No other thread has the new view yet; afterwards, the main actor alone uses it.
  nonisolated public static func makeOnAnyThread<Responder: UIResponder>(
    _ make: @escaping @MainActor () -> Responder
  ) -> Responder {
    unsafeBitCast(make, to: (() -> Responder).self)()
  }

  public private(set) var isFirstResponder = false

  /// The object that is asked for an action that this one does not perform: of a view, its controller or superview; of a controller, its
  /// view's superview or the controller that presents it.
  open var next: UIResponder? { nil }

  /// There is no keyboard: the object is the first responder until it resigns.
  @discardableResult
  open func becomeFirstResponder() -> Bool {
    isFirstResponder = true
    return true
  }
  @discardableResult
  open func resignFirstResponder() -> Bool {
    isFirstResponder = false
    return true
  }
}

/// A rectangle that draws itself, and its subviews over itself, into pixels.
///
/// Its subviews have frames, or constraints from which `layoutIfNeeded` computes the frames. `snapshot` does that first.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uiview)
@preconcurrency @MainActor
open class UIView: UIResponder {
  public enum ContentMode: Int, Sendable {
    case scaleToFill, scaleAspectFit, scaleAspectFill, redraw, center, top, bottom, left, right, topLeft, topRight
    case bottomLeft, bottomRight
  }

  public struct AutoresizingMask: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let flexibleLeftMargin = AutoresizingMask(rawValue: 1)
    public static let flexibleWidth = AutoresizingMask(rawValue: 2)
    public static let flexibleRightMargin = AutoresizingMask(rawValue: 4)
    public static let flexibleTopMargin = AutoresizingMask(rawValue: 8)
    public static let flexibleHeight = AutoresizingMask(rawValue: 16)
    public static let flexibleBottomMargin = AutoresizingMask(rawValue: 32)
  }

  /// Options of an animation, which have no effect: an animation's closure runs at once.
  public struct AnimationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let allowUserInteraction = AnimationOptions(rawValue: 1 << 1)
    public static let beginFromCurrentState = AnimationOptions(rawValue: 1 << 2)
    public static let `repeat` = AnimationOptions(rawValue: 1 << 3)
    public static let autoreverse = AnimationOptions(rawValue: 1 << 4)
    public static let curveEaseIn = AnimationOptions(rawValue: 1 << 16)
    public static let curveEaseOut = AnimationOptions(rawValue: 2 << 16)
    public static let curveLinear = AnimationOptions(rawValue: 3 << 16)
    public static let curveEaseInOut: AnimationOptions = []
    public static let transitionCrossDissolve = AnimationOptions(rawValue: 5 << 20)
  }

  /// The value of `intrinsicContentSize` in a direction in which the content has no size of its own.
  nonisolated public static let noIntrinsicMetric: CGFloat = -1
  nonisolated public static let layoutFittingCompressedSize = CGSize(width: 0, height: 0)
  nonisolated public static let layoutFittingExpandedSize = CGSize(width: 10_000, height: 10_000)

  /// In the superview's coordinates.
  open var frame: CGRect {
    didSet {
      guard frame.size != oldValue.size else { return }
      autoresizeSubviews(from: oldValue.size)
      setNeedsLayout()
    }
  }
  open var isHidden = false { didSet { if isHidden != oldValue { superview?.setNeedsLayout() } } }
  /// 0...1; below one half nothing is drawn, because there is no blending.
  open var alpha: CGFloat = 1
  open var backgroundColor: UIColor?
  open var tintColor: UIColor! = .systemBlue
  open var contentMode = ContentMode.scaleToFill
  open var tag = 0
  open var isUserInteractionEnabled = true
  /// Whether subviews are drawn inside the view's bounds only. Every view here clips.
  open var clipsToBounds = true
  open var isOpaque = true
  public var autoresizingMask: AutoresizingMask = []
  public var autoresizesSubviews = true
  /// True: the view has the frame that it was given; false: constraints decide.
  public var translatesAutoresizingMaskIntoConstraints = true { didSet { superview?.setNeedsLayout() } }
  public var layoutMargins = UIEdgeInsets(top: 8, left: 8, bottom: 8, right: 8) { didSet { setNeedsLayout() } }
  public var directionalLayoutMargins: NSDirectionalEdgeInsets {
    get {
      NSDirectionalEdgeInsets(
        top: layoutMargins.top, leading: layoutMargins.left, bottom: layoutMargins.bottom,
        trailing: layoutMargins.right)
    }
    set {
      layoutMargins = UIEdgeInsets(
        top: newValue.top, left: newValue.leading, bottom: newValue.bottom, right: newValue.trailing)
    }
  }
  public var accessibilityIdentifier: String?
  public var accessibilityLabel: String?
  public var accessibilityValue: String?
  public var accessibilityHint: String?
  public var isAccessibilityElement = false
  public private(set) var subviews: [UIView] = []
  public private(set) weak var superview: UIView?
  public private(set) var gestureRecognizers: [UIGestureRecognizer]?
  /// The layer's properties; of them, the border is drawn.
  public private(set) lazy var layer = CALayer()
  /// The id of the participant in `World.current` when the view was made, for tests; nil without one.
  nonisolated package let appID: String?
  /// The view controller whose view this is.
  weak var controller: UIViewController?
  open override var next: UIResponder? { controller ?? superview }

  /// Makes the view or the subview that is the first responder give that up.
  /// - Returns: false: none was.
  @discardableResult
  open func endEditing(_ force: Bool) -> Bool {
    if isFirstResponder { return resignFirstResponder() }
    return subviews.contains { $0.endEditing(force) }
  }
  var heldConstraints: [NSLayoutConstraint] = []
  private(set) var layoutGuides: [UILayoutGuide] = []
  private var needsLayout = true
  private var priorities: [UILayoutPriority] = [.defaultLow, .defaultLow, .defaultHigh, .defaultHigh]

  public init(frame: CGRect) {
    self.frame = frame
    appID = World.current?.participantID
    super.init()
  }

  public convenience override init() { self.init(frame: .zero) }

  /// There are no archives of views here.
  public required init?(coder: NSCoder) { nil }

  open var bounds: CGRect {
    get { CGRect(origin: .zero, size: frame.size) }
    set { frame.size = newValue.size }
  }

  /// In the superview's coordinates.
  open var center: CGPoint {
    get { CGPoint(x: frame.midX, y: frame.midY) }
    set { frame.origin = CGPoint(x: newValue.x - frame.width / 2, y: newValue.y - frame.height / 2) }
  }

  public var window: UIWindow? { superview?.window ?? self as? UIWindow }

  // MARK: Hierarchy

  open func addSubview(_ view: UIView) { insertSubview(view, at: subviews.count) }

  open func insertSubview(_ view: UIView, at index: Int) {
    let former = view.superview
    let oldWindow = view.window
    view.willMove(toSuperview: self)
    former?.subviews.removeAll { $0 === view }
    subviews.insert(view, at: min(max(index, 0), subviews.count))
    view.superview = self
    setNeedsLayout()
    view.didMoveToSuperview()
    if view.window !== oldWindow { view.windowChanged() }
    didAddSubview(view)
  }

  public func insertSubview(_ view: UIView, aboveSubview sibling: UIView) {
    insertSubview(view, at: (subviews.firstIndex { $0 === sibling } ?? subviews.count - 1) + 1)
  }

  public func insertSubview(_ view: UIView, belowSubview sibling: UIView) {
    insertSubview(view, at: subviews.firstIndex { $0 === sibling } ?? subviews.count)
  }

  open func removeFromSuperview() {
    guard let former = superview else { return }
    let hadWindow = window != nil
    willMove(toSuperview: nil)
    former.willRemoveSubview(self)
    former.subviews.removeAll { $0 === self }
    superview = nil
    former.dropConstraints(toViewsBelow: self)
    former.setNeedsLayout()
    didMoveToSuperview()
    if hadWindow { windowChanged() }
  }

  /// Harmless for a view that is not a subview.
  public func bringSubviewToFront(_ view: UIView) {
    guard let index = subviews.firstIndex(where: { $0 === view }) else { return }
    subviews.append(subviews.remove(at: index))
  }

  public func sendSubviewToBack(_ view: UIView) {
    guard let index = subviews.firstIndex(where: { $0 === view }) else { return }
    subviews.insert(subviews.remove(at: index), at: 0)
  }

  public func isDescendant(of view: UIView) -> Bool { self === view || superview?.isDescendant(of: view) ?? false }

  public func viewWithTag(_ tag: Int) -> UIView? {
    self.tag == tag ? self : subviews.lazy.compactMap { $0.viewWithTag(tag) }.first
  }

  open func didAddSubview(_ subview: UIView) {}
  open func willRemoveSubview(_ subview: UIView) {}
  open func willMove(toSuperview newSuperview: UIView?) {}
  open func didMoveToSuperview() {}
  open func didMoveToWindow() {}

  private func windowChanged() {
    didMoveToWindow()
    for view in subviews { view.windowChanged() }
  }

  func nearestCommonAncestor(with other: UIView) -> UIView? {
    var candidate: UIView? = self
    while let view = candidate, !other.isDescendant(of: view) { candidate = view.superview }
    return candidate
  }

  // MARK: Points

  private func origin(in ancestor: UIView?) -> CGPoint {
    var (origin, view) = (CGPoint.zero, UIView?.some(self))
    while let current = view, current !== ancestor {
      origin.x += current.frame.minX - (current.superview?.contentOrigin.x ?? 0)
      origin.y += current.frame.minY - (current.superview?.contentOrigin.y ?? 0)
      view = current.superview
    }
    return origin
  }

  /// - Parameter view: nil: the topmost view.
  public func convert(_ point: CGPoint, to view: UIView?) -> CGPoint {
    let (own, other) = (origin(in: nil), view?.origin(in: nil) ?? .zero)
    return CGPoint(x: point.x + own.x - other.x, y: point.y + own.y - other.y)
  }
  public func convert(_ point: CGPoint, from view: UIView?) -> CGPoint {
    let (own, other) = (origin(in: nil), view?.origin(in: nil) ?? .zero)
    return CGPoint(x: point.x + other.x - own.x, y: point.y + other.y - own.y)
  }
  public func convert(_ rect: CGRect, to view: UIView?) -> CGRect {
    CGRect(origin: convert(rect.origin, to: view), size: rect.size)
  }
  public func convert(_ rect: CGRect, from view: UIView?) -> CGRect {
    CGRect(origin: convert(rect.origin, from: view), size: rect.size)
  }

  open func point(inside point: CGPoint, with event: UIEvent?) -> Bool { bounds.contains(point) }

  /// The frontmost view at a point that takes touches.
  open func hitTest(_ point: CGPoint, with event: UIEvent?) -> UIView? {
    guard !isHidden, alpha >= 0.01, isUserInteractionEnabled, self.point(inside: point, with: event) else { return nil }
    for view in subviews.reversed() {
      let inner = CGPoint(
        x: point.x + contentOrigin.x - view.frame.minX, y: point.y + contentOrigin.y - view.frame.minY)
      if let hit = view.hitTest(inner, with: event) { return hit }
    }
    return self
  }

  /// The point of the content at the top left corner; other than zero in a scroll view.
  package var contentOrigin: CGPoint { .zero }

  // MARK: Gestures

  public func addGestureRecognizer(_ recognizer: UIGestureRecognizer) {
    recognizer.view = self
    gestureRecognizers = (gestureRecognizers ?? []) + [recognizer]
  }

  public func removeGestureRecognizer(_ recognizer: UIGestureRecognizer) {
    guard let known = gestureRecognizers, known.contains(where: { $0 === recognizer }) else { return }
    recognizer.view = nil
    gestureRecognizers = known.filter { $0 !== recognizer }
  }

  // MARK: Layout

  /// Places the subviews; called by `layoutIfNeeded` after frames have been computed from constraints.
  open func layoutSubviews() {}

  open func setNeedsLayout() {
    needsLayout = true
    // Constraints of this view may be with views above: the whole tree is computed again.
    if let superview, !superview.needsLayout { superview.setNeedsLayout() }
  }

  /// Drawing happens when `snapshot` is called, so this changes nothing.
  open func setNeedsDisplay() {}
  open func setNeedsUpdateConstraints() { setNeedsLayout() }
  open func updateConstraints() {}
  open func updateConstraintsIfNeeded() {}

  /// Computes the frames of this view's tree from its constraints, from the topmost view down, and lets each view place its subviews.
  open func layoutIfNeeded() {
    var top = self
    while let superview = top.superview { top = superview }
    // `layoutSubviews` may change frames and constraints: a layout that does not settle in a few passes never does.
    for _ in 0..<8 where top.hasLayoutToDo {
      top.updateAllConstraints()
      LayoutEngine.layOut(top)
      if top.adjustsWrappedText() { LayoutEngine.layOut(top) }
      top.layOutAll()
    }
  }

  private var hasLayoutToDo: Bool { needsLayout || subviews.contains { $0.hasLayoutToDo } }

  private func updateAllConstraints() {
    updateConstraints()
    for view in subviews { view.updateAllConstraints() }
  }

  private func layOutAll() {
    let isDue = needsLayout
    needsLayout = false
    if isDue {
      controller?.viewWillLayoutSubviews()
      layoutSubviews()
      controller?.viewDidLayoutSubviews()
    }
    for view in subviews { view.layOutAll() }
  }

  /// - Returns: whether a text has another height at the width that it got.
  private func adjustsWrappedText() -> Bool {
    var hasChanged = (self as? UILabel)?.wrap() ?? false
    for view in subviews where view.adjustsWrappedText() { hasChanged = true }
    return hasChanged
  }

  private func autoresizeSubviews(from old: CGSize) {
    guard autoresizesSubviews else { return }
    for view in subviews where view.translatesAutoresizingMaskIntoConstraints && !view.autoresizingMask.isEmpty {
      let (mask, across, down) = (view.autoresizingMask, frame.width - old.width, frame.height - old.height)
      var new = view.frame
      if mask.contains(.flexibleWidth) {
        new.size.width += across
      } else if mask.contains(.flexibleLeftMargin) {
        new.origin.x += mask.contains(.flexibleRightMargin) ? across / 2 : across
      }
      if mask.contains(.flexibleHeight) {
        new.size.height += down
      } else if mask.contains(.flexibleTopMargin) {
        new.origin.y += mask.contains(.flexibleBottomMargin) ? down / 2 : down
      }
      view.frame = new
    }
  }

  /// The size of the content; `noIntrinsicMetric` in a direction without one.
  open var intrinsicContentSize: CGSize { CGSize(width: Self.noIntrinsicMetric, height: Self.noIntrinsicMetric) }
  open func invalidateIntrinsicContentSize() { setNeedsLayout() }
  /// The intrinsic size that constraints see.
  var layoutSize: CGSize { intrinsicContentSize }

  open func sizeThatFits(_ size: CGSize) -> CGSize {
    let own = intrinsicContentSize
    return CGSize(width: own.width < 0 ? frame.width : own.width, height: own.height < 0 ? frame.height : own.height)
  }
  open func sizeToFit() { frame.size = sizeThatFits(frame.size) }

  open func systemLayoutSizeFitting(_ targetSize: CGSize) -> CGSize {
    systemLayoutSizeFitting(
      targetSize, withHorizontalFittingPriority: .fittingSizeLevel, verticalFittingPriority: .fittingSizeLevel)
  }
  open func systemLayoutSizeFitting(
    _ targetSize: CGSize, withHorizontalFittingPriority horizontal: UILayoutPriority,
    verticalFittingPriority vertical: UILayoutPriority
  ) -> CGSize { LayoutEngine.size(of: self, fitting: targetSize, horizontal: horizontal, vertical: vertical) }

  public func contentHuggingPriority(for axis: NSLayoutConstraint.Axis) -> UILayoutPriority {
    priorities[axis.rawValue]
  }
  public func setContentHuggingPriority(_ priority: UILayoutPriority, for axis: NSLayoutConstraint.Axis) {
    priorities[axis.rawValue] = priority
    setNeedsLayout()
  }
  public func contentCompressionResistancePriority(for axis: NSLayoutConstraint.Axis) -> UILayoutPriority {
    priorities[2 + axis.rawValue]
  }
  public func setContentCompressionResistancePriority(
    _ priority: UILayoutPriority, for axis: NSLayoutConstraint.Axis
  ) {
    priorities[2 + axis.rawValue] = priority
    setNeedsLayout()
  }

  // MARK: Constraints

  public var constraints: [NSLayoutConstraint] { heldConstraints }
  public func addConstraint(_ constraint: NSLayoutConstraint) { constraint.hold(in: self) }
  public func addConstraints(_ constraints: [NSLayoutConstraint]) {
    for constraint in constraints { addConstraint(constraint) }
  }
  public func removeConstraint(_ constraint: NSLayoutConstraint) { constraint.deactivate() }
  public func removeConstraints(_ constraints: [NSLayoutConstraint]) {
    for constraint in constraints { constraint.deactivate() }
  }

  private func dropConstraints(toViewsBelow view: UIView) {
    for constraint in heldConstraints {
      let owners = [constraint.firstItem, constraint.secondItem].compactMap { constraint.owner(of: $0) }
      if owners.contains(where: { $0.isDescendant(of: view) }) { constraint.deactivate() }
    }
    superview?.dropConstraints(toViewsBelow: view)
  }

  public func addLayoutGuide(_ guide: UILayoutGuide) {
    guide.owningView = self
    layoutGuides.append(guide)
    setNeedsLayout()
  }
  public func removeLayoutGuide(_ guide: UILayoutGuide) {
    layoutGuides.removeAll { $0 === guide }
    guide.owningView = nil
  }

  /// The screen has no bars: the safe area is the whole view.
  public private(set) lazy var safeAreaLayoutGuide = UILayoutGuide(of: self, .safeArea)
  public var safeAreaInsets: UIEdgeInsets { .zero }
  public private(set) lazy var layoutMarginsGuide = UILayoutGuide(of: self, .margins)
  public var readableContentGuide: UILayoutGuide { layoutMarginsGuide }

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
  public var firstBaselineAnchor: NSLayoutYAxisAnchor { NSLayoutYAxisAnchor(self, .firstBaseline) }
  public var lastBaselineAnchor: NSLayoutYAxisAnchor { NSLayoutYAxisAnchor(self, .lastBaseline) }

  // MARK: Animation

  /// Runs the closures at once, before it returns; nothing moves visibly.
  public class func animate(
    withDuration duration: TimeInterval, animations: @escaping () -> Void, completion: ((Bool) -> Void)? = nil
  ) {
    animations()
    completion?(true)
  }

  /// Runs the closure at once, before it returns.
  public class func animate(withDuration duration: TimeInterval, animations: @escaping () -> Void) { animations() }

  /// Runs the closures at once, before it returns.
  public class func animate(
    withDuration duration: TimeInterval, delay: TimeInterval, options: AnimationOptions = [],
    animations: @escaping () -> Void, completion: ((Bool) -> Void)? = nil
  ) {
    animations()
    completion?(true)
  }

  /// Runs the closures at once, before it returns.
  public class func animate(
    withDuration duration: TimeInterval, delay: TimeInterval, usingSpringWithDamping dampingRatio: CGFloat,
    initialSpringVelocity velocity: CGFloat, options: AnimationOptions = [], animations: @escaping () -> Void,
    completion: ((Bool) -> Void)? = nil
  ) {
    animations()
    completion?(true)
  }

  /// Runs the closures at once, before it returns.
  public class func transition(
    with view: UIView, duration: TimeInterval, options: AnimationOptions = [], animations: (() -> Void)?,
    completion: ((Bool) -> Void)? = nil
  ) {
    animations?()
    completion?(true)
  }

  public class func performWithoutAnimation(_ actionsWithoutAnimation: () -> Void) { actionsWithoutAnimation() }

  // MARK: Pixels

  /// Draws what this view itself shows over its background, in `area` of the canvas. Subviews follow.
  open func draw(into canvas: inout Canvas, area: CGRect) {}

  /// The view as it looks now, after its layout.
  public func snapshot() -> Canvas {
    layoutIfNeeded()
    var canvas = Canvas(width: max(1, Int(frame.width)), height: max(1, Int(frame.height)))
    let whole = canvas.clip
    drawAll(into: &canvas, at: .zero, clip: whole)
    canvas.clip = whole
    return canvas
  }

  /// - Throws: when the file cannot be written; nothing half-written is left.
  public func writePNG(to path: String) throws { try snapshot().writePNG(to: path) }

  private func drawAll(into canvas: inout Canvas, at origin: CGPoint, clip: CGRect) {
    guard !isHidden, alpha >= 0.5 else { return }
    let area = CGRect(x: origin.x, y: origin.y, width: frame.width, height: frame.height)
    let visible = area.intersection(clip)
    guard !visible.isEmpty else { return }
    canvas.clip = visible
    if let backgroundColor { canvas.fill(area, backgroundColor) }
    draw(into: &canvas, area: area)
    for view in subviews {
      view.drawAll(
        into: &canvas,
        at: CGPoint(
          x: origin.x + view.frame.minX - contentOrigin.x, y: origin.y + view.frame.minY - contentOrigin.y),
        clip: visible)
    }
    canvas.clip = visible
    layer.drawBorder(into: &canvas, area: area)
  }
}

/// What a view's layer has here: the border is drawn, the rest is kept.
public final class CALayer: NSObject {
  /// In points; 0: no border.
  public var borderWidth: CGFloat = 0
  public var borderColor: CGColor?
  /// Kept: corners are drawn square.
  public var cornerRadius: CGFloat = 0 { didSet { NoEffect.cornerRadius.log() } }
  /// Kept: every view clips.
  public var masksToBounds = true

  func drawBorder(into canvas: inout Canvas, area: CGRect) {
    guard borderWidth > 0, let color = borderColor?.color else { return }
    let width = min(borderWidth, area.width / 2, area.height / 2)
    for edge in [
      CGRect(x: area.minX, y: area.minY, width: area.width, height: width),
      CGRect(x: area.minX, y: area.maxY - width, width: area.width, height: width),
      CGRect(x: area.minX, y: area.minY, width: width, height: area.height),
      CGRect(x: area.maxX - width, y: area.minY, width: width, height: area.height),
    ] { canvas.fill(edge, color) }
  }
}

extension NoEffect {
  static let cornerRadius = NoEffect("UIKit", "CALayer.cornerRadius", why: "corners are drawn square")
}

/// A touch or a tap; carries nothing here.
public class UIEvent: NSObject {}
