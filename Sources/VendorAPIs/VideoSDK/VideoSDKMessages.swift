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
  var autoCloseConfig: VideoSDKRoom.AutoClose?
  var allowedParticipantIds: [String]?
  var roomId: String?
  var sessionId: String?
  var participantId: String?
  var status: String?
  var webhook: VideoSDKWebhook?

  /// The fields of a form; only texts are in forms.
  init(form: [String: String]) {
    customRoomId = form["customRoomId"]
    (roomId, sessionId) = (form["roomId"], form["sessionId"])
    (participantId, status) = (form["participantId"], form["status"])
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
  var autoCloseConfig: VideoSDKRoom.AutoClose?
  var webhook: VideoSDKWebhook?
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
  var id: String
  var roomId: String
  var sessionId: String
  var createdAt: String
  var endedAt: String?
  var links: VideoSDKLinks
}

struct VideoSDKPage<Item: Encodable>: Encodable {
  struct Info: Encodable {
    var currentPage: Int
    var perPage: Int
    var lastPage: Int
    var total: Int
  }

  var pageInfo: Info
  var data: [Item]
}

struct VideoSDKMessage: Encodable { var message: String }
