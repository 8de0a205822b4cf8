import KoineBase
import KoineSignaling
import KoineTransport

/// Carries out what the control values of a room decide: `Roster`, `DataRouter`, `ActiveSpeakerDetector`, and, for each
/// receiver, subscription or track, `LayerAllocator`, `StarvationDetector`, `KeyFrameScheduler`. It alone writes to the outbox
/// and to the table of peers.
///
/// Everything that it sends the participants keeps this order: a participant is announced before its tracks, and its tracks
/// are withdrawn before it leaves. One file for each concern: `Room+…`, extensions without state of their own.
final class Room {
  let name: String
  let number: Int
  /// Tells this room from one of the same name before or after it.
  let epoch: String
  let limits: RouterLimits
  let peers: PeerTable
  let outbox: Outbox
  let created: Tick
  /// In order of joining.
  @exclusivity(unchecked) private(set) var members: [Member] = []
  private var membersByID: [String: Member] = [:]
  @exclusivity(unchecked) private var departed: [Member] = []
  /// Members that have a deadline.
  @exclusivity(unchecked) private var watched: [Member] = []
  /// Of a restored room, for participants that return.
  private var formerSubscriptions: [Participant.ID: [RoomSnapshot.Subscription]] = [:]

  // The extensions of this class, in files of their own, change the following variables; Swift's `private` ends at the file.

  /// An entry for each member. Changed by `Room+Publishing` and `Room+Roster`, too.
  var roster = Roster()
  /// Changed by `Room+Data` and `Router+RoomService`, too.
  var data: DataRouter
  /// Changed by `Room+Publishing`, `Room+Forwarding` and `Room+Speakers`.
  @exclusivity(unchecked) var speakers: ActiveSpeakerDetector
  /// Changed by `Room+Subscriptions`, which draws SSRCs, and `Router+RoomService`, which draws ids of messages.
  var random: SeededRandom
  /// Tracks of which key frames have been requested and not begun. Changed by `Room+Forwarding` and `Room+Publishing`.
  @exclusivity(unchecked) var awaitingKeyFrames: [PublishedTrack] = []
  /// Changed by `Room+Layers`.
  @exclusivity(unchecked) var nextLayerCheck: Tick?
  /// Changed by `Room+Quality`.
  @exclusivity(unchecked) var nextQualityCheck: Tick?
  /// When deferred notifications are due. Changed by `Room+Roster`.
  var nextTelling: Tick?
  /// Requests sent to publishers. Changed by `Room+Forwarding`.
  var keyFrameRequests = 0
  /// In a cluster only. Changed by `Room+Log` and `Router+Cluster`.
  var log: RoomLog?
  /// Until then the room waits for participants, even if there are none. Changed by `Room+Log`.
  var keptOpenUntil: Tick?
  /// In a cluster only: whether the ledger had nothing of the room when it was opened here. Changed by `Room+Log`.
  var isNew = false
  /// Whether something has happened that its router must look at. Changed by all, and reset by `Router.settle`.
  @exclusivity(unchecked) var needsSettling = false

  // The router's own, kept with the room.

  /// The permit with which the router's owner counts the room; released with the room.
  var permit: AnyObject?
  /// The co-located service. Set by `Router+RoomService`.
  var attendant: RoomService?
  /// By the services' names: what each has answered to the last command of `RoomControl`.
  var serviceAnswers: [String: String] = [:]
  /// The names by which participants have come.
  private(set) var entrances: Set<String> = []
  /// Armed by `Router.settle`.
  @exclusivity(unchecked) var alarm = HeapAlarm()
  /// In a cluster: whether the room is on its way to another node, and the log takes no more entries. Set by the router.
  var isLeaving: (() -> Bool)?
  /// Adds what a cluster's node says to those that join. Set by the router.
  var describe: ((inout Joined, Tick) -> Void)?
  /// Called for each event of the room, in order. Set by the router.
  var observe: (@Sendable (RoomEvent) -> Void)?
  /// Counted by `PeerTable`.
  @exclusivity(unchecked) var forwardedPackets = 0

  init(
    name: String, number: Int, limits: RouterLimits, attendant: RoomService? = nil, peers: PeerTable, outbox: Outbox,
    random: SeededRandom, epoch: String? = nil, now: Tick
  ) {
    self.attendant = attendant
    (self.name, self.number, self.limits, self.peers, self.outbox) = (name, number, limits, peers, outbox)
    self.random = random
    if let epoch { self.epoch = epoch } else { self.epoch = self.random.makeID() }
    created = now
    speakers = ActiveSpeakerDetector(limit: limits.forwardedVoices)
    data = DataRouter(
      limits: .init(
        count: limits.historyCount, bytes: limits.historyBytes, persistentCount: limits.persistentCount,
        persistentBytes: limits.persistentBytes), now: now)
  }

  func member(_ id: String) -> Member? { membersByID[id] }

  func track(_ reference: Track.ID) -> PublishedTrack? { member(reference.participant)?.track(reference.track) }

  func tellOthers(_ message: ServerMessage, than member: Member?) {
    outbox.post(message, to: members.lazy.filter { $0 !== member }.compactMap(\.client))
  }

  // MARK: Joining

  func join(_ join: Join, id: String, grants: Grants, client: Client, slot: PeerSlot, at now: Tick) -> Member {
    let older = member(id)
    let directedAfter = roster.directedAfter(join, id: id, grants, dataOrder: data.order)
    if let older {
      let isLost = older.client == nil || join.returningTo != nil
      remove(older, told: .duplicate, others: isLost ? .dropped : .removed, at: now)
    }
    if let known = join.returningTo, known != epoch { data.recover(until: created + limits.recovery) }
    let entry = roster.join(
      join, id: id, grants: grants, resumptionKey: client.resumptionKey, directedAfter: directedAfter,
      isReturning: join.returningTo == epoch, limit: limits.participants, at: now)
    let member = Member(entry, client: client, slot: slot, room: self, limits: limits, at: now)
    slot.member = member
    member.entrance = join.room
    if !grants.isHidden { entrances.insert(join.room) }
    let others = members.filter { !$0.grants.isHidden }.map(\.participant)
    members.insert(member, at: members.lastIndex { $0.entry.order < entry.order }.map { $0 + 1 } ?? 0)
    membersByID[id] = member
    watch(member)
    if join.returningTo != nil || join.seen > 0 { continueJobs(at: now) }
    let reader = DataHistory.Reader(
      id: id, kind: entry.kind, directedAfter: directedAfter, isReturning: join.returningTo != nil)
    let (entries, next) = data.page(for: reader, after: 0, through: data.order, at: now)
    var joined = Joined(
      local: member.participant, description: slot.peer.localDescription, participants: others,
      history: entries.map(\.message), epoch: epoch, attendants: attendant?.names)
    joined.permissions = grants.permissions.sorted { $0.rawValue < $1.rawValue }
    joined.continues = log != nil
    describe?(&joined, now)
    if let next {
      joined.hasMoreHistory = true
      client.comingHistory = HistoryCursor(reader: reader, through: data.order, joined: now, after: next)
    }
    outbox.post(.joined(joined), to: client.id)
    report(.joined(member.participant), of: member)
    if !entry.grants.isHidden { tellOthers(.participantJoined(member.participant), than: member) }
    tellSpeakers(to: member)
    tellQuality(to: member)
    if nextQualityCheck == nil { nextQualityCheck = (now + Self.qualityInterval).roundedUp(to: .sharedTurn) }
    return member
  }

  /// Names that mean other rooms from now on, by which no member has come.
  func forgetEntrances(_ names: [String]) { entrances.subtract(names) }

  /// Whether a member has come by another name of the room.
  func hasOtherEntrances(than name: String) -> Bool { members.contains { $0.entrance != name && !$0.grants.isHidden } }

  // MARK: Events

  func report(_ change: RoomEvent.Change, of member: Member) {
    guard let observe, !member.grants.isHidden else { return }
    observe(
      RoomEvent(
        room: member.entrance, epoch: epoch, participant: member.id, issuer: member.grants.issuer, change))
  }

  /// Reports that a member receives tracks of another one, or none of them any longer: for its first and last of these.
  func reportSubscriptions(of member: Member, to publisher: Participant.ID, isOn: Bool) {
    guard observe != nil, member.subscriptions.count(where: { $0.track.id.participant == publisher }) == (isOn ? 1 : 0)
    else { return }
    report(.subscribed(to: publisher, isOn: isOn), of: member)
  }

  // MARK: Snapshots

  /// Without the messages that participants have not acknowledged and those that wait to be admitted, which are the router's.
  func snapshot(at now: Tick) -> RoomSnapshot {
    var subscriptions = formerSubscriptions
    for member in members {
      let its = member.subscriptions.map {
        RoomSnapshot.Subscription(track: $0.track.id, preference: $0.preference)
      }
      let former = subscriptions[member.id, default: []].filter { old in !its.contains { $0.track == old.track } }
      subscriptions[member.id] = its + former
    }
    return RoomSnapshot(
      room: name, epoch: epoch, taken: now, roster: roster, data: data, subscriptions: subscriptions, lobby: [])
  }

  /// Begins with what another router's room of this name and epoch was.
  func restore(_ snapshot: RoomSnapshot, at now: Tick) {
    (roster, data, formerSubscriptions) = (snapshot.roster, snapshot.data, snapshot.subscriptions)
    roster.awaitReturn(until: now + limits.recovery)
    data.recover(until: now + limits.recovery)
  }

  /// What a participant that has returned preferred of a track to which it subscribes again.
  func formerPreference(of track: Track.ID, for member: Member) -> LayerPreference? {
    formerSubscriptions[member.id]?.first { $0.track == track }?.preference
  }

  private func checkReturns(at now: Tick) {
    guard roster.endAwaiting(at: now) else { return }
    data.endRecovery()
    formerSubscriptions = [:]
  }

  // MARK: Leaving

  /// Its signalling is gone: it has until the end of the grace for nothing but its media to go on.
  func loses(_ member: Member, grace: Duration, at now: Tick) {
    member.deadline = member.deadline.sooner(now + grace)
    watch(member)
  }

  /// Its media path is gone: if it can come back, it has the longer grace for it.
  private func losesPath(_ member: Member, at now: Tick) {
    guard member.isResumable else { return remove(member, told: .lost, others: .dropped, at: now) }
    member.slot.isConnected = false
    member.deadline = now + limits.resumeGrace
    watch(member)
    outbox.post(.failed(request: nil, Failure(.mediaLost, "the media path broke")), to: member.client)
  }

  /// Gives a member a new peer after its media path broke. Its tracks and subscriptions stay.
  func replaceSlot(_ member: Member, on slot: PeerSlot, at now: Tick) {
    peers.remove(member.slot)
    member.slot.member = nil
    member.slot = slot
    slot.member = member
    member.layerAllocator.reset()
    member.reportedEstimate = nil
    member.meter = PathMeter()
    for track in member.tracks {
      track.restart(on: slot.peer)
      track.keyFrames.cancelAll()
    }
    for forwarder in member.subscriptions { forwarder.restart(on: slot) }
    member.deadline = now + limits.connectTimeout
    watch(member)
    outbox.post(.mediaRestarted(slot.peer.localDescription), to: member.client)
  }

  func remove(_ member: Member, told: EndReason, others: DepartureReason, at now: Tick) {
    guard membersByID[member.id] === member else { return }
    withdraw(member.tracks, of: member, at: now)
    let subscriptions = member.subscriptions
    member.subscriptions.removeAll()
    for forwarder in subscriptions { detach(forwarder) }
    report(.left(told), of: member)
    members.removeAll { $0 === member }
    membersByID[member.id] = nil
    let entry = roster.remove(member.id)
    endAdmission(of: member.id)
    watched.removeAll { $0 === member }
    peers.remove(member.slot)
    member.slot.member = nil
    departed.append(member)
    needsSettling = true
    outbox.post(.ended(told), to: member.client)
    if entry?.grants.isHidden != true { tellOthers(.participantLeft(id: member.id, reason: others), than: nil) }
  }

  /// Removes all participants. The router does not announce the departures, because every participant leaves.
  func close(told reason: EndReason) { empty(telling: .ended(reason), as: reason) }

  /// The room has another home, and is over here. Its participants go there.
  func depose(to places: [String]) { empty(telling: .moved(places: places), as: .lost) }

  private func empty(telling message: ServerMessage, as reason: EndReason) {
    for member in members {
      let publishers = Set(member.subscriptions.map(\.track.id.participant)).sorted()
      for forwarder in member.subscriptions { forwarder.detach() }
      member.subscriptions.removeAll()
      for publisher in publishers { reportSubscriptions(of: member, to: publisher, isOn: false) }
    }
    for member in members {
      for track in member.tracks {
        track.forwarders.removeAll()
        report(.published(track.track.kind, isOn: false), of: member)
      }
      member.tracks.removeAll()
      peers.remove(member.slot)
      member.slot.member = nil
      outbox.post(message, to: member.client)
      report(.left(reason), of: member)
    }
    departed += members
    (members, membersByID, watched, awaitingKeyFrames) = ([], [:], [], [])
    roster.removeAll()
    keptOpenUntil = nil
    needsSettling = true
  }

  /// Releases all members without sending messages. Breaks the reference cycle between a member and its slot.
  func dissolve() {
    for member in members { member.slot.member = nil }
  }

  /// Members that have left since the last call.
  func takeDeparted() -> [Member] {
    defer { departed.removeAll() }
    return departed
  }

  // MARK: Messages

  func handle(_ message: ClientMessage, of member: Member, at now: Tick) {
    switch message {
    case .join, .ping, .register, .ring, .cancelRing, .answerRing, .resumeConversation, .heard, .restartMedia, .bye,
      .answerKnock, .renew:
      break  // the router's own
    case .publish(let publish): self.publish(publish, of: member, at: now)
    case .unpublish(let trackIDs): unpublish(trackIDs, of: member, at: now)
    case .mute(let trackID, let muted): mute(trackID, muted, of: member, at: now)
    case .subscribe(let subscribe): self.subscribe(subscribe, of: member, at: now)
    case .unsubscribe(let tracks): unsubscribe(tracks, of: member, at: now)
    case .pause(let tracks): pause(tracks, of: member, at: now)
    case .resume(let tracks): resume(tracks, of: member, at: now)
    case .prefer(let preferences): prefer(preferences, of: member, at: now)
    case .data(let message): handleData(message, of: member, at: now)
    case .attributes(let attributes): setAttributes(attributes, of: member, at: now)
    case .leave: remove(member, told: .left, others: .left, at: now)
    case .muteOther(let reference): muteOther(reference, by: member, at: now)
    case .remove(let id): putOut(id, by: member, at: now)
    case .close: refuseModeration(to: member)  // the router handles `close` of moderators
    }
  }

  private func putOut(_ id: String, by member: Member, at now: Tick) {
    guard member.grants.canModerate else { return refuseModeration(to: member) }
    guard let other = self.member(id), !other.grants.isHidden else {
      return outbox.post(
        .failed(request: nil, Failure(.unknownParticipant, "no participant “\(id)” is in the room")),
        to: member.client)
    }
    guard mayRemove(other) else {
      return outbox.post(.failed(request: nil, Failure(.unavailable, "the room is on its way")), to: member.client)
    }
    remove(other, told: .removed, others: .removed, at: now)
  }

  func refuseModeration(to member: Member) {
    outbox.post(.failed(request: nil, Failure(.forbidden, "not allowed to moderate")), to: member.client)
  }

  /// Applies a renewed credential. Tracks and subscriptions that it does not permit any more end. The other participants are
  /// notified of attributes that it changes.
  func renew(_ member: Member, _ grants: Grants, at now: Tick) throws(Failure) {
    try roster.checkRenewal(member.id, grants, limits: limits)
    let (former, attributes) = (member.grants, member.attributes)
    roster.renew(member.id, grants, limit: limits.participants, at: now)
    permissionsChanged(of: member, from: former.permissions, receiving: former.receive, at: now)
    report(
      .renewed(
        externalID: member.entry.externalID, attributes: member.attributes, member.grants, before: former),
      of: member)
    if member.attributes != attributes { attributesChanged(of: member, at: now) }
    needsSettling = true
  }

  /// Removes the participants with expired credentials.
  private func checkExpiry(at now: Tick) {
    for id in roster.expired(at: now) {
      if let member = member(id) { remove(member, told: .expired, others: .removed, at: now) }
    }
  }

  // MARK: Media connections

  func takeEvents(of slot: PeerSlot, at now: Tick) {
    while let event = slot.peer.pollEvent() {
      guard let member = slot.member else { continue }  // it left while its events were read
      switch event {
      case .connected: connected(member, at: now)
      case .failed: losesPath(member, at: now)
      case .closed: remove(member, told: .lost, others: .dropped, at: now)
      case .packet(let receiver, let packet): forward(packet, of: receiver, from: member, at: now)
      case .senderReport(let receiver, let layer, let report):
        forward(report, of: receiver, layer: layer, from: member, at: now)
      case .keyFrameRequested(let sender, _):
        if let forwarder = member.subscriptions.first(where: { $0.matches(sender) }) {
          keyFrameRequested(by: forwarder, at: now)
        }
      case .estimate:
        estimated(member.slot.peer.capacity, for: member, at: now)
      case .mediaHold(let hold): apply(hold, to: member, at: now)
      case .frame: break  // the router asks for packets only
      }
    }
  }

  /// A member that asks for media by signalling gets it, however long its media path has been silent.
  func releaseHold(of member: Member, at now: Tick) {
    if member.slot.peer.expectAnswer() { apply(.none, to: member, at: now) }
    peers.touch(member.slot)
  }

  /// The track begins to be sent again. Receivers owed no answer for it: one that has only been slow with its reports gets it at
  /// once. One that has also missed a consent check (`MediaHold.all`) gets it with its next datagram.
  func releaseVideoHolds(of track: PublishedTrack, at now: Tick) {
    guard !track.codec.isAudio else { return }
    for forwarder in track.forwarders where forwarder.slot.hold == .video {
      releaseHold(of: forwarder.receiver, at: now)
    }
  }

  /// Video that was held back begins again with a key frame. Its layers may have been switched off since: sharing the path
  /// anew switches them on, and asks for key frames of those that are being sent.
  private func apply(_ hold: MediaHold, to member: Member, at now: Tick) {
    member.slot.hold = hold
    guard hold != .none else { return allocate(to: member, at: now) }
    for forwarder in member.subscriptions where !forwarder.track.codec.isAudio {
      forwarder.stop()
      cancelIdleRequests(of: forwarder.track)
    }
  }

  private func connected(_ member: Member, at now: Tick) {
    member.slot.isConnected = true
    member.deadline = member.client == nil ? member.deadline : nil
    if member.deadline == nil { watched.removeAll { $0 === member } }
    for forwarder in member.subscriptions { requestKeyFrame(for: forwarder, at: now) }
    for track in member.tracks { requestKeyFrames(of: track, at: now) }
  }

  // MARK: Time

  private func watch(_ member: Member) {
    if !watched.contains(where: { $0 === member }) { watched.append(member) }
    needsSettling = true
  }

  /// When `handleTimeout` next has work to do. Looks only at members and tracks with a deadline, not at all members.
  var deadline: Tick? {
    var soonest = speakers.deadline.sooner(nextLayerCheck).sooner(nextQualityCheck).sooner(roster.nextExpiry).sooner(
      roster.awaitedUntil
    ).sooner(nextTelling).sooner(keptOpenUntil)
    for member in watched { soonest = soonest.sooner(member.deadline) }
    for track in awaitingKeyFrames { soonest = soonest.sooner(track.keyFrames.deadline) }
    return soonest
  }

  /// The event that `deadline` waits for.
  var deadlineReason: String {
    soonestDeadline([
      "speakers": speakers.deadline, "check of layers": nextLayerCheck, "check of quality": nextQualityCheck,
      "end of a credential": roster.nextExpiry, "participants of a restored room": roster.awaitedUntil,
      "deferred notifications": nextTelling, "participants of a room that was opened": keptOpenUntil,
      "connect or reconnect limit": watched.reduce(nil) { ($0 as Tick?).sooner($1.deadline) },
      "key frame request": awaitingKeyFrames.reduce(nil) { ($0 as Tick?).sooner($1.keyFrames.deadline) },
    ])
  }

  func handleTimeout(at now: Tick) {
    reportSpeakers(at: now)
    repeatKeyFrameRequests(at: now)
    checkLayers(at: now)
    checkQuality(at: now)
    checkExpiry(at: now)
    checkReturns(at: now)
    checkKeptOpen(at: now)
    tellOwed(at: now)
    for member in watched {
      guard let deadline = member.deadline, deadline <= now else { continue }
      remove(member, told: .lost, others: .dropped, at: now)
    }
  }
}
