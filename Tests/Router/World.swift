import KoineBase
import KoineSignaling
import KoineTransport
import Testing

@testable import KoineRouter

/// A router and its clients on virtual time, over links with a delay and a seeded loss. Signalling goes as JSON.
final class World {
  var now = Tick(nanoseconds: 1_000_000_000)
  let router: Router
  var clients: [Client] = []
  /// Of each link, one way.
  var delay: Duration = .milliseconds(5)
  /// 0...1, each way.
  var loss = 0.0
  /// Media packets that did not arrive.
  private(set) var lost = 0
  private var random: SeededRandom
  /// Whatever a client sends comes through here first.
  var tap: ((Client, Bytes) -> Void)?
  private var underWay: [(at: Tick, order: Int, run: () -> Void)] = []
  private var order = 0
  private let scratch = Bytes(capacity: 2048)
  private static let address = SocketAddress.loopback(port: 7000)

  init(seed: UInt64 = 1, _ configure: (inout RouterConfiguration) -> Void = { _ in }) throws {
    random = SeededRandom(seed: seed)
    var configuration = RouterConfiguration(certificate: try Certificate.shared(), addresses: [Self.address])
    configure(&configuration)
    router = Router(configuration: configuration, random: random.fork(), now: now)
  }

  func makeClient(port: UInt16? = nil) throws -> Client {
    let number = clients.count
    let peer = try Peer(
      configuration: PeerConfiguration(role: .client, certificate: try Certificate.shared()), random: random.fork(),
      now: now)
    let client = Client(
      number: number, address: .loopback(port: port ?? UInt16(20_000 + number)), peer: peer, random: random.fork(),
      world: self)
    clients.append(client)
    router.open(client.connection, at: now)
    return client
  }

  /// Clients that have joined one room, under these names, and whose media is connected.
  func joined(_ names: String..., room: String = "room") throws -> [Client] {
    let clients = try names.map { name in
      let client = try makeClient()
      client.join(room, as: name)
      return client
    }
    run(.milliseconds(300))
    for client in clients { try #require(client.isConnected) }
    return clients
  }

  // MARK: Time

  func after(_ wait: Duration, _ run: @escaping () -> Void) {
    order += 1
    underWay.append((now + wait, order, run))
  }

  /// Calls `body` with 0, 1, 2, … once per interval.
  func every(_ interval: Duration, times: Int, _ body: @escaping (Int) -> Void) {
    for step in 0..<times { after(interval * step) { body(step) } }
  }

  func run(_ time: Duration) {
    let end = now + time
    while true {
      drain()
      var next = router.deadline
      for client in clients { next = next.sooner(client.peer.deadline) }
      for item in underWay { next = next.sooner(item.at) }
      guard let next, next <= end else { break }
      now = max(now, next)
      underWay.sort { $0.at != $1.at ? $0.at < $1.at : $0.order < $1.order }
      while let first = underWay.first, first.at <= now {
        underWay.removeFirst()
        first.run()
        drain()
      }
      router.handleTimeout(at: now)
      for client in clients { client.peer.handleTimeout(at: now) }
    }
    now = end
    drain()
  }

  // MARK: Packets and messages

  /// Hands the router a datagram that no client sent.
  func inject(_ bytes: some Collection<UInt8>, from source: SocketAddress) {
    router.handle(Bytes(bytes), from: source, to: Self.address, at: now)
    drain()
  }

  func drain() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      while let (connection, message) = router.pollMessage() {
        isQuiet = false
        clients.first { $0.connection == connection }?.take(message)
      }
      while let transmit = router.poll(into: scratch.writable, at: now) {
        isQuiet = false
        send(transmit) { [weak self] datagram in
          guard let self, let client = self.clients.first(where: { $0.address == transmit.destination }) else { return }
          client.received += 1
          client.peer.handle(datagram, from: transmit.source, to: transmit.destination, at: self.now)
        }
      }
      for client in clients {
        client.takeEvents()
        while let transmit = client.peer.poll(into: scratch.writable, at: now) {
          isQuiet = false
          guard !client.isUnplugged else { continue }
          tap?(client, Bytes(scratch.writable[..<transmit.count]))
          send(transmit) { [weak self] datagram in
            guard let self else { return }
            self.router.handle(datagram, from: transmit.source, to: transmit.destination, at: self.now)
          }
        }
      }
    }
  }

  private func send(_ transmit: Transmit, _ deliver: @escaping (Bytes) -> Void) {
    let datagram = Bytes(scratch.writable[..<transmit.count])
    if Double.random(in: 0..<1, using: &random) < loss {
      lost += 1
      return
    }
    after(delay) { deliver(datagram) }
  }

  func tell(_ message: ClientMessage, from client: Client) {
    do {
      let read = try message.json().withUnsafeBytes { try ClientMessage(json: $0) }
      router.handle(read, on: client.connection, at: now)
      drain()
    } catch {
      Issue.record("\(message): \(error)")
    }
  }
}

/// One participant's end.
final class Client {
  let number: Int
  let connection: ConnectionID
  let address: SocketAddress
  let peer: Peer
  private(set) var messages: [ServerMessage] = []
  private(set) var isConnected = false
  private(set) var failure: String?
  private(set) var keyFrameRequests = 0
  /// What came, per participant and track.
  private(set) var frames: [TrackReference: [EncodedFrame]] = [:]
  private(set) var receivers: [ReceiverID: TrackReference] = [:]
  fileprivate(set) var received = 0
  var isUnplugged = false
  /// Answers key frame requests with one, as an encoder does.
  private(set) var wantsKeyFrame = true
  /// Simulcast layers that are sent, of those published.
  var activeLayers = 1
  private var senders: [String: SenderID] = [:]
  private var random: SeededRandom
  private unowned let world: World
  private var nextRequest = 0

  fileprivate init(number: Int, address: SocketAddress, peer: Peer, random: SeededRandom, world: World) {
    (self.number, connection, self.address, self.peer) = (number, ConnectionID(number), address, peer)
    (self.random, self.world) = (random, world)
    peer.addLocalAddress(address)
  }

  // MARK: Saying

  func join(_ room: String, as id: String?, credential: String? = nil) {
    tell(
      .join(
        Join(
          room: room, credential: credential, participantID: id, name: id ?? "", attributes: ["a": "1"],
          description: Description(peer.localDescription))))
  }

  func tell(_ message: ClientMessage) { world.tell(message, from: self) }

  /// - Returns: the track as it was published.
  @discardableResult
  func publish(_ kind: Track.Kind, id: String? = nil, layers: Int = 1, muted: Bool = false) -> Track {
    let media = makeMedia(kind, layers: layers)
    let track = Track(id: id ?? kind.rawValue, kind: kind, muted: muted, media: media)
    if let stream = StreamParameters(media) { senders[track.id] = peer.addSender(stream) }
    nextRequest += 1
    tell(.publish(Publish(request: nextRequest, tracks: [track])))
    return track
  }

  func makeMedia(_ kind: Track.Kind, layers: Int = 1) -> Media {
    func source() -> UInt32 { UInt32.random(in: 1 ... .max, using: &random) }
    return Media(
      mid: "m\(senders.count)", codec: kind.isAudio ? "opus" : "VP8", payloadType: kind.isAudio ? 111 : 96,
      rtxPayloadType: kind.isAudio ? nil : 97,
      encodings: (0..<layers).map { layer in
        Media.Encoding(
          rid: layers > 1 ? "\(layer)" : nil, ssrc: source(), rtxSSRC: kind.isAudio ? nil : source(),
          maxBitrate: kind.isAudio ? nil : 150_000 << (2 * layer))
      })
  }

  func subscribe(to participant: String, _ tracks: String...) {
    nextRequest += 1
    tell(
      .subscribe(
        Subscribe(
          request: nextRequest, tracks: tracks.map { TrackReference(participant: participant, track: $0) })))
  }

  // MARK: Media

  /// Pictures at 30 a second: a key frame first and when asked for; their bytes tell the number and the layer.
  func sendPictures(_ track: String, seconds: Double, bytes: Int = 2500) {
    world.every(.nanoseconds(33_333_333), times: Int(seconds * 30)) { [self] number in
      let isKey = wantsKeyFrame
      wantsKeyFrame = false
      for layer in 0..<activeLayers {
        sendPicture(track, number: number, isKey: isKey, bytes: bytes, layer: layer)
      }
    }
  }

  func sendPicture(_ track: String, number: Int, isKey: Bool, bytes: Int = 2500, layer: Int = 0) {
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

  func sendSound(_ track: String, seconds: Double, level: Int8 = -30) {
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
    frames[TrackReference(participant: participant, track: track)] ?? []
  }

  /// The numbers that `sendPictures` or `sendSound` wrote.
  func numbers(_ participant: String, _ track: String) -> [Int] {
    frames(participant, track).map { frame in
      let bytes = frame.data.array
      return Int(bytes[1]) << 8 | Int(bytes[2])
    }
  }

  func statistics(_ participant: String, _ track: String) -> PeerStatistics.Incoming? {
    let id = receivers.first { $0.value == TrackReference(participant: participant, track: track) }?.key
    return id.flatMap { peer.statistics(at: world.now).incoming[$0] }
  }

  /// The router's own view of where this client is.
  var room: Room? { world.router.room(of: connection) }

  func forgetMessages() { messages = [] }

  // MARK: Hearing

  fileprivate func take(_ message: ServerMessage) {
    let json = try? message.json()
    #expect((try? json?.withUnsafeBytes { try ServerMessage(json: $0) }) == message)
    messages.append(message)
    switch message {
    case .joined(let joined): peer.setRemote(PeerDescription(joined.description), at: world.now)
    case .subscribed(let subscribed):
      for track in subscribed.tracks where !receivers.values.contains(track.reference) {
        guard let stream = StreamParameters(track.media) else { continue }
        receivers[peer.addReceiver(stream, mode: .frames)] = track.reference
      }
    case .unsubscribed(let references): for reference in references { removeReceiver(reference) }
    case .withdrawn(let participant, let trackIDs):
      for track in trackIDs { removeReceiver(TrackReference(participant: participant, track: track)) }
    default: break
    }
  }

  private func removeReceiver(_ reference: TrackReference) {
    for (id, _) in receivers.filter({ $0.value == reference }) {
      peer.removeReceiver(id)
      receivers[id] = nil
    }
  }

  fileprivate func takeEvents() {
    while let event = peer.pollEvent() {
      switch event {
      case .connected: isConnected = true
      case .failed(let reason): failure = reason
      case .frame(let id, let frame): if let reference = receivers[id] { frames[reference, default: []].append(frame) }
      case .keyFrameRequested:
        keyFrameRequests += 1
        wantsKeyFrame = true
      case .packet, .senderReport, .estimate: break
      }
    }
  }
}
