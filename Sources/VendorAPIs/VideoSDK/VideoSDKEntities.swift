/// A room of VideoSDK in the registry.
struct VideoSDKRoom: Codable, Sendable, Equatable {
  struct AutoClose: Codable, Sendable, Equatable {
    var type: String?
    /// In minutes.
    var duration: Int?
  }

  /// What starts with each session of the room.
  struct AutoStart: Codable, Sendable, Equatable {
    var recording: VideoSDKOutput?
    var hls: VideoSDKOutput?
  }

  /// Kept and returned.
  struct MultiComposition: Codable, Sendable, Equatable {
    var recording: Bool?
    var hls: Bool?
    var rtmp: Bool?
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
  var autoStart: AutoStart?
  /// Where the room's events go.
  var webhook: VideoSDKWebhook?
  /// Kept and returned: all rooms are on one server.
  var geoFence: String?
  var multiComposition: MultiComposition?
  var allowedParticipantIDs: [String]?

  static let prefix = "videosdk/room/"
  static func key(_ roomID: String) -> String { prefix + PercentEncoding.encode(roomID) }
  var key: String { Self.key(roomID) }

  /// Of the claim by which the same custom id gives the same room.
  static func customKey(_ customRoomID: String, apiKey: String) -> String {
    "videosdk/custom/\(PercentEncoding.encode(apiKey))/\(PercentEncoding.encode(customRoomID))"
  }
}

/// How a recording or a playlist looks, as a request says it.
struct VideoSDKComposition: Codable, Sendable, Equatable {
  struct Layout: Codable, Sendable, Equatable {
    var type: String?
    var priority: String?
    var gridSize: Int?
  }

  var layout: Layout?
  var theme: String?
  var mode: String?
  var quality: String?
  var orientation: String?
}

/// A recording or a playlist that is to be made.
struct VideoSDKOutput: Codable, Sendable, Equatable {
  struct Transcription: Codable, Sendable, Equatable { var enabled: Bool? }

  var config: VideoSDKComposition?
  var transcription: Transcription?
}

/// Where a session is found by its id.
struct VideoSDKSessionPlace: Codable, Sendable, Equatable {
  var roomID: String
  var apiKey: String
  /// Whether no back end has made the room; nil: one has.
  var unmade: Bool?

  static func key(session: String) -> String { "videosdk/session/" + PercentEncoding.encode(session) }

  /// Begins the places of an API key's rooms.
  static func beginning(apiKey: String) -> String { PercentEncoding.encode(apiKey) + "/" }

  /// Begins those of its rooms that no back end has made, apart from the others so that they can be counted. No encoded name is “+”.
  static func beginning(unmadeOf apiKey: String) -> String { beginning(apiKey: apiKey) + "+/" }

  /// - Parameter place: as `place`.
  init?(_ place: String) {
    let parts = place.split(separator: "/")
    guard let key = parts.first.flatMap({ PercentEncoding.decode($0) }),
      let room = parts.last.flatMap({ PercentEncoding.decode($0) }), (2...3).contains(parts.count)
    else { return nil }
    self.init(roomID: room, apiKey: key, unmade: parts.count == 3 ? true : nil)
  }

  init(roomID: String, apiKey: String, unmade: Bool? = nil) {
    (self.roomID, self.apiKey, self.unmade) = (roomID, apiKey, unmade)
  }

  var isUnmade: Bool { unmade == true }

  /// The room in the keys of its history.
  var place: String {
    (isUnmade ? Self.beginning(unmadeOf: apiKey) : Self.beginning(apiKey: apiKey)) + PercentEncoding.encode(roomID)
  }
}

/// A participant of one session.
struct VideoSDKVisit: SessionVisit, Equatable {
  struct Stay: Codable, Sendable, Equatable {
    var start: APITime
    /// nil: the participant is in the room, or the server has ended before it left.
    var end: APITime?
  }

  var id: String
  var name: String
  /// Counts the participants of the session.
  var order: Int
  /// Oldest first.
  var stays: [Stay] = []

  var lastTime: APITime? { stays.flatMap { [$0.start] + ($0.end.map { [$0] } ?? []) }.max() }
}

/// A recording of a room, as the recorder has reported it.
struct VideoSDKRecording: Codable, Sendable, Equatable {
  struct File: Codable, Sendable, Equatable {
    var url: String
    var bytes: Int?
    var seconds: Double
    var width: Int?
    var height: Int?
  }

  var id: String
  var roomID: String
  var sessionID: String
  var apiKey: String
  /// When the recorder began to write.
  var created: APITime
  /// When the recorder had completed the file, or had lost it; nil: it is being written.
  var end: APITime?
  /// nil: there is no complete file.
  var file: File?
  /// Kept and returned, as the request that started the recording gave them.
  var webhookURL: String?
  var awsDirPath: String?

  static func prefix(apiKey: String, roomID: String? = nil) -> String {
    "videosdk/recording/\(PercentEncoding.encode(apiKey))/" + (roomID.map { PercentEncoding.encode($0) + "/" } ?? "")
  }

  var key: String { Self.prefix(apiKey: apiKey, roomID: roomID) + PercentEncoding.encode(id) }
}
