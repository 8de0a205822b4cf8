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
      let isID = AzureUser.isID(id)
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
    guard let room = try await roomOrTombstone(id, of: caller), !room.isDeleted else { throw AzureError.notFound }
    return room
  }

  /// The room of this id, also after its deletion.
  private func roomOrTombstone(_ id: String, of caller: AzureCaller) async throws(AzureError) -> AzureRoom? {
    guard AzureRoom.isID(id) else { throw AzureError(400, "BadRequest", "Invalid room ID length.") }
    let room = try await stored { () throws(RegistryError) in
      try await context.registry.read(AzureRoom.self, AzureRoom.key(id))?.value
    }
    return room?.resource == caller.resource ? room : nil
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
    var last = try place(in: request, where: AzureRoom.isID).map(AzureRoom.key)
    var found: [AzureRoom] = []
    while found.count <= limit {
      let entries = try await stored { () throws(RegistryError) in
        try await context.registry.list(AzureRoom.self, prefix: AzureRoom.prefix, after: last, limit: 200)
      }
      found += entries.map(\.value).filter { !$0.isDeleted && $0.resource == caller.resource }
      guard entries.count == 200 else { break }
      last = entries.last?.key
    }
    let next = found.count > limit ? found.prefix(limit).last : nil
    return AzureRoomList(value: found.prefix(limit).map(answer), nextLink: next.map { nextLink(after: $0.id, request) })
  }

  /// By their ids.
  func listParticipants(
    of room: AzureRoom, _ request: APIRequest
  ) throws(AzureError) -> AzureParticipantList {
    let last = try place(in: request) { AzureUser.isID(AzureUser.idPrefix + $0) }.map { AzureUser.idPrefix + $0 }
    let rest = room.participants.keys.filter { id in last.map { id > $0 } ?? true }.sorted()
    let page = rest.prefix(context.settings.azurePage)
    let next = rest.count > page.count ? page.last : nil
    return AzureParticipantList(
      value: page.map { .init(rawId: $0, role: (room.participants[$0] ?? .attendee).rawValue) },
      nextLink: next.map { nextLink(after: String($0.dropFirst(AzureUser.idPrefix.count)), request) })
  }

  /// The end of the page before the one that a list's `nextLink` asks for; nil: the first page.
  private func place(
    in request: APIRequest, where isPlace: (String) -> Bool
  ) throws(AzureError) -> String? {
    guard let place = request.parameter("nextLink") else { return nil }
    guard isPlace(place) else {
      throw AzureError(
        400, "BadRequest", AzureError.malformed,
        details: [.init(code: "BadArgument", message: "The link is not one of this list.", target: "nextLink")])
    }
    return place
  }

  /// The SDKs request the address as it is, and sign it.
  /// - Parameter place: characters that a query has unencoded.
  private func nextLink(after place: String, _ request: APIRequest) -> String {
    let authority = context.settings.publicAuthority ?? request.header("Host") ?? "localhost"
    let version = PercentEncoding.encode(request.parameter("api-version") ?? "")
    let scheme = request.isEncrypted ? "https" : "http"
    return "\(scheme)://\(authority)\(request.path)?nextLink=\(place)&api-version=\(version)"
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

  /// Deleting a room that has been deleted succeeds, as with the service, and closes it again: the first request may have been lost
  /// between the two.
  func deleteRoom(_ id: String, for caller: AzureCaller) async throws(AzureError) {
    guard let room = try await roomOrTombstone(id, of: caller) else { return }
    let expiry = max(room.validUntil, context.clock()).adding(seconds: AzureRoom.tombstoneSeconds)
    try await context.registry.update(
      AzureRoom.self, room.key, expiry: { _ in expiry }, refusing: Self.unavailable
    ) { (room: inout AzureRoom) throws(AzureError) in
      defer { room.isDeleted = true }
      return !room.isDeleted
    }
    await context.execute(.close(room: id), for: caller.resource, reason: "delete room")
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
    for participant in roles.keys.sorted() { await enforceRoster(of: id, on: participant, for: caller) }
  }

  /// Gives a participant that is in the room what the newest roster says. Requests at the same time may carry out their commands in
  /// another order than they changed the roster, so each looks afterwards whether the roster still says the same.
  private func enforceRoster(of room: String, on participant: String, for caller: AzureCaller) async {
    while let roster = context.rules.roomRule(room)?.roster {
      let rule = roster[participant]
      let command: RoomCommand =
        rule.map { .grant(PermissionChange(enforcing: $0), participant, room: room) }
        ?? .remove(participant, room: room)
      await context.execute(command, for: caller.resource, reason: "participants of the room")
      if context.rules.roomRule(room)?.roster?[participant] == rule { return }
    }
  }
}
