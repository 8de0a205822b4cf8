/// A protection profile of SRTP, with its number and name in the `use_srtp` extension (RFC 5764 section 4.1.2,
/// RFC 7714 section 14.2).
package enum SRTPProfile: UInt16, Sendable, Hashable, CaseIterable {
  // swift-format-ignore: AlwaysUseLowerCamelCase
  case aes128CMSHA1_80 = 0x0001  // named as registered; there is one with 32 bits too
  case aeadAES128GCM = 0x0007
  case aeadAES256GCM = 0x0008

  /// The order in which they are offered, and chosen by a server: the cheapest first.
  package static let preferred: [SRTPProfile] = [.aeadAES128GCM, .aeadAES256GCM, .aes128CMSHA1_80]

  /// Bytes of the master key.
  package var keyLength: Int { self == .aeadAES256GCM ? 32 : 16 }
  /// Bytes of the master salt.
  package var saltLength: Int { isAEAD ? 12 : 14 }
  /// Bytes that protection adds to an RTP packet; an RTCP packet gets four more for its index.
  package var tagLength: Int { isAEAD ? 16 : 10 }
  package var isAEAD: Bool { self != .aes128CMSHA1_80 }

  /// OpenSSL's name for it.
  var name: String {
    switch self {
    case .aes128CMSHA1_80: "SRTP_AES128_CM_SHA1_80"
    case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
    case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
    }
  }
}

/// The master keys of both directions, as a DTLS handshake exports them.
package struct SRTPKeys: Sendable, Hashable {
  package var profile: SRTPProfile
  /// For what this side sends.
  package var localKey, localSalt: [UInt8]
  /// For what this side receives.
  package var remoteKey, remoteSalt: [UInt8]

  package init(
    profile: SRTPProfile, localKey: [UInt8], localSalt: [UInt8], remoteKey: [UInt8], remoteSalt: [UInt8]
  ) {
    self.profile = profile
    (self.localKey, self.localSalt) = (localKey, localSalt)
    (self.remoteKey, self.remoteSalt) = (remoteKey, remoteSalt)
  }

  /// The same keys seen from the other end.
  package var mirrored: SRTPKeys {
    SRTPKeys(
      profile: profile, localKey: remoteKey, localSalt: remoteSalt, remoteKey: localKey, remoteSalt: localSalt)
  }

  var areWellFormed: Bool {
    localKey.count == profile.keyLength && remoteKey.count == profile.keyLength
      && localSalt.count == profile.saltLength && remoteSalt.count == profile.saltLength
  }
}

/// Why a packet was not protected or unprotected, or a session not made.
package enum SRTPError: Error, Hashable, Sendable {
  /// Too short, of another version, or with lengths that do not fit.
  case malformed
  /// The output does not hold the packet and its tag.
  case noRoom
  /// The packet does not come from the owner of the keys, or was changed on its way.
  case authenticationFailed
  /// This packet index was seen (or, when sending, used) before.
  case replayed
  /// The packet index lies before the replay window.
  case tooOld
  /// All packet indexes of this source are used up; new keys are needed.
  case keyExhausted
  /// More sources than a session keeps track of.
  case tooManySources
  /// Keys of a wrong length, or a profile that this maker does not serve.
  case unsupportedKeys
  /// A failure inside the library, with its number.
  case library(Int32)
}
