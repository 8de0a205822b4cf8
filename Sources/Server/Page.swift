import NIOHTTP1

/// The page for browsers, which is part of the program.
enum Page {
  private static let files: [String: (type: String, body: String)] = [
    "/": ("text/html", text(PackageResources.index_html)),
    "/koine.css": ("text/css", text(PackageResources.koine_css)),
    "/conversation.js": ("text/javascript", text(PackageResources.conversation_js)),
    "/page.js": ("text/javascript", text(PackageResources.page_js)),
    "/room.js": ("text/javascript", text(PackageResources.room_js)),
    "/redundancy.js": ("text/javascript", text(PackageResources.redundancy_js)),
    "/sizes.js": ("text/javascript", text(PackageResources.sizes_js)),
  ]

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// The page may run only its own files and connect only to its own server and to `servers`, and no other page may embed it in a frame.
  private static func policy(connectingTo servers: [String]) -> String {
    let sources = ["'self'"] + servers.compactMap(source(of:))
    return "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src data:; "
      + "media-src 'self' blob: mediastream:; connect-src \(sources.joined(separator: " ")); base-uri 'none'; "
      + "form-action 'none'; frame-ancestors 'none'"
  }

  /// The scheme, host and port of a server's address, as a source of a policy; nil for any other text, which could change the policy.
  private static func source(of address: String) -> String? {
    let scheme = address.hasPrefix("wss://") ? "wss://" : "ws://"
    guard address.hasPrefix(scheme) else { return nil }
    let authority = address.dropFirst(scheme.count).prefix { $0 != "/" }
    let isPlain = authority.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
        UInt8(ascii: "["), UInt8(ascii: "]"):
        true
      default: false
      }
    }
    return isPlain && !authority.isEmpty ? scheme + authority : nil
  }

  /// Whether a visitor opened the page, or the page itself did, by what the browser says (Fetch Metadata). Anything else may be
  /// a link or a redirect of another site.
  private static func isOpenedHere(_ headers: HTTPHeaders) -> Bool {
    let sites = headers["Sec-Fetch-Site"]
    return sites == ["none"] || sites == ["same-origin"]
  }

  /// - Parameter servers: the addresses of the cluster's servers (`ws://` or `wss://`), to which the page may connect besides its own.
  static func answer(_ path: Substring, _ headers: HTTPHeaders, servers: [String] = []) -> HTTPRoutes.Answer? {
    guard let (type, text) = files[String(path)] else { return nil }
    var body = text
    if path == "/", isOpenedHere(headers) {
      body.replace("<html ", with: "<html data-opened=\"here\" ", maxReplacements: 1)
    }
    return HTTPRoutes.Answer(
      type: type + "; charset=utf-8", body: body,
      headers: [
        ("Content-Security-Policy", policy(connectingTo: servers)), ("Cache-Control", "no-cache"),
        ("Referrer-Policy", "no-referrer"),
        ("Vary", "Sec-Fetch-Site"),
      ])
  }
}
