public import KoineBase
import KoineRTP
package import KoineTransport
public import RoomModel

/// The media of one participant over one peer connection: published and received tracks, named by `Track.ID`.
///
/// Independent of rooms and signalling: its owner exchanges `localDescription` and the stream parameters, or session descriptions,
/// with the other end by a protocol of its own. Sans-IO, with a single owner: after each call that takes a time, drain `poll` and
/// `pollEvent()`, and call `handleTimeout(at:)` no later than `deadline`. `PeerLoop` does this over UDP sockets or in virtual time.
///
///     publish, setRemote ─→ .connected ─→ send, .frame ─→ .failed ─→ restart, setRemote ─→ .connected ─→ close
///
/// When the path is lost, `restart` replaces the peer by another one; tracks keep their names and parameters.
public final class PeerMedia {
  /// What happens to the media.
  public enum Event: Sendable {
    /// Media can be sent in both directions, for the first time or again.
    case connected
    /// The path or the handshake has failed; `restart` makes another.
    case failed(String)
    /// The remote end has closed the connection.
    case closed
    /// A frame of a subscribed track is complete.
    case frame(EncodedFrame, of: Track.ID)
    /// A receiver needs a key frame of a published track. `layer` is its simulcast layer, 0 the smallest.
    case keyFrameRequested(Track.ID, layer: Int)
    /// What the path carries now, all published tracks together, in bit/s, and the fraction of packets lost, 0...1.
    case estimate(bitrate: Int, loss: Double)
  }

  /// The part that this end takes. ICE role, DTLS role and the part of the offerer are independent.
  public struct Configuration: Sendable {
    /// The role of this end in ICE (RFC 8445).
    public enum ICERole: Sendable, Hashable {
      /// Checks paths, and nominates one.
      case controlling
      /// Checks paths; the other end nominates one.
      case controlled
      /// Answers checks and makes none (RFC 8445, 2.5). For ends with a public address; the other end must be `controlling`.
      case lite
    }

    /// The role of this end in the DTLS handshake.
    public enum DTLSRole: Sendable, Hashable {
      /// Begins the handshake.
      case active
      /// Waits for the handshake.
      case passive
      /// Offers both parts (`actpass`, RFC 8842 section 5) and takes the one that the other end leaves; `active` where the other end
      /// offers both, too. One of two such ends must have the other's description before it sends its own.
      case either
    }

    /// The ICE role.
    public var iceRole: ICERole
    /// The DTLS role.
    public var dtlsRole: DTLSRole

    /// Creates a configuration.
    public init(iceRole: ICERole = .controlling, dtlsRole: DTLSRole = .active) {
      (self.iceRole, self.dtlsRole) = (iceRole, dtlsRole)
    }
  }

  /// What an offer says of its media, for the other end's signalling: which track each medium carries.
  public struct Offer: Sendable {
    /// As text (RFC 8866).
    public let sdp: String
    /// The track of each medium, by its mid.
    public let tracks: [String: Track.ID]
  }

  /// Why an offer or an answer cannot be used. Nothing has changed.
  public struct NegotiationError: Error, Hashable, CustomStringConvertible {
    public let description: String
  }

  private struct Publication {
    var parameters: StreamParameters
    var sender: SenderID
    /// Of its layers, in bit/s.
    let bitrates: [Int]
    /// The layers that receivers want.
    var wanted: [Int]
    /// Whether the other end takes the stream: false where its answer says that it does not.
    var isAccepted = true

    var wantedBitrate: Int { wanted.reduce(0) { $0 + (bitrates.indices.contains($1) ? bitrates[$1] : 0) } }
  }

  private struct Subscription {
    let parameters: StreamParameters
    var receiver: ReceiverID
  }

  private let configuration: PeerConfiguration
  private var peer: Peer
  private var addresses: [TransportAddress]
  private var random: SeededRandom
  private var publications: [Track.ID: Publication] = [:]
  private var subscriptions: [Track.ID: Subscription] = [:]
  private var sentTracks: [SenderID: Track.ID] = [:]
  private var receivedTracks: [ReceiverID: Track.ID] = [:]
  private var nextMid = 1
  private var negotiator: SDPNegotiator
  /// The media of this end's offers, in their places, with the track that each carries.
  private var offered: [(medium: SDPNegotiator.Medium, track: Track.ID)] = []
  /// The tracks that this end receives by its last answer.
  private var answered: Set<Track.ID> = []

  /// - Parameters:
  ///   - role: the part that this end takes.
  ///   - addresses: local addresses of the sockets that carry the datagrams.
  ///   - random: for keys, names and SSRCs that a seed repeats.
  ///   - trace: receives every RTP and RTCP packet in plaintext.
  package init(
    _ role: Configuration = Configuration(), addresses: [TransportAddress], random: SeededRandom, now: Tick,
    trace: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
  ) throws {
    let ice: ICEAgent.Role =
      switch role.iceRole {
      case .controlling: .full(controlling: true)
      case .controlled: .full(controlling: false)
      case .lite: .lite
      }
    let dtls: DTLSEndpoint.Role? =
      switch role.dtlsRole {
      case .active: .client
      case .passive: .server
      case .either: nil
      }
    var configuration = PeerConfiguration(ice: ice, dtls: dtls, certificate: try Certificate.shared())
    configuration.tracesPlaintext = trace
    (self.configuration, self.addresses, self.random) = (configuration, addresses, random)
    negotiator = SDPNegotiator(sessionID: String(self.random.next() >> 2))
    peer = try Peer(configuration: configuration, random: self.random.fork(), now: now)
    for address in addresses { peer.addLocalAddress(address) }
  }

  // MARK: Connection

  /// How the other end reaches this one. Changes with `restart`.
  public var localDescription: PeerDescription { peer.localDescription }

  /// Sets the description of the remote end. The connection starts with the first description.
  public func setRemote(_ description: PeerDescription, at now: Tick) { peer.setRemote(description, at: now) }

  /// A socket has another address now.
  package func addressChanged(from old: TransportAddress, to new: TransportAddress, at now: Tick) {
    for index in addresses.indices where addresses[index] == old { addresses[index] = new }
    peer.moveLocalAddress(from: old, to: new, at: now)
  }

  /// Checks the path at once if its last checks were not answered: signalling has reached the other end again.
  public func confirmPath(at now: Tick) { peer.confirmPath(at: now) }

  /// Replaces the peer by a new one with the same tracks. The other end restarts as well; the new descriptions are exchanged as at
  /// first.
  /// - Throws: if no new peer can be made (certificate, random numbers).
  public func restart(at now: Tick) throws {
    try replacePeer(at: now)
    for id in publications.keys.sorted(by: { $0.description < $1.description }) {
      guard let parameters = publications[id]?.parameters else { continue }
      let sender = peer.addSender(parameters)
      publications[id]?.sender = sender
      sentTracks[sender] = id
    }
    updateWantedBitrate()
    // Receivers of the old peer may have the numbers that the new one gives to others.
    let received = subscriptions
    subscriptions = [:]
    for (id, subscription) in received.sorted(by: { $0.key.description < $1.key.description }) {
      subscribe(to: id, as: subscription.parameters)
    }
  }

  /// Replaces the peer by a new one without tracks.
  /// - Throws: if no new peer can be made (certificate, random numbers).
  public func reset(at now: Tick) throws {
    try replacePeer(at: now)
    (publications, subscriptions) = ([:], [:])
  }

  private func replacePeer(at now: Tick) throws {
    let new = try Peer(configuration: configuration, random: random.fork(), now: now)
    for address in addresses { new.addLocalAddress(address) }
    peer = new
    (sentTracks, receivedTracks) = ([:], [:])
  }

  /// Says goodbye to the other end. No event follows; drain `poll` once more.
  public func close() { peer.close() }

  // MARK: Session descriptions

  /// Writes an offer of all published tracks and of media to receive others with. The other end answers it, and the answer goes to
  /// `setAnswer`. A medium keeps its place and its mid in later offers.
  /// - Parameter wanted: the tracks to receive, with their kinds. What an earlier offer wanted and this one does not is given up.
  public func makeOffer(receiving wanted: [Track.ID: Track.Kind] = [:]) -> Offer {
    for index in offered.indices {
      offered[index].medium.sending = publications[offered[index].track]?.parameters
      offered[index].medium.receives = wanted[offered[index].track] != nil
    }
    let known = Set(offered.map(\.track))
    for (id, publication) in publications.sorted(by: { $0.key.description < $1.key.description })
    where !known.contains(id) {
      let parameters = publication.parameters
      let medium = SDPNegotiator.Medium(
        mid: parameters.mid, isAudio: parameters.codec.isAudio, sending: parameters, receives: false)
      offered.append((medium, id))
    }
    for (id, kind) in wanted.sorted(by: { $0.key.description < $1.key.description }) where !known.contains(id) {
      let medium = SDPNegotiator.Medium(mid: "r\(nextMid)", isAudio: kind.isAudio, sending: nil, receives: true)
      nextMid += 1
      offered.append((medium, id))
    }
    for entry in offered where !entry.medium.receives { unsubscribe(from: entry.track) }
    let description = negotiator.offer(as: peer.localDescription, media: offered.map(\.medium))
    let tracks = Dictionary(
      offered.filter { $0.medium.sending != nil || $0.medium.receives }.map { ($0.medium.mid, $0.track) }
    ) { first, _ in first }
    return Offer(sdp: description.text, tracks: tracks)
  }

  /// Takes the answer to the offer made last: connects, and receives the tracks that the other end sends.
  /// - Throws: `NegotiationError` where the text is no answer to that offer.
  public func setAnswer(_ sdp: String, at now: Tick) throws(NegotiationError) {
    let answer = try Self.read(sdp)
    guard answer.description.media.map(\.mid) == offered.map(\.medium.mid) else {
      throw NegotiationError(description: "the answer's media are not those of the offer")
    }
    peer.setRemote(answer.peer, at: now)
    for (medium, entry) in zip(answer.description.media, offered) {
      publications[entry.track]?.isAccepted = medium.port != 0 && medium.direction.receives
      guard entry.medium.receives, medium.port != 0, medium.direction.sends,
        let parameters = StreamParameters(sentBy: medium, mid: entry.medium.mid)
      else {
        continue
      }
      receive(entry.track, as: parameters)
    }
  }

  /// Answers an offer of the other end: connects, receives the tracks that it sends, and sends the published ones that it wants.
  /// - Parameter tracks: the track of each medium, by its mid, as the other end's signalling says. A medium without a track is
  ///   answered as inactive.
  /// - Returns: the answer, as text.
  /// - Throws: `NegotiationError` where the text is no offer.
  public func answer(_ sdp: String, tracks: [String: Track.ID], at now: Tick) throws(NegotiationError) -> String {
    let offer = try Self.read(sdp)
    peer.setRemote(offer.peer, at: now)
    peer.extensions = HeaderExtensionMap(offer.description.extensionIDs)
    var receiving: [String: StreamParameters] = [:]
    var sending: [String: SDPNegotiator.OutgoingStream] = [:]
    for medium in offer.description.media where medium.port != 0 {
      guard let mid = medium.mid, let id = tracks[mid] else { continue }
      if medium.direction.sends, publications[id] == nil,
        let parameters = StreamParameters(sentBy: medium, mid: mid)
      {
        receiving[mid] = parameters
        receive(id, as: parameters)
      }
      if medium.direction.receives { sending[mid] = send(id, by: medium, mid: mid).map { .init($0, in: mid) } }
    }
    let received = Set(receiving.keys.compactMap { tracks[$0] })
    for id in answered.subtracting(received) { unsubscribe(from: id) }
    answered = received
    return negotiator.answer(
      offer.description, as: peer.localDescription, receiving: receiving, sending: sending
    ).description.text
  }

  private static func read(
    _ sdp: String
  ) throws(NegotiationError) -> (description: SessionDescription, peer: PeerDescription) {
    do {
      let description = try SessionDescription(parsing: sdp)
      return (description, try description.peerDescription())
    } catch {
      throw NegotiationError(description: "\(error)")
    }
  }

  /// Keeps a stream that goes on as it was.
  private func receive(_ id: Track.ID, as parameters: StreamParameters) {
    if subscriptions[id]?.parameters != parameters { subscribe(to: id, as: parameters) }
  }

  /// Sends a published track under the mid and the payload types of the medium that the other end receives it with.
  /// - Returns: nil where the track is not published, or the other end does not know its codec.
  private func send(_ id: Track.ID, by medium: MediaDescription, mid: String) -> StreamParameters? {
    guard let publication = publications[id],
      let format = medium.knownFormats.first(where: { $0.codec == publication.parameters.codec })
    else { return nil }
    var parameters = publication.parameters
    parameters.mid = mid
    parameters.payloadType = format.payloadType
    parameters.rtxPayloadType = format.rtxPayloadType
    parameters.redPayloadType = nil
    guard parameters != publication.parameters else { return parameters }
    peer.removeSender(publication.sender)
    sentTracks[publication.sender] = nil
    let sender = peer.addSender(parameters)
    publications[id]?.parameters = parameters
    publications[id]?.sender = sender
    sentTracks[sender] = id
    return parameters
  }

  // MARK: Publishing

  /// Publishes a track. Frames may be sent at once; they leave once the connection stands.
  /// - Returns: how the stream is sent, for the other end.
  public func publish(_ id: Track.ID, options: PublishOptions) -> StreamParameters {
    unpublish(id)
    let parameters = StreamParameters(
      mid: "p\(nextMid)", codec: options.codec,
      redPayloadType: options.codec.isAudio && options.usesRedundancy ? peer.remoteRedPayloadType : nil,
      encodings: options.layers.indices.map { layer in
        .init(rid: options.layers.count > 1 ? "l\(layer)" : nil, ssrc: makeSSRC(), rtxSSRC: makeSSRC())
      })
    nextMid += 1
    let sender = peer.addSender(parameters)
    publications[id] = Publication(
      parameters: parameters, sender: sender,
      bitrates: options.layers.map { min(max($0.maximumBitrate, 0), 1_000_000_000) },
      wanted: Array(options.layers.indices))
    sentTracks[sender] = id
    updateWantedBitrate()
    return parameters
  }

  private func makeSSRC() -> UInt32 { UInt32.random(in: 1 ... .max, using: &random) }

  /// Which simulcast layers receivers want, 0 the smallest; until it is called, all.
  public func setWantedLayers(_ layers: [Int], of id: Track.ID) {
    publications[id]?.wanted = layers
    updateWantedBitrate()
  }

  /// What would be sent if the path carried it, with 10 % for retransmissions and headers.
  private func updateWantedBitrate() {
    peer.want(publications.values.reduce(0) { $0 + $1.wantedBitrate } * 11 / 10)
  }

  /// Whether a track of this id is published.
  public func isPublished(_ id: Track.ID) -> Bool { publications[id] != nil }

  /// The published tracks, in no order.
  public var published: some Collection<Track.ID> { publications.keys }

  /// Withdraws a published track.
  /// - Returns: whether the track was published.
  @discardableResult
  public func unpublish(_ id: Track.ID) -> Bool {
    guard let publication = publications.removeValue(forKey: id) else { return false }
    sentTracks[publication.sender] = nil
    peer.removeSender(publication.sender)
    updateWantedBitrate()
    return true
  }

  /// Sends one frame of a published track. A frame of another track, and of one that the other end's answer has rejected, is dropped.
  public func send(_ frame: EncodedFrame, of id: Track.ID, at now: Tick) {
    guard let publication = publications[id], publication.isAccepted else { return }
    peer.send(frame, on: publication.sender, at: now)
  }

  // MARK: Receiving

  /// Receives a track that the other end sends with these parameters.
  public func subscribe(to id: Track.ID, as parameters: StreamParameters) {
    if let old = subscriptions[id] { stopReceiving(old.receiver) }
    let receiver = peer.addReceiver(parameters, mode: .frames)
    subscriptions[id] = Subscription(parameters: parameters, receiver: receiver)
    receivedTracks[receiver] = id
  }

  /// Ends the subscription to a track.
  public func unsubscribe(from id: Track.ID) {
    if let subscription = subscriptions.removeValue(forKey: id) { stopReceiving(subscription.receiver) }
  }

  private func stopReceiving(_ receiver: ReceiverID) {
    if receivedTracks.removeValue(forKey: receiver) != nil { peer.removeReceiver(receiver) }
  }

  /// Asks the other end for a key frame of a received track.
  public func requestKeyFrame(of id: Track.ID, at now: Tick) {
    if let subscription = subscriptions[id] { peer.requestKeyFrame(of: subscription.receiver, at: now) }
  }

  // MARK: Datagrams, events and time

  /// Takes a datagram, which is decrypted in place.
  package func handle(_ datagram: Bytes, from source: TransportAddress, to destination: TransportAddress, at now: Tick)
  {
    peer.handle(datagram, from: source, to: destination, at: now)
  }

  /// Writes the next datagram into `out` (at least 1,500 bytes), until nothing is due.
  package func poll(into out: UnsafeMutableRawBufferPointer, at now: Tick) -> Transmit? {
    peer.poll(into: out, at: now)
  }

  package func pollEvent() -> Event? {
    while let event = peer.pollEvent() {
      switch event {
      case .connected: return .connected
      case .failed(let reason): return .failed(reason)
      case .closed: return .closed
      case .frame(let receiver, let frame):
        if let id = receivedTracks[receiver] { return .frame(frame, of: id) }
      case .keyFrameRequested(let sender, let layer):
        if let id = sentTracks[sender] { return .keyFrameRequested(id, layer: layer) }
      case .estimate(let bitrate, let loss): return .estimate(bitrate: bitrate, loss: loss)
      case .packet, .senderReport, .mediaHold: break  // for routers
      }
    }
    return nil
  }

  package func handleTimeout(at now: Tick) { peer.handleTimeout(at: now) }
  package var deadline: Tick? { peer.deadline }
  package var deadlineReason: String { peer.deadlineReason }

  // MARK: Statistics

  /// The counters of all tracks so far.
  public func statistics(at now: Tick) -> MediaStatistics<Track.ID, Track.ID> {
    let counters = peer.statistics(at: now)
    var result = MediaStatistics<Track.ID, Track.ID>()
    result.roundTripTime = counters.roundTripTime
    result.availableBitrate = counters.availableBitrate
    result.dropped = counters.dropped
    for (sender, id) in sentTracks { result.outgoing[id] = counters.outgoing[sender] }
    for (receiver, id) in receivedTracks { result.incoming[id] = counters.incoming[receiver] }
    return result
  }
}
