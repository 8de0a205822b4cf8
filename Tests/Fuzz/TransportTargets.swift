import KoineBase
import KoineRTP

@testable import KoineTransport

private let client = TransportAddress.loopback(port: 20_000)
private let server = TransportAddress.loopback(port: 7_000)

/// DTLS records to a server that waits for a handshake: a byte of length in units of eight before each datagram.
func fuzzDTLS(_ bytes: UnsafeRawBufferPointer) {
  guard let certificate = try? Certificate.shared(),
    let endpoint = try? DTLSEndpoint(role: .server, certificate: certificate)
  else { return require(false, "an endpoint can be made") }
  var input = Input(bytes)
  var now = Tick(nanoseconds: 1_000_000_000)
  endpoint.start(at: now)
  withRoom(DTLSEndpoint.maximumDatagramSize) { room in
    while !input.isEmpty {
      let datagram = input.part(Int(input.byte()) * 8)
      now += .milliseconds(Int(input.byte()))
      withCopy(datagram) { endpoint.handle(UnsafeRawBufferPointer($0), at: now) }
      endpoint.handleTimeout(at: now)
      while endpoint.poll(into: room) != nil {}
      let violation = DeadlineLaw.check("DTLS", deadline: endpoint.deadline, at: now, because: "")
      require(violation == nil, violation ?? "")
      if case .connected = endpoint.state { require(false, "nobody finishes a handshake by chance") }
    }
  }
}

/// A participant that means no good: well protected RTP and RTCP of any content to a server's peer with tracks of both
/// codecs, in layers, some named by their packets only.
func fuzzPeer(_ bytes: UnsafeRawBufferPointer) {
  guard let (peer, session) = protectedPeer() else { return require(false, "a peer can be made") }
  var input = Input(bytes)
  var now = Tick(nanoseconds: 1_000_000_000)
  let mode: ReceiveMode = input.flag() ? .packets : .frames
  for (number, codec) in [Codec.vp8, .vp9, .opus].enumerated() {
    let first = UInt32(number * 10 + 1)
    let isNamed = input.flag()
    let parameters = StreamParameters(
      mid: "m\(number)", codec: codec, payloadType: 96 + UInt8(number * 2),
      rtxPayloadType: codec.isAudio ? nil : 97 + UInt8(number * 2),
      encodings: (0..<(codec.isAudio ? 1 : 2)).map {
        .init(
          rid: "l\($0)", ssrc: isNamed ? first + UInt32($0) : 0, rtxSSRC: codec.isAudio ? nil : isNamed ? first + 5 : 0)
      })
    _ = peer.addReceiver(parameters, mode: mode)
    _ = peer.addSender(parameters)
  }
  withRoom(2_048) { room in
    while !input.isEmpty {
      let isControl = input.flag()
      now += .milliseconds(Int(input.byte()))
      let plain = input.part(Int(input.byte()) * 4)
      if let datagram = protected(plain, isControl: isControl, session) {
        peer.handle(datagram, from: client, to: server, at: now)
      }
      if input.byte() == 1 { _ = peer.want(5_000_000, at: now) }
      peer.handleTimeout(at: now)
      while peer.poll(into: room, at: now) != nil {}
      while peer.pollEvent() != nil {}
      let violation = DeadlineLaw.check("Peer", deadline: peer.deadline, at: now, because: peer.deadlineReason)
      require(violation == nil, violation ?? "")
    }
  }
}

/// A server's peer with keys and a path, without a handshake.
private func protectedPeer() -> (Peer, SRTPSession)? {
  let (key, salt) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 12))
  let keys = SRTPKeys(profile: .aeadAES128GCM, localKey: key, localSalt: salt, remoteKey: key, remoteSalt: salt)
  let now = Tick(nanoseconds: 1_000_000_000)
  guard let certificate = try? Certificate.shared(), let ours = try? SRTPSession.make(keys),
    let theirs = try? SRTPSession.make(keys),
    let peer = try? Peer(
      configuration: PeerConfiguration(role: .server, certificate: certificate), random: SeededRandom(seed: 1), now: now
    )
  else { return nil }
  peer.addLocalAddress(server)
  var random = SeededRandom(seed: 2)
  peer.setRemote(
    PeerDescription(
      ice: .random(using: &random), fingerprint: certificate.fingerprint, isLite: false, setup: .active), at: now)
  var check = STUNMessage(.request, .init(high: 1, low: 1))
  check.username = peer.localCredentials.ufrag + ":abcd"
  (check.controlling, check.usesCandidate) = (1, true)
  let datagram = Bytes(capacity: 500)
  datagram.count = check.write(into: datagram.writable, key: peer.localCredentials.password) ?? 0
  peer.handle(datagram, from: client, to: server, at: now)
  peer.startSRTP(with: ours, at: now)
  return (peer, theirs)
}

private func protected(_ plain: UnsafeRawBufferPointer, isControl: Bool, _ session: SRTPSession) -> Bytes? {
  let datagram = Bytes(capacity: 2_048)
  if isControl {
    datagram.append(plain)
    guard let count = try? session.protectRTCP(datagram.writable, count: plain.count) else { return nil }
    datagram.count = count
    return datagram
  }
  guard let packet = try? RTPPacket(parsing: plain) else { return nil }
  let (header, payload) = (
    plain.part(0..<packet.payloadRange.lowerBound), plain.part(packet.payloadRange.lowerBound..<plain.count)
  )
  guard let count = try? session.protectRTP(header: header, payload: payload, into: datagram.writable) else {
    return nil
  }
  datagram.count = count
  return datagram
}
