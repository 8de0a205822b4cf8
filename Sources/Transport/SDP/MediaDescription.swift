package import KoineBase
import KoineRTP

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
  package let kind: String
  /// 0: rejected, or for a medium that is bundled only.
  package let port: UInt16
  package let transport: String
  package let formats: [String]
  package let attributes: [Attribute]
  /// At most 16 bytes, so that it fits a header extension of one byte's length; nil: none, or a longer one.
  package let mid: String?
  package let direction: Direction
  /// RTP formats that are known here, in the order of preference; the first 16 of them.
  package let knownFormats: [Format]
  /// Header extensions by name (RFC 8285); of two of one name or one number the first.
  package let extensions: [(id: UInt8, uri: String)]
  /// The sources of the medium, and which retransmit which (RFC 5576, `FID`).
  package let sources: [(ssrc: UInt32, rtx: UInt32?)]
  private let tables: FormatTables

  /// Reads the attributes, each once.
  package init(
    kind: String, port: UInt16 = 9, transport: String = "UDP/TLS/RTP/SAVPF", formats: [String],
    attributes: [Attribute] = []
  ) {
    (self.kind, self.port, self.transport) = (kind, port, transport)
    (self.formats, self.attributes) = (formats, attributes)
    var (mid, direction): (String?, Direction?)
    var tables = FormatTables()
    var (extensions, sources, groups): ([String], [String], [String]) = ([], [], [])
    for attribute in attributes {
      ReadingSteps.count()
      guard let value = attribute.value else {
        if direction == nil { direction = Direction(rawValue: attribute.name) }
        continue
      }
      switch attribute.name {
      case "rtpmap": tables.addMap(value)
      case "fmtp": tables.addParameters(value)
      case "rtcp-fb": tables.addFeedback(value)
      case "extmap": extensions.append(value)
      case "ssrc": sources.append(value)
      case "ssrc-group": groups.append(value)
      case "mid": mid = mid ?? value
      default: break
      }
    }
    self.mid = mid.flatMap { (1...16).contains($0.utf8.count) ? $0 : nil }
    self.direction = direction ?? .sendrecv
    knownFormats = tables.knownFormats(among: formats)
    self.tables = tables
    self.extensions = Self.extensions(extensions)
    self.sources = Self.sources(sources, groups: groups)
  }

  /// The fields of an `m=` line.
  struct Line {
    var kind: String
    var port: UInt16
    var transport: String
    var formats: [String]

    /// - Parameter value: behind `m=`.
    init(parsing value: Substring) throws(SDPError) {
      let fields = value.words()
      guard fields.count >= 4, let port = UInt16(fields[1].words("/").first ?? "") else {
        throw .malformed("m=\(value.prefix(64))")
      }
      guard fields.count - 3 <= SessionDescription.Limits.formats else { throw .tooLarge }
      (kind, self.port, transport) = (String(fields[0]), port, String(fields[2]))
      formats = fields.dropFirst(3).map(String.init)
      // One spelling for each number: `096` and `96` would be one payload type under two names.
      guard formats.allSatisfy({ format in UInt8(format).map { String($0) == format } ?? true }) else {
        throw .malformed("a format number that is not written plainly on an m= line")
      }
      guard Set(formats).count == formats.count else { throw .malformed("a format twice on an m= line") }
    }
  }

  init(_ line: Line, _ attributes: [Attribute]) {
    self.init(
      kind: line.kind, port: line.port, transport: line.transport, formats: line.formats, attributes: attributes)
  }

  var line: String { (["m=\(kind)", String(port), transport] + formats).joined(separator: " ") }

  package func value(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
  package func values(_ name: String) -> [String] { attributes.filter { $0.name == name }.compactMap(\.value) }
  package func has(_ name: String) -> Bool { attributes.contains { $0.name == name } }

  // What the attributes say is nothing of its own.
  package static func == (one: Self, other: Self) -> Bool {
    (one.kind, one.port, one.transport) == (other.kind, other.port, other.transport) && one.formats == other.formats
      && one.attributes == other.attributes
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(port)
    hasher.combine(formats)
    hasher.combine(attributes)
  }

  // MARK: RTP

  /// An RTP payload format and its retransmissions.
  package struct Format: Hashable, Sendable {
    package var codec: Codec
    package var payloadType: UInt8
    package var rtxPayloadType: UInt8?
    /// Of packets that repeat earlier payloads of this format (RFC 2198).
    package var redPayloadType: UInt8?
    /// Whether such packets stand before this format in the list of formats: the sender of the description prefers them.
    package var prefersRed = false
    package var parameters: [String: String]

    package init(codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8?, parameters: [String: String] = [:]) {
      (self.codec, self.payloadType) = (codec, payloadType)
      (self.rtxPayloadType, self.parameters) = (rtxPayloadType, parameters)
    }
  }

  /// Whether the other side will take `kind` as feedback on a format: `nack`, `nack pli`, … (RFC 4585).
  package func takesFeedback(_ kind: String, on type: UInt8) -> Bool { tables.takesFeedback(kind, on: type) }

  /// Attributes about payload types, by payload type. Values are kept as they came; only those of formats that are known here are read
  /// further, so that a long list of unknown formats costs little.
  private struct FormatTables: Sendable {
    private var names: [UInt8: (codec: String, rate: String)] = [:]
    private var parameters: [UInt8: [Substring]] = [:]
    private var feedback: [UInt8: Set<Substring>] = [:]
    /// Of all formats.
    private var commonFeedback: Set<Substring> = []

    /// - Returns: nil for text that does not begin with a payload type.
    private static func payloadType(_ value: String) -> (type: UInt8, rest: Substring)? {
      let (first, rest) = value.twoWords
      guard let type = UInt8(first), type < 128, !rest.isEmpty else { return nil }
      return (type, rest)
    }

    mutating func addMap(_ value: String) {
      guard let (type, rest) = Self.payloadType(value) else { return }
      let parts = rest.words("/", atMost: 3)
      guard parts.count >= 2 else { return }
      names[type] = (parts[0].lowercased(), String(parts[1]))
    }

    mutating func addParameters(_ value: String) {
      guard let (type, rest) = Self.payloadType(value) else { return }
      parameters[type, default: []].append(rest)
    }

    mutating func addFeedback(_ value: String) {
      let (first, rest) = value.twoWords
      guard !rest.isEmpty else { return }
      if first == "*" {
        commonFeedback.insert(rest)
      } else if let type = UInt8(first), type < 128 {
        feedback[type, default: []].insert(rest)
      }
    }

    func takesFeedback(_ kind: String, on type: UInt8) -> Bool {
      let kind = kind[...]
      return commonFeedback.contains(kind) || feedback[type]?.contains(kind) ?? false
    }

    /// The parameters of `a=fmtp`. Of several lines for one payload type the last value of a name counts.
    private func parameters(of type: UInt8) -> [String: String] {
      var result: [String: String] = [:]
      for part in (parameters[type] ?? []).lazy.flatMap({ $0.words(";") }) {
        ReadingSteps.count()
        let pair = part.words("=", atMost: 2)
        guard let name = pair.first?.trimmedSpaces.lowercased() else { continue }
        result[name] = pair.count == 2 ? pair[1].trimmedSpaces : ""
      }
      return result
    }

    func knownFormats(among formats: [String]) -> [Format] {
      let types = formats.compactMap { UInt8($0) }
      var retransmissions: [UInt8: UInt8] = [:]
      for type in types where names[type]?.codec == "rtx" {
        ReadingSteps.count()
        guard let original = parameters(of: type)["apt"].flatMap({ UInt8($0) }) else { continue }
        retransmissions[original] = retransmissions[original] ?? type
      }
      var redundant: [UInt8: UInt8] = [:]
      for type in types where names[type].map({ $0 == ("red", "48000") }) ?? false {
        // As `111/111`: the format of the payload and those of its copies; several formats in one packet are not known here.
        let list = parameters(of: type)
        guard list.count == 1, let types = list.first?.key.words("/"),
          let original = types.first.flatMap({ UInt8($0) }), types.allSatisfy({ UInt8($0) == original })
        else { continue }
        redundant[original] = redundant[original] ?? type
      }
      let known = types.lazy.compactMap { type -> Format? in
        ReadingSteps.count()
        guard let name = names[type], let codec = Codec(sdpName: name.codec, rate: name.rate) else { return nil }
        let parameters = parameters(of: type)
        guard codec.accepts(parameters) else { return nil }
        var format = Format(
          codec: codec, payloadType: type, rtxPayloadType: retransmissions[type], parameters: parameters)
        if codec.isAudio, let red = redundant[type] {
          format.redPayloadType = red
          format.prefersRed = types.prefix { $0 != type }.contains(red)
        }
        return format
      }
      return Array(known.prefix(SessionDescription.Limits.knownFormats))
    }
  }

  private static func extensions(_ values: [String]) -> [(id: UInt8, uri: String)] {
    var result: [(id: UInt8, uri: String)] = []
    for value in values {
      ReadingSteps.count()
      let words = value.words()
      guard words.count >= 2, let id = UInt8(words[0].words("/").first ?? ""), (1...14).contains(id),
        !result.contains(where: { $0.id == id || $0.uri == words[1] })  // it holds 14 at most
      else { continue }
      result.append((id, String(words[1])))
    }
    return result
  }

  private static func sources(_ values: [String], groups: [String]) -> [(ssrc: UInt32, rtx: UInt32?)] {
    var retransmissions: [UInt32: UInt32] = [:]
    for group in groups {
      ReadingSteps.count()
      let words = group.words()
      guard words.count == 3, words[0] == "FID", let original = UInt32(words[1]), let rtx = UInt32(words[2]) else {
        continue
      }
      retransmissions[original] = rtx
    }
    var left = Set(retransmissions.values)  // those that have been listed, too
    return values.compactMap { value in
      ReadingSteps.count()
      guard let ssrc = UInt32(value.twoWords.first), ssrc != 0, left.insert(ssrc).inserted else { return nil }
      return (ssrc, retransmissions[ssrc])
    }
  }

  /// The layers that it will send, in the order of `a=simulcast` (RFC 8853), without those that begin paused.
  package var sentLayers: [String] {
    guard let value = value("simulcast") else { return [] }
    let words = value.words()
    guard let place = words.firstIndex(of: "send"), words.indices.contains(place + 1) else { return [] }
    let known = Set(values("rid").map { String($0.twoWords.first) })
    return words[place + 1].words(";").compactMap { alternatives in
      guard let first = alternatives.words(",").first, !first.hasPrefix("~") else { return nil }
      let rid = String(first)
      return known.contains(rid) && rid.utf8.count <= 16 ? rid : nil
    }
  }

  // MARK: ICE

  package var candidates: [ICECandidate] {
    values("candidate").prefix(SessionDescription.Limits.candidates).compactMap { ICECandidate(parsing: $0) }
  }
}

extension ICECandidate {
  /// RFC 8839 section 5.1; nil for other transports than UDP, other components than the first, and host names.
  package init?(parsing value: String) {
    let words = value.words()
    guard words.count >= 8, words[1] == "1", let transport = TransportProtocol(rawValue: words[2].lowercased()),
      let priority = UInt32(words[3]),
      let port = UInt16(words[5]), words[6] == "typ", let kind = Kind(rawValue: String(words[7]))
    else { return nil }
    self.init(
      transport: transport, host: String(words[4]), port: port, kind: kind, priority: priority,
      foundation: String(words[0].prefix(32)))
    guard address != nil else { return nil }
  }

  /// Of an `a=candidate`.
  package var sdpValue: String {
    "\(foundation) 1 \(transport.rawValue) \(priority) \(host) \(port) typ \(kind.rawValue)"
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The parts between separators, without the empty ones. By bytes: a description is ASCII where anything goes by it.
  /// - Parameter atMost: so many parts; the last is all the rest.
  func words(_ separator: Unicode.Scalar = " ", atMost count: Int = .max) -> [Substring] {
    let byte = UInt8(ascii: separator)
    var (parts, rest): ([Substring], Substring) = ([], self[startIndex...])
    while parts.count < count - 1, let place = rest.utf8.firstIndex(of: byte) {
      ReadingSteps.count()
      if place > rest.startIndex { parts.append(rest[..<place]) }
      rest = rest[rest.utf8.index(after: place)...]
    }
    if !rest.isEmpty { parts.append(rest) }
    return parts
  }

  /// The text before the first space, and after it. Leading spaces are skipped.
  var twoWords: (first: Substring, rest: Substring) {
    let space = UInt8(ascii: " ")
    guard let start = utf8.firstIndex(where: { $0 != space }) else { return ("", "") }
    ReadingSteps.count()
    guard let end = utf8[start...].firstIndex(of: space) else { return (self[start...], "") }
    return (self[start..<end], self[utf8.index(after: end)...])
  }
}

extension Substring {
  fileprivate var trimmedSpaces: String {
    var rest = utf8
    while rest.first == 0x20 || rest.first == 0x09 { rest.removeFirst() }
    while rest.last == 0x20 || rest.last == 0x09 { rest.removeLast() }
    return String(Substring(rest))
  }
}
