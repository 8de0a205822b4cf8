/// Somebody in the room, as known at one moment.
public struct Participant: Sendable, Hashable, Identifiable {
  public typealias ID = String

  /// Unique in the room; given by the app or made up by the room.
  public let id: ID
  /// The name to show.
  public var name: String
  /// The app's own id of the person, if it gave one.
  public var externalUserID: String?
  public var attributes: [String: String]
  public let isLocal: Bool
  /// What the participant publishes now, in the order of publishing.
  public var streams: [Stream]

  public init(
    id: ID, name: String, externalUserID: String? = nil, attributes: [String: String] = [:], isLocal: Bool = false,
    streams: [Stream] = []
  ) {
    self.id = id
    self.name = name
    self.externalUserID = externalUserID
    self.attributes = attributes
    self.isLocal = isLocal
    self.streams = streams
  }
}

/// Why somebody is no longer in the room.
public enum DepartureReason: String, Sendable, Codable {
  /// Left by a decision of their own.
  case left
  /// Was lost: no sign of life for longer than the room waits.
  case dropped
  /// Was sent out.
  case removed
}
