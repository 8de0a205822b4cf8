import CrossVendorConventions
import Foundation
import Koine

/// One stay on a stage, from joining to leaving: the room's events in, the strategy's answers in, renderers' calls out.
///
/// Touched on the delivery queue only; `start`, `session`, `plansChanged` and letting go are for any thread.
final class StageSession: @unchecked Sendable {
  let session: Session
  let local: IVSParticipantInfo
  private(set) var token: ParticipantToken
  weak let stage: IVSStage?
  var publication = Publication()
  private var connection = IVSStageConnectionState.disconnected
  private var remotes: [RemoteParticipant] = []
  private(set) var isOver = false
  /// The room has not granted what the newest token allows.
  private var awaitsPermissions = false
  private let settling: Lane
  private let observation = Lock<Observation?>(nil)
  /// A publisher's streams come one by one; those that come within so long are told at once.
  private static let settlingTime = Duration.milliseconds(10)

  init(of stage: IVSStage) {
    self.stage = stage
    token = stage.token
    session = Session(
      JoinRequest(
        room: token.stage, credential: token.text, participantID: token.participantID,
        name: Self.name(of: token),
        // The token says the user id. A join that named it would contradict a token that is exchanged later.
        attributes: token.attributes),
      in: stage.world, options: SessionOptions(subscribesToEverything: false))
    local = IVSParticipantInfo(
      id: token.participantID, userId: token.userID, attributes: token.attributes, isLocal: true,
      capabilities: token.mayPublish ? .publish : [])
    settling = stage.world.backend.scheduler.lane("stage")
  }

  /// The name that apps of other styles show. Stages have none: the vendor's samples put it into the attribute `username`.
  private static func name(of token: ParticipantToken) -> String {
    let candidates = [token.attributes["username"], token.attributes["name"], token.userID]
    return candidates.compactMap { $0 }.first { !$0.isEmpty } ?? token.participantID
  }

  deinit { publication.detachAll() }

  func start() {
    let observation = session.observe { [weak self] event in self?.handle(event) }
    self.observation.withLock { $0 = observation }
    IVSStageAudioManager.of(session.world.machine).startStageAudio()
    session.join { _ in }  // how it went is told by events
  }

  // MARK: The room's events

  private func handle(_ event: SessionEvent) {
    guard !isOver, stage != nil else { return }
    switch event {
    case .stateChanged(let state): changed(to: state)
    case .participantJoined(let participant):
      let capabilities: IVSParticipantCapability = token.maySubscribe ? .subscribe : []
      remotes.append(RemoteParticipant(participant, capabilities))
    case .participantLeft(let participant, _):
      guard let remote = remote(participant.id) else { return }
      settle(remote)
      remotes.removeAll { $0 === remote }
    case .streamAdded(let stream, let owner):
      if !owner.isLocal, let remote = remote(owner.id) { appeared(stream, of: remote) }
    case .streamPublished(let stream): published(stream)
    case .streamRemoved(let stream, let owner):
      guard !owner.isLocal, let remote = remote(owner.id) else { return }
      remote.present.removeAll { $0.id == stream.id }
      settleSoon(remote)
    case .streamMuted(let stream, let owner):
      if owner.isLocal { muted(stream) } else if let remote = remote(owner.id) { muted(stream, of: remote) }
    case .attributesChanged(let participant):
      guard let remote = remote(participant.id) else { return }
      guard remote.info.update(attributes: Self.own(participant.attributes)) else { return }
      if remote.isAnnounced { notifyRenderers { $1.stage($0, participantMetadataDidUpdate: remote.info) } }
    case .publishFailed(let stream, let error): refused(stream, error)
    case .tileChanged(let tile): received(tile)
    case .permissionsChanged: permissionsGranted()
    case .failed(let error): failed(error)
    default: break  // not in this style's vocabulary
    }
  }

  /// Without what styles tell each other.
  static func own(_ attributes: [String: String]) -> [String: String] {
    attributes.filter { !$0.key.hasPrefix(Convention.prefix) }
  }

  private func remote(_ id: Koine.Participant.ID) -> RemoteParticipant? { remotes.first { $0.id == id } }

  private func changed(to state: SessionState) {
    switch state {
    case .idle: break
    case .connecting, .reconnecting: connect(.connecting)
    case .connected:
      connect(.connected)
      refresh()
    case .ended(let reason):
      stage?.takeRun(self)
      finish(with: Self.error(for: reason))
    }
  }

  private func connect(_ new: IVSStageConnectionState) {
    guard connection != new else { return }
    connection = new
    notifyRenderers { $1.stage($0, didChange: new, withError: nil) }
  }

  private static func error(for reason: EndReason) -> NSError? {
    switch reason {
    case .left, .duplicate: nil  // a second client with the same token replaces the first without an error
    case .refused(let error): .ivs(StageFault(error), error.message, fatal: true)
    case .lost: .ivs(.networkError, "the connection to the stage was lost")
    case .removed, .removedByService(nil): .ivs(.invalidToken, "removed from the stage")
    case .removedByService(let note?): .ivs(.invalidToken, "removed from the stage: \(note)")
    case .expired: .ivs(.invalidToken, "the token has expired")
    case .roomClosed, .roomClosedByService: .ivs(.joinRefused, "the stage was closed")
    }
  }

  // MARK: The strategy's decisions

  /// Asks the strategy again: first about the local participant, then about the announced remote participants in the order of
  /// joining, unless `Delivery` shuffles the order.
  func refresh() {
    guard !isOver, connection == .connected else { return }
    // Nil stands for the local participant. The vendor does not document the order in which a strategy is asked.
    let everybody: [RemoteParticipant?] = [nil] + remotes
    for remote in session.world.delivery.inAnyOrder(everybody) {
      guard let remote else {
        refreshPublication()
        continue
      }
      guard remote.isAnnounced, !isOver else { continue }
      ask(about: remote)
      settle(remote)
      for stream in remote.told { askForLayer(of: stream, remote) }
    }
  }

  /// One stage and its strategy, if both are there and the stay is not over.
  func ask<Answer>(_ question: (IVSStage, any IVSBaseStageStrategy) -> Answer) -> Answer? {
    guard !isOver, let stage, let strategy = stage.strategy else { return nil }
    return question(stage, strategy)
  }

  // MARK: Another token

  func exchange(for new: ParticipantToken) {
    guard !isOver else { return }
    let old = token
    token = new
    session.renew(credential: new.text)
    _ = local.update(attributes: new.attributes)
    local.update(userId: new.userID, capabilities: new.mayPublish ? .publish : [])
    for remote in remotes {
      remote.info.update(userId: remote.info.userId, capabilities: new.maySubscribe ? .subscribe : [])
    }
    if old.mayPublish, !new.mayPublish { endPublication() }
    if old.maySubscribe, !new.maySubscribe {
      for remote in remotes {
        remote.wanted = []
        subscribe(remote)
        settle(remote)
      }
    }
    awaitsPermissions = !old.mayPublish && new.mayPublish || !old.maySubscribe && new.maySubscribe
  }

  private func permissionsGranted() {
    guard awaitsPermissions else { return }
    awaitsPermissions = false
    refresh()
  }

  func notifyRenderers(_ call: @escaping (IVSStage, any IVSStageRenderer) -> Void) {
    guard !isOver, let stage else { return }
    stage.board.notify { call(stage, $0) }
  }

  // MARK: The others

  private func appeared(_ stream: Track, of remote: RemoteParticipant) {
    remote.present.append(stream)
    if remote.isAnnounced {
      subscribe(remote)
    } else {
      remote.isAnnounced = true
      notifyRenderers { $1.stage($0, participantDidJoin: remote.info) }
      notifyRenderers { $1.stage($0, participant: remote.info, didChange: IVSParticipantPublishState.published) }
      ask(about: remote)
    }
    settleSoon(remote)
  }

  private func ask(about remote: RemoteParticipant) {
    if token.maySubscribe {
      remote.wanted = ask { stage, strategy in strategy.media(stage, of: remote.info) } ?? []
      if !remote.wanted.isEmpty, let answer = ask({ $1.stage($0, subscribeConfigurationForParticipant: remote.info) }) {
        remote.gain = answer.initialGain
        remote.initialLayer = answer.simulcast.initialLayerPreference
        remote.minimumDelay = answer.jitterBuffer.minDelay.seconds
        setMinimumDelay(of: remote)
      }
    }
    subscribe(remote)
  }

  /// Subscribes in the room to the wanted streams and unsubscribes from all others of the participant.
  private func subscribe(_ remote: RemoteParticipant) {
    guard !isOver else { return }
    let wanted = Set(remote.wantedStreams.map(\.id))
    for id in remote.asked.subtracting(wanted) { session.unsubscribe(from: id) }
    for id in wanted.subtracting(remote.asked) {
      if let stream = remote.present.first(where: { $0.id == id }) { chooseInitialLayer(of: stream, remote) }
      session.subscribe(to: id)
    }
    remote.asked = wanted
    if !wanted.isEmpty, remote.subscription == .notSubscribed { change(remote, to: .attemptingSubscribe) }
  }

  private func settleSoon(_ remote: RemoteParticipant) {
    guard !isOver, !remote.isSettling else { return }
    remote.isSettling = true
    let delivery = session.world.delivery
    settling.post(at: settling.scheduler.now + Self.settlingTime) { [weak self] in
      delivery.deliver { [weak self] in
        remote.isSettling = false
        self?.settle(remote)
      }
    }
  }

  /// Notifies renderers of a participant's changes since the last call.
  private func settle(_ remote: RemoteParticipant) {
    guard !isOver, remote.isAnnounced else { return }
    let wanted = remote.wantedStreams
    remove(remote.told.filter { told in !wanted.contains { $0.id == told.id } }, of: remote)
    if wanted.isEmpty {
      if remote.subscription != .notSubscribed { change(remote, to: .notSubscribed) }
    } else {
      if remote.subscription == .attemptingSubscribe { change(remote, to: .subscribed) }
      add(wanted.filter { stream in !remote.told.contains { $0.id == stream.id } }, of: remote)
    }
    if remote.present.isEmpty { withdraw(remote) }
  }

  private func add(_ streams: [Track], of remote: RemoteParticipant) {
    guard !isOver, !streams.isEmpty else { return }
    let new = streams.map { IVSRemoteStageStream($0, in: session, gain: remote.gain) }
    remote.told += new
    notifyRenderers { $1.stage($0, participant: remote.info, didAdd: new) }
    for stream in new {
      announceLayers(of: stream, remote)
      // The first frame may have come before the stream was reported.
      if let tile = session.tiles.first(where: { $0.stream == stream.id }) { received(tile) }
    }
  }

  private func setMinimumDelay(of remote: RemoteParticipant) {
    // As by the vendor's SDK: a participant that talks itself does not wait.
    let isIgnored = publication.state != .notPublished
    if isIgnored, remote.minimumDelay > 0 { NoEffect.minDelayOfPublisher.log() }
    session.setMinimumPlayoutDelay(.seconds(isIgnored ? 0 : remote.minimumDelay), of: remote.id)
  }

  /// Once the local participant begins or ceases to publish.
  func updateMinimumDelays() { for remote in remotes { setMinimumDelay(of: remote) } }

  /// The size of a received video stream has changed.
  private func received(_ tile: Tile) {
    guard !tile.isLocal, let remote = remote(tile.stream.participant),
      let stream = remote.told.first(where: { $0.id == tile.stream })
    else { return }
    receivedSize(of: stream, tile.width, tile.height, remote)
  }

  private func remove(_ streams: [IVSRemoteStageStream], of remote: RemoteParticipant) {
    guard !streams.isEmpty else { return }
    remote.told.removeAll { told in streams.contains { $0 === told } }
    for stream in streams { stream.detach() }
    notifyRenderers { $1.stage($0, participant: remote.info, didRemove: streams) }
  }

  private func change(_ remote: RemoteParticipant, to state: IVSParticipantSubscribeState) {
    remote.subscription = state
    notifyRenderers { $1.stage($0, participant: remote.info, didChange: state) }
    for stream in remote.told { askForLayer(of: stream, remote) }
  }

  /// A participant that no longer publishes is reported as having left the stage.
  private func withdraw(_ remote: RemoteParticipant) {
    remote.isAnnounced = false
    remote.wanted = []
    remote.asked = []
    notifyRenderers { $1.stage($0, participant: remote.info, didChange: IVSParticipantPublishState.notPublished) }
    notifyRenderers { $1.stage($0, participantDidLeave: remote.info) }
  }

  private func muted(_ stream: Track, of remote: RemoteParticipant) {
    if let index = remote.present.firstIndex(where: { $0.id == stream.id }) { remote.present[index] = stream }
    guard let told = remote.told.first(where: { $0.id == stream.id }), told.isMuted != stream.isMuted else { return }
    told.update(muted: stream.isMuted)
    notifyRenderers { $1.stage($0, participant: remote.info, didChangeMutedStreams: [told]) }
    told.delegate?.streamDidChangeIsMuted(told)
  }

  // MARK: The end

  /// Tells of everything that is no more, and of the end. Nothing follows.
  func finish(with error: NSError?) {
    guard !isOver else { return }
    observation.withLock { $0 }?.cancel()
    session.leave {}
    for remote in remotes where remote.isAnnounced {
      remote.present = []
      settle(remote)
    }
    endPublication()
    connection = .disconnected
    notifyRenderers { $1.stage($0, didChange: .disconnected, withError: error) }
    isOver = true
  }
}

/// A remote participant of the room, from joining to leaving.
final class RemoteParticipant: @unchecked Sendable {  // touched on the delivery queue only
  let id: Koine.Participant.ID
  let info: IVSParticipantInfo
  /// The participant's published streams, in the order of publishing.
  var present: [Track] = []
  /// `participantDidJoin` was told, `participantDidLeave` not.
  var isAnnounced = false
  var wanted: IVSStageSubscribeMediaTypes = []
  /// Subscribed to in the room.
  var asked: Set<Track.ID> = []
  var subscription = IVSParticipantSubscribeState.notSubscribed
  /// `didAdd` was told, `didRemove` not.
  var told: [IVSRemoteStageStream] = []
  var gain: Float = 1
  /// In seconds, as the strategy wants it.
  var minimumDelay = 0.0
  var initialLayer = IVSSubscribeSimulcastConfiguration.InitialLayerPreference.lowestQuality
  var isSettling = false

  init(_ participant: Koine.Participant, _ capabilities: IVSParticipantCapability) {
    id = participant.id
    info = IVSParticipantInfo(
      // A participant without a name has its id as name, which is no user id.
      id: participant.id,
      userId: participant.externalUserID ?? (participant.name == participant.id ? "" : participant.name),
      attributes: StageSession.own(participant.attributes), isLocal: false,
      capabilities: capabilities)
  }

  var wantedStreams: [Track] {
    present.filter { wanted.contains($0.kind.isAudio ? .audio : .video) }
  }
}
