/// What keeps pictures from being as large and as many as they were asked for (W3C webrtc-stats, RTCQualityLimitationReason).
public enum VideoLimitation: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
  /// Nothing limits the video.
  case none
  /// The machine cannot encode more.
  case cpu
  /// The available bitrate is too low.
  case bandwidth
  /// Another reason.
  case other
}

/// What became of a camera's pictures, since publishing began.
public struct VideoSendStatistics: Sendable, Hashable, Codable {
  /// Frames captured.
  public var captured = 0
  /// Frames encoded in the largest layer that a receiver wants.
  public var encoded = 0
  /// Frames of the largest wanted layer encoded in the last second.
  public var framesPerSecond = 0.0
  /// In all layers.
  public var keyFrames = 0
  /// Overtaken by a newer frame before the encoder got to them.
  public var dropped = 0
  /// Frames that could not be encoded.
  public var failed = 0
  /// Width of the largest wanted layer, in pixels.
  public var width = 0
  /// Height of the largest wanted layer, in pixels.
  public var height = 0
  /// How often that size became another.
  public var sizeChanges = 0
  /// What keeps the pictures from being as large and as many as they were asked for.
  public var limitation = VideoLimitation.none
  /// For how long each did, in seconds; they add up to the time since publishing began.
  public var limitedFor: [VideoLimitation: Double] = [:]
  /// By simulcast layer, the smallest first; one for a stream without simulcast.
  public var layers: [VideoLayerSendStatistics] = []

  /// Creates counters of zero.
  public init() {}
}

/// What became of a camera's pictures in one simulcast layer, since publishing began.
public struct VideoLayerSendStatistics: Sendable, Hashable, Codable {
  /// Whether at least one receiver wants the layer.
  public var isActive = true
  /// Frames encoded.
  public var encoded = 0
  /// Key frames encoded.
  public var keyFrames = 0
  /// Frames encoded in the last second.
  public var framesPerSecond = 0.0
  /// Width of the newest frame, in pixels.
  public var width = 0
  /// Height of the newest frame, in pixels.
  public var height = 0
  /// How often the size became another.
  public var sizeChanges = 0
  /// Bytes encoded.
  public var bytes = 0
  /// What the encoder was asked to make of these frames, in bytes: bitrate by frame rate.
  public var targetBytes = 0
  /// Frames of at least 2.5 times the average size before them (W3C webrtc-stats, `hugeFramesSent`).
  public var hugeFrames = 0
  /// The sum over all frames of the time in the encoder, in seconds of wall-clock time; zero where nothing is coded.
  public var encodeTime = 0.0

  /// Creates counters of zero.
  public init() {}
}

/// What became of a received video stream, since it began.
public struct VideoReceiveStatistics: Sendable, Hashable, Codable {
  /// Whole frames that arrived.
  public var received = 0
  /// Frames decoded.
  public var decoded = 0
  /// Key frames decoded.
  public var decodedKeyFrames = 0
  /// The sum over all frames of the time from passing a frame to the decoder until the decoder returns it, in seconds of
  /// wall-clock time, as the W3C defines `totalDecodeTime`. It also grows with other load of the machine.
  public var decodeTime = 0.0
  /// What the processor did in that time for the decoder, in seconds.
  public var decodeCPU = 0.0
  /// Frames delivered to sinks.
  public var rendered = 0
  /// Frames that could not be decoded, or were given up because too many waited.
  public var dropped = 0
  /// Times without a new picture, longer than three frames and 150 ms more than one.
  public var freezes = 0
  /// All of them together, each from picture to picture, in milliseconds.
  public var frozen = 0.0
  /// Times without a new picture for over 5 s, for whatever reason (W3C webrtc-stats, `pauseCount`).
  public var pauses = 0
  /// All pauses together, each from picture to picture, in milliseconds.
  public var paused = 0.0
  /// The sum over all decoded frames of the time from arrival to the decoder, in seconds.
  public var bufferTime = 0.0
  /// The longest time between two pictures, in milliseconds; pauses by muting left aside.
  public var longestGap = 0.0
  /// Width of the newest frame, in pixels.
  public var width = 0
  /// Height of the newest frame, in pixels.
  public var height = 0
  /// Frames delivered in the last second.
  public var framesPerSecond = 0.0
  /// From capture to rendering, in milliseconds: the median and the 95th percentile; ``latencyLimit`` stands for all that is
  /// longer.
  public var latencyMedian = 0.0
  /// Latency from capture to rendering that 95 % of the frames stay below, in milliseconds; at most ``latencyLimit``.
  public var latency95 = 0.0
  /// The end of the scale of latencies, in milliseconds.
  public static let latencyLimit = 2_000.0

  /// Creates counters of zero.
  public init() {}
}

/// What became of received sound, since it began.
public struct AudioReceiveStatistics: Sendable, Hashable, Codable {
  /// Packets received.
  public var packets = 0
  /// Came after their turn.
  public var late = 0
  /// Samples per channel handed out for playback. Silence before the first packet and during pauses of the sender does not
  /// count.
  public var samples = 0
  /// Samples per channel that replace lost ones.
  public var concealed = 0
  /// Stretches of them.
  public var concealments = 0
  /// Recovered from the coarse copy in the next packet.
  public var corrected = 0
  /// Left out to catch up.
  public var accelerated = 0
  /// Put in to wait.
  public var stretched = 0
  /// How long sound waits before it is played, in milliseconds.
  public var bufferDelay = 0.0
  /// The sum over all decoded samples of the time from arrival to the decoder, in seconds.
  public var bufferTime = 0.0
  /// Samples that `bufferTime` counts.
  public var bufferedSamples = 0
  /// Level of the newest packet (RFC 6464), in dBov, -127...0; nil where senders do not say.
  public var level: Int?

  /// Creates counters of zero.
  public init() {}

  /// 0...1.
  public var concealedFraction: Double { samples > 0 ? Double(concealed) / Double(samples) : 0 }
}
