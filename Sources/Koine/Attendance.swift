/// A service beside a router: written to in every room by names that nobody there can have.
package struct Attendance: Sendable {
  /// What somebody in a room has said to it.
  package struct Word: Hashable, Sendable {
    package let room: String
    package let sender: Participant.ID
    package let topic: String
    package let payload: [UInt8]

    package init(room: String, sender: Participant.ID, topic: String, payload: [UInt8]) {
      (self.room, self.sender, self.topic, self.payload) = (room, sender, topic, payload)
    }
  }

  package let names: [String]
  /// Called on the network loop: must return at once.
  package let hear: @Sendable (Word) -> Void

  package init(names: [String], hear: @escaping @Sendable (Word) -> Void) { (self.names, self.hear) = (names, hear) }
}

/// A backend whose router is in this process, so that services of the process can stand beside it.
package protocol AttendedBackend: Backend {
  /// The first that is made stays; where there is one already, none is made.
  func attend(_ make: () -> Attendance)
  /// What the service says in a room, as one of its names.
  /// - Parameters:
  ///   - participant: nil: everybody. That stands until the next word of that name, and is told to who comes later.
  ///   - stands: false: it is the last word.
  func say(_ payload: [UInt8], as name: String, to participant: Participant.ID?, stands: Bool, in room: String)
  /// The same rooms, as they are reached by what stands beside the router: over no network, and without keeping this
  /// backend.
  var inside: any Backend { get }
}
