public import Foundation
import Koine

/// How well a stream's path carries.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageStreamNetworkQuality.html)
public enum IVSStageStreamNetworkQuality: Int, Sendable {
  /// Less than a hundredth of the packets is lost.
  case excellent = 0
  /// Less than a thirtieth of the packets is lost.
  case good = 1
  /// At most a twentieth of the packets is lost, and a round trip takes at most 400 ms.
  case normal = 2
  /// At most a fifth of the packets is lost, and a round trip takes at most a second.
  case poor = 3
  /// Worse than `poor`.
  case down = 4

  /// - Parameters:
  ///   - level: what the room reports of the path.
  ///   - loss: fraction of the stream's packets that was lost of late, 0...1.
  init(_ level: ConnectionQuality.Level, loss: Double) {
    self =
      switch level {
      case .none: .down
      case .low: .poor
      case .high:
        loss < 0.01 ? .excellent : loss < 1.0 / 30 ? .good : loss <= 0.05 ? .normal : loss <= 0.2 ? .poor : .down
      }
  }
}

/// Statistics of a published audio stream, counted since it was published. Names and meanings are those of the W3C's
/// `outbound-rtp`; times are in milliseconds.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalAudioStats.html)
public class IVSLocalAudioStats: NSObject, @unchecked Sendable {  // constant
  public let networkQuality: IVSStageStreamNetworkQuality
  /// Packets that receivers have requested again.
  public let nackCount: Int
  public let packetsSent: Int
  public let retransmittedPacketsSent: Int
  public let bytesSent: Int
  public let headerBytesSent: Int
  public let retransmittedBytesSent: Int
  /// In milliseconds.
  public let totalPacketSendDelay: Int
  /// As `audio/opus`.
  public let mime: String

  init(_ sent: OutgoingStatistics, _ quality: ConnectionQuality.Level, mime: String) {
    networkQuality = IVSStageStreamNetworkQuality(quality, loss: sent.reportedLoss)
    (nackCount, packetsSent, retransmittedPacketsSent) = (sent.nacks, sent.packets, sent.retransmitted)
    (bytesSent, headerBytesSent, retransmittedBytesSent) = (sent.bytes, sent.headerBytes, sent.retransmittedBytes)
    totalPacketSendDelay = sent.sendDelay.milliseconds
    self.mime = mime
  }
}

/// Statistics of one layer of a published video stream, counted since it was published. Names and meanings are those of the
/// W3C's `outbound-rtp`; times are in milliseconds.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalVideoStats.html)
public class IVSLocalVideoStats: NSObject, @unchecked Sendable {  // constant
  public let networkQuality: IVSStageStreamNetworkQuality
  /// Whether a participant receives the layer.
  public let active: Bool
  /// In pixels, of the newest frame.
  public let frameWidth, frameHeight: Int
  public let framesPerSecond: Double
  /// The layer's name (RFC 8851); empty without simulcast.
  public let rid: String
  /// Packets that receivers have requested again.
  public let nackCount: Int
  public let packetsSent: Int
  public let retransmittedPacketsSent: Int
  public let bytesSent: Int
  public let headerBytesSent: Int
  public let retransmittedBytesSent: Int
  /// In milliseconds.
  public let totalPacketSendDelay: Int
  /// Always 0: rooms request key frames by PLI (RFC 4585).
  public let firCount: Int
  public let pliCount: Int
  public let framesEncoded: Int
  public let keyFramesEncoded: Int
  /// In milliseconds.
  public let totalEncodeTime: Int
  /// What the encoder was asked to make, in bytes.
  public let totalEncodedBytesTarget: Int
  public let framesSent: Int
  public let hugeFramesSent: Int
  public let qualityLimitationResolutionChanges: Int
  /// `none`, `cpu`, `bandwidth` or `other`, of the whole stream.
  public let qualityLimitationReason: String
  /// As `video/VP8`.
  public let mime: String

  init(
    _ sent: OutgoingLayerStatistics, _ encoded: VideoLayerSendStatistics, _ limitation: VideoLimitation,
    _ quality: ConnectionQuality.Level, mime: String
  ) {
    networkQuality = IVSStageStreamNetworkQuality(quality, loss: sent.reportedLoss)
    active = encoded.isActive
    (frameWidth, frameHeight, framesPerSecond) = (encoded.width, encoded.height, encoded.framesPerSecond)
    rid = sent.rid ?? ""
    (nackCount, packetsSent, retransmittedPacketsSent) = (sent.nacks, sent.packets, sent.retransmitted)
    (bytesSent, headerBytesSent, retransmittedBytesSent) = (sent.bytes, sent.headerBytes, sent.retransmittedBytes)
    totalPacketSendDelay = sent.sendDelay.milliseconds
    (firCount, pliCount) = (0, sent.keyFramesRequested)
    (framesEncoded, keyFramesEncoded) = (encoded.encoded, encoded.keyFrames)
    (totalEncodeTime, totalEncodedBytesTarget) = (encoded.encodeTime.milliseconds, encoded.targetBytes)
    (framesSent, hugeFramesSent) = (sent.frames, encoded.hugeFrames)
    qualityLimitationResolutionChanges = encoded.sizeChanges
    qualityLimitationReason = limitation.rawValue
    self.mime = mime
  }
}

/// Statistics of a received audio stream, counted since the subscription. Names and meanings are those of the W3C's
/// `inbound-rtp`.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteAudioStats.html)
public class IVSRemoteAudioStats: NSObject, @unchecked Sendable {  // constant
  public let networkQuality: IVSStageStreamNetworkQuality
  /// Packets that were requested again.
  public let nackCount: Int
  public let packetsReceived: Int
  public let packetsLost: Int
  public let bytesReceived: Int
  public let headerBytesReceived: Int
  public let totalSamplesReceived: Int
  public let concealedSamples: Int
  public let insertedSamplesForDeceleration: Int
  public let removedSamplesForAcceleration: Int
  /// The sum over all samples of the time from arrival to play-out, in seconds.
  public let jitterBufferDelay: Double
  /// Of the newest audio, linear, 0...1.
  public let audioLevel: Double
  /// As `audio/opus`; empty before the first packet.
  public let mime: String

  init(_ received: InboundRTPStatistics, loss: Double, _ quality: ConnectionQuality.Level, mime: String) {
    networkQuality = IVSStageStreamNetworkQuality(quality, loss: loss)
    (nackCount, packetsReceived, packetsLost) = (received.nackCount, received.packetsReceived, received.packetsLost)
    (bytesReceived, headerBytesReceived) = (received.bytesReceived, received.headerBytesReceived)
    totalSamplesReceived = received.totalSamplesReceived ?? 0
    concealedSamples = received.concealedSamples ?? 0
    insertedSamplesForDeceleration = received.insertedSamplesForDeceleration ?? 0
    removedSamplesForAcceleration = received.removedSamplesForAcceleration ?? 0
    (jitterBufferDelay, audioLevel) = (received.jitterBufferDelay ?? 0, received.audioLevel ?? 0)
    self.mime = mime
  }
}

/// Statistics of a received video stream, counted since the subscription. Names and meanings are those of the W3C's
/// `inbound-rtp`.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteVideoStats.html)
public class IVSRemoteVideoStats: NSObject, @unchecked Sendable {  // constant
  public let networkQuality: IVSStageStreamNetworkQuality
  /// In pixels, of the newest frame.
  public let frameWidth, frameHeight: Int
  public let framesPerSecond: Double
  /// Packets that were requested again.
  public let nackCount: Int
  public let packetsReceived: Int
  public let packetsLost: Int
  public let bytesReceived: Int
  public let headerBytesReceived: Int
  public let framesReceived: Int
  public let framesDecoded: Int
  public let keyFramesDecoded: Int
  public let framesDropped: Int
  /// Always 0: key frames are requested by PLI (RFC 4585).
  public let firCount: Int
  public let pliCount: Int
  public let pauseCount: Int
  public let freezeCount: Int
  /// The sum over all frames of the time from arrival to the decoder, in seconds.
  public let jitterBufferDelay: Double
  /// In seconds.
  public let totalPausesDuration: Double
  /// In seconds.
  public let totalFreezesDuration: Double
  /// As `video/VP8`; empty before the first frame.
  public let mime: String

  init(_ received: InboundRTPStatistics, loss: Double, _ quality: ConnectionQuality.Level, mime: String) {
    networkQuality = IVSStageStreamNetworkQuality(quality, loss: loss)
    (frameWidth, frameHeight) = (received.frameWidth ?? 0, received.frameHeight ?? 0)
    framesPerSecond = received.framesPerSecond ?? 0
    (nackCount, packetsReceived, packetsLost) = (received.nackCount, received.packetsReceived, received.packetsLost)
    (bytesReceived, headerBytesReceived) = (received.bytesReceived, received.headerBytesReceived)
    (framesReceived, framesDecoded) = (received.framesReceived ?? 0, received.framesDecoded ?? 0)
    (keyFramesDecoded, framesDropped) = (received.keyFramesDecoded ?? 0, received.framesDropped ?? 0)
    (firCount, pliCount) = (0, received.pliCount ?? 0)
    (pauseCount, freezeCount) = (received.pauseCount ?? 0, received.freezeCount ?? 0)
    jitterBufferDelay = received.jitterBufferDelay ?? 0
    totalPausesDuration = received.totalPausesDuration ?? 0
    totalFreezesDuration = received.totalFreezesDuration ?? 0
    self.mime = mime
  }
}

extension Double {
  /// Of seconds.
  fileprivate var milliseconds: Int { Int((self * 1_000).rounded()) }
}

/// One stream's typed statistics.
enum QualityStats {
  case localAudio(IVSLocalAudioStats)
  case localVideo([IVSLocalVideoStats])
  case remoteAudio(IVSRemoteAudioStats)
  case remoteVideo(IVSRemoteVideoStats)

  /// - Parameters:
  ///   - quality: of the path in the stream's direction.
  ///   - isOwn: own streams go by their track: the room may have given the participant another id meanwhile.
  /// - Returns: nil for a stream that is not published or received any more.
  init?(of id: Track.ID, isOwn: Bool, in figures: SessionStatistics, _ quality: ConnectionQuality) {
    let found = figures.streams.first { stream in
      isOwn ? stream.outgoing != nil && stream.stream.id.track == id.track : stream.stream.id == id
    }
    guard let found else { return nil }
    let mime = found.codecStatistics?.mimeType ?? ""
    if let sent = found.outgoing {
      if let video = found.sentVideo {
        self = .localVideo(
          zip(sent.layers, video.layers).map {
            IVSLocalVideoStats($0, $1, video.limitation, quality.sending, mime: mime)
          })
      } else {
        self = .localAudio(IVSLocalAudioStats(sent, quality.sending, mime: mime))
      }
    } else if let received = found.inboundRTP {
      let loss = found.incoming?.fractionLost ?? 0
      self =
        found.stream.kind.isVideo
        ? .remoteVideo(IVSRemoteVideoStats(received, loss: loss, quality.receiving, mime: mime))
        : .remoteAudio(IVSRemoteAudioStats(received, loss: loss, quality.receiving, mime: mime))
    } else {
      return nil
    }
  }
}
