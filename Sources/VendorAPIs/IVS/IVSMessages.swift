// Bodies of requests and answers, with the member names of the service's model (ivs-realtime 2020-07-14).

struct IVSTokenRequest: Decodable {
  var stageArn: String?
  var duration: Int?
  var userId: String?
  var attributes: [String: String]?
  var capabilities: [String]?
}

struct IVSCreateStage: Decodable {
  var name: String?
  var participantTokenConfigurations: [IVSTokenRequest]?
  var tags: [String: String]?
  var autoParticipantRecordingConfiguration: IVSRecordingConfiguration?
}

struct IVSUpdateStage: Decodable {
  var arn: String?
  var name: String?
  var autoParticipantRecordingConfiguration: IVSRecordingConfiguration?
}

struct IVSARNRequest: Decodable { var arn: String? }

struct IVSPage: Decodable {
  var nextToken: String?
  var maxResults: Int?
}

struct IVSDisconnect: Decodable {
  var stageArn: String?
  var participantId: String?
  var reason: String?
}

struct IVSHistoryRequest: Decodable {
  var stageArn: String?
  var sessionId: String?
  var participantId: String?
  var filterByUserId: String?
  var filterByPublished: Bool?
  var filterByState: String?
  var filterByRecordingState: String?
  var nextToken: String?
  var maxResults: Int?
}

struct IVSImportKey: Decodable {
  var publicKeyMaterial: String?
  var name: String?
  var tags: [String: String]?
}

struct IVSTags: Codable { var tags: [String: String]? }

struct IVSStageAnswer: Encodable {
  struct Endpoints: Encodable {
    var events: String
    var whip: String
  }

  struct Stage: Encodable {
    var arn: String
    var name: String
    var activeSessionId: String?
    var tags: [String: String]
    var autoParticipantRecordingConfiguration: IVSRecordingConfiguration
    var endpoints: Endpoints
  }

  var stage: Stage
  var participantTokens: [IVSParticipantToken]?
}

struct IVSParticipantToken: Encodable {
  var participantId: String
  var token: String
  var userId: String?
  var attributes: [String: String]?
  var duration: Int
  var capabilities: [String]
  var expirationTime: String
}

struct IVSParticipantTokenAnswer: Encodable { var participantToken: IVSParticipantToken }

struct IVSStageList: Encodable {
  struct Summary: Encodable {
    var arn: String
    var name: String
    var activeSessionId: String?
    var tags: [String: String]
  }

  var stages: [Summary]
  var nextToken: String?
}

struct IVSSessionAnswer: Encodable {
  struct Session: Encodable {
    var sessionId: String
    var startTime: String
    var endTime: String?
  }

  var stageSession: Session
}

struct IVSSessionList: Encodable {
  var stageSessions: [IVSSessionAnswer.Session]
  var nextToken: String?
}

/// A participant, whole or as a list shows it. Members that a list leaves out are nil.
struct IVSParticipant: Encodable {
  var participantId: String
  var userId: String
  var state: String
  var firstJoinTime: String
  var published: Bool
  var recordingState = "DISABLED"
  var replicationType = "NONE"
  var attributes: [String: String]?
  var protocolName: String?
  var recordingS3BucketName: String?
  var recordingS3Prefix: String?

  enum CodingKeys: String, CodingKey {
    case participantId, userId, state, firstJoinTime, published, recordingState, replicationType, attributes
    case protocolName = "protocol"
    case recordingS3BucketName, recordingS3Prefix
  }
}

struct IVSParticipantAnswer: Encodable { var participant: IVSParticipant }

struct IVSParticipantList: Encodable {
  var participants: [IVSParticipant]
  var nextToken: String?
}

struct IVSEventList: Encodable {
  struct Event: Encodable {
    var name: String
    var participantId: String
    var eventTime: String
    var remoteParticipantId: String?
    var errorCode: String?
    var previousToken: IVSExchangedToken?
    var newToken: IVSExchangedToken?
  }

  var events: [Event]
  var nextToken: String?
}

struct IVSKeyAnswer: Encodable {
  struct Key: Encodable {
    var arn: String
    var name: String
    var publicKeyMaterial: String?
    var fingerprint: String?
    var tags: [String: String]
  }

  var publicKey: Key
}

struct IVSKeyList: Encodable {
  var publicKeys: [IVSKeyAnswer.Key]
  var nextToken: String?
}

struct IVSTagsAnswer: Encodable { var tags: [String: String] }

struct IVSEmptyAnswer: Encodable {}

/// The model names the message `exceptionMessage`, and the SDKs read `message`.
struct IVSErrorBody: Encodable {
  var exceptionMessage: String
  var message: String
}
