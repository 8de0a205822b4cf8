package import KoineBase
package import KoineSignaling
import KoineTransport

// Clients, and their messages.

extension Router {
  /// Adds a client. Messages of clients that have not been added are dropped.
  /// - Parameter resumptionKey: proves that a later client is the same program (`Join.resumptionKey`); nil: nothing does.
  package func open(_ id: ClientID, resumptionKey: String? = nil, at now: Tick) {
    guard clients[id] == nil else { return }
    clients[id] = Client(id, resumptionKey: resumptionKey)
  }

  /// The client's connection can be lost from now on without an end of the client.
  package func setResumable(_ id: ClientID) { clients[id]?.isResumable = true }

  /// Whether the client has a connection.
  package func setReachable(_ id: ClientID, _ isReachable: Bool) { clients[id]?.isReachable = isReachable }

  /// Whether the client is in a room.
  package func isInRoom(_ id: ClientID) -> Bool { clients[id]?.member != nil }

  /// The client has gone.
  /// - Parameter grace: for how long the participant's media goes on before the participant is dropped; nil: as long as `RouterLimits`
  ///   says.
  package func close(_ id: ClientID, grace: Duration? = nil, at now: Tick) {
    guard let client = clients.removeValue(forKey: id) else { return }
    let grace = grace ?? configuration.limits.dropGrace
    switchboard.close(client.id, at: now)
    relayRings(at: now)
    stopWaiting(client, at: now)
    cluster?.forget(client.id)
    guard let member = client.member else { return }
    member.client = nil
    member.room.loses(member, grace: grace, at: now)
    settle(member.room, at: now)
  }

  /// Says how the client's peer names things, before it joins or later.
  package func setCapabilities(_ capabilities: MediaCapabilities, of id: ClientID) {
    guard let client = clients[id] else { return }
    client.capabilities = capabilities
    guard let member = client.member else { return }
    member.capabilities = capabilities
    member.slot.peer.extensions = capabilities.extensions
  }

  /// Counts an offer of a client that describes its media by SDP: what its answer costs grows with the number of media.
  /// - Returns: false where the client offers too much.
  package func takeOffer(media count: Int, of id: ClientID, at now: Tick) -> Bool {
    guard let client = clients[id] else { return false }
    return broadcastLimiter(of: client, at: now).spend(references: max(count, 1), at: now)
  }

  /// Refuses a join for a reason that the router's owner knows.
  package func refuseJoin(_ failure: Failure, from id: ClientID) {
    if clients[id] != nil { outbox.post(.refused(failure), to: id) }
  }

  /// A message that cannot be read is answered, never punished.
  package func refuse(_ message: UnreadableMessage, from id: ClientID) {
    guard let client = clients[id] else { return }
    let failure = message.reason.failure
    if client.member == nil, case .unknownVersion = message.reason {
      return outbox.post(.refused(failure), to: client.id)
    }
    outbox.post(.failed(request: message.request, failure), to: client.id)
  }

  /// What `Authorization` has to be asked before `message` can be handled; nil for a message that no credential decides.
  package func credentialQuestion(of message: ClientMessage, from id: ClientID) -> CredentialQuestion? {
    guard let client = clients[id] else { return nil }
    switch message {
    case .join(let join)
    where client.member == nil && !lobby.isWaiting(client.id) && cluster?.isWaiting(client.id) != true:
      return .join(join)
    case .renew(let credential): return client.member.map { .renewal(renewal(credential, of: $0)) }
    case .register(let register): return .identity(register)
    default: return nil
    }
  }

  /// - Parameter verdict: on the message's credential, where it has been checked already; without it the credential is
  ///   checked inline.
  package func handle(
    _ message: ClientMessage, authorization verdict: CredentialVerdict? = nil, from id: ClientID, at now: Tick
  ) {
    guard let client = clients[id] else { return }
    countMessage()
    switch message {
    case .ping, .bye, .heard, .resumeConversation: return  // of the signalling channel
    case .join(let join):
      guard client.member == nil, !lobby.isWaiting(client.id), cluster?.isWaiting(client.id) != true else {
        return outbox.post(
          .failed(request: nil, Failure(.wrongState, "already in a room, or before it")), to: client.id)
      }
      client.description = join.client
      return admit(join, verdict, on: client, at: now)
    case .register, .ring, .cancelRing, .answerRing: return handleRinging(message, verdict, on: client, at: now)
    case .close:
      guard let member = client.member, member.grants.canModerate else { break }
      execute(RoomRequest(.close(room: member.room.name), by: CommandOrigin(.participant, member.id)), at: now)
      return
    case .leave where lobby.isWaiting(client.id) || cluster?.isWaiting(client.id) == true:
      stopWaiting(client, at: now)
      cluster?.forget(client.id)
      return outbox.post(.ended(.left), to: client.id)
    case .answerKnock(let id, let admitted, let number):
      guard let member = client.member else { break }
      return answerKnock(of: id, number: number, admitted, by: member, at: now)
    default: break
    }
    guard let member = client.member else {
      return outbox.post(.failed(request: message.request, Failure(.wrongState, "join first")), to: client.id)
    }
    let room = member.room
    switch message {
    case .restartMedia(let description): restartMedia(of: member, description, at: now)
    case .renew(let credential): renew(credential, verdict, of: member, at: now)
    default:
      guard member.broadcastLimiter.spend(references: message.references, at: now) else {
        let failure = Failure(.tooMany, "at most \(Int(configuration.limits.dataPerSecond * 8)) tracks named a second")
        return outbox.post(.failed(request: message.request, failure), to: member.client)
      }
      room.handle(message, of: member, at: now)
    }
    settle(room, at: now)
  }

  private func handleRinging(
    _ message: ClientMessage, _ verdict: CredentialVerdict?, on client: Client, at now: Tick
  ) {
    var failure: Failure?
    let id = client.id
    switch message {
    case .register(let register):
      let answer =
        if case .identity(let answer) = verdict { answer } else { configuration.authorization.checkIdentity(register) }
      switch answer.flatMap({ admitted(register, as: $0) }) {
      case .success(let known):
        let places = cluster?.places(at: now) ?? []
        switchboard.register(known.identity, name: known.name, on: id, places: places, at: now)
      case .failure(let failure): outbox.post(.refused(failure), to: id)
      }
    case .ring(let ring):
      // The router sends the ring to every callee, and each copy lists all callees: hence the product.
      let isPaidFor = broadcastLimiter(of: client, at: now).spend(
        bytes: ring.writtenSize * max(ring.to.count, 1), at: now)
      failure =
        isPaidFor ? switchboard.ring(ring, from: id, at: now) : Failure(.tooMany, "rings too many too often")
    case .cancelRing(let ring): switchboard.cancel(ring, by: id, at: now)
    case .answerRing(let ring, let answer): switchboard.answer(ring, answer, by: id, at: now)
    default: break
    }
    if let failure { outbox.post(.failed(request: nil, failure), to: id) }
    relayRings(at: now)
  }
}

extension ClientMessage {
  /// The number of tracks in the message.
  fileprivate var references: Int {
    switch self {
    case .subscribe(let subscribe): subscribe.tracks.count
    case .unsubscribe(let tracks), .pause(let tracks), .resume(let tracks): tracks.count
    case .prefer(let preferences): preferences.count
    default: 0
    }
  }

  /// The number its answer repeats.
  fileprivate var request: Int? {
    switch self {
    case .publish(let publish): publish.request
    case .subscribe(let subscribe): subscribe.request
    default: nil
    }
  }
}
