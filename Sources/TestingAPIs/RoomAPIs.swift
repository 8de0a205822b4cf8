import Foundation
import Koine
import KoineBase
import KoineEmbeddedBackend
import KoineRouter
import KoineServer
import KoineTesting
import KoineTokens
import KoineVendorAPIs

/// The vendors' HTTP APIs of one test room.
final class RoomAPIs: RoomPart {
  private struct WeakRoom { weak var room: TestRoom? }

  private static let region = "us-east-1"
  /// Names under which requests without a port reach the API.
  private static let host = "localhost"

  private let apis: Result<VendorAPIs, any Error>
  private let credentials: APICredentials
  private let clock: @Sendable () -> APITime
  private let hold: TimeHold
  private let lane: Lane
  private let room: Lock<WeakRoom>
  /// The names by which apps' objects find the room; nil: the room has ended.
  private let names = Lock<Set<String>?>([])
  private let served = Lock<URL?>(nil)

  // The ports are a part of their own.
  var isReachable: Bool { false }

  init(_ room: TestRoom) {
    hold = room.timeHold
    lane = room.scheduler.lane("HTTP APIs")
    self.room = Lock(WeakRoom(room: room))
    var credentials = APICredentials.make()
    // Apps' tokens of this style are the same in all test rooms.
    credentials.videosdk = [.init(apiKey: ListenerCredential.apiKey, secret: ListenerCredential.secret)]
    self.credentials = credentials
    let (scheduler, start) = (room.scheduler, room.scheduler.now)
    let began = Int64(NumericDate.ofSystemClock().seconds * 1_000)
    let clock: @Sendable () -> APITime = {
      APITime(milliseconds: began + Int64((scheduler.now - start).inSeconds * 1_000))
    }
    self.clock = clock
    apis = Result { [credentials, backend = room.backend] in
      VendorAPIs(
        VendorAPIs.Configuration(
          store: MemoryRegistry(clock: clock), access: .credentials(credentials), keys: try .makeTemporary(),
          clock: clock,
          execute: { [weak backend] request in
            guard let backend else { return .failure(RoomControlError(.unavailable, "the room has ended")) }
            return await TestRoom.expectingCalls { await backend.execute(request) }
          }))
    }
    guard let apis = try? apis.get() else { return }
    var hooks = apis.hooks
    hooks.roomEvent = { [hold] event in
      // Time waits until the event is in the registry.
      let span = hold.begin()
      apis.observe(event)
      Task {
        await apis.settle()
        span.end()
      }
    }
    room.backend.use(EmbeddedBackend.ControlPlane(hooks: hooks, authorization: { apis.authorization(after: $0) }))
    apis.rules.observeRooms { [weak self] name in self?.register(name) }
    for resource in credentials.azure {
      register(resource.resource) { "8:acs:\(resource.resource)_\($0)" }
    }
    TestRoom.expectingCalls { waitForTimeout(apis) }
  }

  // MARK: The room

  /// Has objects of apps that are made for a room of a back end belong to the test room.
  /// - Parameters:
  ///   - name: the room, or the resource of users.
  ///   - fullID: the id of a participant with an id within `name`.
  private func register(
    _ name: String, fullID: @escaping @Sendable (Participant.ID) -> Participant.ID = { $0 }
  ) {
    names.withLock { names in
      guard names?.insert(name).inserted == true else { return }
      World.register(room: name) { [weak self] participant in
        self?.room.withLock { $0.room }?.world(ofBackEndsParticipant: participant.map(fullID))
      }
    }
  }

  func roomEnds() {
    let names = names.withLock { names in
      defer { names = nil }
      return names ?? []
    }
    for name in names { World.unregister(room: name) }
  }

  /// Does what is due in the registry, every second of the room's time.
  private func waitForTimeout(_ apis: VendorAPIs) {
    lane.post(at: lane.scheduler.now + .seconds(1)) { [weak self] in
      guard let self else { return }
      let span = hold.begin()
      waitForTimeout(apis)
      Task {
        await apis.handleTimeout()
        span.end()
      }
    }
  }

  private func openRoom() throws -> TestRoom {
    guard let room = room.withLock({ $0.room }) else { throw TestHTTPError(description: "the room has ended") }
    return room
  }

  // MARK: Requests

  nonisolated(nonsending) func send(
    _ request: TestHTTPRequest, to vendor: TestAPI.Vendor
  ) async throws -> TestHTTPResponse {
    let apis = try apis.get()
    var signed = APIRequest(
      method: request.method, target: request.target, headers: request.headers, body: request.body)
    if signed.header("Host") == nil { signed.headers.append(("Host", Self.host)) }
    if signed.header("Authorization") == nil { try sign(&signed, for: vendor) }
    let request = signed
    return try await openRoom().outside {
      await apis.settle()
      let response = await apis.answer(request)
      return TestHTTPResponse(status: response.status, headers: response.headers, body: response.body)
    }
  }

  private func sign(_ request: inout APIRequest, for vendor: TestAPI.Vendor) throws {
    switch vendor {
    case .chime, .ivs:
      guard let key = credentials.aws.first else { return }
      let service = vendor == .chime ? "chime" : "ivs"
      AWSSigner(accessKey: key.accessKeyId, secret: key.secretAccessKey, region: Self.region, service: service)
        .sign(&request, at: clock())
    case .azure:
      guard let key = credentials.azure.first?.accessKeys.first else { return }
      AzureSigner(accessKey: key).sign(&request, at: clock())
    case .videoSDK:
      guard let key = credentials.videosdk.first else { return }
      let now = NumericDate(Double(clock().milliseconds) / 1_000)
      let token = try VideoSDKToken(apiKey: key.apiKey, issued: now, expires: now + 600)
        .signed(with: SigningKey(secret: Array(key.secret.utf8)))
      request.headers.append(("Authorization", token))
    }
  }

  // MARK: Ports

  func serve(_ vendor: TestAPI.Vendor) throws -> ServedTestAPI {
    let (apis, room) = (try apis.get(), try openRoom())
    let url = try served.withLock { served in
      let url =
        try served
        ?? room.part(RoomPorts.self) { RoomPorts() }
        .open(SettledService(apis: apis), bodyLimit: APILimits.body, hold: hold)
      served = url
      return url
    }
    return try served(vendor, at: url)
  }

  private func served(_ vendor: TestAPI.Vendor, at url: URL) throws -> ServedTestAPI {
    var own = APICredentials()
    var (keyID, secret) = (String?.none, "")
    var variables: [String: String] = [:]
    var endpoint = url
    switch vendor {
    case .chime, .ivs:
      own.aws = credentials.aws
      (keyID, secret) = (credentials.aws.first?.accessKeyId, credentials.aws.first?.secretAccessKey ?? "")
      variables[vendor == .chime ? "AWS_ENDPOINT_URL_CHIME_SDK_MEETINGS" : "AWS_ENDPOINT_URL_IVS_REALTIME"] =
        url.absoluteString
      variables["AWS_REGION"] = Self.region
    case .azure:
      own.azure = credentials.azure
      secret = credentials.azure.first?.accessKeys.first ?? ""
      variables["AZURE_COMMUNICATION_ENDPOINT"] = url.absoluteString
    case .videoSDK:
      own.videosdk = credentials.videosdk
      (keyID, secret) = (credentials.videosdk.first?.apiKey, credentials.videosdk.first?.secret ?? "")
      endpoint = url.appendingPathComponent("v2")
      variables["VIDEOSDK_API_ENDPOINT"] = endpoint.absoluteString
    }
    for (name, value) in try BackEndAPIs.environment(credentials: own.json) { variables[name] = value }
    return ServedTestAPI(url: endpoint, keyID: keyID, secret: secret, environment: variables)
  }
}

/// Answers when the events in the rooms so far are in the registry, so that a back end reads what the test has seen.
private struct SettledService: APIService {
  let apis: VendorAPIs

  func owns(method: String, target: String) -> Bool { apis.owns(method: method, target: target) }

  func answersOtherSites(method: String, target: String) -> Bool {
    apis.answersOtherSites(method: method, target: target)
  }

  func answer(_ request: APIRequest) async -> APIResponse {
    await apis.settle()
    var request = request
    request.signatureTime = APITime(milliseconds: Int64(NumericDate.ofSystemClock().seconds * 1_000))
    return await apis.answer(request)
  }
}
