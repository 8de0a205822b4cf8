import KoineBase
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

@Suite struct AzureTests {
  private struct Rooms: Decodable {
    var value: [AzureMadeRoom]
    var nextLink: String?
  }

  private let harness: APIHarness

  init() throws {
    var settings = APISettings()
    settings.azurePage = 2
    harness = try APIHarness(settings: settings)
  }

  private func encoded(_ id: String) -> String { PercentEncoding.encode(id) }

  // MARK: Authentication

  @Test func signatureIsAcceptedInEachFormThatTheSDKsMake() async {
    let target = "/identities/8%3Aacs%3Ax/:revokeAccessTokens?api-version=2023-10-01"
    let decoded = "/identities/8:acs:x/:revokeAccessTokens?api-version=2023-10-01"
    func status(_ request: APIRequest) async -> Int { await harness.apis.answer(request).status }
    #expect(await status(harness.signedForAzure("POST", target)) == 404)
    #expect(await status(harness.signedForAzure("POST", target, signing: decoded)) == 404)
    #expect(await status(harness.signedForAzure("POST", decoded)) == 404)
    #expect(await status(harness.signedForAzure("POST", target, key: Array("secondary key of it".utf8))) == 404)
    #expect(
      await status(harness.signedForAzure("POST", target, names: ["host", "x-ms-content-sha256", "x-ms-date"])) == 404)
  }

  @Test func versionOfTheAPIIsNeeded() async throws {
    let answer = await harness.apis.answer(harness.signedForAzure("POST", "/identities"))
    #expect(answer.status == 400)
    #expect(try answer.decoded(AzureFault.self).error.code == "MissingApiVersionParameter")
  }

  // MARK: Identity

  @Test func usersTokenAdmitsUntilItIsRevoked() async throws {
    let (id, token) = try await harness.makeAzureUser()
    #expect(id.hasPrefix("8:acs:5a1e7c3e-0000-4000-8000-00000000abcd_"))
    #expect(try harness.verdict(token, room: "group-x").get().participantID == id)
    #expect(await harness.azure("POST", "/identities/\(encoded(id))/:revokeAccessTokens").status == 204)
    #expect(harness.refusal(token, room: "group-x") == .unauthorized)
    let answer = await harness.azure("POST", "/identities/\(encoded(id))/:issueAccessToken", #"{"scopes":["voip"]}"#)
    #expect(answer.status == 200)
    #expect(
      try harness.verdict(try answer.decoded(AzureMadeToken.self).token, room: "group-x").get().participantID == id)
    #expect(await harness.azure("DELETE", "/identities/\(encoded(id))").status == 204)
    #expect(harness.refusal(try answer.decoded(AzureMadeToken.self).token, room: "group-x") == .unauthorized)
    let (status, fault) = try await harness.azureFault(
      "POST", "/identities/\(encoded(id))/:issueAccessToken", #"{"scopes":["voip"]}"#)
    #expect(status == 404)
    #expect(fault.message == "Provided identity doesn't exist.")
  }

  @Test(arguments: [
    (#"{"createTokenWithScopes":[]}"#, "Scopes"), (#"{"createTokenWithScopes":["all"]}"#, "Scopes"),
    (#"{"createTokenWithScopes":["voip"],"expiresInMinutes":59}"#, "ExpiresInMinutes"),
    (#"{"createTokenWithScopes":["voip"],"expiresInMinutes":1441}"#, "ExpiresInMinutes"),
  ]) func invalidTokenRequestIsAValidationError(body: String, target: String) async throws {
    let (status, fault) = try await harness.azureFault("POST", "/identities", body)
    #expect(status == 400)
    #expect(fault.code == "ValidationError")
    #expect(fault.target == target)
  }

  @Test(arguments: [60, 1_440]) func limitsOfTheLifetimeAreAllowed(minutes: Int) async {
    let body = #"{"createTokenWithScopes":["voip"],"expiresInMinutes":\#(minutes)}"#
    #expect(await harness.azure("POST", "/identities", body).status == 201)
  }

  // MARK: Rooms

  @Test func rolesDecideAboutEachParticipant() async throws {
    let users = [
      try await harness.makeAzureUser(), try await harness.makeAzureUser(), try await harness.makeAzureUser(),
      try await harness.makeAzureUser(),
    ]
    let roles = ["Presenter", "Attendee", "Consumer"]
    let list = zip(users, roles).map { #""\#($0.id)":{"role":"\#($1)"}"# }.joined(separator: ",")
    let room = try await harness.makeAzureRoom(#"{"participants":{\#(list)}}"#)
    #expect(room.id.hasPrefix("99"))
    #expect(room.id.count == 17)
    let grants = try users[..<3].map { try harness.verdict($0.token, room: room.id).get() }
    #expect(grants[0].publish == Set(Track.Kind.allCases))
    #expect(grants[0].canModerate)
    #expect(grants[1].publish == [.microphone, .camera])
    #expect(!grants[1].canModerate)
    #expect(grants[2].publish == [])
    #expect(grants[2].canSubscribe)
    #expect(grants.map(\.role) == ["presenter", "attendee", "consumer"])
    #expect(harness.refusal(users[3].token, room: room.id) == .forbidden)

    let body = #"{"participants":{"\#(users[0].id)":null,"\#(users[2].id)":{"role":"Presenter"},"\#(users[3].id)":{}}}"#
    #expect(await harness.azure("PATCH", "/rooms/\(room.id)/participants", body).text == "{}")
    #expect(harness.refusal(users[0].token, room: room.id) == .forbidden)
    #expect(try harness.verdict(users[2].token, room: room.id).get().canModerate)
    #expect(try harness.verdict(users[3].token, room: room.id).get().publish == [.microphone, .camera])
    let commands = harness.takeCommands().map(\.command)
    #expect(commands.contains(.remove(users[0].id, room: room.id)))
    #expect(commands.contains(.grant(AzureRoom.Role.presenter.change, users[2].id, room: room.id)))
    #expect(AzureRoom.Role.presenter.change.role == "presenter")
  }

  @Test func deletedRoomHasEnded() async throws {
    let user = try await harness.makeAzureUser()
    let room = try await harness.makeAzureRoom(#"{"participants":{"\#(user.id)":{}}}"#)
    #expect(await harness.azure("DELETE", "/rooms/\(room.id)").status == 204)
    #expect(harness.takeCommands().map(\.command) == [.close(room: room.id)])
    #expect(harness.refusal(user.token, room: room.id) == .ended)
    #expect(await harness.azure("DELETE", "/rooms/\(room.id)").status == 204)
    #expect(try await harness.azureFault("GET", "/rooms/\(room.id)").0 == 404)
  }

  @Test func roomOpensAndClosesAtItsTimes() async throws {
    let user = try await harness.makeAzureUser()
    let now = harness.time.withLock { $0 }
    let room = try await harness.makeAzureRoom(
      #"{"validFrom":"\#(now.adding(seconds: 60).iso8601)","validUntil":"\#(now.adding(seconds: 120).iso8601)","participants":{"\#(user.id)":{}}}"#
    )
    #expect(harness.refusal(user.token, room: room.id) == .forbidden)
    harness.advance(seconds: 60)
    #expect(harness.refusal(user.token, room: room.id) == nil)
    await harness.apis.handleTimeout()
    #expect(harness.takeCommands().isEmpty)
    harness.advance(seconds: 60)
    #expect(harness.refusal(user.token, room: room.id) == .ended)
    await harness.apis.handleTimeout()
    #expect(harness.takeCommands().map(\.command) == [.close(room: room.id)])
  }

  @Test func roomsAreListedNewestFirstByPages() async throws {
    var made: [String] = []
    for _ in 0..<5 { made.insert(try await harness.makeAzureRoom("{}").id, at: 0) }
    var (found, target): ([String], String?) = ([], "/rooms?api-version=2025-03-13")
    while let next = target {
      let page = try await harness.apis.answer(harness.signedForAzure("GET", next)).decoded(Rooms.self)
      found += page.value.map(\.id)
      target = page.nextLink.map { String($0.dropFirst("http://127.0.0.1:8080".count)) }
    }
    #expect(found == made)
  }

  @Test func repeatedRequestGivesTheSameRoom() async throws {
    func create(_ id: String) async throws -> String {
      var request = harness.signedForAzure("POST", "/rooms?api-version=2025-03-13", "{}")
      request.headers.append(("Repeatability-Request-Id", id))
      let answer = await harness.apis.answer(request)
      #expect(answer.header("Repeatability-Result") == "accepted")
      return try answer.decoded(AzureMadeRoom.self).id
    }
    let first = try await create("a")
    #expect(try await create("a") == first)
    #expect(try await create("b") != first)
  }

  @Test func nullInAPatchLeavesTheTimes() async throws {
    let room = try await harness.makeAzureRoom("{}")
    let body = #"{"validFrom":null,"validUntil":null,"pstnDialOutEnabled":true}"#
    let changed = try await harness.azure("PATCH", "/rooms/\(room.id)", body).decoded(AzureMadeRoom.self)
    #expect(changed.validUntil == room.validUntil)
    #expect(changed.pstnDialOutEnabled)
  }

  @Test(arguments: [
    (#"{"validUntil":"2020-01-01T00:00:00Z"}"#, "The time range end is in the past."),
    (
      #"{"validFrom":"2090-01-01T00:00:00Z","validUntil":"2091-01-01T00:00:00Z"}"#,
      "The time range is incorrect, or larger than 180 days."
    ),
    (
      #"{"participants":{"8:acs:5a1e7c3e-0000-4000-8000-00000000abcd_5a1e7c3e-0000-4000-8000-00000000abcd":{"role":"King"}}}"#,
      "'King' is not a role."
    ),
  ]) func invalidRoomIsABadRequestWithDetails(body: String, message: String) async throws {
    let (status, fault) = try await harness.azureFault("POST", "/rooms", body)
    #expect(status == 400)
    #expect(fault.code == "BadRequest")
    #expect(fault.details?.first?.message == message)
  }

  @Test func invalidIdentifiersAreBadRequests() async throws {
    #expect(try await harness.azureFault("GET", "/rooms/99").1.message == "Invalid room ID length.")
    let body = #"{"participants":{"ana":{"role":"Attendee"}}}"#
    #expect(
      try await harness.azureFault("POST", "/rooms", body).1.message == "Invalid format for communication identifier.")
    let room = try await harness.makeAzureRoom("{}")
    let removal = #"{"participants":{"ana":null}}"#
    #expect(
      try await harness.azureFault("PATCH", "/rooms/\(room.id)/participants", removal).1.message
        == "Invalid value for the Participants.")
  }

  @Test func whatIsNotServedIsNamed() async throws {
    let (status, fault) = try await harness.azureFault("POST", "/teamsUser/:exchangeAccessToken", "{}")
    #expect(status == 400)
    #expect(fault.code == "NotSupported")
    #expect(harness.log.withLock { $0.count } == 1)
  }
}
