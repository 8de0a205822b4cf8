import Foundation
import KoineTokens

/// What a participant token says. The room checks it; here it is only read.
struct ParticipantToken: Sendable {
  let text: String
  private let claims: IVSStageToken

  /// - Returns: nil if the text is no participant token.
  init?(_ text: String) {
    do throws(TokenError) {
      claims = try JSONWebToken.parse(text).claims(as: IVSStageToken.self)
      try claims.check()
    } catch {
      return nil
    }
    self.text = text
  }

  var stage: String { claims.topic }
  var participantID: String { claims.participantID }
  /// May be empty.
  var userID: String { claims.userID ?? "" }
  var attributes: [String: String] { claims.attributes }
  var mayPublish: Bool { claims.capabilities.canPublish }
  var maySubscribe: Bool { claims.capabilities.canSubscribe }
  /// Whether the participant may go on with the other token.
  func canBeExchanged(for other: ParticipantToken) -> Bool { claims.canBeExchanged(for: other.claims) }
  var isExpired: Bool { claims.expires <= NumericDate.ofSystemClock() }
}
