import Testing

@testable import KoineVendorAPIs

/// Requests with a signature that is missing, malformed, wrong, old or for something else. None is executed.
@Suite struct AWSRefusalTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var status: Int
    var code: String
    var change: @Sendable (inout APIRequest) -> Void
    var testDescription: String { name }

    init(_ name: String, _ status: Int, _ code: String, _ change: @escaping @Sendable (inout APIRequest) -> Void) {
      (self.name, self.status, self.code, self.change) = (name, status, code, change)
    }
  }

  private static func replace(_ old: String, _ new: String) -> @Sendable (inout APIRequest) -> Void {
    { request in request.headers[2].value = request.headers[2].value.replacing(old, with: new) }
  }

  private static let wrong = "InvalidSignatureException"
  private static let incomplete = "IncompleteSignatureException"

  static let cases: [Case] = [
    Case("no header", 403, "MissingAuthenticationTokenException") { $0.headers.remove(at: 2) },
    Case("empty header", 400, incomplete) { $0.headers[2].value = "" },
    Case("bearer token", 400, incomplete) { $0.headers[2].value = "Bearer abc" },
    Case("asymmetric algorithm", 400, incomplete, replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")),
    Case("no credential", 400, incomplete, replace("Credential=", "Cred=")),
    Case("no list of headers", 400, incomplete, replace("SignedHeaders=", "Signed=")),
    Case("no signature", 400, incomplete, replace("Signature=", "Sig=")),
    Case("short scope", 400, incomplete, replace("/aws4_request", "")),
    Case("long scope", 400, incomplete, replace("/aws4_request", "/aws4_request/x")),
    Case("other ending of the scope", 400, incomplete, replace("aws4_request", "aws5_request")),
    Case("empty region", 400, incomplete, replace("us-east-1", "")),
    Case("host is not signed", 400, incomplete, replace("SignedHeaders=host;", "SignedHeaders=")),
    Case("signature of 63 digits", 400, incomplete) { $0.headers[2].value.removeLast() },
    Case("signature with other letters", 400, incomplete) {
      $0.headers[2].value = String($0.headers[2].value.dropLast(2)) + "zz"
    },
    Case("no date", 400, incomplete) { $0.headers.remove(at: 1) },
    Case("date that is none", 403, wrong) { $0.headers[1].value = "today" },
    Case("date of another day than the credential", 403, wrong) {
      $0.headers[1].value = "2020" + $0.headers[1].value.dropFirst(4)
    },
    Case("unknown access key", 403, "UnrecognizedClientException", replace("AKIDEXAMPLE", "AKIDOTHER")),
    Case("other region", 403, wrong, replace("us-east-1", "eu-west-1")),
    Case("other service", 403, "AccessDeniedException", replace("/chime/", "/s3/")),
    Case("header signed that is not there", 403, wrong, replace("host;x-amz-date", "host;x-amz-date;x-other")),
    Case("headers in another order", 403, wrong, replace("host;x-amz-date", "x-amz-date;host")),
    Case("other method", 403, wrong) { $0.method = "PUT" },
    Case("other path", 403, wrong) { $0.target = "/meetings/x/attendees?a=1&b=2" },
    Case("other query", 403, wrong) { $0.target = "/meetings?a=1&b=3" },
    Case("longer query", 403, wrong) { $0.target += "&c=3" },
    Case("query without its end", 403, wrong) { $0.target = "/meetings?a=1" },
    Case("other body", 403, wrong) { $0.body = Array("{ }".utf8) },
    Case("no body", 403, wrong) { $0.body = [] },
    Case("other host", 403, wrong) { $0.headers[0].value = "127.0.0.1:8081" },
    Case("host without port", 403, wrong) { $0.headers[0].value = "127.0.0.1" },
    Case("wrong hash of the body", 403, wrong) {
      $0.headers.append(("X-Amz-Content-Sha256", String(repeating: "0", count: 64)))
    },
    Case("one digit of the signature", 403, wrong) { request in
      let last = request.headers[2].value.last == "0" ? "1" : "0"
      request.headers[2].value = String(request.headers[2].value.dropLast()) + last
    },
  ]

  @Test(arguments: cases) func requestIsRefused(wrong: Case) async throws {
    let harness = try APIHarness()
    var request = harness.signedForAWS("POST", "/meetings?a=1&b=2", "{}")
    wrong.change(&request)
    let answer = await harness.apis.answer(request)
    #expect(answer.status == wrong.status)
    #expect(answer.header("x-amzn-ErrorType") == wrong.code)
    #expect(answer.header("x-amzn-RequestId") != nil)
    #expect(!answer.text.contains("secret\""))
  }

  @Test(arguments: [(-301, 403), (-299, 400), (299, 400), (301, 403)])
  func requestIsBelievedForFiveMinutes(seconds: Int64, status: Int) async throws {
    let harness = try APIHarness()
    let request = harness.signedForAWS("POST", "/meetings", "{}")
    harness.advance(seconds: seconds)
    #expect(await harness.apis.answer(request).status == status)
  }

  @Test func repeatedRequestWithinTheWindowIsExecutedOnceByItsToken() async throws {
    let harness = try APIHarness()
    let request = harness.signedForAWS(
      "POST", "/meetings", #"{"ClientRequestToken":"abc","MediaRegion":"us-east-1","ExternalMeetingId":"tea"}"#)
    let first = await harness.apis.answer(request)
    harness.advance(seconds: 100)
    #expect(await harness.apis.answer(request).body == first.body)
  }

  @Test func payloadThatIsNotSignedIsBelievedWhereTheClientSaysSo() async throws {
    let harness = try APIHarness()
    var request = harness.signedForAWS("POST", "/meetings", "{}")
    request.headers.append(("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"))
    // The signature covers the body's hash, which is another text now.
    #expect(await harness.apis.answer(request).status == 403)
  }
}
