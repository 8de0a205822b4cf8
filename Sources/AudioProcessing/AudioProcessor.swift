internal import CKoineAudioProcessing
package import KoineMedia

/// Removes echo and noise from one microphone's audio and evens its level: 48 kHz, 10 ms at a time, with WebRTC's own audio
/// processing module. One per outgoing stream, one owner.
///
/// For echo cancellation the owner passes each rendered block before the captured block that may contain its echo, one for one.
/// No memory is allocated per block.
package struct AudioProcessor: ~Copyable {
  /// Samples per channel in a block.
  package static let blockLength = 480

  private let raw: OpaquePointer
  package let channels: Int
  package let renderChannels: Int
  private var settings: AudioProcessing
  package private(set) var echoDelay: Duration

  /// - Parameters:
  ///   - channels: captured, 1 or 2.
  ///   - renderChannels: of the echo's reference, 1 or 2.
  ///   - echoDelay: from when a block is given to `processRender` to when its echo is in what `processCapture` is given.
  ///     Taken between 0 and 500 ms; it is where the canceller begins to look, and need not be exact.
  package init(
    _ settings: AudioProcessing, channels: Int = 1, renderChannels: Int = 1, echoDelay: Duration = .zero
  ) throws(AudioProcessingError) {
    guard (1...2).contains(channels), (1...2).contains(renderChannels) else {
      throw AudioProcessingError(.wrongSize, "\(channels) channels captured, \(renderChannels) rendered")
    }
    var raw = Self.rawSettings(settings, echoDelay)
    guard let processor = koine_audio_processor_create(Int32(channels), Int32(renderChannels), &raw) else {
      throw AudioProcessingError(.failed, "creating a processor")
    }
    self.raw = processor
    (self.channels, self.renderChannels) = (channels, renderChannels)
    (self.settings, self.echoDelay) = (settings, echoDelay)
  }

  deinit { koine_audio_processor_destroy(raw) }

  /// Switches parts on and off; those that stay keep what they have learnt. May allocate.
  package mutating func set(_ settings: AudioProcessing) throws(AudioProcessingError) {
    self.settings = settings
    try configure()
  }

  /// Another device, perhaps.
  package mutating func setEchoDelay(_ delay: Duration) throws(AudioProcessingError) {
    echoDelay = delay
    try configure()
  }

  /// - Parameter samples: what the loudspeaker is given, 480 for each channel.
  package mutating func processRender(_ samples: UnsafeBufferPointer<Int16>) throws(AudioProcessingError) {
    guard samples.count == Self.blockLength * renderChannels, let base = samples.baseAddress else {
      throw AudioProcessingError(.wrongSize, "\(samples.count) samples rendered")
    }
    try Self.check(koine_audio_processor_render(raw, base), "the rendered sound")
  }

  /// - Parameter samples: what the microphone gives, 480 for each channel; changed in place, and left alone by an error.
  package mutating func processCapture(_ samples: UnsafeMutableBufferPointer<Int16>) throws(AudioProcessingError) {
    guard samples.count == Self.blockLength * channels, let base = samples.baseAddress else {
      throw AudioProcessingError(.wrongSize, "\(samples.count) samples captured")
    }
    try Self.check(koine_audio_processor_capture(raw, base), "the captured sound")
  }

  package var statistics: AudioProcessingStatistics {
    var figures = koine_audio_processing_statistics()
    koine_audio_processor_statistics(raw, &figures)
    var statistics = AudioProcessingStatistics()
    if figures.has_echo_metrics != 0 {
      statistics.echoReturnLoss = Int(figures.echo_return_loss)
      statistics.echoReturnLossEnhancement = Int(figures.echo_return_loss_enhancement)
    }
    if figures.echo_delay_ms >= 0 { statistics.echoDelay = .milliseconds(Int(figures.echo_delay_ms)) }
    if figures.speech_probability >= 0 { statistics.voiceProbability = Double(figures.speech_probability) }
    statistics.hasVoice = figures.has_voice != 0
    return statistics
  }

  private mutating func configure() throws(AudioProcessingError) {
    var changed = Self.rawSettings(settings, echoDelay)
    try Self.check(koine_audio_processor_configure(raw, &changed), "new settings")
  }

  private static func rawSettings(_ settings: AudioProcessing, _ delay: Duration) -> koine_audio_processing_settings {
    let milliseconds = min(max(delay, .zero), .milliseconds(500)) / .milliseconds(1)
    return koine_audio_processing_settings(
      echo_cancellation: settings.cancelsEcho ? 1 : 0, gain_control: settings.controlsGain ? 1 : 0,
      high_pass: settings.removesLowFrequencies ? 1 : 0, voice_detection: settings == .none ? 0 : 1,
      noise_suppression: Int32(settings.noiseSuppression?.rawValue ?? -1), echo_delay_ms: Int32(milliseconds))
  }

  private static func check(_ status: Int32, _ what: String) throws(AudioProcessingError) {
    guard status == 0 else { throw AudioProcessingError(.failed, "\(what): error \(status)") }
  }
}
