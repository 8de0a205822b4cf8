public import KoineMedia

/// A transport address (RFC 8445, 2): the protocol with the IP address and port. An address of one protocol is another place
/// than the same address of another one.
public struct TransportAddress: Hashable, Sendable, CustomStringConvertible {
  public let socketAddress: SocketAddress
  public let transport: TransportProtocol  // behind the address, where it takes no room

  public init(_ transport: TransportProtocol, _ socketAddress: SocketAddress) {
    (self.transport, self.socketAddress) = (transport, socketAddress)
  }

  public init(udp socketAddress: SocketAddress) { self.init(.udp, socketAddress) }

  /// A UDP port at 127.0.0.1.
  public static func loopback(port: UInt16 = 0) -> TransportAddress { TransportAddress(udp: .loopback(port: port)) }

  /// Without the port, as RFC 5952 writes it.
  public var host: String { socketAddress.host }
  public var port: UInt16 { socketAddress.port }
  public var family: SocketAddress.Family { socketAddress.family }

  /// Routers look one up for every packet: two words of an IPv4 address are hashed, three of an IPv6 address.
  public func hash(into hasher: inout Hasher) {
    let kind: UInt64 =
      switch transport {
      case .udp: 0
      }
    let family = socketAddress.family
    if family == .ipv6 { hasher.combine(socketAddress.high) }
    hasher.combine(socketAddress.low)
    hasher.combine(kind << 32 | UInt64(family.rawValue) << 16 | UInt64(socketAddress.port))
  }

  /// As in `udp 192.0.2.1:5000`.
  public var description: String { "\(transport.rawValue) \(socketAddress)" }
}
