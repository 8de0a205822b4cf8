package import KoineBase
package import KoineRTP
import KoineSignaling
import KoineTransport

/// How a connection's peer names what Koine's own programs have fixed numbers for: browsers choose theirs.
package struct MediaCapabilities: Hashable, Sendable {
  package struct PayloadTypes: Hashable, Sendable {
    package var media: UInt8
    /// Of retransmissions; nil where the peer takes none.
    package var rtx: UInt8?
    /// Of audio that repeats earlier payloads (RFC 2198); nil where the peer takes none.
    package var red: UInt8?

    package init(media: UInt8, rtx: UInt8?, red: UInt8? = nil) {
      (self.media, self.rtx, self.red) = (media, rtx, red)
    }
  }

  package var extensions: HeaderExtensionMap
  /// Of the codecs that the peer understands.
  package var payloadTypes: [Codec: PayloadTypes]

  /// Whether only its packets tell which source is which (RFC 8843 section 9.2): it may publish sources of 0.
  package var namesSourcesInPackets: Bool

  /// Whether it knows the streams that it receives by the router's mids. Browsers know them by their own, and from their sources.
  package var knowsMids: Bool

  package init(
    extensions: HeaderExtensionMap, payloadTypes: [Codec: PayloadTypes], namesSourcesInPackets: Bool = false,
    knowsMids: Bool = true
  ) {
    (self.extensions, self.payloadTypes) = (extensions, payloadTypes)
    (self.namesSourcesInPackets, self.knowsMids) = (namesSourcesInPackets, knowsMids)
  }

  package static let koine = MediaCapabilities(
    extensions: .koine,
    payloadTypes: Dictionary(
      uniqueKeysWithValues: Codec.allCases.map { ($0, PayloadTypes(media: $0.payloadType, rtx: $0.rtxPayloadType)) }))
}
