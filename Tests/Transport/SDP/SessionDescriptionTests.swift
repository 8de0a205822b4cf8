import Foundation
import KoineRTP
import KoineBase
import KoineTransport
import Testing

/// Offers of real programs: Chromium 156 and Firefox 153 in a call, aiortc 1.16 at its start.
enum Offer: String, CaseIterable {
  case chromium, firefox, aiortc

  var text: String {
    get throws {
      let url = try #require(Bundle.module.url(forResource: "Offers/\(rawValue)", withExtension: "sdp"))
      return try String(contentsOf: url, encoding: .utf8)
    }
  }

  var description: SessionDescription { get throws { try SessionDescription(parsing: try text) } }
}

@Suite struct SessionDescriptionTests {
  @Test func chromiumOffersThreeLayersWithoutSSRCs() throws {
    let offer = try Offer.chromium.description
    #expect(offer.bundle == ["0", "1", "2", "3"])
    #expect(offer.media.map(\.direction) == [.sendonly, .sendonly, .recvonly, .recvonly])
    let (sound, picture) = (offer.media[0], offer.media[1])
    #expect(sound.knownFormats.map(\.codec) == [.opus])
    #expect(sound.knownFormats[0].payloadType == 111)
    #expect(sound.knownFormats[0].parameters["useinbandfec"] == "1")
    #expect(sound.sources.count == 1)
    #expect(picture.knownFormats.prefix(1).map(\.codec) == [.vp8])
    #expect(picture.knownFormats[0].rtxPayloadType == 97)
    #expect(picture.sentLayers == ["l0", "l1", "l2"])
    #expect(picture.sources.isEmpty)
    #expect(picture.extensions.contains { $0 == (10, HeaderExtensionMap.Kind.rid.uri) })
    for kind in ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"] {
      #expect(picture.takesFeedback(kind, on: 96))
    }
  }

  @Test func audioRedundancyIsRecognisedByItsFormats() throws {
    #expect(try Offer.chromium.description.media.map { $0.knownFormats.first?.redPayloadType } == [63, nil, 63, nil])
    #expect(try Offer.firefox.description.media.allSatisfy { $0.knownFormats.first?.redPayloadType == nil })
    func red(_ parameters: String?) -> UInt8? {
      let fmtp = parameters.map { [SessionDescription.Attribute("fmtp", $0)] } ?? []
      return MediaDescription(
        kind: "audio", formats: ["111", "63"],
        attributes: [.init("rtpmap", "111 opus/48000/2"), .init("rtpmap", "63 red/48000/2")] + fmtp
      ).knownFormats.first?.redPayloadType
    }
    #expect(red("63 111/111") == 63)
    #expect(red("63 111/111/111") == 63)
    #expect(red(nil) == nil)
    #expect(red("63 0/5/0") == nil)
    #expect(red("63 111/0") == nil)
    #expect(red("63 x") == nil)
  }

  @Test func firefoxOffersThreeLayersWithSSRCs() throws {
    let offer = try Offer.firefox.description
    let picture = offer.media[1]
    #expect(picture.port == 0)
    #expect(picture.has("bundle-only"))
    #expect(picture.knownFormats.first?.payloadType == 120)
    #expect(picture.sentLayers == ["l0", "l1", "l2"])
    #expect(picture.sources.map(\.ssrc) == [377_521_582, 1_916_551_977, 3_548_123_152])
    #expect(picture.sources.first?.rtx == 1_445_510_746)
    #expect(offer.media[0].knownFormats.first?.payloadType == 109)
    #expect(try offer.peerDescription().fingerprint.algorithm == "sha-256")
    #expect(picture.extensions.contains { $0 == (9, HeaderExtensionMap.Kind.rid.uri) })
  }

  @Test func sha256FingerprintIsChosenAmongSeveral() throws {
    let peer = try Offer.aiortc.description.peerDescription()
    #expect(peer.fingerprint.algorithm == "sha-256")
    #expect(peer.fingerprint.value.hasPrefix("F0:7F:EE"))
    #expect(peer.ice == ICECredentials(ufrag: "R11r", password: "6hrCJXPPYjeN8V0zlXVRW3"))
    #expect(peer.candidates.map(\.host) == ["192.0.2.2", "fd00::2"])
  }

  @Test(arguments: Offer.allCases)
  func writtenDescriptionIsReadBack(_ offer: Offer) throws {
    let once = try offer.description
    let again = try SessionDescription(parsing: once.text)
    #expect(again == once)
  }

  @Test func answeredDirectionMatchesTheOffer() {
    typealias Direction = MediaDescription.Direction
    #expect(Direction.sendrecv.answered(sends: true, receives: true) == .sendrecv)
    #expect(Direction.sendonly.answered(sends: true, receives: true) == .recvonly)
    #expect(Direction.recvonly.answered(sends: true, receives: true) == .sendonly)
    #expect(Direction.inactive.answered(sends: true, receives: true) == .inactive)
    #expect(Direction.sendrecv.answered(sends: false, receives: false) == .inactive)
  }

  @Test func malformedDescriptionIsRefused() {
    for text in [
      "", "v=1", "hello", "v=0\r\nm=audio", "v=0\r\no=- 1 IN IP4 0.0.0.0", "o=- 1 1 IN IP4 0.0.0.0\r\nv=0",
      "v=0\r\nm=audio 70000 UDP 0\r\no=- 1 1 IN IP4 0", "v=0\r\no=- 1 1 IN IP4 0\r\nm=audio -1 UDP 0",
    ] {
      #expect(throws: SDPError.self) { try SessionDescription(parsing: text) }
    }
    let long = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\na=" + String(repeating: "x", count: 20_000)
    #expect(throws: SDPError.tooLarge) { try SessionDescription(parsing: long) }
    let many = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n" + String(repeating: "m=audio 9 UDP 0\r\n", count: 1_000)
    #expect(throws: SDPError.tooLarge) { try SessionDescription(parsing: many) }
  }

  @Test func descriptionWithoutTransportParametersHasNoPeerDescription() throws {
    let bare = try SessionDescription(parsing: "v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nm=audio 9 UDP/TLS/RTP/SAVPF 111\n")
    #expect(throws: SDPError.self) { try bare.peerDescription() }
  }

  @Test func malformedAttributesAreSkipped() throws {
    let text = """
      v=0
      o=- 1 1 IN IP4 0.0.0.0
      m=video 9 UDP/TLS/RTP/SAVPF 96 97 300 x 98
      a=rtpmap:96 VP8/90000
      a=rtpmap:97
      a=rtpmap:98 VP9/90000
      a=fmtp:98 profile-id=2
      a=fmtp:
      a=rtpmap:999 VP8/90000
      a=extmap:0 urn:ietf:params:rtp-hdrext:sdes:mid
      a=extmap:15 urn:ietf:params:rtp-hdrext:sdes:mid
      a=ssrc:x cname:y
      a=ssrc-group:FID 1
      a=candidate:1 1 tcp 1 192.0.2.1 9 typ host
      a=candidate:1 1 udp 1 somewhere.local 9 typ host
      a=simulcast:send
      a=mid:
      a=
      """
    let medium = try SessionDescription(parsing: text).media[0]
    #expect(medium.knownFormats.map(\.payloadType) == [96])
    #expect(medium.extensions.isEmpty)
    #expect(medium.sources.isEmpty)
    #expect(medium.candidates.isEmpty)
    #expect(medium.sentLayers.isEmpty)
    #expect(medium.mid == nil)
  }

  /// RFC 8445, 5.1.2.2, RFC 8839, 5.1: a relayed candidate counts least.
  @Test func candidateOfEveryKindIsReadAndWritten() throws {
    for (kind, type) in [("host", 126), ("prflx", 110), ("srflx", 100), ("relay", 0)] {
      let line = "1 1 udp \(type << 24 | 255) 192.0.2.1 50000 typ \(kind)"
      let candidate = try #require(ICECandidate(parsing: line))
      #expect(candidate.transport == .udp)
      #expect(candidate.kind.rawValue == kind)
      #expect(candidate.sdpValue == line)
    }
    #expect(ICECandidate(parsing: "1 1 tcp 255 192.0.2.1 9 typ relay") == nil)
    #expect(ICECandidate(parsing: "1 1 UDP 255 192.0.2.1 9 typ relay") != nil)
  }

  @Test(arguments: ["96 96", "96 096", "+96", "096", "111 00"]) func payloadTypeMustBeCanonicalAndUnique(
    _ formats: String
  ) {
    #expect(throws: SDPError.self) {
      try SessionDescription(parsing: "v=0\no=- 1 1 IN IP4 0.0.0.0\nm=video 9 UDP/TLS/RTP/SAVPF \(formats)\n")
    }
  }

  @Test func nonNumericFormatIsKept() throws {
    let text = "v=0\no=- 1 1 IN IP4 0.0.0.0\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel 05000\n"
    #expect(try SessionDescription(parsing: text).media[0].formats == ["webrtc-datachannel", "05000"])
  }

  /// Many a prefix, and lines left out: nothing traps.
  @Test(arguments: Offer.allCases)
  func truncatedOffersAreReadOrRefused(_ offer: Offer) throws {
    let text = try offer.text
    var index = text.startIndex
    while index < text.endIndex {
      if let description = try? SessionDescription(parsing: String(text[..<index])) { touch(description) }
      index = text.index(index, offsetBy: 101, limitedBy: text.endIndex) ?? text.endIndex
    }
    let lines = text.split(separator: "\r\n")
    for left in lines.indices where left % 3 == 0 {
      let rest = lines.indices.filter { $0 != left }.map { lines[$0] }.joined(separator: "\n")
      if let description = try? SessionDescription(parsing: rest) { touch(description) }
    }
  }

  private func touch(_ description: SessionDescription) {
    _ = try? description.peerDescription()
    for medium in description.media {
      _ = (medium.knownFormats, medium.extensions, medium.sources, medium.sentLayers, medium.candidates, medium.mid)
    }
  }
}
