import Glibc

/// Where a ledger's Redis is, and by which credentials it admits a node.
///
///     redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]
///     rediss://…                                                   with TLS
///     redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST…/NAME[/DATABASE]
///     rediss+sentinel://…                                          with TLS, to the sentinels, too
///
/// `?ca=FILE` names a PEM file of the authorities that are trusted with TLS, in place of the system's. A user, a password, a
/// name and a file may have percent escapes. A password without a user (`:PASSWORD@`) is that of the user `default`.
package struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
  /// A host and a TCP port. An IPv6 address stands without brackets.
  package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    package var host: String
    package var port: Int

    package init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the host is this machine by its name or its address. Other names are not resolved.
    var isLoopback: Bool {
      let name = host.lowercased()
      var v4 = in_addr()
      guard inet_pton(AF_INET, name, &v4) != 1 else { return UInt32(bigEndian: v4.s_addr) >> 24 == 127 }
      return name == "localhost" || name.hasSuffix(".localhost") || name == "::1"
    }
  }

  /// How the server with all data is found.
  package enum Target: Hashable, Sendable {
    case server(Endpoint)
    /// The sentinels say which server is the master of this name.
    case sentinels([Endpoint], master: String)
  }

  /// A reason why a text is no address. It holds no password.
  package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
  }

  package var target: Target
  package var isSecure = false
  /// nil: the user `default`.
  package var user: String?
  package var password: String?
  package var database = 0
  /// PEM file of the trusted authorities; nil: those that the system trusts.
  package var authorities: String?

  private static let serverPort = 6_379
  private static let sentinelPort = 26_379

  package init(_ target: Target) { self.target = target }

  /// Reads an address.
  /// - Throws: `Failure`, for a text of another form, and for an address without a password that is not on this machine.
  package init(_ text: String) throws(Failure) {
    guard let schemeEnd = text.firstRange(of: "://") else {
      throw Self.wrong("it does not begin with redis:// or rediss://")
    }
    let scheme = text[..<schemeEnd.lowerBound].lowercased()
    let hasSentinels: Bool
    switch scheme {
    case "redis", "rediss": hasSentinels = false
    case "redis+sentinel", "rediss+sentinel": hasSentinels = true
    default:
      throw Self.wrong("the scheme is one of redis, rediss, redis+sentinel and rediss+sentinel")
    }
    isSecure = scheme.hasPrefix("rediss")
    var rest = text[schemeEnd.upperBound...]
    let query = Self.cut(&rest, after: "?")
    let path = Self.cut(&rest, after: "/")
    if let at = rest.lastIndex(of: "@") {
      (user, password) = try Self.credentials(rest[..<at])
      rest = rest[rest.index(after: at)...]
    }
    let port = hasSentinels ? Self.sentinelPort : Self.serverPort
    var endpoints: [Endpoint] = []
    for part in rest.split(separator: ",", omittingEmptySubsequences: false) {
      endpoints.append(try Self.endpoint(part, port: port))
    }
    var steps = path.map { $0.split(separator: "/", omittingEmptySubsequences: false)[...] } ?? []
    if hasSentinels {
      guard let name = steps.popFirst(), !name.isEmpty else {
        throw Self.wrong("the name of the master is missing: …/NAME")
      }
      target = .sentinels(endpoints, master: try Self.decoded(name, "the name of the master"))
    } else {
      guard let first = endpoints.first, endpoints.count == 1 else {
        throw Self.wrong("several hosts are for sentinels only: redis+sentinel://HOST,HOST…/NAME")
      }
      target = .server(first)
    }
    if let text = steps.popFirst(), !text.isEmpty {
      guard let number = Int(text), (0...65_535).contains(number) else {
        throw Self.wrong("a database is a number: …/0")
      }
      database = number
    }
    guard steps.allSatisfy(\.isEmpty) else { throw Self.wrong("nothing may follow the database") }
    if let query { authorities = try Self.authorities(query) }
    guard authorities == nil || isSecure else { throw Self.wrong("?ca= is for rediss:// only") }
    guard password != nil || isOnThisMachine else {
      throw Self.wrong(
        "a password is missing. The ledger decides about rooms, so a server that is not on this machine needs one: "
          + "\(scheme)://USER:PASSWORD@HOST")
    }
  }

  /// A sentence for the log about an address that works but is not safe; nil: none.
  package var warning: String? {
    guard password == nil else {
      return isSecure || isOnThisMachine
        ? nil : "the connection to the ledger at \(self) is not encrypted: its password and all messages can be read"
    }
    return "the ledger at \(self) has no password: each program on this machine can change rooms"
  }

  /// Without the password.
  package var description: String {
    let scheme = (isSecure ? "rediss" : "redis") + (target.isSentinels ? "+sentinel" : "")
    let credentials = password == nil ? "" : "\(user ?? ""):***@"
    let path = database == 0 ? "" : "/\(database)"
    switch target {
    case .server(let endpoint): return "\(scheme)://\(credentials)\(endpoint)\(path)"
    case .sentinels(let endpoints, let name):
      return "\(scheme)://\(credentials)\(endpoints.map(\.description).joined(separator: ","))/\(name)\(path)"
    }
  }

  private var isOnThisMachine: Bool {
    switch target {
    case .server(let endpoint): endpoint.isLoopback
    case .sentinels(let endpoints, _): endpoints.allSatisfy(\.isLoopback)
    }
  }

  // MARK: Parts

  private static func wrong(_ reason: String) -> Failure { Failure(description: "not an address of Redis: \(reason)") }

  /// - Returns: what follows the first such character, which `text` loses with it; nil: there is none.
  private static func cut(_ text: inout Substring, after character: Character) -> Substring? {
    guard let index = text.firstIndex(of: character) else { return nil }
    defer { text = text[..<index] }
    return text[text.index(after: index)...]
  }

  private static func credentials(_ text: Substring) throws(Failure) -> (user: String?, password: String) {
    guard let colon = text.firstIndex(of: ":") else {
      throw wrong("before @ stand a user and a password: USER:PASSWORD@")
    }
    let user = try decoded(text[..<colon], "the user")
    let password = try decoded(text[text.index(after: colon)...], "the password")
    guard !password.isEmpty else { throw wrong("the password is empty") }
    return (user.isEmpty ? nil : user, password)
  }

  private static func endpoint(_ text: Substring, port: Int) throws(Failure) -> Endpoint {
    var (host, number) = (text, Substring())
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { throw wrong("an IPv6 address ends with ]") }
      host = text[text.index(after: text.startIndex)..<end]
      number = text[text.index(after: end)...]
      guard number.isEmpty || number.first == ":" else { throw wrong("after ] stands a port: [::1]:6379") }
      var address = in6_addr()
      guard inet_pton(AF_INET6, String(host), &address) == 1 else {
        throw wrong("between [ and ] stands an IPv6 address")
      }
    } else if let colon = text.firstIndex(of: ":") {
      (host, number) = (text[..<colon], text[colon...])
    }
    guard !host.isEmpty else { throw wrong("a host is missing") }
    guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }) else {
      throw wrong("a host is a name or a numeric address")
    }
    guard !number.isEmpty else { return Endpoint(host: String(host), port: port) }
    guard let port = Int(number.dropFirst()), (1...65_535).contains(port) else { throw wrong("a port is 1 to 65535") }
    return Endpoint(host: String(host), port: port)
  }

  private static func authorities(_ query: Substring) throws(Failure) -> String {
    guard query.hasPrefix("ca=") else { throw wrong("after ? only ca=FILE is known") }
    let file = try decoded(query.dropFirst(3), "the file behind ca=")
    guard !file.isEmpty else { throw wrong("the file behind ca= is missing") }
    return file
  }

  private static func decoded(_ text: Substring, _ what: String) throws(Failure) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit),
        let value = UInt8(digits, radix: 16)
      else {
        throw wrong("\(what) has % without two hexadecimal digits; % itself is %25")
      }
      rest = rest.dropFirst(2)
      bytes.append(value)
    }
    guard let result = String(validating: bytes, as: UTF8.self) else { throw wrong("\(what) is not UTF-8") }
    return result
  }
}

extension RedisAddress.Target {
  var isSentinels: Bool {
    if case .sentinels = self { true } else { false }
  }
}
