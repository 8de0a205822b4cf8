import Glibc
import KoineBase
import KoineCodecs
import KoineRTP
import KoineSignaling

@testable import KoineTransport

// What fuzzing begins with: inputs of every form, made by our own writers, so that there is no file to keep in step.

/// Writes the target's first inputs into a folder that exists.
func writeSeeds(of target: String, to folder: String) {
  for (index, seed) in (seeds[target]?() ?? []).enumerated() {
    guard let file = fopen("\(folder)/seed-\(index)", "wb") else {
      require(false, "\(folder) can be written to")
      return
    }
    fwrite(seed, 1, seed.count, file)
    fclose(file)
  }
}

private let seeds: [String: @Sendable () -> [[UInt8]]] = [
  "rtp": { packets }, "rtcp": rtcpSeeds, "vp8": vp8Seeds, "vp9": vp9Seeds, "vp9-picture": { vp9Pictures },
  "opus": opusSeeds, "rtx": rtxSeeds, "red": redSeeds, "stun": stunSeeds, "json": jsonSeeds,
  "signaling": signalingSeeds, "sdp": sdpSeeds, "room": roomSeeds, "dtls": { [[0, 0, 16, 1] + keyFrame] },
  "peer": peerSeeds, "token": tokenSeeds, "settings": settingsSeeds, "client": clientSeeds,
  "browser": browserSeeds,
  "http": httpSeeds, "negotiation": negotiationSeeds, "control": controlSeeds, "api": apiSeeds,
  "sigv4": signatureSeeds, "hmac": signatureSeeds, "http-body": bodySeeds, "redis": redisSeeds, "log": logSeeds,
]

private func written(_ body: (inout ByteWriter) -> Void) -> [UInt8] {
  withRoom(4_000) { room in
    var writer = ByteWriter(room)
    body(&writer)
    return Array(room[..<writer.count])
  }
}

// MARK: Packets

private let keyFrame: [UInt8] = [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01]

private func packet(
  _ payload: [UInt8], payloadType: UInt8 = 96, sequence: UInt16 = 65_535, _ values: HeaderExtensions = .init()
) -> [UInt8] {
  let header = RTPHeader(marker: true, payloadType: payloadType, sequence: sequence, timestamp: .max - 20, ssrc: 1)
  return withRoom(1_000) { room in
    Array(room[..<(header.write(into: room, extensions: values, map: .koine) ?? 0)]) + payload
  }
}

private var packets: [[UInt8]] {
  var values = HeaderExtensions()
  (values.audioLevel, values.voiceActivity, values.mid, values.rid, values.repairedRID) = (-30, true, "v", "q", "q")
  (values.absoluteSendTime, values.absoluteCaptureTime, values.captureClockOffset) = (0x12_3456, 1 << 62, -7)
  (values.quarterTurns, values.transportSequence) = (3, 65_535)
  return [
    packet([]), packet(keyFrame, values), [0x80, 0x60] + [UInt8](repeating: 0, count: 10),
    // Padding of four, a contributing source, and elements with two-byte headers.
    [0xB1, 0x60, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0x10, 0, 0, 1, 200, 1, 7, 0, 9, 9, 0, 0, 0, 4],
  ]
}

private func rtcpSeeds() -> [[UInt8]] {
  let block = ReportBlock(
    source: 1, fractionLost: 255, cumulativeLost: -1, highestSequence: .max, jitter: 7, lastSenderReport: 0x1122_3344,
    delaySinceLastReport: 65_536)
  let kinds: [RTCP] = [
    .senderReport(
      SenderReport(sender: 1, ntp: 1 << 40, rtpTimestamp: 3, packets: 4, octets: 5, blocks: [block, block])),
    .receiverReport(sender: 1, [block]),
    .sourceDescription([SourceDescription(source: 1, canonicalName: "abc")]), .goodbye([1, 2]),
    .nack(GenericNACK(sender: 1, media: 2, sequences: [65_534, 65_535, 0, 14, 15, 40])),
    .pictureLoss(sender: 1, media: 2), .fullIntraRequest(sender: 1, [FullIntraEntry(media: 2, number: 255)]),
    .estimate(ReceiverEstimate(sender: 1, bitrate: 0x3FFFF << 20, sources: [2, 3])),
    .transportFeedback(
      TransportFeedback(
        sender: 1, media: 2, base: 65_535, referenceTime: 0xFF_FFFF, number: 9,
        deltas: [4, nil, -1] + [Int16?](repeating: nil, count: 40) + [1_000])),
  ]
  return kinds.map { kind in written { kind.write(to: &$0) } } + [written { for kind in kinds { kind.write(to: &$0) } }]
}

private func rtxSeeds() -> [[UInt8]] {
  func datagrams(_ list: [[UInt8]]) -> [UInt8] { list.flatMap { [UInt8(clamping: $0.count)] + $0 } }
  let vp8: [UInt8] = [0x90, 0x80, 0x11] + keyFrame
  let vp9: [UInt8] = [0x8C, 0x11] + [0x82, 0x49, 0x83, 0x42]
  func stream(_ payload: [UInt8]) -> [UInt8] {
    datagrams([
      packet(payload, sequence: 65_534), packet(payload, sequence: 1),
      packet([0xFF, 0xFF] + payload, payloadType: 97, sequence: 7), packet([0], payloadType: 97, sequence: 8),
    ])
  }
  return [[0] + stream(vp8), [1] + stream(vp9)]
}

private func redSeeds() -> [[UInt8]] {
  func payload(_ copies: [(offset: UInt32, length: Int)]) -> [UInt8] {
    written { writer in
      for copy in copies {
        RED.writeCopyHeader(payloadType: 111, offset: copy.offset, length: copy.length, to: &writer)
      }
      RED.writePrimaryHeader(payloadType: 111, to: &writer)
    } + [UInt8](repeating: 0xF8, count: copies.reduce(3) { $0 + $1.length })
  }
  return [payload([]), payload([(960, 2)]), payload([(1_920, 3), (960, 0)]), payload([(16_383, 1_023)])]
}

// MARK: Payloads

private func vp8Seeds() -> [[UInt8]] {
  var plain = VP8Descriptor()
  plain.startsPartition = true
  var full = plain
  (full.pictureID, full.tl0PictureIndex, full.temporalLayer, full.layerSync) = (0x7FFF, 255, 3, true)
  full.keyIndex = 31
  return [plain, full].map { descriptor in written { descriptor.write(to: &$0) } + keyFrame } + [[0x90, 0x80, 17]]
}

private func vp9Seeds() -> [[UInt8]] {
  var fixed = VP9Descriptor()
  (fixed.pictureID, fixed.startsFrame, fixed.temporalLayer, fixed.spatialLayer) = (4_711, true, 2, 1)
  fixed.scalability = .init(
    layerCount: 2, sizes: [.init(width: 320, height: 180), .init(width: 640, height: 360)],
    group: [.init(temporalLayer: 0, switchingUp: false, references: [2])])
  var flexible = VP9Descriptor()
  (flexible.pictureID, flexible.isFlexible, flexible.isInterPicturePredicted) = (17, true, true)
  flexible.references = [1, 2, 127]
  let frame: [UInt8] = [0x82, 0x49, 0x83, 0x42, 0x00, 0x13, 0xF0, 0x0B, 0x30]
  return [fixed, flexible].map { descriptor in written { descriptor.write(to: &$0) } + frame }
}

private func opusSeeds() -> [[UInt8]] {
  let pcm = (0..<960).map { Int16(($0 % 96) * 600 - 28_800) }
  let packet = Bytes(capacity: 1_500)
  guard var encoder = try? OpusEncoder() else { return [] }
  let isWhole = pcm.withUnsafeBufferPointer { pcm in (try? encoder.encode(pcm, into: packet)) != nil }
  require(isWhole, "a tone can be encoded")
  // All forms of the frame count behind one byte of configuration: one, two alike, two unlike, and any number.
  return [packet.array, [0xF8], [0x79, 1, 2, 3, 4], [0x7A, 1, 2, 3, 4], [0x7B, 0xC2, 1, 1, 5, 6, 0]]
}

// MARK: Texts

private func stunSeeds() -> [[UInt8]] {
  let transaction = STUNMessage.TransactionID(high: 0xB7E7_A701, low: 0xBC34_D686_FA87_DFAE)
  var request = STUNMessage(.request, transaction)
  (request.username, request.priority, request.usesCandidate, request.controlling) = ("evtj:h6vY", 1 << 30, true, 9)
  var answer = STUNMessage(.success, transaction)
  answer.mappedAddress = SocketAddress("2001:db8::1", port: 32_853)
  var refusal = STUNMessage(.failure, transaction)
  (refusal.errorCode, refusal.controlled) = (487, .max)
  return [request, answer, refusal].map { message in
    withRoom(400) { room in Array(room[..<(message.write(into: room, key: "key") ?? 0)]) }
  }
}

private func jsonSeeds() -> [[UInt8]] {
  signalingSeeds()
    + [#"{"a":[1,-2.5e3,true,null,"\u00fc\ud83d\ude00\n"],"b":{}}"#, "18446744073709551615", "[[[[]]]]"].map {
      Array($0.utf8)
    }
}

private func signalingSeeds() -> [[UInt8]] {
  let description = PeerDescription(
    ice: ICECredentials(ufrag: "abcd", password: "0123456789012345678901"),
    candidates: [ICECandidate(host: "::1", port: 5_000, priority: 2_130_706_431)],
    fingerprint: Fingerprint(value: "AA:BB"), isLite: true, setup: .passive)
  let media = StreamParameters(
    mid: "0", codec: .vp8, payloadType: 96, rtxPayloadType: 97,
    encodings: [StreamParameters.Encoding(rid: "q", ssrc: 1, rtxSSRC: 2, maximumBitrate: 150_000)])
  let track = TrackOffer(id: "cam", kind: .camera, isMuted: true, media: media)
  let reference = Track.ID(participant: "ana", track: "cam")
  let ana = Participant(
    id: "ana", name: "Ana 日本", externalUserID: "u1", attributes: ["hand": "up"],
    tracks: [Track(id: reference, kind: .camera, isMuted: true)], joinedOrder: 3)
  let data = ReceivedMessage(
    sender: "ana", topic: "chat", payload: [0, 255], id: "m1", order: 9, age: .milliseconds(12), isDirected: true)
  let client: [ClientMessage] = [
    .join(Join(room: "r", credential: "c", name: "Ana", attributes: ["a": "b"], description: description)),
    .publish(Publish(request: 1, tracks: [track])), .unpublish(trackIDs: ["cam"]), .mute(trackID: "cam", muted: true),
    .subscribe(Subscribe(request: 2, tracks: [reference])), .pause([reference]), .attributes(["a": "b"]),
    .data(
      SendData(DataMessage(topic: "t", payload: [1, 2], to: ["ben"], lifetime: .seconds(1.5)), id: "1", echo: true)),
    .leave(reason: "bye"), .ping(-1),
  ]
  let server: [ServerMessage] = [
    .joined(Joined(local: ana, description: description, participants: [ana], history: [data])),
    .refused(Failure(.roomFull, "full")), .participantLeft(id: "ana", reason: .dropped),
    .subscribed(
      Subscribed(request: 2, tracks: [ForwardedTrack(reference: reference, media: media)], missing: [reference])),
    .data(data), .dataReceipt(DataReceipt(id: "1", failure: Failure(.tooMany, "slow down"))),
    .speakers(Speakers(levels: ["ana": -127], dominant: "ana")), .failed(request: nil, Failure(.forbidden, "?")),
    .ended(.duplicate), .pong(7),
  ]
  return client.compactMap { try? $0.json() } + server.compactMap { try? $0.json() }
}

private func sdpSeeds() -> [[UInt8]] {
  let head = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=fingerprint:sha-256 AB:CD\r\n"
  let sound = """
    m=audio 9 UDP/TLS/RTP/SAVPF 111 0
    a=mid:0
    a=ice-ufrag:abcd
    a=ice-pwd:abcdefghijklmnopqrstuv
    a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host
    a=rtpmap:111 opus/48000/2
    a=fmtp:111 minptime=10;useinbandfec=1
    a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
    a=sendrecv

    """
  let picture = """
    m=video 9 UDP/TLS/RTP/SAVPF 96 97 98
    a=mid:1
    a=rtpmap:96 VP8/90000
    a=rtpmap:97 rtx/90000
    a=fmtp:97 apt=96
    a=rtpmap:98 VP9/90000
    a=rtcp-fb:* nack pli
    a=rid:l0 send
    a=rid:l1 send
    a=simulcast:send l0;~l1,l0
    a=ssrc-group:FID 1 2
    a=ssrc:1 cname:x

    """
  return [head + sound, head + picture, head + sound + picture].map { Array($0.utf8) }
}

// MARK: Stateful targets

/// Each description as an offer and as an answer, after a publication and an offer of one's own.
private func negotiationSeeds() -> [[UInt8]] {
  sdpSeeds().flatMap { sdp in
    let padded = sdp + [UInt8](repeating: 0x0A, count: (16 - sdp.count % 16) % 16)
    let text = [UInt8(min(padded.count / 16, 255))] + padded
    let publish: [UInt8] = [0, 4, 1, 0], offer: [UInt8] = [0, 2, 1, 0], wait: [UInt8] = [20]
    return [
      [0, 0, 0, 0] + text + wait, [0, 2] + publish + offer + [0, 3] + text + wait,
      [2, 1] + publish + [0, 0] + text + wait,
    ]
  }
}

/// Two clients that open a connection, join, publish and subscribe, and some time; then at random.
private func roomSeeds() -> [[UInt8]] {
  let join: [UInt8] = [4] + [UInt8](repeating: 0, count: 8)
  let entering: [UInt8] = [0, 0] + [0] + join + [1, 0] + [1] + join
  var random = SeededRandom(seed: 3)
  let byChance = (0..<12).map { _ in (0..<400).map { _ in UInt8.random(in: 0...255, using: &random) } }
  return [entering, entering + [0, 8, 0, 1, 1, 1, 1] + [1, 10, 0, 0] + [0, 27, 10]] + byChance
}

/// Every packet of the other targets, behind the bytes that say how it comes.
private func peerSeeds() -> [[UInt8]] {
  let (rtp, rtcp) = (packets, rtcpSeeds())
  func datagram(_ plain: [UInt8], isControl: Bool) -> [UInt8] {
    let units = min((plain.count + 3) / 4, 255)
    return [isControl ? 1 : 0, 10, UInt8(units)] + plain + [UInt8](repeating: 0, count: max(units * 4 - plain.count, 0))
      + [0]
  }
  let start: [UInt8] = [1, 1, 1, 1]
  return rtp.map { start + datagram($0, isControl: false) } + rtcp.map { start + datagram($0, isControl: true) }
    + [start + rtp.flatMap { datagram($0, isControl: false) } + rtcp.flatMap { datagram($0, isControl: true) }]
}

/// Each message of the room protocol as a participant and an endpoint hear it, after they have been let in; then at random.
private func clientSeeds() -> [[UInt8]] {
  let joined: [UInt8] = [12, 0, 0, 0, 0, 0], registered: [UInt8] = [12, 0, 0, 0]
  var heard: [[UInt8]] = []
  for json in signalingSeeds() {
    let message = [UInt8(json.count >> 8 & 255), UInt8(json.count & 255)] + json
    heard.append([0] + joined + [0] + message)
    heard.append([1] + registered + [0, 0, 0, 0] + message)
  }
  var random = SeededRandom(seed: 4)
  let byChance = (0..<12).map { number in
    [UInt8(number % 3)] + (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
  }
  return heard + byChance
}
