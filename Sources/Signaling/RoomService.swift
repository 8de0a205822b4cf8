/// A service beside a router, as a recorder is: written to in every room by names that nobody there can have, and speaking
/// there by the router itself.
///
/// Whoever may have a room recorded may write to it. The router hands on what is written (`hear`), and tells the room what
/// it answers: `Server.say(_:)`, or the backend whose router is in this process.
public struct RoomService: Sendable {
  /// What somebody in a room has said to it.
  public struct Word: Hashable, Sendable {
    public var room: String
    public var sender: String
    public var topic: String
    public var payload: [UInt8]

    public init(room: String, sender: String, topic: String, payload: [UInt8]) {
      (self.room, self.sender, self.topic, self.payload) = (room, sender, topic, payload)
    }
  }

  /// What it says in a room, as one of its names; nobody hears it where there is no such room.
  public struct Answer: Hashable, Sendable {
    public var room: String
    public var name: String
    public var payload: [UInt8]
    /// Nil: everybody. What is said to everybody stands until the next answer under that name, and is told to who comes
    /// later.
    public var participant: String?
    /// False: it is the last under its name, and those who come later hear of none.
    public var stands: Bool

    public init(
      _ payload: [UInt8], as name: String, to participant: String? = nil, stands: Bool = true, in room: String
    ) {
      (self.room, self.name, self.payload) = (room, name, payload)
      (self.participant, self.stands) = (participant, stands)
    }
  }

  /// No participant's id begins so: such names are services' alone, whether the router has that service or not.
  public static let namePrefix = "koine."

  public var names: [String]
  /// Called on the network loop: must return at once.
  public var hear: @Sendable (Word) -> Void

  public init(names: [String], hear: @escaping @Sendable (Word) -> Void) { (self.names, self.hear) = (names, hear) }
}
