import Foundation
import Koine

/// Measures the loudness of each tenth of a second.
final class AudioMeter: AudioSink, @unchecked Sendable {  // `sum` is a lock, `callback` runs on one queue
  /// In dBFS, −100...0.
  struct Levels {
    let peak, rms: Double
  }

  private struct Sum {
    var squares = 0.0
    var peak = 0
    var samples = 0
    var blocks = 0
    var isOver = false
  }

  private let delivery: Delivery
  private let callback: (Levels) -> Void
  private let sum = Lock(Sum())

  /// - Parameter callback: called on the delivery queue, until `stop`.
  init(delivery: Delivery, callback: @escaping (Levels) -> Void) {
    self.delivery = delivery
    self.callback = callback
  }

  func stop() { sum.withLock { $0.isOver = true } }

  func play(_ block: AudioBlock) {
    let whole = sum.withLock { sum -> Sum? in
      for sample in block.samples {
        sum.squares += Double(sample) * Double(sample)
        sum.peak = max(sum.peak, Int(sample.magnitude))
      }
      sum.samples += block.samples.count
      sum.blocks += 1
      guard sum.blocks == 10, !sum.isOver else { return nil }
      defer { sum = Sum() }
      return sum
    }
    guard let whole else { return }
    let rms = (whole.squares / Double(max(whole.samples, 1))).squareRoot()
    let levels = Levels(peak: Self.decibels(Double(whole.peak)), rms: Self.decibels(rms))
    delivery.deliver { [weak self] in
      guard let self, !sum.withLock({ $0.isOver }) else { return }
      callback(levels)
    }
  }

  private static func decibels(_ amplitude: Double) -> Double {
    amplitude > 0 ? min(max(20 * log10(amplitude / 32_768), -100), 0) : -100
  }
}
