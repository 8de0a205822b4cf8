import CKoineHiredis

/// Reads replies from the bytes of a connection, with the parser of hiredis.
///
/// The parser builds no objects of its own: it calls `values`, which counts what a reply holds. All that a server can make the
/// reader keep is bounded by `Limits`, also in a reply that never ends. After an error the connection is of no more use.
package final class RedisReader {
  package struct Limits: Sendable {
    /// Bytes of one reply, of which the parser has some and `values` has the others. More than a request may have, so that what
    /// was stored can be read.
    package var reply = 32 << 20
    /// Values of one reply, each array and each of its elements counted.
    package var values = 262_144
    /// Bytes of a line: an error, a status, or a length. The parser looks for its end again with each chunk.
    package var line = 64 << 10

    package init() {}
  }

  package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are not RESP2, or nest deeper than the parser's seven levels.
    case malformed(String)
    /// A reply exceeds one of the limits.
    case tooLarge

    package var description: String {
      switch self {
      case .malformed(let reason): "not a reply of Redis: \(reason)"
      case .tooLarge: "a reply of Redis is too large"
      }
    }
  }

  private static let chunk = 16 << 10

  private let raw: UnsafeMutablePointer<redisReader>
  private let values: ValueList
  private let limits: Limits
  private var failure: Failure?

  package init(limits: Limits = Limits()) {
    guard let raw = redisReaderCreateWithFunctions(valueFunctions) else { fatalError("no memory for a reader") }
    (self.raw, self.limits, values) = (raw, limits, ValueList(limit: limits.values))
    raw.pointee.privdata = Unmanaged.passUnretained(values).toOpaque()  // `values` lives as long as `raw`
  }

  deinit { redisReaderFree(raw) }

  /// Bytes that the reader keeps of a reply that is not complete yet.
  package var pendingBytes: Int { unread + values.byteCount }

  private var unread: Int { raw.pointee.len - raw.pointee.pos }

  /// Takes the next bytes of the connection.
  /// - Parameter onReply: gets each reply that is complete.
  /// - Throws: `Failure`, at this call and at each later one.
  package func read(_ bytes: UnsafeRawBufferPointer, _ onReply: (RedisReply) -> Void) throws(Failure) {
    if let failure { throw failure }
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.chunk))
      rest = rest.dropFirst(part.count)
      guard redisReaderFeed(raw, part.baseAddress, part.count) == REDIS_OK else { throw fail() }
      while let reply = try next() { onReply(reply) }
      guard pendingBytes <= limits.reply, !isInLongLine else { throw fail(.tooLarge) }
    }
  }

  private func next() throws(Failure) -> RedisReply? {
    var root: UnsafeMutableRawPointer?
    guard redisReaderGetReply(raw, &root) == REDIS_OK else { throw fail() }
    return root == nil ? nil : values.takeReply()
  }

  private func fail(_ reason: Failure? = nil) -> Failure {
    let text = withUnsafeBytes(of: raw.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let failure = reason ?? (raw.pointee.err == REDIS_ERR_OOM ? .tooLarge : .malformed(text))
    self.failure = failure
    return failure
  }

  /// Whether the parser waits for the end of a line that is too long. Bytes behind a length are no line.
  private var isInLongLine: Bool {
    guard unread > limits.line, let buffer = raw.pointee.buf else { return false }
    guard koine_redis_current_kind(raw) == REDIS_REPLY_STRING else { return true }
    let start = UnsafeRawBufferPointer(start: buffer + raw.pointee.pos, count: 32)
    return !start.contains(UInt8(ascii: "\n"))
  }
}

/// The values of a reply in the order in which they begin. The parser knows a value by its number, plus one.
private final class ValueList {
  private enum Value {
    case single(RedisReply)
    case array(count: Int)
  }

  /// What a value takes beside its bytes.
  private static let overhead = 40

  private let limit: Int
  private var values: [Value] = []
  private(set) var byteCount = 0

  init(limit: Int) { self.limit = limit }

  static func of(_ task: UnsafePointer<redisReadTask>?) -> ValueList? {
    task?.pointee.privdata.map { Unmanaged<ValueList>.fromOpaque($0).takeUnretainedValue() }
  }

  /// - Returns: nil if the reply has too many values; the parser then fails for want of memory.
  func add(_ reply: RedisReply, bytes: Int = 0) -> UnsafeMutableRawPointer? { add(.single(reply), bytes: bytes) }
  func addArray(of count: Int) -> UnsafeMutableRawPointer? { add(.array(count: count), bytes: 0) }

  private func add(_ value: Value, bytes: Int) -> UnsafeMutableRawPointer? {
    guard values.count < limit else { return nil }
    values.append(value)
    byteCount += bytes + Self.overhead
    return UnsafeMutableRawPointer(bitPattern: values.count)
  }

  /// The reply, once all its values are here.
  func takeReply() -> RedisReply {
    var index = 0
    let reply = value(at: &index)
    values.removeAll(keepingCapacity: values.count <= 1_024)
    byteCount = 0
    return reply
  }

  /// An array's elements follow it. The parser's limit of depth bounds the recursion.
  private func value(at index: inout Int) -> RedisReply {
    defer { if index > values.count { index = values.count } }
    guard index < values.count else { return .null }
    let value = values[index]
    index += 1
    switch value {
    case .single(let reply): return reply
    case .array(let count):
      var elements: [RedisReply] = []
      elements.reserveCapacity(min(count, values.count - index))
      while elements.count < count, index < values.count { elements.append(self.value(at: &index)) }
      return .array(elements)
    }
  }
}

/// What the parser calls for each value. It keeps the pointer, so the functions live as long as the process.
/// `nonisolated(unsafe)`: nothing is changed after it has been made.
private nonisolated(unsafe) let valueFunctions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
  let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
  functions.initialize(
    to: redisReplyObjectFunctions(
      createString: { task, start, count in
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        return switch task?.pointee.type {
        case REDIS_REPLY_ERROR: ValueList.of(task)?.add(.error(String(decoding: bytes, as: UTF8.self)), bytes: count)
        case REDIS_REPLY_STATUS: ValueList.of(task)?.add(.status(String(decoding: bytes, as: UTF8.self)), bytes: count)
        default: ValueList.of(task)?.add(.bytes(Array(bytes)), bytes: count)
        }
      },
      createArray: { task, count in ValueList.of(task)?.addArray(of: Int(count)) },
      createInteger: { task, number in ValueList.of(task)?.add(.integer(Int(number))) },
      createNil: { task in ValueList.of(task)?.add(.null) },
      freeObject: { _ in }))
  return functions
}()
