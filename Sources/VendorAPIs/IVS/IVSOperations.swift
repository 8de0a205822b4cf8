import CKoineOpenSSL
import KoineBase
import KoineRouter
import KoineSignaling
import KoineTokens

extension IVSAPI {
  // MARK: Stages

  func stage(_ arn: String?, _ member: String, of caller: AWSCaller) async throws(AWSError) -> IVSStage {
    let found = try await stageOrTombstone(arn, member, of: caller)
    guard !found.isDeleted else { throw IVSChecks.notFound("stage", found.arn) }
    return found
  }

  private func stageOrTombstone(
    _ arn: String?, _ member: String, of caller: AWSCaller
  ) async throws(AWSError) -> IVSStage {
    let id = try IVSChecks.id(of: "stage", in: arn, member, caller: caller)
    let found = try await stored { () throws(RegistryError) in
      guard let id else { return nil as IVSStage? }
      return try await context.registry.read(IVSStage.self, IVSStage.key(id))?.value
    }
    guard let found, found.account == caller.account, found.region == caller.region else {
      throw IVSChecks.notFound("stage", arn ?? "")
    }
    return found
  }

  func answer(_ stage: IVSStage, to request: APIRequest) async throws(AWSError) -> IVSStageAnswer.Stage {
    IVSStageAnswer.Stage(
      arn: stage.arn, name: stage.name, activeSessionId: try await activeSession(of: stage.id), tags: stage.tags,
      autoParticipantRecordingConfiguration: stage.recording, endpoints: endpoints(for: request))
  }

  private func endpoints(for request: APIRequest) -> IVSStageAnswer.Endpoints {
    let authority = context.settings.publicAuthority ?? request.header("Host") ?? "localhost"
    let (http, webSocket) = request.isEncrypted ? ("https", "wss") : ("http", "ws")
    return IVSStageAnswer.Endpoints(
      events: "\(webSocket)://\(authority)/signaling", whip: "\(http)://\(authority)/whip")
  }

  func createStage(
    _ create: IVSCreateStage, _ request: APIRequest, for caller: AWSCaller
  ) async throws(AWSError) -> IVSStageAnswer {
    try IVSChecks.name(create.name)
    try IVSChecks.tags(create.tags)
    try IVSChecks.recording(create.autoParticipantRecordingConfiguration)
    let wanted = create.participantTokenConfigurations ?? []
    guard wanted.count <= 12 else { throw IVSChecks.fail("participantTokenConfigurations has over 12 members") }
    for token in wanted { try IVSChecks.token(token) }
    let now = context.clock()
    let stage = IVSStage(
      id: context.identifiers.alphanumeric(12, at: now), account: caller.account, region: caller.region,
      name: create.name ?? "", tags: create.tags ?? [:],
      recording: (create.autoParticipantRecordingConfiguration ?? IVSRecordingConfiguration()).completed, created: now)
    let other = try await stored { () throws(RegistryError) in try await context.registry.create(stage.key, stage) }
    guard other == nil else { throw Self.unavailable(.conflict) }
    var tokens: [IVSParticipantToken] = []
    for token in wanted { tokens.append(try makeToken(token, for: stage, request)) }
    return IVSStageAnswer(stage: try await answer(stage, to: request), participantTokens: tokens)
  }

  func listStages(_ page: IVSPage, for caller: AWSCaller) async throws(AWSError) -> IVSStageList {
    let limit = try IVSChecks.limit(page.maxResults)
    let list = "stages/\(caller.account)/\(caller.region)"
    var last = try IVSChecks.nextToken(page.nextToken, of: list).map(IVSStage.key)
    var found: [IVSStage] = []
    // Stages of other accounts and regions, and deleted ones, lie between.
    while found.count <= limit {
      let entries = try await stored { () throws(RegistryError) in
        try await context.registry.list(IVSStage.self, prefix: IVSStage.prefix, after: last, limit: 200)
      }
      found += entries.map(\.value).filter {
        !$0.isDeleted && $0.account == caller.account && $0.region == caller.region
      }
      guard entries.count == 200 else { break }
      last = entries.last?.key
    }
    let shown = found.prefix(limit)
    var stages: [IVSStageList.Summary] = []
    for stage in shown {
      stages.append(
        .init(
          arn: stage.arn, name: stage.name, activeSessionId: try await activeSession(of: stage.id), tags: stage.tags))
    }
    return IVSStageList(
      stages: stages,
      nextToken: found.count > limit ? shown.last.map { IVSChecks.token($0.id, of: list) } : nil)
  }

  func updateStage(
    _ update: IVSUpdateStage, _ request: APIRequest, for caller: AWSCaller
  ) async throws(AWSError) -> IVSStageAnswer {
    try IVSChecks.name(update.name)
    try IVSChecks.recording(update.autoParticipantRecordingConfiguration)
    let stage = try await stage(update.arn, "arn", of: caller)
    let changed = try await context.registry.update(IVSStage.self, stage.key, refusing: Self.unavailable) {
      (stage: inout IVSStage) throws(AWSError) in
      guard !stage.isDeleted else { throw IVSChecks.notFound("stage", stage.arn) }
      if let name = update.name { stage.name = name }
      if let recording = update.autoParticipantRecordingConfiguration { stage.recording = recording.completed }
      return true
    }
    return IVSStageAnswer(stage: try await answer(changed ?? stage, to: request))
  }

  /// When no token is valid any more that exists now: tombstones expire then.
  private var tombstoneExpiry: APITime {
    context.clock().adding(seconds: IVSChecks.tokenSeconds + context.settings.tombstoneMargin)
  }

  func deleteStage(_ request: IVSARNRequest, for caller: AWSCaller) async throws(AWSError) -> IVSEmptyAnswer {
    let stage = try await stageOrTombstone(request.arn, "arn", of: caller)
    guard !stage.isDeleted else {
      // Completes a deletion that was interrupted between the registry and the room.
      await context.execute(.close(room: stage.id), for: caller.accessKey, reason: "DeleteStage")
      throw IVSChecks.notFound("stage", stage.arn)
    }
    let expiry = tombstoneExpiry
    try await context.registry.update(
      IVSStage.self, stage.key, expiry: { _ in expiry }, refusing: Self.unavailable
    ) { (stage: inout IVSStage) throws(AWSError) in
      defer { stage.isDeleted = true }
      return !stage.isDeleted
    }
    await context.execute(.close(room: stage.id), for: caller.accessKey, reason: "DeleteStage")
    return IVSEmptyAnswer()
  }

  // MARK: Participants

  func makeToken(
    _ wanted: IVSTokenRequest, for stage: IVSStage, _ request: APIRequest
  ) throws(AWSError) -> IVSParticipantToken {
    let now = context.clock()
    let minutes = wanted.duration ?? 720
    // An empty list means both, as no list does.
    let asked = Set(wanted.capabilities ?? [])
    let capabilities = ["PUBLISH", "SUBSCRIBE"].filter { asked.isEmpty || asked.contains($0) }
    let endpoints = endpoints(for: request)
    let issued = NumericDate(Double(now.seconds))
    let claims = IVSStageToken(
      participantID: context.identifiers.alphanumeric(12, at: now), stage: stage.id, resource: stage.arn,
      userID: wanted.userId, attributes: wanted.attributes ?? [:],
      capabilities: .init(
        canPublish: capabilities.contains("PUBLISH"), canSubscribe: capabilities.contains("SUBSCRIBE")),
      issued: issued, expires: issued + Double(minutes * 60), eventsURL: endpoints.events, whipURL: endpoints.whip,
      version: "1.0")
    do throws(TokenError) {
      return IVSParticipantToken(
        participantId: claims.participantID, token: try claims.signed(with: context.keys.pair),
        userId: wanted.userId, attributes: wanted.attributes, duration: minutes, capabilities: capabilities,
        expirationTime: APITime(milliseconds: Int64(claims.expires.seconds) * 1_000).iso8601Seconds)
    } catch { throw AWSError(500, "InternalServerException", "the token could not be signed: \(error)") }
  }

  func disconnect(_ request: IVSDisconnect, for caller: AWSCaller) async throws(AWSError) -> IVSEmptyAnswer {
    let id = try IVSChecks.participantID(request.participantId)
    guard (request.reason?.unicodeScalars.count ?? 0) <= 128 else {
      throw IVSChecks.fail("reason has over 128 characters")
    }
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    let (key, expiry) = (IVSRevokedParticipant.key(stage: stage.id, participant: id), tombstoneExpiry)
    try await stored { () throws(RegistryError) in
      let revoked = IVSRevokedParticipant(stageID: stage.id, participantID: id)
      guard try await context.registry.create(key, revoked, expiry: expiry) != nil else { return }
      // The back end may have signed another token for the same id since.
      try await context.registry.update(
        IVSRevokedParticipant.self, key, expiry: { _ in expiry }, refusing: { $0 }
      ) { (_: inout IVSRevokedParticipant) throws(RegistryError) in true }
    }
    await context.execute(.remove(id, room: stage.id), for: caller.accessKey, reason: request.reason)
    return IVSEmptyAnswer()
  }

  // MARK: Public keys

  func answer(_ key: IVSPublicKey) -> IVSKeyAnswer.Key {
    .init(
      arn: key.arn, name: key.name, publicKeyMaterial: key.material, fingerprint: key.fingerprint, tags: key.tags)
  }

  func publicKey(_ arn: String?, of caller: AWSCaller) async throws(AWSError) -> IVSPublicKey {
    let id = try IVSChecks.id(of: "public-key", in: arn, caller: caller)
    let found = try await stored { () throws(RegistryError) in
      guard let id else { return nil as IVSPublicKey? }
      return try await context.registry.read(IVSPublicKey.self, IVSPublicKey.key(id))?.value
    }
    guard let found, found.account == caller.account, found.region == caller.region else {
      throw IVSChecks.notFound("public-key", arn ?? "")
    }
    return found
  }

  func importKey(_ request: IVSImportKey, for caller: AWSCaller) async throws(AWSError) -> IVSKeyAnswer {
    try IVSChecks.name(request.name)
    try IVSChecks.tags(request.tags)
    guard let material = request.publicKeyMaterial, material.utf8.count <= 4_096,
      let fingerprint = Self.fingerprint(of: material), let key = try? VerificationKey(pem: material),
      key.algorithm == .es384
    else { throw IVSChecks.fail("publicKeyMaterial must be a public key on P-384 in PEM") }
    let imported = IVSPublicKey(
      id: context.identifiers.alphanumeric(12, at: context.clock()), account: caller.account, region: caller.region,
      name: request.name ?? "", tags: request.tags ?? [:], material: material, fingerprint: fingerprint)
    let claim = ChimeClaim(id: imported.id)
    let other = try await stored { () throws(RegistryError) in
      try await context.registry.create(
        IVSPublicKey.claimKey(fingerprint: fingerprint, account: caller.account, region: caller.region), claim)
    }
    if let other {
      let known = try await stored { () throws(RegistryError) in
        try await context.registry.read(IVSPublicKey.self, IVSPublicKey.key(other.id))
      }
      guard known == nil else { throw AWSError(409, "ConflictException", "the key has been imported already") }
      // An import that was interrupted between its two writes: this one completes it.
      var completed = imported
      completed.id = other.id
      return IVSKeyAnswer(publicKey: answer(try await write(completed)))
    }
    return IVSKeyAnswer(publicKey: answer(try await write(imported)))
  }

  private func write(_ key: IVSPublicKey) async throws(AWSError) -> IVSPublicKey {
    try await stored { () throws(RegistryError) in try await context.registry.create(key.key, key) } ?? key
  }

  /// Deletes the claim first: a repetition finds the key and completes the deletion. A claim of a later import stays.
  func delete(_ key: IVSPublicKey) async throws(AWSError) -> IVSEmptyAnswer {
    let claimKey = IVSPublicKey.claimKey(fingerprint: key.fingerprint, account: key.account, region: key.region)
    try await stored { () throws(RegistryError) in
      if let claim = try await context.registry.read(ChimeClaim.self, claimKey), claim.value.id == key.id {
        do throws(RegistryError) {
          try await context.registry.store.delete(claimKey, ifVersion: claim.version)
        } catch .conflict {}
      }
      try await context.registry.delete(key.key)
    }
    return IVSEmptyAnswer()
  }

  /// MD5 of the key's DER form, in pairs of digits; nil if the text is not PEM.
  private static func fingerprint(of pem: String) -> String? {
    let lines = pem.split(whereSeparator: \.isNewline).map { $0.trimmingPrefix(while: \.isWhitespace) }
    guard let begin = lines.firstIndex(of: "-----BEGIN PUBLIC KEY-----"),
      let end = lines.firstIndex(of: "-----END PUBLIC KEY-----"), begin < end,
      let der = Base64.decode(lines[(begin + 1)..<end].joined().utf8), !der.isEmpty
    else { return nil }
    var digest = [UInt8](repeating: 0, count: 16)
    var count: UInt32 = 0
    guard EVP_Digest(der, der.count, &digest, &count, EVP_md5(), nil) == 1, count == 16 else { return nil }
    return digest.map { Digest.hex([$0]) }.joined(separator: ":")
  }

  func listKeys(_ page: IVSPage, for caller: AWSCaller) async throws(AWSError) -> IVSKeyList {
    let limit = try IVSChecks.limit(page.maxResults)
    let list = "keys/\(caller.account)/\(caller.region)"
    var last = try IVSChecks.nextToken(page.nextToken, of: list).map(IVSPublicKey.key)
    var found: [IVSPublicKey] = []
    while found.count <= limit {
      let entries = try await stored { () throws(RegistryError) in
        try await context.registry.list(IVSPublicKey.self, prefix: IVSPublicKey.prefix, after: last, limit: 200)
      }
      found += entries.map(\.value).filter { $0.account == caller.account && $0.region == caller.region }
      guard entries.count == 200 else { break }
      last = entries.last?.key
    }
    let shown = found.prefix(limit)
    return IVSKeyList(
      publicKeys: shown.map {
        .init(arn: $0.arn, name: $0.name, publicKeyMaterial: nil, fingerprint: nil, tags: $0.tags)
      },
      nextToken: found.count > limit ? shown.last.map { IVSChecks.token($0.id, of: list) } : nil)
  }

  // MARK: Tags

  func tags(_ request: APIRequest, for caller: AWSCaller) async throws(AWSError) -> any Encodable {
    // The ARN has slashes, which the path has percent-encoded.
    guard let arn = PercentEncoding.decode(request.path.dropFirst("/tags/".count)) else {
      throw IVSChecks.fail("resourceArn cannot be decoded")
    }
    let change: (inout [String: String]) throws(AWSError) -> Bool
    switch request.method {
    case "GET": change = { (_: inout [String: String]) throws(AWSError) in false }
    case "POST":
      guard let added = (try body(request) as IVSTags).tags else { throw IVSChecks.fail("tags is missing") }
      try IVSChecks.tags(added)
      change = { (tags: inout [String: String]) throws(AWSError) in
        tags.merge(added) { $1 }
        guard tags.count <= 50 else { throw IVSChecks.fail("more than 50 tags") }
        return true
      }
    case "DELETE":
      let keys = request.parameters("tagKeys")
      guard (1...50).contains(keys.count) else { throw IVSChecks.fail("tagKeys must have between 1 and 50 members") }
      change = { (tags: inout [String: String]) throws(AWSError) in
        for key in keys { tags[key] = nil }
        return true
      }
    default: throw AWSError(404, "UnknownOperationException", "there is no operation \(request.method) /tags")
    }
    let tags: [String: String]?
    if arn.contains(":public-key/") {
      let key = try await publicKey(arn, of: caller)
      tags = try await context.registry.update(IVSPublicKey.self, key.key, refusing: Self.unavailable) {
        (key: inout IVSPublicKey) throws(AWSError) in try change(&key.tags)
      }?.tags
    } else {
      let stage = try await stage(arn, "resourceArn", of: caller)
      tags = try await context.registry.update(IVSStage.self, stage.key, refusing: Self.unavailable) {
        (stage: inout IVSStage) throws(AWSError) in
        guard !stage.isDeleted else { throw IVSChecks.notFound("stage", stage.arn) }
        return try change(&stage.tags)
      }?.tags
    }
    return request.method == "GET" ? IVSTagsAnswer(tags: tags ?? [:]) : IVSEmptyAnswer()
  }
}
