/// Protects what one peer sends and opens what it receives (RFC 3711), all sources of both directions.
///
/// One owner, no thread of its own. Roll-over counts and replay windows are kept inside, per source; a sequence number
/// is used once per source, also when sending: a packet sent again goes as RTX (RFC 4588).
package final class SRTPSession {
  private enum Maker {
    case gcm(GCMTransform)
    case libsrtp(LibSRTPTransform)
  }

  package let profile: SRTPProfile
  private let maker: Maker

  private init(_ profile: SRTPProfile, _ maker: Maker) { (self.profile, self.maker) = (profile, maker) }

  /// The fastest that serves these keys.
  package static func make(_ keys: SRTPKeys) throws(SRTPError) -> SRTPSession {
    keys.profile.isAEAD ? try gcm(keys) : try libsrtp(keys)
  }

  /// Our own AES-GCM: allocates nothing per packet. AEAD profiles only.
  package static func gcm(_ keys: SRTPKeys) throws(SRTPError) -> SRTPSession {
    SRTPSession(keys.profile, .gcm(try GCMTransform(keys)))
  }

  /// Every profile.
  package static func libsrtp(_ keys: SRTPKeys) throws(SRTPError) -> SRTPSession {
    SRTPSession(keys.profile, .libsrtp(try LibSRTPTransform(keys)))
  }

  /// Bytes that `protectRTP` adds.
  package var rtpOverhead: Int { profile.tagLength }
  /// Bytes that `protectRTCP` adds.
  package var rtcpOverhead: Int { profile.tagLength + 4 }

  /// Writes a protected packet to `out`.
  /// - Parameters:
  ///   - header: the whole RTP header with contributing sources and extension; may already stand at the start of `out`.
  ///   - payload: what follows it, padding included; may lie in a buffer that others read too, or behind the header in `out`.
  ///   - out: holds header, payload and `rtpOverhead` more bytes.
  /// - Returns: the length of the protected packet.
  package func protectRTP(
    header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) -> Int {
    switch maker {
    case .gcm(let transform): try transform.protectRTP(header: header, payload: payload, into: out)
    case .libsrtp(let transform): try transform.protectRTP(header: header, payload: payload, into: out)
    }
  }

  /// Decrypts an RTP packet in place. After an error the content of `packet` is undefined.
  /// - Returns: the length of the plain packet, header included.
  package func unprotectRTP(_ packet: UnsafeMutableRawBufferPointer) throws(SRTPError) -> Int {
    switch maker {
    case .gcm(let transform): try transform.unprotectRTP(packet)
    case .libsrtp(let transform): try transform.unprotectRTP(packet)
    }
  }

  /// Protects a compound RTCP packet in place.
  /// - Parameter count: the length of the packet at the start of `buffer`, which holds `rtcpOverhead` more bytes.
  /// - Returns: the length of the protected packet.
  package func protectRTCP(_ buffer: UnsafeMutableRawBufferPointer, count: Int) throws(SRTPError) -> Int {
    switch maker {
    case .gcm(let transform): try transform.protectRTCP(buffer, count: count)
    case .libsrtp(let transform): try transform.protectRTCP(buffer, count: count)
    }
  }

  /// Decrypts a compound RTCP packet in place. After an error the content of `packet` is undefined.
  /// - Returns: the length of the plain packet.
  package func unprotectRTCP(_ packet: UnsafeMutableRawBufferPointer) throws(SRTPError) -> Int {
    switch maker {
    case .gcm(let transform): try transform.unprotectRTCP(packet)
    case .libsrtp(let transform): try transform.unprotectRTCP(packet)
    }
  }
}
