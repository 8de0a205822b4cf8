import Foundation

/// A signed-in identity that can ring others and be rung: calls begin here, and go on in a `Session` in the call's room.
///
///     let ana = Endpoint(identity: "ana", name: "Ana", in: world)
///     try await ana.register()
///     let invitation = ana.invite(["ben"])
///     let session = Session(JoinRequest(room: invitation.room, participantID: "ana", name: "Ana"), in: world)
///
/// Any thread may call any method; events come on the world's delivery queue. Several endpoints may register the same
/// identity, as several devices: all of them ring, and the first answer counts.
public final class Endpoint: Sendable {
  /// The identity that callers ring.
  public let identity: String
  /// The display name that callees see.
  public let name: String
  /// The world of the endpoint's backend and delivery.
  public let world: World
  let core: EndpointCore

  /// Creates an endpoint that is not registered yet.
  public init(identity: String, name: String = "", credential: String? = nil, in world: World) {
    self.identity = identity
    self.name = name
    self.world = world
    core = EndpointCore(EndpointRequest(identity: identity, name: name, credential: credential), world: world)
  }

  deinit { core.unregister {} }

  /// The present state.
  public var state: EndpointState { core.visible.withLock { $0.state } }
  /// Incoming and outgoing rings that have not ended, in the order in which they began.
  public var invitations: [Ring] { core.visible.withLock { $0.invitations } }

  /// Calls `handler` on the delivery queue for each event from now on, until the observation is cancelled.
  @discardableResult
  public func observe(_ handler: @escaping @Sendable (EndpointEvent) -> Void) -> Observation { core.observe(handler) }

  /// What happens from now on. Ends after the endpoint has ended, at once if that has been.
  public func events() -> AsyncStream<EndpointEvent> {
    AsyncStream { continuation in
      let observation = core.observe { event in
        continuation.yield(event)
        if case .stateChanged(.ended) = event { continuation.finish() }
      } ifOver: {
        continuation.finish()
      }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }

  /// Signs in.
  /// - Throws: why it was refused; `.alreadyJoined` when called twice.
  public func register() async throws(Failure) {
    let outcome = await withCheckedContinuation { done in core.register { done.resume(returning: $0) } }
    try outcome.get()
  }

  /// Signs in; `completion` is called once, on the delivery queue.
  public func register(completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    core.register(completion)
  }

  /// Signs out: own calls that still ring are cancelled. Harmless when already ended.
  public func unregister() async { await withCheckedContinuation { done in core.unregister { done.resume() } } }
  /// Signs the identity out. `completion` is called once, on the delivery queue.
  public func unregister(completion: @escaping @Sendable () -> Void) { core.unregister(completion) }

  /// Rings callees. Their answers arrive as `answered` events. A callee without a registered endpoint is `unreachable`.
  /// - Parameters:
  ///   - room: the room of the call; nil: a new room.
  ///   - patience: the longest time for which callees are rung.
  public func invite(
    _ identities: [String], to room: String? = nil, hasVideo: Bool = false, patience: Duration = .seconds(85)
  ) -> Ring {
    let invitation = Ring(
      id: UUID().uuidString.lowercased(), room: room ?? "call-" + UUID().uuidString.lowercased(), caller: identity,
      callerName: name, callees: identities, hasVideo: hasVideo, isIncoming: false)
    core.invite(invitation, patience: patience)
    return invitation
  }

  /// Cancels an outgoing call for the callees that have not answered.
  public func cancel(_ invitation: Ring.ID) { core.cancel(invitation) }

  /// Answers an incoming call. The method does nothing if the call is over.
  public func reply(_ reply: RingReply, to invitation: Ring.ID) { core.reply(reply, to: invitation) }
}

/// The one owner of an endpoint's truth, as `SessionCore` is of a session's. What the app sees advances on the delivery
/// queue.
final class EndpointCore: EndpointReceiver, @unchecked Sendable {  // mutable state is touched on `lane` only
  struct Visible {
    var state = EndpointState.idle
    var invitations: [Ring] = []
    fileprivate var observers: [(number: Int, handler: @Sendable (EndpointEvent) -> Void)] = []
    fileprivate var nextObserver = 0
  }

  let visible = Lock(Visible())
  private let request: EndpointRequest
  /// Weak, as a session's.
  private weak let world: World?
  private let delivery: Delivery
  private let lane: Lane
  private var state = EndpointState.idle
  private var link: (any EndpointLink)?
  private var invitations: [Ring] = []
  private var registerCompletion: (@Sendable (Result<Void, Failure>) -> Void)?
  private var endCompletions: [@Sendable () -> Void] = []

  init(_ request: EndpointRequest, world: World) {
    self.request = request
    self.world = world
    delivery = world.delivery
    lane = world.backend.scheduler.lane("endpoint \(request.identity)")
  }

  // MARK: What the app asks for

  func register(_ completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    lane.post { [self] in
      guard state == .idle else {
        let error =
          state.isEnded
          ? Failure(.ended, "this endpoint is over; make a new one")
          : Failure(.alreadyJoined, "the endpoint is already registered or on its way")
        return delivery.deliver { completion(.failure(error)) }
      }
      registerCompletion = completion
      guard let world else { return finish(.left) }
      change(to: .registering)
      link = world.backend.register(request, receiver: self)
    }
  }

  func unregister(_ completion: @escaping @Sendable () -> Void) {
    lane.post { [self] in
      if state.isEnded { return delivery.deliver(completion) }
      endCompletions.append(completion)
      if let link { link.unregister() } else { finish(.left) }
    }
  }

  func invite(_ invitation: Ring, patience: Duration) {
    lane.post { [self] in
      guard state == .registered, let link else {
        post(.failed(Failure(.notConnected, "an endpoint rings once it is registered")))
        return
      }
      invitations.append(invitation)
      publish()
      link.ring(invitation, patience: patience)
    }
  }

  func cancel(_ id: Ring.ID) { lane.post { [self] in link?.cancel(id) } }

  func reply(_ reply: RingReply, to id: Ring.ID) {
    lane.post { [self] in
      guard invitations.contains(where: { $0.id == id && $0.isIncoming }) else { return }
      link?.reply(reply, to: id)
    }
  }

  // MARK: What the backend tells

  func endpointDidChange(_ event: EndpointLinkEvent) {
    lane.post { [self] in if !state.isEnded { handle(event) } }
  }

  private func handle(_ event: EndpointLinkEvent) {
    switch event {
    case .registered:
      state = .registered
      let completion = registerCompletion
      registerCompletion = nil
      post(.stateChanged(.registered)) { completion?(.success(())) }
    case .invited(let invitation):
      guard !invitations.contains(where: { $0.id == invitation.id }) else { return }
      invitations.append(invitation)
      publish()
      post(.invited(invitation))
    case .answered(let id, let callee, let answer): answered(id, callee ?? request.identity, answer)
    case .failed(let error): post(.failed(error))
    case .ended(let reason): finish(reason)
    }
  }

  private func answered(_ id: Ring.ID, _ callee: String, _ answer: Ring.State) {
    guard let index = invitations.firstIndex(where: { $0.id == id }), invitations[index].answers[callee] != answer
    else {
      return
    }
    invitations[index].answers[callee] = answer
    let invitation = invitations[index]
    let awaited = invitation.isIncoming ? [request.identity] : invitation.callees
    if awaited.allSatisfy({ invitation.answers[$0]?.isOver ?? false }) { invitations.remove(at: index) }
    publish()
    post(.answered(invitation, callee: callee, answer))
  }

  /// Calls that ring are over first, then the end is told.
  private func finish(_ reason: EndReason) {
    guard !state.isEnded else { return }
    link = nil
    for invitation in invitations {
      for callee in invitation.isIncoming ? [request.identity] : invitation.callees
      where !(invitation.answers[callee]?.isOver ?? false) {
        answered(invitation.id, callee, .cancelled)
      }
    }
    if let registerCompletion {
      let error =
        if case .refused(let error) = reason { error } else {
          Failure(.ended, "the endpoint ended before it was registered")
        }
      delivery.deliver { registerCompletion(.failure(error)) }
    }
    registerCompletion = nil
    state = .ended(reason)
    let completions = endCompletions
    endCompletions = []
    post(.stateChanged(state)) { for completion in completions { completion() } }
  }

  private func change(to new: EndpointState) {
    state = new
    post(.stateChanged(new))
  }

  // MARK: What the app sees

  /// - Parameter ifOver: called instead where the end has been told: nothing follows.
  func observe(
    _ handler: @escaping @Sendable (EndpointEvent) -> Void, ifOver: () -> Void = {}
  ) -> Observation {
    let number: Int? = visible.withLock { visible in
      guard !visible.state.isEnded else { return nil }
      visible.nextObserver += 1
      visible.observers.append((visible.nextObserver, handler))
      return visible.nextObserver
    }
    guard let number else {
      ifOver()
      return Observation {}
    }
    return Observation { [weak self] in
      let removed = self?.visible.withLock { visible in
        let kept = visible.observers.filter { $0.number != number }
        defer { visible.observers = kept }
        return visible.observers
      }
      withExtendedLifetime(removed) {}  // handlers are let go of outside the lock
    }
  }

  private func publish() {
    let now = invitations
    delivery.deliver { [self] in visible.withLock { $0.invitations = now } }
  }

  private func post(_ event: EndpointEvent, then: (@Sendable () -> Void)? = nil) {
    delivery.deliver { [self] in
      let observers = visible.withLock { visible in
        if case .stateChanged(let new) = event { visible.state = new }
        return visible.observers
      }
      for observer in observers where isObserving(observer.number) { observer.handler(event) }
      then?()
      if case .stateChanged(.ended) = event {
        let observers = visible.withLock { visible in
          defer { visible.observers = [] }
          return visible.observers
        }
        withExtendedLifetime(observers) {}
      }
    }
  }

  private func isObserving(_ number: Int) -> Bool {
    visible.withLock { $0.observers.contains { $0.number == number } }
  }
}
