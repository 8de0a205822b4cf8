/// A room of VideoSDK in the registry.
struct VideoSDKRoom: Codable, Sendable, Equatable {
  struct AutoClose: Codable, Sendable, Equatable {
    var type: String?
    /// In minutes.
    var duration: Int?
  }

  /// 24 hexadecimal digits.
  var id: String
  /// As `abcd-efgh-ijkl`: the room's name in the room server.
  var roomID: String
  var apiKey: String
  var customRoomID: String?
  var isDisabled = false
  var created: APITime
  var updated: APITime
  var autoClose: AutoClose?
  var allowedParticipantIDs: [String]?
  var webhook: VideoSDKWebhook?

  static let prefix = "videosdk/room/"
  static func key(_ roomID: String) -> String { prefix + PercentEncoding.encode(roomID) }
  var key: String { Self.key(roomID) }

  /// Of the claim by which the same custom id gives the same room.
  static func customKey(_ customRoomID: String, apiKey: String) -> String {
    "videosdk/custom/\(PercentEncoding.encode(apiKey))/\(PercentEncoding.encode(customRoomID))"
  }
}

/// The time from the first join of an empty room until the last participant has left.
struct VideoSDKSession: Codable, Sendable, Equatable {
  struct Stay: Codable, Sendable, Equatable {
    var start: APITime
    var end: APITime?
  }

  struct Visitor: Codable, Sendable, Equatable {
    var id: String
    var name: String
    var stays: [Stay]
  }

  var id: String
  var roomID: String
  var apiKey: String
  var start: APITime
  var end: APITime?
  /// In order of their first join.
  var visitors: [Visitor] = []

  static let prefix = "videosdk/session/"
  static func key(_ id: String) -> String { prefix + PercentEncoding.encode(id) }
  var key: String { Self.key(id) }
}

/// The sessions of a room that are kept, oldest first.
struct VideoSDKSessionList: Codable, Sendable, Equatable {
  var ids: [String] = []
  static func key(_ roomID: String) -> String { "videosdk/sessions/" + PercentEncoding.encode(roomID) }
}

/// A recording that a back end has had made.
struct VideoSDKRecording: Codable, Sendable, Equatable {
  var id: String
  var roomID: String
  var sessionID: String
  var apiKey: String
  var created: APITime
  var end: APITime?

  static let prefix = "videosdk/recording/"
  static func key(_ id: String) -> String { prefix + PercentEncoding.encode(id) }
  var key: String { Self.key(id) }
}
