import KoineBase

/// The kinds of access tokens, as `koine token` and key sets call them.
public enum TokenKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// `KoineToken`.
  case room
  /// `AzureUserToken`, of the call-agent style.
  case callAgent = "call-agent"
  /// `IVSStageToken`, of the stage-strategy style.
  case stageStrategy = "stage-strategy"
  /// `MeetingJoinToken`, of the meeting-session style.
  case meetingSession = "meeting-session"
  /// `VideoSDKToken`, of the event-listener style.
  case eventListener = "event-listener"

  /// Finds a kind by its name; nil if there is none of that name.
  /// - Parameter name: `room`, or the name of a style (`Style.init(named:)`, also in its short form).
  public init?(named name: String) { self.init(rawValue: Style(named: name)?.rawValue ?? name) }

  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    let name = try value.decode(String.self)
    guard let kind = Self(named: name) else {
      throw DecodingError.dataCorruptedError(in: value, debugDescription: "'\(name)' is no kind of token")
    }
    self = kind
  }

  init?(of type: any AccessToken.Type) {
    switch type {
    case is KoineToken.Type: self = .room
    case is AzureUserToken.Type: self = .callAgent
    case is IVSStageToken.Type: self = .stageStrategy
    case is MeetingJoinToken.Type: self = .meetingSession
    case is VideoSDKToken.Type: self = .eventListener
    default: return nil
    }
  }
}

/// The claims of a token of any kind. Which kind it is follows from the names of its claims, so that no token is read as
/// several kinds, and its signature is checked once.
struct AnyAccessToken: Decodable {
  let kind: TokenKind
  let token: any AccessToken
  let times: JSONWebToken.Times
  let audience: Audience?

  private enum Claim: String, CodingKey {
    case typ, jti, topic, apikey, aud
    case meetingID = "MeetingId"
  }

  init(from decoder: any Decoder) throws {
    let claims = try decoder.container(keyedBy: Claim.self)
    if (try? claims.decodeIfPresent(String.self, forKey: .typ)) == KoineToken.kind {
      (kind, token) = (.room, try KoineToken(from: decoder))
    } else if claims.contains(.jti), claims.contains(.topic) {
      (kind, token) = (.stageStrategy, try IVSStageToken(from: decoder))
    } else if claims.contains(.meetingID) {
      (kind, token) = (.meetingSession, try MeetingJoinToken(from: decoder))
    } else if claims.contains(.apikey) {
      (kind, token) = (.eventListener, try VideoSDKToken(from: decoder))
    } else {
      (kind, token) = (.callAgent, try AzureUserToken(from: decoder))
    }
    times = try JSONWebToken.Times(from: decoder)
    audience = try claims.decodeIfPresent(Audience.self, forKey: .aud)
  }
}

/// `aud`: one name, or several (RFC 7519 section 4.1.3).
struct Audience: Codable, Hashable {
  var names: [String]

  init(_ names: [String]) { self.names = names }

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let name = try? value.decode(String.self) { names = [name] } else { names = try value.decode([String].self) }
  }

  func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    if names.count == 1 { try value.encode(names[0]) } else { try value.encode(names) }
  }
}
