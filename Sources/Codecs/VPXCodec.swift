internal import CKoineVPX

/// The codecs of libvpx.
enum VPXCodec {
  case vp8, vp9

  var encoder: OpaquePointer? {
    switch self {
    case .vp8: vpx_codec_vp8_cx()
    case .vp9: vpx_codec_vp9_cx()
    }
  }

  var decoder: OpaquePointer? {
    switch self {
    case .vp8: vpx_codec_vp8_dx()
    case .vp9: vpx_codec_vp9_dx()
    }
  }

  /// Values of `cpu-used`. For VP8 negative ones are constant and positive ones follow the clock.
  var speeds: EncoderSpeeds {
    switch self {
    case .vp8: EncoderSpeeds(allowed: -16...16, usual: -6, fastest: -16)
    case .vp9: EncoderSpeeds(allowed: -9...9, usual: 7, fastest: 9)
    }
  }

  /// RFC 6386, 9.1; VP9 bitstream, 6.2.
  func size(ofKeyFrame frame: UnsafeRawBufferPointer) -> (width: Int, height: Int)? {
    switch self {
    case .vp8:
      guard frame.count >= 10, frame[0] & 1 == 0, frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else {
        return nil
      }
      return (Int(frame[6]) | Int(frame[7] & 0x3F) << 8, Int(frame[8]) | Int(frame[9] & 0x3F) << 8)
    case .vp9:
      guard case .own(let width, let height) = VP9Header.size(of: frame) else { return nil }
      return (width, height)
    }
  }
}
