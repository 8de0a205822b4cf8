import KoineBase
import KoineTokens

extension AzureAPI {
  private func validation(_ message: String, target: String) -> AzureError {
    AzureError(400, "ValidationError", message, target: target)
  }

  private func checked(
    scopes: [String]?, minutes: Int?
  ) throws(AzureError) -> (scopes: Set<AzureUserToken.Scope>, minutes: Int) {
    guard let scopes, !scopes.isEmpty else {
      throw validation("Scopes: The Scopes field is required.", target: "Scopes")
    }
    var known: Set<AzureUserToken.Scope> = []
    for name in scopes {
      guard let scope = AzureUserToken.Scope(rawValue: name) else {
        throw validation("Scopes: '\(name.prefix(64))' is not a valid scope.", target: "Scopes")
      }
      known.insert(scope)
    }
    let minutes = minutes ?? 1_440
    guard (60...1_440).contains(minutes) else {
      throw validation(
        "ExpiresInMinutes value \(minutes) is invalid. Value must be within the [60, 1440] interval.",
        target: "ExpiresInMinutes")
    }
    return (known, minutes)
  }

  /// A token is issued at the beginning of the user's valid time, if that lies ahead: some seconds, after a revocation. It lies
  /// further ahead if the clock has been set back since, and a token of that time would be refused at the door.
  private func makeToken(
    _ scopes: Set<AzureUserToken.Scope>, _ minutes: Int, for user: AzureUser, _ caller: AzureCaller
  ) throws(AzureError) -> AzureToken {
    let now = context.clock().seconds
    _ = context.latestTime()
    let issued = max(now, user.tokensValidFrom?.seconds ?? 0)
    guard issued <= now + Self.longestLead + 1 else {
      let start = APITime(milliseconds: issued * 1_000).iso8601Seconds
      throw AzureError(
        503, "ServiceUnavailable",
        "The user gets tokens from \(start) on: they were revoked, and the server's clock has been set back since.")
    }
    let expires = issued + Int64(minutes) * 60
    let claims = AzureUserToken(
      identity: user.id, resourceID: caller.resource, scopes: scopes, issued: NumericDate(Double(issued)),
      expires: NumericDate(Double(expires)))
    do throws(TokenError) {
      return AzureToken(
        token: try claims.signed(with: context.keys.secret),
        expiresOn: APITime(milliseconds: expires * 1_000).iso8601Offset)
    } catch { throw AzureError(500, "InternalError", "the token could not be signed: \(error)") }
  }

  func createUser(_ request: AzureCreateIdentity, for caller: AzureCaller) async throws(AzureError) -> APIResponse {
    let wanted =
      try request.createTokenWithScopes == nil
      ? nil : checked(scopes: request.createTokenWithScopes, minutes: request.expiresInMinutes)
    let user = AzureUser(id: "8:acs:\(caller.resource)_\(context.identifiers.guid(at: context.clock()))")
    let other = try await stored { () throws(RegistryError) in try await context.registry.create(user.key, user) }
    guard other == nil else { throw Self.unavailable(.conflict) }
    var token: AzureToken?
    if let (scopes, minutes) = wanted { token = try makeToken(scopes, minutes, for: user, caller) }
    return Self.json(201, AzureIdentityAnswer(identity: .init(id: user.id), accessToken: token))
  }

  private static let unknownUser = AzureError(404, "NotFound", "Provided identity doesn't exist.")

  private func isOwn(_ id: String, _ caller: AzureCaller) -> Bool {
    AzureUser.isID(id) && id.hasPrefix("\(AzureUser.idPrefix)\(caller.resource)_")
  }

  func issueToken(
    _ request: AzureIssueToken, to id: String, for caller: AzureCaller
  ) async throws(AzureError) -> AzureToken {
    let (scopes, minutes) = try checked(scopes: request.scopes, minutes: request.expiresInMinutes)
    guard isOwn(id, caller) else { throw Self.unknownUser }
    let user = try await stored { () throws(RegistryError) in
      try await context.registry.read(AzureUser.self, AzureUser.key(id))?.value
    }
    guard let user, !user.isDeleted else { throw Self.unknownUser }
    return try makeToken(scopes, minutes, for: user, caller)
  }

  /// The start of a user's valid time may lie so many seconds ahead. Servers accept tokens that are issued up to 60 s ahead.
  private static let longestLead: Int64 = 30

  /// Tokens are valid from the next whole second on: the time of issue in a token has whole seconds. After a second revocation in
  /// the same second, one second later still, because tokens of the first one's valid time may have been issued in between. After the
  /// clock has been set back, from the latest time on that it showed.
  private func revoke(_ id: String, deleting: Bool, _ caller: AzureCaller) async throws(AzureError) {
    guard isOwn(id, caller) else { throw Self.unknownUser }
    let now = context.latestTime()
    let user = try await context.registry.update(
      AzureUser.self, AzureUser.key(id),
      expiry: { $0.isDeleted ? now.adding(seconds: AzureUser.tombstoneSeconds) : nil }, refusing: Self.unavailable
    ) { (user: inout AzureUser) throws(AzureError) in
      guard !user.isDeleted else { throw Self.unknownUser }
      let start = max(now.seconds, user.tokensValidFrom?.seconds ?? 0) + 1
      guard deleting || start <= now.seconds + Self.longestLead else {
        throw AzureError(429, "TooManyRequests", "The user's tokens are revoked too often.")
      }
      user.tokensValidFrom = APITime(milliseconds: start * 1_000)
      user.isDeleted = deleting
      return true
    }
    guard user != nil else { throw Self.unknownUser }
  }

  func revokeTokens(of id: String, for caller: AzureCaller) async throws(AzureError) {
    try await revoke(id, deleting: false, caller)
  }

  func deleteUser(_ id: String, for caller: AzureCaller) async throws(AzureError) {
    try await revoke(id, deleting: true, caller)
  }
}

extension APITime {
  /// ISO 8601 with milliseconds and the offset of UTC, as `2026-11-25T10:17:38.031+00:00`.
  var iso8601Offset: String { iso8601.dropLast() + "+00:00" }
}
