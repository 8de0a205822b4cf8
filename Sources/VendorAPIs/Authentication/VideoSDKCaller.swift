import KoineTokens

/// A back end that calls VideoSDK's HTTP API with a token that it has signed itself.
struct VideoSDKCaller: Hashable, Sendable {
  var apiKey: String

  private struct Claims: Decodable {
    var apikey: String?
    var exp: NumericDate?
    /// Absent: all. `crawler` calls the API, `rtc` enters rooms.
    var roles: [String]?
  }

  enum Refusal: Error { case missing, invalid, expired, closed }

  static func authenticate(
    _ request: APIRequest, access: APIAccess, at now: APITime
  ) throws(Refusal) -> VideoSDKCaller {
    guard var text = request.header("Authorization"), !text.isEmpty else { throw .missing }
    if text.lowercased().hasPrefix("bearer ") { text = String(text.dropFirst(7)) }
    let token: JSONWebToken
    let claims: Claims
    do throws(TokenError) {
      token = try JSONWebToken.parse(text)
      claims = try token.claims(as: Claims.self)
    } catch { throw .invalid }
    guard token.algorithm == SigningAlgorithm.hs256.rawValue, let apiKey = claims.apikey, !apiKey.isEmpty,
      claims.roles?.contains("crawler") ?? true
    else {
      throw .invalid
    }
    switch access {
    case .closed: throw .closed
    case .open: break
    case .credentials(let credentials):
      guard let known = credentials.videosdk.first(where: { $0.apiKey == apiKey }),
        let key = try? VerificationKey(secret: Array(known.secret.utf8)), (try? token.verify(with: key)) != nil
      else { throw .invalid }
    }
    let clock = NumericDate(Double(now.milliseconds) / 1_000)
    guard (try? token.checkTimes(at: clock, leeway: 0)) != nil else { throw .expired }
    return VideoSDKCaller(apiKey: apiKey)
  }
}
