/// Makes an identity known on this connection, so that it can be rung and can ring. Answered by `registered` or `refused`.
///
/// An identity may be registered on several connections: its devices. All of them ring.
public struct Register: Hashable, Sendable {
  public var version: Int
  public var identity: String
  /// The caller's name that callees display.
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
  /// The room that a callee joins after accepting.
  public var room: String
  /// Identities.
  public var to: [String]
  /// Whether the caller sends video.
  public var hasVideo: Bool
  /// How long callees are rung, in seconds. After this time without an answer the ring ends.
  public var timeoutSeconds: Double
  /// Set if the caller sends the ring again after a router restart. Callees that are not registered yet may still return, so the
  /// router does not report them as unreachable.
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

/// Notifies the caller of the state of the ring for one callee.
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
