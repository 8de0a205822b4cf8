import KoineBase
package import KoineRTP
package import KoineTransport

/// Writes the SDP offers and answers of one peer connection (RFC 3264, RFC 8829): one transport for all media (BUNDLE, RFC 9143), and
/// one medium for each stream. Knows streams by their mid, and no tracks.
package struct SDPNegotiator: Sendable {
  /// One medium of an offer.
  package struct Medium: Sendable {
    package let mid: String
    package let isAudio: Bool
    /// The stream that this end sends; nil: none.
    package var sending: StreamParameters?
    /// Whether the other end may send a stream.
    package var receives: Bool

    package init(mid: String, isAudio: Bool, sending: StreamParameters?, receives: Bool) {
      (self.mid, self.isAudio, self.sending, self.receives) = (mid, isAudio, sending, receives)
    }
  }

  /// A stream that this end sends, in an answer.
  package struct OutgoingStream: Sendable {
    package let parameters: StreamParameters
    /// The MediaStream that the other end puts it into (RFC 8830). A browser plays the audio and the video of one MediaStream in step.
    package let mediaStream: String

    package init(_ parameters: StreamParameters, in mediaStream: String) {
      (self.parameters, self.mediaStream) = (parameters, mediaStream)
    }
  }

  /// An answer that writes its SDP text only on request. The text grows with the offer, and need not be written on a network loop.
  package struct Answer: Sendable {
    private let offer: SessionDescription
    private let local: PeerDescription
    private let sessionID: String
    private let version: UInt64
    private let receiving: [String: StreamParameters]
    private let sending: [String: OutgoingStream]

    fileprivate init(
      _ offer: SessionDescription, _ local: PeerDescription, _ sessionID: String, _ version: UInt64,
      _ receiving: [String: StreamParameters], _ sending: [String: OutgoingStream]
    ) {
      (self.offer, self.local, self.sessionID, self.version) = (offer, local, sessionID, version)
      (self.receiving, self.sending) = (receiving, sending)
    }

    package var description: SessionDescription {
      SessionDescription(
        answering: offer, as: local, sessionID: sessionID, version: version, receiving: receiving, sending: sending)
    }
  }

  private let sessionID: String
  private var version: UInt64 = 1

  /// - Parameter sessionID: of the `o=` line: decimal digits.
  package init(sessionID: String) { self.sessionID = sessionID }

  /// - Parameter media: those of the offer before in the same places, then new ones. A medium that neither sends nor receives keeps its
  ///   place.
  package mutating func offer(as local: PeerDescription, media: [Medium]) -> SessionDescription {
    version += 1
    return SessionDescription(offering: media, as: local, sessionID: sessionID, version: version)
  }

  /// - Parameters:
  ///   - receiving: by mid, what the other end may send.
  ///   - sending: by mid, what it will receive.
  package mutating func answer(
    _ offer: SessionDescription, as local: PeerDescription, receiving: [String: StreamParameters],
    sending: [String: OutgoingStream]
  ) -> Answer {
    version += 1
    return Answer(offer, local, sessionID, version, receiving, sending)
  }
}

extension StreamParameters {
  /// How the other end sends a medium that it describes: by the first format that is known here and sends several sizes as
  /// simulcast, in the layers and from the sources that it names. A source of 0 stands for one that only the packets name.
  /// - Parameter layerLimit: simulcast layers beyond are left out.
  package init?(sentBy medium: MediaDescription, mid: String, layerLimit: Int = 8) {
    guard
      let format = medium.knownFormats.first(where: { !$0.codec.hasSpatialLayersInBrowsers })
        ?? medium.knownFormats.first
    else { return nil }
    let rtx: UInt32? = format.rtxPayloadType == nil ? nil : 0
    let layers = Array(medium.sentLayers.prefix(layerLimit))
    let encodings: [Encoding] =
      if layers.count > 1 {
        layers.map { Encoding(rid: $0, ssrc: 0, rtxSSRC: rtx) }
      } else if let source = medium.sources.first {
        [Encoding(ssrc: source.ssrc, rtxSSRC: format.rtxPayloadType == nil ? nil : source.rtx ?? 0)]
      } else {
        [Encoding(rid: layers.first, ssrc: 0, rtxSSRC: rtx)]
      }
    self.init(
      mid: mid, codec: format.codec, payloadType: format.payloadType, rtxPayloadType: format.rtxPayloadType,
      redPayloadType: format.redPayloadType, encodings: encodings)
  }
}

extension SessionDescription {
  /// The numbers of header extensions in all media: bundled media share them (RFC 9143, 8). Of several numbers for one
  /// extension, and of several extensions for one number, which aiortc offers, the first counts.
  package var extensionIDs: [HeaderExtensionMap.Kind: UInt8] {
    var ids: [HeaderExtensionMap.Kind: UInt8] = [:]
    for (id, uri) in media.flatMap(\.extensions) {
      guard let kind = HeaderExtensionMap.Kind.allCases.first(where: { $0.uri == uri }), ids[kind] == nil,
        !ids.values.contains(id)
      else { continue }
      ids[kind] = id
    }
    return ids
  }

  /// Whether the medium can be answered with a stream: with one of the known formats, on the bundled transport.
  fileprivate static func isUsable(_ medium: MediaDescription, receiving: StreamParameters?) -> Bool {
    (medium.kind == "audio" || medium.kind == "video") && medium.has("rtcp-mux")
      && (medium.port != 0 || medium.has("bundle-only"))  // else it was stopped
      && !medium.knownFormats.isEmpty
      && receiving.map { track in medium.knownFormats.contains { $0.payloadType == track.payloadType } } ?? true
  }

  fileprivate init(
    answering offer: SessionDescription, as local: PeerDescription, sessionID: String, version: UInt64,
    receiving: [String: StreamParameters], sending: [String: SDPNegotiator.OutgoingStream]
  ) {
    let extensions = offer.extensionIDs
    var media: [MediaDescription] = []
    var mids: Set<String> = []
    for medium in offer.media {
      // Of two media of one name the first counts.
      guard let mid = medium.mid, Self.isUsable(medium, receiving: receiving[mid]), mids.insert(mid).inserted else {
        media.append(MediaDescription(rejecting: medium))
        continue
      }
      media.append(
        MediaDescription(
          answering: medium, mid: mid, as: local, receiving: receiving[mid], sending: sending[mid],
          extensions: extensions))
    }
    self.init(bundling: media, as: local, sessionID: sessionID, version: version)
  }

  fileprivate init(
    offering media: [SDPNegotiator.Medium], as local: PeerDescription, sessionID: String, version: UInt64
  ) {
    self.init(
      bundling: media.map { MediaDescription(offering: $0, as: local) }, as: local, sessionID: sessionID,
      version: version)
  }

  private init(bundling media: [MediaDescription], as local: PeerDescription, sessionID: String, version: UInt64) {
    let accepted = media.filter { $0.port != 0 }.compactMap(\.mid)
    self.init(
      sessionID: sessionID, version: version,
      attributes: (local.isLite ? [Attribute("ice-lite")] : []) + [
        Attribute("group", (["BUNDLE"] + accepted).joined(separator: " ")), Attribute("msid-semantic", " WMS *"),
      ],
      media: media)
  }
}

extension MediaDescription {
  fileprivate init(rejecting offer: MediaDescription) {
    self.init(
      kind: offer.kind, port: 0, transport: offer.transport, formats: offer.formats,
      attributes: [Attribute("inactive")] + (offer.mid.map { [Attribute("mid", $0)] } ?? []))
  }

  fileprivate init(
    answering offer: MediaDescription, mid: String, as local: PeerDescription, receiving: StreamParameters?,
    sending: SDPNegotiator.OutgoingStream?, extensions: [HeaderExtensionMap.Kind: UInt8]
  ) {
    // What the other end sends, it sends in one format, which was chosen when it was published; to receive, it must understand any.
    var formats = Array(
      offer.knownFormats.filter { receiving == nil || $0.payloadType == receiving?.payloadType }
        .prefix(SessionDescription.Limits.answeredFormats))
    if let receiving { for index in formats.indices { formats[index].redPayloadType = receiving.redPayloadType } }
    var lines = MediumLines(mid: mid, as: local)
    lines.add(offer.direction.answered(sends: sending != nil, receives: receiving != nil).rawValue)
    for format in formats { lines.add(format) { offer.takesFeedback($0, on: $1) } }
    for (id, uri) in offer.extensions where extensions.contains(where: { $0.key.uri == uri && $0.value == id }) {
      lines.add("extmap", "\(id) \(uri)")
    }
    if let receiving { lines.addLayers(of: receiving, direction: "recv") }
    if let sending { lines.addSources(of: sending.parameters, in: sending.mediaStream) }
    self.init(
      kind: offer.kind, transport: offer.transport, formats: lines.formats.map(String.init),
      attributes: lines.attributes)
  }

  fileprivate init(offering medium: SDPNegotiator.Medium, as local: PeerDescription) {
    var lines = MediumLines(mid: medium.mid, as: local)
    let direction: Direction =
      switch (medium.sending != nil, medium.receives) {
      case (true, true): .sendrecv
      case (true, false): .sendonly
      case (false, true): .recvonly
      case (false, false): .inactive
      }
    lines.add(direction.rawValue)
    for format in Self.formats(of: medium) { lines.add(format) { _, _ in true } }
    for kind in HeaderExtensionMap.Kind.allCases {
      if let id = HeaderExtensionMap.koine.id(of: kind) { lines.add("extmap", "\(id) \(kind.uri)") }
    }
    if let sending = medium.sending {
      lines.addLayers(of: sending, direction: "send")
      lines.addSources(of: sending, in: sending.mid)
    }
    self.init(
      kind: medium.isAudio ? "audio" : "video", formats: lines.formats.map(String.init), attributes: lines.attributes)
  }

  /// A stream is offered in its codec, a medium to receive in all codecs of its kind.
  private static func formats(of medium: SDPNegotiator.Medium) -> [Format] {
    if let sending = medium.sending {
      return [Format(codec: sending.codec, payloadType: sending.payloadType, rtxPayloadType: sending.rtxPayloadType)]
    }
    return Codec.allCases.filter { $0.isAudio == medium.isAudio }.map { codec in
      Format(codec: codec, payloadType: codec.payloadType, rtxPayloadType: codec.isAudio ? nil : codec.rtxPayloadType)
    }
  }
}

/// The attributes of one medium of an offer or an answer.
private struct MediumLines {
  private(set) var attributes: [SessionDescription.Attribute] = []
  /// In the order of preference, each with its retransmissions behind it.
  private(set) var formats: [UInt8] = []

  init(mid: String, as local: PeerDescription) {
    add("mid", mid)
    add("ice-ufrag", local.ice.ufrag)
    add("ice-pwd", local.ice.password)
    add("fingerprint", "\(local.fingerprint.algorithm) \(local.fingerprint.value)")
    add("setup", local.setup.rawValue)
    for candidate in local.candidates { add("candidate", candidate.sdpValue) }
    add("end-of-candidates")
    add("rtcp-mux")
    add("rtcp-rsize")
  }

  mutating func add(_ name: String, _ value: String? = nil) { attributes.append(.init(name, value)) }

  /// - Parameter takesFeedback: whether the other end takes a kind of feedback on a payload type, as far as it has said so.
  mutating func add(_ format: MediaDescription.Format, takesFeedback: (_ kind: String, _ type: UInt8) -> Bool) {
    let type = format.payloadType
    formats.append(type)
    add("rtpmap", "\(type) \(format.codec.rtpmap)")
    for kind in ["transport-cc", "ccm fir", "nack", "nack pli"] where takesFeedback(kind, type) {
      if kind == "transport-cc" || !format.codec.isAudio { add("rtcp-fb", "\(type) \(kind)") }
    }
    if let parameters = format.codec.announcedParameters {
      add("fmtp", "\(type) " + ([parameters] + Self.stereoParameters(for: format)).joined(separator: ";"))
    }
    // Behind the format itself, so that the other end sends it plain (RFC 3264, 6.1) and takes it either way; unless it prefers copies.
    if let red = format.redPayloadType { addRedundant(red, of: format, takesFeedback) }
    guard let rtx = format.rtxPayloadType else { return }
    formats.append(rtx)
    add("rtpmap", "\(rtx) rtx/\(format.codec.clockRate)")
    add("fmtp", "\(rtx) apt=\(type)")
  }

  /// RFC 7587, 6.1: an end that may send two channels is told that it is welcome, and an end that prefers to receive two that it may
  /// get them. An end that says nothing stays at one channel, which costs half as much.
  private static func stereoParameters(for format: MediaDescription.Format) -> [String] {
    [("sprop-stereo", "stereo=1"), ("stereo", "sprop-stereo=1")].compactMap { name, answer in
      format.parameters[name] == "1" ? answer : nil
    }
  }

  /// RFC 2198, sections 4 and 5.
  private mutating func addRedundant(
    _ type: UInt8, of format: MediaDescription.Format, _ takesFeedback: (String, UInt8) -> Bool
  ) {
    formats.insert(type, at: formats.endIndex - (format.prefersRed ? 1 : 0))
    add("rtpmap", "\(type) red/\(format.codec.clockRate)/2")
    add("fmtp", "\(type) \(format.payloadType)/\(format.payloadType)")
    if takesFeedback("transport-cc", type) { add("rtcp-fb", "\(type) transport-cc") }
  }

  mutating func addLayers(of stream: StreamParameters, direction: String) {
    let layers = stream.encodings.compactMap(\.rid)
    guard layers.count > 1 else { return }
    for layer in layers { add("rid", "\(layer) \(direction)") }
    add("simulcast", "\(direction) " + layers.joined(separator: ";"))
  }

  mutating func addSources(of stream: StreamParameters, in mediaStream: String) {
    add("msid", "\(mediaStream) \(stream.mid)")
    for encoding in stream.encodings {
      if let rtx = encoding.rtxSSRC { add("ssrc-group", "FID \(encoding.ssrc) \(rtx)") }
      for ssrc in [encoding.ssrc, encoding.rtxSSRC].compactMap(\.self) { add("ssrc", "\(ssrc) cname:koine") }
    }
  }
}
