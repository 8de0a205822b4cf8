/// A participant as the others know it.
public struct Participant: Hashable, Sendable {
  /// Unique in its room while it is there.
  public var id: String
  /// For people.
  public var name: String
  /// The app's own id of the user, if it has one.
  public var externalID: String?
  public var attributes: [String: String]
  /// Without `media`: how the router sends a track is told on subscription.
  public var tracks: [Track]
  /// Counts the joins of the room: whoever came earlier has the lower number.
  public var joinedOrder: UInt64

  public init(
    id: String, name: String, externalID: String? = nil, attributes: [String: String] = [:], tracks: [Track] = [],
    joinedOrder: UInt64 = 0
  ) {
    (self.id, self.name, self.externalID) = (id, name, externalID)
    (self.attributes, self.tracks, self.joinedOrder) = (attributes, tracks, joinedOrder)
  }
}

extension Participant: Codable {
  private enum CodingKeys: String, CodingKey { case id, name, externalID, attributes, tracks, joinedOrder }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try fields.text(.id), name: try fields.text(.name), externalID: try fields.textIfPresent(.externalID),
      attributes: try fields.attributes(.attributes), tracks: try fields.list(.tracks, limit: SignalingLimits.tracks),
      joinedOrder: try fields.decodeIfPresent(UInt64.self, forKey: .joinedOrder) ?? 0)
  }
}
