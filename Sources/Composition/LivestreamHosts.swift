public import Foundation

/// The servers that live streams may go to. Clients name them, so an address inside the server's own network is refused
/// unless its name is in the list: else a stream's start would tell strangers which hosts and ports answer there.
public struct LivestreamHosts: Hashable, Sendable {
  /// In lower case, without a dot at the end.
  private let names: Set<String>
  private let hasAny: Bool

  /// - Parameter names: names or numeric addresses of hosts; `*`: every host with public addresses.
  public init(_ names: [String]) {
    hasAny = names.contains("*")
    self.names = Set(names.map(Self.normalized))
  }

  /// Why a live stream may not go somewhere.
  public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// Checks what can be known without asking the network.
  /// - Returns: the host.
  @discardableResult
  public func checkName(_ url: URL) throws(Refusal) -> String {
    guard ["rtmp", "rtmps"].contains(url.scheme?.lowercased() ?? "") else {
      throw Refusal(description: "only rtmp: and rtmps: are sent to")
    }
    // FFmpeg reads the address by itself. What two readers might read differently is refused.
    guard let host = Self.host(url) else { throw Refusal(description: "the address is not HOST or HOST:PORT") }
    guard hasAny || names.contains(Self.normalized(host)) else {
      throw Refusal(description: "'\(host)' is not in the list of live-stream hosts")
    }
    return host
  }

  /// Resolves the host, which takes time, and refuses addresses that are not public, unless the host is named.
  public func check(_ url: URL) throws(Refusal) {
    let host = try checkName(url)
    guard !names.contains(Self.normalized(host)) else { return }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { throw Refusal(description: "'\(host)' has no address") }
    defer { freeaddrinfo(list) }
    var isPublic = list != nil
    for entry in sequence(first: list, next: { $0?.pointee.ai_next }).prefix(while: { $0 != nil }) {
      guard let address = entry?.pointee.ai_addr else { continue }
      isPublic = isPublic && Self.isPublic(address)
    }
    guard isPublic else { throw Refusal(description: "'\(host)' has an address that is not public") }
  }

  private static func normalized(_ name: String) -> String {
    let name = name.lowercased()
    return name.hasSuffix(".") ? String(name.dropLast()) : name
  }

  /// - Returns: nil unless the URL's authority is a host and perhaps a port, in plain characters.
  private static func host(_ url: URL) -> String? {
    let text = url.absoluteString
    guard let start = text.range(of: "://")?.upperBound else { return nil }
    let authority = text[start...].prefix { !"/?#".contains($0) }
    let port = url.port.map { ":\($0)" } ?? ""
    guard var host = url.host, !host.isEmpty else { return nil }
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    let plain = host.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: ":"):
        true
      default: false
      }
    }
    let written = host.contains(":") ? "[\(host)]" : host
    guard plain, authority == written + port else { return nil }
    return host
  }

  // MARK: Addresses

  private static func isPublic(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin_addr) { isPublic(Array($0)) }
      }
    case AF_INET6:
      address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        withUnsafeBytes(of: $0.pointee.sin6_addr) { isPublic(Array($0)) }
      }
    default: false
    }
  }

  /// - Parameter bytes: 4 or 16, in network order.
  /// - Returns: false for what the registries of RFC 6890 do not call globally reachable: loopback, private, link-local,
  ///   shared, multicast, reserved.
  static func isPublic(_ bytes: [UInt8]) -> Bool {
    guard bytes.count == 16 else {
      guard bytes.count == 4 else { return false }
      switch (bytes[0], bytes[1], bytes[2]) {
      case (0, _, _), (10, _, _), (127, _, _), (169, 254, _), (192, 168, _), (192, 0, 0), (224..., _, _): return false
      case (172, 16...31, _), (100, 64...127, _), (198, 18...19, _): return false
      default: return true
      }
    }
    func starts(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
    // An IPv4 address within: mapped (RFC 4291), of a translator (RFC 6052), of 6to4 (RFC 3056).
    if starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return isPublic(Array(bytes[12...])) }
    if starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return isPublic(Array(bytes[12...])) }
    if starts(with: [0x20, 0x02]) { return isPublic(Array(bytes[2..<6])) }
    // All that is global unicast lies in 2000::/3; Teredo has an address of its client within.
    return bytes[0] & 0xE0 == 0x20 && !starts(with: [0x20, 0x01, 0, 0])
  }
}
