import Koine
import KoineBase
import KoineRouter
import KoineSignaling
import KoineTransport

/// A participant's media: its peer, and what it sends and receives by its session's handles. When the path breaks, another
/// peer takes the old one's place under the same names.
final class ParticipantMedia {
  private struct Published {
    let track: String
    let parameters: StreamParameters
    var sender: SenderID
    /// Of its layers, in bit/s.
    let bitrates: [Int]
    /// The layers that anybody wants.
    var wanted: [Int]

    var wantedBitrate: Int { wanted.reduce(0) { $0 + (bitrates.indices.contains($1) ? bitrates[$1] : 0) } }
  }

  private struct Subscribed {
    let reference: Track.ID
    var parameters: StreamParameters?
    var receiver: ReceiverID?
  }

  private let configuration: PeerConfiguration
  private(set) var peer: Peer
  private var addresses: [SocketAddress]
  private var random: SeededRandom
  private var published: [MediaHandle: Published] = [:]
  private var subscribed: [MediaHandle: Subscribed] = [:]
  private var handles: [ReceiverID: MediaHandle] = [:]
  private var nextMid = 1
  /// Answers to `restartMedia` that are still to come; only the last one is for the peer there is.
  private var awaitedAnswers = 0

  init(
    addresses: [SocketAddress], random: SeededRandom, now: Tick, trace: (@Sendable (UnsafeRawBufferPointer) -> Void)?
  ) throws {
    var configuration = PeerConfiguration(role: .client, certificate: try Certificate.shared())
    configuration.tracesPlaintext = trace
    (self.configuration, self.addresses, self.random) = (configuration, addresses, random)
    peer = try Peer(configuration: configuration, random: self.random.fork(), now: now)
    for address in addresses { peer.addLocalAddress(address) }
  }

  var description: Description { Description(peer.localDescription) }

  func addressChanged(from old: SocketAddress, to new: SocketAddress, at now: Tick) {
    for index in addresses.indices where addresses[index] == old { addresses[index] = new }
    peer.moveLocalAddress(from: old, to: new, at: now)
  }

  // MARK: Another peer

  /// Forgets everything and begins with a peer of its own.
  func beginAnew(at now: Tick) throws {
    try replacePeer(at: now)
    (published, subscribed, handles, awaitedAnswers) = ([:], [:], [:], 0)
  }

  /// Another peer with the same streams, to be announced by `restartMedia`.
  func restart(at now: Tick) throws {
    try replacePeer(at: now)
    awaitedAnswers += 1
    handles = [:]
    for handle in published.keys.sorted() {
      guard let entry = published[handle] else { continue }
      published[handle]?.sender = peer.addSender(entry.parameters)
    }
    noteWantedBitrate()
    for handle in subscribed.keys.sorted() {
      guard let parameters = subscribed[handle]?.parameters else { continue }
      receive(parameters, as: handle)
    }
  }

  func restarted(_ description: Description, at now: Tick) {
    awaitedAnswers -= 1
    if awaitedAnswers == 0 { peer.setRemote(PeerDescription(description), at: now) }
  }

  private func replacePeer(at now: Tick) throws {
    let new = try Peer(configuration: configuration, random: random.fork(), now: now)
    for address in addresses { new.addLocalAddress(address) }
    peer = new
  }

  // MARK: Sending

  /// - Returns: how the stream is sent.
  func publish(_ track: String, as handle: MediaHandle, _ options: PublishOptions) -> Media {
    let parameters = StreamParameters(
      mid: "p\(nextMid)", codec: options.codec, payloadType: options.codec.payloadType,
      rtxPayloadType: options.codec.payloadType + 1,
      redPayloadType: options.codec.isAudio ? peer.remoteRedPayloadType : nil,
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
      track: track, parameters: parameters, sender: peer.addSender(parameters),
      bitrates: options.layers.map { min(max($0.maximumBitrate, 0), 1_000_000_000) },
      wanted: Array(options.layers.indices))
    noteWantedBitrate()
    return media
  }

  /// So much would go out if the path carried it.
  private func noteWantedBitrate() {
    peer.wantedBitrate = published.values.reduce(0) { $0 + $1.wantedBitrate } * 11 / 10
  }

  /// - Returns: whose layers they are.
  func wanted(_ layers: [Int], of track: String) -> MediaHandle? {
    guard let handle = published.first(where: { $0.value.track == track })?.key else { return nil }
    published[handle]?.wanted = layers
    noteWantedBitrate()
    return handle
  }

  private func makeSSRC() -> UInt32 { UInt32.random(in: 1 ... .max, using: &random) }

  func track(_ handle: MediaHandle) -> String? { published[handle]?.track }

  /// - Returns: its track, if it is published.
  func unpublish(_ handle: MediaHandle) -> String? {
    guard let entry = published.removeValue(forKey: handle) else { return nil }
    peer.removeSender(entry.sender)
    noteWantedBitrate()
    return entry.track
  }

  func send(_ frame: EncodedFrame, of handle: MediaHandle, at now: Tick) {
    if let entry = published[handle] { peer.send(frame, on: entry.sender, at: now) }
  }

  func handle(of sender: SenderID) -> MediaHandle? { published.first { $0.value.sender == sender }?.key }

  // MARK: Receiving

  func subscribe(to reference: Track.ID, as handle: MediaHandle) {
    subscribed[handle] = Subscribed(reference: reference)
  }

  func reference(_ handle: MediaHandle) -> Track.ID? { subscribed[handle]?.reference }

  /// - Returns: what it was, if it is subscribed.
  func unsubscribe(_ handle: MediaHandle) -> Track.ID? {
    guard let entry = subscribed.removeValue(forKey: handle) else { return nil }
    if let receiver = entry.receiver {
      handles[receiver] = nil
      peer.removeReceiver(receiver)
    }
    return entry.reference
  }

  /// The router begins to send it.
  func begin(_ track: ForwardedTrack) {
    guard
      let handle = subscribed.first(where: { $0.value.reference == track.reference && $0.value.receiver == nil })?.key,
      let parameters = StreamParameters(track.media)
    else { return }  // unsubscribed meanwhile
    subscribed[handle]?.parameters = parameters
    receive(parameters, as: handle)
  }

  private func receive(_ parameters: StreamParameters, as handle: MediaHandle) {
    let receiver = peer.addReceiver(parameters, mode: .frames)
    subscribed[handle]?.receiver = receiver
    handles[receiver] = handle
  }

  func requestKeyFrame(of handle: MediaHandle, at now: Tick) {
    if let receiver = subscribed[handle]?.receiver { peer.requestKeyFrame(of: receiver, at: now) }
  }

  func handle(of receiver: ReceiverID) -> MediaHandle? { handles[receiver] }

  // MARK: Figures

  func statistics(at now: Tick) -> LinkStatistics {
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
