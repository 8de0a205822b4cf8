import KoineBase
import KoineJSONCodec
import KoineMedia
import KoineRouter
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// The APIs over a registry in memory, with a clock that a test sets, and a list of the commands that they give.
final class APIHarness: Sendable {
  /// Begins with the machine's time, by which the room server checks tokens.
  let time = Lock(APITime(milliseconds: Int64(NumericDate.ofSystemClock().seconds) * 1_000))
  let commands = Lock<[RoomRequest]>([])
  /// Runs before the next command is carried out, once.
  let beforeCommand = Lock<(@Sendable () async -> Void)?>(nil)
  let log = Lock<[String]>([])
  /// The events for back ends.
  let sent = Lock<[BackEndEvent]>([])
  let store: any RegistryStore
  let apis: VendorAPIs

  static let credentials = APICredentials(
    aws: [.init(accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret", account: "123456789012")],
    azure: [
      .init(
        resource: "5a1e7c3e-0000-4000-8000-00000000abcd",
        accessKeys: [
          Base64.encode(Array("primary key of the resource".utf8)), Base64.encode(Array("secondary key of it".utf8)),
        ])
    ],
    videosdk: [.init(apiKey: "vsdk-key", secret: String(repeating: "s", count: 64))])

  init(
    access: APIAccess = .credentials(credentials), settings: APISettings = APISettings(), keys: APITokenKeys? = nil,
    seed: UInt64 = 1, events: Set<BackEndEvent.Form> = [],
    store makeStore: (@escaping @Sendable () -> APITime) -> any RegistryStore = { MemoryRegistry(clock: $0) }
  ) throws {
    let (time, commands, log, beforeCommand) = (time, commands, log, beforeCommand)
    let clock: @Sendable () -> APITime = { time.withLock { $0 } }
    store = makeStore(clock)
    var configuration = VendorAPIs.Configuration(
      store: store, access: access, keys: try keys ?? .makeTemporary(), clock: clock,
      random: SeededRandom(seed: seed),
      execute: { request in
        let before = beforeCommand.withLock { before in
          defer { before = nil }
          return before
        }
        await before?()
        commands.withLock { $0.append(request) }
        return .success(.done)
      })
    configuration.settings = settings
    let sent = sent
    configuration.events = EventOutput(forms: events) { event in sent.withLock { $0.append(event) } }
    configuration.log = { line in log.withLock { $0.append(line) } }
    apis = VendorAPIs(configuration)
  }

  func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }

  /// The commands since the last call.
  func takeCommands() -> [RoomRequest] {
    commands.withLock { commands in
      defer { commands = [] }
      return commands
    }
  }

  /// Sends a request that is signed as AWS SDKs do it.
  func aws(
    _ method: String, _ target: String, _ body: String = "", service: String = "chime", region: String = "us-east-1",
    key: String = "AKIDEXAMPLE", secret: String = "secret"
  ) async -> APIResponse {
    await apis.answer(
      signedForAWS(method, target, body, service: service, region: region, key: key, secret: secret))
  }

  func signedForAWS(
    _ method: String, _ target: String, _ body: String = "", service: String = "chime", region: String = "us-east-1",
    key: String = "AKIDEXAMPLE", secret: String = "secret"
  ) -> APIRequest {
    var request = APIRequest(
      method: method, target: target, headers: [("Host", "127.0.0.1:8080")], body: Array(body.utf8))
    AWSSigner(accessKey: key, secret: secret, region: region, service: service)
      .sign(&request, at: time.withLock { $0 })
    return request
  }
}

extension APIResponse {
  /// The body as a type of the test's own.
  func decoded<Body: Decodable>(_ type: Body.Type = Body.self) throws -> Body {
    try JSONCodec.decode(type, from: body)
  }

  var text: String { String(decoding: body, as: UTF8.self) }
}
