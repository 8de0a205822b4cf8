/// How one side's peer is reached: ICE credentials and candidates, and the certificate that DTLS must show.
public struct Description: Hashable, Sendable {
  public struct Candidate: Hashable, Sendable {
    /// A numeric IPv4 or IPv6 address.
    public var host: String
    public var port: UInt16
    /// RFC 8445 section 5.1.2.
    public var priority: UInt32
    /// `host`, `srflx`, `prflx` or `relay`.
    public var kind: String
    public var foundation: String

    public init(host: String, port: UInt16, priority: UInt32, kind: String = "host", foundation: String = "1") {
      (self.host, self.port, self.priority) = (host, port, priority)
      (self.kind, self.foundation) = (kind, foundation)
    }
  }

  public struct Fingerprint: Hashable, Sendable, Codable {
    /// As in SDP (RFC 8122): `sha-256`.
    public var algorithm: String
    /// Upper-case hexadecimal bytes with colons.
    public var value: String

    public init(algorithm: String = "sha-256", value: String) {
      (self.algorithm, self.value) = (algorithm, value)
    }
  }

  /// Who opens DTLS (RFC 5763): the active side is the client.
  public enum Setup: String, Hashable, Sendable, Codable { case active, passive }

  public var ufrag: String
  public var password: String
  public var candidates: [Candidate]
  public var fingerprint: Fingerprint
  /// ICE-lite (RFC 8445 section 2.5): answers checks and sends none.
  public var lite: Bool
  public var setup: Setup
  /// The payload type under which the peer takes audio that repeats earlier payloads (RFC 2198); nil if it takes none.
  public var redPayloadType: UInt8?

  public init(
    ufrag: String, password: String, candidates: [Candidate] = [], fingerprint: Fingerprint, lite: Bool, setup: Setup,
    redPayloadType: UInt8? = nil
  ) {
    (self.ufrag, self.password, self.candidates) = (ufrag, password, candidates)
    (self.fingerprint, self.lite, self.setup) = (fingerprint, lite, setup)
    self.redPayloadType = redPayloadType
  }
}

extension Description: Codable {
  private enum CodingKeys: String, CodingKey {
    case ufrag, password, candidates, fingerprint, lite, setup, redPayloadType
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      ufrag: try fields.text(.ufrag), password: try fields.text(.password),
      candidates: try fields.list(.candidates, limit: SignalingLimits.candidates),
      fingerprint: try fields.decode(Fingerprint.self, forKey: .fingerprint),
      lite: try fields.decodeIfPresent(Bool.self, forKey: .lite) ?? false,
      setup: try fields.decode(Setup.self, forKey: .setup),
      redPayloadType: try fields.decodeIfPresent(UInt8.self, forKey: .redPayloadType))
  }
}

extension Description.Candidate: Codable {
  private enum CodingKeys: String, CodingKey { case host, port, priority, kind, foundation }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      host: try fields.text(.host), port: try fields.decode(UInt16.self, forKey: .port),
      priority: try fields.decode(UInt32.self, forKey: .priority),
      kind: try fields.textIfPresent(.kind) ?? "host", foundation: try fields.textIfPresent(.foundation) ?? "1")
  }
}
