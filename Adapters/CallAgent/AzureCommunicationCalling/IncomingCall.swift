public import Foundation
import Koine

/// Notified on the delivery queue when an incoming call ends unanswered.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsincomingcalldelegate)
public protocol IncomingCallDelegate: NSObjectProtocol {
  /// Over without having been accepted.
  func incomingCall(_ incomingCall: IncomingCall, didEnd args: PropertyChangedEventArgs)
}

extension IncomingCallDelegate {
  public func incomingCall(_ incomingCall: IncomingCall, didEnd args: PropertyChangedEventArgs) {}
}

/// A call that rings. Accepting it creates a `Call`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsincomingcall)
public final class IncomingCall: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    weak var delegate: (any IncomingCallDelegate)?
    var callEndReason: CallEndReason?
  }

  public let id: String
  public let callerInfo: CallerInfo
  public let isVideoEnabled: Bool
  public let events = IncomingCallEvents()
  private let invitation: Ring
  /// The registration that the call rang at: the agent's, or that of the agent's push notifications.
  let endpoint: Endpoint
  private weak let agent: CallAgent?
  private let state = Lock(State())

  init(_ invitation: Ring, at endpoint: Endpoint, agent: CallAgent) {
    self.invitation = invitation
    self.agent = agent
    self.endpoint = endpoint
    id = invitation.id
    callerInfo = CallerInfo(
      displayName: invitation.callerName, identifier: ParticipantIdentifiers.identifier(of: invitation.caller))
    isVideoEnabled = invitation.hasVideo
  }

  /// The identity that rings, as it is registered.
  package var caller: String { invitation.caller }

  public var callEndReason: CallEndReason? { state.withLock { $0.callEndReason } }

  public weak var delegate: (any IncomingCallDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  public func accept(options: AcceptCallOptions, completionHandler: @escaping (Call?, (any Error)?) -> Void) {
    accept(options, isAwaited: false, completionHandler)
  }

  private func accept(
    _ options: AcceptCallOptions, isAwaited: Bool, _ completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    if let agent { return agent.accept(invitation, options: options, isAwaited: isAwaited, completionHandler) }
    let handler = Handler(completionHandler)
    let error = CallingCommunicationErrors.incomingCallAlreadyUnplaced.error("the agent is gone")
    endpoint.world.delivery.deliver { handler(nil, error) }
  }

  nonisolated(nonsending) public func accept(options: AcceptCallOptions) async throws -> Call {
    let call = try await result { accept(options, isAwaited: true, $0) }
    call.appHasIt()
    return call
  }

  public func reject(completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    let isRinging = agent?.isRinging(id) ?? false
    if isRinging {
      endpoint.reply(.decline, to: id)
      agent?.callKit?.rejected(self)
    }
    let error =
      isRinging ? nil : CallingCommunicationErrors.incomingCallAlreadyUnplaced.error("the call is over already")
    endpoint.world.delivery.deliver { handler(error) }
  }

  nonisolated(nonsending) public func reject() async throws {
    try await completion { reject(completionHandler: $0) }
  }

  /// On the delivery queue.
  func ended(_ answer: Ring.State) {
    let reason: CallEndReason =
      switch answer {
      case .unanswered: .unanswered
      case .unreachable: .notHandled
      case .handledElsewhere: .normal
      case .ringing, .accepted, .declined, .busy, .cancelled: .cancelled
      }
    let delegate = state.withLock { state in
      state.callEndReason = reason
      return state.delegate
    }
    agent?.callKit?.ended(self, answer)
    let args = PropertyChangedEventArgs()
    delegate?.incomingCall(self, didEnd: args)
    events.onCallEnded?(args)
  }
}
