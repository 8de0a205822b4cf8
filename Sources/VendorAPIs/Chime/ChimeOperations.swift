import KoineRouter
import KoineSignaling
import KoineTokens

// The operations. Each writes each entity once, and is completed by its repetition if it is interrupted.

extension ChimeAPI {
  /// Runs a call of the registry; a store that does not answer is a failure that SDKs retry.
  func stored<Value>(
    _ call: () async throws(RegistryError) -> Value
  ) async throws(AWSError) -> Value {
    do throws(RegistryError) { return try await call() } catch { throw Self.unavailable(error) }
  }

  static func unavailable(_ error: RegistryError) -> AWSError {
    AWSError(503, "ServiceUnavailableException", "the registry cannot be reached or written: \(error)")
  }

  // MARK: Meetings

  func createMeeting(_ request: ChimeCreateMeeting, for caller: AWSCaller) async throws(AWSError) -> ChimeMeeting {
    try ChimeChecks.check(request)
    let key = ChimeClaim.key(
      requestToken: request.ClientRequestToken ?? "", account: caller.account, region: caller.region)
    for _ in 0..<8 {
      let claim = try await stored { () throws(RegistryError) in try await context.registry.read(ChimeClaim.self, key) }
      if let claim {
        let known = try await stored { () throws(RegistryError) in
          try await context.registry.read(ChimeMeeting.self, ChimeMeeting.key(claim.value.id))
        }
        guard let known else {
          // The request was interrupted between its two writes.
          return try await write(meeting(claim.value.id, request, for: caller))
        }
        if isLive(known.value) { return known.value }
      }
      let id = context.identifiers.guid(at: context.clock())
      let expiry = context.clock().adding(seconds: 2 * context.settings.meetingSeconds)
      do throws(RegistryError) {
        let bytes = Array(#"{"id":"\#(id)"}"#.utf8)
        try await context.registry.store.put(key, bytes, ifVersion: claim?.version, expiry: expiry)
      } catch .conflict {
        continue  // the same request at the same time: its meeting is the next round's
      } catch { throw Self.unavailable(error) }
      return try await write(meeting(id, request, for: caller))
    }
    throw AWSError(409, "ConflictException", "the same request is made too often at the same time")
  }

  private func meeting(_ id: String, _ request: ChimeCreateMeeting, for caller: AWSCaller) -> ChimeMeeting {
    ChimeMeeting(
      id: id, account: caller.account, controlRegion: caller.region,
      mediaRegion: request.MediaRegion ?? caller.region, externalID: request.ExternalMeetingId,
      hostID: request.MeetingHostId, tenantIDs: request.TenantIds.flatMap { $0.isEmpty ? nil : $0 },
      features: request.MeetingFeatures?.completed, tags: request.Tags ?? [], created: context.clock())
  }

  private func write(_ meeting: ChimeMeeting) async throws(AWSError) -> ChimeMeeting {
    try await stored { () throws(RegistryError) in
      try await context.registry.create(meeting.key, meeting, expiry: meeting.expiry(context.settings))
    } ?? meeting
  }

  func createMeetingWithAttendees(
    _ create: ChimeCreateMeeting, _ request: APIRequest, for caller: AWSCaller
  ) async throws(AWSError) -> ChimeMeetingWithAttendeesAnswer {
    guard let requests = create.Attendees, (1...20).contains(requests.count) else {
      throw ChimeChecks.fail("Value at 'attendees' must have between 1 and 20 members")
    }
    let meeting = try await createMeeting(create, for: caller)
    let (attendees, faults) = try await createAttendees(requests, atMost: 20, in: meeting)
    return ChimeMeetingWithAttendeesAnswer(
      Meeting: answer(meeting, to: request), Attendees: attendees, Errors: faults)
  }

  private func isLive(_ meeting: ChimeMeeting) -> Bool {
    !meeting.hasEnded && context.clock() < meeting.created.adding(seconds: context.settings.meetingSeconds)
  }

  private func notFound(_ meeting: String) -> AWSError {
    AWSError(404, "NotFoundException", "Meeting <\(meeting.prefix(64))> not found")
  }

  func meeting(_ id: String, of caller: AWSCaller) async throws(AWSError) -> ChimeMeeting {
    guard Identifiers.isGUID(id) else { throw ChimeChecks.fail("'\(id.prefix(64))' is no meeting id") }
    let meeting = try await stored { () throws(RegistryError) in
      try await context.registry.read(ChimeMeeting.self, ChimeMeeting.key(id))?.value
    }
    guard let meeting, meeting.account == caller.account, isLive(meeting) else { throw notFound(id) }
    return meeting
  }

  /// Ends a meeting for everyone. Its tokens admit nobody from then on.
  func end(_ meeting: ChimeMeeting, subject: String) async throws(AWSError) {
    var isFirst = false
    try await context.registry.update(
      ChimeMeeting.self, meeting.key, expiry: { $0.expiry(context.settings) }, refusing: Self.unavailable
    ) { (meeting: inout ChimeMeeting) throws(AWSError) in
      isFirst = !meeting.hasEnded
      meeting.hasEnded = true
      return isFirst
    }
    if isFirst { events.ended(meeting) }
    await context.execute(.close(room: meeting.id), for: subject, reason: "DeleteMeeting")
  }

  /// The answer to a request that ended a meeting may have been lost before the room was closed.
  func repeatEnd(of id: String, _ caller: AWSCaller) async throws(AWSError) {
    let meeting = try await stored { () throws(RegistryError) in
      try await context.registry.read(ChimeMeeting.self, ChimeMeeting.key(id))?.value
    }
    guard let meeting, meeting.account == caller.account, meeting.hasEnded else { return }
    await context.execute(.close(room: id), for: caller.accessKey, reason: "DeleteMeeting")
  }

  // MARK: Attendees

  func createAttendee(
    _ request: ChimeAttendeeRequest, in meeting: ChimeMeeting
  ) async throws(AWSError) -> ChimeAttendee {
    try ChimeChecks.externalID(request.ExternalUserId, "externalUserId", isRequired: true)
    let externalID = request.ExternalUserId ?? ""
    let capabilities = try ChimeChecks.capabilities(request.Capabilities, in: meeting.features)
    let key = ChimeClaim.key(externalUserID: externalID, meeting: meeting.id)
    let expiry = meeting.expiry(context.settings)
    for _ in 0..<8 {
      let claim = try await stored { () throws(RegistryError) in try await context.registry.read(ChimeClaim.self, key) }
      if let claim {
        if let known = try await readAttendee(claim.value.id, in: meeting) { return known }
        let isDeleted = try await stored { () throws(RegistryError) in
          try await context.registry.store.get(ChimeDeletedAttendee.key(claim.value.id, meeting: meeting.id)) != nil
        }
        if !isDeleted {
          // The request was interrupted between its two writes.
          return try await write(claim.value.id, externalID, capabilities, in: meeting)
        }
      }
      let others = try await stored { () throws(RegistryError) in
        try await context.registry.store.count(
          prefix: ChimeAttendee.prefix(meeting: meeting.id), limit: meeting.attendeeLimit)
      }
      guard others < meeting.attendeeLimit else {
        throw AWSError(400, "LimitExceededException", "the meeting has its \(meeting.attendeeLimit) attendees")
      }
      let id = context.identifiers.guid(at: context.clock())
      do throws(RegistryError) {
        let bytes = Array(#"{"id":"\#(id)"}"#.utf8)
        try await context.registry.store.put(key, bytes, ifVersion: claim?.version, expiry: expiry)
      } catch .conflict {
        continue
      } catch { throw Self.unavailable(error) }
      return try await write(id, externalID, capabilities, in: meeting)
    }
    throw AWSError(429, "ThrottlingException", "the same attendee is created too often at the same time")
  }

  private func write(
    _ id: String, _ externalID: String, _ capabilities: ChimeJoinInfo.Capabilities, in meeting: ChimeMeeting
  ) async throws(AWSError) -> ChimeAttendee {
    let attendee = ChimeAttendee(
      id: id, meetingID: meeting.id, externalUserID: externalID, capabilities: capabilities, created: context.clock(),
      tokenCapabilities: capabilities)
    let known = try await stored { () throws(RegistryError) in
      try await context.registry.create(attendee.key, attendee, expiry: meeting.expiry(context.settings))
    }
    if known == nil { events.added(attendee, to: meeting) }
    return known ?? attendee
  }

  /// Creates as many as can be created; the others are in the list of faults.
  func createAttendees(
    _ requests: [ChimeAttendeeRequest]?, atMost limit: Int, in meeting: ChimeMeeting
  ) async throws(AWSError) -> (attendees: [ChimeJoinInfo.Attendee], faults: [ChimeAttendeeFault]) {
    guard let requests, (1...limit).contains(requests.count) else {
      throw ChimeChecks.fail("Value at 'attendees' must have between 1 and \(limit) members")
    }
    var attendees: [ChimeJoinInfo.Attendee] = []
    var faults: [ChimeAttendeeFault] = []
    for request in requests {
      do throws(AWSError) {
        attendees.append(try answer(try await createAttendee(request, in: meeting), in: meeting))
      } catch {
        guard error.status < 500 else { throw error }
        faults.append(
          ChimeAttendeeFault(
            ExternalUserId: request.ExternalUserId,
            ErrorCode: error.code.replacing("Exception", with: ""), ErrorMessage: error.message))
      }
    }
    return (attendees, faults)
  }

  private func readAttendee(_ id: String, in meeting: ChimeMeeting) async throws(AWSError) -> ChimeAttendee? {
    try await stored { () throws(RegistryError) in
      try await context.registry.read(ChimeAttendee.self, ChimeAttendee.key(id, meeting: meeting.id))?.value
    }
  }

  func attendee(_ id: String, in meeting: ChimeMeeting) async throws(AWSError) -> ChimeAttendee {
    guard Identifiers.isGUID(id) else { throw ChimeChecks.fail("'\(id.prefix(64))' is no attendee id") }
    guard let attendee = try await readAttendee(id, in: meeting) else {
      throw AWSError(404, "NotFoundException", "Attendee <\(id)> not found in meeting <\(meeting.id)>")
    }
    return attendee
  }

  func listAttendees(_ request: APIRequest, in meeting: ChimeMeeting) async throws(AWSError) -> ChimeAttendeeList {
    var limit = 100
    if let text = request.parameter("max-results") {
      guard let number = Int(text), (1...100).contains(number) else {
        throw ChimeChecks.fail("Value at 'maxResults' is not between 1 and 100")
      }
      limit = number
    }
    var last: String?
    if let token = request.parameter("next-token") {
      guard Identifiers.isGUID(token) else { throw ChimeChecks.fail("Value at 'nextToken' is not one of this list") }
      last = ChimeAttendee.key(token, meeting: meeting.id)
    }
    let page = try await stored { () throws(RegistryError) in
      try await context.registry.list(
        ChimeAttendee.self, prefix: ChimeAttendee.prefix(meeting: meeting.id), after: last, limit: limit + 1)
    }
    var attendees: [ChimeJoinInfo.Attendee] = []
    for entry in page.prefix(limit) { attendees.append(try answer(entry.value, in: meeting)) }
    return ChimeAttendeeList(
      Attendees: attendees, NextToken: page.count > limit ? page[limit - 1].value.id : nil)
  }

  func delete(_ id: String, in meeting: ChimeMeeting, subject: String) async throws(AWSError) {
    let attendee = try await attendee(id, in: meeting)
    let deleted = ChimeDeletedAttendee(id: attendee.id, meetingID: meeting.id)
    _ = try await stored { () throws(RegistryError) in
      try await context.registry.create(
        ChimeDeletedAttendee.key(id, meeting: meeting.id), deleted, expiry: meeting.expiry(context.settings))
    }
    try await stored { () throws(RegistryError) in try await context.registry.delete(attendee.key) }
    events.deleted(attendee, from: meeting)
    await remove(attendee.id, from: meeting, subject: subject)
  }

  func remove(_ id: String, from meeting: ChimeMeeting, subject: String) async {
    for participant in [id, id + "#content"] {
      await context.execute(.remove(participant, room: meeting.id), for: subject, reason: "DeleteAttendee")
    }
  }

  // MARK: Capabilities

  /// Changes what an attendee may do, at once if it is in the meeting, and for later joins.
  @discardableResult
  func set(
    _ capabilities: ChimeJoinInfo.Capabilities, of id: String, in meeting: ChimeMeeting, subject: String
  ) async throws(AWSError) -> ChimeAttendee {
    _ = try await attendee(id, in: meeting)
    let changed = try await context.registry.update(
      ChimeAttendee.self, ChimeAttendee.key(id, meeting: meeting.id),
      expiry: { _ in meeting.expiry(context.settings) }, refusing: Self.unavailable
    ) { (attendee: inout ChimeAttendee) throws(AWSError) in
      guard attendee.capabilities != capabilities else { return false }
      (attendee.capabilities, attendee.hasChanged) = (capabilities, true)
      return true
    }
    guard let changed else { throw AWSError(404, "NotFoundException", "Attendee <\(id)> not found") }
    await enforceCapabilities(of: id, in: meeting, subject: subject)
    return changed
  }

  /// Gives an attendee that is in the meeting what its newest capabilities say. Requests at the same time may carry out their commands
  /// in another order than they changed the capabilities, so each looks afterwards whether they are still the same.
  private func enforceCapabilities(of id: String, in meeting: ChimeMeeting, subject: String) async {
    // Without a rule the attendee has been deleted, or has what its token says.
    while let rule = context.rules.participantRule(id, room: meeting.id) {
      for participant in [id, id + "#content"] {
        await context.execute(
          .grant(
            PermissionChange(publishing: rule.publish ?? [], receiving: rule.receive ?? []), participant,
            room: meeting.id),
          for: subject, reason: "UpdateAttendeeCapabilities")
      }
      if context.rules.participantRule(id, room: meeting.id) == rule { return }
    }
  }

  func updateAllCapabilities(
    _ update: ChimeCapabilitiesUpdate, in meeting: ChimeMeeting, subject: String
  ) async throws(AWSError) {
    let excluded = (update.ExcludedAttendeeIds ?? []).compactMap(\.AttendeeId)
    guard (1...250).contains(excluded.count) else {
      throw ChimeChecks.fail("Value at 'excludedAttendeeIds' must have between 1 and 250 members")
    }
    let capabilities = try ChimeChecks.capabilities(update.Capabilities ?? .init(), in: meeting.features)
    let attendees = try await stored { () throws(RegistryError) in
      try await context.registry.list(
        ChimeAttendee.self, prefix: ChimeAttendee.prefix(meeting: meeting.id), limit: 250)
    }
    for attendee in attendees.map(\.value) where !excluded.contains(attendee.id) {
      try await set(capabilities, of: attendee.id, in: meeting, subject: subject)
    }
  }

  // MARK: Tags

  func taggedMeeting(_ arn: String?, of caller: AWSCaller) async throws(AWSError) -> ChimeMeeting {
    guard let arn, (1...1_011).contains(arn.count), arn.hasPrefix("arn:") else {
      throw ChimeChecks.fail("Value at 'resourceARN' is not an ARN")
    }
    let id = String(arn.split(separator: "/").last ?? "")
    guard arn.contains(":meeting/"), Identifiers.isGUID(id) else {
      throw AWSError(404, "ResourceNotFoundException", "there is no resource '\(arn.prefix(128))'")
    }
    do throws(AWSError) { return try await meeting(id, of: caller) } catch {
      guard error.status == 404 else { throw error }
      throw AWSError(404, "ResourceNotFoundException", "there is no resource '\(arn.prefix(128))'")
    }
  }

  func changeTags(_ request: ChimeTagRequest, for caller: AWSCaller) async throws(AWSError) {
    let meeting = try await taggedMeeting(request.ResourceARN, of: caller)
    if request.Tags == nil, request.TagKeys == nil { throw ChimeChecks.fail("neither 'Tags' nor 'TagKeys'") }
    try ChimeChecks.check(request.Tags ?? [])
    try await context.registry.update(
      ChimeMeeting.self, meeting.key, expiry: { $0.expiry(context.settings) }, refusing: Self.unavailable
    ) { (meeting: inout ChimeMeeting) throws(AWSError) in
      let removed = Set((request.Tags ?? []).map(\.Key) + (request.TagKeys ?? []))
      let tags = meeting.tags.filter { !removed.contains($0.Key) } + (request.Tags ?? [])
      guard tags.count <= 50 else { throw AWSError(400, "TooManyTagsException", "more than 50 tags") }
      meeting.tags = tags
      return true
    }
  }
}

extension ChimeJoinInfo.Features {
  /// With all four groups, or nil if none is set: clients read every group of features that are there.
  var completed: ChimeJoinInfo.Features? {
    guard echoReduction != nil || videoMaxResolution != nil || contentMaxResolution != nil || attendeeMaxCount != nil
    else { return nil }
    let isLarge = videoMaxResolution == "FHD" || contentMaxResolution == "UHD"
    return ChimeJoinInfo.Features(
      echoReduction: echoReduction ?? "UNAVAILABLE", videoMaxResolution: videoMaxResolution ?? "HD",
      contentMaxResolution: contentMaxResolution ?? "FHD", attendeeMaxCount: attendeeMaxCount ?? (isLarge ? 25 : 250))
  }
}
