import Dispatch
import KoineBase
import KoineJSONCodec
import KoineRouter
import KoineTokens

@testable import KoineVendorAPIs

// The vendors' HTTP APIs: requests of back ends, from the signature to the answer.

private let credentials = APICredentials(
  aws: [.init(accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret")],
  azure: [
    .init(resource: "5a1e7c3e-0000-4000-8000-00000000abcd", accessKeys: ["c2VjcmV0IGtleSBvZiB0aGUgcmVzb3VyY2U="])
  ],
  videosdk: [.init(apiKey: "vsdk", secret: String(repeating: "s", count: 64))],
  koine: [.init(accessKeyId: "KOINEEXAMPLE", secretAccessKey: "secret")])

private let start = APITime(milliseconds: 1_700_000_000_000)

/// The first byte says how the request is signed. Then, in lines, the method and the target; headers, with a colon each; an empty
/// line; and the body. The same servers answer all requests of one input, which are separated by the byte 0.
private enum Form: UInt8, CaseIterable { case asItIs, chime, ivs, open, azure, videosdk, koine }

func fuzzAPI(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first, let form = Form(rawValue: first % UInt8(Form.allCases.count)),
    let keys = try? APITokenKeys.makeTemporary()
  else { return }
  let apis = VendorAPIs(
    .init(
      store: MemoryRegistry { start }, access: form == .open ? .open : .credentials(credentials), keys: keys,
      clock: { start }, execute: { _ in .success(.done) }))
  for text in bytes.dropFirst().split(separator: 0, omittingEmptySubsequences: true).prefix(8) {
    var request = readRequest(Array(text))
    sign(&request, form)
    guard apis.owns(method: request.method, target: request.target) else { continue }
    check(wait { [request] in await apis.answer(request) }, to: request, form)
  }
}

/// Signs a request as an SDK does it, which does not write the headers of the signature twice.
private func sign(_ request: inout APIRequest, _ form: Form) {
  guard form != .asItIs, form != .open else { return }
  request.headers.removeAll { header in
    let name = header.name.lowercased()
    return name.hasPrefix("x-amz-") || name.hasPrefix("x-ms-") || name == "authorization" || name == "host"
  }
  request.headers.append(("Host", "localhost:8080"))
  switch form {
  case .asItIs, .open: break
  case .chime, .ivs, .koine:
    let (key, service) =
      form == .koine ? ("KOINEEXAMPLE", "koine") : ("AKIDEXAMPLE", form == .chime ? "chime" : "ivs")
    AWSSigner(accessKey: key, secret: "secret", service: service).sign(&request, at: start)
  case .azure:
    let values = [start.httpDate, "localhost:8080", Base64.encode(Digest.sha256(request.body))]
    let text = "\(request.method)\n\(request.target)\n\(values.joined(separator: ";"))"
    let key = Base64.decode(credentials.azure[0].accessKeys[0].utf8) ?? []
    let signature = Base64.encode(Digest.hmacSHA256(Array(text.utf8), key: key))
    request.headers += [
      ("x-ms-date", values[0]), ("x-ms-content-sha256", values[2]),
      ("Authorization", "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=\(signature)"),
    ]
  case .videosdk:
    let now = NumericDate(Double(start.seconds))
    let token = VideoSDKToken(apiKey: "vsdk", issued: now, expires: now + 600)
    guard let key = try? SigningKey(secret: Array(credentials.videosdk[0].secret.utf8), id: nil),
      let text = try? token.signed(with: key)
    else { return require(false, "a token can be signed") }
    request.headers.append(("Authorization", text))
  }
}

/// Lines: the method, the target, headers with a colon each, an empty line, and the body.
func readRequest(_ bytes: [UInt8]) -> APIRequest {
  var lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 40, omittingEmptySubsequences: false)[...]
  func text(_ line: ArraySlice<UInt8>?) -> String { String(decoding: line ?? [], as: UTF8.self) }
  var request = APIRequest(
    method: text(lines.popFirst()), target: text(lines.popFirst()), headers: [("Host", "localhost:8080")])
  while let line = lines.popFirst(), !line.isEmpty {
    let parts = text(line).split(separator: ":", maxSplits: 1).map { String($0) }
    if parts.count == 2 { request.headers.append((parts[0], parts[1])) }
  }
  request.body = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
  return request
}

private func check(_ answer: APIResponse, to request: APIRequest, _ form: Form) {
  require((200..<500).contains(answer.status), "\(answer.status) is an answer to a bad request, not to a bad server")
  require((answer.status == 204) == (answer.status == 204 && answer.body.isEmpty), "204 has no body")
  if answer.header("Content-Type")?.hasPrefix("application/json") == true {
    require((try? JSONCodec.decode(Anything.self, from: answer.body)) != nil, "the answer is JSON")
  }
  if form == .azure, request.target.hasPrefix("/identities") || request.target.hasPrefix("/rooms") {
    require(answer.status != 401, "what is signed here is verified here")
  }
  guard form == .chime || form == .ivs || form == .koine else { return }
  require(answer.header("x-amzn-ErrorType") != "InvalidSignatureException", "what is signed here is verified here")
}

private struct Anything: Decodable { init(from decoder: any Decoder) {} }

/// Nothing in these requests waits for anything outside.
private func wait(_ work: @escaping @Sendable () async -> APIResponse) -> APIResponse {
  let done = DispatchSemaphore(value: 0)
  let answer = Answer()
  Task {
    answer.value = await work()
    done.signal()
  }
  done.wait()
  return answer.value
}

/// `@unchecked Sendable`: read after the semaphore only.
private final class Answer: @unchecked Sendable { var value = APIResponse(status: 500) }

// MARK: Seeds

func apiSeeds() -> [[UInt8]] {
  let meeting =
    #"{"ClientRequestToken":"abc","MediaRegion":"us-east-1","ExternalMeetingId":"tea","MeetingFeatures":{"Attendee":{"MaxCount":2}},"Tags":[{"Key":"a","Value":"b"}]}"#
  let chime = [
    "POST\n/meetings\n\n" + meeting, "POST\n/meetings?operation=create-attendees\n\n" + meeting,
    "GET\n/meetings/01a2127b-91b1-7aab-9a60-c2db3c9d3c30\n\n",
    "POST\n/meetings/01a2127b-91b1-7aab-9a60-c2db3c9d3c30/attendees?operation=batch-create\n\n{\"Attendees\":[{\"ExternalUserId\":\"ana\",\"Capabilities\":{\"Audio\":\"Send\",\"Video\":\"None\",\"Content\":\"None\"}}]}",
    "GET\n/tags?arn=arn%3Aaws%3Achime%3Aus-east-1%3A000000000000%3Ameeting%2F01a2127b-91b1-7aab-9a60-c2db3c9d3c30\n\n",
    "POST\n/tags?operation=tag-resource\n\n{\"ResourceARN\":\"arn:aws:chime:x:y:meeting/z\",\"Tags\":[]}",
  ]
  let arn = "arn:aws:ivs:us-east-1:000000000000:stage/abcdefghijkl"
  let ivs = [
    #"{"name":"tea","participantTokenConfigurations":[{"userId":"ana","attributes":{"a":"b"},"capabilities":["PUBLISH"]}]}"#,
    #"{"stageArn":"\#(arn)","sessionId":"st-abcdefghijklm","participantId":"p","filterByState":"CONNECTED"}"#,
    #"{"publicKeyMaterial":"-----BEGIN PUBLIC KEY-----\nMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE\n-----END PUBLIC KEY-----"}"#,
    #"{"arn":"\#(arn)"}"#,
  ]
  let operations = ["CreateStage", "ListParticipants", "ImportPublicKey", "DeleteStage", "ListParticipantEvents"]
  var seeds = chime.map { [Form.chime.rawValue] + Array($0.utf8) }
  let (version, room) = ("?api-version=2023-10-01", "99000000000000001")
  let user = "8:acs:5a1e7c3e-0000-4000-8000-00000000abcd_01a2127b-91b1-7aab-9a60-c2db3c9d3c30"
  let azureBody = #"{"participants":{"\#(user)":{"role":"Presenter"}},"validUntil":"2023-12-01T00:00:00Z"}"#
  for text in [
    "POST\n/identities\(version)\n\n{\"createTokenWithScopes\":[\"voip\"],\"expiresInMinutes\":60}",
    "POST\n/identities/\(user)/:issueAccessToken\(version)\n\n{\"scopes\":[\"voip\"]}",
    "DELETE\n/identities/\(user)\(version)\n\n", "POST\n/rooms\(version)\n\n\(azureBody)", "GET\n/rooms\(version)\n\n",
    "PATCH\n/rooms/\(room)/participants\(version)\n\n\(azureBody)", "DELETE\n/rooms/\(room)\(version)\n\n",
  ] { seeds.append([Form.azure.rawValue] + Array(text.utf8)) }
  for text in [
    "POST\n/v2/rooms\n\n{\"customRoomId\":\"tea\"}", "GET\n/v2/rooms?page=1&perPage=2\n\n",
    "GET\n/v2/rooms/validate/tea\n\n", "POST\n/v2/sessions/end\n\n{\"roomId\":\"abcd-efgh-ijkl\"}",
    "POST\n/v2/rooms/deactivate\nContent-Type:application/x-www-form-urlencoded\n\nroomId=abcd-efgh-ijkl",
  ] { seeds.append([Form.videosdk.rawValue] + Array(text.utf8)) }
  let names = #"{"rooms":["tea","stage"]}"#
  for method in ["POST", "DELETE"] {
    seeds.append([Form.koine.rawValue] + Array("\(method)\n/koine/v1/links\n\n\(names)".utf8))
  }
  for operation in operations {
    for body in ivs { seeds.append([Form.ivs.rawValue] + Array("POST\n/\(operation)\n\n\(body)".utf8)) }
  }
  let authorization =
    "X-Amz-Date:20231114T221320Z\nAuthorization:AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/chime/aws4_request, SignedHeaders=host;x-amz-date, Signature="
    + String(repeating: "0", count: 64)
  let azure =
    "x-ms-date:Tue, 14 Nov 2023 22:13:20 GMT\nx-ms-content-sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nAuthorization:HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
  for form in [Form.asItIs, .open] {
    for headers in [authorization, azure] {
      seeds.append([form.rawValue] + Array("POST\n/meetings?a=%20b&c\n\(headers)\n\n\(meeting)".utf8))
      seeds.append([form.rawValue] + Array("POST\n/identities?api-version=2023-10-01\n\(headers)\n\n{}".utf8))
    }
  }
  return seeds
}
