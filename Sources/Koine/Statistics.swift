/// One stream's figures, from the wire to the screen or loudspeaker.
public struct StreamStatistics: Sendable, Hashable {
  /// The stream.
  public var stream: Track
  /// What it is coded in; nil before the first of another's pictures has come.
  public var codec: Codec?
  /// Set for own streams.
  public var outgoing: OutgoingStatistics?
  /// Set for own video.
  public var sentVideo: VideoSendStatistics?
  /// Set for own sound while it is processed.
  public var processing: AudioProcessingStatistics?
  /// Set for others' streams.
  public var incoming: IncomingStatistics?
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
  /// What the way in carries, in bit/s, as the room estimates it while it sends video; nil before.
  public var availableReceiveBitrate: Int?

  /// Creates statistics.
  public init(
    streams: [StreamStatistics] = [], roundTripTime: Double? = nil, availableBitrate: Int = 0,
    availableReceiveBitrate: Int? = nil
  ) {
    self.streams = streams
    self.roundTripTime = roundTripTime
    self.availableBitrate = availableBitrate
    self.availableReceiveBitrate = availableReceiveBitrate
  }
}
