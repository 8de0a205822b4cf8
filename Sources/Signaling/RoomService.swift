/// A co-located service of a router, for example a recorder. In every room, participants write to it under reserved names that no
/// participant can have. The router delivers its answers.
///
/// Participants that may have a room recorded may write to the service; names in `openNames` accept messages of every participant.
/// The router passes the messages to `handle`. The service answers with `Server.send(_:)`, or through the backend if the router runs
/// in this process.
public struct RoomService: Sendable {
  /// A message of a participant in a room to the service.
  public struct Message: Hashable, Sendable {
    public var room: String
    public var sender: String
    public var topic: String
    public var payload: [UInt8]
    /// Whether the sender may have the room recorded. Always true for a service without `openNames`.
    public var mayRecord: Bool
    /// For a job that the service of the room's former home has not ended (`Answer.job`): the last report on it. nil: a new request.
    public var continuing: [UInt8]?

    /// Creates a message.
    public init(room: String, sender: String, topic: String, payload: [UInt8], mayRecord: Bool = true) {
      (self.room, self.sender, self.topic, self.payload) = (room, sender, topic, payload)
      self.mayRecord = mayRecord
    }
  }

  /// A request that a service is carrying out.
  public struct Job: Hashable, Sendable {
    /// The participant that has made the request.
    public var sender: String
    public var payload: [UInt8]

    /// Creates a description of a request.
    public init(sender: String, payload: [UInt8]) { (self.sender, self.payload) = (sender, payload) }
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
    /// With the last report of a recording: what has been recorded. Participants do not get it.
    public var output: Output?
    /// What the answer reports on, if it stands. In a cluster the job outlives its node: the service of the room's next home gets it
    /// again, with `Message.continuing`, and continues it. Participants do not get it.
    public var job: Job?
    /// Only the events for back ends tell of it: the room is another server's.
    package var isForEventsOnly = false

    public init(
      _ payload: [UInt8], as name: String, to participant: String? = nil, stands: Bool = true, in room: String
    ) {
      (self.room, self.name, self.payload) = (room, name, payload)
      (self.participant, self.stands) = (participant, stands)
    }
  }

  /// A recording that has ended.
  public struct Output: Hashable, Sendable {
    /// The URL of the file or playlist.
    public var url: String
    /// The size of the file in bytes; nil if it is not known.
    public var bytes: Int?
    /// How long the room was recorded, in seconds.
    public var seconds: Double
    /// The width of the video in pixels; nil for a recording of audio only.
    public var width: Int?
    /// The height of the video in pixels; nil for a recording of audio only.
    public var height: Int?

    /// Creates a description of a recording.
    public init(url: String, bytes: Int?, seconds: Double, width: Int? = nil, height: Int? = nil) {
      (self.url, self.bytes, self.seconds, self.width, self.height) = (url, bytes, seconds, width, height)
    }
  }

  /// No participant's id begins so: such names are services' alone, whether the router has that service or not.
  public static let namePrefix = "koine."

  public var names: [String]
  /// The names to which every participant may write that may send data. The service itself looks at `Message.mayRecord`.
  public var openNames: Set<String>
  /// Called on the network loop: must return at once.
  public var handle: @Sendable (Message) -> Void
  /// Called on the network loop when another node of a cluster has become the room's home, where its own service continues the jobs.
  /// Must return at once.
  public var roomMoved: @Sendable (_ room: String) -> Void = { _ in }

  /// Creates a service.
  public init(names: [String], openNames: Set<String> = [], handle: @escaping @Sendable (Message) -> Void) {
    (self.names, self.openNames, self.handle) = (names, openNames, handle)
  }

  /// Joins services into one, because a router has one. Each of them gets all messages and ignores the topics of the others.
  public init(combining services: [RoomService]) {
    self.init(
      names: services.flatMap(\.names), openNames: services.reduce(into: []) { $0.formUnion($1.openNames) }
    ) { message in
      for service in services { service.handle(message) }
    }
    roomMoved = { room in for service in services { service.roomMoved(room) } }
  }
}
