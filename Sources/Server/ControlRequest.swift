import KoineJSONCodec
package import KoineRouter
import KoineSignaling

/// A command as it comes over the control socket: one line of JSON, the command's fields with `by` (the user) and `reason`, both
/// optional.
package struct ControlRequest: Hashable, Sendable, Codable {
  /// In bytes, without its end.
  package static let lineLimit = 64 * 1024
  /// In UTF-8 bytes.
  package static let reasonLimit = 512
  static let limits = JSONCodec.Limits(depth: 4, size: lineLimit, values: 128)
  /// A room of 1,000 participants with their attributes.
  static let replyLimits = JSONCodec.Limits(depth: 16, size: 32 * 1024 * 1024)

  package var command: RoomCommand
  package var by: String?
  package var reason: String?

  package init(_ command: RoomCommand, by: String? = nil, reason: String? = nil) {
    (self.command, self.by, self.reason) = (command, by, reason)
  }

  private enum CodingKeys: String, CodingKey { case by, reason }

  package init(from decoder: any Decoder) throws {
    command = try RoomCommand(from: decoder)
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    by = try fields.contains(.by) ? fields.name(.by) : nil
    reason = try fields.contains(.reason) ? fields.name(.reason, limit: Self.reasonLimit) : nil
  }

  package func encode(to encoder: any Encoder) throws {
    try command.encode(to: encoder)
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encodeIfPresent(by, forKey: .by)
    try fields.encodeIfPresent(reason, forKey: .reason)
  }

  /// Any bytes give a request or an error.
  package static func read(_ line: [UInt8]) throws(RoomControlError) -> ControlRequest {
    do {
      return try JSONCodec.decode(ControlRequest.self, from: line, limits: limits)
    } catch let error as RoomControlError {
      throw error
    } catch let error as DecodingError {
      throw RoomControlError(.malformed, "not a command: \(error.place)")
    } catch {
      throw RoomControlError(.malformed, "not a command: \(error)")
    }
  }

  /// What the router is asked.
  package var request: RoomRequest {
    RoomRequest(command, by: CommandOrigin(.commandLine, by ?? "unknown"), reason: reason)
  }
}

/// Cuts what arrives into lines. Holds at most one line that is not complete, and what arrived with its end.
package struct ControlLines: Sendable {
  package enum Line: Hashable, Sendable {
    case line([UInt8])
    /// Longer than `ControlRequest.lineLimit`. None follows.
    case tooLong
  }

  private var bytes: [UInt8] = []
  private var start = 0
  /// No end of a line is before it.
  private var searched = 0
  private var isOver = false

  package init() {}

  package mutating func append(_ new: some Sequence<UInt8>) {
    guard !isOver else { return }
    if start > 0 {
      bytes.removeFirst(start)
      (searched, start) = (searched - start, 0)
    }
    bytes += new
  }

  /// The next complete line, without its end; empty lines are skipped.
  package mutating func next() -> Line? {
    while !isOver {
      guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
        searched = bytes.count
        return bytes.count - start > ControlRequest.lineLimit ? finish() : nil
      }
      var line = bytes[start..<end]
      (start, searched) = (end + 1, end + 1)
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      guard line.count <= ControlRequest.lineLimit else { return finish() }
      if !line.isEmpty { return .line(Array(line)) }
    }
    return nil
  }

  private mutating func finish() -> Line {
    (isOver, bytes, start, searched) = (true, [], 0, 0)
    return .tooLong
  }
}
