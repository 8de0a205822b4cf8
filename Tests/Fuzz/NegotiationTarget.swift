import KoineBase
import KoinePeer
import KoineRTP
import KoineTransport
import RoomModel

/// A `PeerMedia` that gets session descriptions and datagrams of the input: it answers offers, takes answers, and sends and publishes
/// between them. A description that it writes can be read.
///
/// Input: steps of one byte for the kind, then what the step takes.
let fuzzNegotiation: FuzzTarget = { bytes in
  var input = Input(bytes)
  guard let world = NegotiationWorld(&input) else { return }
  while !input.isEmpty { world.step(&input) }
}

private final class NegotiationWorld {
  private static let local = TransportAddress(udp: .loopback(port: 5_000))
  private static let remote = TransportAddress(udp: .loopback(port: 6_000))
  private static let ids = ["camera", "microphone", "screen"].map { Track.ID(participant: "ana", track: $0) }

  private let media: PeerMedia
  private var now = Tick(nanoseconds: 1_000_000_000)

  init?(_ input: inout Input) {
    let ice: [PeerMedia.Configuration.ICERole] = [.controlling, .controlled, .lite]
    let dtls: [PeerMedia.Configuration.DTLSRole] = [.active, .passive, .either]
    let configuration = PeerMedia.Configuration(
      iceRole: ice[input.number(below: 3)], dtlsRole: dtls[input.number(below: 3)])
    guard
      let media = try? PeerMedia(
        configuration, addresses: [Self.local], random: SeededRandom(seed: 1), now: now)
    else { return nil }
    self.media = media
  }

  func step(_ input: inout Input) {
    let id = Self.ids[input.number(below: 3)]
    switch input.number(below: 9) {
    case 0, 1: answer(text(&input))
    case 2:
      let offer = media.makeOffer(
        receiving: input.flag() ? [id: id.track == "microphone" ? .microphone : .camera] : [:])
      require((try? SessionDescription(parsing: offer.sdp)) != nil, "an offer can be read: \(offer.sdp)")
    case 3: try? media.setAnswer(text(&input), at: now)
    case 4:
      let layers = (0..<input.number(below: 4)).map { PublishOptions.LayerLimits(maximumBitrate: 100_000 << $0) }
      _ = media.publish(
        id, options: PublishOptions(codec: id.track == "microphone" ? .opus : .vp8, layers: layers))
    case 5: if input.flag() { media.unpublish(id) } else { media.unsubscribe(from: id) }
    case 6:
      let frame = EncodedFrame(
        codec: id.track == "microphone" ? .opus : .vp8, data: Bytes([0x10, 2, 0, 1]), captured: now,
        rtpTimestamp: 3_000,
        isKey: true, layer: UInt8(input.number(below: 4)))
      media.send(frame, of: id, at: now)
    case 7: media.handle(Bytes(input.part(input.number(below: 200))), from: Self.remote, to: Self.local, at: now)
    default: if input.flag() { try? media.restart(at: now) } else { media.requestKeyFrame(of: id, at: now) }
    }
    now += .milliseconds(input.number(below: 100))
    media.handleTimeout(at: now)
    drain()
    let violation = DeadlineLaw.check("PeerMedia", deadline: media.deadline, at: now, because: media.deadlineReason)
    require(violation == nil, violation ?? "")
  }

  private func text(_ input: inout Input) -> String {
    let length = Int(input.byte()) * 16
    return String(decoding: input.part(length), as: UTF8.self)
  }

  /// Each mid is a track, of three in turn.
  private func answer(_ offer: String) {
    let mids = (try? SessionDescription(parsing: offer))?.media.compactMap(\.mid) ?? []
    let tracks = Dictionary(zip(mids, mids.indices.map { Self.ids[$0 % 3] })) { first, _ in first }
    guard let answer = try? media.answer(offer, tracks: tracks, at: now) else { return }
    require((try? SessionDescription(parsing: answer)) != nil, "an answer can be read: \(answer)")
  }

  private func drain() {
    withRoom(1_600) { room in while media.poll(into: room, at: now) != nil {} }
    while media.pollEvent() != nil {}
  }
}
