/// Signs requests as the SDKs of AWS do, for tests, benchmarks and test rooms.
package struct AWSSigner: Sendable {
  package var accessKey: String
  package var secret: String
  package var region: String
  /// The signing name of the API: `chime` or `ivs`.
  package var service: String

  package init(accessKey: String, secret: String, region: String = "us-east-1", service: String) {
    (self.accessKey, self.secret, self.region, self.service) = (accessKey, secret, region, service)
  }

  /// Adds the date and the signature. The request needs a `Host`; headers with these names must not be there yet.
  package func sign(_ request: inout APIRequest, at now: APITime) {
    let time = now.iso8601Seconds.filter { $0 != "-" && $0 != ":" }
    let day = String(time.prefix(8))
    request.headers.append(("X-Amz-Date", time))
    let names = ["host", "x-amz-date"]
    let scope = "\(day)/\(region)/\(service)/aws4_request"
    guard
      let canonical = AWSSignature.canonicalRequest(
        request, signing: names, bodyHash: Digest.hex(Digest.sha256(request.body)))
    else { return }
    let text = AWSSignature.stringToSign(canonical, time: time, scope: scope)
    let signature = AWSSignature.sign(text, scope: scope, secret: secret)
    request.headers.append(
      (
        "Authorization",
        "\(AWSSignature.algorithm) Credential=\(accessKey)/\(scope), SignedHeaders=\(names.joined(separator: ";")), "
          + "Signature=\(signature)"
      ))
  }
}
