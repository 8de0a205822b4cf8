package import KoineBase
package import KoineSignaling
import KoineTransport

// What clients say, and what becomes of the connections that they say it on.

extension Router {
  /// Begins a connection on a line of the same name. What is said on a line that is not open is dropped.
  package func open(_ line: ConnectionID, at now: Tick) { connections.open(line) }

  /// The connection is over. Its participant is dropped after a moment, during which its media goes on.
  package func close(_ line: ConnectionID, at now: Tick) {
    guard let connection = connections.holder(on: line) else { return }
    close(connection, grace: configuration.limits.dropGrace, at: now)
  }

  func close(_ connection: Connection, grace: Duration, at now: Tick) {
    connections.remove(connection)
    switchboard.close(connection.id)
    stopWaiting(connection)
    guard let member = connection.member else { return }
    member.connection = nil
    member.room.loses(member, grace: grace, at: now)
    settle(member.room, at: now)
  }

  /// Says how the connection's peer names things, before it joins or later.
  package func speak(_ dialect: Dialect, on line: ConnectionID) {
    guard let connection = connections.holder(on: line) else { return }
    connection.dialect = dialect
    guard let member = connection.member else { return }
    member.dialect = dialect
    member.slot.peer.extensions = dialect.extensions
  }

  /// Counts an offer of a client that describes its media by SDP: what its answer costs grows with the number of media.
  /// - Returns: false where the client offers too much.
  package func takeOffer(media count: Int, on line: ConnectionID, at now: Tick) -> Bool {
    guard let connection = connections.holder(on: line) else { return false }
    return spread(of: connection, at: now).take(references: max(count, 1), at: now)
  }

  /// Refuses a join that has come on this line, for a reason that its owner knows.
  package func refuseJoin(_ failure: Failure, on line: ConnectionID) {
    guard let connection = connections.holder(on: line) else { return }
    heard(from: connection, isCounted: true)
    outbox.post(.refused(failure), to: connection.id)
  }

  /// A message that cannot be read is answered, never punished.
  package func refuse(_ message: UnreadableMessage, on line: ConnectionID) {
    guard let connection = connections.holder(on: line) else { return }
    heard(from: connection, isCounted: true)
    let failure = message.reason.failure
    if connection.member == nil, case .unknownVersion = message.reason {
      return outbox.post(.refused(failure), to: connection.id)
    }
    outbox.post(.failed(request: message.request, failure), to: connection.id)
  }

  /// What `Authorization` has to be asked before `message` can be handled; nil for a message that no credential decides.
  package func credentialQuestion(of message: ClientMessage, on line: ConnectionID) -> CredentialQuestion? {
    guard let connection = connections.holder(on: line) else { return nil }
    switch message {
    case .join(let join) where connection.member == nil && !lobby.isWaiting(connection.id): return .join(join)
    case .renew(let credential): return connection.member.map { .renewal(renewal(credential, of: $0)) }
    case .register(let register): return .identity(register)
    default: return nil
    }
  }

  /// - Parameter verdict: on the message's credential, where it has been checked already; without it the credential is
  ///   checked inline.
  package func handle(
    _ message: ClientMessage, authorization verdict: CredentialVerdict? = nil, on line: ConnectionID, at now: Tick
  ) {
    guard let connection = connections.holder(on: line) else { return }
    heard(from: connection, isCounted: message.isCounted)
    if message.isCounted { counts.messages += 1 }
    switch message {
    case .ping(let number): return outbox.post(.pong(number), to: connection.id)
    case .bye: return close(line, at: now)
    case .heard(let count): return connection.conversation.told(heard: count)
    case .resumeConversation(let key, let heard): return takeUp(key, heard: heard, on: line, instead: connection)
    case .join(let join):
      guard connection.member == nil, !lobby.isWaiting(connection.id) else {
        return outbox.post(
          .failed(request: nil, Failure(.wrongState, "already in a room, or before it")), to: connection.id)
      }
      return admit(join, verdict, on: connection, at: now)
    case .register, .ring, .cancelRing, .answerRing: return handleRinging(message, verdict, on: connection, at: now)
    case .close:
      guard let member = connection.member, member.grants.canModerate else { break }
      return close(room: member.room.name, at: now)
    case .leave where lobby.isWaiting(connection.id):
      stopWaiting(connection)
      return outbox.post(.ended(.left), to: connection.id)
    case .answerKnock(let id, let admitted, let number):
      guard let member = connection.member else { break }
      return answerKnock(of: id, number: number, admitted, by: member, at: now)
    default: break
    }
    guard let member = connection.member else {
      return outbox.post(.failed(request: message.request, Failure(.wrongState, "join first")), to: connection.id)
    }
    let room = member.room
    switch message {
    case .restartMedia(let description): restartMedia(of: member, description, at: now)
    case .renew(let credential): renew(credential, verdict, of: member, at: now)
    default:
      guard member.spread.take(references: message.references, at: now) else {
        let failure = Failure(.tooMany, "at most \(Int(configuration.limits.dataPerSecond * 8)) tracks named a second")
        return outbox.post(.failed(request: message.request, failure), to: member.connection)
      }
      room.handle(message, of: member, at: now)
    }
    settle(room, at: now)
  }

  private func handleRinging(
    _ message: ClientMessage, _ verdict: CredentialVerdict?, on connection: Connection, at now: Tick
  ) {
    var failure: Failure?
    let id = connection.id
    switch message {
    case .register(let register):
      let answer =
        if case .identity(let answer) = verdict { answer } else { configuration.authorization.checkIdentity(register) }
      switch answer {
      case .success(let known):
        offerResumption(on: connection)
        switchboard.register(known.identity, name: known.name, on: id)
      case .failure(let failure): outbox.post(.refused(failure), to: id)
      }
    case .ring(let ring):
      // It goes to all whom it names, and tells each of all.
      let isPaidFor = spread(of: connection, at: now).take(bytes: ring.writtenSize * max(ring.to.count, 1), at: now)
      failure =
        isPaidFor ? switchboard.ring(ring, from: id, at: now) : Failure(.tooMany, "rings too many too often")
    case .cancelRing(let ring): switchboard.cancel(ring, by: id)
    case .answerRing(let ring, let answer): switchboard.answer(ring, answer, by: id)
    default: break
    }
    if let failure { outbox.post(.failed(request: nil, failure), to: id) }
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
