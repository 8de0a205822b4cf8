/// Makes a piece of sound one pitch period shorter or longer without changing its pitch: waveform-similarity
/// overlap-add over the lag at which the sound resembles itself most.
struct TimeStretch {
  /// 2.5...10 ms: voices from 100 to 400 Hz.
  private static let lags = 120...480
  /// How many samples are looked at: every second one of two periods.
  private static let halves = lags.upperBound
  /// By how many samples per channel a piece becomes longer at most.
  static let longest = lags.upperBound

  let channels: Int
  private var samples = [Float](repeating: 0, count: halves)
  /// Sums of the squares of every second of these, from the first or the second on.
  private var squares = [Float](repeating: 0, count: halves)

  init(channels: Int) { self.channels = channels }

  /// - Returns: false when no lag fits: the sound would be damaged.
  mutating func shorten(_ pcm: inout [Int16]) -> Bool {
    let length = pcm.count / channels
    guard let lag = bestLag(pcm, length) else { return false }
    for index in 0..<lag * channels {
      pcm[index] = mix(pcm[index], pcm[index + lag * channels], index / channels, of: lag)
    }
    pcm.removeSubrange((lag * channels)..<(2 * lag * channels))
    return true
  }

  /// - Returns: false when no lag fits.
  mutating func lengthen(_ pcm: inout [Int16]) -> Bool {
    let length = pcm.count / channels
    guard let lag = bestLag(pcm, length) else { return false }
    // In place, so that nothing is allocated: all after the first period moves back by one, and the bridge takes its place.
    let (end, period) = (pcm.count, lag * channels)
    pcm.append(contentsOf: repeatElement(0, count: period))
    for index in (period..<end).reversed() { pcm[index + period] = pcm[index] }
    for index in 0..<period {
      pcm[index + period] = mix(pcm[index + 2 * period], pcm[index], index / channels, of: lag)
    }
    return true
  }

  /// Fades from `a` to `b`.
  private func mix(_ a: Int16, _ b: Int16, _ position: Int, of lag: Int) -> Int16 {
    Int16((Int(a) * (lag - position) + Int(b) * position) / lag)
  }

  /// The lag with the highest normalised correlation between the first `lag` samples and the next; any, in near silence.
  ///
  /// Every fourth sample is compared, at every second lag. Sums of squares are taken once for all lags. Pointers and plain loops: a
  /// machine that does not keep up shortens all its sound, and in a debug build iterators would take more time than the decoder.
  private mutating func bestLag(_ pcm: [Int16], _ length: Int) -> Int? {
    guard length >= 2 * Self.lags.upperBound else { return nil }
    return samples.withUnsafeMutableBufferPointer { samples in
      squares.withUnsafeMutableBufferPointer { squares -> Int? in
        guard let x = samples.baseAddress, let sums = squares.baseAddress else { return nil }
        var index = 0
        while index < Self.halves {
          let value = Float(pcm[2 * index * channels])
          x[index] = value
          sums[index] = (index < 2 ? 0 : sums[index - 2]) + value * value
          index += 1
        }
        if sums[Self.halves - 2] / Float(Self.halves / 2) < 100 * 100 { return 240 }
        var best = (lag: 0, correlation: Float(0))
        var lag = Self.lags.lowerBound / 2
        while lag <= Self.lags.upperBound / 2 {
          var (product, place) = (Float(0), 0)
          while place < lag {
            product += x[place] * x[place + lag]
            place += 2
          }
          // `place` is behind the last sample that was compared.
          let first = sums[place - 2], second = sums[place - 2 + lag] - (lag < 2 ? 0 : sums[lag - 2])
          let correlation = product / ((first + 1) * (second + 1)).squareRoot()
          if correlation > best.correlation { best = (2 * lag, correlation) }
          lag += 1
        }
        return best.correlation > 0.6 ? best.lag : nil
      }
    }
  }
}
