import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens

/// Amazon IVS RealTime: stages, participant tokens, public keys, and the history of stages.
///
/// Source: the reference of the API `ivs-realtime` and its service model 2020-07-14.
struct IVSAPI: VendorService {
  let context: APIContext
  let live = IVSLiveStages()

  init(_ context: APIContext) { self.context = context }

  private static let services: Set<String> = ["ivs"]
  private static let chatServices: Set<String> = ["ivschat"]

  /// Operations of the service that are answered with an error that names them.
  static let notServed: Set<String> = [
    "CreateEncoderConfiguration", "GetEncoderConfiguration", "ListEncoderConfigurations", "DeleteEncoderConfiguration",
    "CreateStorageConfiguration", "GetStorageConfiguration", "ListStorageConfigurations", "DeleteStorageConfiguration",
    "StartComposition", "GetComposition", "StopComposition", "ListCompositions", "CreateIngestConfiguration",
    "GetIngestConfiguration", "ListIngestConfigurations", "UpdateIngestConfiguration", "DeleteIngestConfiguration",
    "StartParticipantReplication", "StopParticipantReplication", "ListParticipantReplicas", "RevokeConnectionToken",
  ]

  /// Operations of Amazon IVS Chat, which back ends of stages call, too.
  static let chat: Set<String> = [
    "CreateChatToken", "CreateLoggingConfiguration", "CreateRoom", "DeleteLoggingConfiguration", "DeleteMessage",
    "DeleteRoom", "DisconnectUser", "GetLoggingConfiguration", "GetRoom", "ListLoggingConfigurations", "ListRooms",
    "SendEvent", "UpdateLoggingConfiguration", "UpdateRoom",
  ]

  /// Whether a request is one of Amazon IVS Chat, which has a signing name of its own. Both services have the path of tags.
  private static func isOfChat(_ path: String) -> Bool {
    chat.contains(String(path.dropFirst()))
      || path.hasPrefix("/tags/") && PercentEncoding.decode(path.dropFirst(6))?.hasPrefix("arn:aws:ivschat:") == true
  }

  private static let served: Set<String> = [
    "CreateStage", "GetStage", "ListStages", "UpdateStage", "DeleteStage", "CreateParticipantToken",
    "DisconnectParticipant", "ListStageSessions", "GetStageSession", "ListParticipants", "GetParticipant",
    "ListParticipantEvents", "ImportPublicKey", "GetPublicKey", "ListPublicKeys", "DeletePublicKey",
  ]

  private static let ofHistory: Set<String> = [
    "ListStageSessions", "GetStageSession", "ListParticipants", "GetParticipant", "ListParticipantEvents",
  ]

  func owns(method: String, target: String) -> Bool {
    let path = target.prefix { $0 != "?" }
    if path.hasPrefix("/tags/") { return true }
    guard method == "POST", path.hasPrefix("/") else { return false }
    let operation = String(path.dropFirst())
    return [Self.served, Self.notServed, Self.chat].contains { $0.contains(operation) }
  }

  func answer(_ request: APIRequest, access: APIAccess) async -> APIResponse {
    let requestID = context.identifiers.requestID()
    let services = Self.isOfChat(request.path) ? Self.chatServices : Self.services
    do throws(AWSRefusal) {
      let caller = try AWSCaller.authenticate(
        request, for: services, access: access,
        at: request.signatureTime ?? context.clock())
      if let room = room(of: request), let answer = await context.homes?.answer(request, room) { return answer }
      do throws(AWSError) {
        return .aws(200, try await perform(request, for: caller), requestID: requestID)
      } catch { return failure(error, requestID) }
    } catch {
      let (status, code, message) = error.response
      return failure(AWSError(status, code, message), requestID)
    }
  }

  /// The room of a request about sessions: the room's home has the answer.
  private func room(of request: APIRequest) -> String? {
    guard Self.ofHistory.contains(String(request.path.dropFirst())),
      let arn = (try? decodeBody(IVSHistoryRequest.self, request.body))?.stageArn
    else { return nil }
    return arn.split(separator: "/").last.map(String.init)
  }

  private func failure(_ error: AWSError, _ requestID: String) -> APIResponse {
    .aws(
      error: error, body: IVSErrorBody(exceptionMessage: error.message, message: error.message), requestID: requestID)
  }

  private func perform(_ request: APIRequest, for caller: AWSCaller) async throws(AWSError) -> any Encodable {
    if Self.isOfChat(request.path) { throw notServed("\(request.method) \(request.path)", of: "Amazon IVS Chat") }
    if request.path.hasPrefix("/tags/") { return try await tags(request, for: caller) }
    let operation = String(request.path.dropFirst())
    switch operation {
    case "CreateStage": return try await createStage(body(request), request, for: caller)
    case "GetStage":
      let stage = try await stage((try body(request) as IVSARNRequest).arn, "arn", of: caller)
      return IVSStageAnswer(stage: try await answer(stage, to: request))
    case "ListStages": return try await listStages(body(request), for: caller)
    case "UpdateStage": return try await updateStage(body(request), request, for: caller)
    case "DeleteStage": return try await deleteStage(body(request), for: caller)
    case "CreateParticipantToken":
      let wanted: IVSTokenRequest = try body(request)
      try IVSChecks.token(wanted)
      let stage = try await stage(wanted.stageArn, "stageArn", of: caller)
      return IVSParticipantTokenAnswer(participantToken: try makeToken(wanted, for: stage, request))
    case "DisconnectParticipant": return try await disconnect(body(request), for: caller)
    case "ListStageSessions": return try await listSessions(body(request), for: caller)
    case "GetStageSession": return try await getSession(body(request), for: caller)
    case "ListParticipants": return try await listParticipants(body(request), for: caller)
    case "GetParticipant": return try await getParticipant(body(request), for: caller)
    case "ListParticipantEvents": return try await listEvents(body(request), for: caller)
    case "ImportPublicKey": return try await importKey(body(request), for: caller)
    case "GetPublicKey":
      let key = try await publicKey((try body(request) as IVSARNRequest).arn, of: caller)
      return IVSKeyAnswer(publicKey: answer(key))
    case "ListPublicKeys": return try await listKeys(body(request), for: caller)
    case "DeletePublicKey":
      let key = try await publicKey((try body(request) as IVSARNRequest).arn, of: caller)
      return try await delete(key)
    default: throw notServed(operation, of: "Amazon IVS")
    }
  }

  private func notServed(_ operation: String, of service: String) -> AWSError {
    context.log("\(operation) of \(service) is not served")
    return AWSError(400, "UnsupportedOperation", "\(operation) of \(service) is not served here")
  }

  func body<Body: Decodable>(_ request: APIRequest) throws(AWSError) -> Body {
    do throws(BodyFault) { return try decodeBody(Body.self, request.body) } catch { throw IVSChecks.fail(error.text) }
  }

  func stored<Value>(_ call: () async throws(RegistryError) -> Value) async throws(AWSError) -> Value {
    do throws(RegistryError) { return try await call() } catch { throw Self.unavailable(error) }
  }

  /// The model has no 503; SDKs retry a 500 as well.
  static func unavailable(_ error: RegistryError) -> AWSError {
    AWSError(503, "InternalServerException", "the registry cannot be reached or written: \(error)")
  }

  // MARK: Rules

  var prefixesOfRules: [String] { [IVSStage.prefix, IVSRevokedParticipant.prefix, IVSPublicKey.prefix] }

  func apply(_ change: RegistryChange, to rules: AdmissionRules) {
    if change.key.hasPrefix(IVSStage.prefix) {
      guard let value = change.value, let stage = try? decodeEntity(IVSStage.self, value) else {
        // The last token for the stage has expired.
        guard let id = PercentEncoding.decode(change.key.dropFirst(IVSStage.prefix.count)) else { return }
        return rules.set(nil as AdmissionRules.RoomRule?, room: id, version: change.version)
      }
      live.set(stage)
      rules.set(
        AdmissionRules.RoomRule(
          kind: .stageStrategy, refusal: stage.isDeleted ? Failure(.unauthorized, "the stage has been deleted") : nil),
        room: stage.id, version: change.version)
    } else if change.key.hasPrefix(IVSRevokedParticipant.prefix) {
      guard let (stage, participant) = RegistryKey.pair(change.key, after: IVSRevokedParticipant.prefix) else { return }
      rules.set(
        refusal: change.value.map { _ in Failure(.unauthorized, "the participant has been disconnected") },
        participant: participant, room: stage, version: change.version)
    } else if change.key.hasPrefix(IVSPublicKey.prefix) {
      let key = change.value.flatMap { try? decodeEntity(IVSPublicKey.self, $0) }
      live.setKey(key, registryKey: change.key, version: change.version)
    }
  }

  var verificationKeys: [VerificationKey] { live.keys }
  func whenKeysChange(_ body: @escaping @Sendable () -> Void) { live.whenKeysChange(body) }

  /// A token that an imported key has signed must be for a stage of the key's account and region, and must not be valid for longer
  /// than the registry remembers that its participant was disconnected.
  func refusal(of join: Join, _ grants: inout Grants) -> Failure? {
    guard let credential = join.credential, let token = try? JSONWebToken.parse(credential), let id = token.keyID,
      id.hasPrefix("arn:aws:ivs:"), let claims = try? token.claims(as: IVSStageToken.self)
    else { return nil }
    let scope = id.split(separator: ":", maxSplits: 5).dropLast()
    guard live.isStage(claims.topic, arn: claims.resource),
      claims.resource.split(separator: ":", maxSplits: 5).dropLast() == scope
    else { return Failure(.unauthorized, "the token is for a stage that its key does not open") }
    guard let issued = claims.issued, claims.expires.seconds - issued.seconds <= Double(IVSChecks.tokenSeconds) else {
      return Failure(.unauthorized, "the token has no iat, or is valid for over 14 days")
    }
    return nil
  }

  func handleTimeout() async {}
}

/// What this process knows of stages without asking the registry: existing stages, participants that are on them now, and
/// imported keys.
final class IVSLiveStages: Sendable {
  struct Live: Sendable {
    var session: String
    /// Of the stage.
    var arn: String
    var order = 0
    /// The kinds that each participant publishes.
    var participants: [Participant.ID: Set<Track.Kind>] = [:]
    var userIDs: [Participant.ID: String] = [:]
    /// Ids of refused joins that are recorded.
    var refused: Set<Participant.ID> = []
  }

  private struct State {
    var stages: [String: String] = [:]
    var live: [String: Live] = [:]
    var keys: [String: (key: VerificationKey?, version: RegistryVersion)] = [:]
    var keysChanged: (@Sendable () -> Void)?
  }

  private let state = Lock(State())

  func set(_ stage: IVSStage) {
    state.withLock { $0.stages[stage.id] = stage.isDeleted ? nil : stage.arn }
  }

  func isStage(_ id: String, arn: String? = nil) -> Bool {
    state.withLock { state in state.stages[id].map { arn == nil || $0 == arn } ?? false }
  }

  func arn(of stage: String) -> String? { state.withLock { $0.stages[stage] } }

  /// The session that is on; nil: nobody is on the stage.
  func session(of stage: String) -> String? { state.withLock { $0.live[stage]?.session } }

  /// Whether the participant is on the stage in this session.
  func isPresent(_ id: Participant.ID, on stage: String, session: String) -> Bool {
    state.withLock { state in
      guard let live = state.live[stage], live.session == session else { return false }
      return live.participants[id] != nil
    }
  }

  func withLive<Value>(_ stage: String, _ body: (inout Live?) -> Value) -> Value {
    state.withLock { body(&$0.live[stage]) }
  }

  func setKey(_ key: IVSPublicKey?, registryKey: String, version: RegistryVersion) {
    let changed: (@Sendable () -> Void)? = state.withLock { state in
      guard state.keys[registryKey].map({ $0.version < version }) ?? true else { return nil }
      var verification = key.flatMap { try? VerificationKey(pem: $0.material, id: $0.arn) }
      verification?.needsKeyID = true
      verification?.binding = KeyBinding(kinds: [.stageStrategy])
      state.keys[registryKey] = (verification, version)
      return state.keysChanged
    }
    changed?()
  }

  var keys: [VerificationKey] { state.withLock { $0.keys.sorted { $0.key < $1.key }.compactMap(\.value.key) } }

  func whenKeysChange(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.keysChanged = body } }
}
