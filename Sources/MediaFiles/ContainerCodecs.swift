internal import CKoineFFmpeg
import Koine

// The names of codecs in files.

extension Codec {
  /// In Matroska (RFC 9559, 5.1.4.1.21, and the registry of codec ids).
  var matroskaID: String {
    switch self {
    case .opus: "A_OPUS"
    case .vp8: "V_VP8"
    case .vp9: "V_VP9"
    }
  }

  /// In FFmpeg.
  var ffmpegID: AVCodecID {
    switch self {
    case .opus: AV_CODEC_ID_OPUS
    case .vp8: AV_CODEC_ID_VP8
    case .vp9: AV_CODEC_ID_VP9
    }
  }
}
