import Glibc

/// The DNS names and numeric addresses that a certificate is issued for, each once and in order.
package struct CertificateNames: Hashable, Sendable, CustomStringConvertible {
  private let names, addresses: [String]

  /// - Parameter texts: DNS names and numeric addresses. Texts that are neither are left out.
  package init(_ texts: [String]) {
    let addresses = texts.map(Self.address)
    self.addresses = Set(addresses.compactMap(\.self)).sorted()
    names = Set(zip(texts, addresses).filter { $1 == nil && Self.isName($0) }.map { $0.0.lowercased() }).sorted()
  }

  /// This machine's names: its whole name, and its name without the domain.
  package static var machine: [String] {
    let name = KeyedCertificate.machineName
    return [name, String(name.prefix { $0 != "." })]
  }

  package var description: String { (names + addresses).joined(separator: ", ") }

  /// `subjectAltName`, as OpenSSL reads it.
  var alternativeNames: String { (names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }).joined(separator: ",") }

  /// `nameConstraints`, as OpenSSL reads it. A DNS name by itself permits all names below it (RFC 5280 section 4.2.1.10), so these are
  /// excluded: otherwise the authority of a machine with the name `dev` could issue certificates for the whole domain `dev`.
  var constraints: String {
    let permitted = names.map { "permitted;DNS:\($0)" } + addresses.map { "permitted;IP:\($0)/\(Self.wholeMask($0))" }
    return (permitted + names.map { "excluded;DNS:.\($0)" }).joined(separator: ",")
  }

  private static func wholeMask(_ address: String) -> String {
    address.contains(":") ? Array(repeating: "ffff", count: 8).joined(separator: ":") : "255.255.255.255"
  }

  /// - Returns: the address in its usual form; nil for a text that is none.
  private static func address(_ text: String) -> String? {
    for family in [AF_INET, AF_INET6] {
      var bytes = [UInt8](repeating: 0, count: 16)
      var written = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      guard inet_pton(family, text, &bytes) == 1,
        inet_ntop(family, bytes, &written, socklen_t(written.count)) != nil
      else { continue }
      return String(decoding: written.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return nil
  }

  private static func isName(_ text: String) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    return text.utf8.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.utf8.count)
          && label.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
              UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
              true
            default: false
            }
          }
      }
  }
}
