import Foundation

/// An HTTP request of an app to its back end, or of a back end to a vendor's API.
public struct TestHTTPRequest: Sendable {
  /// The method in capital letters, as `POST`.
  public var method: String
  /// The path and the query as the client sends them, percent-encoded.
  public var target: String
  /// The headers in their order.
  public var headers: [(name: String, value: String)]
  /// The bytes of the body; empty for a request without one.
  public var body: [UInt8]

  /// Creates a request.
  public init(_ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    (self.method, self.target, self.headers, self.body) = (method, target, headers, body)
  }

  /// Creates a GET request.
  public static func get(_ target: String) -> TestHTTPRequest { TestHTTPRequest("GET", target) }
  /// Creates a DELETE request.
  public static func delete(_ target: String) -> TestHTTPRequest { TestHTTPRequest("DELETE", target) }
  /// Creates a POST request.
  /// - Parameter json: the text of the body.
  public static func post(_ target: String, _ json: String = "") -> TestHTTPRequest { sending("POST", target, json) }
  /// Creates a PUT request.
  /// - Parameter json: the text of the body.
  public static func put(_ target: String, _ json: String = "") -> TestHTTPRequest { sending("PUT", target, json) }
  /// Creates a PATCH request.
  /// - Parameters:
  ///   - json: the text of the body.
  ///   - type: the media type of the body.
  public static func patch(
    _ target: String, _ json: String = "", type: String = "application/json"
  ) -> TestHTTPRequest {
    sending("PATCH", target, json, type: type)
  }

  private static func sending(
    _ method: String, _ target: String, _ json: String, type: String = "application/json"
  ) -> TestHTTPRequest {
    TestHTTPRequest(method, target, headers: json.isEmpty ? [] : [("Content-Type", type)], body: Array(json.utf8))
  }

  /// The decoded path, without the query.
  public var path: String {
    let path = String(target.prefix { $0 != "?" })
    return path.removingPercentEncoding ?? path
  }

  /// The decoded value of the first query parameter with this name; nil if there is none.
  public func query(_ name: String) -> String? {
    URLComponents(string: target)?.queryItems?.first { $0.name == name }?.value
  }

  /// The value of the first header with this name, in any case of letters; nil if there is none.
  public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// A text, number or truth value in the JSON of the body, as text.
  /// - Parameter path: names of members; a number chooses an element of an array.
  /// - Throws: ``TestHTTPError`` if there is no such value.
  public func string(_ path: String...) throws -> String {
    try JSONText.string(path, in: body, of: "the request \(method) \(target)")
  }
}

/// An answer to an HTTP request.
public struct TestHTTPResponse: Sendable {
  /// The status, 200 to 599.
  public var status: Int
  /// The headers in their order.
  public var headers: [(name: String, value: String)]
  /// The bytes of the body; empty for an answer without one.
  public var body: [UInt8]

  /// Creates an answer.
  public init(status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// Creates an answer with a JSON text as its body.
  public static func json(_ text: String, status: Int = 200) -> TestHTTPResponse {
    TestHTTPResponse(status: status, headers: [("Content-Type", "application/json")], body: Array(text.utf8))
  }

  /// The value of the first header with this name, in any case of letters; nil if there is none.
  public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// A text, number or truth value in the JSON of the body, as text.
  ///
  ///     let meeting = try answer.string("Meeting", "MeetingId")
  ///     let token = try answer.string("participantTokens", "0", "token")
  /// - Parameter path: names of members; a number chooses an element of an array.
  /// - Throws: ``TestHTTPError`` if there is no such value.
  public func string(_ path: String...) throws -> String {
    try JSONText.string(path, in: body, of: "the answer \(status)")
  }

  /// The JSON text of a part of the body, to be put into another JSON text.
  /// - Parameter path: names of members; a number chooses an element of an array.
  /// - Throws: ``TestHTTPError`` if there is no such part.
  public func json(_ path: String...) throws -> String {
    try JSONText.part(path, in: body, of: "the answer \(status)")
  }
}

/// A request that cannot be sent, or an answer that is not of the expected form.
public struct TestHTTPError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
}

/// Reads parts of JSON texts.
enum JSONText {
  static func string(_ path: [String], in body: [UInt8], of message: String) throws -> String {
    switch try value(path, in: body, of: message) {
    case let text as String: return text
    case let other:
      guard other is NSNumber else { throw missing(path, in: body, of: message) }
      return try written(other)
    }
  }

  static func part(_ path: [String], in body: [UInt8], of message: String) throws -> String {
    try written(value(path, in: body, of: message))
  }

  private static func written(_ value: Any) throws -> String {
    let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .withoutEscapingSlashes, .sortedKeys]
    return String(decoding: try JSONSerialization.data(withJSONObject: value, options: options), as: UTF8.self)
  }

  private static func value(_ path: [String], in body: [UInt8], of message: String) throws -> Any {
    guard var value = try? JSONSerialization.jsonObject(with: Data(body), options: .fragmentsAllowed) else {
      throw missing(path, in: body, of: message)
    }
    for step in path {
      let next: Any? =
        switch value {
        case let members as [String: Any]: members[step]
        case let elements as [Any]: Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        default: nil
        }
      guard let next else { throw missing(path, in: body, of: message) }
      value = next
    }
    return value
  }

  private static func missing(_ path: [String], in body: [UInt8], of message: String) -> TestHTTPError {
    let text = String(decoding: body.prefix(500), as: UTF8.self)
    return TestHTTPError(description: "\(message) has no value “\(path.joined(separator: "."))” in “\(text)”")
  }
}
