import CKoineSRTP

/// SRTP and SRTCP by libsrtp, for every profile: the reference for our own transform, and what serves AES-CM.
final class LibSRTPTransform {
  private let profile: SRTPProfile
  private let outgoing, incoming: srtp_t

  /// The library is set up once for the process and never shut down.
  private static let setUp: srtp_err_status_t = srtp_init()

  init(_ keys: SRTPKeys) throws(SRTPError) {
    guard keys.areWellFormed else { throw .unsupportedKeys }
    try Self.check(Self.setUp)
    profile = keys.profile
    let outgoing = try Self.session(keys.profile, keys.localKey + keys.localSalt, ssrc_any_outbound)
    do {
      incoming = try Self.session(keys.profile, keys.remoteKey + keys.remoteSalt, ssrc_any_inbound)
    } catch {
      srtp_dealloc(outgoing)
      throw error
    }
    self.outgoing = outgoing
  }

  deinit {
    srtp_dealloc(outgoing)
    srtp_dealloc(incoming)
  }

  func protectRTP(
    header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) -> Int {
    let count = header.count + payload.count
    guard count + profile.tagLength <= out.count, let target = out.baseAddress else { throw .noRoom }
    guard header.count >= 12, let source = header.baseAddress, var length = Int32(exactly: count) else {
      throw .malformed
    }
    if let payload = payload.baseAddress, payload != UnsafeRawPointer(target + header.count) {
      (target + header.count).copyMemory(from: payload, byteCount: count - header.count)
    }
    if source != UnsafeRawPointer(target) { target.copyMemory(from: source, byteCount: header.count) }
    guard try RTPShape(UnsafeRawBufferPointer(start: target, count: count)).headerLength == header.count else {
      throw .malformed
    }
    try Self.check(srtp_protect(outgoing, target, &length))
    return Int(length)
  }

  func unprotectRTP(_ packet: UnsafeMutableRawBufferPointer) throws(SRTPError) -> Int {
    let shape = try RTPShape(UnsafeRawBufferPointer(packet))
    guard packet.count >= shape.headerLength + profile.tagLength, var length = Int32(exactly: packet.count) else {
      throw .malformed
    }
    try Self.check(srtp_unprotect(incoming, packet.baseAddress, &length))
    return Int(length)
  }

  func protectRTCP(_ buffer: UnsafeMutableRawBufferPointer, count: Int) throws(SRTPError) -> Int {
    guard count >= 8, count <= buffer.count, buffer[0] >> 6 == 2, var length = Int32(exactly: count) else {
      throw .malformed
    }
    guard count + profile.tagLength + 4 <= buffer.count else { throw .noRoom }
    try Self.check(srtp_protect_rtcp(outgoing, buffer.baseAddress, &length))
    return Int(length)
  }

  func unprotectRTCP(_ packet: UnsafeMutableRawBufferPointer) throws(SRTPError) -> Int {
    guard packet.count >= 8 + profile.tagLength + 4, packet[0] >> 6 == 2,
      var length = Int32(exactly: packet.count)
    else { throw .malformed }
    try Self.check(srtp_unprotect_rtcp(incoming, packet.baseAddress, &length))
    return Int(length)
  }

  private static func session(
    _ profile: SRTPProfile, _ key: [UInt8], _ sources: srtp_ssrc_type_t
  ) throws(SRTPError) -> srtp_t {
    var policy = srtp_policy_t()
    switch profile {
    case .aes128CMSHA1_80:
      srtp_crypto_policy_set_rtp_default(&policy.rtp)
      srtp_crypto_policy_set_rtcp_default(&policy.rtcp)
    case .aeadAES128GCM:
      srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp)
      srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp)
    case .aeadAES256GCM:
      srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtp)
      srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtcp)
    }
    policy.ssrc.type = sources
    policy.window_size = UInt(ReplayWindow.size)
    var key = key
    var session: srtp_t?
    let status = key.withUnsafeMutableBufferPointer { key in
      policy.key = key.baseAddress  // copied by the library
      return srtp_create(&session, &policy)
    }
    try check(status)
    guard let session else { throw .library(0) }
    return session
  }

  private static func check(_ status: srtp_err_status_t) throws(SRTPError) {
    switch status {
    case srtp_err_status_ok: return
    case srtp_err_status_auth_fail: throw .authenticationFailed
    case srtp_err_status_replay_fail: throw .replayed
    case srtp_err_status_replay_old, srtp_err_status_pkt_idx_old: throw .tooOld
    case srtp_err_status_key_expired: throw .keyExhausted
    case srtp_err_status_parse_err, srtp_err_status_bad_param: throw .malformed
    default: throw .library(Int32(bitPattern: status.rawValue))
    }
  }
}
