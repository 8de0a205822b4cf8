import KoineTokens

/// A meeting in the registry.
struct ChimeMeeting: Codable, Sendable, Equatable {
  var id: String
  var account: String
  /// The region in which the meeting was made, from the request's signature.
  var controlRegion: String
  var mediaRegion: String
  var externalID: String?
  var hostID: String?
  var tenantIDs: [String]?
  var features: ChimeJoinInfo.Features?
  var tags: [ChimeTag]
  var created: APITime
  /// A meeting that has ended stays until its attendees' tokens have expired.
  var hasEnded = false

  var arn: String { "arn:aws:chime:\(controlRegion):\(account):meeting/\(id)" }

  static let prefix = "chime/meeting/"
  static func key(_ id: String) -> String { prefix + PercentEncoding.encode(id) }
  var key: String { Self.key(id) }

  /// When no token for the meeting is valid any more.
  func expiry(_ settings: APISettings) -> APITime {
    created.adding(seconds: 2 * settings.meetingSeconds + settings.tombstoneMargin)
  }

  /// At most so many attendees exist at a time.
  var attendeeLimit: Int {
    let large = features?.videoMaxResolution == "FHD" || features?.contentMaxResolution == "UHD"
    return features?.attendeeMaxCount ?? (large ? 25 : 250)
  }
}

struct ChimeTag: Codable, Sendable, Equatable {
  var Key: String
  var Value: String
}

/// An attendee in the registry, as long as it has not been deleted.
struct ChimeAttendee: Codable, Sendable, Equatable {
  var id: String
  var meetingID: String
  var externalUserID: String
  var capabilities: ChimeJoinInfo.Capabilities
  var created: APITime
  /// Whether the capabilities are others than the ones in the join token.
  var hasChanged = false
  /// The capabilities in the join token.
  var tokenCapabilities: ChimeJoinInfo.Capabilities

  static let prefix = "chime/attendee/"
  static func prefix(meeting: String) -> String { prefix + PercentEncoding.encode(meeting) + "/" }
  static func key(_ id: String, meeting: String) -> String { prefix(meeting: meeting) + PercentEncoding.encode(id) }
  var key: String { Self.key(id, meeting: meetingID) }
}

/// An attendee that has been deleted: its token admits nobody.
struct ChimeDeletedAttendee: Codable, Sendable, Equatable {
  var id: String
  var meetingID: String

  static let prefix = "chime/deleted-attendee/"
  static func key(_ id: String, meeting: String) -> String {
    prefix + PercentEncoding.encode(meeting) + "/" + PercentEncoding.encode(id)
  }
}

/// The id that a repeated request gets again: of the meeting for a client's request token, of the attendee for an external user id.
struct ChimeClaim: Codable, Sendable, Equatable {
  var id: String

  static func key(requestToken: String, account: String, region: String) -> String {
    "chime/request/\(PercentEncoding.encode(account))/\(PercentEncoding.encode(region))/\(PercentEncoding.encode(requestToken))"
  }

  static func key(externalUserID: String, meeting: String) -> String {
    "chime/user/\(PercentEncoding.encode(meeting))/\(PercentEncoding.encode(externalUserID))"
  }
}
