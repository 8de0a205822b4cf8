/// Why an operation is not done, in the service's terms.
struct AzureError: Error, Hashable {
  struct Detail: Encodable, Hashable {
    var code: String
    var message: String
    var target: String
  }

  var status: Int
  var code: String
  var message: String
  var target: String?
  var details: [Detail]?

  init(_ status: Int, _ code: String, _ message: String, target: String? = nil, details: [Detail]? = nil) {
    (self.status, self.code, self.message) = (status, code, message)
    (self.target, self.details) = (target, details)
  }

  static let malformed = "The request could not be understood by the server due to malformed syntax."
  static let notFound = AzureError(404, "NotFound", "The server cannot find the requested resource.")
}

struct AzureErrorBody: Encodable {
  struct Members: Encodable {
    var code: String
    var message: String
    var target: String?
    var details: [AzureError.Detail]?
  }

  var error: Members
}

struct AzureCreateIdentity: Decodable {
  var createTokenWithScopes: [String]?
  var expiresInMinutes: Int?
}

struct AzureIssueToken: Decodable {
  var scopes: [String]?
  var expiresInMinutes: Int?
}

struct AzureToken: Encodable {
  var token: String
  var expiresOn: String
}

struct AzureIdentityAnswer: Encodable {
  struct Identity: Encodable { var id: String }
  var identity: Identity
  var accessToken: AzureToken?
}

/// Null and a missing member differ in a merge patch.
enum AzurePatch<Value: Decodable & Sendable>: Decodable, Sendable {
  case null
  case value(Value)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self = container.decodeNil() ? .null : .value(try container.decode(Value.self))
  }

  var value: Value? { if case .value(let value) = self { value } else { nil } }
}

struct AzureParticipantProperties: Decodable, Sendable { var role: String? }

struct AzureRoomRequest: Decodable {
  var validFrom: String?
  var validUntil: String?
  var pstnDialOutEnabled: Bool?
  var participants: [String: AzurePatch<AzureParticipantProperties>]?
}

struct AzureRoomAnswer: Encodable {
  var id: String
  var createdAt: String
  var validFrom: String
  var validUntil: String
  var pstnDialOutEnabled: Bool
}

struct AzureRoomList: Encodable {
  var value: [AzureRoomAnswer]
  var nextLink: String?
}

struct AzureParticipantList: Encodable {
  struct Participant: Encodable {
    var rawId: String
    var role: String
  }

  var value: [Participant]
  var nextLink: String?
}

struct AzureEmptyAnswer: Encodable {}
