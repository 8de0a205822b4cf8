import KoineBase
import KoineJSONCodec
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTransport

@testable import KoineServer

/// A browser's messages through their reader, `BrowserTranslator` and a router in which another participant publishes. The input is a
/// list of messages, each ended by a zero byte: JSON, or an offer's SDP, which then sends and receives what it can.
///
/// The laws: each answer can be read again and has a medium, with a format, for each of the offer's; deadlines lie ahead;
/// nothing is left once all have gone.
func fuzzBrowser(_ bytes: UnsafeRawBufferPointer) {
  guard let world = BrowserWorld() else { return require(false, "a router can be made") }
  for message in bytes.split(separator: 0, omittingEmptySubsequences: true).prefix(16) {
    world.take(UnsafeRawBufferPointer(rebasing: message))
  }
  world.end()
}

private final class BrowserWorld {
  private static let address = TransportAddress.loopback(port: 7_000)
  private static let (ana, ben) = (ClientID(1), ClientID(2))

  private var now = Tick(nanoseconds: 1_000_000_000)
  private let router: Router
  private let browser = BrowserTranslator(sessionID: "1")
  private var number = 0
  /// Of the offers that are to be answered.
  private var offered: [Int: SessionDescription] = [:]

  init?() {
    guard let certificate = try? Certificate.shared() else { return nil }
    var configuration = RouterConfiguration(certificate: certificate, addresses: [Self.address])
    configuration.authorization = .open
    router = Router(configuration: configuration, random: SeededRandom(seed: 1), now: now)
    for line in [Self.ana, Self.ben] { router.open(line, at: now) }
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "bens", password: "bbbbbbbbbbbbbbbbbbbbbb"), candidates: [],
      fingerprint: .init(value: "AB:CD"),
      isLite: false, setup: .active)
    let media = StreamParameters(
      mid: "0", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1, rtxSSRC: 2)])
    for message in [
      ClientMessage.join(Join(room: "tea", participantID: "ben", name: "Ben", description: description)),
      .publish(Publish(request: 1, tracks: [TrackOffer(id: "camera", kind: .camera, media: media)])),
    ] { router.handle(message, from: Self.ben, at: now) }
    settle()
  }

  func take(_ bytes: UnsafeRawBufferPointer) {
    let message: BrowserMessage
    if bytes.first == UInt8(ascii: "{") {
      guard let read = try? BrowserMessage(json: bytes) else { return }
      message = read
    } else {
      number += 1
      let offer = offer(String(decoding: bytes, as: UTF8.self))
      message =
        browser.hasJoined
        ? .offer(offer)
        : .join(
          Join(
            room: "tea", participantID: "ana", name: "Ana",
            description: PeerDescription(
              ice: ICECredentials(ufrag: "", password: ""), candidates: [], fingerprint: .init(value: ""),
              isLite: false, setup: .active)),
          offer)
    }
    switch message {
    case .join(_, let offer), .offer(let offer):
      let limits: SessionDescription.Limits = browser.hasJoined ? .joined : .joining
      let read = Result { () throws(SDPError) in try SessionDescription(parsing: offer.sdp, limits: limits) }
      offered[offer.number] = try? read.get()
      execute(browser.handle(message, offer: read))
    case .other: execute(browser.handle(message, offer: nil))
    }
    settle()
  }

  /// Sends each medium that it can, and asks for Ben's camera in each that receives.
  private func offer(_ sdp: String) -> BrowserOffer {
    var offer = BrowserOffer(number: number, sdp: sdp, send: [], receive: [])
    guard let media = try? SessionDescription(parsing: sdp).media else { return offer }
    for medium in media.prefix(8) {
      guard let mid = medium.mid else { continue }
      if medium.direction.sends {
        let kind: Track.Kind = medium.kind == "audio" ? .microphone : .camera
        offer.send?.append(.init(mid: mid, id: "track \(mid)", kind: kind))
      } else if medium.direction.receives {
        offer.receive?.append(.init(mid: mid, participant: "ben", track: "camera", paused: mid == "1"))
      }
    }
    return offer
  }

  private func execute(_ actions: [TranslatedAction]) {
    for action in actions {
      switch action {
      case .handle(let message): router.handle(message, from: Self.ana, at: now)
      case .setCapabilities(let capabilities): router.setCapabilities(capabilities, of: Self.ana)
      case .send, .forward: break
      case .sendOwn(let message):
        guard let json = message.json, let answer = try? JSONCodec.decode(BrowserAnswer.self, from: json) else {
          return require(false, "an answer can be encoded")
        }
        check(answer)
      }
    }
  }

  private func check(_ answer: BrowserAnswer) {
    guard let read = try? SessionDescription(parsing: answer.sdp) else {
      return require(false, "an answer can be read: \(answer.sdp)")
    }
    guard let offer = offered[answer.number] else { return }
    require(read.media.count == offer.media.count, "an answer has a medium for each of the offer's")
    for medium in read.media { require(!medium.formats.isEmpty, "a medium has formats: \(answer.sdp)") }
  }

  private func settle() {
    now = now + .milliseconds(7)
    if let deadline = router.deadline, deadline <= now { router.handleTimeout(at: now) }
    while let item = router.pollMessage() {
      if item.client == Self.ana { execute(browser.translate(item.message)) }
    }
    withRoom(1_500) { room in while router.poll(into: room, at: now) != nil {} }
  }

  func end() {
    for line in [Self.ana, Self.ben] { router.close(line, at: now) }
    settle()
    for _ in 0..<1_000 {
      guard let deadline = router.deadline else { break }
      now = max(deadline, now)
      router.handleTimeout(at: now)
      settle()
      require(router.deadline.map { $0 > now } ?? true, "deadlines lie ahead: \(router.deadlineReason)")
    }
    let left = router.holdings.filter { $0.value != 0 }
    require(left.isEmpty, "nothing is left: \(left)")
  }
}

// MARK: Seeds

/// Two offers of one browser, the second with another payload type for the same medium; and the same as JSON.
func browserSeeds() -> [[UInt8]] {
  let head = """
    v=0
    o=- 1 1 IN IP4 0.0.0.0
    s=-
    t=0 0
    a=group:BUNDLE 0 1 2
    a=fingerprint:sha-256 AA:BB
    a=ice-ufrag:anas
    a=ice-pwd:aaaaaaaaaaaaaaaaaaaaaa
    a=setup:actpass

    """
  func video(_ mid: Int, _ direction: String, _ type: Int, _ more: String = "") -> String {
    """
    m=video 9 UDP/TLS/RTP/SAVPF \(type) \(type + 1)
    a=mid:\(mid)
    a=\(direction)
    a=rtcp-mux
    a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
    a=rtpmap:\(type) VP8/90000
    a=rtcp-fb:\(type) nack pli
    a=rtpmap:\(type + 1) rtx/90000
    a=fmtp:\(type + 1) apt=\(type)
    \(more)

    """
  }
  let audio = """
    m=audio 9 UDP/TLS/RTP/SAVPF 111
    a=mid:0
    a=sendrecv
    a=rtcp-mux
    a=rtpmap:111 opus/48000/2
    a=fmtp:111 minptime=10;useinbandfec=1
    a=ssrc:77 cname:x

    """
  let layers = "a=rid:q send\na=rid:h send\na=simulcast:send q;h\na=ssrc-group:FID 1 2\na=ssrc:1 cname:x"
  let first = head + audio + video(1, "sendonly", 96, layers)
  let second = head + audio + video(1, "sendonly", 100) + video(2, "recvonly", 96)
  func json(_ type: String, _ sdp: String) -> String {
    let text = sdp.split(separator: "\n").joined(separator: #"\r\n"#)
    let track = #"{"mid":"1","id":"camera","kind":"camera","muted":true}"#
    let wanted = #"{"mid":"2","participant":"ben","track":"camera","paused":true}"#
    return #"{"type":"\#(type)","version":1,"room":"tea","name":"Ana","credential":"c","attributes":{"a":"b"},"#
      + #""offer":{"number":1,"sdp":"\#(text)\r\n","send":[\#(track)],"receive":[\#(wanted)]}}"#
  }
  let messages = [
    [first], [first, second], [second, first, second], [json("join", first), json("offer", second)],
    [json("join", first), #"{"type":"leave"}"#, json("join", second)],
    [first, #"{"type":"unsubscribe","tracks":[{"participant":"ben","track":"camera"}]}"#, second, #"{"type":"bye"}"#],
  ]
  return messages.map { Array($0.joined(separator: "\0").utf8) }
}
