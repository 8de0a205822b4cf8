public import Koine
import KoineBase
import KoineRouter
import KoineSignaling

/// Participants and identities that a test has the router refuse, although they would otherwise be admitted.
final class Refusals: Sendable {
  private let refused = Lock<[String?: Failure]>([:])

  /// - Parameter name: a participant's id or name, or an endpoint's identity; nil: all clients.
  func set(_ failure: Failure?, for name: String?) { refused.withLock { $0[name] = failure } }

  var policy: AdmissionPolicy {
    AdmissionPolicy(
      decide: { [self] question in
        let names = [question.join.participantID, question.join.name]
        return failure(for: names).map { .refuse($0) } ?? .admit(question.grants)
      },
      refuseIdentity: { [self] register, _ in failure(for: [register.identity]) })
  }

  private func failure(for names: [String?]) -> Failure? {
    refused.withLock { refused in
      names.compactMap { $0 }.compactMap { refused[$0] }.first ?? refused[nil]
    }
  }
}

extension EmbeddedBackend {
  /// Why the router refuses a client, as the client is notified.
  public enum Refusal: Sendable, Hashable {
    /// The credential is wrong or has expired.
    case credential
    /// The credential does not grant it.
    case permission
    case roomFull
    /// The server cannot.
    case failure
  }

  /// Refuses a client's joins and registrations from now on.
  /// - Parameters:
  ///   - name: a participant's id or name, or an endpoint's identity; nil: all clients.
  ///   - refusal: the reason; nil: admits the client again.
  public func refuse(_ name: String?, _ refusal: Refusal?) {
    host.refuse(
      name,
      refusal.map { refusal in
        switch refusal {
        case .credential: Failure(.unauthorized, "the token has expired")
        case .permission: Failure(.forbidden, "the token does not let its bearer in")
        case .roomFull: Failure(.roomFull, "the room is full")
        case .failure: Failure(.internal, "the server has failed")
        }
      })
  }

  /// Limits the participants of each room from now on. Participants that are in a room stay.
  /// - Parameter limit: the number of participants; nil: the default of `RouterLimits`.
  public func limitParticipants(to limit: Int?) { host.limitParticipants(limit) }

  /// Removes a participant from a room.
  public func remove(_ participant: Koine.Participant.ID, from room: String) { host.remove(participant, from: room) }
  /// Gives a participant that is in a room a role that the others see, as a back end does, without other permissions.
  package func setRole(_ role: String, of participant: Koine.Participant.ID, in room: String) {
    host.setRole(role, of: participant, in: room)
  }
  /// Ends a room for all its participants.
  public func close(room: String) { host.close(room: room) }
}
