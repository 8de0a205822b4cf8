import KoineCoreVideo

// How linear PCM lies in memory, and its samples as the engine wants them.

extension AudioStreamBasicDescription {
  /// Number of planes: 1 if the channels are interleaved.
  var planes: Int { isInterleaved ? 1 : max(1, Int(mChannelsPerFrame)) }

  /// Of a number of samples per channel, in all planes.
  func byteCount(_ samples: Int) -> Int {
    let (bytes, isTooLarge) = (Int(mBytesPerFrame) * planes).multipliedReportingOverflow(by: samples)
    return isTooLarge ? .max : bytes
  }

  fileprivate enum Encoding { case int16, int32, float32 }

  /// Nil for samples that cannot be read here.
  fileprivate var encoding: Encoding? {
    guard mFormatID == kAudioFormatLinearPCM, (1...8).contains(mChannelsPerFrame) else { return nil }
    let isFloat = mFormatFlags & kAudioFormatFlagIsFloat != 0
    let isInteger = mFormatFlags & kAudioFormatFlagIsSignedInteger != 0
    let encoding: Encoding
    switch (mBitsPerChannel, isFloat, isInteger) {
    case (16, false, true): encoding = .int16
    case (32, false, true): encoding = .int32
    case (32, true, _): encoding = .float32
    default: return nil
    }
    let inFrame = isInterleaved ? mChannelsPerFrame : 1
    return mBytesPerFrame == inFrame * mBitsPerChannel / 8 ? encoding : nil
  }
}

extension CMSampleBuffer {
  /// The first two channels, in turns; of one, the same in both. Koine's own.
  /// - Returns: nil if this is no audio, its data is not set, or its samples are not 16-bit or 32-bit integers or 32-bit floats.
  public func stereoSamples() -> [Int16]? {
    guard let audio = formatDescription?.audioStreamBasicDescription, let encoding = audio.encoding,
      let dataBuffer, dataBuffer.dataLength >= audio.byteCount(numSamples)
    else { return nil }
    let size = Int(audio.mBitsPerChannel) / 8
    let isBigEndian = audio.mFormatFlags & kAudioFormatFlagIsBigEndian != 0
    let (step, ahead) =
      audio.isInterleaved ? (Int(audio.mBytesPerFrame), size) : (size, size * numSamples)
    let sides = [0, audio.mChannelsPerFrame > 1 ? ahead : 0]
    var samples: [Int16] = []
    samples.reserveCapacity(2 * numSamples)
    for index in 0..<numSamples {
      for side in sides {
        samples.append(Self.sample(UnsafeRawPointer(dataBuffer.base + side + index * step), encoding, isBigEndian))
      }
    }
    return samples
  }

  private static func sample(
    _ from: UnsafeRawPointer, _ encoding: AudioStreamBasicDescription.Encoding, _ isBigEndian: Bool
  ) -> Int16 {
    switch encoding {
    case .int16:
      let bits = from.loadUnaligned(as: UInt16.self)
      return Int16(bitPattern: isBigEndian ? UInt16(bigEndian: bits) : UInt16(littleEndian: bits))
    case .int32:
      let bits = from.loadUnaligned(as: UInt32.self)
      return Int16(truncatingIfNeeded: Int32(bitPattern: isBigEndian ? UInt32(bigEndian: bits) : bits) >> 16)
    case .float32:
      let bits = from.loadUnaligned(as: UInt32.self)
      let value = Float(bitPattern: isBigEndian ? UInt32(bigEndian: bits) : bits) * 32_767
      return Int16(clamping: value.isFinite ? Int(min(max(value, -40_000), 40_000)) : 0)
    }
  }
}

extension CMSampleBuffer {
  /// Audio of 16-bit samples. Koine's own.
  /// - Parameters:
  ///   - samples: interleaved.
  ///   - rate: in Hz.
  public convenience init?(
    samples: [Int16], channels: Int, rate: Double, presentationTimeStamp: CMTime
  ) {
    guard (1...8).contains(channels), rate > 0, rate.isFinite, !samples.isEmpty, samples.count % channels == 0 else {
      return nil
    }
    let frame = UInt32(2 * channels)
    let description = CMFormatDescription(
      audio: AudioStreamBasicDescription(
        mSampleRate: rate, mFormatID: kAudioFormatLinearPCM,
        mFormatFlags: kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked, mBytesPerPacket: frame,
        mFramesPerPacket: 1, mBytesPerFrame: frame, mChannelsPerFrame: UInt32(channels), mBitsPerChannel: 16,
        mReserved: 0))
    let data = CMBlockBuffer(length: 2 * samples.count)
    samples.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress { data.base.copyMemory(from: start, byteCount: bytes.count) }
    }
    self.init(
      imageBuffer: nil, dataBuffer: data, description,
      CMSampleTimingInfo(
        duration: CMTime(value: 1, timescale: Int32(clamping: Int(rate))),
        presentationTimeStamp: presentationTimeStamp, decodeTimeStamp: .invalid), count: samples.count / channels)
  }
}
