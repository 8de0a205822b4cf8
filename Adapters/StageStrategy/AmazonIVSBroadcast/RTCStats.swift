import Koine

/// One stream's figures as the W3C names them (Identifiers for WebRTC's Statistics API), all as text: the stream's own,
/// the path's, the codec's.
enum RTCStats {
  /// - Parameter isOwn: own streams go by their track: the room may have given the participant another id meanwhile.
  static func dictionary(
    of id: Track.ID, isOwn: Bool, in figures: SessionStatistics
  ) -> [String: [String: String]] {
    let path = path(of: figures)
    let found = figures.streams.first { stream in
      isOwn ? stream.outgoing != nil && stream.stream.id.track == id.track : stream.stream.id == id
    }
    guard let found else { return path }
    let isAudio = found.stream.kind.isAudio
    let letter = isAudio ? "A" : "V"
    let codec = "C\(isOwn ? "O" : "I")T01_\(found.codec?.rawValue ?? "")"
    var stats: [String: [String: String]] = [:]
    if let outbound = found.outboundRTP {
      let name = "OT01\(letter)\(id.track)"
      stats[name] = members(of: outbound, type: "outbound-rtp")
      stats[name]?["remoteId"] = "RI" + name
      if let remote = found.remoteInboundRTP {
        stats["RI" + name] = members(of: remote, type: "remote-inbound-rtp")
        stats["RI" + name]?["localId"] = name
      }
    }
    if let inbound = found.inboundRTP { stats["IT01\(letter)\(id)"] = members(of: inbound, type: "inbound-rtp") }
    for key in stats.keys {
      stats[key]?["id"] = key
      stats[key]?["transportId"] = "T01"
      if found.codec != nil { stats[key]?["codecId"] = codec }
    }
    if let figures = found.codecStatistics {
      stats[codec] = members(of: figures, type: "codec").merging(["id": codec, "transportId": "T01"]) { $1 }
    }
    return stats.merging(path) { own, _ in own }
  }

  private static func path(of figures: SessionStatistics) -> [String: [String: String]] {
    var pair = members(of: figures.candidatePair, type: "candidate-pair")
    pair.merge(["id": "CP01", "transportId": "T01", "state": "succeeded", "nominated": "true"]) { own, _ in own }
    return ["CP01": pair, "T01": ["id": "T01", "type": "transport", "selectedCandidatePairId": "CP01"]]
  }

  /// Each member under its own name, which is the W3C's; none for what could not be measured.
  private static func members(of figures: Any, type: String) -> [String: String] {
    var members = ["type": type]
    for case (let name?, let value) in Mirror(reflecting: figures).children {
      let mirror = Mirror(reflecting: value)
      guard mirror.displayStyle == .optional else {
        members[name] = text(value)
        continue
      }
      if let value = mirror.children.first?.value { members[name] = text(value) }
    }
    return members
  }

  /// Numbers by name as apps take them apart: `{bandwidth:0.0,cpu:1.5,…}`.
  private static func text(_ value: Any) -> String {
    guard let numbers = value as? [String: Double] else { return "\(value)" }
    return "{" + numbers.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",") + "}"
  }
}
