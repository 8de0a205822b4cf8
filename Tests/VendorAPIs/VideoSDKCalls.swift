import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Calls VideoSDK's API as a back end does, and joins as an app does.
struct VideoSDKCalls {
  let harness: APIHarness

  /// One of two API keys.
  struct Key: Sendable {
    var apiKey: String
    var secret: String
    static let first = Key(apiKey: "vsdk-key", secret: String(repeating: "s", count: 64))
    static let second = Key(apiKey: "vsdk-other", secret: String(repeating: "o", count: 64))
  }

  struct Room: Decodable, Equatable {
    struct AutoClose: Decodable, Equatable {
      var type: String?
      var duration: Int?
    }
    struct Webhook: Decodable, Equatable {
      var endPoint: String
      var events: [String]
    }
    var id: String
    var roomId: String
    var customRoomId: String?
    var disabled: Bool
    var geoFence: String?
    var autoCloseConfig: AutoClose?
    var webhook: Webhook?
    var allowedParticipantIds: [String]?
  }

  struct Page<Item: Decodable>: Decodable {
    struct Info: Decodable, Equatable {
      var currentPage: Int
      var perPage: Int
      var lastPage: Int
      var total: Int
    }
    var pageInfo: Info
    var data: [Item]
  }

  struct Session: Decodable {
    struct Stay: Decodable {
      var start: String
      var end: String?
    }
    struct Visitor: Decodable {
      var participantId: String
      var name: String
      var timelog: [Stay]
    }
    var id: String
    var roomId: String
    var customRoomId: String?
    var start: String
    var end: String?
    var status: String
    var participants: [Visitor]
  }

  init(_ settings: APISettings = APISettings(), store: (any RegistryStore)? = nil) throws {
    let credentials = APICredentials(
      aws: APIHarness.credentials.aws, azure: APIHarness.credentials.azure,
      videosdk: [Key.first, Key.second].map { .init(apiKey: $0.apiKey, secret: $0.secret) })
    if let store {
      harness = try APIHarness(access: .credentials(credentials), settings: settings) { _ in store }
    } else {
      harness = try APIHarness(access: .credentials(credentials), settings: settings)
    }
  }

  var now: NumericDate { NumericDate(Double(harness.time.withLock { $0 }.seconds)) }

  func token(
    of key: Key = .first, secret: String? = nil, roles: [VideoSDKToken.Role]? = nil, room: String? = nil,
    participant: String? = nil, expires: Double = 600
  ) throws -> String {
    try VideoSDKToken(
      apiKey: key.apiKey, roomID: room, participantID: participant, roles: roles, issued: now, expires: now + expires
    ).signed(with: SigningKey(secret: Array((secret ?? key.secret).utf8)))
  }

  /// - Parameter token: the header `Authorization`; nil: a good one of the key.
  func send(
    _ method: String, _ target: String, _ body: String = "", by key: Key = .first, token: String? = nil,
    type: String = "application/json"
  ) async throws -> APIResponse {
    let authorization = try token ?? self.token(of: key)
    return await harness.apis.answer(
      APIRequest(
        method: method, target: target,
        headers: [("Host", "127.0.0.1:8080"), ("Authorization", authorization), ("Content-Type", type)],
        body: Array(body.utf8)))
  }

  func call<Answer: Decodable>(
    _ method: String, _ target: String, _ body: String = "", by key: Key = .first
  ) async throws -> Answer {
    let answer = try await send(method, target, body, by: key)
    #expect(answer.status == 200, "\(method) \(target): \(answer.text)")
    return try answer.decoded()
  }

  func makeRoom(_ body: String = "", by key: Key = .first) async throws -> Room {
    try await call("POST", "/v2/rooms", body, by: key)
  }

  func sessions(_ query: String = "", by key: Key = .first) async throws -> Page<Session> {
    try await call("GET", "/v2/sessions" + query, by: key)
  }

  /// What becomes of a join at the door: the name of the room that it opens, and what it may do there.
  /// - Parameter present: the issuers of the participants in the room; nil: the room is not open.
  func enter(
    _ token: String, room: String, as id: String? = nil, with present: Set<String>? = nil
  ) -> Result<(room: String, grants: Grants), Failure> {
    let keys = Authorization.tokens(trusting: .keys(harness.apis.verificationKeys))
    var join = Join(
      room: room, credential: token, participantID: id, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    return harness.apis.authorization(after: keys).check(join).flatMap { grants in
      join.room = grants.room ?? join.room
      let state = present.map { issuers in
        var state = AdmissionPolicy.RoomState(
          participants: issuers.count, hidden: 0, contentShares: 0, waiting: 0, limit: 100)
        state.issuers = issuers
        return state
      }
      switch harness.apis.rules.policy.decide(.init(occasion: .join, join: join, grants: grants, room: state)) {
      case .admit(let grants), .wait(let grants): return .success((join.room, grants))
      case .refuse(let failure): return .failure(failure)
      }
    }
  }

  /// Why a join is refused; nil: it is not.
  func refusal(
    _ token: String, room: String, as id: String? = nil, with present: Set<String>? = nil
  ) -> Failure.Code? {
    if case .failure(let failure) = enter(token, room: room, as: id, with: present) { failure.code } else { nil }
  }

  /// Reports an event of the rooms. A second later the next thing may happen.
  func report(_ room: String, _ id: String, _ change: RoomEvent.Change) async {
    harness.apis.observe(RoomEvent(room: room, epoch: "e", participant: id, change))
    await harness.apis.settle()
    harness.advance(seconds: 1)
  }

  func join(_ room: String, _ ids: String...) async {
    for id in ids { await report(room, id, .joined(Participant(id: id, name: id.uppercased()))) }
  }

  func leave(_ room: String, _ ids: String...) async {
    for id in ids { await report(room, id, .left(.left)) }
  }
}
