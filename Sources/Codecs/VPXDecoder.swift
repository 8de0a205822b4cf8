internal import CKoineVPX
internal import CKoineYUV
internal import KoineBase

/// Owns one libvpx decoder. A class, because it is changed in place inside `VideoDecoderLibrary`; it has one owner.
final class VPXDecoder {
  private let kind: VPXCodec
  private let raw: UnsafeMutablePointer<vpx_codec_ctx_t>
  private let pixelLimit: Int
  /// A VP9 picture with an index behind it.
  private var indexed: [UInt8] = []

  init(_ kind: VPXCodec, threads: Int, pixelLimit: Int) throws(CodecError) {
    let raw = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    raw.initialize(to: vpx_codec_ctx_t())
    var config = vpx_codec_dec_cfg_t(threads: UInt32(min(max(threads, 1), 64)), w: 0, h: 0)
    let status = koine_vpx_decoder_open(raw, kind.decoder, &config)
    guard status == VPX_CODEC_OK else {
      let error = CodecError(vpx: status, raw)
      raw.deallocate()
      throw error
    }
    (self.kind, self.raw, self.pixelLimit) = (kind, raw, pixelLimit)
  }

  deinit {
    vpx_codec_destroy(raw)
    raw.deallocate()
  }

  func decode(
    _ data: UnsafeRawBufferPointer, captured: Tick, quarterTurns: UInt8, pool: FramePool
  ) throws(CodecError) -> VideoFrame? {
    guard (1...Self.byteLimit).contains(data.count) else { throw CodecError(.corruptInput, "\(data.count) bytes") }
    let status =
      switch kind {
      case .vp8: try decodeVP8(data)
      case .vp9: try decodeVP9(data)
      }
    // Also after an error: what the decoder holds must be taken, or the next call would give it as its own.
    let frame = try newest(captured, quarterTurns, pool, isValid: status == VPX_CODEC_OK)
    guard status == VPX_CODEC_OK else { throw CodecError(vpx: status, raw) }
    return frame
  }

  private static let byteLimit = 1 << 30

  /// Refuses key frames of senseless size before the decoder allocates for them; other frames have the size of the last.
  private func decodeVP8(_ data: UnsafeRawBufferPointer) throws(CodecError) -> vpx_codec_err_t {
    let bytes = data.bindMemory(to: UInt8.self)
    var info = vpx_codec_stream_info_t()
    info.sz = UInt32(MemoryLayout<vpx_codec_stream_info_t>.size)
    let status = vpx_codec_peek_stream_info(kind.decoder, bytes.baseAddress, UInt32(bytes.count), &info)
    // The decoder itself reports errors in all other frames.
    if status == VPX_CODEC_OK, info.is_kf != 0 { try check(Int(info.w), Int(info.h)) }
    return Self.decode(data, raw)
  }

  /// Refuses VP9 frames of senseless size before the decoder allocates for them. In VP9 every frame can change the size, and
  /// a superframe holds several frames. Without an index libvpx would also decode data behind the first frame, and the header
  /// of that data has not been checked. Such data therefore gets an index with one entry for the first frame.
  private func decodeVP9(_ data: UnsafeRawBufferPointer) throws(CodecError) -> vpx_codec_err_t {
    guard let (ranges, hasIndex) = VP9Header.frames(of: data) else {
      throw CodecError(.corruptInput, "an index of frames that are not there")
    }
    for range in ranges {
      switch VP9Header.size(of: UnsafeRawBufferPointer(rebasing: data[range])) {
      case .own(let width, let height): try check(width, height)
      case .known: break
      case nil: throw CodecError(.corruptInput, "no VP9 frame")
      }
    }
    guard !hasIndex else { return Self.decode(data, raw) }
    indexed.removeAll(keepingCapacity: true)
    indexed.append(contentsOf: data)
    VP9Header.appendIndex(ofOne: data.count, to: &indexed)
    return indexed.withUnsafeBytes { [raw] in Self.decode($0, raw) }
  }

  private static func decode(
    _ data: UnsafeRawBufferPointer, _ raw: UnsafeMutablePointer<vpx_codec_ctx_t>
  ) -> vpx_codec_err_t {
    let bytes = data.bindMemory(to: UInt8.self)
    return vpx_codec_decode(raw, bytes.baseAddress, UInt32(bytes.count), nil, 0)
  }

  private func check(_ width: Int, _ height: Int) throws(CodecError) {
    let sides = 1...16_384
    guard sides.contains(width), sides.contains(height), width * height <= pixelLimit else {
      throw CodecError(.unsupported, "a picture of \(width)×\(height)")
    }
  }

  private func newest(
    _ captured: Tick, _ quarterTurns: UInt8, _ pool: FramePool, isValid: Bool
  ) throws(CodecError) -> VideoFrame? {
    var iterator: vpx_codec_iter_t?
    var newest: UnsafeMutablePointer<vpx_image_t>?
    while let image = vpx_codec_get_frame(raw, &iterator) { newest = image }
    guard isValid, let newest else { return nil }
    var isCorrupted: Int32 = 0
    _ = koine_vpx_get(raw, Int32(VP8D_GET_FRAME_CORRUPTED.rawValue), &isCorrupted)
    guard isCorrupted == 0 else { throw CodecError(.corruptInput, "the picture is damaged or refers to a damaged one") }
    return try copy(newest.pointee, captured, quarterTurns, pool)
  }

  private func copy(
    _ image: vpx_image_t, _ captured: Tick, _ quarterTurns: UInt8, _ pool: FramePool
  ) throws(CodecError) -> VideoFrame {
    try check(Int(image.d_w), Int(image.d_h))
    guard image.fmt == VPX_IMG_FMT_I420, image.bit_depth == 8 || image.bit_depth == 0 else {
      throw CodecError(.unsupported, "chroma format \(image.fmt.rawValue) of \(image.bit_depth) bits")
    }
    return pool.make(width: Int(image.d_w), height: Int(image.d_h), captured: captured, quarterTurns: quarterTurns) {
      _ = I420Copy(
        image.planes.0, image.stride.0, image.planes.1, image.stride.1, image.planes.2, image.stride.2,
        $0.y, Int32($0.lumaStride), $0.u, Int32($0.chromaStride), $0.v, Int32($0.chromaStride),
        Int32($0.width), Int32($0.height))
    }
  }
}
