public import Dispatch
public import Foundation
import Koine

/// A call of the phone, as it was at one moment.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcall)
public final class CXCall: NSObject, Sendable {
  public let uuid: UUID
  public let isOutgoing: Bool
  public let isOnHold: Bool
  public let hasConnected: Bool
  public let hasEnded: Bool

  init(_ call: Phone.Call) {
    (uuid, isOutgoing, isOnHold) = (call.id, call.isOutgoing, call.isOnHold)
    (hasConnected, hasEnded) = (call.hasConnected, call.state == .ended)
  }

  public func isEqual(to call: CXCall) -> Bool {
    uuid == call.uuid && isOutgoing == call.isOutgoing && isOnHold == call.isOnHold
      && hasConnected == call.hasConnected && hasEnded == call.hasEnded
  }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CXCall).map(isEqual(to:)) ?? false }
  public override var hash: Int { uuid.hashValue }
}

/// Receives the changes of the phone's calls, on the queue that was given with the delegate.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcallobserverdelegate)
public protocol CXCallObserverDelegate: NSObjectProtocol {
  func callObserver(_ callObserver: CXCallObserver, callChanged call: CXCall)
}

/// Observes the calls of the phone, regardless of their provider.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcallobserver)
public final class CXCallObserver: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    weak var delegate: (any CXCallObserverDelegate)?
    var queue: DispatchQueue?
  }
  private let state = Lock(State())
  private let phone: Phone

  public override init() {
    phone = Machine.current.phone
    super.init()
    phone.add(self)
  }

  /// Calls that have not ended.
  public var calls: [CXCall] { phone.calls.map(CXCall.init) }

  /// - Parameter queue: nil: the main queue.
  public func setDelegate(_ delegate: (any CXCallObserverDelegate)?, queue: DispatchQueue?) {
    state.withLock { ($0.delegate, $0.queue) = (delegate, queue) }
  }

  func callChanged(_ call: CXCall) {
    phone.deliver(on: state.withLock { $0.queue }) { [weak self] in
      guard let self, let delegate = state.withLock({ $0.delegate }) else { return }
      delegate.callObserver(self, callChanged: call)
    }
  }
}

/// Requests actions on the calls of the app's providers.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcallcontroller)
public final class CXCallController: NSObject, Sendable {
  private let queue: DispatchQueue?
  private let phone: Phone
  /// Observes the phone's calls.
  public let callObserver = CXCallObserver()

  public override convenience init() { self.init(nil) }
  /// - Parameter queue: where completions are called.
  public convenience init(queue: DispatchQueue) { self.init(queue) }
  private init(_ queue: DispatchQueue?) {
    self.queue = queue
    phone = Machine.current.phone
  }

  /// - Parameter completion: called once, with nil once the phone has taken the transaction. The app's provider performs it later.
  public func request(_ transaction: CXTransaction, completion: @escaping ((any Error)?) -> Void) {
    let error = phone.request(transaction)
    let completion = Completion(completion)
    phone.deliver(on: queue) { completion.call(error) }
  }

  public func requestTransaction(with actions: [CXAction], completion: @escaping ((any Error)?) -> Void) {
    request(CXTransaction(actions: actions), completion: completion)
  }

  public func requestTransaction(with action: CXAction, completion: @escaping ((any Error)?) -> Void) {
    request(CXTransaction(action: action), completion: completion)
  }

  public func request(_ transaction: CXTransaction) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      request(transaction) { error in
        if let error { done.resume(throwing: error) } else { done.resume() }
      }
    }
  }

  public func requestTransaction(with actions: [CXAction]) async throws {
    try await request(CXTransaction(actions: actions))
  }
  public func requestTransaction(with action: CXAction) async throws {
    try await request(CXTransaction(action: action))
  }
}
