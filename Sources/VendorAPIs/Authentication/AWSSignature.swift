/// A request's signature of AWS's Signature Version 4, read from its `Authorization` header.
///
/// Source: "Signature Version 4" in the AWS IAM user guide.
struct AWSSignature {
  let accessKey: String
  /// As `20261125`.
  let date: String
  let region: String
  let service: String
  /// In lower case, in the order of the header.
  let signedHeaders: [String]
  let signature: String

  static let algorithm = "AWS4-HMAC-SHA256"

  /// - Throws: `AWSRefusal` for a header that is missing or not of this form.
  init(_ request: APIRequest) throws(AWSRefusal) {
    guard let header = request.header("Authorization") else { throw .missingToken }
    guard header.hasPrefix(Self.algorithm + " ") else { throw .incomplete("not a signature of \(Self.algorithm)") }
    var members: [Substring: Substring] = [:]
    for member in header.dropFirst(Self.algorithm.count + 1).split(separator: ",") {
      let parts = member.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { members[parts[0]] = parts[1].prefix { $0 != " " } }
    }
    guard let credential = members["Credential"] else { throw .incomplete("without Credential") }
    guard let signed = members["SignedHeaders"] else { throw .incomplete("without SignedHeaders") }
    guard let signature = members["Signature"] else { throw .incomplete("without Signature") }
    let scope = credential.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    guard scope.count == 5, scope[4] == "aws4_request", scope.allSatisfy({ !$0.isEmpty }) else {
      throw .incomplete("Credential is not KEY/DATE/REGION/SERVICE/aws4_request")
    }
    (accessKey, date, region, service) = (scope[0], scope[1], scope[2], scope[3])
    signedHeaders = signed.split(separator: ";").map { $0.lowercased() }
    self.signature = String(signature)
    guard signedHeaders.count <= 64, Set(signedHeaders).count == signedHeaders.count else {
      throw .incomplete("SignedHeaders has a name twice, or over 64 names")
    }
    guard signedHeaders.contains("host") else { throw .incomplete("Host is not signed") }
    guard signature.utf8.count == 64, signature.allSatisfy(\.isHexDigit) else {
      throw .incomplete("Signature is not 64 hexadecimal digits")
    }
  }

  /// Checks the signature with the secret of its access key.
  /// - Throws: `AWSRefusal.wrong` for another signature, a changed body and a wrong date.
  func check(_ request: APIRequest, secret: String, at now: APITime) throws(AWSRefusal) {
    let time = try checkDate(of: request, at: now)
    let bodyHash = Digest.hex(Digest.sha256(request.body))
    if let stated = request.header("x-amz-content-sha256"), stated != "UNSIGNED-PAYLOAD",
      !Digest.isEqual(stated.lowercased().utf8, bodyHash.utf8)
    {
      throw .wrong("x-amz-content-sha256 is not the hash of the body")
    }
    let statedHash = request.header("x-amz-content-sha256") == "UNSIGNED-PAYLOAD" ? "UNSIGNED-PAYLOAD" : bodyHash
    guard let canonical = Self.canonicalRequest(request, signing: signedHeaders, bodyHash: statedHash) else {
      throw .wrong("a signed header is missing")
    }
    let scope = "\(date)/\(region)/\(service)/aws4_request"
    let expected = Self.sign(Self.stringToSign(canonical, time: time, scope: scope), scope: scope, secret: secret)
    guard Digest.isEqual(expected.utf8, signature.lowercased().utf8) else {
      throw .wrong("the signature is another than calculated here; check the secret and the endpoint's host")
    }
  }

  /// Seconds by which the clock of a back end may differ.
  static let clockWindow: Int64 = 5 * 60

  /// - Returns: the time as the request states it.
  @discardableResult
  func checkDate(of request: APIRequest, at now: APITime) throws(AWSRefusal) -> String {
    guard let text = request.header("X-Amz-Date") else { throw .incomplete("without X-Amz-Date") }
    guard let time = APITime(amazonDate: text), text.hasPrefix(date) else {
      throw .wrong("X-Amz-Date is not a time of the credential's day")
    }
    guard abs(time.milliseconds - now.milliseconds) <= Self.clockWindow * 1_000 else {
      throw .wrong("X-Amz-Date is more than 5 minutes from the server's time \(now.iso8601Seconds)")
    }
    return text
  }

  static func stringToSign(_ canonicalRequest: String, time: String, scope: String) -> String {
    [algorithm, time, scope, Digest.hex(Digest.sha256(Array(canonicalRequest.utf8)))].joined(separator: "\n")
  }

  /// - Parameter scope: as `20261125/us-east-1/chime/aws4_request`. The signing key is a chain over its parts.
  static func sign(_ text: String, scope: String, secret: String) -> String {
    let key = scope.split(separator: "/").reduce(Array(("AWS4" + secret).utf8)) {
      Digest.hmacSHA256(Array($1.utf8), key: $0)
    }
    return Digest.hex(Digest.hmacSHA256(Array(text.utf8), key: key))
  }

  /// - Returns: nil if a signed header is missing.
  static func canonicalRequest(_ request: APIRequest, signing signedHeaders: [String], bodyHash: String) -> String? {
    var lines = [request.method, canonicalPath(request.path), canonicalQuery(request.query ?? "")]
    for name in signedHeaders {
      let values = request.headers.filter { HeaderName.isSame($0.name, name) }.map { trimmed($0.value) }
      guard !values.isEmpty else { return nil }
      lines.append(name + ":" + values.joined(separator: ","))
    }
    lines += ["", signedHeaders.joined(separator: ";"), bodyHash]
    return lines.joined(separator: "\n")
  }

  /// Each segment of the path as received is encoded once more.
  private static func canonicalPath(_ path: String) -> String {
    guard !path.isEmpty else { return "/" }
    return path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { PercentEncoding.encode(Substring($0)) }.joined(separator: "/")
  }

  private static func canonicalQuery(_ query: String) -> String {
    query.utf8.split(separator: UInt8(ascii: "&")).map { item in
      let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        .map { Substring($0) }
      let name = PercentEncoding.encode(PercentEncoding.decode(parts[0]) ?? String(parts[0]))
      let value = parts.count > 1 ? PercentEncoding.encode(PercentEncoding.decode(parts[1]) ?? String(parts[1])) : ""
      return (name, value)
    }
    .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// Without spaces at the ends, and with one space for several.
  private static func trimmed(_ value: String) -> String {
    value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { Substring($0) }
      .joined(separator: " ")
  }
}

/// Why a request is refused before its operation is looked at.
enum AWSRefusal: Error, Hashable {
  case missingToken
  case incomplete(String)
  case unknownKey
  case wrong(String)
  /// The APIs are closed, or the signature is for another service.
  case denied(String)

  var response: (status: Int, code: String, message: String) {
    switch self {
    case .missingToken: (403, "MissingAuthenticationTokenException", "Missing Authentication Token")
    case .incomplete(let reason): (400, "IncompleteSignatureException", "Authorization header: \(reason)")
    case .unknownKey:
      (403, "UnrecognizedClientException", "The security token included in the request is invalid.")
    case .wrong(let reason):
      (403, "InvalidSignatureException", "The request signature does not match: \(reason)")
    case .denied(let reason): (403, "AccessDeniedException", reason)
    }
  }
}

/// A back end that calls an API of AWS.
struct AWSCaller: Hashable, Sendable {
  var account: String
  var region: String
  var accessKey: String

  static let defaultAccount = "000000000000"

  /// Reads and checks a request's signature.
  /// - Parameters:
  ///   - services: the signing names that the request's path allows.
  ///   - keys: the credentials that may sign it.
  static func authenticate(
    _ request: APIRequest, for services: Set<String>, access: APIAccess, at now: APITime,
    keys: KeyPath<APICredentials, [APICredentials.AWSKey]> = \.aws
  ) throws(AWSRefusal) -> AWSCaller {
    let signature = try AWSSignature(request)
    guard services.contains(signature.service) else {
      throw .denied("the credential is scoped to the service '\(signature.service)'")
    }
    var account: String?
    switch access {
    case .closed: throw .denied("this server has no --api-credentials")
    case .open: try signature.checkDate(of: request, at: now)
    case .credentials(let credentials):
      guard let key = credentials[keyPath: keys].first(where: { $0.accessKeyId == signature.accessKey }) else {
        throw .unknownKey
      }
      try signature.check(request, secret: key.secretAccessKey, at: now)
      account = key.account
    }
    return AWSCaller(
      account: account ?? defaultAccount, region: signature.region, accessKey: signature.accessKey)
  }
}
