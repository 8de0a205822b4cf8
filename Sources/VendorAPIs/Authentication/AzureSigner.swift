import KoineBase

/// Signs requests as the SDKs of Azure Communication Services do, for tests and test rooms.
package struct AzureSigner: Sendable {
  /// In base64.
  package var accessKey: String

  package init(accessKey: String) { self.accessKey = accessKey }

  /// Adds the date, the hash of the body and the signature. The request needs a `Host`; headers with these names must not be there yet.
  package func sign(_ request: inout APIRequest, at now: APITime) {
    guard let key = Base64.decode(accessKey.utf8), let host = request.header("Host") else { return }
    let (date, hash) = (now.httpDate, Base64.encode(Digest.sha256(request.body)))
    let text = "\(request.method)\n\(request.target)\n\(date);\(host);\(hash)"
    let signature = Base64.encode(Digest.hmacSHA256(Array(text.utf8), key: key))
    request.headers += [
      ("x-ms-date", date), ("x-ms-content-sha256", hash),
      ("Authorization", "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=\(signature)"),
    ]
  }
}
