internal import Glibc

/// The level of a block of sound as RFC 6464 wants it: -127...0 dBov, 0 the loudest, -127 digital silence.
package func audioLevel(of pcm: UnsafeBufferPointer<Int16>) -> Int8 {
  guard !pcm.isEmpty else { return -127 }
  var sum: Int64 = 0  // 2^30 per sample at most: 2^33 samples fit
  for sample in pcm { sum &+= Int64(sample) &* Int64(sample) }
  guard sum > 0 else { return -127 }
  // RFC 6465, appendix A: 20 log10(rms / overload), where the overload point is the largest sample.
  let level = 10 * log10(Double(sum) / Double(pcm.count) / (32_767 * 32_767))
  return Int8(min(max(level.rounded(), -127), 0))
}

/// Level and voice activity of a talker, block by block: sound counts as voice while it stands clear of the room's own
/// noise, and for 200 ms after, so that the ends of words do not flicker.
package struct SpeechLevel: Sendable {
  package struct Measure: Sendable, Hashable {
    /// RFC 6464: -127...0 dBov.
    package var level: Int8
    package var isVoice: Bool
  }

  /// Follows the quiet moments: down at once, up by 1 dB in 500 ms of sound.
  private var floor = -60.0
  private var hangover = 0

  package init() {}

  /// - Parameters:
  ///   - pcm: interleaved 48 kHz sound, usually 10 or 20 ms.
  ///   - channels: of `pcm`.
  package mutating func measure(_ pcm: UnsafeBufferPointer<Int16>, channels: Int = 1) -> Measure {
    let level = audioLevel(of: pcm)
    let length = pcm.count / max(channels, 1)
    let value = Double(level)
    floor = value < floor ? max(value, -90) : min(floor + Double(length) / 24_000, -35)
    if value > max(floor + 9, -55) {
      hangover = 9_600
    } else {
      hangover = max(hangover - length, 0)
    }
    return Measure(level: level, isVoice: hangover > 0)
  }
}
