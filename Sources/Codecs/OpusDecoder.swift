internal import CKoineOpus
package import KoineMedia

/// Decodes Opus packets to 48 kHz sound, and makes up for those that are lost. One per incoming stream, one owner.
///
/// Every buffer holds interleaved samples, every count is samples per channel. Calls come in the order of the sound:
/// for a lost packet, either `decodeFEC` with the packet after it or `conceal`, and then that packet's own `decode`.
package struct OpusDecoder: ~Copyable {
  /// A packet's sound begins so long before the time that the packet bears: libopus looks so far ahead (312 samples;
  /// RFC 7845, 4.2, "pre-skip").
  package static let delay = Duration.microseconds(6_500)
  package static let delayInSamples: Int32 = 312
  /// The longest packet there is: 120 ms (RFC 6716, 3.2.5).
  package static let maximumLength = 5_760

  private let raw: OpaquePointer
  package let channels: Int

  /// - Parameter channels: of the output, 1 or 2; packets of either kind are decoded to it.
  package init(channels: Int = 1) throws(CodecError) {
    guard channels == 1 || channels == 2 else { throw CodecError(.invalidArgument, "Opus with \(channels) channels") }
    var status: Int32 = 0
    guard let raw = opus_decoder_create(48_000, Int32(channels), &status) else { throw CodecError(opus: status) }
    self.raw = raw  // nothing may throw below this line
    self.channels = channels
  }

  deinit { opus_decoder_destroy(raw) }

  /// Decodes one packet.
  /// - Returns: samples per channel written.
  package mutating func decode(
    _ packet: UnsafeRawBufferPointer, into pcm: UnsafeMutableBufferPointer<Int16>
  ) throws(CodecError) -> Int {
    guard !packet.isEmpty else { throw CodecError(.corruptInput, "empty packet") }
    return try run(packet, length: pcm.count / channels, fec: false, into: pcm)
  }

  /// Makes up sound for a packet that is lost.
  /// - Parameter samples: per channel; rounded down to a multiple of 2.5 ms (120), at most 120 ms.
  /// - Returns: samples per channel written.
  package mutating func conceal(
    samples: Int, into pcm: UnsafeMutableBufferPointer<Int16>
  ) throws(CodecError) -> Int {
    try run(UnsafeRawBufferPointer(start: nil, count: 0), length: samples, fec: false, into: pcm)
  }

  /// Recovers a lost packet from the coarse copy that the next one carries; conceals where it carries none.
  /// - Parameters: nextPacket: the packet right after the lost one; samples: length of the lost packet per channel.
  /// - Returns: samples per channel written.
  package mutating func decodeFEC(
    _ nextPacket: UnsafeRawBufferPointer, samples: Int, into pcm: UnsafeMutableBufferPointer<Int16>
  ) throws(CodecError) -> Int {
    guard !nextPacket.isEmpty else { throw CodecError(.corruptInput, "empty packet") }
    return try run(nextPacket, length: samples, fec: true, into: pcm)
  }

  /// Forgets all sound so far, as before a new stream.
  package mutating func reset() { _ = koine_opus_decoder_reset(raw) }

  /// Samples per channel that a packet holds, at 48 kHz; nil if it is no Opus packet.
  package static func sampleCount(of packet: UnsafeRawBufferPointer) -> Int? {
    guard let start = packet.baseAddress, !packet.isEmpty, let count = Int32(exactly: packet.count) else { return nil }
    let samples = opus_packet_get_nb_samples(start.assumingMemoryBound(to: UInt8.self), count, 48_000)
    return samples > 0 ? Int(samples) : nil
  }

  private func run(
    _ packet: UnsafeRawBufferPointer, length: Int, fec: Bool, into pcm: UnsafeMutableBufferPointer<Int16>
  ) throws(CodecError) -> Int {
    var length = min(length, pcm.count / channels, Self.maximumLength)
    if packet.isEmpty || fec { length -= length % 120 }
    guard length > 0, let out = pcm.baseAddress else { throw CodecError(.noRoom, "\(pcm.count) samples") }
    let status = opus_decode(
      raw, packet.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(clamping: packet.count), out, Int32(length),
      fec ? 1 : 0)
    guard status >= 0 else { throw CodecError(opus: status) }
    return Int(status)
  }
}
