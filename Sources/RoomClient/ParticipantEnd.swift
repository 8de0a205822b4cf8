package import Koine
package import KoineBase
import KoineRouter
package import KoineSignaling
package import KoineTransport

/// A participant's own end: its peer, its signalling, and what its session asked for. Touched on the loop only.
package final class ParticipantEnd: ClientEnd {
  /// Sees every RTP and RTCP packet before it is protected and after it has been opened, with the name of the end.
  package typealias Trace = @Sendable (_ end: String, _ plaintext: UnsafeRawBufferPointer) -> Void

  private struct Published {
    let track: String
    let sender: SenderID
    /// Of its layers, in bit/s.
    let bitrates: [Int]
    /// The layers that anybody wants.
    var wanted: [Int]

    var wantedBitrate: Int { wanted.reduce(0) { $0 + (bitrates.indices.contains($1) ? bitrates[$1] : 0) } }
  }

  private struct Subscribed {
    let reference: TrackReference
    var receiver: ReceiverID?
  }

  private let link: RoomLink
  private let request: JoinRequest
  private let receiver: any LinkReceiver
  private let peer: Peer
  private var random: SeededRandom
  private var published: [MediaHandle: Published] = [:]
  private var subscribed: [MediaHandle: Subscribed] = [:]
  private var handles: [ReceiverID: MediaHandle] = [:]
  private var publications: [Int: MediaHandle] = [:]
  private var levels: [String: Int] = [:]
  private var nextRequest = 1
  private var nextMessage = 1
  private var nextMid = 1
  private var spareOrders: [RoomLink.Order] = []

  /// - Parameter addresses: of its sockets.
  package init(
    link: RoomLink, request: JoinRequest, receiver: any LinkReceiver, addresses: [SocketAddress],
    random: SeededRandom, now: Tick, trace: Trace? = nil
  ) throws {
    self.link = link
    self.request = request
    self.receiver = receiver
    self.random = random
    var configuration = PeerConfiguration(role: .client, certificate: try Certificate.shared())
    if let trace {
      let name = request.name
      configuration.tracesPlaintext = { trace(name, $0) }
    }
    peer = try Peer(configuration: configuration, random: self.random.fork(), now: now)
    super.init()
    for address in addresses { peer.addLocalAddress(address) }
    join()
  }

  // MARK: What the session asks for

  private func join() {
    send(
      .join(
        Join(
          room: request.room, credential: request.credential, participantID: request.participantID, name: request.name,
          externalID: request.externalUserID, attributes: request.attributes,
          description: Description(peer.localDescription))))
  }

  package override func carryOutOrders(at now: Tick) {
    link.takeOrders(reusing: &spareOrders)
    for order in spareOrders { carryOut(order, at: now) }
    spareOrders.removeAll(keepingCapacity: true)
  }

  private func carryOut(_ order: RoomLink.Order, at now: Tick) {
    guard !isOver else { return }
    switch order {
    case .publish(let stream, let handle, let options): publish(stream, as: handle, options)
    case .unpublish(let handle):
      guard let entry = published.removeValue(forKey: handle) else { return }
      peer.removeSender(entry.sender)
      noteWantedBitrate()
      send(.unpublish(trackIDs: [entry.track]))
    case .mute(let handle, let muted):
      if let entry = published[handle] { send(.mute(trackID: entry.track, muted: muted)) }
    case .frame(let frame, let handle):
      if let entry = published[handle] { peer.send(frame, on: entry.sender, at: now) }
    case .subscribe(let stream, let handle): subscribe(stream, as: handle)
    case .unsubscribe(let handle): unsubscribe(handle)
    case .keyFrame(let handle):
      if let receiver = subscribed[handle]?.receiver { peer.requestKeyFrame(of: receiver) }
      peer.handleTimeout(at: now)
    case .pause(let handle, let paused):
      if let entry = subscribed[handle] { send(paused ? .pause([entry.reference]) : .resume([entry.reference])) }
    case .prefer(let handle, let wish):
      guard let entry = subscribed[handle] else { return }
      send(
        .prefer([
          LayerPreference(
            reference: entry.reference, layer: wish.layer, maxHeight: wish.maximumHeight, priority: wish.priority)
        ]))
    case .message(let message): send(message)
    case .attributes(let attributes): send(.attributes(attributes))
    case .remove(let participant): send(.remove(participant: participant))
    case .closeRoom: send(.close)
    case .statistics(let completion): completion(statistics(at: now))
    case .leave:
      send(.leave(reason: nil))
      expectEnd(at: now)
    }
  }

  private func publish(_ stream: Stream, as handle: MediaHandle, _ options: PublishOptions) {
    let parameters = StreamParameters(
      mid: "p\(nextMid)", codec: options.codec, payloadType: options.codec.payloadType,
      rtxPayloadType: options.codec.payloadType + 1,
      encodings: options.layers.indices.map { layer in
        .init(rid: options.layers.count > 1 ? "l\(layer)" : nil, ssrc: makeSSRC(), rtxSSRC: makeSSRC())
      })
    var media = Media(parameters)
    for (layer, limits) in options.layers.enumerated() {
      media.encodings[layer].maxBitrate = limits.maximumBitrate
      media.encodings[layer].maxHeight = limits.maximumHeight
    }
    nextMid += 1
    published[handle] = Published(
      track: stream.id.track, sender: peer.addSender(parameters), bitrates: options.layers.map(\.maximumBitrate),
      wanted: Array(options.layers.indices))
    noteWantedBitrate()
    let number = takeRequest()
    publications[number] = handle
    send(
      .publish(
        Publish(
          request: number,
          tracks: [
            Track(id: stream.id.track, kind: Track.Kind(stream.kind), muted: stream.isMuted, media: media)
          ])))
  }

  /// So much would go out if the path carried it.
  private func noteWantedBitrate() {
    peer.wantedBitrate = published.values.reduce(0) { $0 + $1.wantedBitrate } * 11 / 10
  }

  private func makeSSRC() -> UInt32 { UInt32.random(in: 1 ... .max, using: &random) }

  private func subscribe(_ stream: Stream, as handle: MediaHandle) {
    let reference = TrackReference(participant: stream.id.participant, track: stream.id.track)
    subscribed[handle] = Subscribed(reference: reference)
    send(.subscribe(Subscribe(request: takeRequest(), tracks: [reference])))
  }

  private func unsubscribe(_ handle: MediaHandle) {
    guard let entry = subscribed.removeValue(forKey: handle) else { return }
    if let receiver = entry.receiver { stopReceiving(receiver) }
    send(.unsubscribe([entry.reference]))
  }

  private func stopReceiving(_ receiver: ReceiverID) {
    handles[receiver] = nil
    peer.removeReceiver(receiver)
  }

  private func send(_ message: Koine.DataMessage) {
    send(
      .data(
        KoineSignaling.DataMessage(
          topic: message.topic, payload: message.payload, to: message.recipients,
          lifetimeSeconds: message.lifetime?.inSeconds, id: "\(nextMessage)")))
    nextMessage += 1
  }

  private func takeRequest() -> Int {
    nextRequest += 1
    return nextRequest
  }

  // MARK: Datagrams and time

  package override func handle(
    _ datagram: Bytes, from source: SocketAddress, to destination: SocketAddress, at now: Tick
  ) {
    peer.handle(datagram, from: source, to: destination, at: now)
    takeEvents(at: now)
  }

  package override func handleMediaTimeout(at now: Tick) {
    peer.handleTimeout(at: now)
    takeEvents(at: now)
  }

  package override var mediaDeadline: Tick? { peer.deadline }

  package override func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    peer.poll(into: out, at: now)
  }

  package override func tell(_ failure: SessionError) { receiver.linkDidChange(.failed(failure)) }
  package override func tellEnd(_ reason: Koine.EndReason) {
    if reason != .lost { peer.close() }
    receiver.linkDidChange(.ended(reason))
  }

  private func takeEvents(at now: Tick) {
    while let event = peer.pollEvent() {
      switch event {
      case .connected: receiver.linkDidChange(.mediaConnected)
      case .failed: end(.lost)
      case .closed: expectEnd(.lost, at: now)  // the room is about to say why
      case .frame(let id, let frame): if let handle = handles[id] { receiver.linkDidReceive(frame, of: handle) }
      case .keyFrameRequested(let sender, let layer):
        if let handle = published.first(where: { $0.value.sender == sender })?.key {
          receiver.linkDidChange(.keyFrameWanted(handle, layer: layer))
        }
      case .estimate(let bitrate, let loss): receiver.linkDidChange(.estimate(bitrate: bitrate, loss: loss))
      case .packet, .senderReport: break  // for routers
      }
    }
  }

  // MARK: What the room says

  package override func hear(_ message: ServerMessage, at now: Tick) {
    switch message {
    case .joined(let joined):
      peer.setRemote(PeerDescription(joined.description), at: now)
      receiver.linkDidChange(
        .joined(as: Koine.Participant(joined.local), others: joined.participants.map { Koine.Participant($0) }))
      for data in joined.history { receiver.linkDidChange(.message(ReceivedMessage(data, isHistory: true))) }
    case .refused(let failure): end(.refused(SessionError(failure)))
    case .participantJoined(let participant): receiver.linkDidChange(.participantJoined(Koine.Participant(participant)))
    case .participantLeft(let id, let reason):
      levels[id] = nil
      receiver.linkDidChange(.participantLeft(id, DepartureReason(reason)))
    case .published(let participant, let tracks):
      for track in tracks { receiver.linkDidChange(.streamAdded(Stream(track, of: participant))) }
    case .withdrawn(let participant, let tracks):
      for track in tracks { receiver.linkDidChange(.streamRemoved(.init(participant: participant, track: track))) }
    case .muted(let participant, let track, let muted):
      receiver.linkDidChange(.streamMuted(.init(participant: participant, track: track), muted))
    case .subscribed(let answer): for track in answer.tracks { begin(track) }
    case .data(let data): receiver.linkDidChange(.message(ReceivedMessage(data, isHistory: false)))
    case .dataReceipt(let receipt):
      if let failure = receipt.failure { receiver.linkDidChange(.failed(SessionError(failure))) }
    case .attributes(let participant, let attributes):
      receiver.linkDidChange(.attributesChanged(participant, attributes))
    case .speakers(let speakers):
      for (id, level) in speakers.levels { levels[id] = Int(level) }
      receiver.linkDidChange(.speakers(Koine.Speakers(levels: levels, dominant: speakers.dominant)))
    case .quality(let changes):
      receiver.linkDidChange(.quality(changes.compactMapValues { SignalQuality(rawValue: $0) }))
    case .wanted(let track, let layers):
      guard let handle = published.first(where: { $0.value.track == track })?.key else { return }
      published[handle]?.wanted = layers
      noteWantedBitrate()
      receiver.linkDidChange(.layersWanted(handle, layers))
    case .failed(_, let failure): receiver.linkDidChange(.failed(SessionError(failure)))
    case .ended(let reason): end(Koine.EndReason(reason))
    case .accepted, .unsubscribed, .pong, .registered, .incomingRing, .ringEnded, .ringProgress: break
    }
  }

  private func begin(_ track: ForwardedTrack) {
    guard
      let handle = subscribed.first(where: { $0.value.reference == track.reference && $0.value.receiver == nil })?.key,
      let parameters = StreamParameters(track.media)
    else { return }  // unsubscribed meanwhile
    let receiver = peer.addReceiver(parameters, mode: .frames)
    subscribed[handle]?.receiver = receiver
    handles[receiver] = handle
  }

  // MARK: Figures

  private func statistics(at now: Tick) -> LinkStatistics {
    let figures = peer.statistics(at: now)
    var result = LinkStatistics()
    result.roundTripTime = figures.roundTrip?.inMilliseconds
    result.availableBitrate = figures.availableBitrate
    for (handle, entry) in published {
      if let sent = figures.outgoing[entry.sender] { result.outgoing[handle] = .init(sent) }
    }
    for (receiver, handle) in handles {
      if let taken = figures.incoming[receiver] { result.incoming[handle] = .init(taken) }
    }
    return result
  }
}
