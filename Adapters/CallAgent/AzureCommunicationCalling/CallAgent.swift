public import AzureCommunicationCommon
public import Foundation
import Koine

/// Receives a call agent's incoming calls and changes of its calls, on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallagentdelegate)
public protocol CallAgentDelegate: NSObjectProtocol {
  /// As the vendor spells it.
  func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall)
  /// As some of the vendor's pages spell it. Both are called; an app implements one.
  func callAgent(_ callAgent: CallAgent, didReceiveIncomingCall incomingCall: IncomingCall)
  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs)
}

extension CallAgentDelegate {
  public func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {}
  public func callAgent(_ callAgent: CallAgent, didReceiveIncomingCall incomingCall: IncomingCall) {}
  public func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {}
}

/// A signed-in user: makes calls and receives incoming ones. Callbacks arrive on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallagent)
public final class CallAgent: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    weak var delegate: (any CallAgentDelegate)?
    var calls: [Call] = []
    var ringing: [Ring.ID: IncomingCall] = [:]
    /// Identities of callers of other styles, by the raw id that the app knows.
    var callers: [String: String] = [:]
    var endpoint: Endpoint
    var isDisposed = false
  }

  /// How long after being lost, or refused, it signs in again.
  private static let pause = Duration.seconds(5)

  public let type = CommunicationCallType.call
  public let events = CallAgentEvents()
  let world: World
  /// Asked for a token, which may be a new one, for each call and each time the agent signs in.
  let credential: CommunicationTokenCredential
  private let key: AgentIdentityLock
  private let state: Lock<State>
  private let lane: Lane
  /// Nil: the SDK does not report the agent's calls to CallKit.
  let callKit: CallKitBridge?
  private let ringsByPushOnly: Bool
  let pushLifetime: Duration
  /// What the app says about itself, for room servers.
  let app: String

  private init(
    _ endpoint: Endpoint, credential: CommunicationTokenCredential, key: AgentIdentityLock, options: CallAgentOptions?,
    app: String
  ) {
    self.app = app
    world = endpoint.world
    callKit = options?.callKitOptions.map { CallKitBridge.of(endpoint.world, $0) }
    ringsByPushOnly = options?.disableInternalPushForIncomingCall ?? false
    pushLifetime = .seconds(min(max(options?.pushNotificationTtl ?? 86_400, 300), 15_552_000))
    self.credential = credential
    self.key = key
    state = Lock(State(endpoint: endpoint))
    lane = world.backend.scheduler.lane("agent \(endpoint.identity)")
  }

  deinit { key.release() }

  /// The present registration.
  var endpoint: Endpoint { state.withLock { $0.endpoint } }
  var isDisposed: Bool { state.withLock { $0.isDisposed } }

  static func create(
    token: String, of credential: CommunicationTokenCredential, options: CallAgentOptions?, app: String,
    in world: World, _ handler: Handler<CallAgent?, (any Error)?>
  ) {
    let identity = AccessTokenParser.identity(of: token) ?? "8:acs:" + UUID().uuidString.lowercased()
    let world = World.holding(identity: identity) ?? world
    let key = AgentIdentityLock(world: ObjectIdentifier(world.backend), identity: identity)
    guard key.acquire() else {
      let error = CallingCommunicationErrors.noMultipleConnectionsWithSameIdentity.error(
        "there is an agent for \(identity) already; dispose it first")
      return world.delivery.deliver { handler(nil, error) }
    }
    let endpoint = Endpoint(identity: identity, name: options?.displayName ?? "", credential: token, in: world)
    let agent = CallAgent(endpoint, credential: credential, key: key, options: options, app: app)
    endpoint.observe { [weak agent, weak endpoint] in if let endpoint { agent?.handle($0, of: endpoint) } }
    endpoint.register { outcome in
      switch outcome {
      case .success: handler(agent, nil)
      case .failure(let error):
        key.release()
        handler(nil, NSError(error))
      }
    }
  }

  /// Identities of callers of other styles that are kept; at the limit all are forgotten.
  private static let callerLimit = 1_000

  /// The registered identity behind an identifier, so that a caller of another style can be called back.
  func identity(of callee: any CommunicationIdentifier) -> String {
    state.withLock { $0.callers[callee.rawId] } ?? callee.rawId
  }

  private func remember(caller identity: String) {
    let rawId = ParticipantIdentifiers.rawId(of: identity)
    guard rawId != identity else { return }
    state.withLock { state in
      if state.callers.count >= Self.callerLimit { state.callers = [:] }
      state.callers[rawId] = identity
    }
  }

  // MARK: What an app reads and sets

  public var calls: [Call] { state.withLock { $0.calls } }

  public weak var delegate: (any CallAgentDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// Signs out. Calls end; afterwards everything fails.
  public func dispose() {
    let calls = state.withLock { state in
      state.isDisposed = true
      return state.calls
    }
    for call in calls { call.hangUp(options: nil) { _ in } }
    endpoint.unregister {}
    key.release()
  }

  // MARK: Calls

  /// Rings others. The handler gets the call as soon as there is one; it connects later.
  public func startCall(
    participants: [any CommunicationIdentifier], options: StartCallOptions?,
    completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    startCall(participants, options, isAwaited: false, completionHandler)
  }

  private func startCall(
    _ participants: [any CommunicationIdentifier], _ options: StartCallOptions?, isAwaited: Bool,
    _ completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    let identities = participants.map(\.rawId)
    guard !identities.isEmpty, identities.allSatisfy({ !$0.isEmpty }) else {
      return fail(completionHandler, CallingCommunicationErrors([]).error("a call needs a callee"))
    }
    guard !identities.contains(endpoint.identity) else {
      return fail(
        completionHandler,
        CallingCommunicationErrors.invalidParticipantAddedToCall.error("a participant cannot call itself"))
    }
    startCall(
      room: "call-" + UUID().uuidString.lowercased(), direction: .outgoing, ringing: participants, options: options,
      isAwaited: isAwaited, completionHandler)
  }

  public func startCall(
    participants: [any CommunicationIdentifier], completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    startCall(participants: participants, options: nil, completionHandler: completionHandler)
  }

  nonisolated(nonsending) public func startCall(
    participants: [any CommunicationIdentifier], options: StartCallOptions? = nil
  ) async throws -> Call {
    try await given { startCall(participants, options, isAwaited: true, $0) }
  }

  /// Joins a group call or a room without ringing its participants.
  public func join(
    with meetingLocator: JoinMeetingLocator, joinCallOptions: JoinCallOptions?,
    completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    join(meetingLocator, joinCallOptions, isAwaited: false, completionHandler)
  }

  private func join(
    _ meetingLocator: JoinMeetingLocator, _ options: JoinCallOptions?, isAwaited: Bool,
    _ completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    guard let room = meetingLocator.room else {
      return fail(completionHandler, meetingLocator.refusal.error("there is no such place to meet"))
    }
    startCall(
      room: room, direction: .outgoing, ringing: [], options: options, isAwaited: isAwaited, completionHandler)
  }

  public func join(
    with meetingLocator: JoinMeetingLocator, completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    join(with: meetingLocator, joinCallOptions: nil, completionHandler: completionHandler)
  }

  nonisolated(nonsending) public func join(
    with meetingLocator: JoinMeetingLocator, joinCallOptions: JoinCallOptions? = nil
  ) async throws -> Call {
    try await given { join(meetingLocator, joinCallOptions, isAwaited: true, $0) }
  }

  /// Waits for a call. Its events are held back until the waiting code continues, possibly long after the resumption; between
  /// this function and that code there is no further hop.
  nonisolated(nonsending) private func given(
    _ ask: (@escaping (Call?, (any Error)?) -> Void) -> Void
  ) async throws -> Call {
    let call = try await result(of: ask)
    call.appHasIt()
    return call
  }

  func accept(
    _ invitation: Ring, options: AcceptCallOptions, isAwaited: Bool,
    _ completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    guard isRinging(invitation.id) else {
      return fail(completionHandler, CallingCommunicationErrors.incomingCallAlreadyUnplaced.error("the call is over"))
    }
    guard !calls.contains(where: { [.connecting, .ringing, .connected].contains($0.state) }) else {
      return fail(
        completionHandler, CallingCommunicationErrors.incomingCallAlreadyUnplaced.error("another call is under way"))
    }
    startCall(
      room: invitation.room, direction: .incoming, ringing: [], options: options, from: invitation,
      isAwaited: isAwaited, completionHandler)
  }

  private func startCall(
    room: String, direction: CallDirection, ringing callees: [any CommunicationIdentifier], options: CallOptions?,
    from invitation: Ring? = nil, isAwaited: Bool,
    _ completionHandler: @escaping (Call?, (any Error)?) -> Void
  ) {
    guard !isDisposed else {
      return fail(completionHandler, CallingCommunicationErrors([]).error("the agent is disposed"))
    }
    if let missing = missingPermission(options) { return fail(completionHandler, missing) }
    let handler = Handler(completionHandler)
    credential.token { [self] token, error in
      if let token {
        startCall(
          room: room, direction, callees, options, from: invitation, isAwaited: isAwaited, with: token.token, handler)
      } else {
        world.delivery.deliver { handler(nil, error) }
      }
    }
  }

  /// Accepts the caller's ring, if any, and starts the call. Permissions and token are checked before, so that the agent does not
  /// accept a ring for a call that cannot start.
  private func startCall(
    room: String, _ direction: CallDirection, _ callees: [any CommunicationIdentifier], _ options: CallOptions?,
    from invitation: Ring?, isAwaited: Bool, with token: String, _ handler: Handler<Call?, (any Error)?>
  ) {
    if let invitation {
      guard let incoming = state.withLock({ $0.ringing.removeValue(forKey: invitation.id) }) else {
        let error = CallingCommunicationErrors.incomingCallAlreadyUnplaced.error("the call is over")
        return world.delivery.deliver { handler(nil, error) }
      }
      incoming.endpoint.reply(.accept, to: invitation.id)
    }
    let call = Call(room: room, direction: direction, agent: self, token: token, options: options, from: invitation)
    world.delivery.deliver { [self] in
      state.withLock { $0.calls.append(call) }
      let news: [() -> Void] = [{ handler(call, nil) }, { self.notifyDelegate(CallsUpdatedEventArgs(added: [call])) }]
      for one in world.delivery.inAnyOrder(news) { one() }
      if !isAwaited { call.appHasIt() }
    }
    callKit?.began(call, with: callees, options: options, isAnswer: invitation != nil)
    call.start(ringing: callees, options: options)
  }

  /// The error for a device that the user has denied; nil if none is denied. If the user has not been asked yet, the prompt appears
  /// when the device starts.
  private func missingPermission(_ options: CallOptions?) -> NSError? {
    let isOfDevice = options?.outgoingAudioOptions?.stream?.isOfDevice ?? true
    let hears = !isOfDevice || world.machine.permission(.microphone) != .denied
    let sees =
      options?.pictures.contains { $0 is LocalVideoStream } != true || world.machine.permission(.camera) != .denied
    return switch (hears, sees) {
    case (true, true): nil
    case (false, true): CallingCommunicationErrors.noAudioPermission.error("the microphone may not be used")
    case (true, false): CallingCommunicationErrors.noVideoPermission.error("the camera may not be used")
    case (false, false):
      CallingCommunicationErrors.noAudioAndVideoPermission.error("camera and microphone may not be used")
    }
  }

  private func fail(_ completionHandler: @escaping (Call?, (any Error)?) -> Void, _ error: NSError) {
    let handler = Handler(completionHandler)
    world.delivery.deliver { handler(nil, error) }
  }

  /// On the delivery queue, after everything else about the call.
  func removed(_ call: Call) {
    state.withLock { $0.calls.removeAll { $0 === call } }
    notifyDelegate(CallsUpdatedEventArgs(removed: [call]))
  }

  private func notifyDelegate(_ args: CallsUpdatedEventArgs) {
    delegate?.callAgent(self, didUpdateCalls: args)
    events.onCallsUpdated?(args)
  }

  // MARK: On the delivery queue

  private func handle(_ event: EndpointEvent, of endpoint: Endpoint) {
    switch event {
    case .stateChanged(.ended(.lost)): if !isDisposed { signInAgain(after: .zero) }
    case .stateChanged, .failed: break  // registering is told by its handler; a failed ring by its call
    case .invited(let invitation): if !ringsByPushOnly { rings(invitation, at: endpoint) }
    case .answered(let invitation, let callee, let answer):
      if invitation.isIncoming {
        ended(invitation, at: endpoint, answer)
      } else {
        for call in calls { call.answered(invitation.id, by: callee, answer) }
      }
    }
  }

  /// A call rings. One that rings by a push notification, too, is reported once.
  func rings(_ invitation: Ring, at endpoint: Endpoint) {
    guard !isRinging(invitation.id) else { return }
    remember(caller: invitation.caller)
    let incoming = IncomingCall(invitation, at: endpoint, agent: self)
    state.withLock { $0.ringing[invitation.id] = incoming }
    callKit?.rings(incoming)
    delegate?.callAgent(self, didRecieveIncomingCall: incoming)
    delegate?.callAgent(self, didReceiveIncomingCall: incoming)
    events.onIncomingCall?(incoming)
  }

  /// - Parameter endpoint: the registration that reports the end; only the one that the call rang at counts.
  func ended(_ invitation: Ring, at endpoint: Endpoint, _ answer: Ring.State) {
    guard answer.isOver, answer != .accepted else { return }
    let incoming = state.withLock { state -> IncomingCall? in
      guard state.ringing[invitation.id]?.endpoint === endpoint else { return nil }
      return state.ringing.removeValue(forKey: invitation.id)
    }
    incoming?.ended(answer)
  }

  /// The network was gone for so long that the registration is. The vendor's agent comes back by itself.
  private func signInAgain(after pause: Duration) {
    lane.post(at: world.backend.scheduler.now + pause) { [weak self] in
      self?.credential.token { token, _ in self?.signInAgain(with: token?.token) }
    }
  }

  private func signInAgain(with token: String?) {
    guard !isDisposed else { return }
    guard let token else { return signInAgain(after: Self.pause) }
    let last = endpoint
    let next = Endpoint(identity: last.identity, name: last.name, credential: token, in: world)
    next.observe { [weak self, weak next] in if let next { self?.handle($0, of: next) } }
    next.register { [weak self] outcome in
      guard let self, !isDisposed else { return next.unregister {} }
      switch outcome {
      case .success: state.withLock { $0.endpoint = next }
      case .failure: signInAgain(after: Self.pause)
      }
    }
  }

  func isRinging(_ id: Ring.ID) -> Bool { state.withLock { $0.ringing[id] != nil } }
}
