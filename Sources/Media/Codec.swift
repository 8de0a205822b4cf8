/// The codecs of a call, by their names in SDP.
///
/// All that a codec's RTP payload format knows is in `RTP` (`PayloadFormat`), its encoder and decoder are in `Codecs`.
public enum Codec: String, Sendable, Codable, CaseIterable {
  /// Opus (RFC 6716).
  case opus
  /// VP8 (RFC 6386).
  case vp8 = "VP8"
  /// VP9.
  case vp9 = "VP9"

  package static let videoCodecs = allCases.filter { !$0.isAudio }

  /// Whether the codec is for audio.
  @inlinable public var isAudio: Bool {
    switch self {
    case .opus: true
    case .vp8, .vp9: false
    }
  }

  /// The RTP clock in Hz (RFC 7587, 7741, 9628).
  public var clockRate: UInt32 {
    switch self {
    case .opus: 48_000
    case .vp8, .vp9: 90_000
    }
  }

  /// The number of channels that SDP announces; nil for video. Opus always announces two (RFC 7587, 7).
  package var channels: Int? {
    switch self {
    case .opus: 2
    case .vp8, .vp9: nil
    }
  }
}
