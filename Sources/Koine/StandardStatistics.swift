import Foundation

// Figures under the names and in the units that the W3C gives them (Identifiers for WebRTC's Statistics API): seconds,
// bytes, bit/s. What cannot be measured here is left out rather than made up. Written as JSON, the keys are the W3C's.

/// A received stream: `inbound-rtp`.
public struct InboundRTPStatistics: Sendable, Hashable, Codable {
  /// `audio` or `video`.
  public var kind: String
  /// Id of the stream's track.
  public var trackIdentifier: String
  /// Number of RTP packets received.
  public var packetsReceived: Int
  /// Bytes of payload received, without headers.
  public var bytesReceived: Int
  /// Number of RTP packets lost, as far as known.
  public var packetsLost: Int
  /// In seconds.
  public var jitter: Double
  /// Number of NACK requests sent.
  public var nackCount: Int
  /// Number of RTP packets that arrived only by retransmission, or as a copy in a later packet (RFC 2198).
  public var retransmittedPacketsReceived: Int
  /// Bytes of RTP headers with their extensions, and of padding.
  public var headerBytesReceived: Int
  /// The sum over all samples of audio, or frames of video, of the time from arrival to the decoder, in seconds.
  public var jitterBufferDelay: Double?
  /// Samples or frames that `jitterBufferDelay` counts.
  public var jitterBufferEmittedCount: Int?

  // Pictures
  /// Number of key frame requests (PLI) sent.
  public var pliCount: Int?
  /// Number of complete frames received.
  public var framesReceived: Int?
  /// Number of frames decoded.
  public var framesDecoded: Int?
  /// Number of key frames decoded.
  public var keyFramesDecoded: Int?
  /// In seconds, by the clock on the wall.
  public var totalDecodeTime: Double?
  /// Number of frames delivered to sinks.
  public var framesRendered: Int?
  /// Number of frames dropped before or after decoding.
  public var framesDropped: Int?
  /// Frames decoded in the last second.
  public var framesPerSecond: Double?
  /// Width of the newest frame, in pixels.
  public var frameWidth: Int?
  /// Height of the newest frame, in pixels.
  public var frameHeight: Int?
  /// Number of freezes of the video.
  public var freezeCount: Int?
  /// In seconds.
  public var totalFreezesDuration: Double?
  /// Number of times without a new frame for over 5 s.
  public var pauseCount: Int?
  /// In seconds.
  public var totalPausesDuration: Double?

  // Sound
  /// Number of audio samples played, concealed ones included.
  public var totalSamplesReceived: Int?
  /// Number of audio samples that replace lost ones.
  public var concealedSamples: Int?
  /// Number of concealments, each of one or more consecutive samples.
  public var concealmentEvents: Int?
  /// Number of audio samples inserted to slow the play-out down.
  public var insertedSamplesForDeceleration: Int?
  /// Number of audio samples removed to speed the play-out up.
  public var removedSamplesForAcceleration: Int?
  /// Came after their turn.
  public var packetsDiscarded: Int?
  /// Level of the newest audio, linear, 0...1; nil where the sender does not say.
  public var audioLevel: Double?
}

/// An own stream: `outbound-rtp`.
public struct OutboundRTPStatistics: Sendable, Hashable, Codable {
  /// `audio` or `video`.
  public var kind: String
  /// Id of the stream's track.
  public var trackIdentifier: String
  /// Number of RTP packets sent, retransmissions included.
  public var packetsSent: Int
  /// Bytes of payload sent, without headers.
  public var bytesSent: Int
  /// Number of RTP packets retransmitted.
  public var retransmittedPacketsSent: Int
  /// Number of NACK requests received.
  public var nackCount: Int
  /// Bytes of RTP headers with their extensions.
  public var headerBytesSent: Int
  /// Bytes of payload retransmitted.
  public var retransmittedBytesSent: Int
  /// How long all packets together waited before they were sent, in seconds.
  public var totalPacketSendDelay: Double

  // Pictures
  /// Number of key frame requests (PLI) received.
  public var pliCount: Int?
  /// Number of frames sent.
  public var framesSent: Int?
  /// Frames encoded in the largest layer that a receiver wants.
  public var framesEncoded: Int?
  /// `framesEncoded` of the last second.
  public var framesPerSecond: Double?
  /// Number of key frames encoded.
  public var keyFramesEncoded: Int?
  /// Width of the largest layer that a receiver wants, in pixels.
  public var frameWidth: Int?
  /// Height of the largest layer that a receiver wants, in pixels.
  public var frameHeight: Int?
  /// `none`, `cpu`, `bandwidth` or `other`.
  public var qualityLimitationReason: String?
  /// By reason, in seconds.
  public var qualityLimitationDurations: [String: Double]?
  /// Number of changes of the sent size because of limited CPU or bandwidth.
  public var qualityLimitationResolutionChanges: Int?
}

/// The codec of a sent or received stream: `codec`.
public struct CodecStatistics: Sendable, Hashable, Codable {
  /// As `video/VP8`.
  public var mimeType: String
  /// Clock rate of the RTP timestamps, in Hz.
  public var clockRate: Int
  /// Number of audio channels; nil for video.
  public var channels: Int?
}

/// What the other side reports of an own stream: `remote-inbound-rtp`.
public struct RemoteInboundRTPStatistics: Sendable, Hashable, Codable {
  /// `audio` or `video`.
  public var kind: String
  /// Number of RTP packets that the other side reports as lost, of all layers.
  public var packetsLost: Int
  /// Fraction of packets lost in the layer with the largest loss, 0...1.
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
  /// Number of RTP packets sent, of all streams.
  public var packetsSent: Int
  /// Number of RTP packets received, of all streams.
  public var packetsReceived: Int
  /// Bytes of payload sent, of all streams.
  public var bytesSent: Int
  /// Bytes of payload received, of all streams.
  public var bytesReceived: Int
}

extension StreamStatistics {
  /// Set for others' streams.
  public var inboundRTP: InboundRTPStatistics? {
    guard let incoming else { return nil }
    var result = InboundRTPStatistics(
      kind: stream.kind.isVideo ? "video" : "audio", trackIdentifier: stream.id.track,
      packetsReceived: incoming.packets, bytesReceived: incoming.bytes, packetsLost: incoming.lost,
      jitter: incoming.jitter / 1_000, nackCount: incoming.nacks, retransmittedPacketsReceived: incoming.recovered,
      headerBytesReceived: incoming.headerBytes)
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
      result.pauseCount = video.pauses
      result.totalPausesDuration = video.paused / 1_000
      (result.jitterBufferDelay, result.jitterBufferEmittedCount) = (video.bufferTime, video.decoded)
    }
    if let audio {
      result.totalSamplesReceived = audio.samples
      result.concealedSamples = audio.concealed
      result.concealmentEvents = audio.concealments
      result.insertedSamplesForDeceleration = audio.stretched
      result.removedSamplesForAcceleration = audio.accelerated
      result.packetsDiscarded = audio.late
      // RFC 6464, section 4: -127 stands for silence.
      result.audioLevel = audio.level.map { $0 <= -127 ? 0 : pow(10, Double($0) / 20) }
      (result.jitterBufferDelay, result.jitterBufferEmittedCount) = (audio.bufferTime, audio.bufferedSamples)
    }
    return result
  }

  /// Set for own streams.
  public var outboundRTP: OutboundRTPStatistics? {
    guard let outgoing else { return nil }
    var result = OutboundRTPStatistics(
      kind: stream.kind.isVideo ? "video" : "audio", trackIdentifier: stream.id.track, packetsSent: outgoing.packets,
      bytesSent: outgoing.bytes, retransmittedPacketsSent: outgoing.retransmitted, nackCount: outgoing.nacks,
      headerBytesSent: outgoing.headerBytes, retransmittedBytesSent: outgoing.retransmittedBytes,
      totalPacketSendDelay: outgoing.sendDelay)
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
  /// The path to the room, with the sums of all streams.
  public var candidatePair: CandidatePairStatistics {
    let (sent, received) = (streams.compactMap(\.outgoing), streams.compactMap(\.incoming))
    return CandidatePairStatistics(
      currentRoundTripTime: roundTripTime.map { $0 / 1_000 }, availableOutgoingBitrate: Double(availableBitrate),
      packetsSent: sent.reduce(0) { $0 + $1.packets }, packetsReceived: received.reduce(0) { $0 + $1.packets },
      bytesSent: sent.reduce(0) { $0 + $1.bytes }, bytesReceived: received.reduce(0) { $0 + $1.bytes })
  }
}
