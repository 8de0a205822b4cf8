public import Koine
public import KoineUIKit

/// The ways an app may be written.
public enum Style: String, CaseIterable, Sendable {
  case native
  case callAgent = "call-agent"
  case stage
  case meeting
  case listener
}

/// One person in a room whose app is written in one style.
///
/// What the person does is said in canonical terms and done in the style's own; what the person sees is read from the
/// style's own objects, callbacks and views, never from the session beneath.
@MainActor
public protocol Driver: AnyObject {
  var style: Style { get }
  /// As the room knows the person.
  var id: Participant.ID { get }
  var name: String { get }
  /// Microphone and camera on. Throws where the style says at once that it cannot be.
  func join() throws
  func leave()
  func setMicrophoneMuted(_ isMuted: Bool)
  func setCameraOn(_ isOn: Bool)
  /// - Returns: false where the style has no word for it.
  func say(_ text: String) -> Bool

  var isConnected: Bool { get }
  /// Over, after having been in the room or not.
  var isOver: Bool { get }
  /// Those whom the app knows of now, in the order in which it came to know of them.
  var others: [Seen] { get }
  /// What others have said, in the order in which it came.
  var heard: [String] { get }
  /// A view that shows the person's own camera, where the style has one.
  var mirror: VideoView? { get }
  /// The session beneath, for figures.
  var session: Session? { get }
}

/// Somebody else, as an app sees them.
public struct Seen: Sendable {
  public var id: Participant.ID
  public var name: String
  /// Nil where the style does not tell.
  public var isMicrophoneMuted: Bool?
  public var hasPicture: Bool
  /// Where the picture is drawn; kept when it is gone.
  public var view: VideoView?
  /// Has been told to be speaking or loud at least once.
  public var hasSpoken: Bool
}

/// What drivers note of somebody else.
@MainActor
struct Sighting {
  var name: String
  var isMicrophoneMuted: Bool?
  var hasPicture = false
  var view: VideoView?
  var hasSpoken = false
}

/// Sightings in the order in which they began.
@MainActor
struct Sightings {
  private var order: [Participant.ID] = []
  private var people: [Participant.ID: Sighting] = [:]

  var seen: [Seen] {
    order.compactMap { id in
      people[id].map {
        Seen(
          id: id, name: $0.name, isMicrophoneMuted: $0.isMicrophoneMuted, hasPicture: $0.hasPicture, view: $0.view,
          hasSpoken: $0.hasSpoken)
      }
    }
  }

  mutating func add(_ id: Participant.ID, _ sighting: Sighting) {
    if people[id] == nil { order.append(id) }
    people[id] = sighting
  }

  mutating func remove(_ id: Participant.ID) {
    order.removeAll { $0 == id }
    people[id] = nil
  }

  mutating func change(_ id: Participant.ID, _ change: (inout Sighting) -> Void) {
    guard var sighting = people[id] else { return }
    change(&sighting)
    people[id] = sighting
  }

  subscript(_ id: Participant.ID) -> Sighting? { people[id] }
}

extension Style {
  /// Somebody of this style, who has not joined yet.
  @MainActor
  public func makeDriver(name: String, room: String, in world: World) throws -> any Driver {
    switch self {
    case .native: NativeDriver(name: name, room: room, in: world)
    case .callAgent: try CallAgentDriver(name: name, room: room, in: world)
    case .stage: try StageDriver(name: name, room: room, in: world)
    case .meeting: MeetingDriver(name: name, room: room, in: world)
    case .listener: ListenerDriver(name: name, room: room, in: world)
    }
  }
}
