import Glibc

/// A certificate authority of this machine's own, in a directory, and a server's certificate that it has issued.
///
///     ca.pem          the authority, which clients have to trust
///     ca-key.pem      its key (mode 0600)
///     server.pem      the server's certificate
///     server-key.pem  its key (mode 0600)
///
/// The authority can issue certificates for its names only, so a stolen key does not endanger other sites.
package struct LocalCA: Sendable {
  /// Certificates are renewed so long before they end, in seconds.
  package static let renewal = 30 * 24 * 60 * 60

  /// Absolute paths.
  package let authority, certificate, key: String
  /// Sentences about what has been made, for the log.
  package let changes: [String]

  /// Makes the files that are missing, and renews those that end soon or have other names.
  /// - Parameters:
  ///   - path: a directory. It is made (mode 0700) if its parent exists.
  ///   - names: the names of the server.
  ///   - now: seconds since 1970.
  /// - Throws: if the directory cannot be read or written, or if its files do not belong together.
  package init(in path: String, names: CertificateNames, now: Int = time(nil)) throws(TLSError) {
    let directory = try LockedDirectory(path)
    let files = (authority: CertificateFiles("ca", directory), server: CertificateFiles("server", directory))
    var changes: [String] = []
    func newAuthority(_ reason: String) throws(TLSError) -> KeyedCertificate {
      let made = try KeyedCertificate.authority(for: names, now: now)
      try files.authority.write(made)
      changes.append("a new certificate authority: \(reason); clients have to trust the new ca.pem")
      return made
    }
    var authority: KeyedCertificate
    if let found = try files.authority.read() {
      try Self.check(found, files.authority, now)
      authority = found
      if now >= found.validity.upperBound {
        authority = try newAuthority("the former one has expired")
      } else if now + Self.renewal >= found.validity.upperBound {
        authority = try newAuthority("the former one expires within 30 days")
      }
    } else {
      authority = try newAuthority("there was none")
    }
    var server = try KeyedCertificate.server(for: names, signedBy: authority, now: now)
    if !authority.permits(server) {
      authority = try newAuthority("the former one does not permit all of \(names)")
      server = try KeyedCertificate.server(for: names, signedBy: authority, now: now)
    }
    if let reason = Self.reasonToReplace(try files.server.read(), by: server, authority, now) {
      try files.server.write(server)
      changes.append("a new certificate for \(names): \(reason)")
    }
    self.changes = changes
    (self.authority, certificate, key) = (files.authority.certificate, files.server.certificate, files.server.key)
  }

  private static func check(_ found: KeyedCertificate, _ files: CertificateFiles, _ now: Int) throws(TLSError) {
    guard found.keyFits else { throw files.error("the key is not the certificate's") }
    guard found.isAuthority else { throw files.error("the certificate is not of an authority") }
    guard now >= found.validity.lowerBound else {
      throw TLSError(description: "'\(files.certificate)' is not valid yet: the machine's clock is probably wrong")
    }
  }

  /// - Returns: nil if the server's certificate can stay.
  private static func reasonToReplace(
    _ found: KeyedCertificate?, by new: KeyedCertificate, _ authority: KeyedCertificate, _ now: Int
  ) -> String? {
    // A key without its certificate: the server was killed between the two.
    guard let found, found.keyFits else { return "there was none" }
    guard authority.hasSigned(found) else { return "the authority is new" }
    guard found.alternativeNames == new.alternativeNames else { return "the names have changed" }
    guard found.validity.contains(now), found.validity.contains(now + renewal) else {
      return "the former one expires within 30 days"
    }
    return nil
  }
}

/// The files of a certificate and its key.
private struct CertificateFiles {
  let certificate, key: String
  private let names: (certificate: String, key: String)
  private let directory: LockedDirectory

  init(_ name: String, _ directory: LockedDirectory) {
    names = ("\(name).pem", "\(name)-key.pem")
    self.directory = directory
    (certificate, key) = ("\(directory.path)/\(names.certificate)", "\(directory.path)/\(names.key)")
  }

  func error(_ reason: String) -> TLSError {
    TLSError(
      description:
        "'\(certificate)' and '\(key)': \(reason). Restore both files, or delete both, and the server makes new ones")
  }

  /// - Returns: nil if there is neither file.
  func read() throws(TLSError) -> KeyedCertificate? {
    switch (try directory.read(names.certificate), try directory.read(names.key)) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      do throws(TLSError) {
        return try KeyedCertificate(certificate: certificate, key: key)
      } catch { throw self.error(error.description) }
    case (nil, _): throw error("the certificate is missing")
    case (_, nil): throw error("the key is missing")
    }
  }

  /// The key first: without its certificate it harms nothing.
  func write(_ made: KeyedCertificate) throws(TLSError) {
    try directory.write(made.keyPEM, to: names.key, mode: 0o600)
    try directory.write(made.certificatePEM, to: names.certificate, mode: 0o644)
  }
}
