// Sessions, participants and events of stages, as the List… and Get… operations read them. IVSRecording writes them.

extension IVSAPI {
  var history: SessionHistory<IVSVisit> { SessionHistory(context: context, prefix: "ivs") }

  /// The stage in the keys of its history.
  func place(of stage: String) -> String { PercentEncoding.encode(stage) }

  /// The session that is on; nil: nobody is on the stage.
  func activeSession(of stage: String) async throws(AWSError) -> String? {
    if let session = live.session(of: stage) { return session }
    guard await context.homes?.isElsewhere(stage) == true else { return nil }
    let sessions = try await stored { () throws(RegistryError) in
      try await history.sessions(of: place(of: stage), live: .newest)
    }
    return sessions.last.flatMap { $0.end == nil ? $0.id : nil }
  }

  private func sessions(of stage: IVSStage) async throws(AWSError) -> [RoomSessions.Session] {
    try await stored { () throws(RegistryError) in
      try await history.sessions(of: place(of: stage.id), live: .init(live.session(of: stage.id)))
    }
  }

  private func answer(_ session: RoomSessions.Session) -> IVSSessionAnswer.Session {
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
    let all = try await stored { () throws(RegistryError) in
      try await history.visits(of: place(of: stage.id), in: session)
    }
    let entered = all.filter(\.hasJoined).sorted { $0.order < $1.order }
    let found = entered.filter { visit in
      (request.filterByUserId.map { $0 == visit.userID } ?? true)
        && (request.filterByPublished.map { $0 == visit.hasPublished } ?? true)
        && (request.filterByState.map { $0 == state(of: visit, on: stage, in: session) } ?? true)
        && (request.filterByRecordingState.map { $0 == "DISABLED" } ?? true)
    }
    let page = try Self.page(found, after: last, limit: limit) { $0.id }
    return IVSParticipantList(
      participants: page.items.map { answer($0, on: stage, in: session, isWhole: false) }, nextToken: page.next)
  }

  private func state(of visit: IVSVisit, on stage: IVSStage, in session: String) -> String {
    live.isPresent(visit.id, on: stage.id, session: session) ? "CONNECTED" : "DISCONNECTED"
  }

  private func answer(
    _ visit: IVSVisit, on stage: IVSStage, in session: String, isWhole: Bool
  ) -> IVSParticipant {
    var answer = IVSParticipant(
      participantId: visit.id, userId: visit.userID, state: state(of: visit, on: stage, in: session),
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
      try await history.visit(id, in: session, of: place(of: stage.id))
    }
    guard let visit, visit.hasJoined else { throw IVSChecks.notFound("participant", id) }
    return IVSParticipantAnswer(participant: answer(visit, on: stage, in: session, isWhole: true))
  }

  func listEvents(_ request: IVSHistoryRequest, for caller: AWSCaller) async throws(AWSError) -> IVSEventList {
    let (limit, last) = (try IVSChecks.limit(request.maxResults), try IVSChecks.nextToken(request.nextToken))
    let session = try IVSChecks.sessionID(request.sessionId)
    let id = try IVSChecks.participantID(request.participantId)
    let stage = try await stage(request.stageArn, "stageArn", of: caller)
    let visit = try await stored { () throws(RegistryError) in
      try await history.visit(id, in: session, of: place(of: stage.id))
    }
    let newestFirst = Array((visit?.events ?? []).reversed())
    let page = try Self.page(newestFirst, after: last, limit: limit) { $0.id }
    return IVSEventList(
      events: page.items.map { event in
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
