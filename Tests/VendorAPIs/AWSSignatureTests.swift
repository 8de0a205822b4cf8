import KoineMedia
import Testing

@testable import KoineVendorAPIs

@Suite struct AWSSignatureTests {
  /// A request of the vendor's documentation ("GET Object" of the signing examples has the same steps): checked with botocore in
  /// Scripts/check-apis; here the rules that botocore exercises rarely.
  @Test func pathIsEncodedOnceMoreAndQueryIsSorted() throws {
    let request = APIRequest(
      method: "DELETE", target: "/tags/arn%3Aaws%3Aivs%2Fabc?tagKeys=b%20c&tagKeys=a&flag",
      headers: [
        ("Host", "127.0.0.1:8080"), ("X-Amz-Date", "20261125T100000Z"),
        ("X-Note", "  two   words "),
        (
          "Authorization",
          "AWS4-HMAC-SHA256 Credential=K/20261125/eu-west-1/ivs/aws4_request,SignedHeaders=host;x-note,Signature="
            + String(repeating: "a", count: 64)
        ),
      ])
    let signature = try AWSSignature(request)
    #expect(signature.region == "eu-west-1")
    #expect(
      AWSSignature.canonicalRequest(request, signing: signature.signedHeaders, bodyHash: "HASH")
        == "DELETE\n/tags/arn%253Aaws%253Aivs%252Fabc\nflag=&tagKeys=a&tagKeys=b%20c\nhost:127.0.0.1:8080\n"
        + "x-note:two words\n\nhost;x-note\nHASH")
  }

  @Test(arguments: [
    ("", AWSRefusal.missingToken), ("Bearer x", .incomplete("not a signature of AWS4-HMAC-SHA256")),
    ("AWS4-HMAC-SHA256 Credential=K/1/r/s/aws4_request", .incomplete("without SignedHeaders")),
  ])
  func malformedHeaderIsRefused(header: String, refusal: AWSRefusal) {
    let headers = header.isEmpty ? [] : [(name: "Authorization", value: header)]
    #expect(throws: refusal) { try AWSSignature(APIRequest(method: "GET", target: "/", headers: headers)) }
  }

  @Test func changedRequestsAreRefusedWithTheServicesCodes() async throws {
    let harness = try APIHarness()
    func code(_ change: (inout APIRequest) -> Void) async -> String? {
      var request = harness.signedForAWS("GET", "/meetings/x?a=1")
      change(&request)
      return await harness.apis.answer(request).header("x-amzn-ErrorType")
    }
    #expect(await code { _ in } == "BadRequestException")
    #expect(await code { $0.body = [1] } == "InvalidSignatureException")
    #expect(await code { $0.target += "2" } == "InvalidSignatureException")
    #expect(await code { $0.method = "DELETE" } == "InvalidSignatureException")
    #expect(await code { $0.headers[0].value = "other" } == "InvalidSignatureException")
    #expect(await code { $0.headers[1].value = "20261125T100001Z" } == "InvalidSignatureException")
    #expect(await code { $0.headers.remove(at: 2) } == "MissingAuthenticationTokenException")
    harness.advance(seconds: 301)
    let old = harness.signedForAWS("GET", "/meetings/x")
    harness.advance(seconds: 301)
    #expect(await harness.apis.answer(old).header("x-amzn-ErrorType") == "InvalidSignatureException")
    #expect(
      await harness.aws("GET", "/meetings/x", key: "OTHER").header("x-amzn-ErrorType") == "UnrecognizedClientException")
    #expect(await harness.aws("GET", "/meetings/x", secret: "wrong").status == 403)
    #expect(
      await harness.aws("GET", "/meetings/x", service: "ivs").header("x-amzn-ErrorType") == "AccessDeniedException")
  }

  @Test func openServerBelievesAWellFormedSignatureOnly() async throws {
    let harness = try APIHarness(access: .open)
    #expect(
      await harness.aws("GET", "/meetings/x", secret: "anything").header("x-amzn-ErrorType") == "BadRequestException")
    #expect(await harness.apis.answer(APIRequest(method: "GET", target: "/meetings/x")).status == 403)
  }

  @Test func closedServerAnswersForbidden() async throws {
    let harness = try APIHarness(access: .closed)
    #expect(await harness.aws("GET", "/meetings/x").status == 403)
  }
}
