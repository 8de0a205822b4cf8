/// Makes a piece of sound one pitch period shorter or longer without changing its pitch: waveform-similarity
/// overlap-add over the lag at which the sound resembles itself most.
struct TimeStretch {
  /// 2.5...10 ms: voices from 100 to 400 Hz.
  private static let lags = 120...480
  private static let step = 4
  /// By how many samples per channel a piece becomes longer at most.
  static let longest = lags.upperBound

  let channels: Int

  /// - Returns: false when no lag fits: the sound would be damaged.
  func shorten(_ pcm: inout [Int16]) -> Bool {
    let length = pcm.count / channels
    guard let lag = bestLag(pcm, length) else { return false }
    for index in 0..<lag * channels {
      pcm[index] = mix(pcm[index], pcm[index + lag * channels], index / channels, of: lag)
    }
    pcm.removeSubrange((lag * channels)..<(2 * lag * channels))
    return true
  }

  /// - Returns: false when no lag fits.
  func lengthen(_ pcm: inout [Int16]) -> Bool {
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
  private func bestLag(_ pcm: [Int16], _ length: Int) -> Int? {
    guard length >= 2 * Self.lags.upperBound else { return nil }
    var best = (lag: 0, correlation: 0.0)
    var energy = 0.0
    for index in stride(from: 0, to: 960, by: Self.step) {
      let value = Double(pcm[index * channels])
      energy += value * value
    }
    if energy / Double(960 / Self.step) < 100 * 100 { return 240 }
    for lag in stride(from: Self.lags.lowerBound, through: Self.lags.upperBound, by: 2) {
      var product = 0.0
      var first = 1.0
      var second = 1.0
      for index in stride(from: 0, to: lag, by: Self.step) {
        let a = Double(pcm[index * channels])
        let b = Double(pcm[(index + lag) * channels])
        product += a * b
        first += a * a
        second += b * b
      }
      let correlation = product / (first * second).squareRoot()
      if correlation > best.correlation { best = (lag, correlation) }
    }
    return best.correlation > 0.6 ? best.lag : nil
  }
}
