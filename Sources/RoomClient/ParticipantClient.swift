package import Koine
package import KoineBase
import KoinePeer
import KoineRouter
import KoineSignaling
package import KoineTransport

/// A participant's own end: its signalling, its media, and what its session asked for. Used on the loop only.
package final class ParticipantClient: RoomClient {
  /// Sees every RTP and RTCP packet before it is protected and after it has been opened, with the name of the end.
  package typealias Trace = @Sendable (_ end: String, _ plaintext: UnsafeRawBufferPointer) -> Void

  package let signaling: SignalingClient
  private let link: RoomLink
  private var request: JoinRequest
  private let receiver: any LinkReceiver
  private let media: PeerMedia
  private var levels: [String: Int] = [:]
  /// Numbers of the knocks that wait for a decision, by participant.
  private var knocks: [String: Int] = [:]
  private var nextRequest = 1
  /// What the room has not answered yet, by request.
  private var unanswered: [Int: Track.ID] = [:]
  private enum SubscriptionState: Equatable {
    /// The room has not answered the request of this number.
    case requested(Int)
    case receiving
  }
  private var subscriptions: [Track.ID: SubscriptionState] = [:]
  /// Answers to `restartMedia` that are still to come; only the last one describes the peer of the present path.
  private var awaitedRestarts = 0
  private var spareCommands: [RoomLink.Command] = []

  // For coming back.
  private var local: Participant?
  private var attributes: [String: String]
  private var epoch: String?
  private var memory = DataMemory()
  private let idPrefix: String
  private var nextMessage = 1
  /// Added to the room's own numbers, so that they rise even when a new room begins to count.
  private var orderBase: UInt64 = 0
  private var lastOrder: UInt64 = 0
  /// The highest of the room's own numbers that this client knows, of messages and receipts.
  private var seenOrder: UInt64 = 0
  /// Co-located services, and the services that have sent a status to all participants (`outspoken`).
  private var attendants: [String] = []
  private var outspoken: Set<String> = []
  private var isReachable = true
  /// What the path from the router carries, in bit/s, as the router has reported it; nil before.
  private var availableReceiveBitrate: Int?
  /// State of a join while the room's history arrives.
  private struct Entry {
    let isRejoin, isRouterNew: Bool
    /// Whether it is the same room, or one that is restored from the ledger.
    let continues: Bool
    /// The client has received all messages up to this number in the room's order before; 0: none.
    let heard: UInt64
    var senders: Set<String> = []
  }
  private var entry: Entry?
  /// Data messages that are sent again after a rejoin. New ones wait behind them.
  private var repeated = RepeatedMessages()
  /// Whether a join that is to bring the participant back has no answer yet. A server of a cluster may first have to find the room. It
  /// takes no other message until then.
  private var isEntering = false
  /// Messages that wait for the answer.
  private var held: [ClientMessage] = []
  private var isReturning = false
  /// When the client left the router to which it last belonged; nil while it belongs to one.
  private var leftAt: Tick?
  /// Since when the client has looked for a new media path; nil while the path works.
  private var pathLostSince: Tick?

  /// - Parameter addresses: of its sockets.
  package init(
    link: RoomLink, request: JoinRequest, receiver: any LinkReceiver, addresses: [TransportAddress],
    random: SeededRandom, now: Tick, trace: Trace? = nil
  ) throws {
    var random = random
    self.link = link
    self.request = request
    self.receiver = receiver
    attributes = request.attributes
    var tracesPlaintext: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    if let trace {
      let name = request.name
      tracesPlaintext = { trace(name, $0) }
    }
    media = try PeerMedia(addresses: addresses, random: random.fork(), now: now, trace: tracesPlaintext)
    idPrefix = String(random.next(), radix: 36)
    signaling = SignalingClient(random: random.fork(), patience: request.reconnectTimeout)
    join()
  }

  // MARK: What the session asks for

  private func join() {
    var join = Join(
      room: request.room, credential: request.credential, participantID: local?.id ?? request.participantID,
      name: request.name, externalID: request.externalUserID, attributes: attributes,
      description: media.localDescription, returningTo: epoch,
      resumptionKey: signaling.formerKey)
    join.client = request.clientDescription.isEmpty ? nil : request.clientDescription
    join.seen = seenOrder
    join.isMoved = signaling.isRedirected
    join.unreachable = signaling.unreachableHome
    signaling.send(.join(join))
  }

  package func executeCommands(at now: Tick) {
    link.takeCommands(reusing: &spareCommands)
    for command in spareCommands { execute(command, at: now) }
    spareCommands.removeAll(keepingCapacity: true)
    handleEvents(at: now)
  }

  private func send(_ message: ClientMessage) {
    guard isEntering else { return signaling.send(message) }
    switch message {
    case .leave: signaling.send(message)
    case .attributes, .remove, .close, .muteOther, .renew, .answerKnock: held.append(message)
    default: break  // The session publishes and subscribes again once it is notified of the rejoin.
    }
  }

  private func execute(_ command: RoomLink.Command, at now: Tick) {
    guard !isOver else { return command.cancel() }
    switch command {
    case .publish(let track, let options): publish(track, options)
    case .unpublish(let track): if media.unpublish(track) { send(.unpublish(trackIDs: [track.track])) }
    case .mute(let track, let muted):
      if media.isPublished(track) { send(.mute(trackID: track.track, muted: muted)) }
    case .frame(let frame, let track): media.send(frame, of: track, at: now)
    case .subscribe(let track):
      let request = takeRequest()
      subscriptions[track] = .requested(request)
      send(.subscribe(Subscribe(request: request, tracks: [track])))
    case .unsubscribe(let track):
      guard subscriptions.removeValue(forKey: track) != nil else { return }
      media.unsubscribe(from: track)
      send(.unsubscribe([track]))
    case .keyFrame(let track): media.requestKeyFrame(of: track, at: now)
    case .pause(let track, let paused):
      if subscriptions[track] != nil { send(paused ? .pause([track]) : .resume([track])) }
    case .prefer(let track, let preference):
      if subscriptions[track] != nil { send(.prefer([TrackPreference(preference, of: track)])) }
    case .message(let message): send(message)
    case .attributes(let attributes):
      self.attributes = attributes
      send(.attributes(attributes))
    case .muteOther(let track): send(.muteOther(track))
    case .remove(let participant): send(.remove(participant: participant))
    case .renew(let credential):
      request.credential = credential  // on coming back it is what lets us in
      if local != nil { send(.renew(credential: credential)) }
    case .answerKnock(let participant, let admitted):
      send(.answerKnock(participant: participant, admitted: admitted, number: knocks[participant]))
    case .closeRoom: send(.close)
    case .statistics(let completion):
      var statistics = media.statistics(at: now)
      statistics.availableReceiveBitrate = availableReceiveBitrate
      completion(statistics)
    case .leave:
      for message in repeated.takeAll() { send(.data(message)) }
      send(.leave(reason: nil))
      signaling.expectEnd(at: now)
    }
  }

  private func publish(_ track: Track, _ options: PublishOptions) {
    var parameters = media.publish(track.id, options: options)
    for (layer, limits) in options.layers.enumerated() {
      parameters.encodings[layer].maximumBitrate = limits.maximumBitrate
      parameters.encodings[layer].maximumHeight = limits.maximumHeight
      parameters.encodings[layer].maximumWidth = limits.maximumWidth
      parameters.encodings[layer].maximumFramesPerSecond = limits.maximumFramesPerSecond
    }
    let request = takeRequest()
    unanswered[request] = track.id
    let offer = TrackOffer(id: track.id.track, kind: track.kind, isMuted: track.isMuted, media: parameters)
    send(.publish(Publish(request: request, tracks: [offer])))
  }

  /// The room begins to send tracks. Skips tracks that have been unsubscribed since, or subscribed by a later request.
  private func startSubscriptions(_ answer: Subscribed) {
    for track in answer.tracks where subscriptions[track.reference] == .requested(answer.request) {
      guard let parameters = track.media else { continue }
      subscriptions[track.reference] = .receiving
      media.subscribe(to: track.reference, as: parameters)
    }
    endSubscriptions(answer.missing.filter { subscriptions[$0] == .requested(answer.request) })
  }

  /// The room has ended subscriptions, or has refused them.
  private func endSubscriptions(_ tracks: [Track.ID]) {
    guard !tracks.isEmpty else { return }
    for track in tracks where subscriptions.removeValue(forKey: track) == .receiving { media.unsubscribe(from: track) }
    receiver.linkDidChange(.subscriptionsEnded(tracks))
  }

  private func send(_ message: DataMessage) {
    let data = SendData(message, id: "\(idPrefix)-\(nextMessage)")
    nextMessage += 1
    memory.remember(data)
    if !repeated.isEmpty {
      repeated.add(data)
    } else if !isReturning {
      send(.data(data))
    }
  }

  private func takeRequest() -> Int {
    nextRequest += 1
    return nextRequest
  }

  // MARK: The connection

  package func handle(_ event: SignalingClient.Event, at now: Tick) {
    switch event {
    case .message(let message): handle(message, at: now)
    case .failed(let failure): receiver.linkDidChange(.failed(failure))
    case .interrupted: interrupted()
    case .resumed: resumed(at: now)
    case .forgotten(let unacknowledged): joinAgain(unacknowledged, at: now)
    case .ended(let reason): ended(reason)
    }
  }

  private func interrupted() {
    isReachable = false
    if pathLostSince == nil, local != nil { receiver.linkDidChange(.reconnecting) }
  }

  private func resumed(at now: Tick) {
    isReachable = true
    media.confirmPath(at: now)
    if pathLostSince == nil, local != nil { receiver.linkDidChange(.reconnected) }
  }

  /// Joins again under the same id, because the room does not know the participant any more. The session publishes and subscribes
  /// again once it is notified of the rejoin. Unacknowledged moderation commands are sent again here, data messages after the room's
  /// history.
  private func joinAgain(_ unacknowledged: [ClientMessage], at now: Tick) {
    do { try media.reset(at: now) } catch { return signaling.finish(.lost) }
    (subscriptions, awaitedRestarts, availableReceiveBitrate) = ([:], 0, nil)
    levels = [:]
    knocks = [:]
    unanswered = [:]
    pathLostSince = nil
    entry = nil
    repeated = RepeatedMessages()
    isReturning = local != nil
    isEntering = isReturning
    // The join has the attributes and the credential.
    held.removeAll { if case .attributes = $0 { true } else if case .renew = $0 { true } else { !isReturning } }
    leftAt = leftAt ?? signaling.leftAt
    join()
    for message in unacknowledged {
      switch message {
      case .remove, .close, .muteOther: send(message)
      case .leave: return send(message)
      default: break
      }
    }
  }

  private func enter(_ joined: Joined, at now: Tick) {
    let isRejoin = isReturning
    let isRouterNew = epoch != joined.epoch
    isEntering = false
    for message in held { send(message) }
    held = []
    local = joined.local
    epoch = joined.epoch
    media.setRemote(joined.description, at: now)
    let (known, others) = (joined.local, joined.participants)
    isReachable = true
    setAttendants(joined.attendants ?? [])
    if let permissions = joined.permissions { receiver.linkDidChange(.permissions(Set(permissions))) }
    receiver.linkDidChange(isRejoin ? .rejoined(as: known, others: others) : .joined(as: known, others: others))
    let continues = !isRouterNew || joined.continues
    if isRejoin, !continues { (orderBase, seenOrder) = (lastOrder, 0) }
    // A participant that returns to the same room has received all messages up to the last one that it received.
    let heard = isRejoin && continues ? lastOrder - orderBase : 0
    entry = Entry(isRejoin: isRejoin, isRouterNew: isRouterNew, continues: continues, heard: heard)
    deliver(joined.history, hasMore: joined.hasMoreHistory ?? false, at: now)
  }

  /// Takes a part of the messages that the room has kept. After the last part, sends the messages that the room has not received.
  private func deliver(_ history: [ReceivedMessage], hasMore: Bool, at now: Tick) {
    guard let heard = entry?.heard else { return }
    entry?.senders.formUnion(history.map(\.sender))
    for data in history where data.order > heard || heard == 0 { deliver(data, isHistory: true) }
    guard !hasMore, let entry else { return }
    self.entry = nil
    isReturning = false
    guard entry.isRejoin else { return }
    // Those of services are not in a room's log.
    if entry.isRouterNew { withdrawWords(notOf: entry.senders) }
    receiver.linkDidChange(.attendants(attendants))
    repeated = RepeatedMessages(
      memory.unheard(isRouterNew: entry.isRouterNew, since: leftAt, continues: entry.continues), at: now)
    sendRepeated(at: now)
    leftAt = nil
  }

  private func sendRepeated(at now: Tick) { for message in repeated.take(at: now) { send(.data(message)) } }

  /// Services that have sent a status, and that a new router does not name, are believed until the status is withdrawn.
  private func setAttendants(_ names: [String]) {
    attendants = names
    receiver.linkDidChange(.attendants(names + outspoken.subtracting(names).sorted()))
  }

  /// No room's order reaches this number. A message with a larger number is dropped.
  private static let orderLimit = UInt64(1) << 53

  private func deliver(_ data: ReceivedMessage, isHistory: Bool) {
    guard data.order <= Self.orderLimit, memory.insert(data) else { return }
    var message = data
    message.isHistory = isHistory
    let (order, isBeyond) = message.order.addingReportingOverflow(orderBase)
    guard !isBeyond else { return }
    message.order = order
    lastOrder = max(lastOrder, message.order)
    seenOrder = max(seenOrder, data.order)
    if attendants.contains(data.sender), !data.isDirected { outspoken.insert(data.sender) }
    receiver.linkDidChange(.message(message))
  }

  /// With the router's memory its services' words are gone: what they do not say any more is said to be nothing.
  private func withdrawWords(notOf senders: Set<String>) {
    for name in outspoken.subtracting(senders).sorted() {
      outspoken.remove(name)
      receiver.linkDidChange(
        .message(
          ReceivedMessage(sender: name, topic: name, payload: [], order: lastOrder, age: .zero, isHistory: false)))
    }
  }

  /// Our end of the media path, or the router's, is gone: another peer takes its place. During a move the next join brings a peer of
  /// its own.
  private func restartMedia(at now: Tick) {
    guard !signaling.isMoving else { return }
    guard local != nil else { return signaling.finish(.lost) }
    do { try media.restart(at: now) } catch { return signaling.finish(.lost) }
    awaitedRestarts += 1
    availableReceiveBitrate = nil
    send(.restartMedia(media.localDescription))
    guard pathLostSince == nil else { return }
    pathLostSince = now
    if isReachable { receiver.linkDidChange(.reconnecting) }
  }

  private func mediaRestarted(_ description: PeerDescription, at now: Tick) {
    awaitedRestarts -= 1
    if awaitedRestarts == 0 { media.setRemote(description, at: now) }
  }

  private func pathStands() {
    receiver.linkDidChange(.mediaConnected)
    guard pathLostSince != nil else { return }
    pathLostSince = nil
    if isReachable { receiver.linkDidChange(.reconnected) }
  }

  // MARK: Datagrams and time

  package func handleMedia(
    _ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick
  ) {
    media.handle(datagram, from: source, to: destination, at: now)
    takeEvents(at: now)
  }

  package func addressChanged(from old: TransportAddress, to new: TransportAddress, at now: Tick) {
    media.addressChanged(from: old, to: new, at: now)
  }

  package func handleOwnTimeout(at now: Tick) {
    media.handleTimeout(at: now)
    takeEvents(at: now)
    sendRepeated(at: now)
    if let pathLostSince, now - pathLostSince >= request.reconnectTimeout { signaling.finish(.lost) }
  }

  package var ownDeadline: Tick? {
    media.deadline.sooner(pathLostSince.map { $0 + request.reconnectTimeout }).sooner(repeated.deadline)
  }

  package var ownDeadlineReason: String {
    if media.deadline == ownDeadline { return media.deadlineReason }
    return repeated.deadline == ownDeadline ? "messages to be sent again" : "end of a media path restart"
  }

  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    media.poll(into: out, at: now)
  }

  private func ended(_ reason: EndReason) {
    if reason != .lost { media.close() }
    receiver.linkDidChange(.ended(reason))
    link.close()
  }

  private func takeEvents(at now: Tick) {
    while let event = media.pollEvent() {
      switch event {
      case .connected: pathStands()
      case .failed: restartMedia(at: now)
      case .closed: if !signaling.isMoving { signaling.expectEnd(.lost, at: now) }  // the room is about to say why
      case .frame(let frame, let track): receiver.linkDidReceive(frame, of: track)
      case .keyFrameRequested(let track, let layer): receiver.linkDidChange(.keyFrameWanted(track, layer: layer))
      case .estimate(let bitrate, let loss): receiver.linkDidChange(.estimate(bitrate: bitrate, loss: loss))
      }
    }
  }

  // MARK: Messages of the room

  private func handle(_ message: ServerMessage, at now: Tick) {
    switch message {
    case .joined(let joined): enter(joined, at: now)
    case .refused(let failure, _): signaling.finish(.refused(failure))
    case .waiting: receiver.linkDidChange(.waiting)
    case .knock(let participant, let number):
      knocks[participant.id] = number
      receiver.linkDidChange(.knock(participant))
    case .knockEnded(let id, let admitted, _):
      knocks[id] = nil
      receiver.linkDidChange(.knockEnded(id, admitted: admitted))
    case .starved(let track, let isPaused): receiver.linkDidChange(.streamStarved(track, isPaused))
    case .participantJoined(let participant): receiver.linkDidChange(.participantJoined(participant))
    case .participantLeft(let id, let reason):
      levels[id] = nil
      receiver.linkDidChange(.participantLeft(id, reason))
    case .published(_, let tracks): for track in tracks { receiver.linkDidChange(.streamAdded(track)) }
    case .withdrawn(let participant, let tracks):
      for track in tracks {
        let id = Track.ID(participant: participant, track: track)
        if media.isPublished(id) { media.unpublish(id) }  // the room does not let us publish it any more
        receiver.linkDidChange(.streamRemoved(id))
      }
    case .muted(let participant, let track, let muted):
      receiver.linkDidChange(.streamMuted(.init(participant: participant, track: track), muted))
    case .subscribed(let answer): startSubscriptions(answer)
    case .unsubscribed(let tracks):
      // Subscriptions that this client has not ended itself. A later `subscribe` has another state until it is answered.
      endSubscriptions(tracks.filter { subscriptions[$0] == .receiving })
    case .permissions(let permissions): receiver.linkDidChange(.permissionsChanged(permissions))
    case .data(let data): deliver(data, isHistory: false)
    case .dataReceipt(let receipt):
      memory.acknowledge(receipt, at: now)
      if let order = receipt.order, order <= Self.orderLimit { seenOrder = max(seenOrder, order) }
      // A message that is stored later has not failed.
      if let failure = receipt.failure, failure.code != .unavailable { receiver.linkDidChange(.failed(failure)) }
    case .attributes(let participant, let attributes):
      receiver.linkDidChange(.attributesChanged(participant, attributes))
    case .speakers(let speakers):
      levels.merge(speakers.levels) { _, new in new }
      receiver.linkDidChange(.speakers(Speakers(levels: levels, dominant: speakers.dominant)))
    case .bandwidth(let bitrate): availableReceiveBitrate = bitrate
    case .quality(let changes): receiver.linkDidChange(.quality(changes))
    case .wanted(let track, let layers):
      guard let id = media.published.first(where: { $0.track == track }) else { return }
      media.setWantedLayers(layers, of: id)
      receiver.linkDidChange(.layersWanted(id, layers))
    case .mediaRestarted(let description): mediaRestarted(description, at: now)
    case .attendants(let names): setAttendants(names)
    case .history(let page): deliver(page.messages, hasMore: page.hasMore, at: now)
    case .failed(_, let failure) where failure.code == .mediaLost:
      if pathLostSince == nil { restartMedia(at: now) }
    case .accepted(let request):
      if let track = unanswered.removeValue(forKey: request) { receiver.linkDidChange(.published(track)) }
    case .failed(let request?, let failure) where unanswered[request] != nil:
      guard let track = unanswered.removeValue(forKey: request) else { return }
      media.unpublish(track)
      receiver.linkDidChange(.publishFailed(track, failure))
    case .failed(let request, let failure):
      if let request { endSubscriptions(subscriptions.filter { $0.value == .requested(request) }.map(\.key)) }
      receiver.linkDidChange(.failed(failure))
    case .ended(let reason): signaling.finish(reason)
    case .pong, .registered, .incomingRing, .ringEnded, .ringProgress, .resumable, .resumed, .heard, .moved:
      break
    }
  }
}
