package import KoineRouter
package import KoineSignaling
package import KoineTokens

// The permissions that the vendors' tokens give in a room. The router refuses every action that a token does not grant.

extension Authorization {
  /// For rooms inside the process, and open servers. These admit every participant, so a join needs no token, and any well-formed
  /// token that has not expired is accepted without a check of its signature.
  package static let embedded = tokens(trusting: .anybody)

  /// Like `embedded`, but a credential that is not a token is refused with `answer`; with `embedded` it counts as no credential.
  package static func embedded(refusingMalformed answer: Failure) -> Authorization {
    tokens(trusting: .anybody, refusingMalformed: answer)
  }

  /// - Parameter trust: the issuers of accepted tokens. With keys, every join needs a token signed with one of them.
  package static func tokens(trusting trust: Trust) -> Authorization {
    tokens(trusting: trust, refusingMalformed: nil)
  }

  private static func tokens(trusting trust: Trust, refusingMalformed malformed: Failure?) -> Authorization {
    Authorization(
      check: { join in
        read(join.credential, trusting: trust, malformed).flatMap { credential in
          guard let credential else { return .success(.open) }
          let admission = credential.admission
          guard credential.opens(join.room) else {
            return .failure(Failure(.forbidden, "the token is for another room"))
          }
          // The token decides the participant's id. A join that asks for another id is refused.
          if let own = admission.participantID ?? admission.identity, let asked = join.participantID, asked != own {
            return .failure(Failure(.forbidden, "the token is another participant's than “\(asked)”"))
          }
          if let own = admission.externalID, let asked = join.externalID, asked != own {
            return .failure(Failure(.forbidden, "the token is another user's than “\(asked)”"))
          }
          var grants = Grants(admission)
          grants.replacesNamesakes = trust.isAnybody
          // A key may be bound to one kind of token: its bearers must not become participants of another kind.
          if !trust.isAnybody { grants.kind = credential.kind.rawValue }
          return .success(grants)
        }
      },
      checkIdentity: { register in
        read(register.credential, trusting: trust, malformed).flatMap { credential in
          // Inside one process an identity is believed without a token.
          let own = trust.isAnybody ? credential?.admission.identity ?? register.identity : credential?.ownIdentity
          return own == register.identity
            ? .success(KnownIdentity(identity: register.identity, name: register.name))
            : .failure(Failure(.unauthorized, "the token is not that identity's"))
        }
      })
  }

  private static let share = "#content"

  /// - Returns: nil for no credential, and for a credential that is not a token; both only where `trust` is `.anybody`.
  private static func read(
    _ text: String?, trusting trust: Trust, _ malformed: Failure?
  ) -> Result<Credential?, Failure> {
    guard let text, !text.isEmpty else {
      return trust.isAnybody ? .success(nil) : .failure(Failure(.unauthorized, "a token is needed here"))
    }
    // A meeting's content share is an attendee of its own. Its credential is its base attendee's token plus the suffix `#content`.
    let isShare = text.hasSuffix(share)
    do throws(TokenError) {
      var credential = try trust.read(
        isShare ? String(text.dropLast(share.count)) : text, at: NumericDate.ofSystemClock())
      if isShare {
        guard credential.kind == .meetingSession else { throw .malformed("only a meeting's token has a share") }
        credential.admission.participantID? += share
      }
      return .success(credential)
    } catch {
      if case .expired = error { return .failure(Failure(.unauthorized, "the token has expired")) }
      if case .malformed = error, let malformed { return .failure(malformed) }
      return trust.isAnybody
        ? .success(nil) : .failure(Failure(.unauthorized, "the token is not one that this server's keys have signed"))
    }
  }
}

extension Trust {
  fileprivate var isAnybody: Bool { if case .anybody = self { true } else { false } }
}

extension Grants {
  fileprivate init(_ admission: Admission) {
    self.init(
      participantID: admission.participantID ?? admission.identity, name: admission.displayName,
      externalID: admission.externalID,
      attributes: admission.attributes.isEmpty ? nil : admission.attributes,
      publish: admission.canPublish ? Track.Kind.kinds(of: admission.media) : [], canSubscribe: admission.canSubscribe,
      canSendData: admission.canSendData, canModerate: admission.canModerate, canAdmit: admission.canAdmit)
    if admission.canSubscribe { receive = Track.Kind.kinds(of: admission.receivedMedia) }
    mustAsk = admission.mustAsk
    (isHidden, canRecord) = (admission.isHidden, admission.canRecord)
    // Up to the year 9999, which is as far as the formats of histories go.
    if let expiry = admission.expiry?.seconds, (0..<253_402_300_800).contains(expiry) {
      credentialExpiry = Int64(expiry * 1_000)
    }
    guard admission.endsStay, let expiry = admission.expiry else { return }
    let rest = expiry.seconds - NumericDate.ofSystemClock().seconds
    // Clock skew: a token that was accepted although `exp` has passed is valid for another 60 s.
    validFor = .seconds(rest > 0 ? min(rest, 315_360_000) : 60)
  }
}

extension Track.Kind {
  /// The kinds of tracks in which media of a token are published.
  package static func kinds(of media: Set<Admission.Medium>) -> Set<Track.Kind> {
    Set(
      media.flatMap { medium -> [Track.Kind] in
        switch medium {
        case .sound: [.microphone]
        case .pictures: [.camera]
        case .screen: [.screen, .screenSound]
        }
      })
  }
}
