public import Foundation
import Koine

@preconcurrency @MainActor
open class UIResponder: NSObject {
  nonisolated public override init() { super.init() }
}

/// A rectangle that draws itself, and its subviews over itself, into pixels.
@preconcurrency @MainActor
open class UIView: UIResponder {
  public enum ContentMode: Int, Sendable { case scaleToFill, scaleAspectFit, scaleAspectFill }

  open var frame: CGRect
  public var isHidden = false
  /// 0...1; below one half nothing is drawn, there is no blending.
  public var alpha: CGFloat = 1
  public var backgroundColor: UIColor?
  open var contentMode = ContentMode.scaleToFill
  public var tag = 0
  public private(set) var subviews: [UIView] = []
  public private(set) weak var superview: UIView?
  /// The id of the participant in `World.current` when the view was made, for tests; nil without one.
  nonisolated package let appID: String?

  nonisolated public init(frame: CGRect) {
    self.frame = frame
    appID = World.current?.participantID
    super.init()
  }

  nonisolated public convenience override init() { self.init(frame: .zero) }

  /// There are no archives of views here.
  nonisolated public required init?(coder: NSCoder) { nil }

  public var bounds: CGRect {
    get { CGRect(origin: .zero, size: frame.size) }
    set { frame.size = newValue.size }
  }

  public func addSubview(_ view: UIView) {
    view.removeFromSuperview()
    subviews.append(view)
    view.superview = self
  }

  public func insertSubview(_ view: UIView, at index: Int) {
    view.removeFromSuperview()
    subviews.insert(view, at: min(max(index, 0), subviews.count))
    view.superview = self
  }

  public func removeFromSuperview() {
    superview?.subviews.removeAll { $0 === self }
    superview = nil
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

  /// Runs the closure at once, before it returns; there is nothing to be seen moving.
  public static func animate(withDuration duration: TimeInterval, animations: @escaping () -> Void) { animations() }

  /// Runs both closures at once.
  public static func animate(
    withDuration duration: TimeInterval, animations: @escaping () -> Void, completion: ((Bool) -> Void)? = nil
  ) {
    animations()
    completion?(true)
  }

  /// Draws what this view itself shows over its background, in `area` of the canvas. Subviews follow.
  open func draw(into canvas: inout Canvas, area: CGRect) {}

  // MARK: Pixels

  /// The view as it looks now.
  public func snapshot() -> Canvas {
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
        into: &canvas, at: CGPoint(x: origin.x + view.frame.minX, y: origin.y + view.frame.minY), clip: visible)
    }
  }
}
