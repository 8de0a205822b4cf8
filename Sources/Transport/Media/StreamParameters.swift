package import KoineBase
import KoineRTP

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
