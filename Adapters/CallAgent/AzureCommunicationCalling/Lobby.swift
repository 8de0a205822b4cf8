public import Foundation
import Koine

/// How many of the named waiting participants were admitted.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class AdmitParticipantsResult: NSObject, @unchecked Sendable {  // constant; participants lock their state
  public let successCount: Int32
  /// Participants that another participant has rejected, that have gone, or that could not enter.
  public let failedParticipants: [RemoteParticipant]

  fileprivate init(_ successCount: Int, _ failedParticipants: [RemoteParticipant]) {
    (self.successCount, self.failedParticipants) = (Int32(clamping: successCount), failedParticipants)
  }
}

/// How many waiting participants were admitted.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class AdmitAllParticipantsResult: NSObject, Sendable {
  public let successCount: Int32
  public let failureCount: Int32

  fileprivate init(_ successCount: Int, _ failureCount: Int) {
    (self.successCount, self.failureCount) = (Int32(clamping: successCount), Int32(clamping: failureCount))
  }
}

/// Notified on the delivery queue of changes of the call lobby.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol CallLobbyDelegate: NSObjectProtocol {
  func callLobby(_ callLobby: CallLobby, didUpdateLobbyParticipants args: ParticipantsUpdatedEventArgs)
}

extension CallLobbyDelegate {
  public func callLobby(_ callLobby: CallLobby, didUpdateLobbyParticipants args: ParticipantsUpdatedEventArgs) {}
}

/// Closures for the changes of the call lobby, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CallLobbyEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onLobbyParticipantsUpdated: ((ParticipantsUpdatedEventArgs) -> Void)?
  public func removeAll() { onLobbyParticipantsUpdated = nil }
}

/// The participants that wait for admission to the call's room, for a local participant that may admit them. An admitted participant joins
/// the call as another `RemoteParticipant`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CallLobby: NSObject, @unchecked Sendable {  // everything mutable is locked
  /// The answers to one request, until all have come.
  private final class Decision: Sendable {
    private struct State {
      var open: [Koine.Participant.ID: RemoteParticipant]
      var admitted = 0
      var failed: [RemoteParticipant] = []
    }
    private let state: Lock<State>
    private let done: Handler<Int, [RemoteParticipant], NSError?>

    init(
      about participants: [RemoteParticipant],
      _ done: @escaping (_ admitted: Int, _ failed: [RemoteParticipant], NSError?) -> Void
    ) {
      state = Lock(State(open: Dictionary(participants.map { ($0.id, $0) }) { first, _ in first }))
      self.done = Handler(done)
    }

    /// - Returns: whether all answers have come. The handler has been called then.
    func receive(_ id: Koine.Participant.ID, isAdmitted: Bool) -> Bool {
      let (isNew, rest) = state.withLock { state in
        guard let participant = state.open.removeValue(forKey: id) else { return (false, state) }
        if isAdmitted { state.admitted += 1 } else { state.failed.append(participant) }
        return (true, state)
      }
      guard isNew, rest.open.isEmpty else { return false }
      done(rest.admitted, rest.failed, nil)
      return true
    }

    /// - Parameter error: nil: there was nothing to decide.
    func close(_ error: NSError?) { done(0, [], error) }
  }

  private struct State {
    weak var call: Call?
    var delivery = Delivery.main
    var participants: [RemoteParticipant] = []
    var decisions: [Decision] = []
  }

  public let events = CallLobbyEvents()
  private let listener = Listener<any CallLobbyDelegate>()
  private let state = Lock(State())

  override init() {}

  func enter(_ call: Call) { state.withLock { ($0.call, $0.delivery) = (call, call.delivery) } }

  /// Empty where the local participant may not admit participants.
  public var participants: [RemoteParticipant] { state.withLock { $0.participants } }

  public weak var delegate: (any CallLobbyDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// Admits participants of the lobby. Identifiers of other participants are left aside; if there is no other one,
  /// `lobbyParticipantNotExist` is the error.
  public func admit(
    identifiers: [any CommunicationIdentifier],
    completionHandler: @escaping (AdmitParticipantsResult?, (any Error)?) -> Void
  ) {
    let wanted = Set(identifiers.map(\.rawId))
    let meant = participants.filter { wanted.contains($0.identifier.rawId) }
    let missing =
      meant.isEmpty ? CallingCommunicationErrors.lobbyParticipantNotExist.error("no such participant waits") : nil
    decide(true, about: meant, unless: missing) { admitted, failed, error in
      completionHandler(error == nil ? AdmitParticipantsResult(admitted, failed) : nil, error)
    }
  }

  public func admitAll(completionHandler: @escaping (AdmitAllParticipantsResult?, (any Error)?) -> Void) {
    decide(true, about: participants, unless: nil) { admitted, failed, error in
      completionHandler(error == nil ? AdmitAllParticipantsResult(admitted, failed.count) : nil, error)
    }
  }

  /// Rejects a participant of the lobby. The error is `lobbyParticipantNotExist` if it does not wait, and `lobbyAdmitOperationFailure` if
  /// another participant has admitted it first.
  public func reject(
    identifier: any CommunicationIdentifier, completionHandler: @escaping ((any Error)?) -> Void
  ) {
    let meant = participants.filter { $0.identifier.rawId == identifier.rawId }
    let missing =
      meant.isEmpty ? CallingCommunicationErrors.lobbyParticipantNotExist.error("no such participant waits") : nil
    decide(false, about: meant, unless: missing) { admitted, _, error in
      completionHandler(
        admitted == 0
          ? error : CallingCommunicationErrors.lobbyAdmitOperationFailure.error("the participant was admitted"))
    }
  }

  nonisolated(nonsending) public func admit(
    identifiers: [any CommunicationIdentifier]
  ) async throws -> AdmitParticipantsResult {
    try await result { admit(identifiers: identifiers, completionHandler: $0) }
  }
  nonisolated(nonsending) public func admitAll() async throws -> AdmitAllParticipantsResult {
    try await result { admitAll(completionHandler: $0) }
  }
  nonisolated(nonsending) public func reject(identifier: any CommunicationIdentifier) async throws {
    try await completion { reject(identifier: identifier, completionHandler: $0) }
  }

  private func decide(
    _ isAdmitted: Bool, about participants: [RemoteParticipant], unless error: NSError?,
    _ done: @escaping (_ admitted: Int, _ failed: [RemoteParticipant], NSError?) -> Void
  ) {
    let decision = Decision(about: participants, done)
    let (call, delivery) = state.withLock { ($0.call, $0.delivery) }
    guard let call else {
      let error = CallingCommunicationErrors.lobbyAdmitOperationFailure.error("the call is gone")
      return delivery.deliver { decision.close(error) }
    }
    let problem = refusal(in: call) ?? error
    delivery.deliver { [self] in
      if let problem { return decision.close(problem) }
      // Some may have gone, and the call may have ended, since the app asked.
      let waiting = Set(self.participants.map(\.id))
      guard call.isUnderWay else {
        return decision.close(CallingCommunicationErrors.lobbyAdmitOperationFailure.error("the call is over"))
      }
      guard !participants.isEmpty else { return decision.close(nil) }
      state.withLock { $0.decisions.append(decision) }
      for participant in participants where waiting.contains(participant.id) {
        if isAdmitted { call.session.admit(participant.id) } else { call.session.deny(participant.id) }
      }
      for participant in participants where !waiting.contains(participant.id) {
        settle(participant.id, isAdmitted: false)
      }
    }
  }

  private func refusal(in call: Call) -> NSError? {
    if !call.isUnderWay {
      return CallingCommunicationErrors.signalingOperationFailed.error("the call is not connected")
    }
    if call.session.permissions?.contains(.admit) == false {
      return CallingCommunicationErrors.lobbyMeetingRoleNotAllowed.error("the token does not permit it")
    }
    return nil
  }

  // MARK: On the delivery queue

  func handle(_ event: SessionEvent) {
    switch event {
    case .entryRequested(let participant):
      guard let call = state.withLock({ $0.call }) else { return }
      let new = RemoteParticipant(
        ParticipantIdentifiers.identifier(of: participant.id), as: participant.id, displayName: participant.name,
        state: .inLobby, in: call)
      state.withLock { $0.participants.append(new) }
      notifyDelegate(ParticipantsUpdatedEventArgs(added: [new]))
    case .entryRequestEnded(let participant, let admitted):
      let gone = state.withLock { state in
        defer { state.participants.removeAll { $0.id == participant.id } }
        return state.participants.filter { $0.id == participant.id }
      }
      for participant in gone { participant.change(to: admitted == true ? .connecting : .disconnected) }
      if !gone.isEmpty { notifyDelegate(ParticipantsUpdatedEventArgs(removed: gone)) }
      settle(participant.id, isAdmitted: admitted == true)
    default: break
    }
  }

  private func settle(_ id: Koine.Participant.ID, isAdmitted: Bool) {
    for decision in state.withLock({ $0.decisions }) where decision.receive(id, isAdmitted: isAdmitted) {
      state.withLock { $0.decisions.removeAll { $0 === decision } }
    }
  }

  /// The call is over: open handlers fail.
  func close() {
    let decisions = state.withLock { state in
      defer { (state.participants, state.decisions) = ([], []) }
      return state.decisions
    }
    for decision in decisions {
      decision.close(CallingCommunicationErrors.lobbyAdmitOperationFailure.error("the call is over"))
    }
  }

  private func notifyDelegate(_ args: ParticipantsUpdatedEventArgs) {
    delegate?.callLobby(self, didUpdateLobbyParticipants: args)
    events.onLobbyParticipantsUpdated?(args)
  }
}
