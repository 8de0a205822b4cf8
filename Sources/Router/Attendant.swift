package import KoineBase
import KoineSignaling

/// A service beside the router, written to in every room by names that nobody there can have.
package struct Attendant: Sendable {
  /// What somebody in a room has said to it.
  package struct Word: Hashable, Sendable {
    package let room: String
    package let sender: String
    package let topic: String
    package let payload: [UInt8]
  }

  package let names: [String]
  /// Called inline: it must not wait for anything.
  package let hear: @Sendable (Word) -> Void

  package init(names: [String], hear: @escaping @Sendable (Word) -> Void) { (self.names, self.hear) = (names, hear) }
}

extension Router {
  /// Whoever writes to one of its names from now on is heard by it.
  package func setAttendant(_ attendant: Attendant?) {
    configuration.attendant = attendant
    for room in rooms.values { room.attendant = attendant }
  }

  /// What the attendant says in a room, as one of its names; nobody hears it where there is no such room.
  /// - Parameters:
  ///   - participant: nil: everybody. What is said to everybody stands until the next word of that name, and is told to
  ///     who comes later.
  ///   - stands: false: it is the last word, and those who come later hear of none.
  package func say(
    _ payload: [UInt8], as name: String, to participant: String? = nil, stands: Bool = true, in room: String,
    at now: Tick
  ) {
    guard let room = rooms[room] else { return }
    room.say(payload, as: name, to: participant, stands: stands)
    settle(room, at: now)
  }
}

extension Room {
  func say(_ payload: [UInt8], as name: String, to participant: String?, stands: Bool) {
    dataOrder += 1
    let data = ReceivedData(
      from: name, topic: name, payload: payload, id: random.makeID(), order: dataOrder,
      isDirected: participant != nil)
    if participant == nil { standingWords[name] = stands ? data : nil }
    for member in members where participant.map({ $0 == member.id }) ?? true {
      outbox.post(.data(data), to: member.connection)
    }
  }

  /// What those who come are told of: what participants said and the room remembers, and how far the attendant is.
  func memory(for id: String, isReturning: Bool, at now: Tick) -> [ReceivedData] {
    let history = history.messages(for: id, isReturning: isReturning, at: now)
    guard !standingWords.isEmpty else { return history }
    return (history + standingWords.values).sorted { $0.order < $1.order }
  }
}
