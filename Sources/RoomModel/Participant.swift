/// A participant of a room, as known at one moment.
public struct Participant: Sendable, Hashable, Identifiable {
  public typealias ID = String

  /// Unique in its room. Given by the app or its credential, else made by the room.
  public let id: ID
  /// The display name.
  public var name: String
  /// The app's own id of the user, if the app gave one.
  public var externalUserID: String?
  /// The participant's attributes, in all 16 KiB of JSON.
  public var attributes: [String: String]
  /// Whether this is the participant that observes the room. Never written: each program knows its own.
  public let isLocal: Bool
  /// The tracks that the participant publishes now, in the order of publishing.
  public var tracks: [Track]
  /// Position in the room's order of joining: a participant that joined earlier has the lower number.
  public var joinedOrder: UInt64

  /// Creates a participant.
  public init(
    id: ID, name: String, externalUserID: String? = nil, attributes: [String: String] = [:], isLocal: Bool = false,
    tracks: [Track] = [], joinedOrder: UInt64 = 0
  ) {
    self.id = id
    self.name = name
    self.externalUserID = externalUserID
    self.attributes = attributes
    self.isLocal = isLocal
    self.tracks = tracks
    self.joinedOrder = joinedOrder
  }
}

extension Participant: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, name, attributes, tracks, joinedOrder
    case externalUserID = "externalID"
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    let id = try fields.decode(ID.self, forKey: .id)
    self.init(
      id: id, name: try fields.decode(String.self, forKey: .name),
      externalUserID: try fields.decodeIfPresent(String.self, forKey: .externalUserID),
      attributes: try fields.decodeIfPresent([String: String].self, forKey: .attributes) ?? [:],
      tracks: try fields.decodeIfPresent(OwnedTracks.self, forKey: .tracks)?.tracks(of: id) ?? [],
      joinedOrder: try fields.decodeIfPresent(UInt64.self, forKey: .joinedOrder) ?? 0)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(id, forKey: .id)
    try fields.encode(name, forKey: .name)
    try fields.encodeIfPresent(externalUserID, forKey: .externalUserID)
    try fields.encode(attributes, forKey: .attributes)
    try fields.encode(OwnedTracks(tracks), forKey: .tracks)
    try fields.encode(joinedOrder, forKey: .joinedOrder)
  }
}

/// Why a participant is no longer in the room, as the others are told.
public enum DepartureReason: String, Sendable, Hashable, Codable, CaseIterable {
  /// The participant left.
  case left
  /// The participant's connection broke and did not come back within the room's grace time.
  case dropped
  /// The room, a participant with that permission, or a newer participant with the same id removed it.
  case removed

  /// A reason that this version does not know counts as `removed`.
  public init(from decoder: any Decoder) throws {
    self = DepartureReason(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .removed
  }
}
