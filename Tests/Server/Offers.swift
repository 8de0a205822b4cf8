import KoineJSONCodec
import KoineSignaling
import KoineSignalingHost
import KoineTransport

@testable import KoineServer

/// Messages of a client that uses SDP.
enum Offers {
  static let head = """
    v=0
    o=- 1 1 IN IP4 0.0.0.0
    s=-
    t=0 0
    a=group:BUNDLE 0 1 2
    a=fingerprint:sha-256 AA:BB
    a=ice-ufrag:theirs
    a=ice-pwd:aaaaaaaaaaaaaaaaaaaaaa
    a=setup:actpass

    """

  static func medium(_ mid: String, _ kind: String, _ direction: String, _ more: String...) -> String {
    let formats = kind == "audio" ? ["111 opus/48000/2"] : ["120 VP8/90000", "124 rtx/90000"]
    return
      ([
        "m=\(kind) 9 UDP/TLS/RTP/SAVPF " + (kind == "audio" ? "111" : "120 124"), "a=mid:\(mid)", "a=\(direction)",
        "a=rtcp-mux", "a=extmap:7 \(HeaderExtensionNames.mid)",
      ] + formats.map { "a=rtpmap:\($0)" }
      + (kind == "audio" ? [] : ["a=fmtp:124 apt=120"]) + more).joined(separator: "\n") + "\n"
  }

  /// Reads a message that holds an answer.
  static func answer(_ message: EncodedMessage) throws -> BrowserAnswer {
    try JSONCodec.decode(BrowserAnswer.self, from: message.json ?? [])
  }

  /// - Parameter id: that a join asks for.
  static func message(
    _ number: Int, _ media: [String], send: String = "[]", receive: String = "[]", as id: String? = nil
  ) throws -> BrowserMessage {
    let participant = id.map { #""participantID":"\#($0)","# } ?? ""
    let sdp = (head + media.joined()).replacing("\n", with: "\\r\\n")
    let offer = #"{"number":\#(number),"sdp":"\#(sdp)","send":\#(send),"receive":\#(receive)}"#
    let text =
      number == 1
      ? #"{"type":"join","version":1,"room":"tea","name":"Ana",\#(participant)"offer":\#(offer)}"#
      : #"{"type":"offer","offer":\#(offer)}"#
    return try Array(text.utf8).withUnsafeBytes { try BrowserMessage(json: $0) }
  }
}

extension BrowserTranslator {
  /// Handles a message as the server does: with its offer parsed.
  func handleMessage(_ message: BrowserMessage) -> [TranslatedAction] {
    let offer: BrowserOffer? =
      switch message {
      case .join(_, let offer), .offer(let offer): offer
      case .other: nil
      }
    return handle(
      message,
      offer: offer.map { offer in Result { () throws(SDPError) in try SessionDescription(parsing: offer.sdp) } })
  }
}

enum HeaderExtensionNames {
  static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
}
