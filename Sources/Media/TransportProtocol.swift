/// What carries a peer's packets, by its name in SDP (RFC 8839, 5.1).
public enum TransportProtocol: String, Hashable, Sendable, Codable, CaseIterable {
  /// UDP.
  case udp
}
