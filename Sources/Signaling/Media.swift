/// What a track's RTP streams look like on the wire.
public struct Media: Hashable, Sendable {
  public struct Encoding: Hashable, Sendable {
    /// RFC 8851; nil where there is only one.
    public var rid: String?
    public var ssrc: UInt32
    /// Of retransmissions (RFC 4588).
    public var rtxSSRC: UInt32?
    /// In bit/s.
    public var maxBitrate: Int?
    /// In pixels, as far as the publisher knows.
    public var maxHeight: Int?

    /// Whether the numbers can be reckoned with: not negative, and within `SignalingLimits`.
    public var isWithinLimits: Bool {
      (0...SignalingLimits.bitrate).contains(maxBitrate ?? 0) && (0...SignalingLimits.rows).contains(maxHeight ?? 0)
    }

    public init(
      rid: String? = nil, ssrc: UInt32, rtxSSRC: UInt32? = nil, maxBitrate: Int? = nil, maxHeight: Int? = nil
    ) {
      (self.rid, self.ssrc, self.rtxSSRC) = (rid, ssrc, rtxSSRC)
      (self.maxBitrate, self.maxHeight) = (maxBitrate, maxHeight)
    }
  }

  /// RFC 9143: names the medium within its peer.
  public var mid: String
  /// As in SDP: `opus`, `VP8`, `VP9`.
  public var codec: String
  public var payloadType: UInt8
  public var rtxPayloadType: UInt8?
  /// Of audio that repeats earlier payloads (RFC 2198); nil where the receiver does not take it.
  public var redPayloadType: UInt8?
  /// Simulcast layers, the smallest first; at least one.
  public var encodings: [Encoding]

  public init(
    mid: String, codec: String, payloadType: UInt8, rtxPayloadType: UInt8? = nil, redPayloadType: UInt8? = nil,
    encodings: [Encoding]
  ) {
    (self.mid, self.codec, self.payloadType) = (mid, codec, payloadType)
    (self.rtxPayloadType, self.redPayloadType, self.encodings) = (rtxPayloadType, redPayloadType, encodings)
  }
}

extension Media: Codable {
  private enum CodingKeys: String, CodingKey { case mid, codec, payloadType, rtxPayloadType, redPayloadType, encodings }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      mid: try fields.text(.mid), codec: try fields.text(.codec),
      payloadType: try fields.decode(UInt8.self, forKey: .payloadType),
      rtxPayloadType: try fields.decodeIfPresent(UInt8.self, forKey: .rtxPayloadType),
      redPayloadType: try fields.decodeIfPresent(UInt8.self, forKey: .redPayloadType),
      encodings: try fields.list(.encodings, limit: SignalingLimits.encodings))
    guard !encodings.isEmpty else { throw SignalingError.malformed("media without encodings") }
  }
}

extension Media.Encoding: Codable {
  private enum CodingKeys: String, CodingKey { case rid, ssrc, rtxSSRC, maxBitrate, maxHeight }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      rid: try fields.textIfPresent(.rid), ssrc: try fields.decode(UInt32.self, forKey: .ssrc),
      rtxSSRC: try fields.decodeIfPresent(UInt32.self, forKey: .rtxSSRC),
      maxBitrate: try fields.numberIfPresent(.maxBitrate, limit: SignalingLimits.bitrate),
      maxHeight: try fields.numberIfPresent(.maxHeight, limit: SignalingLimits.rows))
  }
}
