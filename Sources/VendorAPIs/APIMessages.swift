/// A request of an app's back end to one of the vendors' HTTP APIs, with its whole body.
package struct APIRequest: Sendable {
  /// In capital letters, as `POST`.
  package var method: String
  /// The path and the query exactly as the client sent them. Signatures cover this text.
  package var target: String
  /// In the order of the request.
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  /// Whether the request came over TLS.
  package var isEncrypted: Bool
  /// The time with which the time of the request's signature is compared; nil: the time of the APIs. In a test room with virtual time,
  /// back ends of other programs sign in real time.
  package var signatureTime: APITime?

  package init(
    method: String, target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    isEncrypted: Bool = false
  ) {
    (self.method, self.target, self.headers) = (method, target, headers)
    (self.body, self.isEncrypted) = (body, isEncrypted)
  }

  /// The target up to the query, percent-encoded.
  package var path: String { String(target[..<(queryMark ?? target.endIndex)]) }

  /// The query, percent-encoded; nil without a question mark.
  package var query: String? {
    queryMark.map { String(target[target.utf8.index(after: $0)...]) }
  }

  /// Bytes, not characters, separate the parts of a target: a client may write anything behind one.
  private var queryMark: String.Index? { target.utf8.firstIndex(of: UInt8(ascii: "?")) }

  /// The value of the first header with this name, in any case of letters.
  package func header(_ name: String) -> String? {
    headers.first { HeaderName.isSame($0.name, name) }?.value
  }

  /// The path's parts between slashes, decoded. Nil if one is not valid percent-encoding of UTF-8.
  var segments: [String]? {
    var segments: [String] = []
    for part in path.split(separator: "/", omittingEmptySubsequences: true) {
      guard let segment = PercentEncoding.decode(part) else { return nil }
      segments.append(segment)
    }
    return segments
  }

  /// The decoded values of a query parameter, in order; an undecodable parameter does not count.
  func parameters(_ name: String) -> [String] { queryItems.filter { $0.name == name }.map(\.value) }

  /// The first decoded value of a query parameter.
  func parameter(_ name: String) -> String? { parameters(name).first }

  private var queryItems: [(name: String, value: String)] {
    (query ?? "").split(separator: "&").compactMap { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentEncoding.decode(parts[0]),
        let value = parts.count > 1 ? PercentEncoding.decode(parts[1]) : ""
      else { return nil }
      return (name, value)
    }
  }
}

/// An answer of one of the vendors' HTTP APIs.
package struct APIResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  /// Empty for an answer without a body, such as 204.
  package var body: [UInt8]

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// The value of the first header with this name, in any case of letters.
  package func header(_ name: String) -> String? {
    headers.first { HeaderName.isSame($0.name, name) }?.value
  }

  /// What the request needs does not answer; the same request may succeed later.
  /// - Parameter message: text without quotation marks.
  package static func unavailable(_ message: String) -> APIResponse {
    APIResponse(
      status: 503, headers: [("Content-Type", "application/json"), ("Retry-After", "1")],
      body: Array(#"{"message":"\#(message)"}"#.utf8))
  }
}

/// Names of headers, which are ASCII in any case of letters (RFC 9110 section 5.1).
enum HeaderName {
  static func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && zip(one.utf8, other.utf8).allSatisfy { lower($0) == lower($1) }
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

/// Percent-encoding (RFC 3986 section 2.1).
enum PercentEncoding {
  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Encodes all bytes but the unreserved characters.
  static func encode(_ text: some StringProtocol) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// - Returns: nil for an incomplete or wrong escape, and for bytes that are not UTF-8.
  static func decode(_ text: some StringProtocol) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        decoded.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(value(ofDigit:)), let low = rest.next().flatMap(value(ofDigit:)) else {
        return nil
      }
      decoded.append(high << 4 | low)
    }
    return String(validating: decoded, as: UTF8.self)
  }

  private static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
