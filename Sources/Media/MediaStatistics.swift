/// Counters of both directions of a peer connection, since each stream began. `Outgoing` names sent streams, `Incoming` received
/// ones.
public struct MediaStatistics<Outgoing: Hashable & Sendable, Incoming: Hashable & Sendable>: Sendable, Hashable {
  /// Counters of the sent streams.
  public var outgoing: [Outgoing: OutgoingStatistics] = [:]
  /// Counters of the received streams.
  public var incoming: [Incoming: IncomingStatistics] = [:]
  /// Smoothed, in milliseconds; nil before the first measurement.
  public var roundTripTime: Double?
  /// What the path out carries, in bit/s.
  public var availableBitrate = 0
  /// What the path in carries, in bit/s, as the other end has reported it; nil before it has, and where it does not.
  public var availableReceiveBitrate: Int?
  /// Datagrams that were not understood, could not be decrypted, or belong to no stream.
  public var dropped = 0

  /// Creates statistics without streams.
  public init() {}
}

/// Counters of one sent stream, all simulcast layers together.
public struct OutgoingStatistics: Sendable, Hashable, Codable {
  /// RTP packets sent, retransmissions included.
  public var packets = 0
  /// Bytes of payload, without headers.
  public var bytes = 0
  /// Frames sent.
  public var frames = 0
  /// RTP packets retransmitted.
  public var retransmitted = 0
  /// Key frames sent.
  public var keyFrames = 0
  /// Key frame requests received.
  public var keyFramesRequested = 0
  /// Packets for which the remote side has requested a retransmission (NACK).
  public var nacks = 0
  /// Fraction lost as the other side last reported it, of the layer that loses most, 0...1.
  public var reportedLoss = 0.0
  /// Packets that never arrived, as the other side last reported it, of all layers; retransmitted ones have arrived.
  public var reportedLost = 0
  /// As the other side last reported it, in milliseconds.
  public var reportedJitter = 0.0
  /// In milliseconds; nil before the first report that tells.
  public var roundTripTime: Double?
  /// Bytes of RTP headers with their extensions.
  public var headerBytes = 0
  /// Bytes of payload retransmitted.
  public var retransmittedBytes = 0
  /// How long all packets together waited in the pacer, in seconds.
  public var sendDelay = 0.0
  /// By simulcast layer, the smallest first; one for a stream without simulcast.
  public var layers: [OutgoingLayerStatistics] = []

  /// Creates counters of zero.
  public init() {}
}

/// Counters of one simulcast layer of a sent stream.
public struct OutgoingLayerStatistics: Sendable, Hashable, Codable {
  /// The layer's name in RTP (RFC 8851); nil for a stream without simulcast.
  public var rid: String?
  /// RTP packets sent, retransmissions included.
  public var packets = 0
  /// Bytes of payload, without headers.
  public var bytes = 0
  /// Bytes of RTP headers with their extensions.
  public var headerBytes = 0
  /// Frames sent.
  public var frames = 0
  /// Key frames sent.
  public var keyFrames = 0
  /// Key frame requests received.
  public var keyFramesRequested = 0
  /// RTP packets retransmitted.
  public var retransmitted = 0
  /// Bytes of payload retransmitted.
  public var retransmittedBytes = 0
  /// Packets for which the remote side has requested a retransmission (NACK).
  public var nacks = 0
  /// How long all packets together waited in the pacer, in seconds.
  public var sendDelay = 0.0
  /// Fraction lost as the other side last reported it, 0...1.
  public var reportedLoss = 0.0

  /// Creates counters of zero.
  public init() {}
}

/// Counters of one received stream.
public struct IncomingStatistics: Sendable, Hashable, Codable {
  /// RTP packets received.
  public var packets = 0
  /// Bytes of payload, without headers.
  public var bytes = 0
  /// Complete frames received.
  public var frames = 0
  /// Packets that never arrived, retransmissions counted as arrived.
  public var lost = 0
  /// Fraction of the expected packets that was lost between the last two reports, 0...1; a packet that came as a retransmission or a copy
  /// counts as lost here.
  public var fractionLost = 0.0
  /// Packets that arrived only by retransmission, or as a copy in a later packet (RFC 2198).
  public var recovered = 0
  /// Packets for which this side has requested a retransmission (NACK). Each request counts.
  public var nacks = 0
  /// Key frames received.
  public var keyFrames = 0
  /// Key frame requests sent.
  public var keyFramesRequested = 0
  /// Interarrival jitter (RFC 3550, 6.4.1) in milliseconds.
  public var jitter = 0.0
  /// Bytes of RTP headers with their extensions, and of padding.
  public var headerBytes = 0

  /// Creates counters of zero.
  public init() {}
}
