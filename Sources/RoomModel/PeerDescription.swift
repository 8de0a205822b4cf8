public import KoineBase

/// What one end of a peer connection tells the other by signalling, before any packet flows: how it is reached, and the certificate that
/// DTLS must show. As JSON the credentials are fields of the description itself.
public struct PeerDescription: Sendable, Hashable {
  /// The part in the DTLS handshake (RFC 5763): the active end begins it. `actpass` leaves the choice to the answer.
  public enum Setup: String, Codable, Sendable {
    /// This end starts the handshake.
    case active
    /// This end waits for the handshake.
    case passive
    /// This end offers both roles.
    case actpass
  }

  /// The ICE credentials of this end.
  public var ice: ICECredentials
  /// The ICE candidates of this end.
  public var candidates: [ICECandidate]
  /// The fingerprint of this end's DTLS certificate.
  public var fingerprint: Fingerprint
  /// ICE-lite (RFC 8445, section 2.5): the end answers checks and makes none of its own.
  public var isLite: Bool
  /// The role of this end in the DTLS handshake.
  public var setup: Setup
  /// The payload type under which the peer takes audio that repeats earlier payloads (RFC 2198); nil if it takes none.
  public var redPayloadType: UInt8?

  /// Creates a description.
  public init(
    ice: ICECredentials, candidates: [ICECandidate] = [], fingerprint: Fingerprint, isLite: Bool, setup: Setup,
    redPayloadType: UInt8? = nil
  ) {
    (self.ice, self.candidates, self.fingerprint) = (ice, candidates, fingerprint)
    (self.isLite, self.setup, self.redPayloadType) = (isLite, setup, redPayloadType)
  }
}

/// The short-term credentials of one end (RFC 8445, section 5.3).
public struct ICECredentials: Codable, Sendable, Hashable {
  /// The user name fragment, 4 to 256 characters.
  public var ufrag: String
  /// The password, 22 to 256 characters.
  public var password: String

  /// Creates credentials.
  public init(ufrag: String, password: String) { (self.ufrag, self.password) = (ufrag, password) }
}

/// An address at which a peer may be reached (RFC 8445, section 5.3).
public struct ICECandidate: Sendable, Hashable {
  /// The type of a candidate (RFC 8445).
  public enum Kind: String, Codable, Sendable {
    /// An address of the machine.
    case host
    /// An address that a STUN server has seen.
    case srflx
    /// An address that a connectivity check has seen.
    case prflx
    /// An address of a TURN server, which passes on what it receives there (RFC 8656).
    case relay
  }

  /// The transport protocol of the candidate.
  public var transport: TransportProtocol
  /// A numeric IPv4 or IPv6 address, or a name.
  public var host: String
  /// The port.
  public var port: UInt16
  /// The type of the candidate.
  public var kind: Kind
  /// RFC 8445, section 5.1.2.
  public var priority: UInt32
  /// Equal for candidates of the same type, base and server (RFC 8445 section 5.1.1.3).
  public var foundation: String

  /// Creates a candidate.
  public init(
    transport: TransportProtocol = .udp, host: String, port: UInt16, kind: Kind = .host, priority: UInt32,
    foundation: String = "1"
  ) {
    (self.transport, self.host, self.port) = (transport, host, port)
    (self.kind, self.priority, self.foundation) = (kind, priority, foundation)
  }
}

/// What a peer's certificate must hash to (RFC 8122, section 5). It travels in signalling.
public struct Fingerprint: Codable, Sendable, Hashable {
  /// The hash, as in `a=fingerprint`: "sha-256".
  public var algorithm: String
  /// Upper-case hexadecimal pairs with colons between: "AB:CD:…".
  public var value: String

  /// Creates a fingerprint.
  public init(algorithm: String = "sha-256", value: String) { (self.algorithm, self.value) = (algorithm, value) }
}

extension PeerDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case candidates, fingerprint, setup, redPayloadType
    case isLite = "lite"
  }

  /// A candidate of a kind or protocol that this version does not know is left out: there may be others that work.
  private struct KnownCandidate: Decodable {
    private enum CodingKeys: String, CodingKey { case transport, kind }

    let candidate: ICECandidate?

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      let kind = try fields.decodeIfPresent(String.self, forKey: .kind)
      let transport = try fields.decodeIfPresent(String.self, forKey: .transport)
      let isKnown =
        kind.map { ICECandidate.Kind(rawValue: $0) != nil } ?? true
        && transport.map { TransportProtocol(rawValue: $0) != nil } ?? true
      candidate = isKnown ? try ICECandidate(from: decoder) : nil
    }
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      ice: try ICECredentials(from: decoder),
      candidates: try (fields.decodeIfPresent([KnownCandidate].self, forKey: .candidates) ?? []).compactMap(
        \.candidate),
      fingerprint: try fields.decode(Fingerprint.self, forKey: .fingerprint),
      isLite: try fields.decodeIfPresent(Bool.self, forKey: .isLite) ?? false,
      setup: try fields.decode(Setup.self, forKey: .setup),
      redPayloadType: try fields.decodeIfPresent(UInt8.self, forKey: .redPayloadType))
  }

  public func encode(to encoder: any Encoder) throws {
    try ice.encode(to: encoder)
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(candidates, forKey: .candidates)
    try fields.encode(fingerprint, forKey: .fingerprint)
    try fields.encode(isLite, forKey: .isLite)
    try fields.encode(setup, forKey: .setup)
    try fields.encodeIfPresent(redPayloadType, forKey: .redPayloadType)
  }
}

extension ICECandidate: Codable {
  private enum CodingKeys: String, CodingKey { case transport, host, port, priority, kind, foundation }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      transport: try fields.decodeIfPresent(TransportProtocol.self, forKey: .transport) ?? .udp,
      host: try fields.decode(String.self, forKey: .host), port: try fields.decode(UInt16.self, forKey: .port),
      kind: try fields.decodeIfPresent(Kind.self, forKey: .kind) ?? .host,
      priority: try fields.decode(UInt32.self, forKey: .priority),
      foundation: try fields.decodeIfPresent(String.self, forKey: .foundation) ?? "1")
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    if transport != .udp { try fields.encode(transport, forKey: .transport) }
    try fields.encode(host, forKey: .host)
    try fields.encode(port, forKey: .port)
    try fields.encode(priority, forKey: .priority)
    try fields.encode(kind, forKey: .kind)
    try fields.encode(foundation, forKey: .foundation)
  }
}
