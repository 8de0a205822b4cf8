/// What a link counts, per stream; all numbers since the stream began.
public struct LinkStatistics: Sendable, Hashable {
  public struct Outgoing: Sendable, Hashable, Codable {
    public var packets = 0
    public var bytes = 0
    public var frames = 0
    public var retransmitted = 0
    public var keyFrames = 0
    public var keyFramesRequested = 0
    /// Packets asked for again.
    public var nacks = 0
    /// Fraction lost as the other side last reported it, of the layer that loses most, 0...1.
    public var reportedLoss = 0.0
    /// Packets that never came, as the other side last reported it, of all layers; those sent again in time have come.
    public var reportedLost = 0
    /// As the other side last reported it, in milliseconds.
    public var reportedJitter = 0.0
    /// In milliseconds; nil before the first report that tells.
    public var roundTripTime: Double?

    public init() {}
  }

  public struct Incoming: Sendable, Hashable, Codable {
    public var packets = 0
    public var bytes = 0
    public var frames = 0
    /// Packets that never came, retransmissions counted as arrived.
    public var lost = 0
    /// Packets that came only because they were asked for again.
    public var recovered = 0
    /// Packets asked for again, each time counted.
    public var nacks = 0
    public var keyFrames = 0
    public var keyFramesRequested = 0
    /// Interarrival jitter (RFC 3550, 6.4.1) in milliseconds.
    public var jitter = 0.0

    public init() {}
  }

  public var outgoing: [MediaHandle: Outgoing] = [:]
  public var incoming: [MediaHandle: Incoming] = [:]
  /// In milliseconds; nil before the first measurement.
  public var roundTripTime: Double?
  /// What the way out carries, in bit/s.
  public var availableBitrate = 0

  public init() {}
}

/// One stream's figures, from the wire to the screen or loudspeaker.
public struct StreamStatistics: Sendable, Hashable {
  public var stream: Track
  /// What it is coded in; nil before the first of another's pictures has come.
  public var codec: Codec?
  /// Set for own streams.
  public var outgoing: LinkStatistics.Outgoing?
  /// Set for own video.
  public var sentVideo: VideoSendStatistics?
  /// Set for own sound while it is processed.
  public var processing: AudioProcessingStatistics?
  /// Set for others' streams.
  public var incoming: LinkStatistics.Incoming?
  /// Set for others' video.
  public var video: VideoReceiveStatistics?
  /// Set for others' sound.
  public var audio: AudioReceiveStatistics?
}

/// A session's figures at one moment.
public struct SessionStatistics: Sendable, Hashable {
  /// Own streams first, then the others'.
  public var streams: [StreamStatistics]
  /// To the room and back, in milliseconds; nil before the first measurement.
  public var roundTripTime: Double?
  /// What the way out carries, in bit/s.
  public var availableBitrate: Int

  public init(streams: [StreamStatistics] = [], roundTripTime: Double? = nil, availableBitrate: Int = 0) {
    self.streams = streams
    self.roundTripTime = roundTripTime
    self.availableBitrate = availableBitrate
  }
}
