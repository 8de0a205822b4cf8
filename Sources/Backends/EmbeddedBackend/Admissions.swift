import KoineRouter
import KoineSignaling
import KoineTokens

// What the vendors' tokens let their bearers do in a room inside the process. There is nobody to keep out here, so any
// well-formed token that still holds is believed; but what it does not grant is not done either.

extension Authorization {
  static let embedded = Authorization(
    check: { join in
      read(join.credential).flatMap { admission in
        guard let admission else { return .success(.everything) }
        if let room = admission.room, room != join.room {
          return .failure(Failure(.forbidden, "the token is for another room"))
        }
        guard !admission.mustAsk else {
          return .failure(Failure(.forbidden, "the token has to ask for entry, and there is nobody to be asked"))
        }
        return .success(Grants(admission))
      }
    },
    checkIdentity: { register in
      read(register.credential).flatMap { admission in
        guard let identity = admission?.identity, identity != register.identity else {
          return .success(KnownIdentity(identity: register.identity, name: register.name))
        }
        return .failure(Failure(.unauthorized, "the token is somebody else's"))
      }
    })

  /// - Returns: nil for no credential, and for one that says nothing about rooms.
  private static func read(_ credential: String?) -> Result<Admission?, Failure> {
    guard let credential, !credential.isEmpty else { return .success(nil) }
    let now = NumericDate.ofSystemClock()
    let kinds: [any AccessToken.Type] = [
      StageToken.self, MeetingJoinToken.self, RoomToken.self, CommunicationUserToken.self,
    ]
    for kind in kinds {
      do throws(TokenError) {
        return .success(try kind.parse(credential, trusting: .anybody, at: now).admission)
      } catch {
        if case .expired = error { return .failure(Failure(.unauthorized, "the token has expired")) }
      }
    }
    return .success(nil)
  }
}

extension Grants {
  fileprivate init(_ admission: Admission) {
    self.init(
      participantID: admission.participantID, name: admission.displayName,
      attributes: admission.attributes.isEmpty ? nil : admission.attributes,
      publish: admission.canPublish ? Set(Track.Kind.allCases) : [], canSubscribe: admission.canSubscribe,
      canModerate: admission.canModerate)
  }
}
