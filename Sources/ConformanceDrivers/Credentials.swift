import KoineConformanceKit
import KoineTokens

/// What each style is let in with: good for an hour, out of date since an hour, or none at all.
enum Credentials {
  private static func times(_ credential: CredentialState) -> (issued: NumericDate, expires: NumericDate) {
    let now = NumericDate.ofSystemClock()
    return credential == .expired ? (now + -7_200, now + -3_600) : (now, now + 3_600)
  }

  static func room(_ credential: CredentialState) throws -> String {
    guard credential != .malformed else { return "no token" }
    let (issued, expires) = times(credential)
    return try VideoSDKToken(
      apiKey: "koine", permissions: [.join, .moderate], roomID: room(of: credential), issued: issued, expires: expires
    )
    .signed(with: SigningKey(secret: Array("a secret of thirty-two bytes or more".utf8)))
  }

  /// The only room that the papers are for; nil: all.
  private static func room(of credential: CredentialState) -> String? { credential == .otherRoom ? "elsewhere" : nil }

  static func meeting(_ meeting: String, _ id: String, _ name: String, _ credential: CredentialState) throws -> String {
    guard credential != .malformed else { return "no token" }
    let (issued, expires) = times(credential)
    let pass = try ChimeJoinInfo.create(
      .init(meetingID: room(of: credential) ?? meeting, mediaPlacement: .at("embedded:"), mediaRegion: "here"),
      attendeeID: id,
      externalUserID: name, issued: issued, expires: expires,
      with: SigningKey(secret: Array("a secret of thirty-two bytes or more".utf8)))
    return pass.attendee.joinToken
  }

  static func user(_ identity: String, _ credential: CredentialState) throws -> String {
    guard credential != .malformed else { return "no token" }
    let (issued, expires) = times(credential)
    return try AzureUserToken(identity: identity, issued: issued, expires: expires)
      .signed(with: SigningKey(generating: .p256))
  }

  static func stage(_ stage: String, _ id: String, _ name: String, _ credential: CredentialState) throws -> String {
    guard credential != .malformed else { return "no token" }
    let (issued, expires) = times(credential)
    return try IVSStageToken(
      participantID: id, stage: stage, userID: name,
      attributes: Roster.attributes(of: name).merging(["name": name]) { $1 }, issued: issued, expires: expires
    ).signed(with: SigningKey(generating: .p384))
  }
}
