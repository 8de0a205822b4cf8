import Koine

/// One stream's figures in the W3C's names (webrtc-stats), all as text: the stream's own, the path's, the codec's.
enum RTCStats {
  /// - Parameter isOwn: own streams go by their track: the room may have given the participant another id meanwhile.
  static func dictionary(
    of id: Koine.Stream.ID, isOwn: Bool, in figures: SessionStatistics
  ) -> [String: [String: String]] {
    var stats: [String: [String: String]] = [:]
    let found = figures.streams.first { stream in
      isOwn ? stream.outgoing != nil && stream.stream.id.track == id.track : stream.stream.id == id
    }
    guard let stream = found else { return path(of: figures) }
    let kind = stream.stream.kind.isAudio ? "audio" : "video"
    let codec = "COT01_\(kind == "audio" ? "111" : "96")"
    if let outgoing = stream.outgoing {
      let name = "OT01\(kind == "audio" ? "A" : "V")\(id.track)"
      stats[name] = Self.outgoing(outgoing, stream.sentVideo)
      stats["RI\(name)"] = remoteInbound(outgoing, figures)
      stats["RI\(name)"]?["localId"] = name
    }
    if let incoming = stream.incoming {
      stats["IT01\(kind == "audio" ? "A" : "V")\(id)"] = Self.incoming(incoming, stream)
    }
    for key in stats.keys {
      stats[key]?["kind"] = kind
      stats[key]?["id"] = key
      stats[key]?["transportId"] = "T01"
      stats[key]?["codecId"] = codec
    }
    stats[codec] = [
      "id": codec, "type": "codec", "transportId": "T01", "mimeType": kind == "audio" ? "audio/opus" : "video/VP8",
      "clockRate": kind == "audio" ? "48000" : "90000",
    ]
    return stats.merging(path(of: figures)) { own, _ in own }
  }

  private static func outgoing(_ counts: LinkStatistics.Outgoing, _ video: VideoSendStatistics?) -> [String: String] {
    var stats = [
      "type": "outbound-rtp", "packetsSent": "\(counts.packets)", "bytesSent": "\(counts.bytes)",
      "retransmittedPacketsSent": "\(counts.retransmitted)",
    ]
    guard let video else { return stats }
    stats["framesSent"] = "\(counts.frames)"
    stats["pliCount"] = "\(counts.keyFramesRequested)"
    stats["framesEncoded"] = "\(video.encoded)"
    stats["keyFramesEncoded"] = "\(video.keyFrames)"
    stats["frameWidth"] = "\(video.width)"
    stats["frameHeight"] = "\(video.height)"
    return stats
  }

  private static func remoteInbound(
    _ counts: LinkStatistics.Outgoing, _ figures: SessionStatistics
  ) -> [String: String] {
    var stats = ["type": "remote-inbound-rtp", "fractionLost": "\(counts.reportedLoss)"]
    if let time = figures.roundTripTime { stats["roundTripTime"] = "\(time / 1_000)" }
    return stats
  }

  private static func incoming(_ counts: LinkStatistics.Incoming, _ stream: StreamStatistics) -> [String: String] {
    var stats = [
      "type": "inbound-rtp", "packetsReceived": "\(counts.packets)", "bytesReceived": "\(counts.bytes)",
      "packetsLost": "\(counts.lost)", "retransmittedPacketsReceived": "\(counts.recovered)",
      "jitter": "\(counts.jitter / 1_000)",
    ]
    if let video = stream.video {
      stats["framesReceived"] = "\(video.received)"
      stats["framesDecoded"] = "\(video.decoded)"
      stats["framesRendered"] = "\(video.rendered)"
      stats["framesDropped"] = "\(video.dropped)"
      stats["framesPerSecond"] = "\(video.framesPerSecond)"
      stats["frameWidth"] = "\(video.width)"
      stats["frameHeight"] = "\(video.height)"
      stats["freezeCount"] = "\(video.freezes)"
      stats["pliCount"] = "\(counts.keyFramesRequested)"
    }
    if let audio = stream.audio {
      stats["totalSamplesReceived"] = "\(audio.samples)"
      stats["concealedSamples"] = "\(audio.concealed)"
      stats["insertedSamplesForDeceleration"] = "\(audio.stretched)"
      stats["removedSamplesForAcceleration"] = "\(audio.accelerated)"
      stats["packetsDiscarded"] = "\(audio.late)"
    }
    return stats
  }

  private static func path(of figures: SessionStatistics) -> [String: [String: String]] {
    var pair = [
      "id": "CP01", "type": "candidate-pair", "transportId": "T01", "state": "succeeded", "nominated": "true",
      "availableOutgoingBitrate": "\(figures.availableBitrate)",
    ]
    if let time = figures.roundTripTime { pair["currentRoundTripTime"] = "\(time / 1_000)" }
    return ["CP01": pair, "T01": ["id": "T01", "type": "transport", "selectedCandidatePairId": "CP01"]]
  }
}
