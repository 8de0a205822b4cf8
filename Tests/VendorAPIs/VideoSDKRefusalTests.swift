import KoineBase
import KoineMedia
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Requests that VideoSDK's API refuses: with their tokens, and with the bodies of its errors.
@Suite struct VideoSDKRefusalTests {
  private struct ErrorBody: Decodable {
    var error: String
    var statusCode: Int
  }

  private let calls: VideoSDKCalls
  init() throws { calls = try VideoSDKCalls() }

  // MARK: Tokens

  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    /// Makes the header of a good token, or of its three parts.
    var change: @Sendable (VideoSDKCalls) throws -> String
    var testDescription: String { name }

    init(_ name: String, _ change: @escaping @Sendable (VideoSDKCalls) throws -> String) {
      (self.name, self.change) = (name, change)
    }

    /// With other claims, in JSON, signed by the key's secret.
    static func claims(_ name: String, _ claims: @escaping @Sendable (_ now: Int) -> String) -> Case {
      Case(name) { calls in
        try sign(#"{"alg":"HS256","typ":"JWT"}"#, claims(Int(calls.now.seconds)))
      }
    }

    static func sign(_ header: String, _ claims: String, secret: String = VideoSDKCalls.Key.first.secret) throws
      -> String
    {
      let text = encodeURL(Array(header.utf8)) + "." + encodeURL(Array(claims.utf8))
      return text + "." + encodeURL(Digest.hmacSHA256(Array(text.utf8), key: Array(secret.utf8)))
    }

    static func parts(_ name: String, _ change: @escaping @Sendable (inout [String]) -> Void) -> Case {
      Case(name) { calls in
        var parts = try calls.token().split(separator: ".").map(String.init)
        change(&parts)
        return parts.joined(separator: ".")
      }
    }

    static func flip(_ part: Int) -> @Sendable (inout [String]) -> Void {
      { parts in
        var text = Array(parts[part])
        let middle = text.count / 2
        text[middle] = text[middle] == "A" ? "B" : "A"
        parts[part] = String(text)
      }
    }
  }

  private static let good = #""apikey":"vsdk-key","permissions":["allow_join"],"version":2"#

  static let cases: [Case] = [
    Case("empty") { _ in "" },
    Case("Bearer without a token") { _ in "Bearer " },
    Case("text") { _ in "nonsense" },
    Case("API key instead of a token") { _ in "vsdk-key" },
    Case("secret instead of a token") { _ in VideoSDKCalls.Key.first.secret },
    Case("Basic") { _ in "Basic dnNkay1rZXk6c2VjcmV0" },
    Case("another scheme with a good token") { try "Token " + $0.token() },
    Case("wrong secret") { try $0.token(secret: String(repeating: "x", count: 64)) },
    Case("secret of another key") { try $0.token(secret: VideoSDKCalls.Key.second.secret) },
    Case("secret with one letter less") { try $0.token(secret: String(VideoSDKCalls.Key.first.secret.dropLast())) },
    Case("empty claims' key with the secret") { _ in
      try Case.sign(#"{"alg":"HS256","typ":"JWT"}"#, #"{"apikey":"","permissions":["allow_join"]}"#)
    },
    Case("unknown key") { try $0.token(of: .init(apiKey: "other", secret: VideoSDKCalls.Key.first.secret)) },
    Case("key in another case") { try $0.token(of: .init(apiKey: "VSDK-KEY", secret: VideoSDKCalls.Key.first.secret)) },
    Case("for rooms only") { try $0.token(roles: [.rtc]) },
    .claims("no roles at all") { "{\(good),\"roles\":[],\"exp\":\($0 + 600)}" },
    Case("expired a second ago") { try $0.token(expires: -1) },
    Case("expired a day ago") { try $0.token(expires: -86_400) },
    .claims("expires at its issue") { "{\(good),\"iat\":\($0),\"exp\":\($0)}" },
    .claims("not valid yet") { "{\(good),\"nbf\":\($0 + 600),\"exp\":\($0 + 1_200)}" },
    .claims("no key") { #"{"permissions":["allow_join"],"exp":\#($0 + 600)}"# },
    .claims("key that is a number") { #"{"apikey":7,"permissions":["allow_join"],"exp":\#($0 + 600)}"# },
    .claims("end that is a text") { "{\(good),\"exp\":\"\($0 + 600)\"}" },
    .claims("claims that are a list") { "[\($0)]" },
    .claims("claims that are cut") { "{\(good),\"exp\":\($0 + 600)" },
    Case("algorithm none") { calls in
      let now = Int(calls.now.seconds)
      let text = [#"{"alg":"none","typ":"JWT"}"#, "{\(good),\"exp\":\(now + 600)}"].map {
        encodeURL(Array($0.utf8))
      }
      return text.joined(separator: ".") + "."
    },
    Case("algorithm none with a signature") { calls in
      try Case.sign(#"{"alg":"none","typ":"JWT"}"#, "{\(good),\"exp\":\(Int(calls.now.seconds) + 600)}")
    },
    Case("algorithm RS256 with an HMAC") { calls in
      try Case.sign(#"{"alg":"RS256","typ":"JWT"}"#, "{\(good),\"exp\":\(Int(calls.now.seconds) + 600)}")
    },
    Case("algorithm HS512") { calls in
      try Case.sign(#"{"alg":"HS512","typ":"JWT"}"#, "{\(good),\"exp\":\(Int(calls.now.seconds) + 600)}")
    },
    .parts("altered header", Case.flip(0)),
    .parts("altered claims", Case.flip(1)),
    .parts("altered signature", Case.flip(2)),
    .parts("claims of a longer token") { parts in
      let later = #"{"apikey":"vsdk-key","permissions":["allow_mod"],"exp":4102444800}"#
      parts[1] = encodeURL(Array(later.utf8))
    },
    .parts("no signature") { $0[2] = "" },
    .parts("two parts") { $0.removeLast() },
    .parts("four parts") { $0.append($0[2]) },
    .parts("signature in another alphabet") { $0[2] = String($0[2].dropLast(2)) + "+/" },
    .parts("shortened signature") { $0[2] = String($0[2].prefix(20)) },
  ]

  @Test(arguments: cases) func requestWithAWrongTokenIsRefused(wrong: Case) async throws {
    let room = try await calls.makeRoom().roomId
    let token = try wrong.change(calls)
    let deactivation = #"{"roomId":"\#(room)"}"#
    for (method, target, body) in [("GET", "/v2/rooms", ""), ("POST", "/v2/rooms/deactivate", deactivation)] {
      let answer = try await calls.send(method, target, body, token: token)
      #expect(answer.status == 401, "\(answer.text)")
      let error = try answer.decoded(ErrorBody.self)
      #expect(error.error.hasPrefix("Token is "))
      #expect(error.statusCode == 401)
      #expect(!answer.text.contains(VideoSDKCalls.Key.first.secret))
    }
    #expect(calls.harness.takeCommands().isEmpty)
    #expect(try await !calls.call("GET", "/v2/rooms/\(room)", as: VideoSDKCalls.Room.self).disabled)
  }

  @Test func requestWithoutATokenIsRefusedWhateverIsBelieved() async throws {
    for access in [APIAccess.closed, .open, .credentials(APIHarness.credentials)] {
      let harness = try APIHarness(access: access)
      let answer = await harness.apis.answer(APIRequest(method: "GET", target: "/v2/rooms?authorization=x"))
      #expect(answer.status == 401)
      #expect(try answer.decoded(ErrorBody.self).error == "Token is missing")
    }
  }

  @Test func openServerStillRefusesWhatIsNoTokenOrHasExpired() async throws {
    let harness = try APIHarness(access: .open)
    func status(_ token: String) async -> Int {
      await harness.apis.answer(APIRequest(method: "GET", target: "/v2/rooms", headers: [("Authorization", token)]))
        .status
    }
    #expect(await status(try calls.token(secret: String(repeating: "x", count: 64))) == 200)
    #expect(await status(try calls.token(expires: -1)) == 401)
    #expect(await status("nonsense") == 401)
  }

  @Test func tokenWithAndWithoutBearerIsBelieved() async throws {
    let crawler = try Case.sign(
      #"{"alg":"HS256","typ":"JWT"}"#, "{\(Self.good),\"roles\":[\"crawler\"],\"exp\":\(Int(calls.now.seconds) + 600)}")
    #expect(try await calls.send("GET", "/v2/rooms", token: crawler).status == 200)
    #expect(try await calls.send("GET", "/v2/rooms/", token: "Bearer " + crawler).status == 200)
    #expect(try await calls.send("GET", "/v2/rooms/", token: "bearer " + crawler).status == 200)
  }

  @Test func roomsOfAnotherKeyAreNotThereOnAnOpenServer() async throws {
    let room = try await calls.makeRoom()
    let open = try APIHarness(access: .open) { [store = calls.harness.store] _ in store }
    let other = try calls.token(of: .init(apiKey: "other", secret: VideoSDKCalls.Key.first.secret))
    let request = APIRequest(
      method: "GET", target: "/v2/rooms/\(room.roomId)", headers: [("Authorization", other)])
    #expect(await open.apis.answer(request).status == 404)
  }

  // MARK: Error bodies

  @Test(arguments: [
    ("POST", "/v2/rooms", #"{"customRoomId":""}"#, 400, "customRoomId"),
    ("POST", "/v2/rooms", #"{"customRoomId":7}"#, 400, ""),
    ("POST", "/v2/rooms", "{", 400, ""),
    ("POST", "/v2/rooms", #"{"autoCloseConfig":{"type":"never"}}"#, 400, "autoCloseConfig"),
    ("POST", "/v2/rooms", #"{"autoCloseConfig":{"type":"session-ends","duration":0}}"#, 400, "autoCloseConfig"),
    ("POST", "/v2/rooms", #"{"autoStartConfig":{"recording":{"config":{"theme":"RED"}}}}"#, 400, "theme"),
    (
      "POST", "/v2/rooms", #"{"autoStartConfig":{"hls":{"transcription":{"enabled":true}}}}"#, 400, "transcription"
    ),
    ("POST", "/v2/rooms", #"{"webhook":{"endPoint":"ftp://a","events":["*"]}}"#, 400, "webhook.endPoint"),
    ("POST", "/v2/rooms", #"{"webhook":{"endPoint":"https://a/b","events":[]}}"#, 400, "webhook.events"),
    ("GET", "/v2/rooms/validate/none", "", 400, "Room not found"),
    ("GET", "/v2/rooms/none", "", 404, "Room not found"),
    ("GET", "/v2/rooms?page=0", "", 400, "page"),
    ("GET", "/v2/rooms?perPage=101", "", 400, "perPage"),
    ("POST", "/v2/rooms/deactivate", "", 400, "roomId is missing"),
    ("POST", "/v2/rooms/deactivate", #"{"roomId":"standup"}"#, 402, "Room not found"),
    ("GET", "/v2/sessions/none", "", 404, "Session not found"),
    ("GET", "/v2/sessions/none/participants", "", 404, "Session not found"),
    ("GET", "/v2/sessions?status=open", "", 400, "status"),
    ("GET", "/v2/sessions?startDate=today", "", 400, "startDate"),
    ("GET", "/v2/sessions?customRoomId=none", "", 404, "Room not found"),
    ("POST", "/v2/sessions/end", "", 400, "roomId is missing"),
    ("POST", "/v2/sessions/end", #"{"roomId":"standup"}"#, 404, "No active session"),
    ("POST", "/v2/sessions/participants/remove", #"{"roomId":"standup"}"#, 400, "participantId is missing"),
    ("POST", "/v2/recordings/start", #"{"roomId":"standup"}"#, 400, "No active session"),
    ("POST", "/v2/recordings/start", #"{"roomId":"standup","templateUrl":"https://a/b"}"#, 400, "templateUrl"),
    ("POST", "/v2/recordings/start", #"{"roomId":"standup","config":{"mode":"video"}}"#, 400, "mode"),
    ("POST", "/v2/recordings/end", "{}", 400, "roomId is missing"),
    ("GET", "/v2/recordings/none", "", 404, "Recording not found"),
    ("POST", "/v2/hls/start", #"{"roomId":"standup"}"#, 400, "POST /v2/hls/start is not served here"),
    ("DELETE", "/v2/rooms/%ff", "", 400, "the path cannot be decoded"),
  ]) func errorsHaveTheVendorsBody(
    method: String, target: String, body: String, status: Int, text: String
  ) async throws {
    _ = try await calls.makeRoom(#"{"customRoomId":"standup"}"#)
    let answer = try await calls.send(method, target, body)
    #expect(answer.status == status)
    #expect(answer.header("Content-Type")?.hasPrefix("application/json") == true)
    #expect(answer.header("Access-Control-Allow-Origin") == "*")
    let error = try answer.decoded(ErrorBody.self)
    #expect(error.error.contains(text), "\(error.error)")
    #expect(error.statusCode == status)
    #expect(calls.harness.takeCommands().isEmpty)
  }

  @Test func registryThatCannotBeWrittenAnswers503() async throws {
    let store = FaultyRegistry(MemoryRegistry(clock: { APITime(milliseconds: 0) }), seed: 1, failures: 0)
    let calls = try VideoSDKCalls(store: store)
    store.failNextWrite(.before, to: "videosdk/")
    let answer = try await calls.send("POST", "/v2/rooms")
    #expect(answer.status == 503)
    #expect(try answer.decoded(ErrorBody.self).statusCode == 503)
    #expect(try await calls.send("POST", "/v2/rooms").status == 200)
  }
}

/// Base64 as JSON Web Tokens have it (RFC 7515 section 2).
private func encodeURL(_ bytes: [UInt8]) -> String {
  Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}
