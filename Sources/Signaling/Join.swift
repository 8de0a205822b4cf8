/// The first message of a connection: asks the router to admit a participant to a room.
public struct Join: Hashable, Sendable {
  public var version: Int
  public var room: String
  /// The credential that admits the participant. Its format is a matter of its issuer and of the server that checks it.
  public var credential: String?
  /// nil lets the router choose one. A participant of the same id is replaced where the credential names the id, or where
  /// `resumptionKey` is that participant's; otherwise the join is refused.
  public var participantID: String?
  public var name: String
  public var externalID: String?
  public var attributes: [String: String]
  /// What the app says about itself, such as its name and version. The server's operator sees it, and participants do not.
  public var client: String?
  /// Of the client's peer.
  public var description: PeerDescription
  /// The `epoch` of the room that this participant lost and comes back to, if it does.
  public var returningTo: String?
  /// The key of the conversation (`ServerMessage.resumable`) that this participant lost. It proves that a participant of the same
  /// id that is still in the room is this participant.
  public var resumptionKey: String?
  /// The highest number in the room's order that the client has received, in a message or in a receipt; 0: none. A router that has
  /// not come so far has lost the newest part of the room.
  public var seen: UInt64 = 0
  /// Whether the client comes because another server sent it here (`ServerMessage.moved`, `Failure.Code.moved`).
  public var isMoved = false
  /// The address of the room's home, where the client has lost it or could not connect to it. A suspicion, with which a server may
  /// take the room over.
  public var unreachable: String?

  public init(
    version: Int = SignalingVersion.current, room: String, credential: String? = nil, participantID: String? = nil,
    name: String, externalID: String? = nil, attributes: [String: String] = [:], description: PeerDescription,
    returningTo: String? = nil, resumptionKey: String? = nil
  ) {
    (self.version, self.room, self.credential, self.participantID) = (version, room, credential, participantID)
    (self.name, self.externalID, self.attributes, self.description) = (name, externalID, attributes, description)
    (self.returningTo, self.resumptionKey) = (returningTo, resumptionKey)
  }
}

extension Join: Codable {
  private enum CodingKeys: String, CodingKey {
    case version, room, credential, participantID, name, externalID, attributes, client, description, returningTo
    case resumptionKey, seen, isMoved, unreachable
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      version: try fields.version(.version), room: try fields.text(.room),
      credential: try fields.textIfPresent(.credential, limit: SignalingLimits.credential),
      participantID: try fields.textIfPresent(.participantID), name: try fields.text(.name),
      externalID: try fields.textIfPresent(.externalID), attributes: try fields.attributes(.attributes),
      description: try fields.sized(.description),
      returningTo: try fields.textIfPresent(.returningTo), resumptionKey: try fields.textIfPresent(.resumptionKey))
    client = try fields.textIfPresent(.client, limit: SignalingLimits.client)
    seen = try fields.decodeIfPresent(UInt64.self, forKey: .seen) ?? 0
    isMoved = try fields.decodeIfPresent(Bool.self, forKey: .isMoved) ?? false
    unreachable = try fields.placeIfPresent(.unreachable)
  }

  /// The fields of clusters are left out where they say nothing.
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(version, forKey: .version)
    try fields.encode(room, forKey: .room)
    try fields.encodeIfPresent(credential, forKey: .credential)
    try fields.encodeIfPresent(participantID, forKey: .participantID)
    try fields.encode(name, forKey: .name)
    try fields.encodeIfPresent(externalID, forKey: .externalID)
    try fields.encode(attributes, forKey: .attributes)
    try fields.encodeIfPresent(client, forKey: .client)
    try fields.encode(description, forKey: .description)
    try fields.encodeIfPresent(returningTo, forKey: .returningTo)
    try fields.encodeIfPresent(resumptionKey, forKey: .resumptionKey)
    if seen != 0 { try fields.encode(seen, forKey: .seen) }
    if isMoved { try fields.encode(isMoved, forKey: .isMoved) }
    try fields.encodeIfPresent(unreachable, forKey: .unreachable)
  }
}

/// The answer to a join that was granted: the room as it is now. The router sends every later change as a message of its own.
public struct Joined: Hashable, Sendable {
  public var version: Int
  /// The participant itself, as the others see it: the credential may have given it another name than it asked for.
  public var local: Participant
  /// Of the router's peer for this participant.
  public var description: PeerDescription
  /// The others, in the order in which they joined.
  public var participants: [Participant]
  /// Data messages kept for late joiners, oldest first.
  public var history: [ReceivedMessage]
  /// True where more kept data messages follow, in `history` messages. Nil: no.
  public var hasMoreHistory: Bool?
  /// Tells this room from one of the same name before or after it: with another epoch, everything the router knew is gone.
  public var epoch: String
  /// Names of the co-located services. Data messages may be addressed to them although no participant has such a name. Nil: none.
  public var attendants: [String]?
  /// The permissions of the participant itself, each once. Nil: the server does not say.
  public var permissions: [ParticipantPermission]?
  /// The addresses of the cluster's servers, to be tried in turn after a break, the room's home first. Empty: the client keeps its
  /// own list.
  public var places: [String] = []
  /// The time between two pings of the server, in seconds. Nil: 5.
  public var pingSeconds: Int?
  /// How long the connection may be silent before the client counts it as lost, in seconds. Nil: 15.
  public var silenceSeconds: Int?
  /// Whether this router has restored the room from its log, although the epoch is new to the client: numbers in the room's order
  /// continue, so the client has all messages up to the last one that it received.
  public var continues = false

  public var participantID: String { local.id }

  public init(
    version: Int = SignalingVersion.current, local: Participant, description: PeerDescription,
    participants: [Participant] = [], history: [ReceivedMessage] = [], epoch: String = "", attendants: [String]? = nil
  ) {
    (self.version, self.local, self.description) = (version, local, description)
    (self.participants, self.history, self.epoch) = (participants, history, epoch)
    self.attendants = attendants
  }
}

extension Joined: Codable {
  private enum CodingKeys: String, CodingKey {
    case version, local, description, participants, history, hasMoreHistory, epoch, attendants, permissions
    case places, pingSeconds, silenceSeconds, continues
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      version: try fields.version(.version), local: try fields.sized(.local),
      description: try fields.sized(.description),
      participants: try fields.sizedList(.participants, limit: SignalingLimits.participants),
      history: try fields.sizedList(.history, limit: SignalingLimits.history),
      epoch: try fields.textIfPresent(.epoch) ?? "",
      attendants: try fields.contains(.attendants) && !fields.decodeNil(forKey: .attendants)
        ? fields.names(.attendants, limit: SignalingLimits.attendants) : nil)
    hasMoreHistory = try fields.decodeIfPresent(Bool.self, forKey: .hasMoreHistory)
    if try fields.contains(.permissions) && !fields.decodeNil(forKey: .permissions) {
      // A permission that this version does not know is no use to it.
      permissions = try fields.names(.permissions, limit: SignalingLimits.permissions)
        .compactMap(ParticipantPermission.init(rawValue:))
    }
    places = try fields.places(.places)
    pingSeconds = try fields.decodeIfPresent(Int.self, forKey: .pingSeconds)
    silenceSeconds = try fields.decodeIfPresent(Int.self, forKey: .silenceSeconds)
    continues = try fields.decodeIfPresent(Bool.self, forKey: .continues) ?? false
  }

  /// The fields of clusters are left out where they say nothing.
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(version, forKey: .version)
    try fields.encode(local, forKey: .local)
    try fields.encode(description, forKey: .description)
    try fields.encode(participants, forKey: .participants)
    try fields.encode(history, forKey: .history)
    try fields.encodeIfPresent(hasMoreHistory, forKey: .hasMoreHistory)
    try fields.encode(epoch, forKey: .epoch)
    try fields.encodeIfPresent(attendants, forKey: .attendants)
    try fields.encodeIfPresent(permissions, forKey: .permissions)
    try fields.encodePlaces(places, forKey: .places)
    try fields.encodeIfPresent(pingSeconds, forKey: .pingSeconds)
    try fields.encodeIfPresent(silenceSeconds, forKey: .silenceSeconds)
    if continues { try fields.encode(continues, forKey: .continues) }
  }
}
