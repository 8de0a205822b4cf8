import KoineJSONCodec
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens

/// VideoSDK's REST API, version 2: rooms, sessions and recordings.
///
/// Source: VideoSDK's REST API reference.
struct VideoSDKAPI: VendorService {
  let context: APIContext
  let live = VideoSDKLiveRooms()

  init(_ context: APIContext) { self.context = context }

  func owns(method: String, target: String) -> Bool {
    let path = target.prefix { $0 != "?" }
    return path.hasPrefix("/v2/") || path == "/v2" || path.hasPrefix("/v1/") || path.hasPrefix("/api/meetings")
  }

  /// The vendor's quickstarts call the API from pages.
  func answersOtherSites(method: String, target: String) -> Bool { owns(method: method, target: target) }

  func answer(_ request: APIRequest, access: APIAccess) async -> APIResponse {
    var response = request.method == "OPTIONS" ? APIResponse(status: 204) : await answerCall(request, access)
    response.headers += [
      ("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Headers", "authorization, content-type"),
      ("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"),
    ]
    return response
  }

  private func answerCall(_ request: APIRequest, _ access: APIAccess) async -> APIResponse {
    do throws(VideoSDKError) {
      let caller: VideoSDKCaller
      do throws(VideoSDKCaller.Refusal) {
        caller = try VideoSDKCaller.authenticate(request, access: access, at: request.signatureTime ?? context.clock())
      } catch {
        throw switch error {
        case .missing: VideoSDKError(401, "Token is missing")
        case .invalid: VideoSDKError(401, "Token is invalid")
        case .expired: VideoSDKError(401, "Token is expired")
        case .closed: VideoSDKError(403, "this server has no --api-credentials")
        }
      }
      return json(200, try await perform(request, for: caller))
    } catch {
      return json(error.status, VideoSDKErrorBody(error: error.message, statusCode: error.status))
    }
  }

  private func json(_ status: Int, _ body: any Encodable) -> APIResponse {
    APIResponse(
      status: status, headers: [("Content-Type", "application/json; charset=utf-8")],
      body: (try? JSONCodec.encode(body)) ?? [])
  }

  private func perform(_ request: APIRequest, for caller: VideoSDKCaller) async throws(VideoSDKError) -> any Encodable {
    guard var path = request.segments else { throw VideoSDKError(400, "the path cannot be decoded") }
    while path.first == "v2" { path.removeFirst() }
    let body = try body(request)
    switch (request.method, path.first, path.dropFirst().first, path.count) {
    case ("POST", "rooms", nil, 1): return answer(try await createRoom(body, for: caller), request)
    case ("POST", "api", "meetings", 2), ("POST", "v1", "meetings", 2):
      return answer(try await createRoom(body, for: caller), request)
    case ("POST", "api", "meetings", 3):
      return answer(try await room(path[2], of: caller, missing: 400), request)
    case ("GET", "rooms", nil, 1): return try await listRooms(request, for: caller)
    case ("GET", "rooms", "validate", 3):
      return answer(try await room(path[2], of: caller, missing: 400), request)
    case ("POST", "rooms", "deactivate", 2):
      return answer(try await deactivate(body.roomId, for: caller), request)
    case ("GET", "rooms", .some, 2): return answer(try await room(path[1], of: caller, missing: 404), request)
    case ("GET", "sessions", nil, 1): return try await listSessions(request, for: caller)
    case ("POST", "sessions", "end", 2): return try await endSession(body, request, for: caller)
    case ("POST", "sessions", "participants", 3) where path[2] == "remove":
      return try await removeParticipant(body, for: caller)
    case ("GET", "sessions", .some, 2): return answer(try await session(path[1], of: caller), request)
    case ("GET", "sessions", .some, 3) where path[2] == "participants":
      return try await visitors(path[1], request, for: caller, onlyActive: false)
    case ("GET", "sessions", .some, 4) where path[2] == "participants" && path[3] == "active":
      return try await visitors(path[1], request, for: caller, onlyActive: true)
    case ("POST", "recordings", "start", 2): return try await startRecording(body, for: caller)
    case ("POST", "recordings", "end", 2), ("POST", "recordings", "stop", 2):
      return try await stopRecording(body, for: caller)
    case ("GET", "recordings", nil, 1): return try await listRecordings(request, for: caller)
    default:
      context.log("\(request.method) \(request.path) of VideoSDK is not served")
      throw VideoSDKError(400, "\(request.method) \(request.path) is not served here")
    }
  }

  /// JSON, a form, or nothing.
  private func body(_ request: APIRequest) throws(VideoSDKError) -> VideoSDKRequest {
    if request.header("Content-Type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true {
      let text = "?" + String(decoding: request.body, as: UTF8.self).replacing("+", with: " ")
      let form = APIRequest(method: "POST", target: text)
      let names = ["customRoomId", "roomId", "sessionId", "participantId", "status"]
      return VideoSDKRequest(
        form: Dictionary(
          uniqueKeysWithValues: names.compactMap { name in
            form.parameter(name).map { (name, $0) }
          }))
    }
    do throws(BodyFault) { return try decodeBody(VideoSDKRequest.self, request.body) } catch {
      throw VideoSDKError(400, error.text)
    }
  }

  func stored<Value>(_ call: () async throws(RegistryError) -> Value) async throws(VideoSDKError) -> Value {
    do throws(RegistryError) { return try await call() } catch { throw Self.unavailable(error) }
  }

  static func unavailable(_ error: RegistryError) -> VideoSDKError {
    VideoSDKError(503, "the registry cannot be reached or written: \(error)")
  }

  // MARK: Rules

  var prefixesOfRules: [String] { [VideoSDKRoom.prefix] }

  func apply(_ change: RegistryChange, to rules: AdmissionRules) {
    guard change.key.hasPrefix(VideoSDKRoom.prefix), let value = change.value,
      let room = try? decodeEntity(VideoSDKRoom.self, value)
    else { return }
    live.set(room)
    rules.set(
      AdmissionRules.RoomRule(
        kind: .eventListener, refusal: room.isDisabled ? Failure(.ended, "the room is disabled") : nil,
        roster: room.allowedParticipantIDs.map { ids in
          Dictionary(ids.map { ($0, AdmissionRules.ParticipantRule()) }, uniquingKeysWith: { first, _ in first })
        }),
      room: room.roomID, version: change.version)
  }

  private func apiKey(in credential: String) -> String? {
    (try? JSONWebToken.uncheckedClaims(VideoSDKToken.self, in: credential))?.apiKey
  }

  /// A custom id is a name that one API key's back end has given: it means that key's room, and only for that key's tokens.
  func roomName(for name: String, in credential: String) -> String? {
    apiKey(in: credential).flatMap { live.roomID(of: name, for: $0) }
  }

  func otherName(of room: String, in credential: String) -> String? {
    apiKey(in: credential).flatMap { live.customID(of: room, for: $0) }
  }

  func accessChanged(_ access: APIAccess) {
    if case .credentials(let credentials) = access {
      live.setCredentials(credentials.videosdk)
    } else {
      live.setCredentials([])
    }
  }

  /// A secret signs tokens of its own API key only.
  func keys(for credential: String) -> [VerificationKey]? {
    apiKey(in: credential).flatMap { live.key(of: $0) }.map { [$0] }
  }

  /// A token without a room opens the rooms of its own API key, and rooms that no back end has made. The rules keep those apart by
  /// `issuer`, of the keys that the server has: where every token is believed, or one of the server's own, its key says nothing.
  func refusal(of join: Join, _ grants: inout Grants) -> Failure? {
    guard let apiKey = join.credential.flatMap({ apiKey(in: $0) }) else { return nil }
    if live.key(of: apiKey) != nil { grants.issuer = apiKey }
    guard let owner = live.apiKey(ofRoom: join.room), owner != apiKey else { return nil }
    return Failure(.forbidden, "the room is another API key's")
  }
}

/// What this process knows of rooms without asking the registry.
final class VideoSDKLiveRooms: Sendable {
  struct Live: Sendable {
    var session: String
    var start: APITime
    var participants: Set<Participant.ID> = []
  }

  private struct Known: Sendable {
    var apiKey: String
    var customID: String?
    var autoClose: VideoSDKRoom.AutoClose?
  }

  /// Two API keys may have the same custom id.
  private struct Custom: Hashable {
    var apiKey: String
    var id: String
  }

  private struct State {
    var rooms: [String: Known] = [:]
    var customs: [Custom: String] = [:]
    var live: [String: Live] = [:]
    var keys: [(apiKey: String, key: VerificationKey)] = []
  }

  private let state = Lock(State())

  func set(_ room: VideoSDKRoom) {
    state.withLock { state in
      state.rooms[room.roomID] = Known(
        apiKey: room.apiKey, customID: room.customRoomID, autoClose: room.autoClose)
      if let custom = room.customRoomID { state.customs[Custom(apiKey: room.apiKey, id: custom)] = room.roomID }
    }
  }

  /// The room of an API key by its id or by its custom id.
  func roomID(of name: String, for apiKey: String) -> String? {
    state.withLock { state in
      state.rooms[name]?.apiKey == apiKey ? name : state.customs[Custom(apiKey: apiKey, id: name)]
    }
  }

  func customID(of roomID: String, for apiKey: String) -> String? {
    state.withLock { state in state.rooms[roomID].flatMap { $0.apiKey == apiKey ? $0.customID : nil } }
  }

  func apiKey(ofRoom roomID: String) -> String? { state.withLock { $0.rooms[roomID]?.apiKey } }
  func live(_ roomID: String) -> Live? { state.withLock { $0.live[roomID] } }

  func withLive<Value>(_ roomID: String, _ body: (inout Live?) -> Value) -> Value {
    state.withLock { body(&$0.live[roomID]) }
  }

  /// Rooms with a session that has reached the room's limit, and whether the room is disabled then.
  func dueToClose(at now: APITime) -> [(roomID: String, disables: Bool)] {
    state.withLock { state in
      state.live.compactMap { roomID, live in
        guard let close = state.rooms[roomID]?.autoClose, let type = close.type,
          live.start.adding(seconds: Int64(close.duration ?? 480) * 60) <= now
        else { return nil }
        return (roomID, type == "session-end-and-deactivate")
      }
      .sorted { $0.0 < $1.0 }
    }
  }

  func setCredentials(_ credentials: [APICredentials.VideoSDKKey]) {
    state.withLock { state in
      state.keys = credentials.compactMap { entry in
        guard var key = try? VerificationKey(secret: Array(entry.secret.utf8)) else { return nil }
        key.binding = KeyBinding(kinds: [.eventListener])
        return (entry.apiKey, key)
      }
    }
  }

  func key(of apiKey: String) -> VerificationKey? { state.withLock { $0.keys.first { $0.apiKey == apiKey }?.key } }
}
