import KoineBase
import KoineMedia
import Testing

@testable import KoineVendorAPIs

/// Requests of Azure's scheme with a signature that is missing, malformed, wrong, old or for something else. None is executed, and the
/// answer is the same for all, as the service's is.
@Suite struct AzureRefusalTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var change: @Sendable (inout APIRequest) -> Void
    var testDescription: String { name }

    init(_ name: String, _ change: @escaping @Sendable (inout APIRequest) -> Void) {
      (self.name, self.change) = (name, change)
    }
  }

  private static let names = ["x-ms-date", "host", "x-ms-content-sha256"]

  private static func set(_ name: String, _ value: String) -> @Sendable (inout APIRequest) -> Void {
    { request in
      for index in request.headers.indices where request.headers[index].name == name {
        request.headers[index].value = value
      }
    }
  }

  private static func remove(_ name: String) -> @Sendable (inout APIRequest) -> Void {
    { request in request.headers.removeAll { $0.name == name } }
  }

  private static func replace(_ old: String, _ new: String) -> @Sendable (inout APIRequest) -> Void {
    { request in
      for index in request.headers.indices where request.headers[index].name == "Authorization" {
        request.headers[index].value = request.headers[index].value.replacing(old, with: new)
      }
    }
  }

  static let cases: [Case] = [
    Case("no header", remove("Authorization")),
    Case("empty header", set("Authorization", "")),
    Case("bearer token", set("Authorization", "Bearer abc")),
    Case("scheme without members", set("Authorization", "HMAC-SHA256 ")),
    Case("other scheme", replace("HMAC-SHA256", "HMAC-SHA512")),
    Case("no list of headers", replace("SignedHeaders=", "Signed=")),
    Case("empty list of headers", replace(names.joined(separator: ";"), "")),
    Case("no signature", replace("Signature=", "Sig=")),
    Case(
      "signature of 3 bytes",
      set("Authorization", "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=AAAA")),
    Case("signature that is no Base64", replace("Signature=", "Signature=?")),
    Case("one letter of the signature") { request in
      for index in request.headers.indices where request.headers[index].name == "Authorization" {
        let parts = request.headers[index].value.split(separator: "&Signature=")
        let first = parts[1].hasPrefix("A") ? "B" : "A"
        request.headers[index].value = parts[0] + "&Signature=" + first + parts[1].dropFirst()
      }
    },
    Case("host is not signed", replace("x-ms-date;host;", "x-ms-date;")),
    Case("body is not signed", replace(";x-ms-content-sha256", "")),
    Case("date is not signed", replace("x-ms-date;", "")),
    Case("headers in another order", replace("x-ms-date;host", "host;x-ms-date")),
    Case("header signed twice", replace("x-ms-date;host", "x-ms-date;host;host")),
    Case("header signed that is not there", replace("x-ms-date;host", "x-ms-date;host;x-other")),
    Case("more headers than anyone signs", replace("host;", "host;" + (1...40).map { "x-\($0);" }.joined())),
    Case("no date", remove("x-ms-date")),
    Case("date that is none", set("x-ms-date", "yesterday")),
    Case("empty date", set("x-ms-date", "")),
    Case("date of another year", set("x-ms-date", "Wed, 01 Jan 2020 00:00:00 GMT")),
    Case("no hash of the body", remove("x-ms-content-sha256")),
    Case("hash of another body", set("x-ms-content-sha256", Base64.encode(Digest.sha256([1])))),
    Case("hash in hexadecimal digits", set("x-ms-content-sha256", String(repeating: "0", count: 64))),
    Case("other body") { $0.body = Array("{ }".utf8) },
    Case("no body") { $0.body = [] },
    Case("other method") { $0.method = "PUT" },
    Case("other path") { $0.target = "/rooms?api-version=2023-10-01" },
    Case("other query") { $0.target = "/identities?api-version=2023-10-02" },
    Case("longer query") { $0.target += "&a=1" },
    Case("no query") { $0.target = "/identities" },
    Case("other host", set("host", "other:8080")),
    Case("host without port", set("host", "127.0.0.1")),
    Case("no host", remove("host")),
  ]

  private func expectRefusal(_ request: APIRequest, by harness: APIHarness) async {
    let answer = await harness.apis.answer(request)
    #expect(answer.status == 401)
    #expect(answer.header("WWW-Authenticate") == "HMAC-SHA256, Bearer")
    #expect(answer.text.contains(#""code":"Denied""#))
  }

  @Test(arguments: cases) func requestWithAWrongSignatureIsRefused(wrong: Case) async throws {
    let harness = try APIHarness()
    var request = harness.signedForAzure("POST", "/identities?api-version=2023-10-01", "{}")
    wrong.change(&request)
    await expectRefusal(request, by: harness)
  }

  @Test func requestWithAnotherKeyIsRefused() async throws {
    let harness = try APIHarness()
    let request = harness.signedForAzure("POST", "/identities?api-version=2023-10-01", "{}", key: Array("other".utf8))
    await expectRefusal(request, by: harness)
  }

  @Test(arguments: [(-901, 401), (-899, 201), (899, 201), (901, 401)])
  func requestIsBelievedForFifteenMinutes(seconds: Int64, status: Int) async throws {
    let harness = try APIHarness()
    let request = harness.signedForAzure("POST", "/identities?api-version=2023-10-01", "{}")
    harness.advance(seconds: seconds)
    #expect(await harness.apis.answer(request).status == status)
  }
}
