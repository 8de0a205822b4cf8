package import KoineBase
package import KoineRTP

/// One remote end: ICE, DTLS, SRTP, and the RTP streams in both directions.
///
/// Sans-IO with a single owner: no clock, socket, lock or thread inside. After each call that takes a time, drain
/// `poll(into:at:)` and `pollEvent()`, then call `handleTimeout(at:)` no later than `deadline`. Time never goes backwards.
///
/// All calls are the owner's, one after the other, and no access to a variable lasts while another one to it begins. So the run-time
/// check of that (`exclusivity`) is left out here and in the parts: it was a quarter of a packet's instructions.
///
/// Its parts have their own state: `ICEAgent` the path, `DTLSEndpoint` and `SRTPSession` the keys, `PeerSender` and `PeerReceiver` the
/// streams, `ControlQueue` the RTCP.
///
///     setRemote ─→ ICE finds a path ─→ DTLS handshake, fingerprint checked ─→ keys ─→ .connected: media both ways ─→ close
///
/// After `close()`, drain `poll` once more: it yields the goodbyes.
package final class Peer {
  package private(set) var configuration: PeerConfiguration
  package let localCredentials: ICECredentials
  private let ice: ICEAgent
  private let dtls: DTLSEndpoint
  @exclusivity(unchecked) private var srtp: SRTPSession?
  @exclusivity(unchecked) private var random: SeededRandom
  private let events = EventQueue()
  private let control: ControlQueue
  private let sender: PeerSender
  private let receiver: PeerReceiver
  @exclusivity(unchecked) private var activity: RemoteActivity
  private let trace: PlaintextTrace
  @exclusivity(unchecked) private var nextID = 1
  @exclusivity(unchecked) private var dropped = 0
  /// The payload type under which Koine's own peers receive redundant audio (RFC 2198).
  private static let redPayloadType: UInt8 = 113
  /// The payload type under which the other end receives redundant audio; nil if it receives none, or is described by SDP.
  package private(set) var remoteRedPayloadType: UInt8?
  @exclusivity(unchecked) private var localAddresses: [TransportAddress] = []
  /// Media that arrived before the keys: the other end may have the keys a little earlier.
  @exclusivity(unchecked) private var earlyMedia: [Bytes] = []
  @exclusivity(unchecked) private var isClosing = false
  @exclusivity(unchecked) private var isOver = false

  private static let earlyMediaLimit = 64

  package init(configuration: PeerConfiguration, random: SeededRandom, now: Tick) throws {
    self.configuration = configuration
    self.random = random
    localCredentials = ICECredentials.random(using: &self.random)
    ice = ICEAgent(
      role: configuration.ice, local: localCredentials, random: self.random.fork(), now: now)
    dtls = try DTLSEndpoint(role: configuration.dtls, certificate: configuration.certificate)
    control = ControlQueue(random: &self.random)
    trace = PlaintextTrace(configuration.tracesPlaintext)
    sender = PeerSender(configuration, events: events, control: control, trace: trace, now: now)
    receiver = PeerReceiver(
      extensions: configuration.extensions, isServer: configuration.ice == .lite, events: events, control: control)
    activity = RemoteActivity(now: now)
  }

  // MARK: Descriptions

  /// Which header extension goes by which number from now on.
  package var extensions: HeaderExtensionMap {
    get { configuration.extensions }
    set {
      configuration.extensions = newValue
      (sender.extensions, receiver.extensions) = (newValue, newValue)
    }
  }

  package func addLocalAddress(_ address: TransportAddress) {
    localAddresses.append(address)
    ice.addLocal(address)
  }

  /// Our address has become another, as when a telephone changes networks: the path is found again, with the same keys.
  package func moveLocalAddress(from old: TransportAddress, to new: TransportAddress, at now: Tick) {
    guard let index = localAddresses.firstIndex(of: old) else { return }
    localAddresses[index] = new
    ice.moveLocal(from: old, to: new, at: now)
    handleTimeout(at: now)
  }

  /// Checks the path at once if its last checks were not answered: the other end has been reached by signalling again.
  package func confirmPath(at now: Tick) { ice.confirmSelected(at: now) }

  package var localDescription: PeerDescription {
    PeerDescription(
      ice: localCredentials, candidates: localAddresses.map { ICECandidate(host: $0) },
      fingerprint: configuration.certificate.fingerprint, isLite: configuration.ice == .lite,
      setup: setup, redPayloadType: Self.redPayloadType)
  }

  private var setup: PeerDescription.Setup {
    switch dtls.role {
    case .client: .active
    case .server: .passive
    case nil: .actpass
    }
  }

  package func setRemote(_ description: PeerDescription, at now: Tick) {
    remoteRedPayloadType = description.redPayloadType
    // RFC 8842, 5.3: the side that answers `actpass` should be active.
    if dtls.role == nil { dtls.setRole(description.setup == .active ? .server : .client) }
    dtls.setRemote(description.fingerprint)
    ice.setRemote(description.ice)
    for candidate in description.candidates { ice.addRemote(candidate) }
    ice.handleTimeout(at: now)
    settle(at: now)
  }

  package var isConnected: Bool { srtp != nil && !isOver && !isClosing }

  /// Whether media can be sent now: the peer has keys and a selected path.
  private var isOpen: Bool { isConnected && ice.selected != nil }

  /// Whether the other end has shown, by a check with the right password, that it is there too.
  package func isReached(from source: TransportAddress) -> Bool { path?.remote == source || ice.isProven(source) }

  /// Whether the other end has shown that it receives datagrams at `source`. A check alone can bear a forged source.
  package func isValidated(_ source: TransportAddress) -> Bool { ice.isValidated(source) }

  /// Transaction ids of this peer's unanswered checks to `source`. An answer with integrity validates the address.
  package func questions(to source: TransportAddress) -> [STUNMessage.TransactionID] { ice.questions(to: source) }

  /// How long the peer has received no authenticated datagram of the other end.
  package func silence(at now: Tick) -> Duration { now - activity.lastReceived }

  /// Resumes media that is held back because the other end is silent. Call it when the other end has sent a request by signalling.
  /// - Returns: whether media was held back.
  package func expectAnswer() -> Bool { activity.restart() }

  private func heard(at now: Tick) { if activity.received(at: now) { events.append(.mediaHold(.none)) } }

  /// Where packets go now.
  package var path: (local: TransportAddress, remote: TransportAddress)? { ice.selected }

  // MARK: Datagrams in

  /// Takes a datagram, which is decrypted in place: the caller must not use it afterwards, but may share it.
  package func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  {
    guard !isOver, !isClosing, let first = datagram.readable.first else { return }
    switch first {  // RFC 7983
    case 0...3:
      let before = ice.authenticated
      ice.handle(datagram.readable, from: source, to: destination, at: now)
      if ice.authenticated != before { heard(at: now) }
    case 20...63:
      ice.received(datagram.count, from: source, to: destination)
      guard ice.selected != nil else { break }  // no handshake before there is a path
      if case .new = dtls.state { dtls.start(at: now) }
      dtls.handle(datagram.readable, at: now)
    case 128...191:
      if srtp == nil {
        keepEarly(datagram)
      } else if handleMedia(datagram, at: now) {
        heard(at: now)
        ice.used(from: source, to: destination, at: now)
        receiver.collectArrivals(at: now, isAwake: true)
      }
    default: dropped += 1
    }
    settle(at: now)
  }

  package func handleTimeout(at now: Tick) {
    guard !isOver, !isClosing else { return }
    ice.handleTimeout(at: now)
    dtls.handleTimeout(at: now)
    handleMediaTimeout(at: now)
    settle(at: now)
  }

  private func handleMediaTimeout(at now: Tick) {
    guard isOpen else { return }
    if let due = control.reportDue, now >= due {
      let blocks = receiver.blocks(at: now)
      control.addReports(sender.reports(at: now), blocks, at: now)
      sender.checkSilence(at: now)
      sender.forgetPaused(at: now)
    }
    if activity.handleTimeout(at: now) { events.append(.mediaHold(activity.hold)) }
    receiver.collectFeedback(at: now)
    receiver.collectArrivals(at: now)
  }

  package var deadline: Tick? {
    guard !isOver, !isClosing else { return nil }
    return ice.deadline.sooner(dtls.deadline).sooner(mediaDeadline)
  }

  private var mediaDeadline: Tick? {
    guard isOpen else { return nil }
    return control.reportDue.sooner(receiver.arrivalsDeadline).sooner(sender.paceDeadline)
      .sooner(receiver.feedbackDeadline).sooner(sender.probeDeadline).sooner(activity.deadline)
  }

  /// What `deadline` waits for.
  package var deadlineReason: String {
    guard isOpen else { return soonestDeadline(["ICE": ice.deadline, "DTLS": dtls.deadline]) }
    return soonestDeadline([
      "ICE": ice.deadline, "DTLS": dtls.deadline, "RTCP report": control.reportDue,
      "transport-wide feedback": receiver.arrivalsDeadline, "pacer": sender.paceDeadline,
      "NACK or key frame request": receiver.feedbackDeadline, "bandwidth probe": sender.probeDeadline,
      "silence of the other end": activity.deadline,
    ])
  }

  // MARK: Datagrams and events out

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    if let transmit = ice.poll(into: out) { return transmit }
    guard let (local, remote) = ice.selected, !isOver else { return nil }
    guard let count = isClosing ? pollGoodbye(into: out) : pollDTLS(into: out) ?? pollMedia(into: out, at: now)
    else { return nil }
    return Transmit(count: count, source: local, destination: remote)
  }

  private func pollMedia(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Int? {
    guard let srtp else { return nil }
    if let count = control.poll(into: out, srtp, trace) { return count }
    guard let sent = sender.poll(into: out, srtp, at: now) else { return nil }
    if configuration.ice == .lite, let isVideo = sent.isVideo { activity.sentMedia(isVideo: isVideo, at: now) }
    return sent.count
  }

  /// A forged source address must not make us send a handshake to a victim. On a path that is not validated, a flight waits until
  /// enough bytes have arrived from there.
  private func pollDTLS(into out: UnsafeMutableRawBufferPointer) -> Int? {
    guard let next = dtls.nextSize, ice.admits(next), let count = dtls.poll(into: out) else { return nil }
    ice.sent(count)
    return count
  }

  package func pollEvent() -> PeerEvent? { events.popFirst() }
  package var hasEvents: Bool { !events.isEmpty }

  // MARK: The end

  /// Says goodbye to the other end (RTCP BYE, then DTLS close_notify) and does nothing more. No event follows.
  package func close() {
    guard !isOver, !isClosing else { return }
    isClosing = true
    earlyMedia = []
    control.sendGoodbye(sender.allSources)
  }

  private func pollGoodbye(into out: UnsafeMutableRawBufferPointer) -> Int? {
    if let srtp, let count = control.poll(into: out, srtp, trace) { return count }
    dtls.close()
    if let count = pollDTLS(into: out) { return count }
    isOver = true
    return nil
  }

  // MARK: Between the parts

  /// Lets what one part found out reach the others.
  private func settle(at now: Tick) {
    guard !isClosing else { return }
    while let event = ice.pollEvent() {
      switch event {
      case .connected:
        if srtp != nil { events.append(.connected) }  // found again, from another address of ours
        if dtls.role == .client, case .new = dtls.state { dtls.start(at: now) }
      case .pairChanged: break
      case .disconnected: fail("the path was lost: no consent from the other end")
      case .failed: fail("no path to the other end was found")
      }
    }
    if srtp != nil, dtls.isConnected { return }
    switch dtls.state {
    case .connected(let keys) where srtp == nil: startSRTP(with: keys, at: now)
    case .failed(let error): fail("the handshake failed: \(error)")
    case .closed where srtp != nil: finish(.closed)
    default: break
    }
  }

  private func startSRTP(with keys: SRTPKeys, at now: Tick) {
    do {
      startSRTP(with: try SRTPSession.make(keys), at: now)
    } catch {
      fail("the keys cannot be used: \(error)")
    }
  }

  func startSRTP(with session: SRTPSession, at now: Tick) {
    srtp = session
    ice.validateSelected()  // the completed handshake proves that the other end receives on this path
    control.start(at: now)
    events.append(.connected)
    sender.requestMissedFrames()
    for datagram in earlyMedia { handleMedia(datagram, at: now) }
    earlyMedia = []
  }

  private func keepEarly(_ datagram: Bytes) {
    guard ice.selected != nil, earlyMedia.count < Self.earlyMediaLimit else {
      dropped += 1
      return
    }
    earlyMedia.append(datagram)
  }

  private func fail(_ reason: String) { finish(.failed(reason)) }

  private func finish(_ event: PeerEvent) {
    guard !isOver else { return }
    isOver = true
    earlyMedia = []
    events.append(event)
  }

  // MARK: Media and RTCP in

  /// - Returns: whether the packet is authentic: it was encrypted with the peer's keys, and is no replay.
  @discardableResult
  private func handleMedia(_ datagram: Bytes, at now: Tick) -> Bool {
    guard let srtp else {
      dropped += 1
      return false
    }
    var isAuthentic = false
    let bytes = UnsafeMutableRawBufferPointer(rebasing: datagram.writable[..<datagram.count])
    do {
      if RTPPacket.isRTCP(datagram.readable) {
        datagram.count = try srtp.unprotectRTCP(bytes)
        isAuthentic = true
        trace(datagram.readable)
        try RTCP.forEach(in: datagram.readable) { handle($0, at: now) }
      } else {
        datagram.count = try srtp.unprotectRTP(bytes)
        isAuthentic = true
        trace(datagram.readable)
        try receiver.handle(datagram, at: now)
      }
    } catch {
      dropped += 1
    }
    return isAuthentic
  }

  private func handle(_ packet: RTCP, at now: Tick) {
    switch packet {
    case .senderReport(let report):
      receiver.handleSenderReport(report, at: now)
      sender.handleReportBlocks(report.blocks, at: now)
    case .receiverReport(_, let blocks): sender.handleReportBlocks(blocks, at: now)
    case .nack(let nack): sender.handleNACK(nack, at: now)
    case .pictureLoss(_, let media): sender.keyFrameRequested(media, at: now)
    case .fullIntraRequest(_, let entries): sender.handleFullIntraRequest(entries, at: now)
    case .transportFeedback(let feedback): sender.handleFeedback(feedback, at: now)
    case .estimate(let estimate): sender.handleRemoteEstimate(estimate.bitrate, at: now)
    case .sourceDescription, .goodbye, .unknown: break  // streams come and go by signalling
    }
  }

  // MARK: Streams in

  /// Receives a stream, as whole frames or packet by packet.
  package func addReceiver(_ parameters: StreamParameters, mode: ReceiveMode) -> ReceiverID {
    let id = ReceiverID(value: makeID())
    receiver.add(parameters, mode: mode, as: id)
    return id
  }

  package func removeReceiver(_ id: ReceiverID) { receiver.remove(id) }

  /// Asks the sender for a key frame: with the next `poll`, or as soon as `KeyFrameRequester` allows another request. Has no effect
  /// on a layer while its SSRC is unknown.
  package func requestKeyFrame(of id: ReceiverID, layer: Int = 0, at now: Tick) {
    receiver.requestKeyFrame(of: id, layer: layer)
    if isOpen { receiver.collectFeedback(at: now) }
  }

  /// Whether a layer's packets have said, or signalling has, which source they come from.
  package func knowsSource(of id: ReceiverID, layer: Int) -> Bool { receiver.knowsSource(of: id, layer: layer) }

  // MARK: Streams out

  package func addSender(_ parameters: StreamParameters) -> SenderID {
    let id = SenderID(value: makeID())
    sender.add(parameters, as: id, random: &random)
    return id
  }

  package func removeSender(_ id: SenderID) {
    let sources = sender.remove(id)
    if srtp != nil, !sources.isEmpty { control.append(.goodbye(sources)) }
  }

  private func makeID() -> Int {
    defer { nextID += 1 }
    return nextID
  }

  /// Sends one frame (clients). Until the peer is connected frames are dropped; a key frame is asked for as soon as it is.
  package func send(_ frame: EncodedFrame, on id: SenderID, at now: Tick) {
    isOpen ? sender.send(frame, on: id, at: now) : sender.missedFrame(of: id)
  }

  /// Passes on a packet that was received elsewhere (the router), under this stream's own names and numbers; its payload stays shared.
  /// - Parameter numbers: replace those in the payload's descriptor.
  package func forward(
    _ shared: SharedPacket, on id: SenderID, sequence: UInt16, timestamp: UInt32, numbers: FrameNumbers? = nil,
    at now: Tick
  ) {
    guard isOpen else { return }
    sender.forward(shared, on: id, sequence: sequence, timestamp: timestamp, numbers: numbers, at: now)
  }

  /// Drops the stream's packets that wait to be sent, because a key frame follows.
  package func dropQueued(of id: SenderID) { sender.dropQueued(of: id) }

  /// The capture time and timestamp that sender reports of the forwarded stream count from.
  package func anchorReports(of id: SenderID, captured: Tick, timestamp: UInt32) {
    sender.anchorReports(of: id, captured: captured, timestamp: timestamp)
  }

  /// How many earlier payloads each packet of an audio stream repeats now, 0...2.
  package func copies(on id: SenderID) -> Int { sender.copies(on: id) }

  // MARK: The path out

  /// The estimated capacity of the path to the other end, in bit/s. The bitrate of `PeerEvent.estimate` may be less for a moment.
  package var capacity: Int { sender.capacity }

  /// The loss of the stream on its way here, 0...1, and how long a lost packet takes until its retransmission is here. Of its layers that
  /// arrive, the one that loses most.
  package func recovery(of id: ReceiverID, at now: Tick) -> (loss: Double, time: Duration) {
    receiver.recovery(of: id, at: now)
  }

  /// Lets the receiver of a video stream hold frames back for so long, besides what the path to it needs (`PlayoutDelay`).
  package func setSource(loss: Double, delay: Duration, of id: SenderID, at now: Tick) {
    sender.setSource(loss: loss, delay: delay, of: id, at: now)
  }

  /// The loss of packets to the other end, 0...1, smoothed over about a second of a stream.
  package var outgoingLoss: Double { sender.loss }

  /// Whether feedback has stopped: the path may be gone, and its capacity is not known.
  package var isSilent: Bool { sender.isSilent }

  /// Sets the bitrate that would be sent if the path carried it, in bit/s. While it is more than the estimated capacity, the path is
  /// probed now and then.
  package func want(_ bitrate: Int) { sender.want(bitrate) }

  /// Sets the wanted bitrate, in bit/s, and probes a path on which nothing is sent because it is too narrow: without packets no
  /// feedback comes that would measure it again. Called again and again while that lasts.
  /// - Returns: whether there is something to be polled.
  package func want(_ bitrate: Int, at now: Tick) -> Bool {
    want(bitrate)
    return isConnected && sender.probeQuietPath(at: now)
  }

  package func statistics(at now: Tick) -> MediaStatistics<SenderID, ReceiverID> {
    var result = MediaStatistics<SenderID, ReceiverID>()
    result.outgoing = sender.statistics
    result.incoming = receiver.statistics
    result.roundTripTime = control.roundTrip?.inMilliseconds
    result.availableBitrate = sender.capacity
    result.dropped = dropped + sender.dropped + receiver.dropped + control.dropped
    return result
  }
}
