import KoineBase
import KoineTransport
import Testing

/// The work of reading an offer grows with its length, for every kind of line.
@Suite struct SDPReadingStepsTests {
  /// Lines that an attacker may repeat in one medium.
  enum Repeated: CaseIterable {
    case fmtpLines, fmtpParameters, rtpmaps, feedback, extensions, sources, sourceGroups, layers, candidates
    case fingerprints, media

    /// `count` times, on as few lines as fit.
    func offer(_ count: Int) -> String {
      let formats = (0..<min(count, 128)).map { "\($0)" }.joined(separator: " ")
      let maps = (0..<min(count, 128)).map { "a=rtpmap:\($0) VP8/90000\r\n" }.joined()
      let medium = "m=video 9 UDP/TLS/RTP/SAVPF \(formats)\r\na=mid:0\r\na=rtcp-mux\r\n"
      let lines = (0..<count).map { number in
        switch self {
        case .fmtpLines: "a=fmtp:\(number % 128) a\(number)=b"
        case .fmtpParameters: number % 100 == 0 ? "a=fmtp:0 " + String(repeating: "a;", count: 100) : "s=-"
        case .rtpmaps: "a=rtpmap:\(number % 128) VP8/90000"
        case .feedback: "a=rtcp-fb:* nack\(number)"
        case .extensions: "a=extmap:\(number % 15) urn:\(number)"
        case .sources: "a=ssrc:\(number + 1) cname:x"
        case .sourceGroups: "a=ssrc-group:FID \(number + 1) \(number + 100_000)"
        case .layers: "a=rid:\(number) send"
        case .candidates: "a=candidate:1 1 udp \(number) 192.0.2.1 9 typ host"
        case .fingerprints: "a=fingerprint:sha-1 AA:BB"
        case .media: "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2"
        }
      }
      return "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n\(medium)\(maps)"
        + "a=simulcast:send \((0..<count).map(String.init).joined(separator: ";"))\r\n"
        + lines.joined(separator: "\r\n") + "\r\n"
    }
  }

  private func steps(_ text: String) throws -> Int {
    try ReadingSteps.count { () throws(SDPError) in
      let description = try SessionDescription(parsing: text)
      _ = try? description.peerDescription()
      for medium in description.media {
        _ = (medium.mid, medium.sentLayers, medium.candidates, medium.takesFeedback("nack", on: 96))
      }
    }
  }

  @Test(arguments: Repeated.allCases) func stepsGrowAtMostLinearlyWithTheOffer(_ repeated: Repeated) throws {
    let (once, twice) = (try steps(repeated.offer(150)), try steps(repeated.offer(300)))
    #expect(once > 150)
    #expect(twice <= 2 * once, "\(once) steps, then \(twice)")
  }

  @Test func offerOfOneFormatManyTimesIsRefused() {
    let medium = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\nm=video 9 UDP/TLS/RTP/SAVPF"
    let lines = String(repeating: "a=fmtp:96 a\r\n", count: 1_000)
    #expect(throws: SDPError.tooLarge) {
      try SessionDescription(parsing: medium + String(repeating: " 96", count: 1_000) + "\r\n" + lines)
    }
    #expect(throws: SDPError.self) { try SessionDescription(parsing: medium + " 96 97 96\r\n") }
    #expect(throws: SDPError.tooLarge) {
      try SessionDescription(parsing: medium + " 96\r\n" + lines + "a=fmtp:96 a\r\n".repeated(25))
    }
  }

  /// The largest offer that a client may send before it is in a room.
  @Test func offerAtTheLimitsIsReadInLinearWork() throws {
    let formats = (0..<128).map(String.init)
    let head = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"
    let medium =
      "m=video 9 UDP/TLS/RTP/SAVPF \(formats.joined(separator: " "))\r\n"
      + formats.map { "a=rtpmap:\($0) VP8/90000\r\n" }.joined()
      + (128..<1_024).map { "a=fmtp:\($0 % 128) a=\($0);b=1\r\n" }.joined()
    var text = head
    while text.utf8.count + medium.utf8.count <= SessionDescription.Limits.joining.bytes { text += medium }
    let steps = try ReadingSteps.count { () throws(SDPError) in
      let description = try SessionDescription(parsing: text, limits: .joining)
      #expect(description.media.first?.knownFormats.count == SessionDescription.Limits.knownFormats)
    }
    #expect(steps < text.utf8.count)
    #expect(throws: SDPError.tooLarge) {
      try SessionDescription(parsing: head + medium.repeated(3), limits: .joining)
    }
    let many = "m=audio 9 UDP 0\r\n"
    #expect(throws: Never.self) { try SessionDescription(parsing: head + many.repeated(64), limits: .joining) }
    #expect(throws: SDPError.tooLarge) { try SessionDescription(parsing: head + many.repeated(65), limits: .joining) }
  }
}

extension String {
  fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
}
