import KoineJSONCodec
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens

/// Azure Communication Services: Identity and Rooms.
///
/// Source: the REST references of Communication Identity (2023-10-01) and Rooms (2025-03-13).
struct AzureAPI: VendorService {
  let context: APIContext
  let watch = AzureRoomWatch()

  init(_ context: APIContext) { self.context = context }

  private static let prefixes = ["/identities", "/rooms", "/teamsUser", "/calling", "/networkTraversal"]

  func owns(method: String, target: String) -> Bool {
    let path = target.prefix { $0 != "?" }
    return Self.prefixes.contains { path == $0 || path.hasPrefix($0 + "/") || path.hasPrefix($0 + ":") }
  }

  func answer(_ request: APIRequest, access: APIAccess) async -> APIResponse {
    var response: APIResponse
    do throws(AzureError) {
      if case .closed = access { throw AzureError(403, "Forbidden", "this server has no --api-credentials") }
      let now = request.signatureTime ?? context.clock()
      guard let caller = AzureCaller.authenticate(request, access: access, at: now) else {
        throw AzureError(401, "Denied", "Denied by the resource provider.")
      }
      guard request.parameter("api-version")?.isEmpty == false else {
        throw AzureError(
          400, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required.")
      }
      response = try await perform(request, for: caller)
    } catch {
      let body = AzureErrorBody(
        error: .init(code: error.code, message: error.message, target: error.target, details: error.details))
      response = Self.json(error.status, body)
      response.headers.append(("x-ms-error-code", error.code))
      if error.status == 401 { response.headers.append(("WWW-Authenticate", "HMAC-SHA256, Bearer")) }
      if [429, 503].contains(error.status) { response.headers.append(("Retry-After", "1")) }
    }
    response.headers.append(("x-ms-request-id", context.identifiers.requestID()))
    response.headers.append(("api-supported-versions", "2021-03-07, 2022-06-01, 2022-10-01, 2023-10-01, 2025-03-13"))
    if let id = request.header("x-ms-client-request-id"), id.utf8.count <= 128,
      id.utf8.allSatisfy({ (33...126).contains($0) })
    {
      response.headers.append(("x-ms-client-request-id", id))
    }
    return response
  }

  static func json(_ status: Int, _ body: any Encodable) -> APIResponse {
    APIResponse(
      status: status, headers: [("Content-Type", "application/json; charset=utf-8")],
      body: (try? JSONCodec.encode(body)) ?? [])
  }

  private func perform(_ request: APIRequest, for caller: AzureCaller) async throws(AzureError) -> APIResponse {
    guard let path = request.segments else { throw AzureError(400, "BadRequest", "the path cannot be decoded") }
    switch (request.method, path.first, path.count, path.last) {
    case ("POST", "identities", 1, _): return try await createUser(body(request), for: caller)
    case ("POST", "identities", 3, ":issueAccessToken"):
      return Self.json(200, try await issueToken(body(request), to: path[1], for: caller))
    case ("POST", "identities", 3, ":revokeAccessTokens"):
      try await revokeTokens(of: path[1], for: caller)
      return APIResponse(status: 204)
    case ("DELETE", "identities", 2, _):
      try await deleteUser(path[1], for: caller)
      return APIResponse(status: 204)
    case ("POST", "rooms", 1, _): return try await createRoom(body(request), request, for: caller)
    case ("GET", "rooms", 1, _): return Self.json(200, try await listRooms(request, for: caller))
    case ("GET", "rooms", 2, _): return Self.json(200, answer(try await room(path[1], of: caller)))
    case ("PATCH", "rooms", 2, _):
      return Self.json(200, answer(try await updateRoom(path[1], body(request), for: caller)))
    case ("DELETE", "rooms", 2, _):
      try await deleteRoom(path[1], for: caller)
      return APIResponse(status: 204)
    case ("GET", "rooms", 3, "participants"):
      return Self.json(200, try listParticipants(of: try await room(path[1], of: caller), request))
    case ("PATCH", "rooms", 3, "participants"):
      try await changeParticipants(of: path[1], body(request), for: caller)
      return Self.json(200, AzureEmptyAnswer())
    default:
      let isKnown = ["teamsUser", "calling", "networkTraversal"].contains(path.first ?? "")
      guard isKnown else { throw AzureError.notFound }
      context.log("\(request.method) \(request.path) of Azure Communication Services is not served")
      throw AzureError(400, "NotSupported", "\(request.method) \(request.path) is not served here")
    }
  }

  private func body<Body: Decodable>(_ request: APIRequest) throws(AzureError) -> Body {
    do throws(BodyFault) { return try decodeBody(Body.self, request.body) } catch {
      throw AzureError(400, "BadRequest", error.text)
    }
  }

  func stored<Value>(_ call: () async throws(RegistryError) -> Value) async throws(AzureError) -> Value {
    do throws(RegistryError) { return try await call() } catch { throw Self.unavailable(error) }
  }

  static func unavailable(_ error: RegistryError) -> AzureError {
    AzureError(503, "ServiceUnavailable", "the registry cannot be reached or written: \(error)")
  }

  // MARK: Rules

  var prefixesOfRules: [String] { [AzureUser.prefix, AzureRoom.prefix] }

  func apply(_ change: RegistryChange, to rules: AdmissionRules) {
    guard let value = change.value else {
      // The last token of a deleted user, or for a deleted room, has expired.
      if change.key.hasPrefix(AzureUser.prefix),
        let id = PercentEncoding.decode(change.key.dropFirst(AzureUser.prefix.count))
      {
        rules.set(nil as AdmissionRules.UserRule?, user: id, version: change.version)
      } else if change.key.hasPrefix(AzureRoom.prefix) {
        let id = String(
          AzureRoom.key(String(change.key.dropFirst(AzureRoom.prefix.count))).dropFirst(AzureRoom.prefix.count))
        rules.set(nil as AdmissionRules.RoomRule?, room: id, version: change.version)
      }
      return
    }
    if change.key.hasPrefix(AzureUser.prefix), let user = try? decodeEntity(AzureUser.self, value) {
      rules.set(
        AdmissionRules.UserRule(tokensValidFrom: user.tokensValidFrom, isDeleted: user.isDeleted), user: user.id,
        version: change.version)
    } else if change.key.hasPrefix(AzureRoom.prefix), let room = try? decodeEntity(AzureRoom.self, value) {
      rules.set(
        AdmissionRules.RoomRule(
          kind: .callAgent, refusal: room.isDeleted ? Failure(.ended, "the room has been deleted") : nil,
          roster: room.participants.mapValues(\.rule), opening: room.validFrom, closing: room.validUntil),
        room: room.id, version: change.version)
      // The rules know which of two changes is the newer one.
      watch.set(rules.roomRule(room.id), room: room.id)
    }
  }

  /// When the router admits the participant, it checks the grants again, because the tokens may be revoked in between.
  func refusal(of join: Join, _ grants: inout Grants) -> Failure? {
    grants.userCredential = join.credential.flatMap(AdmissionRules.userCredential)
    return grants.userCredential.flatMap(context.rules.refusal(of:))
  }

  func refusal(of register: Register) -> Failure? {
    register.credential.flatMap(AdmissionRules.userCredential).flatMap(context.rules.refusal(of:))
  }

  func observe(_ event: RoomEvent, at now: APITime) async {}

  /// A room's call ends for everyone at the end of the room's time.
  func handleTimeout() async {
    for id in watch.takeDue(at: context.clock()) {
      await context.execute(.close(room: id), for: "koine", reason: "the room's time is over")
    }
  }
}

extension AzureRoom.Role {
  /// Source: "Rooms API", predefined participant roles and permissions.
  var rule: AdmissionRules.ParticipantRule {
    let publish: Set<Track.Kind> =
      switch self {
      case .presenter, .collaborator: Set(Track.Kind.allCases)
      case .attendee: [.microphone, .camera]
      case .consumer: []
      }
    return AdmissionRules.ParticipantRule(
      publish: publish, canModerate: self == .presenter, role: rawValue.lowercased())
  }

  /// What a participant that is inside gets and loses with the role.
  var change: PermissionChange { PermissionChange(enforcing: rule) }
}

extension PermissionChange {
  /// What a participant that is inside gets and loses with its rule in a roster.
  init(enforcing rule: AdmissionRules.ParticipantRule) {
    let media = PermissionChange(publishing: rule.publish ?? [], receiving: Set(Track.Kind.allCases))
    let moderation: Set<ParticipantPermission> = [.moderate, .admit]
    let mayModerate = rule.canModerate == true
    self.init(
      allowing: mayModerate ? media.allowed.union(moderation) : media.allowed,
      denying: mayModerate ? media.denied : media.denied.union(moderation))
    receive = media.receive
    role = rule.role
  }
}

/// When rooms end.
final class AzureRoomWatch: Sendable {
  private let ends = Lock<[String: APITime]>([:])

  func set(_ rule: AdmissionRules.RoomRule?, room: String) {
    ends.withLock { $0[room] = rule?.refusal == nil ? rule?.closing : nil }
  }

  func takeDue(at now: APITime) -> [String] {
    ends.withLock { ends in
      let due = ends.filter { $0.value <= now }.map(\.key).sorted()
      for id in due { ends[id] = nil }
      return due
    }
  }
}
