import KoineMedia
import KoineRouter
import KoineSignaling

// Sessions, participants and events: written as the rooms report them, and read by the List… and Get… operations.

extension IVSAPI {
  // MARK: Writing

  func observe(_ event: RoomEvent, at now: APITime) async {
    guard live.isStage(event.room) || live.session(of: event.room) != nil else { return }
    switch event.change {
    case .joined(let participant): await joined(participant, event.room, at: now)
    case .left: await left(event, at: now)
    case .published(let kind, let isOn): await published(kind, isOn, event, at: now)
    case .subscribed(let publisher, let isOn):
      await append(isOn ? "SUBSCRIBE_STARTED" : "SUBSCRIBE_STOPPED", event, at: now) {
        $0.remoteParticipantID = publisher
      }
    case .refused(let failure): await refused(failure, event, at: now)
    case .renewed(let userID, let attributes, let grants):
      await exchanged(userID ?? "", attributes, Self.capabilities(of: grants), event, at: now)
    }
  }

  private func makeSessionID(at now: APITime) -> String { "st-" + context.identifiers.alphanumeric(13, at: now) }

  private func joined(_ participant: Participant, _ stage: String, at now: APITime) async {
    let id = makeSessionID(at: now)
    let (session, order, isNew) = live.withLive(stage) { live in
      let isNew = live == nil
      var current = live ?? IVSLiveStages.Live(session: id)
      current.order += 1
      current.participants[participant.id] = []
      live = current
      return (current.session, current.order, isNew)
    }
    if isNew { await begin(session, of: stage, at: now) }
    let key = IVSVisit.key(stage: stage, session: session, participant: participant.id)
    let visit = IVSVisit(
      id: participant.id, userID: participant.externalUserID ?? "", attributes: participant.attributes,
      firstJoined: now, order: order, isConnected: true, hasJoined: true)
    _ = try? await context.registry.create(key, visit)
    await change(key) { visit in
      if !visit.hasJoined { (visit.hasJoined, visit.firstJoined, visit.order) = (true, now, order) }
      (visit.userID, visit.attributes) = (participant.externalUserID ?? "", participant.attributes)
      visit.isConnected = true
      visit.events.append(IVSVisit.Event(name: "JOINED", time: now))
    }
  }

  /// Begins a session. One that a former process has left open ends with it.
  private func begin(_ session: String, of stage: String, at now: APITime) async {
    let key = IVSSessions.key(stage: stage)
    _ = try? await context.registry.create(key, IVSSessions())
    let limit = context.settings.sessionsPerRoom
    _ = try? await context.registry.update(IVSSessions.self, key, refusing: { $0 }) {
      (list: inout IVSSessions) throws(RegistryError) in
      for index in list.sessions.indices where list.sessions[index].end == nil { list.sessions[index].end = now }
      list.sessions.append(.init(id: session, start: now))
      list.sessions.removeFirst(max(list.sessions.count - limit, 0))
      return true
    }
  }

  private func left(_ event: RoomEvent, at now: APITime) async {
    // Publishing ends with the stay; the room reports it before.
    await append("LEFT", event, at: now) { _ in
    } also: {
      $0.isConnected = false
    }
    let ended: String? = live.withLive(event.room) { live in
      live?.participants[event.participant] = nil
      guard let current = live, current.participants.isEmpty else { return nil }
      live = nil
      return current.session
    }
    guard let ended else { return }
    _ = try? await context.registry.update(IVSSessions.self, IVSSessions.key(stage: event.room), refusing: { $0 }) {
      (list: inout IVSSessions) throws(RegistryError) in
      guard let index = list.sessions.firstIndex(where: { $0.id == ended }) else { return false }
      list.sessions[index].end = now
      return true
    }
  }

  /// Publishing starts with the first track of a participant and stops with the last.
  private func published(_ kind: Track.Kind, _ isOn: Bool, _ event: RoomEvent, at now: APITime) async {
    let isEdge: Bool = live.withLive(event.room) { live in
      guard var kinds = live?.participants[event.participant] else { return false }
      let before = kinds.isEmpty
      if isOn { kinds.insert(kind) } else { kinds.remove(kind) }
      live?.participants[event.participant] = kinds
      return before != kinds.isEmpty
    }
    guard isEdge else { return }
    await append(isOn ? "PUBLISH_STARTED" : "PUBLISH_STOPPED", event, at: now) { _ in
    } also: { visit in
      if isOn { visit.hasPublished = true }
    }
  }

  private func refused(_ failure: Failure, _ event: RoomEvent, at now: APITime) async {
    guard !event.participant.isEmpty, let session = live.session(of: event.room) else { return }
    let key = IVSVisit.key(stage: event.room, session: session, participant: event.participant)
    let visit = IVSVisit(
      id: event.participant, userID: "", attributes: [:], firstJoined: now, order: 0, isConnected: false,
      hasJoined: false)
    _ = try? await context.registry.create(key, visit)
    await append("JOIN_ERROR", event, at: now) { entry in
      entry.errorCode = failure.code == .roomFull ? "QUOTA_EXCEEDED" : "INSUFFICIENT_CAPABILITIES"
    }
  }

  private static func capabilities(of grants: Grants) -> [String] {
    (grants.publish.isEmpty ? [] : ["PUBLISH"]) + (grants.canSubscribe ? ["SUBSCRIBE"] : [])
  }

  private func exchanged(
    _ userID: String, _ attributes: [String: String], _ capabilities: [String], _ event: RoomEvent, at now: APITime
  ) async {
    guard let session = live.session(of: event.room) else { return }
    await change(IVSVisit.key(stage: event.room, session: session, participant: event.participant)) { visit in
      func token(_ capabilities: [String]) -> IVSExchangedToken {
        IVSExchangedToken(
          capabilities: capabilities, attributes: visit.attributes, userId: visit.userID,
          expirationTime: now.iso8601Seconds)
      }
      var entry = IVSVisit.Event(name: "TOKEN_EXCHANGED", time: now)
      entry.previousToken = token(visit.capabilities)
      (visit.userID, visit.attributes, visit.capabilities) = (userID, attributes, capabilities)
      entry.newToken = token(capabilities)
      visit.events.append(entry)
    }
  }

  private func append(
    _ name: String, _ event: RoomEvent, at now: APITime, _ complete: (inout IVSVisit.Event) -> Void,
    also changeVisit: (inout IVSVisit) -> Void = { _ in }
  ) async {
    guard let session = live.session(of: event.room) else { return }
    await change(IVSVisit.key(stage: event.room, session: session, participant: event.participant)) { visit in
      var entry = IVSVisit.Event(name: name, time: now)
      complete(&entry)
      visit.events.append(entry)
      changeVisit(&visit)
    }
  }

  private func change(_ key: String, _ body: (inout IVSVisit) -> Void) async {
    let limit = context.settings.eventsPerParticipant
    do throws(RegistryError) {
      try await context.registry.update(IVSVisit.self, key, refusing: { $0 }) {
        (visit: inout IVSVisit) throws(RegistryError) in
        body(&visit)
        visit.events.removeFirst(max(visit.events.count - limit, 0))
        return true
      }
    } catch { context.log("an event of a stage is not recorded: \(error)") }
  }

  // MARK: Reading

  private func sessions(of stage: IVSStage) async throws(AWSError) -> [IVSSessions.Session] {
    let list = try await stored { () throws(RegistryError) in
      try await context.registry.read(IVSSessions.self, IVSSessions.key(stage: stage.id))?.value
    }
    return list?.sessions ?? []
  }

  private func answer(_ session: IVSSessions.Session) -> IVSSessionAnswer.Session {
    .init(sessionId: session.id, startTime: session.start.iso8601, endTime: session.end?.iso8601)
  }

  func listSessions(_ request: IVSHistoryRequest, for caller: AWSCaller) async throws(AWSError) -> IVSSessionList {
    let (limit, last) = (try IVSChecks.limit(request.maxResults), try IVSChecks.nextToken(request.nextToken))
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    let newestFirst = Array(try await sessions(of: stage).reversed())
    let page = try Self.page(newestFirst, after: last, limit: limit) { $0.id }
    return IVSSessionList(stageSessions: page.items.map(answer), nextToken: page.next)
  }

  func getSession(_ request: IVSHistoryRequest, for caller: AWSCaller) async throws(AWSError) -> IVSSessionAnswer {
    let id = try IVSChecks.sessionID(request.sessionId)
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    guard let session = try await sessions(of: stage).first(where: { $0.id == id }) else {
      throw IVSChecks.notFound("session", id)
    }
    return IVSSessionAnswer(stageSession: answer(session))
  }

  private func visits(of stage: IVSStage, in session: String) async throws(AWSError) -> [IVSVisit] {
    var visits: [IVSVisit] = []
    var last: String?
    repeat {
      let page = try await stored { () throws(RegistryError) in
        try await context.registry.list(
          IVSVisit.self, prefix: IVSVisit.prefix(stage: stage.id, session: session), after: last, limit: 200)
      }
      visits += page.map(\.value)
      last = page.count == 200 ? page.last?.key : nil
    } while last != nil
    return visits.filter(\.hasJoined).sorted { $0.order < $1.order }
  }

  func listParticipants(
    _ request: IVSHistoryRequest, for caller: AWSCaller
  ) async throws(AWSError) -> IVSParticipantList {
    let (limit, last) = (try IVSChecks.limit(request.maxResults), try IVSChecks.nextToken(request.nextToken))
    let session = try IVSChecks.sessionID(request.sessionId)
    let filters = [
      request.filterByUserId != nil, request.filterByPublished != nil, request.filterByState != nil,
      request.filterByRecordingState != nil,
    ]
    guard filters.count(where: { $0 }) <= 1 else { throw IVSChecks.fail("only one filter may be given") }
    guard request.filterByState.map({ ["CONNECTED", "DISCONNECTED"].contains($0) }) ?? true else {
      throw IVSChecks.fail("filterByState must be CONNECTED or DISCONNECTED")
    }
    let states = ["STARTING", "ACTIVE", "STOPPING", "STOPPED", "FAILED", "DISABLED"]
    guard request.filterByRecordingState.map({ states.contains($0) }) ?? true else {
      throw IVSChecks.fail("filterByRecordingState must be one of \(states.joined(separator: ", "))")
    }
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    let found = try await visits(of: stage, in: session).filter { visit in
      (request.filterByUserId.map { $0 == visit.userID } ?? true)
        && (request.filterByPublished.map { $0 == visit.hasPublished } ?? true)
        && (request.filterByState.map { ($0 == "CONNECTED") == visit.isConnected } ?? true)
        && (request.filterByRecordingState.map { $0 == "DISABLED" } ?? true)
    }
    let page = try Self.page(found, after: last, limit: limit) { $0.id }
    return IVSParticipantList(participants: page.items.map { answer($0, isWhole: false) }, nextToken: page.next)
  }

  private func answer(_ visit: IVSVisit, isWhole: Bool) -> IVSParticipant {
    var answer = IVSParticipant(
      participantId: visit.id, userId: visit.userID, state: visit.isConnected ? "CONNECTED" : "DISCONNECTED",
      firstJoinTime: visit.firstJoined.iso8601, published: visit.hasPublished)
    guard isWhole else { return answer }
    (answer.attributes, answer.protocolName) = (visit.attributes, "UNKNOWN")
    (answer.recordingS3BucketName, answer.recordingS3Prefix) = ("", "")
    return answer
  }

  func getParticipant(
    _ request: IVSHistoryRequest, for caller: AWSCaller
  ) async throws(AWSError) -> IVSParticipantAnswer {
    let session = try IVSChecks.sessionID(request.sessionId)
    let id = try IVSChecks.participantID(request.participantId)
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    let visit = try await stored { () throws(RegistryError) in
      try await context.registry.read(
        IVSVisit.self, IVSVisit.key(stage: stage.id, session: session, participant: id))?.value
    }
    guard let visit, visit.hasJoined else { throw IVSChecks.notFound("participant", id) }
    return IVSParticipantAnswer(participant: answer(visit, isWhole: true))
  }

  func listEvents(_ request: IVSHistoryRequest, for caller: AWSCaller) async throws(AWSError) -> IVSEventList {
    let (limit, last) = (try IVSChecks.limit(request.maxResults), try IVSChecks.nextToken(request.nextToken))
    let session = try IVSChecks.sessionID(request.sessionId)
    let id = try IVSChecks.participantID(request.participantId)
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    let visit = try await stored { () throws(RegistryError) in
      try await context.registry.read(
        IVSVisit.self, IVSVisit.key(stage: stage.id, session: session, participant: id))?.value
    }
    // Newest first; events keep their place from the oldest on while new ones come.
    let events = Array((visit?.events ?? []).enumerated()).reversed()
    let page = try Self.page(Array(events), after: last, limit: limit) { "e\($0.offset)" }
    return IVSEventList(
      events: page.items.map(\.element).map { event in
        .init(
          name: event.name, participantId: id, eventTime: event.time.iso8601,
          remoteParticipantId: event.remoteParticipantID, errorCode: event.errorCode,
          previousToken: event.previousToken, newToken: event.newToken)
      },
      nextToken: page.next)
  }

  private static func page<Item>(
    _ items: [Item], after last: String?, limit: Int, id: (Item) -> String
  ) throws(AWSError) -> (items: ArraySlice<Item>, next: String?) {
    var rest = items[...]
    if let last {
      guard let index = items.firstIndex(where: { id($0) == last }) else {
        throw IVSChecks.fail("nextToken is not one of this list")
      }
      rest = items[(index + 1)...]
    }
    let shown = rest.prefix(limit)
    return (shown, rest.count > limit ? shown.last.map(id) : nil)
  }
}
