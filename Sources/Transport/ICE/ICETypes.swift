package import KoineBase

extension ICECredentials {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

  package static func random(using random: inout SeededRandom) -> ICECredentials {
    func text(_ length: Int) -> String { String((0..<length).map { _ in alphabet[Int(random.next() & 63)] }) }
    return ICECredentials(ufrag: text(8), password: text(24))
  }
}

extension ICECandidate {
  /// A host candidate of the only component; IPv6 is preferred a little.
  package init(host address: TransportAddress, preference: UInt16 = 0xFF00) {
    let local = UInt32(preference) + (address.family == .ipv6 ? 1 : 0)
    self.init(
      transport: address.transport, host: address.host, port: address.port, kind: .host,
      priority: Self.priority(.host, preference: local),
      foundation: address.family == .ipv6 ? "2" : "1")
  }

  /// RFC 8445, 5.1.2.1.
  static func priority(_ kind: Kind, preference: UInt32) -> UInt32 {
    let type: UInt32 =
      switch kind {
      case .host: 126
      case .prflx: 110
      case .srflx: 100
      case .relay: 0
      }
    return type << 24 | min(preference, 0xFFFF) << 8 | 255
  }

  /// Nil where `host` is a name.
  var address: TransportAddress? { SocketAddress(host, port: port).map { TransportAddress(transport, $0) } }
}
