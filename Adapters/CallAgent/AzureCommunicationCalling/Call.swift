public import Foundation
package import Koine

/// One call, from ringing to its end.
///
///     none → connecting → [ringing] → connected ⇄ localHold | remoteHold → disconnecting → disconnected
///
/// Methods may be called from any thread; everything is told on the delivery queue.
public final class Call: NSObject, @unchecked Sendable {  // everything mutable sits in `current`
  struct State {
    weak var delegate: (any CallDelegate)?
    var state = CallState.none
    var endReason: CallEndReason?
    var remotes: [RemoteParticipant] = []
    var microphone: LocalStream?
    var keypad: Keypad?
    var videos: [(stream: OutgoingVideoStream, published: LocalStream)] = []
    var outgoingVideoStreams: [OutgoingVideoStream] = []
    var constraints: OutgoingVideoConstraints?
    var isMuted = false
    /// Nobody is heard.
    var isDeaf = false
    var isHeld = false
    /// Others' pictures come frame by frame.
    var wantsRawVideo = false
    /// What the room has been told of oneself; `session`'s own copy follows on the delivery queue.
    var attributes: [String: String] = [:]
    var features: [ObjectIdentifier: CallFeature] = [:]
    var startTime = Date()
    /// Has not been connected yet.
    var isFresh = true
    var invitations: [Invitation.ID] = []
    /// Between two: it is over when the other one goes.
    var isOneToOne = false
    var nextStream: Int32 = 1
    var hangUps: [Handler<(any Error)?>] = []
  }

  public let id = UUID().uuidString.lowercased()
  public let direction: CallDirection
  public let callerInfo: CallerInfo
  public let type = CommunicationCallType.call
  public let events = CallEvents()
  /// The session behind the call; for figures that the style has no word for.
  package let session: Session
  let endpoint: Endpoint
  /// Holds its calls: whoever lets go of the agent and of the call has left.
  private weak let agent: CallAgent?
  let current = Lock(State())

  init(room: String, direction: CallDirection, agent: CallAgent, from invitation: Invitation?) {
    self.direction = direction
    self.agent = agent
    endpoint = agent.endpoint
    session = Session(
      JoinRequest(
        room: room, credential: agent.token, participantID: endpoint.identity,
        name: endpoint.name.isEmpty ? endpoint.identity : endpoint.name), in: endpoint.world)
    callerInfo = CallerInfo(
      displayName: invitation?.callerName ?? endpoint.name,
      identifier: createCommunicationIdentifier(fromRawId: invitation?.caller ?? endpoint.identity))
    super.init()
    if invitation?.callees.count == 1 { current.withLock { $0.isOneToOne = true } }
  }

  var delivery: Delivery { session.world.delivery }

  // MARK: What an app reads and sets

  public var state: CallState { current.withLock { $0.state } }
  public var remoteParticipants: [RemoteParticipant] { current.withLock { $0.remotes } }
  /// Oneself included.
  public var totalParticipantCount: Int32 { Int32(clamping: session.participants.count + 1) }
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
    set { current.withLock { $0.delegate = newValue } }
  }

  // MARK: Beginning

  func begin(ringing callees: [any CommunicationIdentifier], options: CallOptions?) {
    session.observe { [weak self] in self?.handle($0) }
    let keypad = (try? session.world.machine.makeMicrophone()).map { Keypad(beside: $0) }
    let microphone = keypad.flatMap { try? session.publish(microphone: $0) }
    let isMuted = options?.startsMuted ?? false
    if isMuted { microphone?.setMuted(true) }
    current.withLock { current in
      (current.microphone, current.keypad) = (microphone, keypad)
      current.isMuted = isMuted
      current.isDeaf = options?.startsDeaf ?? false
      current.constraints = options?.outgoingVideoOptions?.constraints
      current.wantsRawVideo = options?.incomingVideoOptions?.streamType == .rawIncoming
      if callees.count == 1 { current.isOneToOne = true }
    }
    let pictures = options?.pictures ?? []
    for stream in pictures { startVideo(stream: stream) { _ in } }
    delivery.deliver { [self] in change(to: .connecting) }
    session.join { _ in }  // how it went is told by events
    ring(callees, hasVideo: !pictures.isEmpty)
  }

  private func ring(_ callees: [any CommunicationIdentifier], hasVideo: Bool) {
    guard !callees.isEmpty else { return }
    let remotes = callees.map { RemoteParticipant($0, displayName: "", state: .connecting, in: self) }
    delivery.deliver { [self] in
      current.withLock { $0.remotes += remotes }
      tell(added: remotes)
    }
    let invitation = endpoint.invite(callees.map(\.rawId), to: session.request.room, hasVideo: hasVideo)
    current.withLock { $0.invitations.append(invitation.id) }
  }

  /// On the delivery queue.
  func answered(_ id: Invitation.ID, by callee: String, _ answer: Invitation.Answer) {
    guard current.withLock({ $0.invitations.contains(id) }), let remote = remote(callee) else { return }
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
    if remoteParticipants.isEmpty, [.none, .connecting, .ringing].contains(state) { end(reason) }
  }

  // MARK: Participants

  /// Rings somebody into the call.
  @discardableResult
  public func add(participant: any CommunicationIdentifier) throws -> RemoteParticipant? {
    guard state == .connected else {
      throw CallingCommunicationErrors.participantAddedToUnconnectedCall.error("the call is not connected")
    }
    guard remote(participant.rawId) == nil else {
      throw CallingCommunicationErrors.participantAlreadyAddedToCall.error("\(participant.rawId) is in the call")
    }
    current.withLock { $0.isOneToOne = false }
    let remote = RemoteParticipant(participant, displayName: "", state: .connecting, in: self)
    current.withLock { $0.remotes.append(remote) }
    delivery.deliver { [self] in
      tell(added: [remote])
    }
    let invitation = endpoint.invite([participant.rawId], to: session.request.room, hasVideo: false)
    current.withLock { $0.invitations.append(invitation.id) }
    return remote
  }

  /// Rings whoever has signed in under the number: no telephone network is reached.
  @discardableResult
  public func add(
    participant: PhoneNumberIdentifier, options: AddPhoneNumberOptions?
  ) throws -> RemoteParticipant? {
    try add(participant: participant)
  }

  public func remove(participant: RemoteParticipant, completionHandler: @escaping ((any Error)?) -> Void) {
    let isThere = remote(participant.identifier.rawId) === participant
    if isThere { session.remove(participant.identifier.rawId) }
    answer(
      completionHandler,
      isThere ? nil : CallingCommunicationErrors.removeParticipantOperationFailure.error("no such participant"))
  }

  nonisolated(nonsending) public func remove(participant: RemoteParticipant) async throws {
    try await completion { remove(participant: participant, completionHandler: $0) }
  }

  func remote(_ id: Participant.ID) -> RemoteParticipant? {
    remoteParticipants.first { $0.identifier.rawId == id }
  }

  // MARK: Ending

  public func hangUp(options: HangUpOptions?, completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    let forEveryone = options?.forEveryone ?? false
    delivery.deliver { [self] in
      guard state != .disconnected else { return handler(nil) }
      let isRinging = current.withLock { current in
        current.hangUps.append(handler)
        return !current.invitations.isEmpty && [.none, .connecting, .ringing].contains(current.state)
      }
      end(isRinging ? .cancelled : .normal, forEveryone: forEveryone)
    }
  }

  nonisolated(nonsending) public func hangUp(options: HangUpOptions?) async throws {
    try await completion { hangUp(options: options, completionHandler: $0) }
  }

  /// On the delivery queue: says goodbye; what follows is told by the session.
  func end(_ reason: CallEndReason, forEveryone: Bool = false) {
    guard state != .disconnecting, state != .disconnected else { return }
    let invitations = current.withLock { current in
      current.endReason = reason
      return current.invitations
    }
    for id in invitations { endpoint.cancel(id) }
    change(to: .disconnecting)
    if forEveryone { session.closeRoom() }
    session.leave {}
  }

  /// On the delivery queue.
  private func ended(_ reason: EndReason) {
    if state != .disconnecting { change(to: .disconnecting) }
    for remote in remoteParticipants { remove(remote, because: .normal) }
    let handlers = current.withLock { current -> [Handler<(any Error)?>] in
      current.endReason = current.endReason ?? CallEndReason(reason)
      defer { current.hangUps = [] }
      return current.hangUps
    }
    silence()
    for handler in handlers { handler(nil) }
    change(to: .disconnected)
    agent?.removed(self)
  }

  // MARK: On the delivery queue

  func change(to new: CallState) {
    let hasChanged = current.withLock { current in
      guard current.state != new, current.state != .disconnected else { return false }
      current.state = new
      return true
    }
    guard hasChanged else { return }
    if new == .connected { begun() }
    tellState()
  }

  /// On the delivery queue.
  private func begun() {
    guard current.withLock({ $0.isFresh }) else { return }
    current.withLock { ($0.isFresh, $0.startTime) = (false, Date()) }
    tellStart()
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.connected):
      if current.withLock({ $0.invitations.isEmpty }) { change(to: .connected) }
    case .stateChanged(.ended(let reason)): ended(reason)
    case .stateChanged: break
    case .participantJoined(let participant): joined(participant)
    case .participantLeft(let participant, let reason): left(participant, reason)
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      if !owner.isLocal {
        update(stream, of: owner, isThere: true)
        receive(stream)
      }
    case .streamRemoved(let stream, let owner):
      if !owner.isLocal { update(stream, of: owner, isThere: false) }
    case .attributesChanged(let participant): held(participant)
    case .levelsChanged(let levels):
      for remote in remoteParticipants {
        if let level = levels[remote.identifier.rawId] { remote.setSpeaking(level > Self.speechLevel) }
      }
    case .messageReceived(let message): heard(message)
    case .dominantSpeakerChanged, .qualityChanged, .tileAdded, .tileChanged, .tileRemoved, .failed,
      .waitingForAdmission, .entryRequested, .entryRequestEnded:
      break  // for features, or not in this style's vocabulary
    }
    for feature in current.withLock({ $0.features.values.sorted { $0.name < $1.name } }) { feature.handle(event) }
  }

  /// In dBov.
  private static let speechLevel = -45

  private func joined(_ participant: Participant) {
    if let remote = remote(participant.id) {
      remote.rename(participant.name)
      remote.change(to: .connected)
    } else {
      let remote = RemoteParticipant(
        createCommunicationIdentifier(fromRawId: participant.id), displayName: participant.name, state: .connected,
        in: self)
      current.withLock { $0.remotes.append(remote) }
      tell(added: [remote])
    }
    tellCount()
    if [.none, .connecting, .ringing].contains(state) { change(to: .connected) }
    held(participant)
  }

  private func left(_ participant: Participant, _ reason: DepartureReason) {
    guard let remote = remote(participant.id) else { return }
    remove(remote, because: reason == .removed ? .removed : .normal)
    tellCount()
    if current.withLock({ $0.isOneToOne }), remoteParticipants.isEmpty { end(.normal) }
  }

  private func remove(_ remote: RemoteParticipant, because reason: CallEndReason) {
    for stream in remote.incomingVideoStreams { remote.remove(stream.source) }
    remote.change(to: .disconnected, because: reason)
    current.withLock { $0.remotes.removeAll { $0 === remote } }
    tell(removed: [remote])
  }

  /// A muted picture is one that has been withdrawn, in this style.
  private func update(_ stream: Koine.Stream, of owner: Participant, isThere: Bool) {
    guard let remote = remote(owner.id) else { return }
    if stream.kind == .microphone {
      remote.setMuted(!isThere || stream.isMuted)
    } else if stream.kind.isVideo {
      let isShown = remote.incomingVideoStreams.contains { $0.source == stream.id }
      if isThere, !stream.isMuted, !isShown {
        let (id, isRaw) = current.withLock { current in
          defer { current.nextStream += 1 }
          return (current.nextStream, current.wantsRawVideo)
        }
        remote.add(
          isRaw
            ? RawIncomingVideoStream(stream, id: id, session: session, owner: remote)
            : RemoteVideoStream(stream, id: id, session: session, owner: remote))
      } else if !isThere || stream.isMuted {
        remote.remove(stream.id)
      }
    }
  }

  func answer(_ completionHandler: @escaping ((any Error)?) -> Void, _ error: NSError? = nil) {
    let handler = Handler(completionHandler)
    delivery.deliver { handler(error) }
  }
}

extension CallEndReason {
  fileprivate convenience init(_ reason: EndReason) {
    switch reason {
    case .left, .roomClosed: self.init()
    case .removed: self.init(subcode: 5000)
    case .duplicate: self.init(code: 0, subcode: 5300)
    case .lost: self.init(code: 490)
    case .expired: self.init(code: 401)
    case .refused(let error):
      switch error.code {
      case .invalidCredential: self.init(code: 401)
      case .notPermitted, .roomFull: self.init(code: 403)
      case .invalidRoom: self.init(code: 404)
      default: self.init(code: 500)
      }
    }
  }
}
