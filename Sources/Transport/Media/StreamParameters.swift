public import KoineBase
import KoineRTP

/// What one RTP stream looks like on the wire: agreed on by signalling.
public struct StreamParameters: Codable, Sendable, Hashable {
  /// One simulcast layer; a stream has at least one, the smallest first.
  public struct Encoding: Codable, Sendable, Hashable {
    public var rid: String?
    public var ssrc: UInt32
    /// Where retransmissions come (RFC 4588).
    public var rtxSSRC: UInt32?

    public init(rid: String? = nil, ssrc: UInt32, rtxSSRC: UInt32? = nil) {
      self.rid = rid
      self.ssrc = ssrc
      self.rtxSSRC = rtxSSRC
    }
  }

  public var mid: String
  public var codec: Codec
  public var payloadType: UInt8
  public var rtxPayloadType: UInt8?
  /// Audio only: packets under this type repeat payloads before them (RFC 2198). Nil where the receiver does not take them.
  public var redPayloadType: UInt8?
  public var encodings: [Encoding]

  public init(
    mid: String, codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8?, redPayloadType: UInt8? = nil,
    encodings: [Encoding]
  ) {
    self.mid = mid
    self.codec = codec
    self.payloadType = payloadType
    self.rtxPayloadType = rtxPayloadType
    self.redPayloadType = redPayloadType
    self.encodings = encodings
  }
}

extension StreamParameters {
  /// A stream between Koine's own programs, with the payload types that are fixed there.
  package init(mid: String, codec: Codec, redPayloadType: UInt8?, encodings: [Encoding]) {
    self.init(
      mid: mid, codec: codec, payloadType: codec.payloadType, rtxPayloadType: codec.rtxPayloadType,
      redPayloadType: redPayloadType, encodings: encodings)
  }
}

/// A stream that a peer sends; a number, cheap to carry with each packet.
public struct SenderID: Hashable, Sendable, Codable {
  package let value: Int
}

/// A stream that a peer receives.
public struct ReceiverID: Hashable, Sendable, Codable {
  package let value: Int
}
