public import Koine

/// The surroundings in which ``PortingSuite`` and the trait `.layers` make a call layer.
@MainActor
public final class PortingContext {
  /// The room of the run. Its clock is virtual, and no other run uses it.
  public let room: TestRoom
  /// The name of the app's user. The room's credentials for the call layer are made for this name.
  public let name: String
  /// The id of the app's user in the room, for a layer over the common layer (`JoinRequest`). The vendors' credentials contain it.
  public var participantID: Participant.ID { room.participantID(of: name) }
  /// How the app's messages look in the room. Set it while the layer is made, unless they are plain texts under the topic `chat`.
  public var chat = ChatFormat.topic("chat")
  let sleepers = SleeperCount()
  private(set) var watched: [(name: String, object: () -> AnyObject?)] = []

  init(room: TestRoom, name: String) {
    self.room = room
    self.name = name
  }

  /// The room's clock, for code that sleeps. After the call, the suite checks that no code sleeps on it any more.
  public var clock: any Clock<Duration> {
    RoomClock(room.scheduler, room.delivery, sleepers: sleepers)
  }

  /// Has the suite check that an object is freed after the call layer has been released. The suite checks the layer itself without being
  /// asked.
  /// - Parameters:
  ///   - object: kept weakly.
  ///   - name: the name of the object in reports.
  public func watch(_ object: AnyObject, _ name: String) {
    weak let object = object
    watched.append((name, { object }))
  }
}

/// How an app's messages are written as messages of a room, so that the suite's people can send and read them.
public struct ChatFormat: Sendable {
  /// The topic of the app's messages.
  public let topic: String
  /// Returns the payload of a message with this text.
  public let encode: @Sendable (String) -> [UInt8]
  /// Returns the text of a payload; nil for a payload that the app does not show.
  public let decode: @Sendable ([UInt8]) -> String?

  /// Creates a format.
  /// - Parameters:
  ///   - topic: the topic that the app's layer reads.
  ///   - encode: the payload of a message with this text.
  ///   - decode: the text of a payload; nil for a payload that the app does not show.
  public init(
    topic: String, encode: @escaping @Sendable (String) -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) -> String?
  ) {
    self.topic = topic
    self.encode = encode
    self.decode = decode
  }

  /// Texts in UTF-8 under this topic.
  public static func topic(_ topic: String) -> ChatFormat {
    ChatFormat(topic: topic, encode: { Array($0.utf8) }, decode: { String(decoding: $0, as: UTF8.self) })
  }
}

/// The number of tasks that sleep on a clock.
final class SleeperCount: Sendable {
  private let count = Lock((now: 0, most: 0))
  func add(_ change: Int) {
    count.withLock { count in
      count.now += change
      count.most = max(count.most, count.now)
    }
  }
  /// The most at one time from now on: a task that sleeps again and again is awake for moments.
  func beginCount() { count.withLock { $0.most = $0.now } }
  var most: Int { count.withLock { $0.most } }
}
