internal import CKoineSpeexDSP

/// Changes the rate of interleaved sound. One per stream and direction, one owner.
package struct Resampler: ~Copyable {
  private let raw: OpaquePointer
  package let channels: Int

  /// - Parameters:
  ///   - inputRate, outputRate: in Hz, 1...768,000.
  ///   - channels: 1...8.
  ///   - quality: 0 (fastest)...10; 3 is meant for voice, its delay is about 1 ms at 48 kHz.
  package init(from inputRate: Int, to outputRate: Int, channels: Int = 1, quality: Int = 5) throws(CodecError) {
    let rates = 1...768_000
    guard rates.contains(inputRate), rates.contains(outputRate), (1...8).contains(channels) else {
      throw CodecError(.invalidArgument, "resampling \(inputRate) to \(outputRate) Hz in \(channels) channels")
    }
    var status: Int32 = 0
    guard
      let raw = speex_resampler_init(
        UInt32(channels), UInt32(inputRate), UInt32(outputRate), Int32(min(max(quality, 0), 10)), &status)
    else { throw CodecError(.failed, String(cString: speex_resampler_strerror(status))) }
    self.raw = raw
    self.channels = channels
    // Starts with sound instead of the filter's own silence, so that a file keeps its alignment.
    _ = speex_resampler_skip_zeros(raw)
  }

  deinit { speex_resampler_destroy(raw) }

  /// Follows a clock that drifts: the same stream goes on at slightly other rates, in Hz.
  package mutating func setRates(from inputRate: Int, to outputRate: Int) throws(CodecError) {
    let status = speex_resampler_set_rate(raw, UInt32(clamping: inputRate), UInt32(clamping: outputRate))
    guard status == 0 else { throw CodecError(.invalidArgument, String(cString: speex_resampler_strerror(status))) }
  }

  /// Takes as much of `input` as yields what fits into `output`.
  /// - Returns: samples per channel taken and written.
  package mutating func process(
    _ input: UnsafeBufferPointer<Int16>, into output: UnsafeMutableBufferPointer<Int16>
  ) -> (consumed: Int, produced: Int) {
    guard let source = input.baseAddress, let target = output.baseAddress else { return (0, 0) }
    var taken = UInt32(clamping: input.count / channels)
    var written = UInt32(clamping: output.count / channels)
    _ = speex_resampler_process_interleaved_int(raw, source, &taken, target, &written)
    return (Int(taken), Int(written))
  }

  /// Resamples all of `input` into a new array: for files and tests, where allocation does not matter.
  package mutating func process(_ input: [Int16]) -> [Int16] {
    var from: UInt32 = 1
    var to: UInt32 = 1
    speex_resampler_get_rate(raw, &from, &to)
    let capacity = (input.count / channels * Int(to) / Int(max(from, 1)) + 64) * channels
    return [Int16](unsafeUninitializedCapacity: capacity) { output, count in
      count = input.withUnsafeBufferPointer { process($0, into: output).produced } * channels
    }
  }
}
