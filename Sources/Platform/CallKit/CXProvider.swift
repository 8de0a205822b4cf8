public import Dispatch
public import Foundation
import Koine
@_exported public import class KoineAVFoundation.AVAudioSession

/// Performs actions on calls for the system. Called on the queue that was given with the delegate.
///
/// An action whose method is not implemented is not fulfilled, and fails when its time is over.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxproviderdelegate)
public protocol CXProviderDelegate: NSObjectProtocol {
  /// The system has dropped all calls of the provider.
  func providerDidReset(_ provider: CXProvider)
  func providerDidBegin(_ provider: CXProvider)
  /// - Returns: true if the app performs the transaction's actions here; they are not passed to `provider(_:perform:)`.
  func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool
  func provider(_ provider: CXProvider, perform action: CXStartCallAction)
  func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
  func provider(_ provider: CXProvider, perform action: CXEndCallAction)
  func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction)
  func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction)
  func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction)
  func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction)
  /// The action has failed because the app did not complete it in time.
  func provider(_ provider: CXProvider, timedOutPerforming action: CXAction)
  /// The system has activated the audio session for a call: audio flows from now on.
  func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession)
  /// The system has deactivated the audio session.
  func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession)
}

extension CXProviderDelegate {
  public func providerDidBegin(_ provider: CXProvider) {}
  public func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool { false }
  public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {}
  public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {}
  public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {}
  public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {}
  public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {}
  public func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction) {}
  public func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) {}
  public func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) {}
  public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {}
  public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {}
}

/// Reports an app's calls to the phone, and receives what the user does with them. It belongs to the phone of the machine that the
/// code runs on when it makes the provider.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxprovider)
public final class CXProvider: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var configuration: CXProviderConfiguration
    weak var delegate: (any CXProviderDelegate)?
    var queue: DispatchQueue?
    var isInvalid = false
    var transactions: [CXTransaction] = []
  }
  private let state: Lock<State>
  let phone: Phone
  /// Identifies the provider after its end.
  var id: ObjectIdentifier { ObjectIdentifier(self) }

  public init(configuration: CXProviderConfiguration) {
    state = Lock(State(configuration: CXProvider.copy(configuration)))
    phone = Machine.current.phone
    super.init()
    phone.add(self)
  }

  deinit { phone.removeProvider(id) }

  /// A copy of the given configuration. Changing the copy has no effect until it is set.
  public var configuration: CXProviderConfiguration {
    get { Self.copy(state.withLock { $0.configuration }) }
    set {
      let copy = Self.copy(newValue)
      state.withLock { $0.configuration = copy }
    }
  }

  private static func copy(_ configuration: CXProviderConfiguration) -> CXProviderConfiguration {
    (configuration.copy() as? CXProviderConfiguration) ?? configuration
  }

  /// - Parameter queue: nil: the main queue.
  public func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) {
    state.withLock { ($0.delegate, $0.queue) = (delegate, queue) }
    if delegate != nil { call { $1.providerDidBegin($0) } }
  }

  // MARK: Reports

  /// - Parameter completion: called once, on the delegate's queue, with nil once the call rings.
  public func reportNewIncomingCall(
    with UUID: UUID, update: CXCallUpdate, completion: @escaping ((any Error)?) -> Void
  ) {
    let error = isInvalid ? CXErrorCodeIncomingCallError(.unknown) : phone.ring(UUID, update.values, self)
    let completion = Completion(completion)
    onQueue { completion.call(error) }
  }

  public func reportNewIncomingCall(with UUID: UUID, update: CXCallUpdate) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      reportNewIncomingCall(with: UUID, update: update) { error in
        if let error { done.resume(throwing: error) } else { done.resume() }
      }
    }
  }

  public func reportCall(with UUID: UUID, updated update: CXCallUpdate) { phone.update(UUID, update.values, by: self) }

  /// - Parameter dateEnded: kept nowhere; the call ends now.
  public func reportCall(with UUID: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {
    phone.reportEnd(of: UUID, Phone.EndReason(endedReason), by: self)
  }

  /// - Parameter dateStartedConnecting: kept nowhere; the call connects from now on.
  public func reportOutgoingCall(with UUID: UUID, startedConnectingAt dateStartedConnecting: Date?) {
    phone.reportOutgoing(UUID, .connecting, by: self)
  }

  /// - Parameter dateConnected: kept nowhere; the call is connected now.
  public func reportOutgoingCall(with UUID: UUID, connectedAt dateConnected: Date?) {
    phone.reportOutgoing(UUID, .connected, by: self)
  }

  /// Ends all calls of the provider; it cannot report others.
  public func invalidate() {
    state.withLock { $0.isInvalid = true }
    phone.removeProvider(id)
  }
  var isInvalid: Bool { state.withLock { $0.isInvalid } }

  // MARK: Actions under way

  /// Transactions with actions that are not complete.
  public var pendingTransactions: [CXTransaction] {
    state.withLock { state in
      state.transactions.removeAll(where: \.isComplete)
      return state.transactions
    }
  }

  /// Actions of a type for a call that are not complete.
  public func pendingCallActions(of callActionClass: AnyClass, withCall callUUID: UUID) -> [CXCallAction] {
    pendingTransactions.flatMap(\.actions).compactMap { $0 as? CXCallAction }.filter {
      $0.callUUID == callUUID && !$0.isComplete && Swift.type(of: $0) == callActionClass
    }
  }

  // MARK: For the phone

  func perform(_ transaction: CXTransaction) {
    state.withLock { $0.transactions.append(transaction) }
    call({ provider, delegate in
      guard !delegate.provider(provider, execute: transaction) else { return }
      for action in transaction.actions where !action.isComplete { provider.perform(action, delegate) }
    }) {
      for action in transaction.actions { action.fail() }
    }
  }

  private func perform(_ action: CXAction, _ delegate: any CXProviderDelegate) {
    switch action {
    case let action as CXStartCallAction: delegate.provider(self, perform: action)
    case let action as CXAnswerCallAction: delegate.provider(self, perform: action)
    case let action as CXEndCallAction: delegate.provider(self, perform: action)
    case let action as CXSetHeldCallAction: delegate.provider(self, perform: action)
    case let action as CXSetMutedCallAction: delegate.provider(self, perform: action)
    case let action as CXSetGroupCallAction: delegate.provider(self, perform: action)
    case let action as CXPlayDTMFCallAction: delegate.provider(self, perform: action)
    default: action.fail()
    }
  }

  /// Calls the delegate on its queue.
  /// - Parameter otherwise: called instead if there is no delegate.
  func call(
    _ body: @escaping @Sendable (CXProvider, any CXProviderDelegate) -> Void,
    otherwise: @escaping @Sendable () -> Void = {}
  ) {
    onQueue { [self] in
      if let delegate = state.withLock({ $0.delegate }) { body(self, delegate) } else { otherwise() }
    }
  }

  private func onQueue(_ body: @escaping @Sendable () -> Void) {
    phone.deliver(on: state.withLock { $0.queue }, body)
  }
}

/// A completion handler. It is called once, on the queue of its owner, and has no other use until then.
struct Completion: @unchecked Sendable {
  let call: ((any Error)?) -> Void
  init(_ call: @escaping ((any Error)?) -> Void) { self.call = call }
}
