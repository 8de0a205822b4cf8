/// RFC 4648 section 4, with padding, without line breaks.
///
/// By tables and in place: a room's history is megabytes of it.
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let pad = UInt8(ascii: "=")
  private static let none: UInt8 = 0xFF
  /// What each character stands for.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: none, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  package static func encode(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
      bytes.withUnsafeBufferPointer { bytes in
        alphabet.withUnsafeBufferPointer { alphabet in
          var start = 0
          var end = 0
          while start < bytes.count {
            let count = min(3, bytes.count - start)
            var group = UInt32(bytes[start]) << 16
            if count > 1 { group |= UInt32(bytes[start + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[start + 2]) }
            text[end] = alphabet[Int(group >> 18)]
            text[end + 1] = alphabet[Int(group >> 12 & 63)]
            text[end + 2] = count > 1 ? alphabet[Int(group >> 6 & 63)] : pad
            text[end + 3] = count > 2 ? alphabet[Int(group & 63)] : pad
            start += 3
            end += 4
          }
          return end
        }
      }
    }
  }

  /// - Returns: nil unless the text is whole groups of four with padding only at the end.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    let found = text.withContiguousStorageIfAvailable { decode($0) }
    return found ?? Array(text).withUnsafeBufferPointer { decode($0) }
  }

  private static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    // Without it the thread sanitizer reports the standard library: it writes the count of 0 into the one empty array of all threads.
    guard !text.isEmpty else { return [] }
    let padding = text.suffix(2).reversed().prefix { $0 == pad }.count
    var isSound = true
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { bytes, count in
      values.withUnsafeBufferPointer { values in
        var place = 0
        while place < text.count {
          let digits = min(4, text.count - padding - place)
          var group: UInt32 = 0
          for offset in 0..<4 {
            let value = offset < digits ? values[Int(text[place + offset])] : 0
            guard value != none else {
              isSound = false
              return
            }
            group = group << 6 | UInt32(value)
          }
          bytes[count] = UInt8(truncatingIfNeeded: group >> 16)
          if digits > 2 { bytes[count + 1] = UInt8(truncatingIfNeeded: group >> 8) }
          if digits > 3 { bytes[count + 2] = UInt8(truncatingIfNeeded: group) }
          count += digits - 1
          place += 4
        }
      }
    }
    return isSound ? bytes : nil
  }
}
