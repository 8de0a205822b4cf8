import KoineBase
import KoineJSONCodec

/// A data message that a room keeps for late joiners. Its JSON is written once, by the thread that first
/// needs it, however many participants join.
public final class KeptData: Sendable {
  public let message: ReceivedMessage
  private let written = Lock<[UInt8]?>(nil)

  public init(_ message: ReceivedMessage) { self.message = message }

  /// Without the closing brace and the age, which differs from join to join.
  fileprivate func openJSON() throws -> [UInt8] {
    if let json = written.withLock({ $0 }) { return json }
    let json = try JSONCodec.encode(Ageless(message: message)).dropLast()
    written.withLock { $0 = Array(json) }
    return Array(json)
  }
}

private struct Ageless: Encodable {
  let message: ReceivedMessage

  func encode(to encoder: any Encoder) throws { try message.encodeWithoutAge(to: encoder) }
}

/// A part of the data messages that a room keeps for late joiners, oldest first. `joined` carries the first
/// part. The others follow as messages of their own, before any data message that is sent after the join.
public struct HistoryPage: Sendable {
  public struct Entry: Sendable {
    public let kept: KeptData
    public let ageMilliseconds: Int64

    public init(_ kept: KeptData, ageMilliseconds: Int64) {
      (self.kept, self.ageMilliseconds) = (kept, ageMilliseconds)
    }

    public var message: ReceivedMessage {
      var message = kept.message
      message.age = .milliseconds(ageMilliseconds)
      return message
    }
  }

  public var entries: [Entry]
  /// Whether another page follows.
  public var hasMore: Bool

  public init(_ entries: [Entry], hasMore: Bool) { (self.entries, self.hasMore) = (entries, hasMore) }

  public init(messages: [ReceivedMessage], hasMore: Bool) {
    self.init(
      messages.map { Entry(KeptData($0), ageMilliseconds: Int64($0.age.inWholeMilliseconds)) }, hasMore: hasMore)
  }

  public var messages: [ReceivedMessage] { entries.map(\.message) }

  /// Put together from the JSON that was written of each message before.
  func json(limit: Int) throws -> [UInt8] {
    var json = Array("{\"type\":\"history\",\"hasMore\":\(hasMore),\"messages\":[".utf8)
    for (number, entry) in entries.enumerated() {
      if number > 0 { json.append(UInt8(ascii: ",")) }
      json += try entry.kept.openJSON()
      json += Array(",\"ageMilliseconds\":\(entry.ageMilliseconds)}".utf8)
      guard json.count + 2 <= limit else { throw JSONError.tooLarge(limit: limit) }
    }
    json += Array("]}".utf8)
    return json
  }
}

extension HistoryPage: Hashable {
  public static func == (left: HistoryPage, right: HistoryPage) -> Bool {
    left.hasMore == right.hasMore && left.messages == right.messages
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(hasMore)
    hasher.combine(messages)
  }
}

extension HistoryPage: Codable {
  private enum CodingKeys: String, CodingKey { case messages, hasMore }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      messages: try fields.sizedList(.messages, limit: SignalingLimits.history),
      hasMore: try fields.decodeIfPresent(Bool.self, forKey: .hasMore) ?? false)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(messages, forKey: .messages)
    try fields.encode(hasMore, forKey: .hasMore)
  }
}
