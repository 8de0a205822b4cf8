public import Foundation
public import Koine

/// The app that runs on `Machine`: whether it is active, inactive or in the background.
///
/// There is one application for each machine. Its notifications are posted to `NotificationCenter.default` on the delivery queue, with
/// the machine's application as their object. An observer without an object receives the notifications of all machines of the process.
@preconcurrency @MainActor
public final class UIApplication: UIResponder {
  public enum State: Int, Sendable { case active, inactive, background }

  nonisolated public static let willResignActiveNotification = Notification.Name(
    "UIApplicationWillResignActiveNotification")
  nonisolated public static let didEnterBackgroundNotification = Notification.Name(
    "UIApplicationDidEnterBackgroundNotification")
  nonisolated public static let willEnterForegroundNotification = Notification.Name(
    "UIApplicationWillEnterForegroundNotification")
  nonisolated public static let didBecomeActiveNotification = Notification.Name(
    "UIApplicationDidBecomeActiveNotification")

  nonisolated private let state: Lock<State>

  /// The application of the running code's machine: `World.current`'s, or that of the notification being delivered.
  public class var shared: UIApplication { of(Machine.current) }

  /// The application of a machine (not Apple's).
  nonisolated public class func of(_ machine: Machine) -> UIApplication {
    machine.sharedObject {
      let application = UIApplication(machine)
      machine.observe { [weak application] event in application?.handle(event) }
      return application
    }
  }

  nonisolated private init(_ machine: Machine) {
    state = Lock(machine.isInBackground ? .background : .active)
    super.init()
  }

  /// As of the last notification.
  public var applicationState: State { state.withLock { $0 } }

  /// No screen falls asleep here.
  public var isIdleTimerDisabled = false

  /// On the delivery queue.
  nonisolated private func handle(_ event: Machine.Event) {
    switch event {
    case .wentToBackground:
      post(Self.willResignActiveNotification, .inactive, before: true)
      post(Self.didEnterBackgroundNotification, .background)
    case .cameToForeground:
      post(Self.willEnterForegroundNotification, .inactive, before: true)
      post(Self.didBecomeActiveNotification, .active)
    default: break
    }
  }

  /// - Parameter before: whether the notification is posted before the state changes.
  nonisolated private func post(_ name: Notification.Name, _ new: State, before: Bool = false) {
    if !before { state.withLock { $0 = new } }
    NotificationCenter.default.post(name: name, object: self)
    if before { state.withLock { $0 = new } }
  }
}
