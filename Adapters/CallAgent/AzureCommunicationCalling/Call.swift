public import Foundation
import KoineAVFoundation
package import Koine

/// One call, from ringing to its end.
///
///     none → connecting → [ringing] → connected ⇄ localHold | remoteHold → disconnecting → disconnected
///
/// Methods may be called from any thread. Delegates and events are called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscall)
public final class Call: NSObject, @unchecked Sendable {  // everything mutable sits in `current`
  struct State {
    weak var delegate: (any CallDelegate)?
    var state = CallState.none
    var endReason: CallEndReason?
    var remotes: [RemoteParticipant] = []
    var microphone: LocalStream?
    var outgoingAudio: OutgoingAudio?
    var activeOutgoingStream: OutgoingAudioStream
    var activeIncomingStream: IncomingAudioStream
    var filters: AudioFilterSettings
    var liveFilters: LiveOutgoingAudioFilters?
    var role = CallParticipantRole.uninitialized
    var videos: [(stream: OutgoingVideoStream, published: LocalStream)] = []
    /// Handlers of videos with a source that has neither started nor failed yet, by track.
    var startingVideos: [String: Handler<(any Error)?>] = [:]
    var outgoingVideoStreams: [OutgoingVideoStream] = []
    var constraints: OutgoingVideoConstraints?
    var isMuted = false
    /// Incoming audio is muted.
    var isDeaf = false
    var isHeld = false
    /// Remote video arrives as raw frames.
    var wantsRawVideo = false
    /// The local participant's attributes in the room. `session`'s own copy follows on the delivery queue.
    var attributes: [String: String] = [:]
    var features: [ObjectIdentifier: CallFeature] = [:]
    var startTime = Date()
    init(_ options: CallOptions?) {
      activeOutgoingStream = options?.outgoingAudioOptions?.stream ?? LocalOutgoingAudioStream()
      activeIncomingStream = options?.incomingAudioOptions?.stream ?? RemoteIncomingAudioStream()
      filters = AudioFilterSettings(options?.outgoingAudioOptions?.filters)
    }
    /// The call ended because the room could not be reached.
    var endedUnreached = false
    /// Has not been connected yet.
    var isFresh = true
    /// The callees of each invitation that rings.
    var invitations: [Ring.ID: [Participant.ID]] = [:]
    /// The call has two participants and ends when the remote participant leaves.
    var isOneToOne = false
    var nextStream: Int32 = 1
    /// Remote participants in the call, as far as the app has been told.
    var present: Set<Participant.ID> = []
    var hangUps: [Handler<(any Error)?>] = []
    /// Keeps the call and its agent from `hangUp` to the end: an app that releases them at once is still told of the end.
    var untilItsEnd: Alarm?
  }

  public let id = UUID().uuidString.lowercased()
  public let direction: CallDirection
  public let callerInfo: CallerInfo
  public let type = CommunicationCallType.call
  public let events = CallEvents()
  /// The session behind the call; for figures that the style has no word for.
  package let session: Session
  let endpoint: Endpoint
  /// The agent holds its calls. When the app releases both the agent and the call, the local participant leaves.
  private weak let agent: CallAgent?
  /// The call's UUID on the phone.
  let callKitID: UUID
  var callKit: CallKitBridge? { agent?.callKit }
  let current: Lock<State>
  let gate: SubscriptionGate
  public let callLobby = CallLobby()

  init(
    room: String, direction: CallDirection, agent: CallAgent, token: String, options: CallOptions?,
    from invitation: Ring?
  ) {
    current = Lock(State(options))
    self.direction = direction
    self.agent = agent
    callKitID = (invitation?.id).flatMap(UUID.init(uuidString:)) ?? UUID(uuidString: id) ?? UUID()
    endpoint = agent.endpoint
    gate = SubscriptionGate(in: endpoint.world)
    var request = JoinRequest(
      room: room, credential: token, participantID: endpoint.identity,
      name: endpoint.name.isEmpty ? endpoint.identity : endpoint.name)
    request.clientDescription = agent.app
    session = Session(request, in: endpoint.world)
    callerInfo = CallerInfo(
      displayName: invitation?.callerName ?? endpoint.name,
      identifier: ParticipantIdentifiers.identifier(of: invitation?.caller ?? endpoint.identity))
    super.init()
    callLobby.enter(self)
    if invitation?.callees.count == 1 { current.withLock { $0.isOneToOne = true } }
  }

  var delivery: Delivery { session.world.delivery }

  // MARK: What an app reads and sets

  public var state: CallState { current.withLock { $0.state } }
  public var remoteParticipants: [RemoteParticipant] { current.withLock { $0.remotes } }
  /// Number of participants in the call, the local participant included.
  public var totalParticipantCount: Int32 { Int32(clamping: current.withLock { $0.present.count } + 1) }
  /// Meaningful once the call is disconnected.
  public var callEndReason: CallEndReason { current.withLock { $0.endReason ?? .normal } }
  public var isMuted: Bool { current.withLock { $0.isMuted } }
  public var isOutgoingAudioMuted: Bool { isMuted }
  public var isIncomingAudioMuted: Bool { current.withLock { $0.isDeaf } }
  public var outgoingVideoStreams: [OutgoingVideoStream] { current.withLock { $0.outgoingVideoStreams } }
  public var localVideoStreams: [LocalVideoStream] { outgoingVideoStreams.compactMap { $0 as? LocalVideoStream } }
  /// When it connected; before, when it was made.
  public var startTime: Date { current.withLock { $0.startTime } }

  public weak var delegate: (any CallDelegate)? {
    get { current.withLock { $0.delegate } }
    set {
      current.withLock { $0.delegate = newValue }
      if newValue != nil { gate.delegateIsSet() }
    }
  }

  // MARK: Beginning

  /// The completion handler has returned, or the code that waited for the call goes on.
  func appHasIt() { gate.appHasCall() }

  func start(ringing callees: [any CommunicationIdentifier], options: CallOptions?) {
    session.observe { [weak self] event in
      // Not behind the gate: a stream that must not be played is paused before it arrives.
      switch event {
      case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
        if !owner.isLocal { self?.receive(stream) }
      default: break
      }
      self?.gate.pass { [weak self] in self?.handle(event) }
    }
    let isMuted = options?.startsMuted ?? false
    current.withLock { $0.isMuted = isMuted }
    publishAudio()
    current.withLock { current in
      current.isDeaf = options?.startsDeaf ?? false
      current.constraints = options?.outgoingVideoOptions?.constraints
      current.wantsRawVideo = options?.incomingVideoOptions?.streamType == .rawIncoming
      if callees.count == 1 { current.isOneToOne = true }
    }
    let pictures = options?.pictures ?? []
    for stream in pictures { startVideo(stream, isGated: true) { _ in } }
    delivery.deliver { [self] in change(to: .connecting) }
    AVAudioSession.of(session.world.machine).startCallAudio(
      category: callKit?.configuresAudio == true ? nil : .playAndRecord, mode: .voiceChat, options: .allowBluetooth)
    session.join { _ in }  // how it went is told by events
    ring(callees, hasVideo: !pictures.isEmpty)
  }

  private func ring(_ callees: [any CommunicationIdentifier], hasVideo: Bool) {
    guard !callees.isEmpty else { return }
    let remotes = callees.map {
      RemoteParticipant($0, as: identity(of: $0), displayName: "", state: .connecting, in: self)
    }
    whenOpen { call in
      call.current.withLock { $0.remotes += remotes }
      call.notifyDelegate(added: remotes)
    }
    guard endpoint.state == .registered else {
      return whenOpen { call in
        for remote in remotes { call.remove(remote, because: .networkTrouble) }
        call.finish(.networkTrouble)
      }
    }
    let invitation = endpoint.invite(remotes.map(\.id), to: session.request.room, hasVideo: hasVideo)
    current.withLock { $0.invitations[invitation.id] = invitation.callees }
  }

  /// On the delivery queue, once an app can have subscribed.
  func whenOpen(_ work: @escaping @Sendable (Call) -> Void) {
    delivery.deliver { [weak self] in
      self?.gate.pass { [weak self] in if let self { work(self) } }
    }
  }

  /// On the delivery queue.
  func answered(_ id: Ring.ID, by callee: String, _ answer: Ring.State) {
    gate.pass { [weak self] in self?.handle(answer, of: callee, to: id) }
  }

  private func handle(_ answer: Ring.State, of callee: String, to id: Ring.ID) {
    guard current.withLock({ $0.invitations[id] != nil }), let remote = remote(callee) else { return }
    let reason: CallEndReason
    switch answer {
    case .ringing:
      remote.change(to: .ringing)
      if state == .connecting { change(to: .ringing) }
      return
    case .accepted: return  // is told by their coming
    case .declined, .handledElsewhere: reason = .declined
    case .busy: reason = .busy
    case .unanswered: reason = .timedOut
    case .unreachable: reason = .calleeUnregistered
    case .cancelled: reason = .cancelled
    }
    guard remote.state != .connected else { return }
    remove(remote, because: reason)
    if remoteParticipants.isEmpty, [.none, .connecting, .ringing].contains(state) { finish(reason) }
  }

  // MARK: Participants

  /// Rings a callee to add it to the call.
  @discardableResult
  public func add(participant: any CommunicationIdentifier) throws -> RemoteParticipant? {
    guard state == .connected else {
      throw CallingCommunicationErrors.participantAddedToUnconnectedCall.error("the call is not connected")
    }
    guard !participant.rawId.isEmpty, participant.rawId != endpoint.identity else {
      throw CallingCommunicationErrors.invalidParticipantAddedToCall.error("another participant must be added")
    }
    guard !remoteParticipants.contains(where: { $0.identifier.rawId == participant.rawId }) else {
      throw CallingCommunicationErrors.participantAlreadyAddedToCall.error("\(participant.rawId) is in the call")
    }
    current.withLock { $0.isOneToOne = false }
    let remote = RemoteParticipant(
      participant, as: identity(of: participant), displayName: "", state: .connecting, in: self)
    current.withLock { $0.remotes.append(remote) }
    delivery.deliver { [self] in
      notifyDelegate(added: [remote])
    }
    let invitation = endpoint.invite([remote.id], to: session.request.room, hasVideo: false)
    current.withLock { $0.invitations[invitation.id] = invitation.callees }
    return remote
  }

  /// Rings the client that is signed in under the number. Koine does not reach the telephone network.
  @discardableResult
  public func add(
    participant: PhoneNumberIdentifier, options: AddPhoneNumberOptions?
  ) throws -> RemoteParticipant? {
    try add(participant: participant)
  }

  public func remove(participant: RemoteParticipant, completionHandler: @escaping ((any Error)?) -> Void) {
    let id = participant.id
    func fail(_ why: String) {
      answer(completionHandler, CallingCommunicationErrors.removeParticipantOperationFailure.error(why))
    }
    guard remote(id) === participant else { return fail("no such participant") }
    guard [.connecting, .ringing].contains(participant.state) else {
      session.remove(id)
      return answer(completionHandler)
    }
    guard let invitation = current.withLock({ $0.invitations.first { $0.value == [id] }?.key }) else {
      return fail("\(id) is rung together with others: hang up, or wait for the answer")
    }
    endpoint.cancel(invitation)
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      if remote(id) === participant { remove(participant, because: .cancelled) }
      handler(nil)
      if remoteParticipants.isEmpty, [.none, .connecting, .ringing].contains(state) { finish(.cancelled) }
    }
  }

  nonisolated(nonsending) public func remove(participant: RemoteParticipant) async throws {
    try await completion { remove(participant: participant, completionHandler: $0) }
  }

  /// As it is registered.
  private func identity(of callee: any CommunicationIdentifier) -> String {
    agent?.identity(of: callee) ?? callee.rawId
  }

  func remote(_ id: Participant.ID) -> RemoteParticipant? {
    remoteParticipants.first { $0.id == id }
  }

  // MARK: Ending

  public func hangUp(options: HangUpOptions?, completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    let forEveryone = options?.forEveryone ?? false
    let alarm = session.world.keep((self, agent))
    let isNeeded = current.withLock { current in
      guard current.state != .disconnected, current.untilItsEnd == nil else { return false }
      current.untilItsEnd = alarm
      return true
    }
    if !isNeeded { alarm.cancel() }
    delivery.deliver { [self] in
      gate.open()
      guard state != .disconnected else { return handler(nil) }
      let isRinging = current.withLock { current in
        current.hangUps.append(handler)
        return !current.invitations.isEmpty && [.none, .connecting, .ringing].contains(current.state)
      }
      finish(isRinging ? .cancelled : .normal, forEveryone: forEveryone)
    }
  }

  nonisolated(nonsending) public func hangUp(options: HangUpOptions?) async throws {
    try await completion { hangUp(options: options, completionHandler: $0) }
  }

  /// On the delivery queue: says goodbye; what follows is told by the session.
  func finish(_ reason: CallEndReason, forEveryone: Bool = false) {
    guard state != .disconnecting, state != .disconnected else { return }
    let invitations = current.withLock { current in
      current.endReason = reason
      return current.invitations.keys.sorted()
    }
    for id in invitations { endpoint.cancel(id) }
    change(to: .disconnecting)
    if forEveryone { session.closeRoom() }
    session.leave {}
  }

  /// On the delivery queue.
  func ended(_ reason: EndReason) {
    current.withLock { current in
      current.endReason = current.endReason ?? CallEndReason(reason)
      current.endedUnreached = reason.isUnreachable
    }
    if state != .disconnecting { change(to: .disconnecting) }
    for remote in remoteParticipants { remove(remote, because: .normal) }
    let hadOthers = current.withLock { current in
      defer { current.present = [] }
      return !current.present.isEmpty
    }
    if hadOthers { tellCount() }
    for feature in features { feature.callEnded() }
    callLobby.close()
    let handlers = current.withLock { current -> [Handler<(any Error)?>] in
      defer { current.hangUps = [] }
      return current.hangUps
    }
    silence()
    for handler in handlers { handler(nil) }
    change(to: .disconnected)
    agent?.removed(self)
    let alarm = current.withLock { current in
      defer { current.untilItsEnd = nil }
      return current.untilItsEnd
    }
    alarm?.cancel()
  }

  // MARK: On the delivery queue

  func change(to new: CallState) {
    let hasChanged = current.withLock { current in
      guard current.state != new, current.state != .disconnected else { return false }
      current.state = new
      return true
    }
    guard hasChanged else { return }
    let isFirst = new == .connected && begun()
    callKit?.changed(self)
    tellState()
    if isFirst { startAudioStreams() }
  }

  /// On the delivery queue.
  /// - Returns: whether the call is connected for the first time.
  private func begun() -> Bool {
    guard current.withLock({ $0.isFresh }) else { return false }
    current.withLock { ($0.isFresh, $0.startTime) = (false, Date()) }
    tellStart()
    return true
  }

  func answer(_ completionHandler: @escaping ((any Error)?) -> Void, _ error: NSError? = nil) {
    let handler = Handler(completionHandler)
    delivery.deliver { handler(error) }
  }
}
