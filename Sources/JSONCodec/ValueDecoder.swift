import CKoineJSON

/// Decodes one node.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private let node: OpaquePointer?
  private let document: JSONDocument

  init(_ node: OpaquePointer?, in document: JSONDocument, path: [any CodingKey]) {
    (self.node, self.document, codingPath) = (node, document, path)
  }

  func child(_ node: OpaquePointer?, _ key: any CodingKey) -> ValueDecoder {
    ValueDecoder(node, in: document, path: codingPath + [key])
  }

  func unwrapped<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(KeyedDecoding<Key>(self, object: try checked(json_type_object, "an object")))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    UnkeyedDecoding(self, array: try checked(json_type_array, "an array"))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { node == nil }
  func decode(_ type: Bool.Type) throws -> Bool {
    json_object_get_boolean(try checked(json_type_boolean, "true or false")) != 0
  }
  func decode(_ type: String.Type) throws -> String { try text(of: try checked(json_type_string, "text")) }
  func decode(_ type: Double.Type) throws -> Double { try number() }
  func decode(_ type: Float.Type) throws -> Float {
    let value = Float(try number())
    guard value.isFinite else { throw mismatch(type, "a number that fits Float") }
    return value
  }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

  // MARK: Numbers and text

  private func integer<Integer: FixedWidthInteger>() throws -> Integer {
    let value: Integer?
    switch json_object_get_type(node) {
    case json_type_int:
      // json-c clamps to the type asked for: the largest Int64 may stand for more.
      let signed = json_object_get_int64(node)
      value = signed == .max ? Integer(exactly: json_object_get_uint64(node)) : Integer(exactly: signed)
    case json_type_double: value = Integer(exactly: json_object_get_double(node))
    default: throw mismatch(Integer.self, "a number")
    }
    guard let value else { throw mismatch(Integer.self, "a whole number that fits \(Integer.self)") }
    return value
  }

  private func number() throws -> Double {
    switch json_object_get_type(node) {
    case json_type_int:
      let signed = json_object_get_int64(node)
      return signed == .max ? Double(json_object_get_uint64(node)) : Double(signed)
    case json_type_double:
      let value = json_object_get_double(node)
      guard value.isFinite else { throw mismatch(Double.self, "a finite number") }
      return value
    default: throw mismatch(Double.self, "a number")
    }
  }

  private func text(of node: OpaquePointer) throws -> String {
    let count = Int(json_object_get_string_len(node))
    let bytes = UnsafeRawBufferPointer(start: json_object_get_string(node), count: count)
    guard let text = String(validating: bytes, as: UTF8.self) else { throw mismatch(String.self, "UTF-8") }
    return text
  }

  // MARK: Errors

  private func checked(_ type: json_type, _ expected: String) throws -> OpaquePointer {
    guard let node, json_object_get_type(node) == type else {
      throw mismatch(type == json_type_object ? [String: Any].self : Any.self, expected)
    }
    return node
  }

  private func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError {
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: "expected \(expected)")
    return node == nil ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: ValueDecoder
  private let object: OpaquePointer

  init(_ decoder: ValueDecoder, object: OpaquePointer) { (self.decoder, self.object) = (decoder, object) }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    var keys: [Key] = []
    var place = json_object_iter_begin(object)
    var end = json_object_iter_end(object)
    while json_object_iter_equal(&place, &end) == 0 {
      if let name = json_object_iter_peek_name(&place), let key = Key(stringValue: String(cString: name)) {
        keys.append(key)
      }
      json_object_iter_next(&place)
    }
    return keys
  }

  func contains(_ key: Key) -> Bool { find(key).found }
  func decodeNil(forKey key: Key) throws -> Bool { try value(key).decodeNil() }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try value(key).unwrapped(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try value(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try value(key).unkeyedContainer()
  }

  /// A missing part reads as null, as for an optional superclass.
  func superDecoder() throws -> any Decoder { decoder.child(find(JSONKey.super).node, JSONKey.super) }
  func superDecoder(forKey key: Key) throws -> any Decoder { decoder.child(find(key).node, key) }

  private func value(_ key: Key) throws -> ValueDecoder {
    let (node, found) = find(key)
    guard found else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: codingPath, debugDescription: "“\(key.stringValue)” is missing"))
    }
    return decoder.child(node, key)
  }

  private func find(_ key: any CodingKey) -> (node: OpaquePointer?, found: Bool) {
    guard !key.stringValue.utf8.contains(0) else { return (nil, false) }
    var node: OpaquePointer?
    let found = json_object_object_get_ex(object, key.stringValue, &node) != 0
    return (node, found)
  }
}

struct UnkeyedDecoding: UnkeyedDecodingContainer {
  private let decoder: ValueDecoder
  private let array: OpaquePointer
  private let length: Int
  private(set) var currentIndex = 0

  init(_ decoder: ValueDecoder, array: OpaquePointer) {
    (self.decoder, self.array) = (decoder, array)
    length = json_object_array_length(array)
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { length }
  var isAtEnd: Bool { currentIndex >= length }

  mutating func decodeNil() throws -> Bool {
    guard try current().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try advance(current().unwrapped(type))
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    try advance(current().container(keyedBy: type))
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try advance(current().unkeyedContainer())
  }

  mutating func superDecoder() throws -> any Decoder { try advance(current()) }

  /// Moves to the next element. The argument is evaluated first, so a failed read does not move.
  private mutating func advance<Value>(_ value: Value) -> Value {
    currentIndex += 1
    return value
  }

  private func current() throws -> ValueDecoder {
    let key = JSONKey(intValue: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self, DecodingError.Context(codingPath: codingPath + [key], debugDescription: "the array ends here"))
    }
    return decoder.child(json_object_array_get_idx(array, currentIndex), key)
  }
}
