import KoineMedia
import KoineRouter
import KoineSignaling

// Sessions, participants and events of stages are written as the rooms report them. IVSHistory reads them.

extension IVSAPI {
  func observe(_ event: RoomEvent, at now: APITime) async {
    guard live.isStage(event.room) || live.session(of: event.room) != nil else { return }
    switch event.change {
    case .joined(let participant): await joined(participant, event.room, at: now)
    case .left: await left(event, at: now)
    case .published(let kind, let isOn): await published(kind, isOn, event, at: now)
    case .subscribed(let publisher, let isOn):
      var entry = makeEvent(isOn ? "SUBSCRIBE_STARTED" : "SUBSCRIBE_STOPPED", at: now)
      entry.remoteParticipantID = publisher
      await append(entry, event)
    case .refused(let failure): await refused(failure, event, at: now)
    case .renewed(let userID, let attributes, let grants, let before):
      await exchanged(userID ?? "", attributes, grants, before: before, event, at: now)
    }
  }

  private func makeSessionID(at now: APITime) -> String { "st-" + context.identifiers.alphanumeric(13, at: now) }

  private func makeEvent(_ name: String, at now: APITime) -> IVSVisit.Event {
    IVSVisit.Event(id: context.identifiers.alphanumeric(16, at: now), name: name, time: now)
  }

  private func historyExpiry(at now: APITime) -> APITime { now.adding(seconds: context.settings.historySeconds) }

  /// How often a write is tried that the store may have executed although it failed.
  private static let attempts = 8

  /// Carries out writes that change nothing when they are repeated. What fails all the time is logged and left out.
  private func record(_ write: () async throws(RegistryError) -> Void) async {
    var failure = RegistryError.conflict
    for _ in 0..<Self.attempts {
      do throws(RegistryError) { return try await write() } catch { failure = error }
    }
    context.log("an event of a stage is not recorded: \(failure)")
  }

  // MARK: Sessions

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
      firstJoined: now, order: order, hasJoined: true)
    let event = makeEvent("JOINED", at: now)
    await record { () throws(RegistryError) in
      _ = try await context.registry.create(key, visit, expiry: historyExpiry(at: now))
      try await add(event, to: key) { visit in
        if !visit.hasJoined { (visit.hasJoined, visit.firstJoined, visit.order) = (true, now, order) }
        (visit.userID, visit.attributes) = (participant.externalUserID ?? "", participant.attributes)
      }
    }
  }

  /// Begins a session. One that a former process has left open ended with its last event.
  private func begin(_ session: String, of stage: String, at now: APITime) async {
    let key = IVSSessions.key(stage: stage)
    let limit = context.settings.sessionsPerRoom
    let oldest = now.adding(seconds: -context.settings.historySeconds)
    var dropped: [String] = []
    await record { () throws(RegistryError) in
      _ = try await context.registry.create(key, IVSSessions(), expiry: historyExpiry(at: now))
      var ends: [String: APITime] = [:]
      for open in try await context.registry.read(IVSSessions.self, key)?.value.sessions ?? []
      where open.end == nil && open.id != session {
        ends[open.id] = try await lastEvent(of: open, on: stage)
      }
      try await context.registry.update(
        IVSSessions.self, key, expiry: { _ in historyExpiry(at: now) }, refusing: { $0 }
      ) { (list: inout IVSSessions) throws(RegistryError) in
        guard !list.sessions.contains(where: { $0.id == session }) else { return false }
        for index in list.sessions.indices where list.sessions[index].end == nil {
          list.sessions[index].end = ends[list.sessions[index].id] ?? now
        }
        let known = list.sessions
        list.sessions.removeAll { $0.end.map { $0 <= oldest } ?? false }
        list.sessions.append(.init(id: session, start: now))
        list.sessions.removeFirst(max(list.sessions.count - limit, 0))
        dropped = known.map(\.id).filter { id in !list.sessions.contains { $0.id == id } }
        return true
      }
    }
    for session in dropped { await forget(session, of: stage) }
  }

  /// Deletes the participants of a session that is in no list any more. Those that are left over expire.
  private func forget(_ session: String, of stage: String) async {
    let prefix = IVSVisit.prefix(stage: stage, session: session)
    await record { () throws(RegistryError) in
      while case let page = try await context.registry.store.list(prefix: prefix, after: nil, limit: 200), !page.isEmpty
      {
        for entry in page { try await context.registry.delete(entry.key) }
      }
    }
  }

  /// When the last event of a session happened. An open session without events has only begun.
  func lastEvent(of session: IVSSessions.Session, on stage: String) async throws(RegistryError) -> APITime {
    let visits = try await visits(of: stage, in: session.id)
    return visits.flatMap(\.events).map(\.time).max() ?? session.start
  }

  private func left(_ event: RoomEvent, at now: APITime) async {
    // Publishing ends with the stay; the room reports it before.
    await append(makeEvent("LEFT", at: now), event)
    let ended: String? = live.withLive(event.room) { live in
      live?.participants[event.participant] = nil
      guard let current = live, current.participants.isEmpty else { return nil }
      live = nil
      return current.session
    }
    guard let ended else { return }
    await record { () throws(RegistryError) in
      try await context.registry.update(
        IVSSessions.self, IVSSessions.key(stage: event.room), expiry: { _ in historyExpiry(at: now) },
        refusing: { $0 }
      ) { (list: inout IVSSessions) throws(RegistryError) in
        guard let index = list.sessions.firstIndex(where: { $0.id == ended && $0.end == nil }) else { return false }
        list.sessions[index].end = now
        return true
      }
    }
  }

  // MARK: Events

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
    await append(makeEvent(isOn ? "PUBLISH_STARTED" : "PUBLISH_STOPPED", at: now), event) { visit in
      if isOn { visit.hasPublished = true }
    }
  }

  /// Refusals that are kept for each participant: they must not push its other events out.
  private static let refusalsPerParticipant = 16

  private func refused(_ failure: Failure, _ event: RoomEvent, at now: APITime) async {
    let id = event.participant
    guard (try? IVSChecks.participantID(id)) != nil else { return }
    let limit = context.settings.refusedPerSession
    let session: String? = live.withLive(event.room) { live in
      guard live != nil else { return nil }
      if live?.participants[id] == nil, live?.refused.contains(id) == false {
        guard let count = live?.refused.count, count < limit else { return nil }
        live?.refused.insert(id)
      }
      return live?.session
    }
    guard let session else { return }
    let key = IVSVisit.key(stage: event.room, session: session, participant: id)
    let visit = IVSVisit(id: id, userID: "", attributes: [:], firstJoined: now, order: 0, hasJoined: false)
    var entry = makeEvent("JOIN_ERROR", at: now)
    entry.errorCode = failure.code == .roomFull ? "QUOTA_EXCEEDED" : "INSUFFICIENT_CAPABILITIES"
    await record { () throws(RegistryError) in
      _ = try await context.registry.create(key, visit, expiry: historyExpiry(at: now))
      try await add(entry, to: key) { visit in
        let refusals = visit.events.indices.filter { visit.events[$0].name == "JOIN_ERROR" }
        if refusals.count > Self.refusalsPerParticipant { visit.events.remove(at: refusals[0]) }
      }
    }
  }

  private static func capabilities(of grants: Grants) -> [String] {
    (grants.publish.isEmpty ? [] : ["PUBLISH"]) + (grants.canSubscribe ? ["SUBSCRIBE"] : [])
  }

  private static func expirationTime(of grants: Grants) -> String? {
    grants.credentialExpiry.map { APITime(milliseconds: $0).iso8601Seconds }
  }

  private func exchanged(
    _ userID: String, _ attributes: [String: String], _ grants: Grants, before: Grants, _ event: RoomEvent,
    at now: APITime
  ) async {
    let entry = makeEvent("TOKEN_EXCHANGED", at: now)
    await append(entry, event) { visit in
      guard let index = visit.events.lastIndex(where: { $0.id == entry.id }) else { return }
      visit.events[index].previousToken = IVSExchangedToken(
        capabilities: Self.capabilities(of: before), attributes: visit.attributes, userId: visit.userID,
        expirationTime: Self.expirationTime(of: before))
      (visit.userID, visit.attributes) = (userID, attributes)
      visit.events[index].newToken = IVSExchangedToken(
        capabilities: Self.capabilities(of: grants), attributes: attributes, userId: userID,
        expirationTime: Self.expirationTime(of: grants))
    }
  }

  private func append(
    _ entry: IVSVisit.Event, _ event: RoomEvent, _ change: (inout IVSVisit) -> Void = { _ in }
  ) async {
    guard let session = live.session(of: event.room) else { return }
    let key = IVSVisit.key(stage: event.room, session: session, participant: event.participant)
    await record { () throws(RegistryError) in try await add(entry, to: key, change) }
  }

  /// Adds an event that is not there yet, and then makes the changes that come with it.
  private func add(
    _ entry: IVSVisit.Event, to key: String, _ change: (inout IVSVisit) -> Void
  ) async throws(RegistryError) {
    let limit = context.settings.eventsPerParticipant
    try await context.registry.update(
      IVSVisit.self, key, expiry: { _ in historyExpiry(at: entry.time) }, refusing: { $0 }
    ) { (visit: inout IVSVisit) throws(RegistryError) in
      guard !visit.events.contains(where: { $0.id == entry.id }) else { return false }
      visit.events.append(entry)
      change(&visit)
      visit.events.removeFirst(max(visit.events.count - limit, 0))
      return true
    }
  }
}
