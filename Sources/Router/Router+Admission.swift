import KoineBase
import KoineCluster
import KoineSignaling
import KoineTransport

// Admission: decides whether a participant enters its room, waits in the lobby, or is refused.

extension Router {
  func admit(_ join: Join, _ verdict: CredentialVerdict?, on client: Client, at now: Tick) {
    var join = join
    let answer = answer(join, verdict)
    if case .success(let grants) = answer, let room = grants.room { join.room = room }
    if case .success(let grants) = answer, canBeLocated(join, answer, grants, at: now),
      locate(join, verdict, isTrusted: !grants.mustAsk, for: client, at: now)
    {
      return
    }
    switch admission(join, answer, at: now) {
    case .failure(let failure):
      outbox.post(.refused(failure), to: client.id)
      reportRefusal(join, answer, failure)
    case .success(let grants):
      let place = rooms.name(of: join.room)
      let id = grants.participantID ?? join.participantID ?? unusedID(in: place)
      guard grants.mustAsk, !wasAdmitted(join, id: id) else {
        return enter(join, id: id, grants, isGuest: grants.mustAsk, on: client, at: now)
      }
      let knock = Lobby.Knock(
        number: lobby.makeNumber(), room: place, id: id, join: join, grants: grants, client: client.id, since: now,
        position: lobby.takePosition(of: id, at: place, key: join.resumptionKey) ?? now)
      guard broadcastLimiter(of: client, at: now).spend(bytes: knock.participant.writtenSize, at: now) else {
        return outbox.post(.refused(Failure(.tooMany, "knocks too often")), to: client.id)
      }
      let older = lobby.knock(of: id, at: place, for: join, grants)
      lobby.add(knock)  // first: without a knock an empty room of a cluster ends
      if let older, let waiting = clients[older.client] {
        stopWaiting(waiting, at: now)
        outbox.post(.ended(.duplicate), to: waiting.id)
      }
      outbox.post(.waiting, to: client.id)
      tellDeciders(.knock(knock.participant, number: knock.number), of: knock)
    }
  }

  /// - Parameter answer: what the join's credential gives. A credential that is refused proves no id: a stranger must not write into the
  ///   history of another participant.
  private func reportRefusal(_ join: Join, _ answer: Result<Grants, Failure>, _ failure: Failure) {
    guard let report = configuration.roomEvent else { return }
    let id = (try? answer.get()).flatMap { $0.participantID ?? join.participantID }
    report(RoomEvent(room: join.room, epoch: "", participant: id ?? "", .refused(failure)))
  }

  /// Whether the participant was already admitted to a room that has been restored since, or at an earlier home of the room.
  private func wasAdmitted(_ join: Join, id: Participant.ID) -> Bool {
    guard let room = rooms[join.room], room.roster[id] == nil, let key = join.resumptionKey else { return false }
    if join.returningTo == room.epoch { return room.roster.known(id)?.isSame(as: join) ?? false }
    return room.data.isAdmitted(id, key: key)
  }

  /// - Parameter isGuest: whether a participant in the room has admitted it.
  private func enter(_ join: Join, id: String, _ grants: Grants, isGuest: Bool, on client: Client, at now: Tick) {
    // The room may have become full while the participant waited.
    if let failure = lackOfRoom(for: id, join, grants) { return outbox.post(.refused(failure), to: client.id) }
    guard broadcastLimiter(of: client, at: now).spend(bytes: Participant(join, id: id, grants).writtenSize, at: now)
    else {
      return outbox.post(.refused(Failure(.tooMany, "joins and leaves too often")), to: client.id)
    }
    guard let room = room(named: join.room, for: client, at: now) else {
      outbox.post(.refused(Failure(.roomFull, "no more rooms from one address")), to: client.id)
      // A cluster opened it for this participant.
      if let room = rooms[join.room], room.isNew {
        room.keptOpenUntil = nil
        settle(room, at: now)
      }
      return
    }
    defer { settle(room, at: now) }
    do {
      let slot = try makeSlot(for: join.description, client.capabilities, at: now)
      client.member = room.join(join, id: id, grants: grants, client: client, slot: slot, at: now)
      if isGuest, let key = client.resumptionKey { room.recordAdmission(of: id, key: key) }
      if !configuration.pacesPages, let coming = client.comingHistory {
        client.comingHistory = nil
        postWholeHistory(coming, to: client)
      }
    } catch {
      return outbox.post(.refused(Failure(.internal, "no peer: \(error)")), to: client.id)
    }
    if let member = client.member { updateKnocks(of: member, before: []) }
  }

  /// The knocks that a member may answer.
  func shownKnocks(to member: Member) -> [Lobby.Knock] {
    member.grants.canAdmit ? lobby.knocks(at: member.room.name).filter { !$0.isApart(from: member) } : []
  }

  /// Sends a member whose permissions or account may have changed the knocks that it may answer now. Ends for the member those that it
  /// may not answer any more.
  /// - Parameter before: the knocks that it was allowed to answer until now.
  func updateKnocks(of member: Member, before: [Lobby.Knock]) {
    let after = shownKnocks(to: member)
    let (known, shown) = (Set(before.map(\.number)), Set(after.map(\.number)))
    for knock in before where !shown.contains(knock.number) {
      outbox.post(.knockEnded(participant: knock.id, admitted: nil, number: knock.number), to: member.client)
    }
    for knock in after where !known.contains(knock.number) {
      outbox.post(.knock(knock.participant, number: knock.number), to: member.client)
    }
  }

  func broadcastLimiter(of client: Client, at now: Tick) -> BroadcastRateLimiter {
    if let broadcastLimiter = client.broadcastLimiter { return broadcastLimiter }
    let broadcastLimiter = BroadcastRateLimiter(configuration.limits, now: now)
    client.broadcastLimiter = broadcastLimiter
    return broadcastLimiter
  }

  // MARK: Lobby

  private func tellDeciders(_ message: ServerMessage, of knock: Lobby.Knock) {
    let deciders = (rooms[knock.room]?.members ?? []).filter { $0.grants.canAdmit && !knock.isApart(from: $0) }
    outbox.post(message, to: deciders.compactMap(\.client))
  }

  func stopWaiting(_ client: Client, at now: Tick) {
    guard let knock = lobby.remove(client.id) else { return }
    tellDeciders(.knockEnded(participant: knock.id, admitted: nil, number: knock.number), of: knock)
    if let room = rooms[knock.room] { settle(room, at: now) }
  }

  func answerKnock(of id: String, number: Int?, _ admitted: Bool, by member: Member, at now: Tick) {
    guard member.grants.canAdmit else {
      return outbox.post(
        .failed(request: nil, Failure(.forbidden, "not allowed to let others in")), to: member.client)
    }
    guard let knock = lobby.remove(id, number: number, for: member) else {
      return outbox.post(
        .failed(request: nil, Failure(.unknownParticipant, "no participant “\(id)” waits")), to: member.client)
    }
    let answer: Result<Grants, Failure> =
      admitted
      ? grants(toAdmit: knock, at: now) : .failure(Failure(.denied, "a participant in the room denied admission"))
    // A participant that was to be admitted and cannot enter has not been admitted.
    let outcome = if case .success = answer { true } else { admitted ? nil : false }
    tellDeciders(.knockEnded(participant: id, admitted: outcome, number: knock.number), of: knock)
    guard let client = clients[knock.client] else { return }
    switch answer {
    case .success(let grants): enter(knock.join, id: id, grants, isGuest: true, on: client, at: now)
    case .failure(let failure):
      outbox.post(.refused(failure), to: client.id)
      if admitted { outbox.post(.failed(request: nil, failure), to: member.client) }
    }
  }

  /// The grants with which a waiting participant enters, once a participant in the room admits it.
  private func grants(toAdmit knock: Lobby.Knock, at now: Tick) -> Result<Grants, Failure> {
    var grants = knock.grants
    // A credential also expires while its participant waits.
    grants.validFor = grants.validFor.map { $0 - (now - knock.since) }
    if let failure = obstacle(grants) { return .failure(failure) }
    var join = knock.join
    join.participantID = knock.id  // the participants that may admit it know it by this id
    return decided(join, grants, .admission).flatMap { grants in
      if let id = grants.participantID, id != knock.id {
        return .failure(Failure(.forbidden, "the credential is another participant's"))
      }
      if let failure = obstacle(grants) ?? lackOfRoom(for: knock.id, join, grants) { return .failure(failure) }
      return .success(grants)
    }
  }

  // MARK: Checks of a join

  /// - Parameters:
  ///   - join: under the name of the room that its credential means.
  ///   - known: what its credential gives.
  private func admission(_ join: Join, _ known: Result<Grants, Failure>, at now: Tick) -> Result<Grants, Failure> {
    guard join.version == SignalingVersion.current else {
      return .failure(SignalingError.unknownVersion(join.version).failure)
    }
    guard !join.room.isEmpty, join.participantID != "" else {
      return .failure(Failure(.malformed, "a room and a participant need a name"))
    }
    let answer = known.flatMap { decided(join, $0, .join) }
    guard case .success(let grants) = answer else { return answer }
    if let failure = obstacle(grants) { return .failure(failure) }
    if let name = grants.participantID ?? join.participantID,
      name.hasPrefix(RoomService.namePrefix) || configuration.attendant?.names.contains(name) == true
    {
      return .failure(Failure(.forbidden, "“\(name)” is the name of a service"))
    }
    if let failure = takenName(for: join, grants) { return .failure(failure) }
    // Those of other accounts are not in the way.
    let waiting = lobby.knocks(at: rooms.name(of: join.room)).lazy.filter {
      !$0.isApart(from: grants.issuer, at: join.room)
    }
    if grants.mustAsk, waiting.count >= configuration.limits.lobby {
      return .failure(Failure(.roomFull, "no more than \(configuration.limits.lobby) wait at a time"))
    }
    if let failure = lackOfRoom(for: grants.participantID ?? join.participantID, join, grants) {
      return .failure(failure)
    }
    return answer
  }

  /// Whether it is worth asking where the room is. Other joins are refused anyway, and open no room. A room that is not here may have
  /// a place elsewhere even if this node has none.
  private func canBeLocated(_ join: Join, _ answer: Result<Grants, Failure>, _ grants: Grants, at now: Tick) -> Bool {
    guard cluster != nil, rooms[join.room] == nil else { return cluster != nil && obstacle(grants) == nil }
    guard case .failure(let failure) = admission(join, answer, at: now) else { return true }
    return failure.code == .roomFull
  }

  /// Why a participant with these grants may not be in any room; nil if it may.
  private func obstacle(_ grants: Grants) -> Failure? {
    guard grants.canJoin else { return Failure(.forbidden, "not allowed to enter rooms") }
    if let validFor = grants.validFor, validFor <= .zero { return Failure(.unauthorized, "the credential has expired") }
    return nil
  }

  /// Two participants that wait under one id look the same to a participant that may admit them. So a second one replaces the first
  /// only with a credential that names the id, or with the resumption key of the first. A guest may not ask under the id of a
  /// participant in the room either.
  private func takenName(for join: Join, _ grants: Grants) -> Failure? {
    guard grants.mustAsk, let id = grants.participantID ?? join.participantID else { return nil }
    if grants.participantID == nil, let member = rooms[join.room]?.roster.known(id), !member.isSame(as: join) {
      return Roster.namesake(id, "is in the room")
    }
    guard let knock = lobby.knock(of: id, at: rooms.name(of: join.room), for: join, grants) else { return nil }
    let isSame = join.resumptionKey != nil && clients[knock.client]?.resumptionKey == join.resumptionKey
    return isSame || grants.names(id, insteadOf: knock.grants) ? nil : Roster.namesake(id, "waits already")
  }

  private func answer(_ join: Join, _ verdict: CredentialVerdict?) -> Result<Grants, Failure> {
    if case .participant(let answer) = verdict { answer } else { configuration.authorization.check(join) }
  }

  /// What the policy makes of a join with a verified credential.
  private func decided(_ join: Join, _ grants: Grants, _ occasion: AdmissionPolicy.Occasion) -> Result<Grants, Failure>
  {
    guard let policy = configuration.admission else { return .success(grants) }
    let state = rooms[join.room].map { room in
      let hidden = room.members.count { $0.grants.isHidden }
      var state = AdmissionPolicy.RoomState(
        participants: room.members.count - hidden, hidden: hidden,
        contentShares: room.members.count { !$0.grants.isHidden && $0.id.hasSuffix("#content") },
        waiting: lobby.knocks(at: room.name).count, limit: configuration.limits.participants)
      state.issuers = Set(room.members.lazy.filter { $0.entrance == join.room }.compactMap(\.grants.issuer))
      state.hasParticipant = (grants.participantID ?? join.participantID).map { room.member($0) != nil } ?? false
      return state
    }
    return policy.grants(for: .init(occasion: occasion, join: join, grants: grants, room: state))
  }

  /// What the policy makes of a registration with a verified identity.
  func admitted(_ register: Register, as known: KnownIdentity) -> Result<KnownIdentity, Failure> {
    configuration.admission?.refuseIdentity(register, known).map { .failure($0) } ?? .success(known)
  }

  /// - Parameter id: the participant's id; nil if the router will choose a new one.
  private func lackOfRoom(for id: String?, _ join: Join, _ grants: Grants) -> Failure? {
    let participant = Participant(join, id: id ?? "", grants)
    guard Participant.writtenSize(of: participant.attributes) <= configuration.limits.attributeBytes else {
      return Failure(.tooLarge, "at most \(configuration.limits.attributeBytes) bytes of attributes")
    }
    guard let room = rooms[join.room] else {
      guard rooms.count < configuration.limits.rooms else {
        return Failure(.roomFull, "no more than \(configuration.limits.rooms) rooms at a time")
      }
      return nil
    }
    return room.roster.refusal(of: participant, join, grants, limits: configuration.limits)
  }

  /// A new credential must be the same participant's, and as visible; the old one holds on where it is refused.
  func renew(_ credential: String, _ verdict: CredentialVerdict?, of member: Member, at now: Tick) {
    let failure: Failure
    let join = renewal(credential, of: member)
    switch answer(join, verdict).flatMap({ decided(join, $0, .renewal) }) {
    case .failure(let reason): failure = reason
    case .success(let grants):
      let user = member.entry.externalID
      let isSame = grants.participantID.map { $0 == member.id } ?? (grants.externalID(instead: user) == user)
      if !isSame || grants.isHidden != member.grants.isHidden {
        failure = Failure(.forbidden, "the credential is another participant's")
      } else if isForAnotherRoom(grants, than: member) {
        failure = Failure(.forbidden, "the credential is for another room")
      } else if let obstacle = obstacle(grants) {
        failure = obstacle
      } else {
        let knocks = shownKnocks(to: member)
        do throws(Failure) {
          try member.room.renew(member, grants, at: now)
          return updateKnocks(of: member, before: knocks)
        } catch {
          failure = error
        }
      }
    }
    outbox.post(.failed(request: nil, failure), to: member.client)
  }

  /// A back end may have a room of its own whose name there is the name of another back end's room here.
  private func isForAnotherRoom(_ grants: Grants, than member: Member) -> Bool {
    if let room = grants.room, room != member.entrance { return true }
    guard let before = member.grants.issuer, let issuer = grants.issuer else { return false }
    return issuer != before
  }

  /// The join that a participant with this credential would have made. A credential that names the participant's id may give
  /// it another external id; any other credential has to be the same user's.
  func renewal(_ credential: String, of member: Member) -> Join {
    Join(
      room: member.entrance, credential: credential, participantID: member.id, name: member.entry.name,
      externalID: member.entry.hasCredentialID ? nil : member.entry.externalID, attributes: member.attributes,
      description: member.slot.peer.localDescription)
  }

  // MARK: Places

  private func unusedID(in room: String) -> String {
    while true {
      let id = "p" + random.makeID()
      if rooms[room]?.roster.known(id) == nil { return id }
    }
  }

  private func room(named name: String, for client: Client, at now: Tick) -> Room? {
    let known = rooms[name]
    // A cluster's rooms are opened before anyone has a permit for them.
    if let known, known.log == nil || known.permit != nil { return known }
    let name = rooms.name(of: name)
    let permit = configuration.roomPermit?(client.id)
    guard permit != nil || configuration.roomPermit == nil, known != nil || cluster == nil else { return nil }
    let room = known ?? makeRoom(named: name, at: now)
    room.permit = permit
    return room
  }

  /// - Parameter epoch: of the room that it continues; nil for a new one.
  func makeRoom(named name: String, epoch: String? = nil, at now: Tick) -> Room {
    let room = Room(
      name: name, number: rooms.makeNumber(), limits: configuration.limits, attendant: configuration.attendant,
      peers: peers,
      outbox: outbox, random: random.fork(), epoch: epoch, now: now)
    room.observe = configuration.roomEvent
    if let cluster {
      room.describe = { [weak cluster] in cluster?.describe(&$0, at: $1) }
      room.isLeaving = { [weak cluster] in cluster?.node.isLeaving(name) ?? false }
    }
    rooms.add(room)
    return room
  }

  func restartMedia(of member: Member, _ description: PeerDescription, at now: Tick) {
    do {
      member.room.replaceSlot(member, on: try makeSlot(for: description, member.capabilities, at: now), at: now)
    } catch {
      outbox.post(.failed(request: nil, Failure(.internal, "no peer: \(error)")), to: member.client)
    }
  }

  private func makeSlot(for description: PeerDescription, _ capabilities: MediaCapabilities, at now: Tick) throws
    -> PeerSlot
  {
    var peerConfiguration = PeerConfiguration(role: .server, certificate: configuration.certificate)
    peerConfiguration.extensions = capabilities.extensions
    peerConfiguration.namesStreams = capabilities.knowsMids
    peerConfiguration.tracesPlaintext = configuration.tracesPlaintext
    // A stream that is allowed to be published is allowed to reach its receivers.
    peerConfiguration.maximumBitrate = SignalingLimits.bitrate
    let peer = try Peer(configuration: peerConfiguration, random: random.fork(), now: now)
    for address in configuration.addresses { peer.addLocalAddress(address) }
    peer.setRemote(description, at: now)
    let slot = peers.add(peer)
    peers.touch(slot)
    return slot
  }
}
