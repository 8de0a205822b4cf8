package import KoineBase
package import KoineRTP

/// One remote end: ICE, DTLS, SRTP, and the RTP streams in both directions.
///
/// Sans-IO with a single owner: no clock, socket, lock or thread inside. After each call that takes a time, drain
/// `poll(into:at:)` and `pollEvent()`, then call `handleTimeout(at:)` no later than `deadline`. Time never goes backwards.
///
///     setRemote ─→ ICE finds a path ─→ DTLS handshake, fingerprint checked ─→ keys ─→ .connected: media both ways ─→ close
///
/// After `close()`, drain `poll` once more: it yields the goodbyes.
package final class Peer {
  package private(set) var configuration: PeerConfiguration
  package let localCredentials: ICECredentials
  var ice: ICEAgent
  let dtls: DTLSEndpoint
  var srtp: SRTPSession?
  var random: SeededRandom
  var events = EventQueue()
  var pool = BytesPool(capacity: 1_400, limit: 512)

  var senders: [Int: Sender] = [:]
  var sendersBySSRC: [UInt32: (sender: Int, layer: Int)] = [:]
  var receivers: [RTPReceiveStream] = []
  var routes: [UInt32: Route] = [:]
  var nextID = 1
  var pacer: Pacer
  var estimator: BandwidthEstimator
  /// The cluster that is under way.
  var probe: ProbeControl.Cluster?
  /// Under which Koine's own peers take audio that repeats earlier payloads (RFC 2198).
  private static let redPayloadType: UInt8 = 113
  /// The same of the other end, if it takes any and is described by signalling rather than SDP.
  package private(set) var remoteRedPayloadType: UInt8?
  /// What retransmissions take of the path.
  var retransmitting = SendMeter()
  /// What would be sent if the path carried it, in bit/s; for as long as that is more than it is known to carry, it is
  /// probed now and then.
  package var wantedBitrate = 0
  var arrivals = ArrivalRecorder()
  var roundTrip: Duration?
  var activity: RemoteActivity
  var nextReport: Tick?
  /// No later than anything a received stream wants to do next.
  var feedbackDue: Tick?
  var remoteClock = ClockMap()
  var pendingControl: [RTCP] = []
  var lastFullIntra: [UInt32: UInt8] = [:]
  var lastEstimate = 0
  var lastCapacity = 0
  var dropped = 0
  /// For packets that are put together in pieces.
  let scratch = Bytes(capacity: 1_600)
  var wantedSequences: [UInt16] = []
  var payloads: [Bytes] = []
  let localSSRC: UInt32
  /// RFC 7022: says that all sources are of one end, and nothing else.
  let canonicalName: String
  private var localAddresses: [TransportAddress] = []
  /// What came before the keys: the other end may have them a little earlier.
  private var earlyMedia: [Bytes] = []
  private(set) var isClosing = false
  private var isOver = false

  private static let earlyMediaLimit = 64

  /// Where a received source belongs.
  struct Route {
    var stream: Int
    var isRetransmission: Bool
  }

  package init(configuration: PeerConfiguration, random: SeededRandom, now: Tick) throws {
    self.configuration = configuration
    self.random = random
    localCredentials = ICECredentials.random(using: &self.random)
    ice = ICEAgent(
      role: configuration.ice, local: localCredentials, random: self.random.fork(), now: now)
    dtls = try DTLSEndpoint(role: configuration.dtls, certificate: configuration.certificate)
    pacer = Pacer(targetBitrate: configuration.startBitrate, now: now)
    estimator = BandwidthEstimator(
      limits: .init(
        minimum: configuration.minimumBitrate, start: configuration.startBitrate, maximum: configuration.maximumBitrate)
    )
    activity = RemoteActivity(now: now)
    localSSRC = UInt32.random(in: 1 ... .max, using: &self.random)
    canonicalName = String(self.random.next(), radix: 36)
  }

  // MARK: Descriptions

  /// Which header extension goes by which number from now on.
  package var extensions: HeaderExtensionMap {
    get { configuration.extensions }
    set { configuration.extensions = newValue }
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

  /// What is sent now leaves: there are keys, and a path.
  var isOpen: Bool { isConnected && ice.selected != nil }

  /// Whether the other end has shown, by a check with the right password, that it is there too.
  package func isReached(from source: TransportAddress) -> Bool { path?.remote == source || ice.isProven(source) }

  /// Whether the other end has shown that it receives at `source` what is sent there; a check alone can bear a forged source.
  package func isValidated(_ source: TransportAddress) -> Bool { ice.isValidated(source) }

  /// Transaction ids of this peer's unanswered checks to `source`. An answer with integrity validates the address.
  package func questions(to source: TransportAddress) -> [STUNMessage.TransactionID] { ice.questions(to: source) }

  /// For how long nothing has come that only the other end can have sent.
  package func silence(at now: Tick) -> Duration { now - activity.lastReceived }

  /// The other end has asked for something by signalling: what is held back for its silence goes on.
  /// - Returns: whether something was held back.
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

  package var deadline: Tick? {
    guard !isOver, !isClosing else { return nil }
    return ice.deadline.sooner(dtls.deadline).sooner(mediaDeadline)
  }

  // MARK: Datagrams and events out

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    if let transmit = ice.poll(into: out) { return transmit }
    guard let (local, remote) = ice.selected, !isOver else { return nil }
    guard let count = isClosing ? pollGoodbye(into: out, at: now) : pollDTLS(into: out) ?? pollMedia(into: out, at: now)
    else { return nil }
    return Transmit(count: count, source: local, destination: remote)
  }

  /// Nobody may be sent a handshake that somebody else began: where the path is not validated, it waits for more to come.
  private func pollDTLS(into out: UnsafeMutableRawBufferPointer) -> Int? {
    guard let next = dtls.nextSize, ice.admits(next), let count = dtls.poll(into: out) else { return nil }
    ice.sent(count)
    return count
  }

  package func pollEvent() -> PeerEvent? { events.popFirst() }

  // MARK: The end

  /// Says goodbye to the other end (RTCP BYE, then DTLS close_notify) and does nothing more. No event follows.
  package func close() {
    guard !isOver, !isClosing else { return }
    isClosing = true
    earlyMedia = []
    let sources = senders.keys.sorted().flatMap { senders[$0]?.parameters.encodings.map(\.ssrc) ?? [] }
    pendingControl = sources.isEmpty ? [] : [.goodbye(Array(sources.prefix(31)))]
  }

  private func pollGoodbye(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Int? {
    if let srtp, let count = pollControl(into: out, srtp, at: now) { return count }
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
      case .disconnected: end("the path was lost: no consent from the other end")
      case .failed: end("no path to the other end was found")
      }
    }
    switch dtls.state {
    case .connected(let keys) where srtp == nil: begin(with: keys, at: now)
    case .failed(let error): end("the handshake failed: \(error)")
    case .closed where srtp != nil: end(.closed)
    default: break
    }
  }

  private func begin(with keys: SRTPKeys, at now: Tick) {
    do {
      srtp = try SRTPSession.make(keys)
      ice.validateSelected()  // the handshake depends on what was sent there
      nextReport = now + .milliseconds(50)
      events.append(.connected)
    } catch {
      return end("the keys cannot be used: \(error)")
    }
    for id in senders.keys.sorted() {
      guard let sender = senders[id], sender.missedFrames, !sender.parameters.codec.isAudio else { continue }
      for layer in sender.streams.indices { events.append(.keyFrameRequested(SenderID(value: id), layer: layer)) }
    }
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

  private func end(_ reason: String) { end(.failed(reason)) }

  private func end(_ event: PeerEvent) {
    guard !isOver else { return }
    isOver = true
    earlyMedia = []
    events.append(event)
  }
}

/// Events that wait to be polled; keeps its memory.
struct EventQueue {
  private var items: [PeerEvent] = []
  private var head = 0

  mutating func append(_ event: PeerEvent) { items.append(event) }

  mutating func popFirst() -> PeerEvent? {
    guard head < items.count else {
      items.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
    defer { head += 1 }
    return items[head]
  }
}
