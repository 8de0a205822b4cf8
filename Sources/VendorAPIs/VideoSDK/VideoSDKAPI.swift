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
      if let homes = context.homes, let room = await room(of: request, caller),
        let answer = await homes.answer(request, room)
      {
        return answer
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
    case ("GET", "sessions", .some, 2): return try await session(path[1], request, for: caller)
    case ("GET", "sessions", .some, 3) where path[2] == "participants":
      return try await visitors(path[1], request, for: caller, onlyActive: false)
    case ("GET", "sessions", .some, 4) where path[2] == "participants" && path[3] == "active":
      return try await visitors(path[1], request, for: caller, onlyActive: true)
    case ("GET", "sessions", .some, 4) where path[2] == "participants":
      return try await visitor(path[1], path[3], request, for: caller)
    case ("POST", "recordings", "start", 2): return try await startRecording(body, for: caller)
    case ("POST", "recordings", "end", 2), ("POST", "recordings", "stop", 2):
      return try await stopRecording(body, for: caller)
    case ("GET", "recordings", nil, 1): return try await listRecordings(request, for: caller)
    case ("GET", "recordings", .some, 2): return try await recording(path[1], request, for: caller)
    default:
      context.log("\(request.method) \(request.path) of VideoSDK is not served")
      throw VideoSDKError(400, "\(request.method) \(request.path) is not served here")
    }
  }

  /// The room of a request about an active session or a recording: the room's home has the answer.
  private func room(of request: APIRequest, _ caller: VideoSDKCaller) async -> String? {
    guard var path = request.segments else { return nil }
    while path.first == "v2" { path.removeFirst() }
    guard path.first == "sessions" || path.first == "recordings" && request.method == "POST" else { return nil }
    let body = request.method == "POST" ? try? body(request) : nil
    if let name = body?.roomId ?? request.parameter("roomId") {
      return live.roomID(of: name, for: caller.apiKey) ?? name
    }
    let id = body?.sessionId ?? (request.method == "GET" ? path.dropFirst().first : nil)
    guard let id, let place = try? await storedPlace(ofSession: id), place.apiKey == caller.apiKey else { return nil }
    return place.roomID
  }

  /// JSON, a form, or nothing.
  private func body(_ request: APIRequest) throws(VideoSDKError) -> VideoSDKRequest {
    if request.header("Content-Type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true {
      let text = "?" + String(decoding: request.body, as: UTF8.self).replacing("+", with: " ")
      let form = APIRequest(method: "POST", target: text)
      return VideoSDKRequest(
        form: Dictionary(
          uniqueKeysWithValues: VideoSDKRequest.formNames.compactMap { name in
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
