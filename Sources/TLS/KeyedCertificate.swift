import CKoineOpenSSL
import Glibc

/// A certificate (X.509 version 3) with its private key, P-256.
///
/// Owns both OpenSSL objects.
final class KeyedCertificate {
  private static let day = 24 * 60 * 60
  /// An authority is valid for ten years, because its users have to install it by hand.
  private static let authorityDays = 3_650
  /// Apple's systems and browsers refuse certificates of servers that are valid for more than 398 days.
  private static let serverDays = 397

  private let certificate: OpaquePointer
  private let key: OpaquePointer

  /// - Parameter fill: sets everything of a new certificate but its signature.
  private init(
    signedBy issuer: KeyedCertificate?, _ fill: (OpaquePointer, _ issuer: OpaquePointer) -> Bool
  ) throws(TLSError) {
    guard let key = koine_generate_p256() else { throw .fromQueue("generating a key") }
    guard let certificate = X509_new() else {
      EVP_PKEY_free(key)
      throw .fromQueue("making a certificate")
    }
    (self.certificate, self.key) = (certificate, key)
    guard X509_set_pubkey(certificate, key) == 1, Self.setNumber(of: certificate),
      fill(certificate, issuer?.certificate ?? certificate),
      X509_sign(certificate, issuer?.key ?? key, EVP_sha256()) > 0
    else { throw .fromQueue("making a certificate") }
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  // MARK: Making

  /// An authority that can issue certificates of servers for these names only.
  /// - Parameter now: seconds since 1970.
  static func authority(for names: CertificateNames, now: Int) throws(TLSError) -> KeyedCertificate {
    let machine = String(decoding: machineName.utf8.prefix(30), as: UTF8.self).filter(\.isASCII)
    // A name of its own, because programs find an issuer by its name.
    let subject = "Koine local CA of \(machine), \(now)"
    return try KeyedCertificate(signedBy: nil) { certificate, _ in
      name(certificate, subject)
        && X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1
        && setValidity(of: certificate, from: now - day, to: now + (authorityDays - 1) * day)
        && add(
          [
            (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
            (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
            (NID_name_constraints, "critical,\(names.constraints)"),
          ], to: certificate, issuer: certificate)
    }
  }

  /// A server's certificate. It ends with its authority at the latest.
  static func server(
    for names: CertificateNames, signedBy authority: KeyedCertificate, now: Int
  ) throws(TLSError) -> KeyedCertificate {
    let end = min(now + (serverDays - 1) * day, authority.validity.upperBound)
    return try KeyedCertificate(signedBy: authority) { certificate, issuer in
      name(certificate, "Koine server")
        && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
        && setValidity(of: certificate, from: now - day, to: end)
        && add(
          [
            (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
            (NID_authority_key_identifier, "keyid:always"), (NID_subject_alt_name, names.alternativeNames),
          ], to: certificate, issuer: issuer)
    }
  }

  /// Version 3, and a positive random serial number.
  private static func setNumber(of certificate: OpaquePointer) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 8)
    guard RAND_bytes(&bytes, Int32(bytes.count)) == 1 else { return false }
    let number = max(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1, 1)
    return X509_set_version(certificate, 2) == 1
      && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number) == 1
  }

  private static func name(_ certificate: OpaquePointer, _ text: String) -> Bool {
    let name = X509_get_subject_name(certificate)
    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, "Koine", -1, -1, 0) == 1
      && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1
  }

  private static func setValidity(of certificate: OpaquePointer, from start: Int, to end: Int) -> Bool {
    ASN1_TIME_set(X509_getm_notBefore(certificate), start) != nil
      && ASN1_TIME_set(X509_getm_notAfter(certificate), end) != nil
  }

  private static func add(_ extensions: [(Int32, String)], to certificate: OpaquePointer, issuer: OpaquePointer) -> Bool
  {
    extensions.allSatisfy { koine_add_extension(certificate, issuer, $0, $1) == 1 }
  }

  /// The machine's name, as its administrator has set it.
  static var machineName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: PEM

  /// - Throws: if one of the two cannot be read, or the key is not the certificate's.
  init(certificate certificatePEM: [UInt8], key keyPEM: [UInt8]) throws(TLSError) {
    guard let certificate = Self.read(certificatePEM, { PEM_read_bio_X509($0, nil, { _, _, _, _ in -1 }, nil) }) else {
      throw .fromQueue("the certificate cannot be read")
    }
    guard let key = Self.read(keyPEM, { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }) else {
      X509_free(certificate)
      throw .fromQueue("the key cannot be read")
    }
    (self.certificate, self.key) = (certificate, key)
  }

  private static func read(_ bytes: [UInt8], _ body: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
    ERR_clear_error()
    return bytes.withUnsafeBytes { bytes in
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      return body(bio)
    }
  }

  var certificatePEM: [UInt8] { Self.written { PEM_write_bio_X509($0, certificate) } }
  var keyPEM: [UInt8] { Self.written { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) } }

  private static func written(_ body: (OpaquePointer?) -> Int32) -> [UInt8] {
    guard let bio = BIO_new(BIO_s_mem()) else { return [] }
    defer { BIO_free(bio) }
    guard body(bio) == 1 else { return [] }
    var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
    while case let count = BIO_read(bio, &part, Int32(part.count)), count > 0 { bytes += part.prefix(Int(count)) }
    return bytes
  }

  // MARK: Properties

  /// Whether the key is the certificate's.
  var keyFits: Bool {
    defer { ERR_clear_error() }
    return X509_check_private_key(certificate, key) == 1
  }

  var isAuthority: Bool { X509_check_ca(certificate) == 1 }

  /// Seconds since 1970.
  var validity: Range<Int> {
    let start = Self.seconds(X509_get0_notBefore(certificate)) ?? .max
    return start..<max(Self.seconds(X509_get0_notAfter(certificate)) ?? start, start)
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
    var date = tm()
    return ASN1_TIME_to_tm(time, &date) == 1 ? timegm(&date) : nil
  }

  /// The encoded names.
  var alternativeNames: [UInt8] {
    let position = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1)
    guard position >= 0, let data = X509_EXTENSION_get_data(X509_get_ext(certificate, position)),
      let bytes = ASN1_STRING_get0_data(data)
    else { return [] }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(data))))
  }

  /// Whether this authority's constraints permit all names of another certificate.
  func permits(_ other: KeyedCertificate) -> Bool { koine_permits_names(certificate, other.certificate) == 1 }

  func hasSigned(_ other: KeyedCertificate) -> Bool {
    defer { ERR_clear_error() }
    return X509_verify(other.certificate, key) == 1
      && X509_NAME_cmp(X509_get_issuer_name(other.certificate), X509_get_subject_name(certificate)) == 0
  }
}
