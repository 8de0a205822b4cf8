struct VideoSDKError: Error, Hashable {
  var status: Int
  var message: String
  init(_ status: Int, _ message: String) { (self.status, self.message) = (status, message) }
}

struct VideoSDKErrorBody: Encodable {
  var error: String
  var statusCode: Int
}

/// The members of all requests: each operation reads its own.
struct VideoSDKRequest: Decodable {
  var customRoomId: String?
  var region: String?
  var geoFence: String?
  var webhook: VideoSDKWebhook?
  var autoCloseConfig: VideoSDKRoom.AutoClose?
  var autoStartConfig: VideoSDKRoom.AutoStart?
  var allowedParticipantIds: [String]?
  var multiComposition: VideoSDKRoom.MultiComposition?
  var roomId: String?
  var sessionId: String?
  var participantId: String?
  var config: VideoSDKComposition?
  var transcription: VideoSDKOutput.Transcription?
  var templateUrl: String?
  var webhookUrl: String?
  var awsDirPath: String?

  /// The names of the members that a form may have: only texts are in forms.
  static let formNames = ["customRoomId", "region", "geoFence", "roomId", "sessionId", "participantId", "webhookUrl"]

  init(form: [String: String]) {
    customRoomId = form["customRoomId"]
    (region, geoFence) = (form["region"], form["geoFence"])
    (roomId, sessionId) = (form["roomId"], form["sessionId"])
    (participantId, webhookUrl) = (form["participantId"], form["webhookUrl"])
  }
}

struct VideoSDKLinks: Encodable {
  var get_room: String
  var get_session: String
}

struct VideoSDKRoomAnswer: Encodable {
  var id: String
  var roomId: String
  /// The name of the room in the API's first version.
  var meetingId: String
  var customRoomId: String?
  var userId: String
  var disabled: Bool
  var createdAt: String
  var updatedAt: String
  var geoFence: String?
  var webhook: VideoSDKWebhook?
  var autoCloseConfig: VideoSDKRoom.AutoClose?
  var autoStartConfig: VideoSDKRoom.AutoStart?
  var multiComposition: VideoSDKRoom.MultiComposition?
  var allowedParticipantIds: [String]?
  var links: VideoSDKLinks
}

struct VideoSDKSessionAnswer: Encodable {
  struct Stay: Encodable {
    var start: String
    var end: String?

    enum CodingKeys: CodingKey { case start, end }

    /// A stay that goes on has the end null.
    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CodingKeys.self)
      try members.encode(start, forKey: .start)
      if let end { try members.encode(end, forKey: .end) } else { try members.encodeNil(forKey: .end) }
    }
  }

  struct Visitor: Encodable {
    var _id: String
    var participantId: String
    var name: String
    var timelog: [Stay]
  }

  var id: String
  var roomId: String
  var customRoomId: String?
  var stay: Stay
  var status: String
  var participants: [Visitor]
  var links: VideoSDKLinks

  enum CodingKeys: CodingKey { case id, roomId, customRoomId, status, participants, links }

  func encode(to encoder: any Encoder) throws {
    try stay.encode(to: encoder)
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(id, forKey: .id)
    try members.encode(roomId, forKey: .roomId)
    try members.encodeIfPresent(customRoomId, forKey: .customRoomId)
    try members.encode(status, forKey: .status)
    try members.encode(participants, forKey: .participants)
    try members.encode(links, forKey: .links)
  }
}

struct VideoSDKRecordingAnswer: Encodable {
  struct File: Encodable {
    struct Meta: Encodable {
      struct Resolution: Encodable {
        var w: Int
        var h: Int
      }
      var format: String
      var resolution: Resolution?
      /// In seconds.
      var duration: Double
    }
    var id: String
    /// `video` or `audio`.
    var type: String
    /// In bytes.
    var size: Int?
    var fileUrl: String
    var createdAt: String
    var meta: Meta
  }

  var id: String
  var roomId: String
  var sessionId: String
  /// `recording-started` or `recording-stopped`, as the service's events are called.
  var status: String
  var createdAt: String
  /// Absent while the room is being recorded.
  var endedAt: String?
  /// Absent until the file is complete.
  var file: File?
  var webhookUrl: String?
  var awsDirPath: String?
  var links: VideoSDKLinks
}

struct VideoSDKPageInfo: Encodable {
  var currentPage: Int
  var perPage: Int
  var lastPage: Int
  var total: Int
}

struct VideoSDKPage<Item: Encodable>: Encodable {
  var pageInfo: VideoSDKPageInfo
  var data: [Item]
}

struct VideoSDKMessage: Encodable { var message: String }
