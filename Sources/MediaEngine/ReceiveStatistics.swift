/// What became of a received video stream, since it began.
public struct VideoReceiveStatistics: Sendable, Hashable, Codable {
  /// Whole frames that arrived.
  public var received = 0
  public var decoded = 0
  public var decodedKeyFrames = 0
  /// From giving the decoder a frame until it has given the picture, all frames together, in seconds of the clock on the wall,
  /// as the W3C has it: it grows with whatever else the machine is busy with.
  public var decodeTime = 0.0
  /// What the processor did in that time for the decoder, in seconds.
  public var decodeCPU = 0.0
  public var rendered = 0
  /// Frames that could not be decoded, or were given up because too many waited.
  public var dropped = 0
  /// Times without a new picture, longer than three frames and 150 ms more than one.
  public var freezes = 0
  /// All of them together, each from picture to picture, in milliseconds.
  public var frozen = 0.0
  /// The longest time between two pictures, in milliseconds; pauses by muting left aside.
  public var longestGap = 0.0
  public var width = 0
  public var height = 0
  /// Of the last second.
  public var framesPerSecond = 0.0
  /// From capture to rendering, in milliseconds: the median and the 95th percentile; ``latencyLimit`` stands for all that is
  /// longer.
  public var latencyMedian = 0.0
  public var latency95 = 0.0
  /// The end of the scale of latencies, in milliseconds.
  public static let latencyLimit = Double(LatencyHistogram.limit)

  public init() {}
}

/// What became of received sound, since it began.
public struct AudioReceiveStatistics: Sendable, Hashable, Codable {
  public var packets = 0
  /// Came after their turn.
  public var late = 0
  /// Samples per channel handed out, silence before the first packet and while nobody sends left aside.
  public var samples = 0
  /// Of those, made up because nothing was there.
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

  public init() {}

  /// 0...1.
  public var concealedFraction: Double { samples > 0 ? Double(concealed) / Double(samples) : 0 }
}

/// Counts how long things took, in steps of 1 ms up to 2 s.
struct LatencyHistogram {
  static let limit = 2_000
  private var counts = [Int](repeating: 0, count: limit + 1)
  private var total = 0

  mutating func add(milliseconds: Double) {
    counts[Int(min(max(milliseconds, 0), Double(Self.limit)))] += 1
    total += 1
  }

  /// The value that `fraction` of all are at or below; the limit where it is longer.
  func quantile(_ fraction: Double) -> Double {
    guard total > 0 else { return 0 }
    let rank = Int((Double(total) * fraction).rounded(.up))
    var seen = 0
    for (value, count) in counts.enumerated() {
      seen += count
      if seen >= rank { return min(Double(value) + 0.5, Double(Self.limit)) }
    }
    return Double(Self.limit)
  }
}
