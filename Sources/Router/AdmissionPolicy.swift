package import KoineSignaling

/// The decision about each join with a verified credential, and about each renewal. It applies what a control plane knows of
/// rooms and users beyond their credentials (a room that is over, a user that has been removed, a role in the room).
///
/// Both closures are called by the router while it handles the message, on the network loop in a server: they answer from what
/// they have in memory, at once, and never wait for a disk, a network or a lock that is held for long. A control plane
/// that needs more than that fetches it beforehand and keeps it. `RouterLimits.participants` and the other limits hold beside
/// the policy, and after it.
package struct AdmissionPolicy: Sendable {
  package enum Occasion: Hashable, Sendable {
    /// A participant wants to enter.
    case join
    /// A participant that has waited has just been admitted by one in the room. `.wait` admits it, too.
    case admission
    /// A participant in the room brings a new credential. `.wait` refuses it, and the old credential holds on.
    case renewal
  }

  /// A room as it is when a participant wants to enter.
  package struct RoomState: Hashable, Sendable {
    /// Without hidden participants.
    package var participants: Int
    package var hidden: Int
    /// Of the participants, content shares: participants of their own with ids that end with `#content`.
    package var contentShares: Int
    /// Participants that wait to be admitted.
    package var waiting: Int
    /// The router's own limit of participants.
    package var limit: Int
    /// Whether the participant that wants to enter is in the room already: it replaces itself.
    package var hasParticipant = false
    /// The issuers (`Grants.issuer`) of the participants that have come by the name that the join asks for.
    package var issuers: Set<String> = []

    package init(participants: Int, hidden: Int, contentShares: Int, waiting: Int, limit: Int) {
      (self.participants, self.hidden, self.contentShares) = (participants, hidden, contentShares)
      (self.waiting, self.limit) = (waiting, limit)
    }
  }

  package struct Question: Sendable {
    package var occasion: Occasion
    package var join: Join
    /// As the credential gives them.
    package var grants: Grants
    /// nil: the join would open the room.
    package var room: RoomState?

    package init(occasion: Occasion, join: Join, grants: Grants, room: RoomState?) {
      (self.occasion, self.join, self.grants, self.room) = (occasion, join, grants, room)
    }

    /// nil: the router will choose one.
    package var participantID: Participant.ID? { grants.participantID ?? join.participantID }
  }

  package enum Decision: Sendable {
    /// With these grants. `Grants.mustAsk` has the participant wait, as its credential says; without it the participant enters.
    case admit(Grants)
    case refuse(Failure)
    /// The participant waits until one in the room that may admits it.
    case wait(Grants)
  }

  package var decide: @Sendable (Question) -> Decision
  /// About identities that want to ring and be rung: why one is refused; nil: it is not.
  package var refuseIdentity: @Sendable (Register, KnownIdentity) -> Failure?

  package init(
    decide: @escaping @Sendable (Question) -> Decision,
    refuseIdentity: @escaping @Sendable (Register, KnownIdentity) -> Failure? = { _, _ in nil }
  ) {
    (self.decide, self.refuseIdentity) = (decide, refuseIdentity)
  }

  /// The policy that asks this one and then, with the grants that it gives, another one.
  package func then(_ other: AdmissionPolicy) -> AdmissionPolicy {
    AdmissionPolicy(
      decide: { question in
        let decision = decide(question)
        guard case .admit(let grants) = decision else { return decision }
        var next = question
        next.grants = grants
        return other.decide(next)
      },
      refuseIdentity: { refuseIdentity($0, $1) ?? other.refuseIdentity($0, $1) })
  }

  /// - Returns: the grants to enter or to wait with.
  func grants(for question: Question) -> Result<Grants, Failure> {
    switch (decide(question), question.occasion) {
    case (.admit(let grants), _): return .success(grants)
    case (.refuse(let failure), _): return .failure(failure)
    case (.wait(var grants), .join):
      grants.mustAsk = true
      return .success(grants)
    case (.wait(let grants), .admission): return .success(grants)
    case (.wait, .renewal): return .failure(Failure(.forbidden, "with this credential it would have to wait"))
    }
  }
}
