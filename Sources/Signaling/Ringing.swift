/// Makes an identity known on this connection, so that it can be rung and can ring. Answered by `registered` or `refused`.
///
/// An identity may be registered on several connections: its devices. All of them ring.
public struct Register: Hashable, Sendable {
  public var version: Int
  public var identity: String
  /// Shown to those who are rung.
  public var name: String
  public var credential: String?

  public init(
    version: Int = SignalingVersion.current, identity: String, name: String = "", credential: String? = nil
  ) {
    (self.version, self.identity, self.name, self.credential) = (version, identity, name, credential)
  }
}

extension Register: Codable {
  private enum CodingKeys: String, CodingKey { case version, identity, name, credential }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      version: try fields.version(.version), identity: try fields.text(.identity),
      name: try fields.textIfPresent(.name) ?? "",
      credential: try fields.textIfPresent(.credential, limit: SignalingLimits.credential))
  }
}

/// Asks other identities into a room. A `ringProgress` message answers for each of them.
public struct RingRequest: Hashable, Sendable {
  /// Chosen by the caller, unique in the router.
  public var id: String
  /// Where those who accept are to go.
  public var room: String
  /// Identities.
  public var to: [String]
  /// Whether the caller sends pictures.
  public var hasVideo: Bool
  /// After so long without an answer nobody is rung any more.
  public var timeoutSeconds: Double
  /// Said again to a router that has lost its memory: those who are rung may still be on their way back to it.
  public var isRepeated: Bool

  public init(
    id: String, room: String, to: [String], hasVideo: Bool = false, timeoutSeconds: Double = 85,
    isRepeated: Bool = false
  ) {
    (self.id, self.room, self.to) = (id, room, to)
    (self.hasVideo, self.timeoutSeconds, self.isRepeated) = (hasVideo, timeoutSeconds, isRepeated)
  }
}

extension RingRequest: Codable {
  private enum CodingKeys: String, CodingKey { case id, room, to, hasVideo, timeoutSeconds, isRepeated }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try fields.text(.id), room: try fields.text(.room),
      to: try fields.names(.to, limit: SignalingLimits.recipients),
      hasVideo: try fields.decodeIfPresent(Bool.self, forKey: .hasVideo) ?? false,
      timeoutSeconds: try fields.decodeIfPresent(Double.self, forKey: .timeoutSeconds) ?? 85,
      isRepeated: try fields.decodeIfPresent(Bool.self, forKey: .isRepeated) ?? false)
  }
}

/// Tells the caller how one of those it rings has answered.
public struct RingProgress: Hashable, Sendable {
  public var id: String
  public var identity: String
  public var state: Ring.State

  public init(id: String, identity: String, state: Ring.State) {
    (self.id, self.identity, self.state) = (id, identity, state)
  }
}

extension RingProgress: Codable {
  private enum CodingKeys: String, CodingKey { case id, identity, state }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      id: try fields.text(.id), identity: try fields.text(.identity),
      state: try fields.decode(Ring.State.self, forKey: .state))
  }
}
