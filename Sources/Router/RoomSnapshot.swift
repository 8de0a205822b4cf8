package import KoineBase
package import KoineSignaling

/// A room's control values at one moment: what a router needs in order to go on with the room where another one stopped.
///
/// `Router.snapshot(of:at:)` makes one, at any time and without effect on the room; `Router.restore(_:at:)` makes a room of it
/// on a router that has none of that name. The restored room has the same epoch, so participants return to it as they return
/// after a lost connection: they join with the epoch (`Join.returningTo`) and their resumption key, publish and
/// subscribe again, and get the messages that they had not acknowledged, in the room's order. Until a participant has
/// returned, or for `RouterLimits.recovery`, the room keeps its place, its id and its messages; it is announced to the others
/// when it returns, never before.
///
/// - Held: the roster (identities, attributes, grants, tracks, mutes, resumption keys); the order of data messages, those that
///   are kept, those that single participants have not acknowledged, the status of services; preferences of
///   subscriptions; and the participants that wait to be admitted.
/// - Not held: peers, with their DTLS keys, ICE credentials, SSRCs, sequence numbers and congestion control; connections and
///   the messages on them, except for data messages; layers, estimates and starvation; audio levels and the active speaker;
///   key frame requests; connection quality; budgets; whether a receiver has paused a subscription, which it states again;
///   rings and registered identities, which belong to no room. All of these start from scratch.
///
/// Resumption keys let their bearers take a participant's place: a snapshot is a secret.
package struct RoomSnapshot: Codable, Sendable {
  /// How a participant wants a track that it is subscribed to.
  struct Subscription: Codable, Equatable {
    var track: Track.ID
    var preference: LayerPreference
  }

  package let room: String
  package let epoch: String
  /// When it was made. This and all other times in it are those of the router's clock that made it.
  package let taken: Tick
  var roster: Roster
  var data: DataRouter
  var subscriptions: [Participant.ID: [Subscription]]
  var lobby: [Lobby.QueuePosition]

  /// The same with the times of another clock, on which it is `now`.
  func moved(to now: Tick) -> RoomSnapshot {
    var (snapshot, difference) = (self, now - taken)
    snapshot.roster.shiftTimes(by: difference)
    snapshot.data.shiftTimes(by: difference)
    for index in lobby.indices { snapshot.lobby[index].since += difference }
    return snapshot
  }
}

extension Router {
  /// - Parameter unacknowledged: messages that have been polled for a client and that the client may not have received.
  /// - Returns: nil if there is no room of that name.
  package func snapshot(
    of name: String, at now: Tick, unacknowledged: (ClientID) -> [ServerMessage] = { _ in [] }
  ) -> RoomSnapshot? {
    guard let room = rooms[name] else { return nil }
    var snapshot = room.snapshot(at: now)
    var unread: [Participant.ID: [ReceivedMessage]] = [:]
    for member in room.members {
      guard let id = member.client, let client = clients[id] else { continue }
      unread[member.id] = (unacknowledged(id) + client.held + outbox.waiting(for: id)).compactMap(\.dataMessage)
    }
    snapshot.data.keepUnread(unread, until: now + configuration.limits.recovery, at: now)
    snapshot.lobby = lobby.keptPositions(at: name)
    for knock in lobby.knocks(at: name) {
      guard let key = clients[knock.client]?.resumptionKey else { continue }
      snapshot.lobby.append(Lobby.QueuePosition(room: name, id: knock.id, resumptionKey: key, since: knock.position))
    }
    return snapshot
  }

  /// Goes on with a room that another router had, and closes it if no participant returns within `RouterLimits.recovery`.
  /// - Returns: false if there is a room of that name, which is left as it is, or as many rooms as there may be.
  @discardableResult package func restore(_ snapshot: RoomSnapshot, at now: Tick) -> Bool {
    guard rooms[snapshot.room] == nil, rooms.count < configuration.limits.rooms else { return false }
    let snapshot = snapshot.moved(to: now)
    let room = makeRoom(named: snapshot.room, epoch: snapshot.epoch, at: now)
    room.restore(snapshot, at: now)
    for position in snapshot.lobby { lobby.keep(position) }
    settle(room, at: now)
    return true
  }
}

extension ServerMessage {
  fileprivate var dataMessage: ReceivedMessage? { if case .data(let data) = self { data } else { nil } }
}
