package import KoineBase

/// How pictures are to be encoded for a call: one pass, no look-ahead, constant bitrate.
package struct VideoEncoderSettings: Sendable, Hashable {
  /// A video codec.
  package var codec: Codec
  /// 1...16,383 each. A frame of another size is refused; see `VideoEncoder.resize`.
  package var width, height: Int
  /// Nominal; the rate control follows the capture times of the frames.
  package var framesPerSecond: Double
  /// Target in bit/s.
  package var bitrate: Int
  /// A key frame every so many frames; nil: the first frame and on request only.
  package var keyFrameInterval: Int?
  /// 1...3. The frame rate halves with each upper layer that is dropped.
  package var temporalLayers: Int
  package var threads: Int
  /// One of the codec's `encoderSpeeds`.
  package var speed: Int
  /// Frames decode, if not well, after a loss: probabilities are not carried over. Always on above one temporal layer.
  package var errorResilient: Bool
  package var screenContent: Bool
  /// The encoder may leave frames out to keep the bitrate. Off, the quantizer alone keeps it.
  package var mayDropFrames: Bool

  package init(
    codec: Codec = .vp8, width: Int = 640, height: Int = 360, framesPerSecond: Double = 30,
    bitrate: Int = 1_000_000, keyFrameInterval: Int? = nil, temporalLayers: Int = 1, threads: Int = 1,
    speed: Int? = nil, errorResilient: Bool = false, screenContent: Bool = false, mayDropFrames: Bool = false
  ) {
    self.codec = codec
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.bitrate = bitrate
    self.keyFrameInterval = keyFrameInterval
    self.temporalLayers = temporalLayers
    self.threads = threads
    self.speed = speed ?? codec.encoderSpeeds?.usual ?? 0
    self.errorResilient = errorResilient
    self.screenContent = screenContent
    self.mayDropFrames = mayDropFrames
  }

  func check() throws(CodecError) {
    let sizes = 1...16_383  // what the 14 bits of a VP8 key frame hold (RFC 6386, 9.1)
    guard sizes.contains(width), sizes.contains(height) else {
      throw CodecError(.invalidArgument, "pictures of \(width)×\(height)")
    }
    guard framesPerSecond > 0, framesPerSecond <= 1000 else {
      throw CodecError(.invalidArgument, "\(framesPerSecond) frames a second")
    }
    guard bitrate > 0, bitrate <= 1_000_000_000 else { throw CodecError(.invalidArgument, "\(bitrate) bit/s") }
    guard (1...3).contains(temporalLayers) else {
      throw CodecError(.invalidArgument, "\(temporalLayers) temporal layers")
    }
    guard let speeds = codec.encoderSpeeds else {
      throw CodecError(.invalidArgument, "\(codec.rawValue) is not a video codec")
    }
    guard (1...64).contains(threads), speeds.allowed.contains(speed) else {
      throw CodecError(.invalidArgument, "\(threads) threads, speed \(speed)")
    }
    if let keyFrameInterval, keyFrameInterval < 1 {
      throw CodecError(.invalidArgument, "a key frame every \(keyFrameInterval) frames")
    }
  }
}
