/// A reply of Redis in its protocol RESP2.
package enum RedisReply: Hashable, Sendable {
  /// A short text of the server's own, such as `OK`.
  case status(String)
  /// A refusal. Its first word is its code, such as `NOSCRIPT No matching script`.
  case error(String)
  case integer(Int)
  case bytes([UInt8])
  case null
  case array([RedisReply])

  /// Text of a `bytes` or `status`; nil: another kind, or bytes that are not UTF-8.
  package var text: String? {
    switch self {
    case .status(let text): text
    case .bytes(let bytes): String(validating: bytes, as: UTF8.self)
    case .error, .integer, .null, .array: nil
    }
  }

  /// A whole number, also of bytes in decimal digits.
  package var number: Int? {
    switch self {
    case .integer(let number): number
    case .bytes: text.flatMap { Int($0) }
    case .status, .error, .null, .array: nil
    }
  }

  package var elements: [RedisReply]? {
    if case .array(let elements) = self { elements } else { nil }
  }
}
