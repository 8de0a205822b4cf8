import KoineBase

/// A session description (RFC 8866) as browsers write it (RFC 8829): the parts that calls need as values, everything else
/// kept as it came.
///
/// Parsing is total: unknown attributes are kept among the attributes, malformed input throws, nothing traps.
package struct SessionDescription: Hashable, Sendable {
  /// `name` or `name:value`, without `a=`.
  package struct Attribute: Hashable, Sendable {
    package var name: String
    package var value: String?

    package init(_ name: String, _ value: String? = nil) { (self.name, self.value) = (name, value) }

    /// - Parameter text: of an `a=` line.
    init(parsing text: Substring) {
      let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
      name = String(text[..<(colon ?? text.endIndex)])
      value = colon.map { String(text[text.utf8.index(after: $0)...]) }
    }

    /// Appends the `a=` line, without its end.
    func write(to text: inout String) {
      text += "a="
      text += name
      guard let value else { return }
      text += ":"
      text += value
    }
  }

  /// How large a description may be.
  package struct Limits: Sendable {
    /// Of text in bytes.
    package var bytes: Int
    package var media: Int

    /// For a client that is not in a room yet: it describes what it sends itself.
    package static let joining = Limits(bytes: 64 * 1024, media: 64)
    /// For a participant. A browser describes each track that it receives with all formats that it knows, some 5 kB. It may
    /// name 256 tracks that it wants and 32 of its own; the rest are media that it has stopped and not used again.
    package static let joined = Limits(bytes: 1024 * 1024, media: 320)

    // Of any description; nothing that a browser writes comes near these.
    package static let line = 16 * 1024
    /// Of one medium, and of the session.
    package static let attributes = 1_024
    /// Of one medium: RTP has 128 payload types.
    package static let formats = 128
    package static let knownFormats = 16
    /// Formats of one medium of an answer, without retransmissions and redundancy: one more than there are codecs.
    package static let answeredFormats = Codec.allCases.count + 1
    package static let candidates = 64
  }

  /// Of the `o=` line.
  package var sessionID: String
  package var version: UInt64
  package var attributes: [Attribute]
  package var media: [MediaDescription]

  package init(
    sessionID: String, version: UInt64 = 1, attributes: [Attribute] = [], media: [MediaDescription] = []
  ) {
    (self.sessionID, self.version) = (sessionID, version)
    (self.attributes, self.media) = (attributes, media)
  }

  /// - Throws: `SDPError`.
  package init(parsing text: String, limits: Limits = .joined) throws(SDPError) {
    guard text.utf8.count <= limits.bytes else { throw .tooLarge }
    var origin: (id: String, version: UInt64)?
    var hasVersion = false
    // The session's, then each medium's.
    var sections: [(line: MediaDescription.Line?, attributes: [Attribute])] = [(nil, [])]
    for bytes in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
      ReadingSteps.count()
      guard bytes.count <= Limits.line else { throw .tooLarge }
      guard bytes.count >= 2, bytes.dropFirst().first == UInt8(ascii: "="), let first = bytes.first, first < 0x80 else {
        throw .malformed("not a line")
      }
      let type = Character(Unicode.Scalar(first))
      let value = Substring(bytes.dropFirst(2))
      guard hasVersion || type == "v" else { throw .malformed("does not begin with v=") }
      switch type {
      case "v":
        guard value == "0", !hasVersion else { throw .malformed("v=\(value.prefix(16))") }
        hasVersion = true
      case "o": if sections.count == 1 { origin = try Self.origin(value) }
      case "m":
        guard sections.count <= limits.media else { throw .tooLarge }
        sections.append((try MediaDescription.Line(parsing: value), []))
      case "a":
        guard sections[sections.count - 1].attributes.count < Limits.attributes else { throw .tooLarge }
        sections[sections.count - 1].attributes.append(Attribute(parsing: value))
      default: break  // names, times, bandwidths, connections: nothing here goes by them
      }
    }
    guard let origin else { throw .malformed("no o= line") }
    (sessionID, version) = origin
    attributes = sections[0].attributes
    media = sections.compactMap { section in section.line.map { MediaDescription($0, section.attributes) } }
  }

  private static func origin(_ value: Substring) throws(SDPError) -> (String, UInt64) {
    let fields = value.words()
    guard fields.count == 6, let version = UInt64(fields[2]) else { throw .malformed("o=\(value.prefix(64))") }
    return (String(fields[1]), version)
  }

  /// As text, lines ended by CR LF.
  package var text: String {
    var text = "v=0\r\no=- \(sessionID) \(version) IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
    func write(_ attributes: [Attribute]) {
      for attribute in attributes {
        attribute.write(to: &text)
        text += "\r\n"
      }
    }
    write(attributes)
    for medium in media {
      text += medium.line
      text += "\r\nc=IN IP4 0.0.0.0\r\n"
      write(medium.attributes)
    }
    return text
  }

  // MARK: What calls need

  package func value(_ name: String) -> String? { attributes.first { $0.name == name }?.value }

  package func values(_ name: String) -> [String] { attributes.filter { $0.name == name }.compactMap(\.value) }

  /// The mids that share one transport (RFC 9143).
  package var bundle: [String] {
    for attribute in attributes where attribute.name == "group" {
      guard let words = attribute.value?.words(), words.first == "BUNDLE" else { continue }
      return words.dropFirst().map(String.init)
    }
    return []
  }

  /// How the other side's peer is reached: of the first medium that says it, or of the session.
  /// - Throws: where something is missing.
  package func peerDescription() throws(SDPError) -> PeerDescription {
    func value(_ name: String) -> String? { media.lazy.compactMap { $0.value(name) }.first ?? self.value(name) }
    guard let ufrag = value("ice-ufrag"), let password = value("ice-pwd") else { throw .missing("ice-ufrag, ice-pwd") }
    guard (4...256).contains(ufrag.utf8.count), (22...256).contains(password.utf8.count) else {
      throw .malformed("ice-ufrag or ice-pwd of a wrong length")
    }
    // Some offer several hashes of one certificate.
    func fingerprint(in attributes: [Attribute]) -> [Substring]? {
      attributes.lazy.filter { $0.name == "fingerprint" }.compactMap { $0.value?.words() }
        .first { $0.count == 2 && $0[0].lowercased() == "sha-256" }
    }
    guard let words = media.lazy.compactMap({ fingerprint(in: $0.attributes) }).first ?? fingerprint(in: attributes)
    else {
      throw .missing("fingerprint by sha-256")
    }
    let candidates = media.first { $0.value("ice-ufrag") != nil }?.candidates ?? []
    return PeerDescription(
      ice: ICECredentials(ufrag: ufrag, password: password), candidates: candidates,
      fingerprint: Fingerprint(algorithm: words[0].lowercased(), value: words[1].uppercased()),
      isLite: attributes.contains { $0.name == "ice-lite" },
      setup: PeerDescription.Setup(rawValue: value("setup") ?? "") ?? .active)
  }
}

/// Why text is no session description that can be used.
package enum SDPError: Error, Hashable, Sendable, CustomStringConvertible {
  case tooLarge
  case malformed(String)
  case missing(String)

  package var description: String {
    switch self {
    case .tooLarge: "the session description is too large"
    case .malformed(let reason): "malformed session description: \(reason)"
    case .missing(let what): "the session description lacks \(what)"
    }
  }
}
