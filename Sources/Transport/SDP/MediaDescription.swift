/// One `m=` section (RFC 8866 section 5.14).
package struct MediaDescription: Hashable, Sendable {
  package typealias Attribute = SessionDescription.Attribute

  package enum Direction: String, Hashable, Sendable, CaseIterable {
    case sendrecv, sendonly, recvonly, inactive

    package var sends: Bool { self == .sendrecv || self == .sendonly }
    package var receives: Bool { self == .sendrecv || self == .recvonly }

    /// What an answer may say to it at most (RFC 3264 section 6.1).
    package func answered(sends: Bool, receives: Bool) -> Direction {
      switch (sends && self.receives, receives && self.sends) {
      case (true, true): .sendrecv
      case (true, false): .sendonly
      case (false, true): .recvonly
      case (false, false): .inactive
      }
    }
  }

  /// `audio`, `video`, `application`, …
  package var kind: String
  /// 0: rejected, or for a medium that is bundled only.
  package var port: UInt16
  package var transport: String
  package var formats: [String]
  package var attributes: [Attribute]

  package init(
    kind: String, port: UInt16 = 9, transport: String = "UDP/TLS/RTP/SAVPF", formats: [String],
    attributes: [Attribute] = []
  ) {
    (self.kind, self.port, self.transport) = (kind, port, transport)
    (self.formats, self.attributes) = (formats, attributes)
  }

  /// - Parameter value: behind `m=`.
  init(parsing value: Substring) throws(SDPError) {
    let fields = value.split(separator: " ")
    guard fields.count >= 4, let port = UInt16(fields[1].prefix { $0 != "/" }) else {
      throw .malformed("m=\(value.prefix(64))")
    }
    self.init(
      kind: String(fields[0]), port: port, transport: String(fields[2]), formats: fields.dropFirst(3).map(String.init))
  }

  var line: String { (["m=\(kind)", String(port), transport] + formats).joined(separator: " ") }

  package func value(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
  package func values(_ name: String) -> [String] { attributes.filter { $0.name == name }.compactMap(\.value) }
  package func has(_ name: String) -> Bool { attributes.contains { $0.name == name } }

  // MARK: RTP

  /// At most 16 bytes, so that it fits a header extension of one byte's length.
  package var mid: String? { value("mid").flatMap { (1...16).contains($0.utf8.count) ? $0 : nil } }

  package var direction: Direction {
    for attribute in attributes where attribute.value == nil {
      if let direction = Direction(rawValue: attribute.name) { return direction }
    }
    return .sendrecv
  }

  /// An RTP payload format and its retransmissions.
  package struct Format: Hashable, Sendable {
    package var codec: Codec
    package var payloadType: UInt8
    package var rtxPayloadType: UInt8?
    package var parameters: [String: String]

    package init(codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8?, parameters: [String: String] = [:]) {
      (self.codec, self.payloadType) = (codec, payloadType)
      (self.rtxPayloadType, self.parameters) = (rtxPayloadType, parameters)
    }
  }

  /// Those that are known here, in the order of preference.
  package var knownFormats: [Format] {
    var names: [UInt8: (codec: String, rate: String)] = [:]
    for value in values("rtpmap") {
      let words = value.split(separator: " ", maxSplits: 1)
      guard words.count == 2, let type = UInt8(words[0]), type < 128 else { continue }
      let parts = words[1].split(separator: "/")
      guard parts.count >= 2 else { continue }
      names[type] = (parts[0].lowercased(), String(parts[1]))
    }
    let types = formats.compactMap { UInt8($0) }
    var retransmissions: [UInt8: UInt8] = [:]
    for type in types where names[type]?.codec == "rtx" {
      guard let original = parameters(of: type)["apt"].flatMap({ UInt8($0) }) else { continue }
      retransmissions[original] = retransmissions[original] ?? type
    }
    return types.compactMap { type in
      guard let name = names[type], let codec = Codec(sdpName: name.codec, rate: name.rate) else { return nil }
      let parameters = parameters(of: type)
      // VP9 is understood in its first profile only: eight bits, every second colour.
      if codec == .vp9, parameters["profile-id"].map({ $0 != "0" }) ?? false { return nil }
      return Format(codec: codec, payloadType: type, rtxPayloadType: retransmissions[type], parameters: parameters)
    }
  }

  /// Of `a=fmtp`.
  package func parameters(of type: UInt8) -> [String: String] {
    var result: [String: String] = [:]
    for value in values("fmtp") {
      let words = value.split(separator: " ", maxSplits: 1)
      guard words.count == 2, UInt8(words[0]) == type else { continue }
      for part in words[1].split(separator: ";") {
        let pair = part.split(separator: "=", maxSplits: 1)
        guard let name = pair.first?.trimmedSpaces.lowercased() else { continue }
        result[name] = pair.count == 2 ? pair[1].trimmedSpaces : ""
      }
    }
    return result
  }

  /// What the other side will take as feedback on a format: `nack`, `nack pli`, … (RFC 4585).
  package func feedback(of type: UInt8) -> Set<String> {
    Set(
      values("rtcp-fb").compactMap { value in
        let words = value.split(separator: " ", maxSplits: 1)
        return words.count == 2 && (words[0] == "*" || UInt8(words[0]) == type) ? String(words[1]) : nil
      })
  }

  /// Header extensions by name (RFC 8285); of two of one name the first.
  package var extensions: [(id: UInt8, uri: String)] {
    var result: [(id: UInt8, uri: String)] = []
    for value in values("extmap") {
      let words = value.split(separator: " ")
      guard words.count >= 2, let id = UInt8(words[0].prefix { $0 != "/" }), (1...14).contains(id),
        !result.contains(where: { $0.id == id || $0.uri == words[1] })
      else { continue }
      result.append((id, String(words[1])))
    }
    return result
  }

  /// The sources of the medium, and which retransmit which (RFC 5576, `FID`).
  package var sources: [(ssrc: UInt32, rtx: UInt32?)] {
    var retransmissions: [UInt32: UInt32] = [:]
    for value in values("ssrc-group") {
      let words = value.split(separator: " ")
      guard words.count == 3, words[0] == "FID", let original = UInt32(words[1]), let rtx = UInt32(words[2]) else {
        continue
      }
      retransmissions[original] = rtx
    }
    var result: [(ssrc: UInt32, rtx: UInt32?)] = []
    for value in values("ssrc") {
      guard let ssrc = value.split(separator: " ").first.flatMap({ UInt32($0) }), ssrc != 0,
        !retransmissions.values.contains(ssrc), !result.contains(where: { $0.ssrc == ssrc })
      else { continue }
      result.append((ssrc, retransmissions[ssrc]))
    }
    return result
  }

  /// The layers that it will send, in the order of `a=simulcast` (RFC 8853), without those that begin paused.
  package var sentLayers: [String] {
    guard let value = value("simulcast") else { return [] }
    let words = value.split(separator: " ")
    guard let place = words.firstIndex(of: "send"), words.indices.contains(place + 1) else { return [] }
    let known = Set(values("rid").compactMap { $0.split(separator: " ").first.map(String.init) })
    return words[place + 1].split(separator: ";").compactMap { alternatives in
      guard let first = alternatives.split(separator: ",").first, !first.hasPrefix("~") else { return nil }
      let rid = String(first)
      return known.contains(rid) && rid.utf8.count <= 16 ? rid : nil
    }
  }

  // MARK: ICE

  package var candidates: [ICECandidate] { values("candidate").compactMap { ICECandidate(parsing: $0) } }
}

extension Codec {
  package init?(sdpName: String, rate: String) {
    switch (sdpName, rate) {
    case ("opus", "48000"): self = .opus
    case ("vp8", "90000"): self = .vp8
    case ("vp9", "90000"): self = .vp9
    default: return nil
    }
  }

  /// Of `a=rtpmap`.
  package var rtpmap: String {
    switch self {
    case .opus: "opus/48000/2"
    case .vp8: "VP8/90000"
    case .vp9: "VP9/90000"
    }
  }
}

extension ICECandidate {
  /// RFC 8839 section 5.1; nil for other transports than UDP, other components than the first, and host names.
  package init?(parsing value: String) {
    let words = value.split(separator: " ")
    guard words.count >= 8, words[1] == "1", words[2].lowercased() == "udp", let priority = UInt32(words[3]),
      let port = UInt16(words[5]), words[6] == "typ", let kind = Kind(rawValue: String(words[7]))
    else { return nil }
    self.init(
      host: String(words[4]), port: port, kind: kind, priority: priority, foundation: String(words[0].prefix(32)))
    guard address != nil else { return nil }
  }

  /// Of an `a=candidate`.
  package var sdpValue: String { "\(foundation) 1 udp \(priority) \(host) \(port) typ \(kind.rawValue)" }
}

extension Substring {
  fileprivate var trimmedSpaces: String {
    var rest = self
    while rest.first == " " || rest.first == "\t" { rest.removeFirst() }
    while rest.last == " " || rest.last == "\t" { rest.removeLast() }
    return String(rest)
  }
}
