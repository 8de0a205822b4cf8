import KoineBase

/// An address to which events are sent by POST: `http` or `https`, a host, and perhaps a port, a path and a query.
package struct EventURL: Hashable, Sendable {
  /// Bytes of the text.
  package static let limit = 2_048

  package let isSecure: Bool
  /// A name in lower case without a dot at the end, or a numeric address without brackets.
  package let host: String
  package let port: Int
  /// The path and the query, percent-encoded.
  package let target: String

  /// - Returns: nil for everything that two programs could read differently: user names, fragments, characters other than printable
  ///   ASCII, and hosts with other characters than letters, digits, dots, hyphens, underscores and colons.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.limit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      !text.utf8.contains(where: { #"\"<>^`{|}"#.utf8.contains($0) }),
      let scheme = text.firstRange(of: "://")
    else { return nil }
    switch text[..<scheme.lowerBound].lowercased() {
    case "http": isSecure = false
    case "https": isSecure = true
    default: return nil
    }
    let rest = text[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest[authority.endIndex...]
    guard !path.contains("#"), let place = Self.place(authority) else { return nil }
    host = place.host
    port = place.port ?? (isSecure ? 443 : 80)
    target = path.hasPrefix("/") ? String(path) : "/" + path
  }

  private static func place(_ authority: Substring) -> (host: String, port: Int?)? {
    var (name, port) = (authority, nil as Substring?)
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      name = authority[authority.index(after: authority.startIndex)..<end]
      let rest = authority[authority.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":"), SocketAddress(String(name), port: 0)?.family == .ipv6 else {
        return nil
      }
      if !rest.isEmpty { port = rest.dropFirst() }
    } else if let colon = authority.firstIndex(of: ":") {
      (name, port) = (authority[..<colon], authority[authority.index(after: colon)...])
    }
    guard let host = normalized(String(name)) else { return nil }
    guard let port else { return (host, nil) }
    guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(port),
      (1...65_535).contains(number)
    else { return nil }
    return (host, number)
  }

  /// - Returns: nil for a text that is not the name or the numeric address of a host.
  static func normalized(_ host: String) -> String? {
    var host = host.lowercased()
    if host.hasSuffix(".") { host.removeLast() }
    guard (1...253).contains(host.utf8.count) else { return nil }
    if host.contains(":") {
      // One text for each address, so that rules cannot be passed by another spelling.
      guard let address = SocketAddress(host, port: 0), address.family == .ipv6 else { return nil }
      return address.host
    }
    let isPlain = host.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return isPlain && host.first != "." ? host : nil
  }

  /// The host and the port, as the header `Host` has them.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The address without path and query, in which back ends may have secrets: for logs.
  package var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }
}

/// A receiver of all events of some vendors: the URL of an option `--events`.
package struct EventSubscription: Hashable, Sendable {
  package var forms: Set<BackEndEvent.Form>
  package var url: EventURL

  /// - Parameter text: `URL`, `aws=URL` or `videosdk=URL`; without a form, both.
  package init?(_ text: String) {
    var address = Substring(text)
    forms = Set(BackEndEvent.Form.allCases)
    for form in BackEndEvent.Form.allCases where text.hasPrefix(form.rawValue + "=") {
      forms = [form]
      address = text.dropFirst(form.rawValue.utf8.count + 1)
    }
    guard let url = EventURL(String(address)) else { return nil }
    self.url = url
  }
}
