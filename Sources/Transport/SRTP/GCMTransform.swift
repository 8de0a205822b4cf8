/// SRTP and SRTCP with AES-GCM (RFC 7714) over OpenSSL: keys are set once, and no packet allocates.
package final class GCMTransform {
  /// The session keys of one direction.
  package struct SessionKeys {
    package var rtpKey, rtpSalt, rtcpKey, rtcpSalt: [UInt8]

    package init(rtpKey: [UInt8], rtpSalt: [UInt8], rtcpKey: [UInt8], rtcpSalt: [UInt8]) {
      (self.rtpKey, self.rtpSalt, self.rtcpKey, self.rtcpSalt) = (rtpKey, rtpSalt, rtcpKey, rtcpSalt)
    }

    init(masterKey key: [UInt8], salt: [UInt8]) throws(SRTPError) {
      rtpKey = try SRTPKeyDerivation.derive(.rtpEncryption, key: key, salt: salt, count: key.count)
      rtpSalt = try SRTPKeyDerivation.derive(.rtpSalt, key: key, salt: salt, count: 12)
      rtcpKey = try SRTPKeyDerivation.derive(.rtcpEncryption, key: key, salt: salt, count: key.count)
      rtcpSalt = try SRTPKeyDerivation.derive(.rtcpSalt, key: key, salt: salt, count: 12)
    }
  }

  private static let tagLength = AEAD.tagLength
  private static let rtpIndexLimit: UInt64 = 1 << 48
  private static let rtcpIndexLimit: UInt32 = 1 << 31
  /// The first bit of the last word: this SRTCP packet is encrypted (RFC 3711 section 3.4).
  private static let encryptedFlag: UInt32 = 1 << 31

  private let rtpSealer: AEADSealer, rtpOpener: AEADOpener
  private let rtcpSealer: AEADSealer, rtcpOpener: AEADOpener
  private let localRTPSalt, remoteRTPSalt, localRTCPSalt, remoteRTCPSalt: AEAD.Nonce
  // The run-time check of exclusive access costs 30 ns a packet. No access here calls out while it lasts.
  @exclusivity(unchecked) private var sent = ReplayWindows()
  @exclusivity(unchecked) private var received = ReplayWindows()
  @exclusivity(unchecked) private var receivedReports = ReplayWindows()
  /// The index of the last SRTCP packet per sending source; the first gets 1, as libsrtp counts.
  @exclusivity(unchecked) private var reportIndexes: [UInt32: UInt32] = [:]

  convenience init(_ keys: SRTPKeys) throws(SRTPError) {
    guard keys.profile.isAEAD, keys.areWellFormed else { throw .unsupportedKeys }
    try self.init(
      local: SessionKeys(masterKey: keys.localKey, salt: keys.localSalt),
      remote: SessionKeys(masterKey: keys.remoteKey, salt: keys.remoteSalt))
  }

  /// From session keys, which published vectors start from.
  package init(local: SessionKeys, remote: SessionKeys) throws(SRTPError) {
    guard let localRTP = AEAD.Nonce(local.rtpSalt), let remoteRTP = AEAD.Nonce(remote.rtpSalt),
      let localRTCP = AEAD.Nonce(local.rtcpSalt), let remoteRTCP = AEAD.Nonce(remote.rtcpSalt)
    else { throw .unsupportedKeys }
    (localRTPSalt, remoteRTPSalt, localRTCPSalt, remoteRTCPSalt) = (localRTP, remoteRTP, localRTCP, remoteRTCP)
    rtpSealer = try AEADSealer(key: local.rtpKey)
    rtpOpener = try AEADOpener(key: remote.rtpKey)
    rtcpSealer = try AEADSealer(key: local.rtcpKey)
    rtcpOpener = try AEADOpener(key: remote.rtcpKey)
  }

  // MARK: RTP

  package func protectRTP(
    header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) -> Int {
    let shape = try RTPShape(header)
    guard shape.headerLength == header.count else { throw .malformed }
    guard header.count + payload.count + Self.tagLength <= out.count, let target = out.baseAddress,
      let source = header.baseAddress
    else { throw .noRoom }
    let slot = if let known = sent.slot(of: shape.source) { known } else { try sent.add(shape.source) }
    let index = sent[slot].index(of: shape.sequence)
    guard index < Self.rtpIndexLimit else { throw .keyExhausted }
    try sent[slot].check(index)
    if UnsafeRawPointer(target) != source { target.copyMemory(from: source, byteCount: header.count) }
    let body = UnsafeMutableRawBufferPointer(start: target + header.count, count: out.count - header.count)
    let sealed = try rtpSealer.seal(
      payload, nonce: Self.nonce(shape.source, index, localRTPSalt),
      additionalData: UnsafeRawBufferPointer(start: target, count: header.count), into: body)
    sent[slot].insert(index)
    return header.count + sealed
  }

  package func unprotectRTP(_ packet: UnsafeMutableRawBufferPointer) throws(SRTPError) -> Int {
    let shape = try RTPShape(UnsafeRawBufferPointer(packet))
    let bodyEnd = packet.count - Self.tagLength
    guard bodyEnd >= shape.headerLength else { throw .malformed }
    guard let slot = received.slot(of: shape.source) else {
      let index = try openFirst(packet, shape)
      let slot = try received.add(shape.source)
      received[slot].insert(index)
      return bodyEnd
    }
    let index = received[slot].index(of: shape.sequence)
    guard index < Self.rtpIndexLimit else { throw .keyExhausted }
    try received[slot].check(index)
    try open(packet, shape, index: index)
    received[slot].insert(index)
    return bodyEnd
  }

  /// Opens the first packet that arrives of a source. If it began just below 2¹⁶ and the packets before the roll-over
  /// were lost, the roll-over count is one already; without that guess the source would stay unreadable for good.
  private func openFirst(_ packet: UnsafeMutableRawBufferPointer, _ shape: RTPShape) throws(SRTPError) -> UInt64 {
    let index = UInt64(shape.sequence)
    do throws(SRTPError) {
      try open(packet, shape, index: index)
      return index
    } catch {
      guard error == .authenticationFailed, shape.sequence < 0x8000 else { throw error }
      // Decrypting twice with one nonce gives the ciphertext back; that this, too, is not authentic is expected.
      _ = try? open(packet, shape, index: index)
      try open(packet, shape, index: index + 0x1_0000)
      return index + 0x1_0000
    }
  }

  @inline(__always)
  private func open(
    _ packet: UnsafeMutableRawBufferPointer, _ shape: RTPShape, index: UInt64
  ) throws(SRTPError) {
    let bodyEnd = packet.count - Self.tagLength
    guard let base = packet.baseAddress else { throw .malformed }
    try rtpOpener.open(
      UnsafeMutableRawBufferPointer(start: base + shape.headerLength, count: bodyEnd - shape.headerLength),
      tag: UnsafeRawBufferPointer(start: base + bodyEnd, count: Self.tagLength),
      nonce: Self.nonce(shape.source, index, remoteRTPSalt),
      additionalData: UnsafeRawBufferPointer(start: base, count: shape.headerLength))
  }

  /// RFC 7714 section 8.1: two zero bytes, the source, the roll-over count and the sequence number.
  @inline(__always)
  private static func nonce(_ source: UInt32, _ index: UInt64, _ salt: AEAD.Nonce) -> AEAD.Nonce {
    AEAD.Nonce(high: UInt64(source) << 16 | index >> 32, low: UInt32(truncatingIfNeeded: index)) ^ salt
  }

  // MARK: RTCP

  package func protectRTCP(_ buffer: UnsafeMutableRawBufferPointer, count: Int) throws(SRTPError) -> Int {
    guard count >= 8, count <= buffer.count, buffer[0] >> 6 == 2 else { throw .malformed }
    guard count + Self.tagLength + 4 <= buffer.count, let base = buffer.baseAddress else { throw .noRoom }
    let source = UnsafeRawBufferPointer(buffer).bigEndian32(at: 4)
    let last = reportIndexes[source]
    guard last != nil || reportIndexes.count < ReplayWindows.limit else { throw .tooManySources }
    let index = (last ?? 0) + 1
    guard index < Self.rtcpIndexLimit else { throw .keyExhausted }
    let sealed = try sealReport(
      UnsafeMutableRawBufferPointer(start: base, count: count + Self.tagLength), source: source, index: index)
    reportIndexes[source] = index
    buffer.storeBytes(of: (Self.encryptedFlag | index).bigEndian, toByteOffset: 8 + sealed, as: UInt32.self)
    return 8 + sealed + 4
  }

  /// Encrypts what follows the first 8 bytes, under an index of the caller's choice.
  /// - Parameter buffer: the packet, and room for the tag behind it.
  package func sealReport(
    _ buffer: UnsafeMutableRawBufferPointer, source: UInt32, index: UInt32
  ) throws(SRTPError) -> Int {
    let bodyLength = buffer.count - 8 - Self.tagLength
    guard bodyLength >= 0, let base = buffer.baseAddress else { throw .malformed }
    var last = (Self.encryptedFlag | index).bigEndian
    return try withUnsafeBytes(of: &last) { last throws(SRTPError) in
      try rtcpSealer.seal(
        UnsafeRawBufferPointer(start: base + 8, count: bodyLength),
        nonce: Self.reportNonce(source, index, localRTCPSalt),
        additionalData: UnsafeRawBufferPointer(start: base, count: 8), trailer: last,
        into: UnsafeMutableRawBufferPointer(start: base + 8, count: buffer.count - 8))
    }
  }

  package func unprotectRTCP(_ packet: UnsafeMutableRawBufferPointer) throws(SRTPError) -> Int {
    let bodyEnd = packet.count - Self.tagLength - 4
    guard bodyEnd >= 8, packet[0] >> 6 == 2, let base = packet.baseAddress else { throw .malformed }
    let readable = UnsafeRawBufferPointer(packet)
    let source = readable.bigEndian32(at: 4)
    let last = readable.bigEndian32(at: packet.count - 4)
    let index = last & ~Self.encryptedFlag
    let known = receivedReports.slot(of: source)
    if let known { try receivedReports[known].check(UInt64(index)) }
    // Without the flag the packet is authenticated only, and all of it is additional data (RFC 7714 section 9.3).
    let clear = last & Self.encryptedFlag != 0 ? 8 : bodyEnd
    try rtcpOpener.open(
      UnsafeMutableRawBufferPointer(start: base + clear, count: bodyEnd - clear),
      tag: UnsafeRawBufferPointer(start: base + bodyEnd, count: Self.tagLength),
      nonce: Self.reportNonce(source, index, remoteRTCPSalt),
      additionalData: UnsafeRawBufferPointer(start: base, count: clear),
      trailer: UnsafeRawBufferPointer(start: base + bodyEnd + Self.tagLength, count: 4))
    let slot = if let known { known } else { try receivedReports.add(source) }
    receivedReports[slot].insert(UInt64(index))
    return bodyEnd
  }

  /// RFC 7714 section 9.1: two zero bytes, the source, two zero bytes, the 31-bit index.
  @inline(__always)
  private static func reportNonce(_ source: UInt32, _ index: UInt32, _ salt: AEAD.Nonce) -> AEAD.Nonce {
    AEAD.Nonce(high: UInt64(source) << 16, low: index) ^ salt
  }
}
