import KoineBase

/// A back end that calls an API of Azure Communication Services, authenticated by the HMAC scheme of access keys.
///
/// Source: "Sign an HTTP request" in the documentation of Azure Communication Services.
struct AzureCaller: Hashable, Sendable {
  /// The GUID of the resource, which is part of its users' ids.
  var resource: String

  /// The resource of servers without credentials.
  static let openResource = "00000000-0000-4000-8000-000000000000"
  /// Seconds by which the clock of a back end may differ.
  static let clockWindow: Int64 = 15 * 60

  /// Signed headers of a request; SDKs sign three.
  private static let signedHeaderLimit = 32

  private static let scheme = "HMAC-SHA256 "

  /// - Returns: nil for a request that is refused. The service says no more than that.
  static func authenticate(_ request: APIRequest, access: APIAccess, at now: APITime) -> AzureCaller? {
    guard let header = request.header("Authorization"), header.hasPrefix(scheme) else { return nil }
    var members: [Substring: Substring] = [:]
    for member in header.dropFirst(scheme.count).split(separator: "&") {
      let parts = member.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { members[parts[0]] = parts[1] }
    }
    guard let signed = members["SignedHeaders"]?.split(separator: ";").map({ $0.lowercased() }),
      let signature = members["Signature"], Base64.decode(signature.utf8)?.count == 32,
      signed.count <= signedHeaderLimit, Set(signed).count == signed.count,
      signed.contains("host"), signed.contains("x-ms-content-sha256"),
      let dateName = signed.first(where: { $0 == "x-ms-date" || $0 == "date" }),
      let date = request.header(dateName).flatMap({ APITime(httpDate: $0) }),
      abs(date.milliseconds - now.milliseconds) <= clockWindow * 1_000,
      let stated = request.header("x-ms-content-sha256"),
      Digest.isEqual(stated.utf8, Base64.encode(Digest.sha256(request.body)).utf8)
    else { return nil }
    var values: [String] = []
    for name in signed {
      guard let value = request.header(name) else { return nil }
      values.append(value)
    }
    switch access {
    case .closed: return nil
    case .open: return AzureCaller(resource: openResource)
    case .credentials(let credentials):
      guard !credentials.azure.isEmpty else { return nil }
      // Some of the SDKs sign the decoded form of a path that they send encoded.
      let targets = Set([request.target, PercentEncoding.decode(request.target) ?? request.target])
      let texts = targets.map { Array("\(request.method)\n\($0)\n\(values.joined(separator: ";"))".utf8) }
      for resource in credentials.azure {
        for key in resource.accessKeys.compactMap({ Base64.decode($0.utf8) }) {
          for text in texts
          where Digest.isEqual(Base64.encode(Digest.hmacSHA256(text, key: key)).utf8, signature.utf8) {
            return AzureCaller(resource: resource.resource.lowercased())
          }
        }
      }
      return nil
    }
  }
}
