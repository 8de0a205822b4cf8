import KoineRouter

extension AzureAPI {
  func answer(_ room: AzureRoom) -> AzureRoomAnswer {
    AzureRoomAnswer(
      id: room.id, createdAt: room.created.iso8601Offset, validFrom: room.validFrom.iso8601Offset,
      validUntil: room.validUntil.iso8601Offset, pstnDialOutEnabled: room.allowsDialOut)
  }

  private static let longest: Int64 = 180 * 24 * 60 * 60

  private func time(_ text: String?, _ member: String) throws(AzureError) -> APITime? {
    guard let text else { return nil }
    guard let time = APITime(iso8601: text) else {
      throw AzureError(
        400, "BadRequest", AzureError.malformed,
        details: [.init(code: "BadArgument", message: "The time cannot be read.", target: member)])
    }
    return time
  }

  /// The service invites at most so many users.
  private static let participantLimit = 350

  private func checkSize(of participants: [String: AzureRoom.Role]) throws(AzureError) {
    guard participants.count <= Self.participantLimit else {
      throw AzureError(400, "BadRequest", "A room has at most \(Self.participantLimit) participants.")
    }
  }

  private func check(from start: APITime, until end: APITime) throws(AzureError) {
    func fail(_ message: String) -> AzureError {
      AzureError(
        400, "BadRequest", AzureError.malformed,
        details: [.init(code: "BadArgument", message: message, target: "ValidUntil")])
    }
    guard end > context.clock() else { throw fail("The time range end is in the past.") }
    guard start < end, end <= start.adding(seconds: Self.longest) else {
      throw fail("The time range is incorrect, or larger than 180 days.")
    }
  }

  /// Roles by raw id; nil: removed.
  private func roles(
    _ participants: [String: AzurePatch<AzureParticipantProperties>]?, mayRemove: Bool
  ) throws(AzureError) -> [String: AzureRoom.Role?] {
    var roles: [String: AzureRoom.Role?] = [:]
    for (id, patch) in participants ?? [:] {
      let parts = id.dropFirst("8:acs:".count).split(separator: "_", omittingEmptySubsequences: false)
      let isID = id.hasPrefix("8:acs:") && parts.count == 2 && parts.allSatisfy { Identifiers.isGUID(String($0)) }
      guard let properties = patch.value else {
        guard isID else { throw AzureError(400, "BadRequest", "Invalid value for the Participants.") }
        if mayRemove { roles[id] = .some(nil) } else { roles[id] = .attendee }
        continue
      }
      guard isID else { throw AzureError(400, "BadRequest", "Invalid format for communication identifier.") }
      guard let name = properties.role else {
        roles[id] = .attendee
        continue
      }
      guard let role = AzureRoom.Role(rawValue: name) else {
        throw AzureError(
          400, "BadRequest", AzureError.malformed,
          details: [
            .init(
              code: "BadArgument", message: "'\(name.prefix(64))' is not a role.", target: "$.participants.\(id).role")
          ])
      }
      roles[id] = role
    }
    return roles
  }

  func room(_ id: String, of caller: AzureCaller) async throws(AzureError) -> AzureRoom {
    guard (16...17).contains(id.utf8.count), id.utf8.allSatisfy({ (48...57).contains($0) }) else {
      throw AzureError(400, "BadRequest", "Invalid room ID length.")
    }
    let room = try await stored { () throws(RegistryError) in
      try await context.registry.read(AzureRoom.self, AzureRoom.key(id))?.value
    }
    guard let room, !room.isDeleted, room.resource == caller.resource else { throw AzureError.notFound }
    return room
  }

  func createRoom(
    _ create: AzureRoomRequest, _ request: APIRequest, for caller: AzureCaller
  ) async throws(AzureError) -> APIResponse {
    let now = context.clock()
    let start = try time(create.validFrom, "ValidFrom") ?? now
    let end = try time(create.validUntil, "ValidUntil") ?? start.adding(seconds: Self.longest)
    try check(from: start, until: end)
    let participants = try roles(create.participants, mayRemove: false).compactMapValues { $0 }
    try checkSize(of: participants)
    var room = AzureRoom(
      id: "99" + context.identifiers.decimal(15, at: now), resource: caller.resource, created: now, validFrom: start,
      validUntil: end, allowsDialOut: create.pstnDialOutEnabled ?? false, participants: participants)
    if let repeated = request.header("Repeatability-Request-Id") {
      let claim = AzureRepeatability(id: room.id)
      let known = try await stored { () throws(RegistryError) in
        try await context.registry.create(
          AzureRepeatability.key(repeated, resource: caller.resource), claim,
          expiry: now.adding(seconds: AzureRoom.tombstoneSeconds))
      }
      if let known { room.id = known.id }
    }
    let written =
      try await stored { [room] () throws(RegistryError) in
        try await context.registry.create(room.key, room)
      } ?? room
    var response = Self.json(201, answer(written))
    response.headers += [("Repeatability-Result", "accepted"), ("Location", written.id)]
    return response
  }

  func listRooms(_ request: APIRequest, for caller: AzureCaller) async throws(AzureError) -> AzureRoomList {
    let limit = context.settings.azurePage
    var last = request.parameter("nextLink").map(AzureRoom.key)
    var found: [AzureRoom] = []
    while found.count <= limit {
      let entries = try await stored { () throws(RegistryError) in
        try await context.registry.list(AzureRoom.self, prefix: AzureRoom.prefix, after: last, limit: 200)
      }
      found += entries.map(\.value).filter { !$0.isDeleted && $0.resource == caller.resource }
      guard entries.count == 200 else { break }
      last = entries.last?.key
    }
    var next: String?
    if found.count > limit, let id = found.prefix(limit).last?.id {
      let authority = context.settings.publicAuthority ?? request.header("Host") ?? "localhost"
      let version = PercentEncoding.encode(request.parameter("api-version") ?? "")
      next = "\(request.isEncrypted ? "https" : "http")://\(authority)/rooms?nextLink=\(id)&api-version=\(version)"
    }
    return AzureRoomList(value: found.prefix(limit).map(answer), nextLink: next)
  }

  private func change(
    _ id: String, _ caller: AzureCaller, _ body: (inout AzureRoom) throws(AzureError) -> Bool
  ) async throws(AzureError) -> AzureRoom {
    let room = try await room(id, of: caller)
    let changed = try await context.registry.update(AzureRoom.self, room.key, refusing: Self.unavailable) {
      (room: inout AzureRoom) throws(AzureError) in
      guard !room.isDeleted else { throw AzureError.notFound }
      return try body(&room)
    }
    guard let changed else { throw AzureError.notFound }
    return changed
  }

  /// Members that are null stay as they are: the Python SDK sends those that its caller has not set as null.
  func updateRoom(
    _ id: String, _ update: AzureRoomRequest, for caller: AzureCaller
  ) async throws(AzureError) -> AzureRoom {
    let (start, end) = (try time(update.validFrom, "ValidFrom"), try time(update.validUntil, "ValidUntil"))
    return try await change(id, caller) { (room: inout AzureRoom) throws(AzureError) in
      room.validFrom = start ?? room.validFrom
      room.validUntil = end ?? room.validUntil
      if start != nil || end != nil { try check(from: room.validFrom, until: room.validUntil) }
      room.allowsDialOut = update.pstnDialOutEnabled ?? room.allowsDialOut
      return true
    }
  }

  /// Deleting a room that has been deleted succeeds, as with the service.
  func deleteRoom(_ id: String, for caller: AzureCaller) async throws(AzureError) {
    do throws(AzureError) {
      let room = try await room(id, of: caller)
      let expiry = max(room.validUntil, context.clock()).adding(seconds: AzureRoom.tombstoneSeconds)
      try await context.registry.update(
        AzureRoom.self, room.key, expiry: { _ in expiry }, refusing: Self.unavailable
      ) { (room: inout AzureRoom) throws(AzureError) in
        defer { room.isDeleted = true }
        return !room.isDeleted
      }
      await context.execute(.close(room: id), for: caller.resource, reason: "delete room")
    } catch {
      guard error.status == 404 else { throw error }
      // The answer to the first request may have been lost before the room was closed.
      if context.rules.roomRule(id)?.refusal != nil {
        await context.execute(.close(room: id), for: caller.resource, reason: "delete room")
      }
    }
  }

  /// Changes act at once on participants that are in the room.
  func changeParticipants(
    of id: String, _ request: AzureRoomRequest, for caller: AzureCaller
  ) async throws(AzureError) {
    let roles = try roles(request.participants, mayRemove: true)
    _ = try await change(id, caller) { (room: inout AzureRoom) throws(AzureError) in
      for (participant, role) in roles { room.participants[participant] = role }
      try checkSize(of: room.participants)
      return true
    }
    for participant in roles.keys.sorted() {
      // As the roster is now: another request may have changed it in the meantime.
      let rule = context.rules.roomRule(id)?.roster?[participant]
      let command: RoomCommand =
        rule.map { .grant(AzureRoom.Role.change($0), participant, room: id) } ?? .remove(participant, room: id)
      await context.execute(command, for: caller.resource, reason: "participants of the room")
    }
  }
}
