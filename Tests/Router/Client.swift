import KoineBase
import KoineSignaling
import KoineSignalingHost
import KoineSimulatedNetwork
import KoineTransport
import Testing

@testable import KoineRouter

extension ServerMessage {
  /// Of a refusal or a failure.
  var code: Failure.Code? {
    switch self {
    case .refused(let failure, _), .failed(_, let failure): failure.code
    case .dataReceipt(let receipt): receipt.failure?.code
    default: nil
    }
  }
}

extension Result<RoomAnswer, RoomControlError> {
  /// Of a command that was not carried out.
  var code: RoomControlError.Code? { if case .failure(let error) = self { error.code } else { nil } }

  var room: RoomDetails? { if case .success(.room(let room)) = self { room } else { nil } }

  var rooms: [RoomSummary]? { if case .success(.rooms(let rooms)) = self { rooms } else { nil } }
}

/// A participant's client.
final class Client {
  let number: Int
  let connection: ConnectionID
  /// As the router knows the client.
  var id: ClientID { ClientID(connection.value) }
  let address: TransportAddress
  let peer: Peer
  private(set) var messages: [ServerMessage] = []
  private(set) var isConnected = false
  private(set) var resumptionKey: String?
  private(set) var failure: String?
  private(set) var keyFrameRequests = 0
  /// Received frames by participant and track.
  private(set) var frames: [Track.ID: [EncodedFrame]] = [:]
  private(set) var receivers: [ReceiverID: Track.ID] = [:]
  var received = 0
  var isUnplugged = false
  /// Whether the next frame is a key frame. Set by key frame requests, as an encoder does.
  private(set) var wantsKeyFrame = true
  /// In the place of the world's own delay and loss, from the router to this client.
  var wayDown: LinkConditioner<Tick>?
  /// Datagrams that `wayDown` has delivered: time of sending, delay and size.
  var passages: [(sent: Tick, delay: Duration, size: Int)] = []
  /// Layers for which key frames have been requested.
  var keyFramesWanted: Set<Int> = []
  /// Number of published simulcast layers that are sent.
  var activeLayers = 1
  private var senders: [String: SenderID] = [:]
  private var random: SeededRandom
  private unowned let world: World
  private var nextRequest = 0

  init(number: Int, address: TransportAddress, peer: Peer, random: SeededRandom, world: World) {
    (self.number, connection, self.address, self.peer) = (number, ConnectionID(number), address, peer)
    (self.random, self.world) = (random, world)
    peer.addLocalAddress(address)
  }

  // MARK: Saying

  func join(_ room: String, as id: String?, credential: String? = nil, takesRED: Bool = true) {
    var description = peer.localDescription
    if !takesRED { description.redPayloadType = nil }
    send(
      .join(
        Join(
          room: room, credential: credential, participantID: id, name: id ?? "", attributes: ["a": "1"],
          description: description)))
  }

  func send(_ message: ClientMessage) { world.send(message, from: self) }

  /// - Returns: the track as it was published.
  @discardableResult
  func publish(_ kind: Track.Kind, id: String? = nil, layers: Int = 1, muted: Bool = false) -> TrackOffer {
    let media = makeMedia(kind, layers: layers)
    let track = TrackOffer(id: id ?? kind.rawValue, kind: kind, isMuted: muted, media: media)
    publish(track)
    return track
  }

  func publish(_ track: TrackOffer) {
    if let stream = track.media { senders[track.id] = peer.addSender(stream) }
    nextRequest += 1
    send(.publish(Publish(request: nextRequest, tracks: [track])))
  }

  func sender(_ track: String) -> SenderID? { senders[track] }

  func makeMedia(_ kind: Track.Kind, layers: Int = 1) -> StreamParameters {
    func source() -> UInt32 { UInt32.random(in: 1 ... .max, using: &random) }
    return StreamParameters(
      mid: "m\(senders.count)", codec: kind.isAudio ? .opus : .vp8, payloadType: kind.isAudio ? 111 : 96,
      rtxPayloadType: kind.isAudio ? nil : 97,
      encodings: (0..<layers).map { layer in
        StreamParameters.Encoding(
          rid: layers > 1 ? "\(layer)" : nil, ssrc: source(), rtxSSRC: kind.isAudio ? nil : source(),
          maximumBitrate: kind.isAudio ? nil : 150_000 << (2 * layer))
      })
  }

  func subscribe(to participant: String, _ tracks: String...) {
    nextRequest += 1
    send(
      .subscribe(
        Subscribe(
          request: nextRequest, tracks: tracks.map { Track.ID(participant: participant, track: $0) })))
  }

  // MARK: StreamParameters

  /// Sends 30 frames a second: a key frame first and on request. The bytes contain the frame's number and layer.
  func sendFrames(_ track: String, seconds: Double, bytes: Int = 2500) {
    world.every(.nanoseconds(33_333_333), times: Int(seconds * 30)) { [self] number in
      let isKey = wantsKeyFrame
      wantsKeyFrame = false
      for layer in 0..<activeLayers {
        sendFrame(track, number: number, isKey: isKey, bytes: bytes, layer: layer)
      }
    }
  }

  func sendFrame(_ track: String, number: Int, isKey: Bool, bytes: Int = 2500, layer: Int = 0) {
    guard let sender = senders[track] else { return }
    let payload = [isKey ? 0 : 1, UInt8(number >> 8 & 255), UInt8(number & 255), UInt8(layer)]
    peer.send(
      EncodedFrame(
        codec: .vp8, data: Bytes(payload + [UInt8](repeating: 7, count: bytes - 4)), captured: world.now,
        rtpTimestamp: UInt32(truncatingIfNeeded: world.now.nanoseconds / 1000 * 90 / 1000), isKey: isKey,
        layer: UInt8(layer)),
      on: sender, at: world.now)
    world.drain()
  }

  func sendAudio(_ track: String, seconds: Double, level: Int8 = -30) {
    world.every(.milliseconds(20), times: Int(seconds * 50)) { [self] number in
      guard let sender = senders[track] else { return }
      peer.send(
        EncodedFrame(
          codec: .opus, data: Bytes([1, UInt8(number >> 8 & 255), UInt8(number & 255)]), captured: world.now,
          rtpTimestamp: UInt32(truncatingIfNeeded: number * 960), audioLevel: level, voiceActivity: level > -50),
        on: sender, at: world.now)
      world.drain()
    }
  }

  func frames(_ participant: String, _ track: String) -> [EncodedFrame] {
    frames[Track.ID(participant: participant, track: track)] ?? []
  }

  /// The numbers that `sendFrames` or `sendAudio` wrote.
  func numbers(_ participant: String, _ track: String) -> [Int] {
    frames(participant, track).map { frame in
      let bytes = frame.data.array
      return Int(bytes[1]) << 8 | Int(bytes[2])
    }
  }

  func statistics(_ participant: String, _ track: String) -> IncomingStatistics? {
    let id = receivers.first { $0.value == Track.ID(participant: participant, track: track) }?.key
    return id.flatMap { peer.statistics(at: world.now).incoming[$0] }
  }

  /// The router's own view of where this client is.
  var room: Room? { world.router.room(of: id) }

  func forgetMessages() { messages = [] }

  // MARK: Hearing

  func receive(_ message: ServerMessage) {
    let json = try? message.json()
    #expect((try? json?.withUnsafeBytes { try ServerMessage(json: $0) }) == message)
    if case .resumable(let key, _) = message {
      resumptionKey = key
      return
    }
    messages.append(message)
    switch message {
    case .joined(let joined): peer.setRemote(joined.description, at: world.now)
    case .subscribed(let subscribed):
      for track in subscribed.tracks where !receivers.values.contains(track.reference) {
        guard let stream = track.media else { continue }
        receivers[peer.addReceiver(stream, mode: .frames)] = track.reference
      }
    case .unsubscribed(let references): for reference in references { removeReceiver(reference) }
    case .withdrawn(let participant, let trackIDs):
      for track in trackIDs { removeReceiver(Track.ID(participant: participant, track: track)) }
    default: break
    }
  }

  private func removeReceiver(_ reference: Track.ID) {
    for (id, _) in receivers.filter({ $0.value == reference }) {
      peer.removeReceiver(id)
      receivers[id] = nil
    }
  }

  func handleEvents() {
    while let event = peer.pollEvent() {
      switch event {
      case .connected: isConnected = true
      case .failed(let reason): failure = reason
      case .closed: failure = "closed"
      case .frame(let id, let frame): if let reference = receivers[id] { frames[reference, default: []].append(frame) }
      case .keyFrameRequested(_, let layer):
        keyFramesWanted.insert(layer)
        keyFrameRequests += 1
        wantsKeyFrame = true
      case .packet, .senderReport, .estimate, .mediaHold: break
      }
    }
  }
}
