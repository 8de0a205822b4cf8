package import KoineBase
package import KoineSignaling

/// Commands into a room server from outside its rooms: the command line, vendors' HTTP APIs, the cluster. The router carries them out at
/// once; none waits for I/O.
package protocol RoomControl {
  /// The rooms there are, by name.
  func rooms(at now: Tick) -> [RoomReport]
  /// - Parameter origin: is logged with the command, by the router's owner.
  func perform(_ command: RoomCommand, from origin: CommandOrigin, at now: Tick) throws(Failure)
}

/// One command, about one room.
package enum RoomCommand: Hashable, Sendable {
  /// Removes a participant, which is told the reason. `removed` unless the caller knows better.
  case remove(Participant.ID, room: String, reason: EndReason = .removed)
  /// Ends a room for all its participants.
  case close(room: String, reason: EndReason = .roomClosed)
  /// Changes a participant's grants while it is in the room. Tracks and subscriptions that are not granted any more end.
  case grant(GrantChanges, Participant.ID, room: String)
  /// Mutes a track until its owner unmutes it.
  case mute(Track.ID, room: String)
  /// Starts, or stops, an output of the co-located recording service, by its name there.
  case record(output: String, starts: Bool, room: String)

  package var room: String {
    switch self {
    case .remove(_, let room, _), .close(let room, _), .grant(_, _, let room), .mute(_, let room),
      .record(_, _, let room):
      room
    }
  }
}

/// Who asked for a command, and why.
package struct CommandOrigin: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: String, Sendable { case commandLine, server, vendorAPI, cluster, test }

  package var kind: Kind
  /// The caller as its interface knows it: a user, a key id, a node. Empty where there is only one.
  package var caller: String
  package var reason: String?

  package init(_ kind: Kind, caller: String = "", reason: String? = nil) {
    (self.kind, self.caller, self.reason) = (kind, caller, reason)
  }

  package var description: String { caller.isEmpty ? kind.rawValue : "\(kind.rawValue) \(caller)" }
}

/// What changes of a participant's grants; nil leaves one as it is.
package struct GrantChanges: Hashable, Sendable, Codable {
  package var publish: Set<Track.Kind>?
  package var canSubscribe, canSendData, canModerate, canAdmit, canRecord: Bool?

  package init() {}

  func applied(to grants: Grants) -> Grants {
    var grants = grants
    if let publish { grants.publish = publish }
    if let canSubscribe { grants.canSubscribe = canSubscribe }
    if let canSendData { grants.canSendData = canSendData }
    if let canModerate { grants.canModerate = canModerate }
    if let canAdmit { grants.canAdmit = canAdmit }
    if let canRecord { grants.canRecord = canRecord }
    return grants
  }
}

/// A room as a caller of `RoomControl` sees it.
package struct RoomReport: Hashable, Sendable, Codable {
  package struct Member: Hashable, Sendable, Codable {
    package let participant: Participant
    package let isHidden, isConnected: Bool
    package let publish: [Track.Kind]
    package let canSubscribe, canSendData, canModerate, canAdmit, canRecord: Bool
  }

  package let name: String
  /// In the order in which they joined.
  package let members: [Member]
  /// Participants that wait to be admitted.
  package let waiting: [Participant]
}

extension Router: RoomControl {
  package func rooms(at now: Tick) -> [RoomReport] {
    rooms.values.sorted { $0.name < $1.name }.map { room in
      RoomReport(
        name: room.name, members: room.members.map { RoomReport.Member($0) },
        waiting: lobby.knocks(at: room.name).map(\.participant))
    }
  }

  package func perform(_ command: RoomCommand, from origin: CommandOrigin, at now: Tick) throws(Failure) {
    guard let room = rooms[command.room] else {
      throw Failure(.unknownRoom, "there is no room “\(command.room)”")
    }
    defer { settle(room, at: now) }
    switch command {
    case .remove(let id, _, let reason):
      room.remove(try member(id, in: room), told: reason, others: .removed, at: now)
    case .close(_, let reason): room.close(told: reason)
    case .grant(let changes, let id, _):
      let member = try member(id, in: room)
      room.renew(member, changes.applied(to: member.grants), at: now)
    case .mute(let id, _):
      _ = try member(id.participant, in: room)
      guard let track = room.track(id) else { throw Failure(.unknownTrack, "no track “\(id.track)” is published") }
      room.mute(track, at: now)
    case .record(let output, let starts, _):
      guard let service = configuration.attendant, service.names.contains(output) else {
        throw Failure(.unknownParticipant, "no service “\(output)” is there")
      }
      // The service answers to the room; a sender of its own name is nobody's to receive a refusal.
      let (topic, payload) = starts ? (output, "25") : (DataOrder.prefix + "stop", output)
      service.hear(.init(room: room.name, sender: output, topic: topic, payload: Array(payload.utf8)))
    }
  }

  private func member(_ id: Participant.ID, in room: Room) throws(Failure) -> Member {
    guard let member = room.member(id) else {
      throw Failure(.unknownParticipant, "no participant “\(id)” is in room “\(room.name)”")
    }
    return member
  }
}

extension RoomReport.Member {
  fileprivate init(_ member: KoineRouter.Member) {
    let grants = member.grants
    self.init(
      participant: member.participant, isHidden: grants.isHidden, isConnected: member.isConnected,
      publish: grants.publish.sorted { $0.rawValue < $1.rawValue }, canSubscribe: grants.canSubscribe,
      canSendData: grants.canSendData, canModerate: grants.canModerate, canAdmit: grants.canAdmit,
      canRecord: grants.canRecord)
  }
}
