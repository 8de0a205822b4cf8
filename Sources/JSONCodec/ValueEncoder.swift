/// Encodes one value: into one node, which the value decides the shape of when it asks for a container.
final class ValueEncoder: Encoder, SingleValueEncodingContainer {
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private(set) var node: JSONNode?
  private let depthLimit: Int
  /// Puts the node where it belongs as soon as there is one; only for the encoders handed out by `superEncoder`.
  private let attach: ((JSONNode) -> Void)?

  init(path: [any CodingKey], depthLimit: Int, attach: ((JSONNode) -> Void)? = nil) {
    (codingPath, self.depthLimit, self.attach) = (path, depthLimit, attach)
  }

  /// The node of any value that belongs at this place.
  func encoded(_ value: some Encodable) throws -> JSONNode {
    guard codingPath.count <= depthLimit else { throw JSONError.tooDeep(limit: depthLimit) }
    try value.encode(to: self)
    return node ?? .object()
  }

  /// An encoder for a part of this value.
  func child(_ key: any CodingKey, attach: ((JSONNode) -> Void)? = nil) -> ValueEncoder {
    ValueEncoder(path: codingPath + [key], depthLimit: depthLimit, attach: attach)
  }

  /// Asking twice for the same kind of container continues the first.
  func open(_ make: () -> JSONNode) -> JSONNode {
    if let node { return node }
    return place(make())
  }

  private func place(_ node: JSONNode) -> JSONNode {
    self.node = node
    attach?(node)
    return node
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedEncoding<Key>(self, node: open(JSONNode.object)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedEncoding(self, node: open(JSONNode.array)) }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { _ = place(.null()) }
  func encode(_ value: Bool) throws { _ = place(.bool(value)) }
  func encode(_ value: String) throws {
    guard value.utf8.count <= Int(Int32.max) else { throw JSONError.tooLarge(limit: Int(Int32.max)) }
    _ = place(.string(value))
  }
  func encode(_ value: Double) throws { _ = place(try finite(value, text: "\(value)")) }
  func encode(_ value: Float) throws { _ = place(try finite(Double(value), text: "\(value)")) }
  func encode(_ value: Int) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: Int8) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: Int16) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: Int32) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: Int64) throws { _ = place(.integer(value)) }
  func encode(_ value: UInt) throws { _ = place(.integer(UInt64(value))) }
  func encode(_ value: UInt8) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: UInt16) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: UInt32) throws { _ = place(.integer(Int64(value))) }
  func encode(_ value: UInt64) throws { _ = place(.integer(value)) }
  func encode(_ value: some Encodable) throws { try value.encode(to: self) }

  private func finite(_ value: Double, text: String) throws -> JSONNode {
    guard value.isFinite else {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no \(value)"))
    }
    return .number(value, text: text)
  }
}

struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: ValueEncoder
  private let node: JSONNode

  init(_ encoder: ValueEncoder, node: JSONNode) { (self.encoder, self.node) = (encoder, node) }

  var codingPath: [any CodingKey] { encoder.codingPath }

  mutating func encodeNil(forKey key: Key) throws { node.set(try name(key), to: .null()) }

  // What a dictionary or an optional may be made of comes through here as well: one way in for every type.
  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    node.set(try name(key), to: try encoder.child(key).encoded(value))
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    superEncoder(forKey: key).container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    superEncoder(forKey: key).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { part(JSONKey.super) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { part(key) }

  /// A part that is there from now on, an empty object until something is encoded into it.
  private func part(_ key: any CodingKey) -> ValueEncoder {
    let (parent, name) = (node, key.stringValue)
    parent.set(name, to: .object())
    return encoder.child(key) { parent.set(name, to: $0) }
  }

  private func name(_ key: Key) throws -> String {
    guard !key.stringValue.utf8.contains(0) else {
      throw EncodingError.invalidValue(
        key.stringValue, EncodingError.Context(codingPath: codingPath, debugDescription: "zero character in a name"))
    }
    return key.stringValue
  }
}

struct UnkeyedEncoding: UnkeyedEncodingContainer {
  private let encoder: ValueEncoder
  private let node: JSONNode

  init(_ encoder: ValueEncoder, node: JSONNode) { (self.encoder, self.node) = (encoder, node) }

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { node.count }

  mutating func encodeNil() throws { node.set(count, to: .null()) }

  mutating func encode<Value: Encodable>(_ value: Value) throws {
    node.set(count, to: try encoder.child(JSONKey(intValue: count)).encoded(value))
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
    superEncoder().container(keyedBy: keyType)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder {
    let (parent, index) = (node, count)
    parent.set(index, to: .object())
    return encoder.child(JSONKey(intValue: index)) { parent.set(index, to: $0) }
  }
}
