public import KoineBase

/// What one track's RTP streams look like on the wire: agreed on by signalling.
public struct StreamParameters: Codable, Sendable, Hashable {
  /// One simulcast layer.
  public struct Encoding: Sendable, Hashable {
    /// RFC 8851; nil where there is only one.
    public var rid: String?
    /// 0: not known before packets come, which name their layer.
    public var ssrc: UInt32
    /// SSRC of retransmissions (RFC 4588); nil: none.
    public var rtxSSRC: UInt32?
    /// In bit/s, as the publisher announces it.
    public var maximumBitrate: Int?
    /// In pixels, as far as the publisher knows.
    public var maximumHeight: Int?
    /// In pixels, as far as the publisher knows.
    public var maximumWidth: Int?
    /// In frames per second, as the publisher announces it.
    public var maximumFramesPerSecond: Double?

    /// Creates an encoding.
    public init(
      rid: String? = nil, ssrc: UInt32, rtxSSRC: UInt32? = nil, maximumBitrate: Int? = nil, maximumHeight: Int? = nil,
      maximumWidth: Int? = nil, maximumFramesPerSecond: Double? = nil
    ) {
      (self.rid, self.ssrc, self.rtxSSRC) = (rid, ssrc, rtxSSRC)
      (self.maximumBitrate, self.maximumFramesPerSecond) = (maximumBitrate, maximumFramesPerSecond)
      (self.maximumWidth, self.maximumHeight) = (maximumWidth, maximumHeight)
    }
  }

  /// RFC 9143: names the medium within its peer.
  public var mid: String
  /// The codec of all encodings.
  public var codec: Codec
  /// The RTP payload type of the codec.
  public var payloadType: UInt8
  /// The RTP payload type of retransmissions (RFC 4588); nil: none.
  public var rtxPayloadType: UInt8?
  /// Audio only: packets under this type repeat payloads before them (RFC 2198). nil where the receiver does not take them.
  public var redPayloadType: UInt8?
  /// Simulcast layers, the smallest first; at least one.
  public var encodings: [Encoding]

  /// Creates parameters.
  public init(
    mid: String, codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8? = nil, redPayloadType: UInt8? = nil,
    encodings: [Encoding]
  ) {
    (self.mid, self.codec, self.payloadType) = (mid, codec, payloadType)
    (self.rtxPayloadType, self.redPayloadType, self.encodings) = (rtxPayloadType, redPayloadType, encodings)
  }
}

extension StreamParameters.Encoding: Codable {
  private enum CodingKeys: String, CodingKey {
    case rid, ssrc, rtxSSRC
    case maximumBitrate = "maxBitrate"
    case maximumHeight = "maxHeight"
    case maximumWidth = "maxWidth"
    case maximumFramesPerSecond = "maxFramerate"
  }
}
