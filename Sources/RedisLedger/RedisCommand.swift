import CKoineHiredis
package import NIOCore

/// A command of Redis: its name and its arguments, which may hold any bytes.
package struct RedisCommand: Hashable, Sendable, ExpressibleByArrayLiteral {
  package private(set) var arguments: [[UInt8]]

  package init(_ arguments: [[UInt8]]) { self.arguments = arguments }
  package init(_ words: [String]) { arguments = words.map { Array($0.utf8) } }
  package init(arrayLiteral words: String...) { self.init(words) }

  /// Bytes that the command takes on a connection, at most.
  package var size: Int { arguments.reduce(16) { $0 + $1.count + 24 } }

  /// Writes the command as the protocol has it (hiredis' `redisFormatCommandArgv`).
  package func write(to buffer: inout ByteBuffer) {
    let joined = arguments.flatMap(\.self)
    let lengths = arguments.map(\.count)
    joined.withUnsafeBytes { bytes in
      // An argument without bytes has an address all the same, which the formatter does not read.
      let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      var offset = 0
      var pointers: [UnsafePointer<CChar>?] = []
      for length in lengths {
        pointers.append(start.map { $0 + offset })
        offset += length
      }
      var formatted: UnsafeMutablePointer<CChar>?
      let count = redisFormatCommandArgv(&formatted, Int32(lengths.count), &pointers, lengths)
      guard count > 0, let formatted else { return }
      buffer.writeBytes(UnsafeRawBufferPointer(start: formatted, count: Int(count)))
      redisFreeCommand(formatted)
    }
  }
}
