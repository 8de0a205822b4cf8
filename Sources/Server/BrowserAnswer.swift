import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport

extension SessionDescription {
  /// The answer of an ICE-lite server (RFC 8829 section 5.3): it waits for the handshake, takes everything on one transport
  /// and names its sources.
  /// - Parameters:
  ///   - receiving: by mid, what the other side may send.
  ///   - sending: by mid, what it will get.
  init(
    answering offer: SessionDescription, as local: PeerDescription, sessionID: String, version: UInt64,
    receiving: [String: Media], sending: [String: Media]
  ) {
    let extensions = offer.extensionIDs
    var media: [MediaDescription] = []
    var mids: Set<String> = []
    for medium in offer.media {
      // Of two media of one name the first counts.
      guard let mid = medium.mid, medium.kind == "audio" || medium.kind == "video", medium.has("rtcp-mux"),
        medium.port != 0 || medium.has("bundle-only"),  // else it was stopped
        !medium.knownFormats.isEmpty, mids.insert(mid).inserted,
        receiving[mid].map({ track in medium.knownFormats.contains { $0.payloadType == track.payloadType } }) ?? true
      else {
        media.append(MediaDescription(rejecting: medium))
        continue
      }
      media.append(
        MediaDescription(
          answering: medium, mid: mid, as: local, receiving: receiving[mid], sending: sending[mid],
          extensions: extensions))
    }
    let accepted = media.filter { $0.port != 0 }.compactMap(\.mid)
    self.init(
      sessionID: sessionID, version: version,
      attributes: [
        Attribute("ice-lite"), Attribute("group", (["BUNDLE"] + accepted).joined(separator: " ")),
        Attribute("msid-semantic", " WMS *"),
      ],
      media: media)
  }
}

extension SessionDescription {
  /// The numbers of header extensions in all media: what is bundled shares them (RFC 8843, 8). Of several numbers for one
  /// extension, and of several extensions for one number, which aiortc offers, the first counts.
  var extensionIDs: [HeaderExtensionMap.Kind: UInt8] {
    var ids: [HeaderExtensionMap.Kind: UInt8] = [:]
    for (id, uri) in media.flatMap(\.extensions) {
      guard let kind = HeaderExtensionMap.Kind.allCases.first(where: { $0.uri == uri }), ids[kind] == nil,
        !ids.values.contains(id)
      else { continue }
      ids[kind] = id
    }
    return ids
  }
}

extension MediaDescription {
  fileprivate init(rejecting offer: MediaDescription) {
    self.init(
      kind: offer.kind, port: 0, transport: offer.transport, formats: offer.formats,
      attributes: [Attribute("inactive")] + (offer.mid.map { [Attribute("mid", $0)] } ?? []))
  }

  fileprivate init(
    answering offer: MediaDescription, mid: String, as local: PeerDescription, receiving: Media?, sending: Media?,
    extensions: [HeaderExtensionMap.Kind: UInt8]
  ) {
    // What it sends, it sends in one format, which was chosen when it was published; to get, it must understand any.
    var formats = Array(
      offer.knownFormats.filter { receiving == nil || $0.payloadType == receiving?.payloadType }
        .prefix(SessionDescription.Limits.answeredFormats))
    if let receiving { for index in formats.indices { formats[index].redPayloadType = receiving.redPayloadType } }
    var lines = AnswerLines()
    lines.add("mid", mid)
    lines.add(offer.direction.answered(sends: sending != nil, receives: receiving != nil).rawValue)
    lines.addTransport(local)
    lines.add("rtcp-mux")
    lines.add("rtcp-rsize")
    for format in formats { lines.add(format, of: offer) }
    for (id, uri) in offer.extensions where extensions.contains(where: { $0.key.uri == uri && $0.value == id }) {
      lines.add("extmap", "\(id) \(uri)")
    }
    if let receiving { lines.addLayers(of: receiving) }
    if let sending { lines.addSources(of: sending) }
    self.init(
      kind: offer.kind, transport: offer.transport, formats: lines.formats.map(String.init),
      attributes: lines.attributes)
  }
}

/// The attributes of one medium of an answer.
private struct AnswerLines {
  private(set) var attributes: [SessionDescription.Attribute] = []
  /// In the order of the offer, each with its retransmissions behind it.
  private(set) var formats: [UInt8] = []

  mutating func add(_ name: String, _ value: String? = nil) { attributes.append(.init(name, value)) }

  mutating func addTransport(_ local: PeerDescription) {
    add("ice-ufrag", local.ice.ufrag)
    add("ice-pwd", local.ice.password)
    add("fingerprint", "\(local.fingerprint.algorithm) \(local.fingerprint.value)")
    add("setup", "passive")
    for candidate in local.candidates { add("candidate", candidate.sdpValue) }
    add("end-of-candidates")
  }

  mutating func add(_ format: MediaDescription.Format, of offer: MediaDescription) {
    let type = format.payloadType
    formats.append(type)
    add("rtpmap", "\(type) \(format.codec.rtpmap)")
    for kind in ["transport-cc", "ccm fir", "nack", "nack pli"] where offer.takesFeedback(kind, on: type) {
      if kind == "transport-cc" || !format.codec.isAudio { add("rtcp-fb", "\(type) \(kind)") }
    }
    if let parameters = format.codec.announcedParameters { add("fmtp", "\(type) \(parameters)") }
    // Behind the format itself, so that the browser sends it plain (RFC 3264, 6.1) and takes it either way.
    if let red = format.redPayloadType { addRedundant(red, of: format, offer) }
    guard let rtx = format.rtxPayloadType else { return }
    formats.append(rtx)
    add("rtpmap", "\(rtx) rtx/\(format.codec.clockRate)")
    add("fmtp", "\(rtx) apt=\(type)")
  }

  /// RFC 2198, sections 4 and 5.
  private mutating func addRedundant(_ type: UInt8, of format: MediaDescription.Format, _ offer: MediaDescription) {
    formats.append(type)
    add("rtpmap", "\(type) red/\(format.codec.clockRate)/2")
    add("fmtp", "\(type) \(format.payloadType)/\(format.payloadType)")
    if offer.takesFeedback("transport-cc", on: type) { add("rtcp-fb", "\(type) transport-cc") }
  }

  mutating func addLayers(of media: Media) {
    let layers = media.encodings.compactMap(\.rid)
    guard layers.count > 1 else { return }
    for layer in layers { add("rid", "\(layer) recv") }
    add("simulcast", "recv " + layers.joined(separator: ";"))
  }

  mutating func addSources(of media: Media) {
    add("msid", "\(media.mid) \(media.mid)")
    for encoding in media.encodings {
      if let rtx = encoding.rtxSSRC { add("ssrc-group", "FID \(encoding.ssrc) \(rtx)") }
      for ssrc in [encoding.ssrc, encoding.rtxSSRC].compactMap(\.self) { add("ssrc", "\(ssrc) cname:koine") }
    }
  }
}
