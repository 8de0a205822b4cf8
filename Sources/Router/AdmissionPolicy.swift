package import KoineSignaling

/// Decides about each join whose credential has been accepted, before the participant enters its room. The router asks on its owner's
/// thread: the decision is made from the request alone and must not wait for I/O. A policy that needs facts from elsewhere keeps them up to
/// date beside the router and reads its own copy.
package struct AdmissionPolicy: Sendable {
  package struct Request: Sendable {
    package let join: Join
    /// The participant's id, where credential or join name one.
    package let participantID: Participant.ID?
    /// What the credential grants.
    package let grants: Grants
    /// Whether the room exists. The join makes it otherwise.
    package let roomExists: Bool
    /// Participants in the room, hidden ones included.
    package let participants: Int
  }

  package enum Decision: Sendable {
    /// With these grants, which are the credential's or fewer.
    case admit(Grants)
    /// Once a participant that may admit others has decided.
    case wait(Grants)
    case refuse(Failure)
  }

  package var decide: @Sendable (Request) -> Decision

  package init(_ decide: @escaping @Sendable (Request) -> Decision) { self.decide = decide }

  /// Admits as the credential grants.
  package static let byCredential = AdmissionPolicy { .admit($0.grants) }
}
