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
      let application = makeOnAnyThread { UIApplication(machine) }
      machine.observe { [weak application] event in application?.handle(event) }
      return application
    }
  }

  private init(_ machine: Machine) {
    state = Lock(machine.isInBackground ? .background : .active)
    super.init()
  }

  /// As of the last notification.
  public var applicationState: State { state.withLock { $0 } }

  /// No screen falls asleep here.
  public var isIdleTimerDisabled = false
  public weak var delegate: (any UIApplicationDelegate)?

  private var backgroundTasks: [UIBackgroundTaskIdentifier: () -> Void] = [:]
  private var lastBackgroundTask = 0

  /// Tasks that have begun and not ended. Here the app's code is never halted, so a task's handler for the end of the time is not called.
  public func beginBackgroundTask(
    withName taskName: String? = nil, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier {
    lastBackgroundTask += 1
    let task = UIBackgroundTaskIdentifier(rawValue: lastBackgroundTask)
    backgroundTasks[task] = { handler?() }
    return task
  }
  public func beginBackgroundTask(
    expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier { beginBackgroundTask(withName: nil, expirationHandler: handler) }
  public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) { backgroundTasks[identifier] = nil }
  /// In seconds: without end.
  public var backgroundTimeRemaining: TimeInterval { .greatestFiniteMagnitude }

  /// No other app is here that could open an address.
  public func canOpenURL(_ url: URL) -> Bool { false }
  public func open(
    _ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:], completionHandler completion: ((Bool) -> Void)? = nil
  ) { completion?(false) }
  public struct OpenExternalURLOptionsKey: Hashable, Sendable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }
  public static let openSettingsURLString = "app-settings:"

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

/// A task that an app has begun before it goes to the background.
public struct UIBackgroundTaskIdentifier: Hashable, Sendable, RawRepresentable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

/// An app's delegate. The app is not launched here: a test calls the methods.
@preconcurrency @MainActor
public protocol UIApplicationDelegate: AnyObject {
  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool
}
extension UIApplicationDelegate {
  public func application(
    _ application: UIApplication, didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool { true }
}

extension UIApplication {
  public struct LaunchOptionsKey: Hashable, Sendable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }
}
