import CKoineJSON

/// One counted reference to a node that is being built; nil is JSON's null.
final class JSONNode {
  let raw: OpaquePointer?

  /// Takes over the caller's reference.
  init(taking raw: OpaquePointer?) { self.raw = raw }

  deinit {
    if let raw { json_object_put(raw) }
  }

  static func object() -> JSONNode { JSONNode(taking: json_object_new_object()) }
  static func array() -> JSONNode { JSONNode(taking: json_object_new_array()) }
  static func null() -> JSONNode { JSONNode(taking: nil) }
  static func bool(_ value: Bool) -> JSONNode { JSONNode(taking: json_object_new_boolean(value ? 1 : 0)) }
  static func integer(_ value: Int64) -> JSONNode { JSONNode(taking: json_object_new_int64(value)) }
  static func integer(_ value: UInt64) -> JSONNode { JSONNode(taking: json_object_new_uint64(value)) }

  /// - Parameter text: the JSON text of the number: the shortest text that reads back as the same number.
  static func number(_ value: Double, text: String) -> JSONNode {
    JSONNode(taking: json_object_new_double_s(value, text))
  }

  static func string(_ value: String) -> JSONNode {
    var value = value
    return value.withUTF8 { text in
      text.withMemoryRebound(to: CChar.self) {
        // An empty string may have no address at all.
        JSONNode(
          taking: $0.isEmpty ? json_object_new_string("") : json_object_new_string_len($0.baseAddress, Int32($0.count)))
      }
    }
  }

  /// Sets the member `name` to `child`, and replaces a member of that name.
  func set(_ name: String, to child: JSONNode) { json_object_object_add(raw, name, child.retained()) }

  /// Puts `child` at `index`, at most one past the end.
  func set(_ index: Int, to child: JSONNode) { json_object_array_put_idx(raw, index, child.retained()) }

  /// How many elements an array has.
  var count: Int { json_object_array_length(raw) }

  func text() -> [UInt8] {
    var length = 0
    guard let raw else { return Array("null".utf8) }
    guard let text = json_object_to_json_string_length(raw, koine_json_plain_flags(), &length) else { return [] }
    return Array(UnsafeRawBufferPointer(start: text, count: length))
  }

  private func retained() -> OpaquePointer? { raw.flatMap { json_object_get($0) } }
}
