import Dispatch
import KoineJSONCodec
import KoineRouter
import KoineVendorAPIs

// The vendors' HTTP APIs: requests of back ends, from the signature to the answer.

private let credentials = APICredentials(
  aws: [.init(accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret")],
  azure: [
    .init(resource: "5a1e7c3e-0000-4000-8000-00000000abcd", accessKeys: ["c2VjcmV0IGtleSBvZiB0aGUgcmVzb3VyY2U="])
  ],
  videosdk: [.init(apiKey: "vsdk", secret: String(repeating: "s", count: 64))])

private let start = APITime(milliseconds: 1_700_000_000_000)

/// The first byte says how the request is signed. Then, in lines, the method and the target; headers, with a colon each; an empty
/// line; and the body. The same servers answer all requests of one input, which are separated by the byte 0.
private enum Form: UInt8, CaseIterable { case asItIs, chime, ivs, open }

func fuzzAPI(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first, let form = Form(rawValue: first % UInt8(Form.allCases.count)),
    let keys = try? APITokenKeys.makeTemporary()
  else { return }
  let apis = VendorAPIs(
    .init(
      store: MemoryRegistry { start }, access: form == .open ? .open : .credentials(credentials), keys: keys,
      clock: { start }, execute: { _ in .success(.done) }))
  for text in bytes.dropFirst().split(separator: 0, omittingEmptySubsequences: true).prefix(8) {
    var request = read(Array(text))
    if form == .chime || form == .ivs {
      // Signed as an SDK does it, which does not write these headers twice.
      request.headers.removeAll { header in
        let name = header.name.lowercased()
        return name.hasPrefix("x-amz-") || name == "authorization" || name == "host"
      }
      request.headers.append(("Host", "localhost:8080"))
      AWSSigner(accessKey: "AKIDEXAMPLE", secret: "secret", service: form == .chime ? "chime" : "ivs")
        .sign(&request, at: start)
    }
    guard apis.owns(method: request.method, target: request.target) else { continue }
    check(wait { [request] in await apis.answer(request) }, to: request, form)
  }
}

private func read(_ bytes: [UInt8]) -> APIRequest {
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
  guard form == .chime || form == .ivs else { return }
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
