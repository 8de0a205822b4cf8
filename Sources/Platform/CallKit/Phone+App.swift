public import Foundation
import Koine

// The app as the system runs it: not running, launched, terminated; and the VoIP pushes that launch it.

/// Receives the VoIP pushes of an app. For authors of platform modules.
public protocol PushReceiver: AnyObject, Sendable {
  /// Whether the app has asked for VoIP pushes.
  var wantsPushes: Bool { get }
  /// - Parameter completion: the app calls it once it has handled the push.
  func receivePush(_ payload: [String: any Sendable], completion: @escaping @Sendable () -> Void)
}

extension Phone {
  /// An offence for which iOS terminates the app.
  public struct Failure: Sendable, Hashable, CustomStringConvertible {
    public let description: String
  }

  struct WeakReceiver { weak var receiver: (any PushReceiver)? }

  struct AppState {
    var launcher: (@Sendable () -> any AnyObject)?
    var app: (any AnyObject)?
    var token = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
    var pushDelay = Duration.zero
    var receivers: [WeakReceiver] = []
    /// Pushes that no receiver has taken, with the times at which the app fails.
    var waiting: [Push] = []
    var failures: [Failure] = []
    var unreportedFailures: [Failure] = []
    var pushSources: [String: any AnyObject & Sendable] = [:]
    var terminationHandlers: [@Sendable () -> Void] = []
  }

  struct Push: Sendable {
    let id = UUID()
    let payload: [String: any Sendable]
  }

  /// The time that an app has to report a call after it got a push, and to make its `PKPushRegistry` after a launch. Apple publishes no
  /// figure; the value is Koine's.
  public static let pushTime = Duration.seconds(5)

  // MARK: The app

  /// Sets how the app is launched. Until then, and after `terminateApp()`, it is not running.
  /// - Parameter make: makes the app on the delivery queue, in the context of the machine's world.
  public func setLauncher(_ make: @escaping @Sendable () -> any AnyObject) {
    app.withLock { $0.launcher = make }
    terminateApp()
  }

  /// Whether the app runs. True without a launcher: the test makes the app itself.
  public var isAppRunning: Bool { app.withLock { $0.launcher == nil || $0.app != nil } }
  /// The object that the launcher has made; nil while the app is not running.
  public var runningApp: (any AnyObject)? { app.withLock { $0.app } }

  /// Opens the app as its user does. It is launched on the delivery queue, unless it runs.
  public func openApp() {
    machine?.returnToForeground()
    delivery.deliver { [self] in launch() }
  }

  /// Ends the app: the phone releases the object that the launcher has made, drops the app's calls and puts the machine into the
  /// background.
  public func terminateApp() {
    let (old, handlers) = app.withLock { state in
      state.receivers = []
      defer { (state.app, state.terminationHandlers) = (nil, []) }
      return (state.app, state.terminationHandlers)
    }
    for call in calls { end(call.id, .dropped) }
    for handler in handlers { handler() }
    machine?.moveToBackground()
    withExtendedLifetime(old) {}  // released outside the lock
  }

  /// For authors of styles: calls `handler` once, when the app that runs now is terminated.
  public func onTermination(_ handler: @escaping @Sendable () -> Void) {
    app.withLock { $0.terminationHandlers.append(handler) }
  }

  /// On the delivery queue.
  private func launch() {
    guard let make = app.withLock({ $0.app == nil ? $0.launcher : nil }) else { return }
    let made = make()
    app.withLock { $0.app = made }
  }

  /// Releases everything that the phone keeps. For test rooms, at their end.
  public func shutDown() {
    let old = app.withLock { state in
      defer { state = AppState() }
      return state
    }
    for handler in old.terminationHandlers { handler() }
  }

  // MARK: Pushes

  /// The device token of VoIP pushes to this machine.
  public var pushToken: Data { app.withLock { $0.token } }

  /// How long later pushes take to arrive. 0 unless set.
  public func setPushDelay(_ delay: Duration) { app.withLock { $0.pushDelay = delay } }

  /// Sends a VoIP push to the app. If the app is not running, the push launches it in the background.
  ///
  /// The app has to report an incoming call before it calls the push's completion handler, and within `pushTime`. Else the phone adds
  /// to `failures` and terminates the app, as iOS does.
  /// - Parameter payload: `PKPushPayload.dictionaryPayload`.
  public func push(_ payload: [String: any Sendable]) {
    let push = Push(payload: payload)
    let delay = app.withLock { $0.pushDelay }
    lane.post(at: lane.scheduler.now + delay) { [weak self] in
      self?.delivery.deliver { [weak self] in self?.arrived(push) }
    }
  }

  /// What iOS would have terminated the app for, in order.
  public var failures: [Failure] { app.withLock { $0.failures } }

  /// Failures since the last call. For test rooms.
  public func takeUnreportedFailures() -> [Failure] {
    app.withLock { state in
      defer { state.unreportedFailures = [] }
      return state.unreportedFailures
    }
  }

  /// For authors of platform modules: the app has made a receiver of pushes, or has changed its wishes.
  public func addPushReceiver(_ receiver: any PushReceiver) {
    app.withLock { state in
      state.receivers.removeAll { $0.receiver == nil || $0.receiver === receiver }
      state.receivers.append(WeakReceiver(receiver: receiver))
    }
    delivery.deliver { [self] in handOut() }
  }

  /// For authors of styles: keeps the object that watches for calls of an identity while the app is not running; nil drops it.
  public func setPushSource(_ source: (any AnyObject & Sendable)?, for identity: String) {
    let old = app.withLock { state in
      defer { state.pushSources[identity] = source }
      return state.pushSources[identity]
    }
    withExtendedLifetime(old) {}
  }

  /// The object that was kept by `setPushSource(_:for:)`.
  public func pushSource(for identity: String) -> (any AnyObject & Sendable)? {
    app.withLock { $0.pushSources[identity] }
  }

  /// On the delivery queue.
  private func arrived(_ push: Push) {
    app.withLock { $0.waiting.append(push) }
    launch()
    handOut()
    lane.post(at: lane.scheduler.now + Self.pushTime) { [weak self] in self?.giveUp(push) }
  }

  /// On the delivery queue: gives waiting pushes to the app.
  private func handOut() {
    let (receivers, pushes) = app.withLock { state -> ([any PushReceiver], [Push]) in
      (state.receivers.compactMap(\.receiver), state.waiting)
    }
    guard let receiver = receivers.first(where: \.wantsPushes) else { return }
    app.withLock { state in state.waiting.removeAll { push in pushes.contains { $0.id == push.id } } }
    for push in pushes { give(push, to: receiver) }
  }

  private func give(_ push: Push, to receiver: any PushReceiver) {
    let before = reports
    let isChecked = Lock(false)
    let check: @Sendable (String) -> Void = { [weak self] when in
      let isFirst = isChecked.withLock { isChecked in
        defer { isChecked = true }
        return !isChecked
      }
      guard isFirst, let self, reports == before else { return }
      failed("the app got a VoIP push and reported no incoming call to CallKit \(when)")
    }
    lane.post(at: lane.scheduler.now + Self.pushTime) { check("within \(Self.pushTime)") }
    receiver.receivePush(push.payload) { [lane] in
      lane.post { check("before it called the push's completion handler") }
    }
  }

  private func giveUp(_ push: Push) {
    let isWaiting = app.withLock { state in
      let count = state.waiting.count
      state.waiting.removeAll { $0.id == push.id }
      return state.waiting.count < count
    }
    if isWaiting { failed("a VoIP push arrived and the app made no PKPushRegistry for VoIP within \(Self.pushTime)") }
  }

  private func failed(_ text: String) {
    let failure = Failure(description: text)
    app.withLock { state in
      state.failures.append(failure)
      state.unreportedFailures.append(failure)
    }
    if app.withLock({ $0.launcher != nil }) { delivery.deliver { [weak self] in self?.terminateApp() } }
  }
}
