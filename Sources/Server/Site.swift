import KoineBase
import NIOCore
import NIOHTTP1

/// The names under which one listener is reached. They keep out pages of foreign sites: by their `Origin`, and where such a site
/// lets its own name point to this machine (DNS rebinding), by the `Host` that their requests name.
struct Site: Sendable {
  private let names: Set<String>
  /// Whether other names are refused.
  private let isBinding: Bool

  /// - Parameters:
  ///   - names: DNS names; address literals and `localhost` need none.
  ///   - listener: the address that it listens at, or a name of it. At a loopback address, which only this machine reaches, other
  ///     names are refused even without `names`.
  init(names: [String], listener: String) {
    self.names = Set(names.map { $0.lowercased() })
    isBinding = !names.isEmpty || Self.isLoopback(listener)
  }

  private static func isLoopback(_ listener: String) -> Bool {
    let found = try? NIOCore.SocketAddress.makeAddressResolvingHost(listener, port: 0)
    return isLoopback(address: found?.ipAddress ?? listener)
  }

  /// Whether a numeric address is a loopback address.
  static func isLoopback(address: String) -> Bool {
    address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
  }

  /// Whether a request names this site. One without a `Host` (HTTP/1.0) does: no browser sends it.
  func isNamed(by headers: HTTPHeaders) -> Bool {
    let hosts = headers["Host"]
    guard isBinding, !hosts.isEmpty else { return hosts.count <= 1 }
    guard hosts.count == 1, let name = Self.name(ofAuthority: hosts[0]) else { return false }
    return name == "localhost" || names.contains(name) || Self.isAddress(name)
  }

  /// Whether a request comes from a page of this site, or from no page: programs send no `Origin`.
  /// - Parameter isEncrypted: whether the request came over TLS. If not, the page may still have come by `https`, from a proxy.
  func isOrigin(of headers: HTTPHeaders, isEncrypted: Bool) -> Bool {
    let origins = headers["Origin"]
    guard let origin = origins.first else { return true }
    guard origins.count == 1, let authority = headers.first(name: "Host"), !authority.isEmpty else { return false }
    let own = (isEncrypted ? ["https"] : ["http", "https"]).map { "\($0)://\(authority.lowercased())" }
    return own.contains(origin.lowercased())
  }

  /// Whether a text can stand for a host and a port in a URL.
  static func isAuthority(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "-._:[]".utf8.contains(byte)
        }
      }
  }

  /// The host of `host:port`, in small letters, without the dot of the DNS root; nil if it is no host.
  private static func name(ofAuthority authority: String) -> String? {
    var name = authority.lowercased()[...]
    let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }.count
    if name.dropLast(digits).last == ":" { name = name.dropLast(digits + 1) }
    if name.last == "." { name = name.dropLast() }
    return name.isEmpty ? nil : String(name)
  }

  private static func isAddress(_ name: String) -> Bool {
    if name.hasPrefix("["), name.hasSuffix("]") {
      return KoineBase.SocketAddress(String(name.dropFirst().dropLast()), port: 0) != nil
    }
    return !name.contains(":") && KoineBase.SocketAddress(name, port: 0) != nil
  }
}
