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
      live.withLive(event.room) { $0?.userIDs[event.participant] = userID }
      await exchanged(userID ?? "", attributes, grants, before: before, event, at: now)
    case .recorder: break
    }
  }

  private func makeSessionID(at now: APITime) -> String { "st-" + context.identifiers.alphanumeric(13, at: now) }

  private func makeEvent(_ name: String, at now: APITime) -> IVSVisit.Event {
    IVSVisit.Event(id: context.identifiers.alphanumeric(16, at: now), name: name, time: now)
  }

  // MARK: Sessions

  private func joined(_ participant: Participant, _ stage: String, at now: APITime) async {
    let id = makeSessionID(at: now)
    let arn = live.arn(of: stage) ?? ""
    let (session, order, isNew) = live.withLive(stage) { live in
      let isNew = live == nil
      var current = live ?? IVSLiveStages.Live(session: id, arn: arn)
      current.order += 1
      current.participants[participant.id] = []
      current.userIDs[participant.id] = participant.externalUserID
      live = current
      return (current.session, current.order, isNew)
    }
    if isNew { await history.begin(session, of: place(of: stage), at: now) }
    let visit = IVSVisit(
      id: participant.id, userID: participant.externalUserID ?? "", attributes: participant.attributes,
      firstJoined: now, order: order, hasJoined: true)
    let event = makeEvent("JOINED", at: now)
    await add(event, of: participant.id, in: session, on: stage, new: visit) { visit in
      if !visit.hasJoined { (visit.hasJoined, visit.firstJoined, visit.order) = (true, now, order) }
      (visit.userID, visit.attributes) = (participant.externalUserID ?? "", participant.attributes)
    }
  }

  private func left(_ event: RoomEvent, at now: APITime) async {
    // Publishing ends with the stay. The room reports it before, unless the room closes.
    let wasPublishing = live.withLive(event.room) { $0?.participants[event.participant]?.isEmpty == false }
    if wasPublishing { sendUpdate(false, event, at: now) }
    await append(makeEvent("LEFT", at: now), event)
    let ended: String? = live.withLive(event.room) { live in
      live?.participants[event.participant] = nil
      live?.userIDs[event.participant] = nil
      guard let current = live, current.participants.isEmpty else { return nil }
      live = nil
      return current.session
    }
    if let ended { await history.end(ended, of: place(of: event.room), at: now) }
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
    sendUpdate(isOn, event, at: now)
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
    let visit = IVSVisit(id: id, userID: "", attributes: [:], firstJoined: now, order: 0, hasJoined: false)
    var entry = makeEvent("JOIN_ERROR", at: now)
    entry.errorCode = failure.code == .roomFull ? "QUOTA_EXCEEDED" : "INSUFFICIENT_CAPABILITIES"
    await add(entry, of: id, in: session, on: event.room, new: visit) { visit in
      let refusals = visit.events.indices.filter { visit.events[$0].name == "JOIN_ERROR" }
      if refusals.count > Self.refusalsPerParticipant { visit.events.remove(at: refusals[0]) }
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
    await add(entry, of: event.participant, in: session, on: event.room, change)
  }

  /// Adds an event that is not there yet, and then makes the changes that come with it.
  private func add(
    _ entry: IVSVisit.Event, of id: Participant.ID, in session: String, on stage: String, new: IVSVisit? = nil,
    _ change: (inout IVSVisit) -> Void
  ) async {
    let limit = context.settings.eventsPerParticipant
    await history.change(id, in: session, of: place(of: stage), at: entry.time, new: new) { visit in
      guard !visit.events.contains(where: { $0.id == entry.id }) else { return false }
      visit.events.append(entry)
      change(&visit)
      visit.events.removeFirst(max(visit.events.count - limit, 0))
      return true
    }
  }
}
