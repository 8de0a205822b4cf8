import Glibc

/// An IP address and a UDP port, held inline: comparing and hashing one touches no heap.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
  public enum Family: UInt8, Sendable { case ipv4, ipv6 }

  public let family: Family
  /// The address in network byte order read as big-endian numbers; an IPv4 address sits in the low 32 bits of `low`.
  public let high, low: UInt64
  public let port: UInt16

  public init(ipv4 address: UInt32, port: UInt16) {
    (family, high, low, self.port) = (.ipv4, 0, UInt64(address), port)
  }

  public init(ipv6High high: UInt64, low: UInt64, port: UInt16) {
    (family, self.high, self.low, self.port) = (.ipv6, high, low, port)
  }

  /// Parses a numeric IPv4 or IPv6 address; names are not looked up.
  public init?(_ text: String, port: UInt16) {
    var v4 = in_addr()
    if inet_pton(AF_INET, text, &v4) == 1 {
      self.init(ipv4: UInt32(bigEndian: v4.s_addr), port: port)
      return
    }
    var v6 = in6_addr()
    guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
    let (high, low) = withUnsafeBytes(of: &v6) {  // aligned to four bytes only
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    self.init(ipv6High: high, low: low, port: port)
  }

  public static func loopback(port: UInt16 = 0) -> SocketAddress { SocketAddress(ipv4: 0x7F00_0001, port: port) }

  public func with(port: UInt16) -> SocketAddress {
    switch family {
    case .ipv4: SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port)
    case .ipv6: SocketAddress(ipv6High: high, low: low, port: port)
    }
  }

  /// The numeric address without the port, as RFC 5952 writes it.
  public var host: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch family {
    case .ipv4:
      var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
      inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
    case .ipv6:
      var bytes = (high.bigEndian, low.bigEndian)
      inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  public var description: String { family == .ipv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}
