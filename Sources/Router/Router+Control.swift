package import KoineBase
import KoineSignaling

// Carries out the commands of `RoomControl`.

extension Router: RoomControl {
  @discardableResult
  package func execute(_ request: RoomRequest, at now: Tick) -> Result<RoomAnswer, RoomControlError> {
    let result: Result<RoomAnswer, RoomControlError>
    do throws(RoomControlError) {
      result = .success(try execute(request.command, by: request.origin, reason: request.reason, at: now))
    } catch {
      result = .failure(error)
    }
    configuration.commandExecuted?(request, result)
    return result
  }

  private func execute(
    _ command: RoomCommand, by origin: CommandOrigin, reason note: String?, at now: Tick
  ) throws(RoomControlError) -> RoomAnswer {
    switch command {
    case .listRooms:
      let unopened = Set(lobby.all.map(\.room)).filter { rooms[$0] == nil }
      let summaries = rooms.sorted.map { summary(of: $0, at: now) } + unopened.map { summary(ofUnopened: $0, at: now) }
      return .rooms(summaries.sorted { $0.name < $1.name })
    case .describe(let name):
      if rooms[name] == nil, !lobby.knocks(at: name).isEmpty {
        return .room(
          RoomDetails(
            summary: summary(ofUnopened: name, at: now), participants: [], waiting: waiting(at: name, now), services: []
          ))
      }
      return .room(details(of: try room(named: name), at: now))
    case .remove(let id, let asked, let ending):
      let reason = ending.endReason(by: origin, note: note)
      let name = rooms.name(of: asked)
      let knock = lobby.knocks(at: name).first { $0.id == id && $0.isReached(by: origin, asking: asked) }
      if let knock, rooms[name]?.member(id) == nil {
        endWaiting(knock, reason, at: now)
        break
      }
      let (room, member) = try member(id, in: name, for: origin, asking: asked)
      guard room.mayRemove(member) else {
        throw RoomControlError(.unavailable, "the room is on its way to another node; try again in a moment")
      }
      room.remove(member, told: reason, others: .removed, at: now)
      settle(room, at: now)
    case .close(let asked):
      let name = rooms.name(of: asked)
      if origin.kind == .vendorAPI, let room = rooms[name], room.hasOtherEntrances(than: asked) {
        // A back end ends the stays that began under its own name of the room, and no others.
        for knock in lobby.knocks(at: name) where knock.isReached(by: origin, asking: asked) {
          endWaiting(knock, .roomClosedByService, at: now)
        }
        for member in room.members where member.entrance == asked {
          room.remove(member, told: .roomClosedByService, others: .removed, at: now)
        }
        settle(room, at: now)
        break
      }
      let knocks = lobby.knocks(at: name).filter { $0.isReached(by: origin, asking: asked) }
      let reason: EndReason = origin.kind == .vendorAPI ? .roomClosedByService : .roomClosed
      for knock in knocks { endWaiting(knock, reason, at: now) }
      // Participants may wait before a room that no participant is in.
      if knocks.isEmpty || rooms[name] != nil { close(try room(named: name), reason, at: now) }
    case .closeAllRooms:
      for knock in lobby.all { endWaiting(knock, .roomClosed, at: now) }
      for room in rooms.sorted { close(room, .roomClosed, at: now) }
    case .grant(let change, let id, let name):
      let (room, member) = try member(id, in: name, for: origin, asking: name)
      let knocks = shownKnocks(to: member)
      room.change(change, of: member, at: now)
      updateKnocks(of: member, before: knocks)
      settle(room, at: now)
    case .mute(let selection, let id, let name):
      let (room, member) = try member(id, in: name)
      let tracks = member.tracks.filter { selection.contains($0.track) }
      guard !tracks.isEmpty else { throw RoomControlError(.noSuchTrack, "“\(id)” publishes no such track") }
      for track in tracks { room.muteForOwner(track, at: now) }
      settle(room, at: now)
    case .link(let names):
      guard rooms.linkCount(linking: names) <= RoomLinks.limit else {
        throw RoomControlError(.unavailable, "at most \(RoomLinks.limit) names of rooms are linked")
      }
      if let used = rooms.link(names, waiting: Set(lobby.all.map(\.room))) {
        throw RoomControlError(
          .notPossible,
          "participants are in the room “\(used)” or wait to enter it: names are linked before anyone joins")
      }
    case .unlink(let names):
      let changes = rooms.changes(unlinking: names)
      if let used = rooms.unlink(names, waiting: Set(lobby.all.map(\.join.room))) {
        throw RoomControlError(
          .notPossible, "participants have come by the name “\(used)”: names are unlinked when they have left")
      }
      forgetRecordings(of: changes)
    case .startRecording(let order, let name): try start(order, in: try room(named: name))
    case .stopRecording(let kind, let name): try stop(kind, in: try room(named: name))
    }
    return .done
  }

  private func room(named name: String) throws(RoomControlError) -> Room {
    // The room that is kept for participants on their way back is there, too.
    guard let room = rooms[name] else { throw RoomControlError(.noSuchRoom, "there is no room “\(name)”") }
    return room
  }

  private func member(_ id: Participant.ID, in name: String) throws(RoomControlError) -> (Room, Member) {
    let room = try room(named: name)
    guard let member = room.member(id) else {
      throw RoomControlError(.noSuchParticipant, "no participant “\(id)” is in the room “\(name)”")
    }
    return (room, member)
  }

  /// A back end reaches only participants that have come by its own name of the room.
  private func member(
    _ id: Participant.ID, in name: String, for origin: CommandOrigin, asking asked: String
  ) throws(RoomControlError) -> (Room, Member) {
    let (room, member) = try member(id, in: name)
    guard origin.kind != .vendorAPI || member.entrance == asked else {
      throw RoomControlError(.noSuchParticipant, "no participant “\(id)” has come by the name “\(asked)”")
    }
    return (room, member)
  }

  private func close(_ room: Room, _ reason: EndReason, at now: Tick) {
    room.close(told: reason)
    settle(room, at: now)
  }

  /// Ends the waiting of a participant that has not been admitted.
  private func endWaiting(_ knock: Lobby.Knock, _ reason: EndReason, at now: Tick) {
    guard let client = clients[knock.client] else { return }
    stopWaiting(client, at: now)
    outbox.post(.ended(reason), to: client.id)
  }

  // MARK: Recordings

  private func start(_ order: RecordingOrder, in room: Room) throws(RoomControlError) {
    let attendant = try recorder(order.kind, in: room)
    guard room.data.status(of: order.kind.rawValue) == nil else {
      throw RoomControlError(.notPossible, "a \(order.kind.name) of the room “\(room.name)” is being made already")
    }
    room.serviceAnswers[order.kind.rawValue] = nil
    attendant.handle(
      .init(room: room.name, sender: RoomService.controlName, topic: order.kind.rawValue, payload: order.payload))
  }

  private func stop(_ kind: RecordingOrder.Kind, in room: Room) throws(RoomControlError) {
    let attendant = try recorder(kind, in: room)
    guard room.data.status(of: kind.rawValue) != nil else {
      throw RoomControlError(.notPossible, "no \(kind.name) of the room “\(room.name)” is being made")
    }
    room.serviceAnswers[kind.rawValue] = nil
    attendant.handle(
      .init(
        room: room.name, sender: RoomService.controlName, topic: DataOrder.stop,
        payload: Array(kind.rawValue.utf8)))
    room.endJob(of: kind.rawValue)
  }

  private func recorder(_ kind: RecordingOrder.Kind, in room: Room) throws(RoomControlError) -> RoomService {
    guard let attendant = room.attendant, attendant.names.contains(kind.rawValue) else {
      throw RoomControlError(.notPossible, "the server makes no \(kind.name) of rooms")
    }
    return attendant
  }

  // MARK: Descriptions

  private func summary(of room: Room, at now: Tick) -> RoomSummary {
    let hidden = room.members.count { $0.grants.isHidden }
    return RoomSummary(
      name: room.name, epoch: room.epoch, participants: room.members.count - hidden, hidden: hidden,
      waiting: lobby.knocks(at: room.name).count, seconds: (now - room.created).inSeconds)
  }

  /// A room that no participant is in, and that participants wait to enter.
  private func summary(ofUnopened name: String, at now: Tick) -> RoomSummary {
    let knocks = lobby.knocks(at: name)
    let first = knocks.map(\.since).min() ?? now
    return RoomSummary(
      name: name, epoch: "", participants: 0, hidden: 0, waiting: knocks.count, seconds: (now - first).inSeconds)
  }

  private func waiting(at room: String, _ now: Tick) -> [RoomDetails.WaitingParticipant] {
    lobby.knocks(at: room).map { knock in
      let participant = knock.participant
      return RoomDetails.WaitingParticipant(
        id: participant.id, name: participant.name, externalID: participant.externalUserID,
        seconds: (now - knock.since).inSeconds)
    }
  }

  private func details(of room: Room, at now: Tick) -> RoomDetails {
    RoomDetails(
      summary: summary(of: room, at: now),
      participants: room.members.map { details(of: $0, at: now) },
      waiting: waiting(at: room.name, now),
      services: (room.attendant?.names ?? []).map { name in
        ServiceState(
          name: name, status: room.data.status(of: name).map { String(decoding: $0, as: UTF8.self) },
          answer: room.serviceAnswers[name])
      })
  }

  private func details(of member: Member, at now: Tick) -> RoomDetails.Member {
    let entry = member.entry
    return RoomDetails.Member(
      id: entry.id, name: entry.name, externalID: entry.externalID, client: member.clientDescription,
      attributes: entry.attributes, permissions: entry.grants.permissions.map(\.rawValue).sorted(),
      isHidden: entry.grants.isHidden,
      tracks: entry.tracks.map { .init(id: $0.id.track, kind: $0.kind.rawValue, isMuted: $0.isMuted) },
      isConnected: member.isConnected,
      isReachable: member.client.flatMap { clients[$0]?.isReachable } == true,
      seconds: (now - member.joined).inSeconds)
  }
}

extension Lobby.Knock {
  /// A back end reaches only participants that wait by its own name of the room, with a credential of its own.
  fileprivate func isReached(by origin: CommandOrigin, asking asked: String) -> Bool {
    origin.kind != .vendorAPI || (join.room == asked && (grants.issuer ?? origin.subject) == origin.subject)
  }
}

extension Room {
  /// Changes what a member may do, and notifies it: `withdrawn` of its own tracks, `unsubscribed`, `permissions`, and `failed` with
  /// `forbidden` for everything that it has lost.
  func change(_ change: PermissionChange, of member: Member, at now: Tick) {
    let (before, received) = (member.grants.permissions, member.grants.receive)
    if let role = change.role, role != member.grants.role {
      roster.setRole(role, of: member.id)
      attributesChanged(of: member, at: now)
    }
    var grants = member.grants
    grants.permissions = before.union(change.allowed).subtracting(change.denied)
    if let receive = change.receive { grants.receive = grants.canSubscribe ? receive : [] }
    let after = grants.permissions
    guard after != before || grants.receive != received else { return }
    roster.setPermissions(after, receive: grants.receive, of: member.id)
    permissionsChanged(of: member, from: before, receiving: received, at: now)
    let lost = before.subtracting(after).map(\.rawValue).sorted()
    if !lost.isEmpty {
      let failure = Failure(.forbidden, "not allowed any more: \(lost.joined(separator: ", "))")
      outbox.post(.failed(request: nil, failure), to: member.client)
    }
    needsSettling = true
  }

  /// Ends everything that a member may not do any more: withdraws its tracks, of which it is notified too, and ends its
  /// subscriptions. Then sends the member its permissions, if they are not as before.
  /// - Parameter received: the kinds that it was allowed to receive before. With more of them, the member subscribes again to what it
  ///   was refused, once it gets its permissions.
  func permissionsChanged(
    of member: Member, from before: Set<ParticipantPermission>, receiving received: Set<Track.Kind>, at now: Tick
  ) {
    let tracks = member.tracks.filter { !member.grants.publish.contains($0.track.kind) }
    withdraw(tracks, of: member, at: now)
    if !tracks.isEmpty {
      outbox.post(.withdrawn(participant: member.id, trackIDs: tracks.map(\.id.track)), to: member.client)
    }
    let references = member.subscriptions.filter { !member.grants.receive.contains($0.track.track.kind) }.map(
      \.track.id)
    if !references.isEmpty { unsubscribe(references, of: member, at: now) }
    let after = member.grants.permissions
    if after != before || member.grants.receive != received {
      outbox.post(.permissions(after), to: member.client)
    }
  }
}

extension TrackSelection {
  fileprivate func contains(_ track: Track) -> Bool {
    switch self {
    case .track(let id): track.id.track == id
    case .kind(let kind): track.kind == kind
    }
  }
}
