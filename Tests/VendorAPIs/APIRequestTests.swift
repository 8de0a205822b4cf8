import KoineVendorAPIs
import Testing

@Suite struct APIRequestTests {
  @Test func targetIsSplitIntoPathAndQuery() {
    let request = APIRequest(method: "GET", target: "/tags/arn%3Aaws?tagKeys=a&tagKeys=b%20c")
    #expect(request.path == "/tags/arn%3Aaws")
    #expect(request.query == "tagKeys=a&tagKeys=b%20c")
    #expect(APIRequest(method: "GET", target: "/meetings").query == nil)
  }

  @Test func headersAreFoundInAnyCaseOfLetters() {
    let request = APIRequest(method: "GET", target: "/", headers: [("X-Amz-Date", "20261125T000000Z")])
    #expect(request.header("x-amz-date") == "20261125T000000Z")
    #expect(request.header("Authorization") == nil)
  }
}
