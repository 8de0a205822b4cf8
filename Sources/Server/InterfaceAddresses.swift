import Glibc
import KoineBase

/// The machine's own addresses.
enum InterfaceAddresses {
  /// Those of all interfaces that are up, without ports; link-local ones are left out, because they need a zone.
  static func all() -> [SocketAddress] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [.loopback()] }
    defer { freeifaddrs(list) }
    var result: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      guard entry.ifa_flags & UInt32(IFF_UP) != 0, let address = entry.ifa_addr.flatMap(numeric),
        !address.isLinkLocal, !result.contains(address)
      else { continue }
      result.append(address)
    }
    return result
  }

  private static func numeric(_ address: UnsafeMutablePointer<sockaddr>) -> SocketAddress? {
    let isFour = Int32(address.pointee.sa_family) == AF_INET
    guard isFour || Int32(address.pointee.sa_family) == AF_INET6 else { return nil }
    let length = isFour ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard getnameinfo(address, socklen_t(length), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return nil
    }
    return SocketAddress(
      String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self), port: 0)
  }
}

extension SocketAddress {
  /// `0.0.0.0` or `::`.
  var isUnspecified: Bool { high == 0 && low == 0 }

  /// 127.0.0.0/8, `::1`.
  var isLoopback: Bool { family == .ipv4 ? low >> 24 == 127 : high == 0 && low == 1 }

  /// 169.254.0.0/16, fe80::/10.
  fileprivate var isLinkLocal: Bool {
    family == .ipv4 ? low >> 16 == 0xA9FE : high >> 54 == 0xFE80 >> 6
  }
}
