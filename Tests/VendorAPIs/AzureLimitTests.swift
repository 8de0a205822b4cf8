import KoineAdmissions
import KoineBase
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// The limits of Azure's operations at their edges, revocation in detail, and pages.
@Suite struct AzureLimitTests {
  private struct Participants: Decodable {
    struct Participant: Decodable {
      var rawId: String
      var role: String
    }
    var value: [Participant]
    var nextLink: String?
  }

  private let harness: APIHarness
  private let now: APITime

  init() throws {
    var settings = APISettings()
    settings.azurePage = 2
    harness = try APIHarness(settings: settings)
    now = harness.time.withLock { $0 }
  }

  private func revoke(_ user: String) async -> APIResponse {
    await harness.azure("POST", "/identities/\(PercentEncoding.encode(user))/:revokeAccessTokens")
  }

  // MARK: Authentication

  @Test(arguments: [(-901, 401), (-900, 201), (900, 201), (901, 401)] as [(Int64, Int)])
  func clockOfABackEndMayDifferByFifteenMinutes(seconds: Int64, status: Int) async {
    let request = harness.signedForAzure("POST", "/identities?api-version=2023-10-01")
    harness.advance(seconds: seconds)
    #expect(await harness.apis.answer(request).status == status)
  }

  /// The example of the scheme in the service's documentation uses `date`; browsers send `x-ms-date`.
  @Test func headerDateMayTakeThePlaceOfTheVendorsOwn() async {
    var request = harness.signedForAzure("POST", "/identities?api-version=2023-10-01")
    for index in request.headers.indices {
      switch request.headers[index].name {
      case "x-ms-date": request.headers[index].name = "Date"
      case "Authorization":
        request.headers[index].value = request.headers[index].value.replacing("x-ms-date;", with: "date;")
      default: break
      }
    }
    #expect(await harness.apis.answer(request).status == 201)
  }

  @Test func hashOfAnEmptyBodyIsTheOneOfTheDocumentation() {
    let request = harness.signedForAzure("POST", "/identities?api-version=2023-10-01")
    #expect(request.header("x-ms-content-sha256") == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
  }

  @Test func answersCarryTheVendorsHeaders() async {
    var request = harness.signedForAzure("GET", "/rooms/99454291444134085?api-version=2025-03-13")
    request.headers.append(("x-ms-client-request-id", "f0e1"))
    let answer = await harness.apis.answer(request)
    #expect(answer.status == 404)
    #expect(answer.header("x-ms-error-code") == "NotFound")
    #expect(answer.header("x-ms-client-request-id") == "f0e1")
    #expect(answer.header("x-ms-request-id") != nil)
    #expect(answer.header("api-supported-versions")?.contains("2025-03-13") == true)
  }

  // MARK: Revocation

  @Test func eachOfTwoRevocationsInOneSecondRefusesTheTokensBeforeIt() async throws {
    let (user, first) = try await harness.makeAzureUser()
    #expect(await revoke(user).status == 204)
    let second = try await harness.issueAzureToken(to: user)
    #expect(harness.refusal(second, room: "group-x") == nil)
    #expect(await revoke(user).status == 204)
    #expect(harness.refusal(first, room: "group-x") == .unauthorized)
    #expect(harness.refusal(second, room: "group-x") == .unauthorized)
    #expect(harness.refusal(try await harness.issueAzureToken(to: user), room: "group-x") == nil)
  }

  @Test func moreThanThirtyRevocationsInOneSecondAreTooMany() async throws {
    let (user, _) = try await harness.makeAzureUser()
    for _ in 0..<30 { #expect(await revoke(user).status == 204) }
    let answer = await revoke(user)
    #expect(answer.status == 429)
    #expect(answer.header("Retry-After") == "1")
    #expect(harness.refusal(try await harness.issueAzureToken(to: user), room: "group-x") == nil)
    harness.advance(seconds: 1)
    #expect(await revoke(user).status == 204)
    #expect(await harness.azure("DELETE", "/identities/\(PercentEncoding.encode(user))").status == 204)
  }

  @Test func revocationRefusesTokensOfOtherKeysToo() async throws {
    let (user, _) = try await harness.makeAzureUser()
    let key = try SigningKey(secret: Array(repeating: 7, count: 32), id: "back end")
    let keys = [try key.verificationKey]
    let issued = NumericDate(Double(now.seconds))
    var claims = AzureUserToken(identity: user, issued: issued, expires: issued + 3_600)
    let dated = try claims.signed(with: key)
    claims.issued = nil
    let undated = try claims.signed(with: key)
    claims.issued = issued + 1
    let later = try claims.signed(with: key)
    for token in [dated, undated, later] { #expect(harness.refusal(token, room: "group-x", keys: keys) == nil) }
    #expect(await revoke(user).status == 204)
    #expect(harness.refusal(dated, room: "group-x", keys: keys) == .unauthorized)
    #expect(harness.refusal(undated, room: "group-x", keys: keys) == .unauthorized)
    #expect(harness.refusal(later, room: "group-x", keys: keys) == nil)
  }

  @Test func revokedTokenDoesNotRegisterForCalls() async throws {
    let (user, token) = try await harness.makeAzureUser()
    let base = Authorization.tokens(trusting: .keys(harness.apis.verificationKeys))
    func isRefused(_ token: String) -> Bool {
      let register = Register(identity: user, credential: token)
      if case .failure(let failure) = harness.apis.authorization(after: base).checkIdentity(register) {
        return failure.code == .unauthorized
      }
      return false
    }
    #expect(!isRefused(token))
    #expect(await revoke(user).status == 204)
    #expect(isRefused(token))
    #expect(!isRefused(try await harness.issueAzureToken(to: user)))
  }

  @Test func tokenThatIsRevokedBetweenItsCheckAndTheAdmissionIsRefused() async throws {
    let (user, token) = try await harness.makeAzureUser()
    let base = Authorization.tokens(trusting: .keys(harness.apis.verificationKeys))
    let authorization = harness.apis.authorization(after: base)
    let policy = harness.apis.rules.policy
    let join = Join(
      room: "group-x", credential: token, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    let register = Register(identity: user, credential: token)
    let grants = try authorization.check(join).get()
    let known = try authorization.checkIdentity(register).get()
    #expect(policy.refuseIdentity(register, known) == nil)
    #expect(await revoke(user).status == 204)
    for occasion in [AdmissionPolicy.Occasion.join, .admission, .renewal] {
      guard case .refuse(let failure) = policy.decide(.init(occasion: occasion, join: join, grants: grants, room: nil))
      else {
        Issue.record("admitted")
        continue
      }
      #expect(failure.code == .unauthorized)
    }
    #expect(policy.refuseIdentity(register, known)?.code == .unauthorized)
  }

  @Test func userOfAnotherResourceIsUnknown() async throws {
    let other = "8:acs:00000000-0000-4000-8000-000000000001_00000000-0000-4000-8000-000000000002"
    #expect(await revoke(other).status == 404)
    #expect(await harness.azure("DELETE", "/identities/\(PercentEncoding.encode(other))").status == 404)
  }

  // MARK: Rooms

  private static let longest: Int64 = 180 * 24 * 60 * 60 * 1_000
  private static let durations: [(Int64, Int)] = [
    (longest, 201), (longest + 1, 400), (1, 201), (0, 400), (-1, 400),
  ]

  @Test(arguments: durations)
  func roomIsOpenForAtMost180Days(milliseconds: Int64, status: Int) async {
    let start = now.adding(seconds: 60)
    let end = APITime(milliseconds: start.milliseconds + milliseconds)
    let body = #"{"validFrom":"\#(start.iso8601)","validUntil":"\#(end.iso8601)"}"#
    #expect(await harness.azure("POST", "/rooms", body).status == status)
  }

  @Test(arguments: [(1, 201), (0, 400)]) func endOfARoomLiesInTheFuture(milliseconds: Int64, status: Int) async throws {
    let end = APITime(milliseconds: now.milliseconds + milliseconds)
    let body = #"{"validFrom":"\#(now.adding(seconds: -60).iso8601)","validUntil":"\#(end.iso8601)"}"#
    #expect(await harness.azure("POST", "/rooms", body).status == status)
  }

  @Test(arguments: [(15, 400), (16, 404), (17, 404), (18, 400)]) func idOfARoomHasSixteenOrSeventeenDigits(
    count: Int, status: Int
  ) async {
    #expect(await harness.azure("GET", "/rooms/\(String(repeating: "9", count: count))").status == status)
  }

  @Test(arguments: [
    "GET /rooms/ID", "PATCH /rooms/ID", "GET /rooms/ID/participants", "PATCH /rooms/ID/participants",
  ]) func unknownRoomIsNotFound(request: String) async throws {
    let parts = request.split(separator: " ").map(String.init)
    let path = parts[1].replacing("ID", with: "99454291444134085")
    let (status, fault) = try await harness.azureFault(parts[0], path, parts[0] == "PATCH" ? "{}" : "")
    #expect(status == 404)
    #expect(fault.code == "NotFound")
    #expect(fault.message == "The server cannot find the requested resource.")
  }

  @Test func unknownMembersAreIgnored() async throws {
    let room = try await harness.makeAzureRoom(#"{"colour":"blue","participants":{}}"#)
    #expect(await harness.azure("PATCH", "/rooms/\(room.id)", #"{"colour":null}"#).status == 200)
  }

  @Test func collaboratorPublishesEverythingAndDoesNotModerate() async throws {
    let user = try await harness.makeAzureUser()
    let room = try await harness.makeAzureRoom(#"{"participants":{"\#(user.id)":{"role":"Collaborator"}}}"#)
    let grants = try harness.verdict(user.token, room: room.id).get()
    #expect(grants.publish == Set(Track.Kind.allCases))
    #expect(!grants.canModerate)
    #expect(grants.role == "collaborator")
  }

  /// An object of participants by id, each with the value.
  private func participants(_ numbers: Range<Int>, _ value: String) -> String {
    let members = numbers.map {
      #""8:acs:5a1e7c3e-0000-4000-8000-00000000abcd_00000000-0000-4000-8000-\#(100_000_000_000 + $0)":\#(value)"#
    }
    return #"{"participants":{\#(members.joined(separator: ","))}}"#
  }

  @Test(arguments: [(350, 201), (351, 400)]) func roomIsCreatedWithAtMost350Participants(count: Int, status: Int) async
  {
    #expect(await harness.azure("POST", "/rooms", participants(0..<count, "{}")).status == status)
  }

  /// A change that is refused changes nothing: neither the roster nor participants that are in the room.
  @Test func fullRosterGrowsOnlyAfterARemoval() async throws {
    let room = try await harness.makeAzureRoom(participants(0..<350, "{}"))
    let path = "/rooms/\(room.id)/participants"
    #expect(await harness.azure("PATCH", path, participants(349..<351, #"{"role":"Consumer"}"#)).status == 400)
    #expect(harness.takeCommands().isEmpty)
    let roster = try #require(harness.apis.rules.roomRule(room.id)?.roster)
    #expect(roster.count == 350)
    #expect(roster.values.allSatisfy { $0 == AzureRoom.Role.attendee.rule })
    #expect(await harness.azure("PATCH", path, participants(0..<1, "null")).status == 200)
    #expect(await harness.azure("PATCH", path, participants(350..<351, "{}")).status == 200)
    #expect(harness.apis.rules.roomRule(room.id)?.roster?.count == 350)
  }

  @Test func participantsAreListedByPages() async throws {
    let ids = (1...5).map { "8:acs:5a1e7c3e-0000-4000-8000-00000000abcd_00000000-0000-4000-8000-00000000000\($0)" }
    let list = ids.reversed().map { #""\#($0)":{"role":"Consumer"}"# }.joined(separator: ",")
    let room = try await harness.makeAzureRoom(#"{"participants":{\#(list)}}"#)
    var (found, sizes): ([String], [Int]) = ([], [])
    var target: String? = "/rooms/\(room.id)/participants?api-version=2025-03-13"
    while let next = target {
      let page = try await harness.apis.answer(harness.signedForAzure("GET", next)).decoded(Participants.self)
      #expect(page.value.allSatisfy { $0.role == "Consumer" })
      found += page.value.map(\.rawId)
      sizes.append(page.value.count)
      target = page.nextLink.map { String($0.dropFirst("http://127.0.0.1:8080".count)) }
    }
    #expect(found == ids)
    #expect(sizes == [2, 2, 1])
  }

  @Test(arguments: ["99", "x", "%C3%A9", "8%3Aacs%3Ax"]) func foreignLinkToAPageIsABadRequest(place: String)
    async throws
  {
    let room = try await harness.makeAzureRoom("{}")
    for path in ["/rooms", "/rooms/\(room.id)/participants"] {
      let (status, fault) = try await harness.azureFault("GET", "\(path)?nextLink=\(place)")
      #expect(status == 400)
      #expect(fault.details?.first?.target == "nextLink")
    }
  }
}
