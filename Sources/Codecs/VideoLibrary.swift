package import KoineBase

// Which library encodes and decodes a video codec: the only place of this module that lists all codecs.

/// An encoder of the library that implements the codec.
enum VideoEncoderLibrary: ~Copyable {
  case vpx(VPXEncoder)

  init(_ settings: VideoEncoderSettings, _ pattern: TemporalPattern) throws(CodecError) {
    switch settings.codec {
    case .opus: throw CodecError(notVideo: settings.codec)
    case .vp8: self = .vpx(try VPXEncoder(.vp8, settings, pattern))
    case .vp9: self = .vpx(try VPXEncoder(.vp9, settings, pattern))
    }
  }

  /// Takes over the rates of `settings` for frames of the same size.
  func apply(_ settings: VideoEncoderSettings, _ pattern: TemporalPattern) throws(CodecError) {
    switch self {
    case .vpx(let encoder): try encoder.apply(settings, pattern)
    }
  }

  func encode(
    _ frame: VideoFrame, at time: EncoderClock.Time, step: TemporalPattern.Step, isKey: Bool,
    into blocks: inout CodedBlocks
  ) throws(CodecError) -> CodedPicture? {
    switch self {
    case .vpx(let encoder): try encoder.encode(frame, at: time, step: step, isKey: isKey, into: &blocks)
    }
  }
}

/// A decoder of the library that implements the codec.
enum VideoDecoderLibrary {
  case vpx(VPXDecoder)

  init(_ codec: Codec, threads: Int, pixelLimit: Int) throws(CodecError) {
    switch codec {
    case .opus: throw CodecError(notVideo: codec)
    case .vp8: self = .vpx(try VPXDecoder(.vp8, threads: threads, pixelLimit: pixelLimit))
    case .vp9: self = .vpx(try VPXDecoder(.vp9, threads: threads, pixelLimit: pixelLimit))
    }
  }

  func decode(
    _ data: UnsafeRawBufferPointer, captured: Tick, quarterTurns: UInt8, pool: FramePool
  ) throws(CodecError) -> VideoFrame? {
    switch self {
    case .vpx(let decoder): try decoder.decode(data, captured: captured, quarterTurns: quarterTurns, pool: pool)
    }
  }
}

extension Codec {
  /// The speeds of its video encoder; nil for audio.
  package var encoderSpeeds: EncoderSpeeds? {
    switch self {
    case .opus: nil
    case .vp8: VPXCodec.vp8.speeds
    case .vp9: VPXCodec.vp9.speeds
    }
  }

  /// The size that a coded key frame names in its first bytes, in pixels; nil for audio and where the bytes name none.
  package func size(ofKeyFrame frame: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    switch self {
    case .opus: nil
    case .vp8: VPXCodec.vp8.size(ofKeyFrame: frame)
    case .vp9: VPXCodec.vp9.size(ofKeyFrame: frame)
    }
  }
}

/// How much work a video encoder puts into a frame, as its library counts it: more is faster.
package struct EncoderSpeeds: Hashable, Sendable {
  package var allowed: ClosedRange<Int>
  /// What suits a call between people.
  package var usual: Int
  /// The least work that the encoder can do.
  package var fastest: Int
}

extension CodecError {
  fileprivate init(notVideo codec: Codec) { self.init(.invalidArgument, "\(codec.rawValue) is not a video codec") }
}
