/// The processing of a microphone's audio before it is encoded and sent.
public struct AudioProcessing: Hashable, Sendable {
  /// How much of a steady noise is taken away; more of it harms the voice more.
  public enum NoiseSuppression: Int, Hashable, Sendable, CaseIterable {
    /// Little suppression, least effect on the voice.
    case low
    /// The default.
    case moderate
    /// Strong suppression.
    case high
    /// The strongest suppression, which affects the voice most.
    case veryHigh
  }

  /// Takes away what the loudspeaker plays and the microphone hears.
  public var cancelsEcho: Bool
  /// Nil leaves noise as it is.
  public var noiseSuppression: NoiseSuppression?
  /// Brings the voice to an even level, digitally.
  public var controlsGain: Bool
  /// Removes direct current and frequencies below the voice (high-pass filter).
  public var removesLowFrequencies: Bool

  /// Creates settings. The default removes echo, noise and low frequencies.
  public init(
    cancelsEcho: Bool = true, noiseSuppression: NoiseSuppression? = .moderate, controlsGain: Bool = false,
    removesLowFrequencies: Bool = true
  ) {
    (self.cancelsEcho, self.noiseSuppression) = (cancelsEcho, noiseSuppression)
    (self.controlsGain, self.removesLowFrequencies) = (controlsGain, removesLowFrequencies)
  }

  /// Hears and changes nothing.
  public static let none = AudioProcessing(
    cancelsEcho: false, noiseSuppression: nil, controlsGain: false, removesLowFrequencies: false)
  /// For talk: everything.
  public static let voice = AudioProcessing(controlsGain: true)
}

/// What the processing measures. Figures that are unknown, yet or in these settings, are nil.
public struct AudioProcessingStatistics: Hashable, Sendable {
  /// In dB: how much weaker the echo is captured than it was rendered; averaged over the call.
  public var echoReturnLoss: Int?
  /// In dB: how much of the captured echo is taken away; averaged over the call.
  public var echoReturnLossEnhancement: Int?
  /// From when sound was rendered to when it was captured, as the canceller has found it in the last second.
  public var echoDelay: Duration?
  /// 0...1, of the last block. Known while noise is suppressed.
  public var voiceProbability: Double?
  /// Whether the last block held a voice.
  public var hasVoice = false

  /// Creates statistics without measurements.
  public init() {}
}
