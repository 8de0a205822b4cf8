import KoineLedger
import KoineRTP
import KoineRedisLedger
import NIOCore

/// Bytes of a server through the reader of replies, in parts that the input chooses, and each reply to the requests of the
/// ledger as their answer. The laws: replies do not depend on the parts; what the reader keeps is bounded, whatever sizes are
/// announced; after an error it gives no further replies; commands with the input's bytes are read as they were written.
func fuzzRedis(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.byte(at: 0) else { return }
  let rest = bytes.part(1..<bytes.count)
  var limits = RedisReader.Limits()
  (limits.reply, limits.values, limits.line) = (4_096, 256, 512)
  let whole = replies(in: rest, parts: [max(1, rest.count)], limits)
  let parts = replies(in: rest, parts: [Int(first & 15) + 1, Int(first >> 4) + 1], limits)
  // Limits are looked at between parts: in smaller ones a reply may be refused earlier.
  let common = min(whole.count, parts.count)
  require(whole.prefix(common) == parts.prefix(common), "parts do not matter")
  for reply in whole { answer(reply) }
  checkCommand(rest)
}

private func replies(in bytes: UnsafeRawBufferPointer, parts: [Int], _ limits: RedisReader.Limits) -> [RedisReply] {
  let reader = RedisReader(limits: limits)
  var (found, offset, turn): ([RedisReply], Int, Int) = ([], 0, 0)
  while offset < bytes.count {
    let end = min(bytes.count, offset + parts[turn % parts.count])
    do {
      // A copy of its own, so that the address sanitizer sees its edges.
      try Array(bytes.part(offset..<end)).withUnsafeBytes { part in try reader.read(part) { found.append($0) } }
    } catch {
      let count = found.count
      require((try? reader.read(bytes) { found.append($0) }) == nil, "an error stays")
      require(found.count == count, "nothing is read after an error")
      return found
    }
    require(reader.pendingBytes <= limits.reply, "\(reader.pendingBytes) bytes are kept")
    (offset, turn) = (end, turn + 1)
  }
  return found
}

private let requests: [LedgerRequest] = {
  guard let node = NodeID("n#a") else { return [] }
  let term = RoomTerm(count: 1, nonce: "x")
  return [
    .register(NodeRecord(id: node)), .heartbeat(NodeRecord(id: node)), .evict(node), .nodes,
    .place(PlaceRequest(room: "r", candidate: node, nonce: "x", isOpening: true)),
    .append(AppendRequest(room: "r", term: term, previous: 0)), .read(room: "r", term: term, after: 0, through: 9),
    .publish(.all, []), .jobs(.take(by: node)), .rooms(cursor: nil),
  ]
}()

private func answer(_ reply: RedisReply) {
  for request in requests { _ = RedisExchange(request).map { try? $0.answer(to: reply) } }
}

private func checkCommand(_ bytes: UnsafeRawBufferPointer) {
  let arguments = bytes.split(separator: 0, maxSplits: 20, omittingEmptySubsequences: false).map { Array($0) }
  let command = RedisCommand(arguments)
  var buffer = ByteBuffer()
  command.write(to: &buffer)
  require(buffer.readableBytes <= command.size, "a command is not longer than it says")
  // The protocol writes commands as arrays of bytes, which the reader reads, too.
  let read = buffer.withUnsafeReadableBytes { replies(in: $0, parts: [max(1, $0.count)], .init()) }
  require(read == [.array(arguments.map { .bytes($0) })], "a command is read as it was written")
}

func redisSeeds() -> [[UInt8]] {
  let texts = [
    "+OK\r\n-ERR no\r\n:-7\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n",
    "*5\r\n$6\r\nplaced\r\n$3\r\nn#a\r\n$3\r\n1:x\r\n:1\r\n$16\r\n1795784038197171\r\n",
    "*5\r\n$4\r\npage\r\n:1\r\n$1\r\n7\r\n:1000\r\n$2\r\n{}\r\n", "*3\r\n$6\r\nfenced\r\n$3\r\nn#a\r\n$3\r\n1:x\r\n",
    "*2\r\n$6\r\nbehind\r\n$1\r\n7\r\n", "*3\r\n$5\r\nnodes\r\n$12\r\n{\"id\":\"n#a\"}\r\n:4711\r\n",
    "*3\r\n$7\r\nmessage\r\n$5\r\nk:all\r\n$2\r\nhi\r\n*3\r\n$9\r\nsubscribe\r\n$5\r\nk:all\r\n:1\r\n",
    "*3\r\n$4\r\njobs\r\n$1\r\n1\r\n$1\r\nx\r\n*5\r\n$5\r\nrooms\r\n$1\r\n0\r\n$1\r\nr\r\n$3\r\nn#a\r\n$3\r\n1:x\r\n",
    "*2147483647\r\n*2147483647\r\n$2147483647\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    "-NOSCRIPT No matching script\r\n*2\r\n$10\r\nregistered\r\n$16\r\n1795784038197171\r\n",
  ]
  return texts.enumerated().map { [UInt8($0) &* 37] + $1.utf8 }
}
