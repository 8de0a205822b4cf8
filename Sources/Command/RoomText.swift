import KoineBase
import KoineJSONCodec
import KoineRouter

/// Rooms as `koine rooms` prints them. Names come from strangers: they cannot leave their line.
enum RoomText {
  static func list(_ rooms: [RoomSummary]) -> String {
    rooms.isEmpty ? "no rooms" : rooms.map(line).joined(separator: "\n")
  }

  static func details(_ room: RoomDetails) -> String {
    var lines = [line(room.summary)]
    for member in room.participants {
      var words = [LogText.line(member.id), LogText.line(member.name), duration(member.seconds)]
      if let externalID = member.externalID { words.append("external id \(LogText.line(externalID))") }
      if member.isHidden { words.append("hidden") }
      if !member.isReachable {
        words.append("connection lost")
      } else if !member.isConnected {
        words.append("no media")
      }
      lines.append("  " + words.joined(separator: "  "))
      if let client = member.client { lines.append("    app: \(LogText.line(client))") }
      lines.append("    may: \(member.permissions.joined(separator: " "))")
      for track in member.tracks {
        lines.append("    \(track.kind) \(LogText.line(track.id))\(track.isMuted ? "  muted" : "")")
      }
    }
    for waiting in room.waiting {
      lines.append("  waits: \(LogText.line(waiting.id))  \(LogText.line(waiting.name))  \(duration(waiting.seconds))")
    }
    for service in room.services {
      if let status = service.status { lines.append("  \(service.name): \(LogText.line(status))") }
    }
    return lines.joined(separator: "\n")
  }

  private static func line(_ room: RoomSummary) -> String {
    var words = [LogText.line(room.name), "\(room.participants) participants"]
    if room.hidden > 0 { words.append("\(room.hidden) hidden") }
    if room.waiting > 0 { words.append("\(room.waiting) waiting") }
    return (words + [duration(room.seconds)]).joined(separator: "  ")
  }

  private static func duration(_ seconds: Double) -> String {
    // The server sends this number: an invalid or negative duration counts as 0.
    let whole = seconds.isFinite && seconds > 0 ? Int(min(seconds, 1e9)) : 0
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(whole / 3_600):\(two(whole / 60 % 60)):\(two(whole % 60))"
  }
}

extension RoomReply {
  var jsonText: String {
    get throws {
      String(decoding: try JSONCodec.encode(self, limits: .init(size: 32 * 1024 * 1024)), as: UTF8.self)
    }
  }
}
