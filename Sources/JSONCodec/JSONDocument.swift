import CKoineJSON

/// A parsed document. Nodes are pointers into it and live as long as it does; json-c writes null as a nil pointer.
final class JSONDocument {
  let root: OpaquePointer?

  init(parsing bytes: UnsafeRawBufferPointer, limits: JSONCodec.Limits) throws(JSONError) {
    guard bytes.count <= min(limits.size, Int(Int32.max) - 1) else { throw .tooLarge(limit: limits.size) }
    let text = try Strictness.checked(bytes, limits)
    // json-c counts a little differently and has checked nothing yet that `Strictness` did not.
    let depth = Int32(clamping: limits.depth.addingReportingOverflow(2).partialValue)
    guard let tokener = json_tokener_new_ex(max(depth, 1)) else { throw .tooDeep(limit: limits.depth) }
    defer { json_tokener_free(tokener) }
    json_tokener_set_flags(tokener, koine_json_strict_flags())
    var root = json_tokener_parse_ex(
      tokener, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count))
    if json_tokener_get_error(tokener) == json_tokener_continue {
      // A number at top level ends only where its text does; json-c takes a zero byte for that.
      root = withUnsafeBytes(of: CChar(0)) {
        json_tokener_parse_ex(tokener, $0.baseAddress?.assumingMemoryBound(to: CChar.self), 1)
      }
    }
    let status = json_tokener_get_error(tokener)
    guard status == json_tokener_success else {
      if let root { json_object_put(root) }
      if status == json_tokener_error_depth { throw .tooDeep(limit: limits.depth) }
      let reason =
        status == json_tokener_continue
        ? "unexpected end of data" : json_tokener_error_desc(status).map { String(cString: $0) } ?? "not JSON"
      throw .malformed(reason, offset: json_tokener_get_parse_end(tokener))
    }
    self.root = root
  }

  deinit {
    if let root { json_object_put(root) }
  }
}
