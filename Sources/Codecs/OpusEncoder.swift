internal import CKoineOpus
package import KoineBase

/// Encodes 48 kHz sound into Opus packets (RFC 6716). One per outgoing stream, one owner.
///
/// Starts at 32 kbit/s per channel, complexity 5, in-band FEC off, DTX off.
package struct OpusEncoder: ~Copyable {
  package enum Application: Sendable {
    /// Speech, its low end kept: what `voip` filters out makes the sound less like the one that went in
    /// (correlation 0.99 against 0.96 for speech at 32 kbit/s). In-band FEC works as with `voip`.
    case voice
    /// Speech by libopus' own idea of a telephone, with an adaptive high-pass filter.
    case voip
    /// Music and mixed sound; in-band FEC only where the encoder happens to choose a mode that has it.
    case audio
  }

  /// No packet of one frame is larger (RFC 6716, 3.4, R5 and the length coding of 3.2.1).
  package static let maximumPacketSize = 1275 * 3 + 7

  private let raw: OpaquePointer
  package let channels: Int
  private var isDTXOn = false

  /// - Parameter channels: 1 or 2.
  package init(channels: Int = 1, application: Application = .voice) throws(CodecError) {
    guard channels == 1 || channels == 2 else { throw CodecError(.invalidArgument, "Opus with \(channels) channels") }
    var status: Int32 = 0
    let mode = application == .voip ? OPUS_APPLICATION_VOIP : OPUS_APPLICATION_AUDIO
    guard let raw = opus_encoder_create(48_000, Int32(channels), mode, &status) else { throw CodecError(opus: status) }
    self.raw = raw  // nothing may throw below this line
    self.channels = channels
    _ = koine_opus_encoder_set(raw, OPUS_SET_BITRATE_REQUEST, Int32(32_000 * channels))
    _ = koine_opus_encoder_set(raw, OPUS_SET_COMPLEXITY_REQUEST, 5)
    if application != .audio { _ = koine_opus_encoder_set(raw, OPUS_SET_SIGNAL_REQUEST, OPUS_SIGNAL_VOICE) }
  }

  deinit { opus_encoder_destroy(raw) }

  /// - Parameter rate: target in bit/s, clamped to 6,000...510,000.
  package mutating func setBitrate(_ rate: Int) { set(OPUS_SET_BITRATE_REQUEST, rate, 6_000...510_000) }

  /// Leaves out what a sampling rate of 16 kHz cannot hold: frequencies above 8 kHz (RFC 6716, table 1, wideband).
  package mutating func limitToWideband() {
    _ = koine_opus_encoder_set(raw, OPUS_SET_MAX_BANDWIDTH_REQUEST, OPUS_BANDWIDTH_WIDEBAND)
  }

  /// How many packets of a hundred get lost, as the receiver reports; steers how much FEC a packet carries.
  package mutating func setExpectedLoss(percent: Int) { set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, percent, 0...100) }

  /// In-band FEC: a packet also carries a coarse copy of the one before, once loss is expected (RFC 6716, 2.1.7).
  package mutating func setFEC(_ isOn: Bool) { set(OPUS_SET_INBAND_FEC_REQUEST, isOn ? 1 : 0, 0...1) }

  /// Discontinuous transmission: silence costs a packet every 400 ms only.
  package mutating func setDTX(_ isOn: Bool) {
    isDTXOn = isOn
    set(OPUS_SET_DTX_REQUEST, isOn ? 1 : 0, 0...1)
  }

  /// - Parameter complexity: 0 (cheapest)...10.
  package mutating func setComplexity(_ complexity: Int) { set(OPUS_SET_COMPLEXITY_REQUEST, complexity, 0...10) }

  /// Forgets all sound so far, as after a pause.
  package mutating func reset() { _ = koine_opus_encoder_reset(raw) }

  /// Encodes one packet and sets `packet.count`.
  /// - Parameter pcm: 2.5, 5, 10, 20, 40 or 60 ms of interleaved samples: 120...2,880 per channel.
  /// - Returns: false when DTX makes the packet unnecessary; `packet.count` is then 0.
  package mutating func encode(_ pcm: UnsafeBufferPointer<Int16>, into packet: Bytes) throws(CodecError) -> Bool {
    let length = pcm.count / channels
    guard let samples = pcm.baseAddress, length * channels == pcm.count, Self.lengths.contains(length) else {
      throw CodecError(.invalidArgument, "Opus packet of \(pcm.count) samples in \(channels) channels")
    }
    packet.count = 0
    let status = opus_encode(
      raw, samples, Int32(length), packet.base.assumingMemoryBound(to: UInt8.self),
      Int32(clamping: min(packet.capacity, Self.maximumPacketSize)))
    guard status > 0 else { throw CodecError(opus: status) }
    // opus_encode: "If the return value is 2 bytes or less, then the packet does not need to be transmitted (DTX)."
    if isDTXOn && status <= 2 { return false }
    packet.count = Int(status)
    return true
  }

  private static let lengths = [120, 240, 480, 960, 1920, 2880]

  /// The range makes every value one that libopus takes, so there is no error to report.
  private func set(_ request: Int32, _ value: Int, _ range: ClosedRange<Int>) {
    _ = koine_opus_encoder_set(raw, request, Int32(min(max(value, range.lowerBound), range.upperBound)))
  }
}

extension CodecError {
  init(opus status: Int32) {
    let kind: Kind =
      switch status {
      case OPUS_BAD_ARG: .invalidArgument
      case OPUS_INVALID_PACKET: .corruptInput
      case OPUS_BUFFER_TOO_SMALL: .noRoom
      case OPUS_UNIMPLEMENTED: .unsupported
      default: .failed
      }
    self.init(kind, String(cString: opus_strerror(status)))
  }
}
