/// A co-located service of a router, for example a recorder. In every room, participants write to it under reserved names that no
/// participant can have. The router delivers its answers.
///
/// Participants that may have a room recorded may write to the service. The router passes their messages to `handle`. The service
/// answers with `Server.send(_:)`, or through the backend if the router runs in this process.
public struct RoomService: Sendable {
  /// A message of a participant in a room to the service.
  public struct Message: Hashable, Sendable {
    public var room: String
    public var sender: String
    public var topic: String
    public var payload: [UInt8]

    public init(room: String, sender: String, topic: String, payload: [UInt8]) {
      (self.room, self.sender, self.topic, self.payload) = (room, sender, topic, payload)
    }
  }

  /// A message of the service to a room, under one of its names. It is dropped if the room does not exist.
  public struct Answer: Hashable, Sendable {
    public var room: String
    public var name: String
    public var payload: [UInt8]
    /// The receiver; nil: all participants. An answer to all participants stands until the next one under the same name, and late
    /// joiners get it.
    public var participant: String?
    /// False: only current participants get the answer. No answer stands under its name afterwards, and late joiners get none.
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
  public var handle: @Sendable (Message) -> Void

  public init(names: [String], handle: @escaping @Sendable (Message) -> Void) {
    (self.names, self.handle) = (names, handle)
  }
}
