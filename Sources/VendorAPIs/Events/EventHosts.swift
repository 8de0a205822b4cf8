package import KoineBase

/// The hosts to which events may be sent. Back ends name them in requests, so an address of the server's own network is refused
/// unless its owner has named the host: a webhook would otherwise reach services that trust this machine.
package struct EventHosts: Hashable, Sendable {
  private let names: Set<String>
  private let allowsLoopback: Bool

  /// - Parameters:
  ///   - names: names or numeric addresses of hosts, all of which are allowed with each port.
  ///   - allowsLoopback: whether `localhost` and the loopback addresses are allowed, too.
  /// - Throws: `InvalidHost` for a text that is not a host.
  package init(_ names: [String], allowsLoopback: Bool = false) throws(InvalidHost) {
    var known: Set<String> = []
    for name in names {
      guard let host = EventURL.normalized(name) else { throw InvalidHost(name: name) }
      known.insert(host)
    }
    (self.names, self.allowsLoopback) = (known, allowsLoopback)
  }

  package struct InvalidHost: Error, Hashable { package var name: String }

  /// Whether events may be sent to a host, by its name alone.
  package func allows(_ url: EventURL) -> Bool { names.contains(url.host) || isLoopbackName(url.host) }

  /// Whether an allowed host may be reached at an address that its name has been resolved to.
  package func allows(_ address: SocketAddress, of url: EventURL) -> Bool {
    guard allows(url) else { return false }
    if let numeric = SocketAddress(url.host, port: 0) { return numeric == address.with(port: 0) }
    guard names.contains(url.host) else { return address.isLoopbackAddress }
    // Cloud services have their metadata at a link-local address, and no name of a receiver is there.
    return !address.isNeverAReceiver
  }

  private func isLoopbackName(_ host: String) -> Bool {
    allowsLoopback && (host == "localhost" || SocketAddress(host, port: 0)?.isLoopbackAddress == true)
  }
}

extension SocketAddress {
  /// 127.0.0.0/8, ::1, and the former mapped into IPv6.
  fileprivate var isLoopbackAddress: Bool {
    if let mapped { return mapped.isLoopbackAddress }
    return family == .ipv4 ? low >> 24 == 127 : high == 0 && low == 1
  }

  /// Unspecified, link-local, multicast and broadcast addresses.
  fileprivate var isNeverAReceiver: Bool {
    if let mapped { return mapped.isNeverAReceiver }
    switch family {
    case .ipv4: return low >> 24 == 0 || low >> 16 == 0xA9FE || low >> 28 >= 0xE
    case .ipv6:
      let isUnspecified = high == 0 && low == 0
      // The second is the metadata service of EC2 (fd00:ec2::254).
      return isUnspecified || (high == 0xFD00_0EC2_0000_0000 && low == 0x254) || high >> 54 == 0xFE80 >> 6
        || high >> 56 == 0xFF
    }
  }

  /// The IPv4 address of an IPv6 address of the form ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2).
  private var mapped: SocketAddress? {
    guard family == .ipv6, high == 0, low >> 32 == 0xFFFF else { return nil }
    return SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port)
  }
}
