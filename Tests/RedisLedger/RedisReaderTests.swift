import Testing

@testable import KoineRedisLedger

@Suite struct RedisReaderTests {
  private static let text =
    "+OK\r\n-ERR no\r\n:-7\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n+end\r\n"
  private static let replies: [RedisReply] = [
    .status("OK"), .error("ERR no"), .integer(-7), .bytes(Array("a\r\nbc".utf8)), .bytes([]), .null, .null, .array([]),
    .array([.integer(1), .array([.bytes([120]), .array([])]), .status("end")]),
  ]

  private func read(_ text: String, by step: Int, _ reader: RedisReader = RedisReader()) throws -> [RedisReply] {
    try read(Array(text.utf8), by: step, reader)
  }

  private func read(_ bytes: [UInt8], by step: Int, _ reader: RedisReader = RedisReader()) throws -> [RedisReply] {
    var replies: [RedisReply] = []
    for start in stride(from: 0, to: bytes.count, by: step) {
      try bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { part in
        try reader.read(part) { replies.append($0) }
      }
    }
    return replies
  }

  @Test func repliesAreReadWholeAndInPartsOfEachLength() throws {
    for step in 1...Self.text.utf8.count {
      #expect(try read(Self.text, by: step) == Self.replies, "in parts of \(step)")
    }
  }

  @Test func largeReplyIsRead() throws {
    let payload = [UInt8](repeating: 7, count: 10 << 20)
    let bytes = Array("$\(payload.count)\r\n".utf8) + payload + Array("\r\n".utf8)
    #expect(try read(bytes, by: 50_000) == [.bytes(payload)])
  }

  @Test(arguments: ["?\r\n", "hello\r\n", "$x\r\n", "$-2\r\n", ":\r\n", "*-2\r\n", "HTTP/1.1 400 Bad Request\r\n"])
  func otherBytesAreRefused(_ text: String) {
    #expect(throws: RedisReader.Failure.self) { try read(text, by: 3) }
  }

  @Test func readerStaysFailed() throws {
    let reader = RedisReader()
    #expect(throws: RedisReader.Failure.self) { try read("?", by: 1, reader) }
    #expect(throws: RedisReader.Failure.self) { try read("+OK\r\n", by: 5, reader) }
  }

  @Test func deepReplyIsRefused() throws {
    #expect(try read(String(repeating: "*1\r\n", count: 6) + ":1\r\n", by: 1_000).count == 1)
    #expect(throws: RedisReader.Failure.self) { try read(String(repeating: "*1\r\n", count: 200), by: 1_000) }
  }

  @Test func announcedSizesTakeNoMemory() throws {
    let reader = RedisReader()
    let text = "*2147483647\r\n*2147483647\r\n*2147483647\r\n$2147483647\r\n"
    #expect(try read(text, by: text.utf8.count, reader).isEmpty)
    #expect(reader.pendingBytes < 1_000)
  }

  @Test func endlessRepliesAreRefusedAtTheLimits() throws {
    var limits = RedisReader.Limits()
    (limits.reply, limits.values, limits.line) = (100_000, 1_000, 2_000)
    func fails(_ start: String, _ part: String, after bytes: Range<Int>, _ line: SourceLocation = #_sourceLocation)
      throws
    {
      let reader = RedisReader(limits: limits)
      var count = 0
      _ = try read(start, by: 1_000, reader)
      #expect(throws: RedisReader.Failure.tooLarge, sourceLocation: line) {
        while count < 1 << 20 {
          count += part.utf8.count
          _ = try read(part, by: part.utf8.count, reader)
        }
      }
      #expect(bytes.contains(count), "\(count) bytes were taken", sourceLocation: line)
    }
    let kilobyte = String(repeating: "x", count: 1_000)
    try fails("$1000000\r\n", kilobyte, after: 99_000..<102_000)
    try fails("+", kilobyte, after: 2_000..<4_000)
    try fails("$", String(repeating: "1", count: 1_000), after: 2_000..<4_000)
    try fails("*1000000\r\n", ":1\r\n", after: 3_990..<4_010)
    try fails("*1000\r\n", "$1000\r\n" + kilobyte + "\r\n", after: 90_000..<102_000)
  }
}
