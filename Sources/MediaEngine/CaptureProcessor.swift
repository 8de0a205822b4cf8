import KoineAudioProcessing
import KoineBase
import KoineCodecs

/// One microphone's processing, with the echo's reference. Touched on the send pipeline's lane only.
final class CaptureProcessor {
  private(set) var settings: AudioProcessing
  private var processor: AudioProcessor
  private let reference: EchoReference?
  private var rendered = [Int16](repeating: 0, count: AudioBlock.length)

  /// - Parameter reference: nil where nothing is played that could come back.
  init(_ settings: AudioProcessing, channels: Int, reference: EchoReference?) throws(AudioProcessingError) {
    self.settings = settings
    self.reference = reference
    processor = try AudioProcessor(settings, channels: channels, echoDelay: reference?.remainingDelay ?? .zero)
  }

  func set(_ settings: AudioProcessing) throws(AudioProcessingError) {
    try processor.set(settings)
    self.settings = settings
  }

  /// - Parameter samples: one block, changed in place; left as it is by an error.
  func process(
    _ samples: UnsafeMutableBufferPointer<Int16>, captured: Tick
  ) throws(AudioProcessingError) {
    if settings.cancelsEcho, let reference {
      let delay = reference.remainingDelay
      if delay != processor.echoDelay { try processor.setEchoDelay(delay) }
      reference.read(into: &rendered, captured: captured)
      try rendered.withUnsafeBufferPointer { block throws(AudioProcessingError) in try processor.processRender(block) }
    }
    try processor.processCapture(samples)
  }

  var statistics: AudioProcessingStatistics { processor.statistics }
}
