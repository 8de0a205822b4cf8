public import Foundation
import Koine

/// The name of a method that a control, a gesture or a notification calls.
///
/// There is no Objective-C runtime: an object performs a selector by `SelectorPerforming`, whose implementation `koine linux` writes into
/// the copy of an app's class.
public struct Selector: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  public let name: String
  public init(_ name: String) { self.name = name }
  public init(stringLiteral name: String) { self.name = name }
  public var description: String { name }
}

public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }

/// An object with methods that are called by a selector.
///
/// The protocol has no actor, so that a class keeps its own isolation; the requirement has.
public protocol SelectorPerforming: AnyObject {
  /// Calls the method of that name, on the main actor.
  /// - Parameter sender: the method's argument, if it has one.
  /// - Returns: false: the object has no such method.
  @preconcurrency @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool
}

/// A target and its selector; the target is held weakly.
@MainActor struct TargetAction {
  private weak var target: AnyObject?
  /// Without a target, the responder chain is asked: the sender's view, its superviews and their controllers.
  private let hasTarget: Bool
  private let selector: Selector

  init(target: AnyObject?, selector: Selector) {
    (self.target, self.selector) = (target, selector)
    hasTarget = target != nil
  }

  func matches(_ target: Any?, _ selector: Selector?) -> Bool {
    (target == nil || self.target === target as AnyObject?) && (selector == nil || self.selector == selector)
  }

  func perform(sender: Any?) {
    guard hasTarget else { return performByResponder(sender) }
    guard let target, !Self.perform(selector, on: target, sender: sender) else { return }
    report("\(type(of: target)) does not perform \(selector.name)")
  }

  private func performByResponder(_ sender: Any?) {
    var responder = sender as? UIResponder
    while let candidate = responder {
      if Self.perform(selector, on: candidate, sender: sender) { return }
      responder = candidate.next
    }
    report("nothing in the responder chain performs \(selector.name)")
  }

  private func report(_ problem: String) {
    LayoutProblems.report("\(problem): `koine linux` makes an app's #selector methods callable")
  }

  private static func perform(_ selector: Selector, on target: AnyObject, sender: Any?) -> Bool {
    if let performer = target as? any SelectorPerforming, performer.performSelector(selector, sender: sender) {
      return true
    }
    return performOwn(selector, on: target)
  }

  /// Methods of UIKit that apps name as actions.
  private static func performOwn(_ selector: Selector, on target: AnyObject) -> Bool {
    switch (selector.name, target) {
    case ("endEditing:", let view as UIView): view.endEditing(true)
    case ("resignFirstResponder", let responder as UIResponder): responder.resignFirstResponder()
    case ("becomeFirstResponder", let responder as UIResponder): responder.becomeFirstResponder()
    case ("removeFromSuperview", let view as UIView): view.removeFromSuperview()
    case ("setNeedsLayout", let view as UIView): view.setNeedsLayout()
    case ("reloadData", let table as UITableView): table.reloadData()
    case ("reloadData", let collection as UICollectionView): collection.reloadData()
    case ("popViewControllerAnimated:", let controller as UINavigationController):
      controller.popViewController(animated: true)
    default: return false
    }
    return true
  }
}

/// A closure with a title that a control or a menu runs.
@preconcurrency @MainActor
open class UIAction: NSObject {
  public struct Identifier: Hashable, Sendable, RawRepresentable {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  public var title: String
  public var image: UIImage?
  public let identifier: Identifier
  public internal(set) weak var sender: AnyObject?
  let handler: (UIAction) -> Void

  public init(
    title: String = "", image: UIImage? = nil, identifier: Identifier? = nil, handler: @escaping (UIAction) -> Void
  ) {
    (self.title, self.image) = (title, image)
    self.identifier = identifier ?? Identifier(UUID().uuidString)
    self.handler = handler
    super.init()
  }
}

/// A view that runs actions when it is used.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uicontrol)
@preconcurrency @MainActor
open class UIControl: UIView {
  public struct Event: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let touchDown = Event(rawValue: 1 << 0)
    public static let touchUpInside = Event(rawValue: 1 << 6)
    public static let touchUpOutside = Event(rawValue: 1 << 7)
    public static let touchCancel = Event(rawValue: 1 << 8)
    public static let valueChanged = Event(rawValue: 1 << 12)
    public static let primaryActionTriggered = Event(rawValue: 1 << 13)
    public static let editingDidBegin = Event(rawValue: 1 << 16)
    public static let editingChanged = Event(rawValue: 1 << 17)
    public static let editingDidEnd = Event(rawValue: 1 << 18)
    public static let editingDidEndOnExit = Event(rawValue: 1 << 19)
    public static let allTouchEvents = Event(rawValue: 0xFFF)
    public static let allEvents = Event(rawValue: .max)
  }

  public struct State: OptionSet, Sendable, Hashable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let normal: State = []
    public static let highlighted = State(rawValue: 1)
    public static let disabled = State(rawValue: 2)
    public static let selected = State(rawValue: 4)
    public static let focused = State(rawValue: 8)
  }

  private enum Reaction {
    case target(TargetAction)
    case action(UIAction)
  }

  private var reactions: [(events: Event, reaction: Reaction)] = []
  open var isEnabled = true { didSet { stateChanged() } }
  open var isSelected = false { didSet { stateChanged() } }
  open var isHighlighted = false { didSet { stateChanged() } }
  open var state: State {
    (isEnabled ? State.normal : .disabled).union(isSelected ? .selected : .normal).union(
      isHighlighted ? .highlighted : .normal)
  }

  func stateChanged() { setNeedsLayout() }

  /// - Parameter target: held weakly; it must perform selectors (`SelectorPerforming`). nil: the first object of the responder chain
  ///   that performs the selector.
  open func addTarget(_ target: Any?, action: Selector, for controlEvents: Event) {
    let target = target.map { $0 as AnyObject }
    reactions.append((controlEvents, .target(TargetAction(target: target, selector: action))))
  }

  open func removeTarget(_ target: Any?, action: Selector?, for controlEvents: Event) {
    reactions.removeAll { entry in
      guard case .target(let known) = entry.reaction else { return false }
      return !entry.events.isDisjoint(with: controlEvents) && known.matches(target, action)
    }
  }

  open func addAction(_ action: UIAction, for controlEvents: Event) {
    removeAction(action, for: controlEvents)
    reactions.append((controlEvents, .action(action)))
  }

  open func removeAction(_ action: UIAction, for controlEvents: Event) {
    reactions.removeAll { entry in
      guard case .action(let known) = entry.reaction else { return false }
      return known.identifier == action.identifier && !entry.events.isDisjoint(with: controlEvents)
    }
  }

  /// Runs the actions for these events, in the order in which they were added.
  open func sendActions(for controlEvents: Event) {
    for entry in reactions where !entry.events.isDisjoint(with: controlEvents) {
      switch entry.reaction {
      case .target(let target): target.perform(sender: self)
      case .action(let action):
        action.sender = self
        action.handler(action)
      }
    }
  }

  /// As when a finger taps the control.
  func tap() { sendActions(for: [.touchDown, .touchUpInside, .primaryActionTriggered]) }
}

/// Calls its targets when the gesture is made on its view.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uigesturerecognizer)
@preconcurrency @MainActor
open class UIGestureRecognizer: NSObject {
  public enum State: Int, Sendable {
    case possible, began, changed, ended, cancelled, failed
    public static let recognized = State.ended
  }

  public internal(set) weak var view: UIView?
  open var state = State.possible
  open var isEnabled = true
  open var cancelsTouchesInView = true
  public weak var delegate: (any UIGestureRecognizerDelegate)?
  private var targets: [TargetAction] = []
  var location = CGPoint.zero

  public init(target: Any?, action: Selector?) {
    super.init()
    if let target, let action { addTarget(target, action: action) }
  }
  public convenience override init() { self.init(target: nil, action: nil) }

  public func addTarget(_ target: Any, action: Selector) {
    targets.append(TargetAction(target: target as AnyObject, selector: action))
  }
  public func removeTarget(_ target: Any?, action: Selector?) { targets.removeAll { $0.matches(target, action) } }

  /// In a view's coordinates: where the gesture was made.
  open func location(in view: UIView?) -> CGPoint { self.view?.convert(location, to: view) ?? location }

  /// As when the gesture is made at a point of the view.
  func recognize(at point: CGPoint) {
    guard isEnabled, delegate?.gestureRecognizerShouldBegin(self) ?? true else { return }
    (location, state) = (point, .ended)
    for target in targets { target.perform(sender: self) }
    state = .possible
  }
}

@preconcurrency @MainActor
public protocol UIGestureRecognizerDelegate: AnyObject {
  func gestureRecognizerShouldBegin(_ gestureRecognizer: UIGestureRecognizer) -> Bool
}
extension UIGestureRecognizerDelegate {
  public func gestureRecognizerShouldBegin(_ gestureRecognizer: UIGestureRecognizer) -> Bool { true }
}

open class UITapGestureRecognizer: UIGestureRecognizer {
  open var numberOfTapsRequired = 1
  open var numberOfTouchesRequired = 1
}
open class UILongPressGestureRecognizer: UIGestureRecognizer {
  /// In seconds.
  open var minimumPressDuration: TimeInterval = 0.5
}
open class UIPanGestureRecognizer: UIGestureRecognizer {
  /// How far the finger has moved.
  open func translation(in view: UIView?) -> CGPoint { .zero }
}
open class UIPinchGestureRecognizer: UIGestureRecognizer {
  open var scale: CGFloat = 1
}
open class UISwipeGestureRecognizer: UIGestureRecognizer {
  public struct Direction: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let right = Direction(rawValue: 1)
    public static let left = Direction(rawValue: 2)
    public static let up = Direction(rawValue: 4)
    public static let down = Direction(rawValue: 8)
  }
  open var direction = Direction.right
}

extension NotificationCenter {
  /// Calls a method of the observer for each notification, on the thread that posts it, which has to be the main thread.
  ///
  /// The observer is held weakly and must perform selectors (`SelectorPerforming`). Once it is gone, the observation is removed.
  public func addObserver(
    _ observer: Any, selector: Selector, name: Notification.Name?, object: Any?
  ) {
    let target = observer as AnyObject
    let observation = SelectorObservation(target, selector)
    let token = addObserver(forName: name, object: object, queue: nil) { observation.perform($0) }
    SelectorObservation.Registry.shared.add(
      SelectorObservation.Entry(
        center: self, observation: observation, name: name, object: object as AnyObject?, token: token))
  }

  /// Ends all observations of an object by selectors.
  public func removeObserver(_ observer: any SelectorPerforming) {
    SelectorObservation.Registry.shared.remove(observer, from: self) { _ in true }
  }

  /// Ends an object's observations by selectors that have a name or a sender.
  /// - Parameter aName: nil: those of all names.
  /// - Parameter anObject: nil: those of all senders.
  public func removeObserver(_ observer: any SelectorPerforming, name aName: Notification.Name?, object anObject: Any?)
  {
    let object = anObject as AnyObject?
    SelectorObservation.Registry.shared.remove(observer, from: self) { entry in
      (aName == nil || entry.name == aName) && (object == nil || entry.object === object)
    }
  }
}

/// An object whose method a notification calls. Used on the main actor only.
private final class SelectorObservation: @unchecked Sendable {
  private(set) weak var target: AnyObject?
  private let selector: Selector

  init(_ target: AnyObject, _ selector: Selector) { (self.target, self.selector) = (target, selector) }

  func perform(_ notification: Notification) {
    nonisolated(unsafe) let (target, notification) = (target, notification)
    guard let target else { return Registry.shared.removeGone() }
    guard Delivery.main.isCurrent || Thread.isMainThread else {
      return LayoutProblems.report("\(selector.name): notifications call selectors on the main thread only")
    }
    MainActor.assumeIsolated { TargetAction(target: target, selector: selector).perform(sender: notification) }
  }

  struct Entry {
    let center: NotificationCenter
    let observation: SelectorObservation
    let name: Notification.Name?
    weak var object: AnyObject?
    let token: any NSObjectProtocol
  }

  /// The observations of all notification centers, from any thread.
  final class Registry: @unchecked Sendable {
    static let shared = Registry()
    private let lock = NSLock()
    private var entries: [Entry] = []

    func add(_ entry: Entry) {
      removeGone()
      lock.withLock { entries.append(entry) }
    }

    func removeGone() { remove { $0.observation.target == nil } }

    func remove(_ observer: AnyObject, from center: NotificationCenter, where matches: (Entry) -> Bool) {
      remove { $0.observation.target === observer && $0.center === center && matches($0) }
    }

    private func remove(where ends: (Entry) -> Bool) {
      let ended = lock.withLock {
        let ended = entries.filter(ends)
        entries.removeAll(where: ends)
        return ended
      }
      for entry in ended { entry.center.removeObserver(entry.token as Any) }
    }
  }
}

extension Timer {
  /// A timer of the current run loop that calls a method.
  ///
  /// The timer holds its target until it is invalidated, as on a phone. It runs in real time: with a virtual clock, use a clock that
  /// the code gets as a parameter.
  /// - Parameters:
  ///   - ti: in seconds.
  ///   - aTarget: must perform selectors (`SelectorPerforming`).
  @discardableResult
  public class func scheduledTimer(
    timeInterval ti: TimeInterval, target aTarget: Any, selector aSelector: Selector, userInfo: Any?,
    repeats yesOrNo: Bool
  ) -> Timer {
    let timer = Timer(timeInterval: ti, target: aTarget, selector: aSelector, userInfo: userInfo, repeats: yesOrNo)
    RunLoop.current.add(timer, forMode: .default)
    return timer
  }

  /// A timer that calls a method once it is added to the main run loop.
  /// - Parameter userInfo: not kept, because a timer of Foundation on Linux has no place for it.
  public convenience init(
    timeInterval ti: TimeInterval, target aTarget: Any, selector aSelector: Selector, userInfo: Any?,
    repeats yesOrNo: Bool
  ) {
    if userInfo != nil { LayoutProblems.report("\(aSelector.name): a timer keeps no userInfo here") }
    nonisolated(unsafe) let target = aTarget as AnyObject
    self.init(timeInterval: ti, repeats: yesOrNo) { timer in
      nonisolated(unsafe) let timer = timer
      guard Delivery.main.isCurrent || Thread.isMainThread else {
        return LayoutProblems.report("\(aSelector.name): timers call selectors on the main thread only")
      }
      MainActor.assumeIsolated { TargetAction(target: target, selector: aSelector).perform(sender: timer) }
    }
  }
}
