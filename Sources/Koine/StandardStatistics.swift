// Figures under the names and in the units that the W3C gives them (Identifiers for WebRTC's Statistics API): seconds,
// bytes, bit/s. What cannot be measured here is left out rather than made up. Written as JSON, the keys are the W3C's.

/// A received stream: `inbound-rtp`.
public struct InboundRTPStatistics: Sendable, Hashable, Codable {
  /// `audio` or `video`.
  public var kind: String
  public var trackIdentifier: String
  public var packetsReceived: Int
  /// Of payloads.
  public var bytesReceived: Int
  public var packetsLost: Int
  /// In seconds.
  public var jitter: Double
  public var nackCount: Int
  public var retransmittedPacketsReceived: Int

  // Pictures
  public var pliCount: Int?
  public var framesReceived: Int?
  public var framesDecoded: Int?
  public var keyFramesDecoded: Int?
  /// In seconds, by the clock on the wall.
  public var totalDecodeTime: Double?
  public var framesRendered: Int?
  public var framesDropped: Int?
  public var framesPerSecond: Double?
  public var frameWidth: Int?
  public var frameHeight: Int?
  public var freezeCount: Int?
  /// In seconds.
  public var totalFreezesDuration: Double?

  // Sound
  public var totalSamplesReceived: Int?
  public var concealedSamples: Int?
  public var concealmentEvents: Int?
  public var insertedSamplesForDeceleration: Int?
  public var removedSamplesForAcceleration: Int?
  /// Came after their turn.
  public var packetsDiscarded: Int?
}

/// An own stream: `outbound-rtp`.
public struct OutboundRTPStatistics: Sendable, Hashable, Codable {
  /// `audio` or `video`.
  public var kind: String
  public var trackIdentifier: String
  public var packetsSent: Int
  /// Of payloads.
  public var bytesSent: Int
  public var retransmittedPacketsSent: Int
  public var nackCount: Int

  // Pictures
  public var pliCount: Int?
  public var framesSent: Int?
  /// Frames encoded in the largest layer that a receiver wants.
  public var framesEncoded: Int?
  /// `framesEncoded` of the last second.
  public var framesPerSecond: Double?
  public var keyFramesEncoded: Int?
  public var frameWidth: Int?
  public var frameHeight: Int?
  /// `none`, `cpu`, `bandwidth` or `other`.
  public var qualityLimitationReason: String?
  /// By reason, in seconds.
  public var qualityLimitationDurations: [String: Double]?
  public var qualityLimitationResolutionChanges: Int?
}

/// The codec of a sent or received stream: `codec`.
public struct CodecStatistics: Sendable, Hashable, Codable {
  /// As `video/VP8`.
  public var mimeType: String
  public var clockRate: Int
  public var channels: Int?
}

/// What the other side reports of an own stream: `remote-inbound-rtp`.
public struct RemoteInboundRTPStatistics: Sendable, Hashable, Codable {
  public var kind: String
  /// Of all layers.
  public var packetsLost: Int
  /// Of the layer that loses most, 0...1.
  public var fractionLost: Double
  /// In seconds.
  public var jitter: Double
  /// In seconds.
  public var roundTripTime: Double?
}

/// The path to the room: `candidate-pair`.
public struct CandidatePairStatistics: Sendable, Hashable, Codable {
  /// In seconds.
  public var currentRoundTripTime: Double?
  /// In bit/s.
  public var availableOutgoingBitrate: Double
  public var packetsSent: Int
  public var packetsReceived: Int
  public var bytesSent: Int
  public var bytesReceived: Int
}

extension StreamStatistics {
  /// Set for others' streams.
  public var inboundRTP: InboundRTPStatistics? {
    guard let incoming else { return nil }
    var result = InboundRTPStatistics(
      kind: stream.kind.isVideo ? "video" : "audio", trackIdentifier: stream.id.track,
      packetsReceived: incoming.packets, bytesReceived: incoming.bytes, packetsLost: incoming.lost,
      jitter: incoming.jitter / 1_000, nackCount: incoming.nacks, retransmittedPacketsReceived: incoming.recovered)
    if let video {
      result.pliCount = incoming.keyFramesRequested
      result.framesReceived = video.received
      result.framesDecoded = video.decoded
      result.keyFramesDecoded = video.decodedKeyFrames
      result.totalDecodeTime = video.decodeTime
      result.framesRendered = video.rendered
      result.framesDropped = video.dropped
      result.framesPerSecond = video.framesPerSecond
      (result.frameWidth, result.frameHeight) = (video.width, video.height)
      result.freezeCount = video.freezes
      result.totalFreezesDuration = video.frozen / 1_000
    }
    if let audio {
      result.totalSamplesReceived = audio.samples
      result.concealedSamples = audio.concealed
      result.concealmentEvents = audio.concealments
      result.insertedSamplesForDeceleration = audio.stretched
      result.removedSamplesForAcceleration = audio.accelerated
      result.packetsDiscarded = audio.late
    }
    return result
  }

  /// Set for own streams.
  public var outboundRTP: OutboundRTPStatistics? {
    guard let outgoing else { return nil }
    var result = OutboundRTPStatistics(
      kind: stream.kind.isVideo ? "video" : "audio", trackIdentifier: stream.id.track, packetsSent: outgoing.packets,
      bytesSent: outgoing.bytes, retransmittedPacketsSent: outgoing.retransmitted, nackCount: outgoing.nacks)
    guard let sentVideo else { return result }
    result.pliCount = outgoing.keyFramesRequested
    result.framesSent = outgoing.frames
    result.framesEncoded = sentVideo.encoded
    result.framesPerSecond = sentVideo.framesPerSecond
    result.keyFramesEncoded = sentVideo.keyFrames
    (result.frameWidth, result.frameHeight) = (sentVideo.width, sentVideo.height)
    result.qualityLimitationReason = sentVideo.limitation.rawValue
    result.qualityLimitationDurations = Dictionary(
      uniqueKeysWithValues: VideoLimitation.allCases.map { ($0.rawValue, sentVideo.limitedFor[$0] ?? 0) })
    result.qualityLimitationResolutionChanges = sentVideo.sizeChanges
    return result
  }

  /// Nil before it is known.
  public var codecStatistics: CodecStatistics? {
    codec.map { codec in
      CodecStatistics(
        mimeType: (codec.isAudio ? "audio/" : "video/") + codec.rawValue, clockRate: Int(codec.clockRate),
        channels: codec.channels)
    }
  }

  /// Set for own streams.
  public var remoteInboundRTP: RemoteInboundRTPStatistics? {
    outgoing.map { outgoing in
      RemoteInboundRTPStatistics(
        kind: stream.kind.isVideo ? "video" : "audio", packetsLost: outgoing.reportedLost,
        fractionLost: outgoing.reportedLoss, jitter: outgoing.reportedJitter / 1_000,
        roundTripTime: outgoing.roundTripTime.map { $0 / 1_000 })
    }
  }
}

extension SessionStatistics {
  public var candidatePair: CandidatePairStatistics {
    let (sent, received) = (streams.compactMap(\.outgoing), streams.compactMap(\.incoming))
    return CandidatePairStatistics(
      currentRoundTripTime: roundTripTime.map { $0 / 1_000 }, availableOutgoingBitrate: Double(availableBitrate),
      packetsSent: sent.reduce(0) { $0 + $1.packets }, packetsReceived: received.reduce(0) { $0 + $1.packets },
      bytesSent: sent.reduce(0) { $0 + $1.bytes }, bytesReceived: received.reduce(0) { $0 + $1.bytes })
  }
}
