import KoineBase
import KoineSignaling

/// Participants that wait until a participant in the room admits them, in the order in which they came.
struct Lobby {
  struct Knock {
    /// Counts the knocks of the router.
    let number: Int
    let room: String
    /// The id under which the participant will enter.
    let id: String
    let join: Join
    let grants: Grants
    let client: ClientID
    let since: Tick
    /// Knocks are in the order of these: as `since`, but for a participant that knocks again after its room has been restored.
    let position: Tick

    /// The waiting participant as it is announced to the participants that may admit it.
    var participant: Participant { Participant(join, id: id, grants) }

    /// Whether this knock and a participant that has come, or comes, by a name of the room are of two accounts that use the same name.
    /// The two do not know of each other. Rooms that are linked have several names, and their participants meet on purpose.
    func isApart(from issuer: String?, at name: String) -> Bool {
      guard join.room == name, let issuer, let own = grants.issuer else { return false }
      return own != issuer
    }

    func isApart(from member: Member) -> Bool { isApart(from: member.grants.issuer, at: member.entrance) }
  }

  /// Where a participant waits, for a room's snapshot.
  struct QueuePosition: Codable, Equatable {
    let room: String
    let id: Participant.ID
    /// Of its client. A secret.
    let resumptionKey: String
    var since: Tick
  }

  private var knocks: [Knock] = []
  private var next = 0
  /// At restored rooms, of participants that have not knocked again.
  private var positions: [QueuePosition] = []

  var count: Int { knocks.count }

  /// For the next knock.
  mutating func makeNumber() -> Int {
    defer { next += 1 }
    return next
  }

  mutating func add(_ knock: Knock) {
    knocks.insert(knock, at: knocks.firstIndex { $0.position > knock.position } ?? knocks.endIndex)
  }

  mutating func keep(_ position: QueuePosition) { positions.append(position) }

  func keptPositions(at room: String) -> [QueuePosition] { positions.filter { $0.room == room } }

  mutating func forgetPositions(at room: String) { positions.removeAll { $0.room == room } }

  /// Since when a participant of a restored room has waited. It proves with its resumption key that it did.
  mutating func takePosition(of id: Participant.ID, at room: String, key: String?) -> Tick? {
    positions.firstIndex { $0.room == room && $0.id == id && $0.resumptionKey == key }
      .map { positions.remove(at: $0).since }
  }

  var all: [Knock] { knocks }

  func knocks(at room: String) -> [Knock] { knocks.filter { $0.room == room } }

  /// The waiting participant of that id as a new one with these grants finds it: without those of other accounts.
  func knock(of id: String, at room: String, for join: Join, _ grants: Grants) -> Knock? {
    knocks.first { $0.room == room && $0.id == id && !$0.isApart(from: grants.issuer, at: join.room) }
  }

  /// - Parameters:
  ///   - number: the number of the knock; nil: any knock under the id.
  ///   - member: the participant that answers it. It does not find the knocks of other accounts.
  mutating func remove(_ id: String, number: Int?, for member: Member) -> Knock? {
    knocks.firstIndex { knock in
      knock.room == member.room.name && knock.id == id && (number ?? knock.number) == knock.number
        && !knock.isApart(from: member)
    }
    .map { knocks.remove(at: $0) }
  }

  mutating func remove(_ client: ClientID) -> Knock? {
    knocks.firstIndex { $0.client == client }.map { knocks.remove(at: $0) }
  }

  func isWaiting(_ client: ClientID) -> Bool { knocks.contains { $0.client == client } }
}

extension Grants {
  /// Whether its credential gives it an id that another participant's does not, or gives as one of the same kind.
  func names(_ id: String, insteadOf other: Grants) -> Bool {
    participantID == id && (other.participantID == nil || other.kind == kind)
  }
}

extension Participant {
  /// The participant as it will appear once admitted, with its grants applied.
  init(_ join: Join, id: String, _ grants: Grants) {
    self.init(
      id: id, name: grants.name ?? join.name, externalUserID: grants.externalID(instead: join.externalID),
      attributes: grants.attributes(of: join))
  }
}
