/// Encodes and decodes `Codable` values as JSON (RFC 8259), over json-c.
///
/// Total: any bytes give a value or an error. Integers are exact over the ranges of `Int64` and `UInt64`; a number that
/// does not fit its type is an error, never rounded or clamped; so are text that is not UTF-8 and doubles that are not
/// finite. Of fields with the same name the last counts.
public enum JSONCodec {
  /// What a document may be at most, when it is read and when it is written.
  public struct Limits: Hashable, Sendable {
    /// Objects and arrays within each other.
    public var depth: Int
    /// Bytes of JSON.
    public var size: Int
    /// Values of a document that is read, whether a type has a field for them or not.
    public var values: Int

    public init(depth: Int = 32, size: Int = 1024 * 1024, values: Int = .max) {
      (self.depth, self.size, self.values) = (depth, size, values)
    }
  }

  /// - Throws: `JSONError`, `EncodingError`, or what the value's own `encode(to:)` throws.
  public static func encode(_ value: some Encodable, limits: Limits = Limits()) throws -> [UInt8] {
    let encoding = ValueEncoder(path: [], depthLimit: limits.depth)
    let bytes = try encoding.encoded(value).text()
    guard bytes.count <= limits.size else { throw JSONError.tooLarge(limit: limits.size) }
    return bytes
  }

  /// - Throws: `JSONError`, `DecodingError`, or what the type's own `init(from:)` throws.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: UnsafeRawBufferPointer, limits: Limits = Limits()
  ) throws -> Value {
    let document = try JSONDocument(parsing: bytes, limits: limits)
    return try ValueDecoder(document.root, in: document, path: []).unwrapped(type)
  }

  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], limits: Limits = Limits()
  ) throws -> Value {
    try bytes.withUnsafeBytes { try decode(type, from: $0, limits: limits) }
  }
}

/// Why bytes are not a JSON document that is taken here.
public enum JSONError: Error, Hashable, Sendable {
  case tooLarge(limit: Int)
  case tooDeep(limit: Int)
  case tooMany(limit: Int)
  case malformed(String, offset: Int)
}

/// A place in a document, for error messages.
struct JSONKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = ("Index \(intValue)", intValue) }

  static let `super` = JSONKey(stringValue: "super")
}
