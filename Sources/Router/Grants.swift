package import KoineSignaling

/// The permissions that a credential gives a participant. The router refuses every action that is not granted.
package struct Grants: Hashable, Sendable, Codable {
  /// Overrides what the join asked for; nil leaves it.
  package var participantID: String?
  /// The kind of credential that gives `participantID`, in its issuer's words: two kinds may name different participants alike.
  /// nil: kinds make no difference.
  package var kind: String?
  /// The room that the credential's issuer means by the name in the join, such as a name of a back end's own; nil: the name is the
  /// room's. The router has everything that follows happen under this name.
  package var room: String?
  /// The account whose back end has issued the credential, where rooms keep accounts apart (`AdmissionPolicy.RoomState.issuers`).
  package var issuer: String?
  package var name: String?
  /// Empty: none.
  package var externalID: String?
  /// Attributes that the credential sets. They replace the join's attributes. The participant cannot change them, but may add
  /// others. nil: the join's attributes apply.
  package var attributes: [String: String]?
  /// The role in the room by the owner's rules, which the others see as the attribute `RoleAttribute.name`. nil: without one.
  package var role: String?
  /// Kinds of tracks it may publish.
  package var publish: Set<Track.Kind>
  /// Kinds of tracks it may receive.
  package var receive: Set<Track.Kind>
  package var canSendData: Bool
  /// May remove other participants, mute their tracks, and close the room.
  package var canModerate: Bool
  /// May have the room recorded or transcribed by a co-located service.
  package var canRecord: Bool
  /// May admit or refuse participants that wait in the lobby (`mustAsk`).
  package var canAdmit: Bool
  /// Entering at all.
  package var canJoin = true
  /// Waits in the lobby until a participant with `canAdmit` admits it.
  package var mustAsk = false
  /// The others do not see it; it publishes nothing.
  package var isHidden = false
  /// Without an id in its credential, a participant is replaced by the newest join of the same id, and receives messages that were
  /// directed to that id before. Set only where identities are not checked at all: open servers and rooms inside the process.
  package var replacesNamesakes = false
  /// How long the participant may stay, from the join on; then the router removes it. nil: without a limit.
  package var validFor: Duration?
  /// When the credential expires, in milliseconds since 1970, also where its participant may stay longer; nil: not known. For
  /// histories of rooms.
  package var credentialExpiry: Int64?
  /// The credential's user, if an issuer can revoke all credentials of a user; else nil.
  package var userCredential: UserCredential?

  /// A credential that is good until its user's credentials are revoked.
  package struct UserCredential: Hashable, Sendable, Codable {
    package var user: String
    /// The time of issue, in seconds since 1970; 0 for a credential without one, so that each revocation is later.
    package var issued: Double

    package init(user: String, issued: Double) { (self.user, self.issued) = (user, issued) }
  }

  package init(
    participantID: String? = nil, name: String? = nil, externalID: String? = nil, attributes: [String: String]? = nil,
    publish: Set<Track.Kind> = Set(Track.Kind.allCases), canSubscribe: Bool = true, canSendData: Bool = true,
    canModerate: Bool = true, canAdmit: Bool = true
  ) {
    (self.participantID, self.name, self.externalID) = (participantID, name, externalID)
    (self.attributes, self.publish) = (attributes, publish)
    receive = canSubscribe ? Set(Track.Kind.allCases) : []
    (self.canSendData, self.canModerate) = (canSendData, canModerate)
    (self.canAdmit, canRecord) = (canAdmit, canModerate)
  }

  package static let everything = Grants()

  /// Whether it may receive any kind of track.
  package var canSubscribe: Bool {
    get { !receive.isEmpty }
    set {
      guard newValue != canSubscribe else { return }
      receive = newValue ? Set(Track.Kind.allCases) : []
    }
  }

  /// What a join is granted where no credential is asked for.
  package static let open: Grants = {
    var grants = Grants()
    grants.replacesNamesakes = true
    return grants
  }()

  /// The external id of a participant that asked for `wish`: the credential's (nil if that is empty), otherwise `wish`.
  func externalID(instead wish: String?) -> String? {
    guard let externalID else { return wish }
    return externalID.isEmpty ? nil : externalID
  }
}

/// An identity as its credential gives it.
package struct KnownIdentity: Hashable, Sendable {
  package var identity: String
  package var name: String

  package init(identity: String, name: String) { (self.identity, self.name) = (identity, name) }
}

/// Checks the credential of a participant or an identity. The router does not know any token format; the server or backend
/// that runs the router supplies these checks.
///
/// Each message with a credential is checked once: by the router's owner, which hands the verdict to `Router.handle`, or by
/// the router itself, inline, where its owner gives none.
package struct Authorization: Sendable {
  /// Must not wait for anything.
  package var check: @Sendable (Join) -> Result<Grants, Failure>

  /// Returns the verified identity of a client that registers in order to ring and be rung. Must not wait for anything.
  package var checkIdentity: @Sendable (Register) -> Result<KnownIdentity, Failure>

  package init(
    check: @escaping @Sendable (Join) -> Result<Grants, Failure>,
    checkIdentity: @escaping @Sendable (Register) -> Result<KnownIdentity, Failure> = {
      .success(KnownIdentity(identity: $0.identity, name: $0.name))
    }
  ) {
    (self.check, self.checkIdentity) = (check, checkIdentity)
  }

  /// Admits every participant with all permissions.
  package static let open = Authorization { _ in .success(.open) }

  package func verdict(on question: CredentialQuestion) -> CredentialVerdict {
    switch question {
    case .join(let join), .renewal(let join): .participant(check(join))
    case .identity(let register): .identity(checkIdentity(register))
    }
  }
}

/// A credential to be checked, with what its bearer wants to be.
package enum CredentialQuestion: Sendable {
  case join(Join)
  /// A participant's own facts with its new credential.
  case renewal(Join)
  case identity(Register)

  package var credential: String? {
    switch self {
    case .join(let join), .renewal(let join): join.credential
    case .identity(let register): register.credential
    }
  }

  package func refused(_ failure: Failure) -> CredentialVerdict {
    switch self {
    case .join, .renewal: .participant(.failure(failure))
    case .identity: .identity(.failure(failure))
    }
  }
}

/// What `Authorization` has answered to a `CredentialQuestion`.
package enum CredentialVerdict: Sendable {
  case participant(Result<Grants, Failure>)
  case identity(Result<KnownIdentity, Failure>)

  package var failure: Failure? {
    switch self {
    case .participant(.failure(let failure)), .identity(.failure(let failure)): failure
    case .participant, .identity: nil
    }
  }
}
