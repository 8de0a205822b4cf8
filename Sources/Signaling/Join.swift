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
    case resumptionKey
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
  }
}
