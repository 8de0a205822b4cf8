/// Ten milliseconds of sound at 48 kHz: 480 samples per channel, interleaved.
public struct AudioBlock: Sendable {
  /// Sample rate of all blocks, in Hz.
  public static let sampleRate = 48_000
  /// Samples per channel in a block.
  public static let length = 480
  /// Duration of a block: 10 ms.
  public static let duration = Duration.milliseconds(10)

  /// Number of channels: 1 or 2.
  public var channels: Int
  /// Interleaved samples, `channels * 480` of them. A caller that refills the same block allocates nothing as long as no other
  /// object keeps a copy of the block.
  public var samples: [Int16]
  /// When the first sample was taken.
  public var captured: Tick

  /// Creates a silent block.
  /// - Parameter channels: 1 or 2.
  public init(channels: Int = 1, captured: Tick) {
    self.channels = channels
    samples = [Int16](repeating: 0, count: channels * Self.length)
    self.captured = captured
  }
}

extension AudioBlock {
  /// Whether the block has 1 or 2 channels and `channels * 480` samples. A source may fill a block incorrectly.
  public var isWhole: Bool { (1...2).contains(channels) && samples.count == channels * Self.length }

  /// Converts the audio to one channel (the mean of both) or to two (both the same). A block that is not whole becomes
  /// silence.
  public func with(channels: Int) -> AudioBlock {
    guard channels != self.channels, (1...2).contains(channels) else { return self }
    var block = AudioBlock(channels: channels, captured: captured)
    guard isWhole else { return block }
    for index in 0..<Self.length {
      if channels == 1 {
        block.samples[index] = Int16((Int(samples[2 * index]) + Int(samples[2 * index + 1])) / 2)
      } else {
        (block.samples[2 * index], block.samples[2 * index + 1]) = (samples[index], samples[index])
      }
    }
    return block
  }
}

extension AudioBlock {
  /// The block with each sample multiplied by `gain`, 0 or more; samples beyond the range of 16 bits are clipped.
  public func amplified(by gain: Float) -> AudioBlock {
    var block = self
    for index in block.samples.indices {
      block.samples[index] = Int16(clamping: Int((Float(samples[index]) * gain).rounded()))
    }
    return block
  }
}
