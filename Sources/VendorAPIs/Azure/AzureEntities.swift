/// A user of a resource. Its id is `8:acs:` + the resource's GUID + `_` + a GUID of its own.
struct AzureUser: Codable, Sendable, Equatable {
  var id: String
  /// Tokens that were issued before this time, in whole seconds, are refused.
  var tokensValidFrom: APITime?
  var isDeleted = false

  static let idPrefix = "8:acs:"

  static func isID(_ text: String) -> Bool {
    let guids = text.dropFirst(idPrefix.count).split(separator: "_", omittingEmptySubsequences: false)
    return text.hasPrefix(idPrefix) && guids.count == 2 && guids.allSatisfy { Identifiers.isGUID(String($0)) }
  }

  /// How long a deleted user is kept: longer than a token, which lives for a day at most.
  static let tombstoneSeconds: Int64 = 2 * 24 * 60 * 60

  static let prefix = "azure/user/"
  static func key(_ id: String) -> String { prefix + PercentEncoding.encode(id) }
  var key: String { Self.key(id) }
}

/// A room of Azure's Rooms: invited users with roles, and the time in which the room is open.
struct AzureRoom: Codable, Sendable, Equatable {
  enum Role: String, Codable, Sendable, CaseIterable {
    case presenter = "Presenter"
    case attendee = "Attendee"
    case consumer = "Consumer"
    case collaborator = "Collaborator"
  }

  var id: String
  var resource: String
  var created: APITime
  var validFrom: APITime
  var validUntil: APITime
  var allowsDialOut: Bool
  /// By raw id.
  var participants: [String: Role]
  var isDeleted = false

  static func isID(_ text: String) -> Bool {
    (16...17).contains(text.utf8.count) && text.utf8.allSatisfy { (48...57).contains($0) }
  }

  static let prefix = "azure/room/"
  /// Lists have the newest first, so the keys have the complement of the id's digits.
  static func key(_ id: String) -> String {
    let digits = id.utf8.map { (48...57).contains($0) ? 48 + 57 - $0 : $0 }
    return prefix + String(decoding: digits, as: UTF8.self)
  }
  var key: String { Self.key(id) }

  /// How long the rule of a deleted room is kept: as long as a token of a user may live.
  static let tombstoneSeconds: Int64 = 2 * 24 * 60 * 60
}

/// The room that a repeated request to create one gets again.
struct AzureRepeatability: Codable, Sendable, Equatable {
  var id: String

  static func key(_ request: String, resource: String) -> String {
    "azure/request/\(PercentEncoding.encode(resource))/\(PercentEncoding.encode(request))"
  }
}
