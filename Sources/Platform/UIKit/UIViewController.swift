public import Foundation
import Koine

/// Owns a view, which is loaded when it is first asked for.
///
/// Its view appears and disappears with the window, the navigation or the presentation that shows it.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uiviewcontroller)
@preconcurrency @MainActor
open class UIViewController: UIResponder {
  private var loadedView: UIView?
  open var title: String?
  public private(set) var children: [UIViewController] = []
  public private(set) weak var parent: UIViewController?
  public private(set) var presentedViewController: UIViewController?
  public private(set) weak var presentingViewController: UIViewController?
  open var modalPresentationStyle = UIModalPresentationStyle.automatic
  open var modalTransitionStyle = UIModalTransitionStyle.coverVertical
  open var isModalInPresentation = false
  open var edgesForExtendedLayout: UInt = 15
  public private(set) lazy var navigationItem = UINavigationItem(title: title ?? "")
  open var tabBarItem: UITabBarItem!
  open var hidesBottomBarWhenPushed = false
  private var isVisible = false

  /// There are no nibs here: both are left aside. On the main actor, as all inits of view controllers are.
  public init(nibName: String? = nil, bundle: Bundle? = nil) { super.init() }

  open var view: UIView! {
    get {
      loadViewIfNeeded()
      return loadedView
    }
    set {
      loadedView = newValue
      newValue?.controller = self
    }
  }

  open override var next: UIResponder? { loadedView?.superview ?? presentingViewController }

  public var isViewLoaded: Bool { loadedView != nil }
  public var viewIfLoaded: UIView? { loadedView }

  open func loadViewIfNeeded() {
    guard loadedView == nil else { return }
    loadView()
    loadedView?.controller = self
    viewDidLoad()
  }

  /// Makes the view; the usual one is the size of a small window.
  open func loadView() { loadedView = UIView(frame: CGRect(x: 0, y: 0, width: 960, height: 540)) }
  open func viewDidLoad() {}
  open func viewWillAppear(_ animated: Bool) {}
  open func viewDidAppear(_ animated: Bool) {}
  open func viewWillDisappear(_ animated: Bool) {}
  open func viewDidDisappear(_ animated: Bool) {}
  open func viewWillLayoutSubviews() {}
  open func viewDidLayoutSubviews() {}
  open func updateViewConstraints() {}
  open func didReceiveMemoryWarning() {}
  open var prefersStatusBarHidden: Bool { false }
  open var supportedInterfaceOrientations: UIInterfaceOrientationMask { .all }
  open func setNeedsStatusBarAppearanceUpdate() {}

  /// Reports an appearance to this controller and its children. For a container of one's own, too.
  func setVisible(_ isVisible: Bool) {
    guard self.isVisible != isVisible else { return }
    self.isVisible = isVisible
    if isVisible {
      loadViewIfNeeded()
      viewWillAppear(false)
    } else {
      viewWillDisappear(false)
    }
    for child in visibleChildren { child.setVisible(isVisible) }
    if isVisible {
      view.layoutIfNeeded()
      viewDidAppear(false)
    } else {
      viewDidDisappear(false)
    }
  }

  /// Children whose views are shown with this controller's.
  var visibleChildren: [UIViewController] { children.filter { $0.viewIfLoaded?.superview != nil } }

  // MARK: Containers

  open func addChild(_ childController: UIViewController) {
    childController.removeFromParent()
    childController.willMove(toParent: self)
    childController.parent = self
    children.append(childController)
  }

  open func removeFromParent() {
    guard let former = parent else { return }
    former.children.removeAll { $0 === self }
    parent = nil
    if isVisible { setVisible(false) }
    didMove(toParent: nil)
  }

  open func willMove(toParent parent: UIViewController?) {}
  open func didMove(toParent parent: UIViewController?) {
    if let parent, parent.isVisible { setVisible(true) }
  }

  open var navigationController: UINavigationController? {
    parent as? UINavigationController ?? parent?.navigationController
  }
  open var tabBarController: UITabBarController? { parent as? UITabBarController ?? parent?.tabBarController }

  // MARK: Presentation

  /// Shows a controller over this one. Its view covers this controller's topmost view.
  open func present(_ viewControllerToPresent: UIViewController, animated: Bool, completion: (() -> Void)? = nil) {
    if let presented = presentedViewController {
      LayoutProblems.report("\(type(of: self)) presents \(type(of: presented)) already")
      return
    }
    presentedViewController = viewControllerToPresent
    viewControllerToPresent.presentingViewController = self
    if let top = topView, let view = viewControllerToPresent.view {
      view.frame = viewControllerToPresent.frame(over: top.bounds)
      top.addSubview(view)
    }
    viewControllerToPresent.setVisible(true)
    if let completion { later(completion) }
  }

  /// Dismisses what this controller presents, else this controller itself.
  open func dismiss(animated: Bool, completion: (() -> Void)? = nil) {
    guard let presented = presentedViewController else {
      guard let presenting = presentingViewController else {
        if let completion { later(completion) }
        return
      }
      return presenting.dismiss(animated: animated, completion: completion)
    }
    if presented.presentedViewController != nil { presented.dismiss(animated: animated) }
    presentedViewController = nil
    presented.presentingViewController = nil
    presented.setVisible(false)
    presented.viewIfLoaded?.removeFromSuperview()
    if let completion { later(completion) }
  }

  /// The frame of this controller's view when it is presented.
  func frame(over bounds: CGRect) -> CGRect { bounds }

  private var topView: UIView? {
    var top = viewIfLoaded
    while let superview = top?.superview { top = superview }
    return top
  }

  /// As UIKit does, completions run after the call has returned.
  private func later(_ completion: @escaping () -> Void) {
    let completion = UncheckedClosure(completion)
    Machine.current.delivery.deliver { completion.call() }
  }

  open func show(_ vc: UIViewController, sender: Any?) {
    if let navigationController {
      navigationController.pushViewController(vc, animated: true)
    } else {
      present(vc, animated: true)
    }
  }
}

/// A closure of the main actor's on its way through the delivery queue, which is the main queue for apps with views.
private final class UncheckedClosure: @unchecked Sendable {
  private let closure: () -> Void
  init(_ closure: @escaping () -> Void) { self.closure = closure }
  func call() { closure() }
}

public enum UIModalPresentationStyle: Int, Sendable {
  case automatic = -2, none, fullScreen, pageSheet, formSheet, currentContext, custom, overFullScreen,
    overCurrentContext, popover
}
public enum UIModalTransitionStyle: Int, Sendable { case coverVertical, flipHorizontal, crossDissolve, partialCurl }
public struct UIInterfaceOrientationMask: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let portrait = UIInterfaceOrientationMask(rawValue: 2)
  public static let landscapeLeft = UIInterfaceOrientationMask(rawValue: 16)
  public static let landscapeRight = UIInterfaceOrientationMask(rawValue: 8)
  public static let portraitUpsideDown = UIInterfaceOrientationMask(rawValue: 4)
  public static let landscape: UIInterfaceOrientationMask = [.landscapeLeft, .landscapeRight]
  public static let allButUpsideDown: UIInterfaceOrientationMask = [.portrait, .landscape]
  public static let all: UIInterfaceOrientationMask = [.allButUpsideDown, .portraitUpsideDown]
}

// MARK: Bars

/// A button of a bar.
@preconcurrency @MainActor
open class UIBarButtonItem: NSObject {
  public enum Style: Int, Sendable { case plain = 0, done = 2 }
  public enum SystemItem: Int, Sendable {
    case done, cancel, edit, save, add, flexibleSpace, fixedSpace, compose, reply, action, organize, bookmarks, search
    case refresh, stop, camera, trash, play, pause, rewind, fastForward, undo, redo, close = 24
  }

  open var title: String?
  open var image: UIImage?
  open var isEnabled = true
  open var tintColor: UIColor?
  open var customView: UIView?
  open weak var target: AnyObject?
  open var action: Selector?
  open var primaryAction: UIAction?
  open var accessibilityIdentifier: String?

  public override init() { super.init() }
  public convenience init(title: String?, style: Style, target: Any?, action: Selector?) {
    self.init()
    (self.title, self.target, self.action) = (title, target as AnyObject?, action)
  }
  public convenience init(image: UIImage?, style: Style, target: Any?, action: Selector?) {
    self.init()
    (self.image, self.target, self.action) = (image, target as AnyObject?, action)
  }
  public convenience init(barButtonSystemItem systemItem: SystemItem, target: Any?, action: Selector?) {
    self.init(title: "\(systemItem)".capitalized, style: .plain, target: target, action: action)
  }
  public convenience init(title: String? = nil, image: UIImage? = nil, primaryAction: UIAction? = nil) {
    self.init()
    (self.title, self.image, self.primaryAction) = (title ?? primaryAction?.title, image, primaryAction)
  }
  public convenience init(customView: UIView) {
    self.init()
    self.customView = customView
  }

  /// As when a person taps the button.
  func tap() {
    if let primaryAction { primaryAction.handler(primaryAction) }
    if let action { TargetAction(target: target, selector: action).perform(sender: self) }
  }
}

@preconcurrency @MainActor
open class UINavigationItem: NSObject {
  open var title: String?
  open var prompt: String?
  open var titleView: UIView?
  open var hidesBackButton = false
  open var leftBarButtonItems: [UIBarButtonItem]?
  open var rightBarButtonItems: [UIBarButtonItem]?
  open var backBarButtonItem: UIBarButtonItem?
  public init(title: String) { self.title = title }
  open var leftBarButtonItem: UIBarButtonItem? {
    get { leftBarButtonItems?.first }
    set { leftBarButtonItems = newValue.map { [$0] } }
  }
  open var rightBarButtonItem: UIBarButtonItem? {
    get { rightBarButtonItems?.first }
    set { rightBarButtonItems = newValue.map { [$0] } }
  }
}

@preconcurrency @MainActor
open class UITabBarItem: NSObject {
  open var title: String?
  open var image: UIImage?
  open var badgeValue: String?
  public init(title: String?, image: UIImage?, tag: Int) { (self.title, self.image) = (title, image) }
}

/// A stack of controllers of which the top one is shown. There is no bar to be seen; its items can be tapped.
@preconcurrency @MainActor
open class UINavigationController: UIViewController {
  open var viewControllers: [UIViewController] = [] { didSet { showTop(instead: oldValue) } }
  open var isNavigationBarHidden = false
  public let navigationBar = UINavigationBar()

  public init(rootViewController: UIViewController) {
    super.init()
    viewControllers = [rootViewController]
    showTop(instead: [])
  }
  public override init(nibName: String? = nil, bundle: Bundle? = nil) { super.init(nibName: nibName, bundle: bundle) }

  open var topViewController: UIViewController? { viewControllers.last }
  open var visibleViewController: UIViewController? { presentedViewController ?? topViewController }
  override var visibleChildren: [UIViewController] { topViewController.map { [$0] } ?? [] }

  open func pushViewController(_ viewController: UIViewController, animated: Bool) {
    viewControllers.append(viewController)
  }
  @discardableResult
  open func popViewController(animated: Bool) -> UIViewController? {
    viewControllers.count > 1 ? viewControllers.removeLast() : nil
  }
  @discardableResult
  open func popToRootViewController(animated: Bool) -> [UIViewController]? {
    let popped = Array(viewControllers.dropFirst())
    if !popped.isEmpty { viewControllers = Array(viewControllers.prefix(1)) }
    return popped
  }
  @discardableResult
  open func popToViewController(_ viewController: UIViewController, animated: Bool) -> [UIViewController]? {
    guard let index = viewControllers.firstIndex(where: { $0 === viewController }) else { return nil }
    let popped = Array(viewControllers.dropFirst(index + 1))
    if !popped.isEmpty { viewControllers = Array(viewControllers.prefix(index + 1)) }
    return popped
  }
  open func setViewControllers(_ viewControllers: [UIViewController], animated: Bool) {
    self.viewControllers = viewControllers
  }
  open func setNavigationBarHidden(_ hidden: Bool, animated: Bool) { isNavigationBarHidden = hidden }

  private func showTop(instead former: [UIViewController]) {
    let (old, new) = (former.last, viewControllers.last)
    for controller in former where !viewControllers.contains(where: { $0 === controller }) {
      controller.viewIfLoaded?.removeFromSuperview()
      controller.removeFromParent()
    }
    for controller in viewControllers where controller.parent !== self { addChild(controller) }
    guard old !== new, let new else { return }
    if let old, old.parent === self {
      old.setVisible(false)
      old.viewIfLoaded?.removeFromSuperview()
    }
    new.view.frame = view.bounds
    new.view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
    view.addSubview(new.view)
    new.didMove(toParent: self)
  }
}

public final class UINavigationBar: UIView {
  public var prefersLargeTitles = false
  public var barTintColor: UIColor?
  public var isTranslucent = true
}

/// Controllers of which the selected one is shown.
@preconcurrency @MainActor
open class UITabBarController: UIViewController {
  open var viewControllers: [UIViewController]? {
    didSet {
      for controller in oldValue ?? [] { controller.removeFromParent() }
      for controller in viewControllers ?? [] { addChild(controller) }
      selectedIndex = 0
    }
  }
  open var selectedIndex = 0 {
    didSet {
      guard let controllers = viewControllers, controllers.indices.contains(selectedIndex) else { return }
      for controller in controllers
      where controller !== selectedViewController && controller.viewIfLoaded?.superview != nil {
        controller.setVisible(false)
        controller.view.removeFromSuperview()
      }
      let shown = controllers[selectedIndex]
      shown.view.frame = view.bounds
      shown.view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
      view.addSubview(shown.view)
      shown.didMove(toParent: self)
    }
  }
  open var selectedViewController: UIViewController? {
    viewControllers.flatMap { $0.indices.contains(selectedIndex) ? $0[selectedIndex] : nil }
  }
}

/// A controller whose view is a table.
@preconcurrency @MainActor
open class UITableViewController: UIViewController, UITableViewDataSource, UITableViewDelegate {
  private let style: UITableView.Style
  public init(style: UITableView.Style) {
    self.style = style
    super.init()
  }
  open var tableView: UITableView! {
    get { view as? UITableView }
    set { view = newValue }
  }
  open override func loadView() {
    let table = UITableView(frame: CGRect(x: 0, y: 0, width: 960, height: 540), style: style)
    table.dataSource = self
    table.delegate = self
    view = table
  }
  open func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int { 0 }
  open func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell {
    UITableViewCell()
  }
  open func numberOfSections(in tableView: UITableView) -> Int { 1 }
  open func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String? { nil }
  open func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) {}
  open func tableView(_ tableView: UITableView, heightForRowAt indexPath: IndexPath) -> CGFloat { tableView.rowHeight }
}

// MARK: Alerts

/// A choice of an alert.
@preconcurrency @MainActor
open class UIAlertAction: NSObject {
  public enum Style: Int, Sendable { case `default`, cancel, destructive }
  public let title: String?
  public let style: Style
  open var isEnabled = true
  let handler: ((UIAlertAction) -> Void)?
  public init(title: String?, style: Style, handler: ((UIAlertAction) -> Void)? = nil) {
    (self.title, self.style, self.handler) = (title, style, handler)
  }
}

/// A message with choices. `TestRoom.tap` chooses.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uialertcontroller)
@preconcurrency @MainActor
open class UIAlertController: UIViewController {
  public enum Style: Int, Sendable { case actionSheet, alert }
  open var message: String?
  public let preferredStyle: Style
  public private(set) var actions: [UIAlertAction] = []
  public private(set) var textFields: [UITextField]?
  open var preferredAction: UIAlertAction?

  public init(title: String?, message: String?, preferredStyle: Style) {
    (self.message, self.preferredStyle) = (message, preferredStyle)
    super.init()
    self.title = title
  }

  open func addAction(_ action: UIAlertAction) { actions.append(action) }
  open func addTextField(configurationHandler: ((UITextField) -> Void)? = nil) {
    let field = UITextField(frame: .zero)
    textFields = (textFields ?? []) + [field]
    configurationHandler?(field)
  }

  /// As when a person chooses: the alert goes, then the choice's handler runs.
  func choose(_ action: UIAlertAction) {
    guard action.isEnabled else { return }
    presentingViewController?.dismiss(animated: false)
    action.handler?(action)
  }

  override func frame(over bounds: CGRect) -> CGRect {
    let size = CGSize(
      width: min(320, bounds.width),
      height: min(CGFloat(60 + 44 * (actions.count + (textFields?.count ?? 0))), bounds.height))
    return CGRect(
      x: bounds.midX - size.width / 2, y: bounds.midY - size.height / 2, width: size.width, height: size.height)
  }

  open override func loadView() {
    let stack = UIStackView(frame: .zero)
    stack.axis = .vertical
    stack.distribution = .fillEqually
    stack.backgroundColor = .systemGray6
    for text in [title, message].compactMap(\.self) {
      let label = UILabel(frame: .zero)
      (label.text, label.textAlignment) = (text, .center)
      label.font = UIFont.systemFont(ofSize: 17)
      stack.addArrangedSubview(label)
    }
    for field in textFields ?? [] { stack.addArrangedSubview(field) }
    for action in actions {
      let button = UIButton(type: .system)
      button.setTitle(action.title, for: .normal)
      button.addAction(UIAction { [weak self] _ in self?.choose(action) }, for: .touchUpInside)
      stack.addArrangedSubview(button)
    }
    view = stack
  }
}

// MARK: Windows and the device

/// The topmost view; the view of its root view controller fills it.
@preconcurrency @MainActor
open class UIWindow: UIView {
  open var rootViewController: UIViewController? {
    didSet {
      oldValue?.setVisible(false)
      oldValue?.viewIfLoaded?.removeFromSuperview()
      show()
    }
  }
  public private(set) var isKeyWindow = false

  public override init(frame: CGRect) { super.init(frame: frame) }
  public convenience init(windowScene: UIWindowScene) { self.init(frame: UIScreen.main.bounds) }
  public required init?(coder: NSCoder) { nil }

  /// From now on the root view controller's view is visible.
  open func makeKeyAndVisible() {
    isKeyWindow = true
    isHidden = false
    show()
  }
  open func makeKey() { isKeyWindow = true }

  private func show() {
    guard isKeyWindow, let root = rootViewController, let view = root.view else { return }
    view.frame = bounds
    view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
    if view.superview !== self { addSubview(view) }
    root.setVisible(true)
  }
}

public final class UIWindowScene: UIResponder {}

/// The screen: as large as a small window, with one pixel for each point.
@preconcurrency @MainActor
public final class UIScreen: NSObject {
  public static let main = UIScreen()
  public var bounds: CGRect { CGRect(x: 0, y: 0, width: 960, height: 540) }
  public var nativeBounds: CGRect { bounds }
  public var scale: CGFloat { 1 }
  public var brightness: CGFloat = 1
  public var maximumFramesPerSecond: Int { 60 }
}

/// The device that the app runs on: this machine.
@preconcurrency @MainActor
public final class UIDevice: NSObject {
  public static let current = UIDevice()
  public var name: String { ProcessInfo.processInfo.hostName }
  public var model: String { "Linux" }
  public var localizedModel: String { model }
  public var systemName: String { "Linux" }
  public var systemVersion: String {
    let version = ProcessInfo.processInfo.operatingSystemVersion
    return "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
  }
  /// Different for each process.
  public let identifierForVendor: UUID? = UUID()
  public var userInterfaceIdiom: UIUserInterfaceIdiom { .phone }
  public var orientation: UIDeviceOrientation { .landscapeLeft }
  public var isBatteryMonitoringEnabled = false
  /// 0...1; below 0: unknown, as on a machine without a battery.
  public var batteryLevel: Float { -1 }
  public var isProximityMonitoringEnabled = false
  public var proximityState: Bool { false }
}
public enum UIUserInterfaceIdiom: Int, Sendable { case unspecified = -1, phone, pad, tv, carPlay, mac = 5 }
public enum UIDeviceOrientation: Int, Sendable {
  case unknown, portrait, portraitUpsideDown, landscapeLeft, landscapeRight, faceUp, faceDown
}

/// Named by apps that post notices; there is nothing to post them to here.
public protocol UNUserNotificationCenterDelegate: AnyObject {}
