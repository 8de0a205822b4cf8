package import KoineBase

/// Decodes the frames of one video stream. One owner; any thread, one at a time.
///
/// After an error the decoder lives on, and shows something sensible again from the next key frame.
package struct VideoDecoder: ~Copyable {
  package let codec: Codec
  private let library: VideoDecoderLibrary

  /// - Parameter pixelLimit: larger frames are an error, found before memory is spent on them where the stream says so.
  /// - Throws: `CodecError` of kind `invalidArgument` for an audio codec.
  package init(_ codec: Codec, threads: Int = 1, pixelLimit: Int = 8_192 * 4_320) throws(CodecError) {
    self.codec = codec
    library = try VideoDecoderLibrary(codec, threads: threads, pixelLimit: pixelLimit)
  }

  /// Decodes one coded frame.
  /// - Returns: nil for a frame that is not meant to be shown.
  package mutating func decode(
    _ data: UnsafeRawBufferPointer, captured: Tick, quarterTurns: UInt8 = 0, pool: FramePool
  ) throws(CodecError) -> VideoFrame? {
    try library.decode(data, captured: captured, quarterTurns: quarterTurns, pool: pool)
  }
}
