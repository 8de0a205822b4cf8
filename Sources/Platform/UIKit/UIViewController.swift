public import Foundation

/// Owns a view, which is loaded when it is first asked for.
@preconcurrency @MainActor
open class UIViewController: UIResponder {
  private var loadedView: UIView?
  public var title: String?

  /// There are no nibs here: both are left aside. On the main actor, as all inits of view controllers are.
  public init(nibName: String? = nil, bundle: Bundle? = nil) { super.init() }

  public var view: UIView! {
    get {
      loadViewIfNeeded()
      return loadedView
    }
    set { loadedView = newValue }
  }

  public var isViewLoaded: Bool { loadedView != nil }

  public func loadViewIfNeeded() {
    guard loadedView == nil else { return }
    loadView()
    viewDidLoad()
  }

  /// Makes the view; the usual one is the size of a small window.
  open func loadView() { loadedView = UIView(frame: CGRect(x: 0, y: 0, width: 960, height: 540)) }
  open func viewDidLoad() {}
}

/// Named by apps that post notices; there is nothing to post them to here.
public protocol UNUserNotificationCenterDelegate: AnyObject {}
