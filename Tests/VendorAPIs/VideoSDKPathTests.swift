import Foundation
import KoineMedia
import KoineTokens
import Testing

@testable import KoineVendorAPIs

@Suite struct VideoSDKPathTests {
  /// The operations that the API's table says are refused.
  static let refused: [String] = {
    struct Table: Decodable {
      struct Row: Decodable {
        var request: String
        var status: String
      }
      var entries: [Row]
    }
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    guard let data = try? Data(contentsOf: root.appendingPathComponent("Docs/apis/videosdk.coverage.json")),
      let table = try? JSONDecoder().decode(Table.self, from: data)
    else { return [] }
    return table.entries.filter { $0.status == "refused" }.map(\.request)
  }()

  private let harness: APIHarness
  init() throws { harness = try APIHarness() }

  private func call(_ method: String, _ path: String) async throws -> APIResponse {
    let now = NumericDate(Double(harness.time.withLock { $0 }.seconds))
    let token = try VideoSDKToken(apiKey: "vsdk-key", issued: now, expires: now + 600)
      .signed(with: SigningKey(secret: Array(String(repeating: "s", count: 64).utf8)))
    return await harness.apis.answer(
      APIRequest(
        method: method, target: path, headers: [("Host", "127.0.0.1:8080"), ("Authorization", token)], body: []))
  }

  @Test func tableHasRefusedOperations() { #expect(Self.refused.count > 1) }

  @Test(arguments: refused) func pathThatIsNotServedIsNamed(request: String) async throws {
    let parts = request.replacingOccurrences(of: "[{][^}]*[}]", with: "x", options: .regularExpression).split(
      separator: " "
    ).map(String.init)
    let answer = try await call(parts[0], parts[1])
    #expect(answer.status == 400)
    #expect(answer.text.contains("\(request.split(separator: " ")[0]) \(parts[1]) is not served"))
    #expect(harness.log.withLock { $0.count } == 1)
  }

  @Test(arguments: ["/api/meetings", "/v1/meetings"]) func formerPathsCreateAndValidate(path: String) async throws {
    struct Made: Decodable { var meetingId: String }
    let made: Made = try await call("POST", path).decoded()
    #expect(try await (call("POST", "/api/meetings/\(made.meetingId)").decoded() as Made).meetingId == made.meetingId)
    #expect(try await call("POST", "/api/meetings/none").status == 400)
  }
}
