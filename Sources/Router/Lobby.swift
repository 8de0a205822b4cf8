import KoineBase
import KoineSignaling

/// Those who wait until somebody in their room lets them in, in the order in which they came.
struct Lobby {
  struct Knock {
    /// Counts the knocks of the router.
    let number: Int
    let room: String
    /// Under which it will enter.
    let id: String
    let join: Join
    let grants: Grants
    let connection: ConnectionID
    let since: Tick

    /// As those see it who decide.
    var participant: Participant { Participant(join, id: id, grants) }
  }

  private var knocks: [Knock] = []

  var count: Int { knocks.count }

  mutating func add(_ knock: Knock) { knocks.append(knock) }

  func knocks(at room: String) -> [Knock] { knocks.filter { $0.room == room } }

  /// The one participant of that id that waits.
  func knock(of id: String, at room: String) -> Knock? { knocks.first { $0.room == room && $0.id == id } }

  /// - Parameter number: of the knock that is meant; nil: whichever waits under the id.
  mutating func take(_ id: String, number: Int?, at room: String) -> Knock? {
    knocks.firstIndex { $0.room == room && $0.id == id && (number ?? $0.number) == $0.number }
      .map { knocks.remove(at: $0) }
  }

  mutating func take(_ connection: ConnectionID) -> Knock? {
    knocks.firstIndex { $0.connection == connection }.map { knocks.remove(at: $0) }
  }

  func isWaiting(_ connection: ConnectionID) -> Bool { knocks.contains { $0.connection == connection } }
}

extension Grants {
  /// Whether its credential gives it an id that another participant's does not, or gives as one of the same kind.
  func names(_ id: String, insteadOf other: Grants) -> Bool {
    participantID == id && (other.participantID == nil || other.kind == kind)
  }
}

extension Participant {
  /// As it will be with what it is granted.
  init(_ join: Join, id: String, _ grants: Grants) {
    self.init(
      id: id, name: grants.name ?? join.name, externalUserID: grants.externalID(instead: join.externalID),
      attributes: grants.attributes ?? join.attributes)
  }
}
