/// A stage in the registry. A deleted stage stays until its tokens have expired.
struct IVSStage: Codable, Sendable, Equatable {
  var id: String
  var account: String
  var region: String
  var name: String
  var tags: [String: String]
  var recording: IVSRecordingConfiguration
  var created: APITime
  var isDeleted = false

  var arn: String { Self.arn(id, account: account, region: region) }

  static func arn(_ id: String, account: String, region: String) -> String {
    "arn:aws:ivs:\(region):\(account):stage/\(id)"
  }

  static let prefix = "ivs/stage/"
  static func key(_ id: String) -> String { prefix + PercentEncoding.encode(id) }
  var key: String { Self.key(id) }
}

/// `AutoParticipantRecordingConfiguration`: kept and returned. Participants are not recorded one by one here.
struct IVSRecordingConfiguration: Codable, Sendable, Equatable {
  struct Thumbnails: Codable, Sendable, Equatable {
    var targetIntervalSeconds: Int? = 60
    var storage: [String]? = ["SEQUENTIAL"]
    var recordingMode: String? = "DISABLED"
  }

  struct Segments: Codable, Sendable, Equatable { var targetSegmentDurationSeconds: Int? = 6 }

  var storageConfigurationArn: String? = ""
  var mediaTypes: [String]? = ["AUDIO_VIDEO"]
  var thumbnailConfiguration: Thumbnails? = Thumbnails()
  var recordingReconnectWindowSeconds: Int? = 0
  var hlsConfiguration: Segments? = Segments()
  var recordParticipantReplicas: Bool? = true

  /// With the service's defaults for all members that are not given.
  var completed: IVSRecordingConfiguration {
    let defaults = IVSRecordingConfiguration()
    return IVSRecordingConfiguration(
      storageConfigurationArn: storageConfigurationArn ?? "", mediaTypes: mediaTypes ?? defaults.mediaTypes,
      thumbnailConfiguration: Thumbnails(
        targetIntervalSeconds: thumbnailConfiguration?.targetIntervalSeconds ?? 60,
        storage: thumbnailConfiguration?.storage ?? ["SEQUENTIAL"],
        recordingMode: thumbnailConfiguration?.recordingMode ?? "DISABLED"),
      recordingReconnectWindowSeconds: recordingReconnectWindowSeconds ?? 0,
      hlsConfiguration: Segments(targetSegmentDurationSeconds: hlsConfiguration?.targetSegmentDurationSeconds ?? 6),
      recordParticipantReplicas: recordParticipantReplicas ?? true)
  }
}

/// A participant that has been disconnected: its token admits nobody any more.
struct IVSRevokedParticipant: Codable, Sendable, Equatable {
  var stageID: String
  var participantID: String

  static let prefix = "ivs/revoked/"
  static func key(stage: String, participant: String) -> String {
    prefix + PercentEncoding.encode(stage) + "/" + PercentEncoding.encode(participant)
  }
}

/// A public key with which a back end signs stage tokens itself.
struct IVSPublicKey: Codable, Sendable, Equatable {
  var id: String
  var account: String
  var region: String
  var name: String
  var tags: [String: String]
  var material: String
  var fingerprint: String

  var arn: String { "arn:aws:ivs:\(region):\(account):public-key/\(id)" }

  static let prefix = "ivs/key/"
  static func key(_ id: String) -> String { prefix + PercentEncoding.encode(id) }
  var key: String { Self.key(id) }

  /// Of the claim that keeps the same key from being imported twice.
  static func claimKey(fingerprint: String, account: String, region: String) -> String {
    "ivs/fingerprint/\(PercentEncoding.encode(account))/\(PercentEncoding.encode(region))/"
      + PercentEncoding.encode(fingerprint)
  }
}

/// A participant of one session, with its events, oldest first.
struct IVSVisit: SessionVisit, Equatable {
  struct Event: Codable, Sendable, Equatable {
    /// Recognizes an event whose write is repeated, and the place of a page.
    var id: String
    var name: String
    var time: APITime
    var remoteParticipantID: String?
    var errorCode: String?
    var previousToken: IVSExchangedToken?
    var newToken: IVSExchangedToken?
  }

  var id: String
  var userID: String
  var attributes: [String: String]
  var firstJoined: APITime
  /// Counts the participants of the session.
  var order: Int
  var hasPublished = false
  /// Whether it has entered the stage. A participant that was only refused has events and is in no list.
  var hasJoined: Bool
  var events: [Event] = []

  var lastTime: APITime? { events.map(\.time).max() }
}

/// A token before or after an exchange.
struct IVSExchangedToken: Codable, Sendable, Equatable {
  var capabilities: [String]
  var attributes: [String: String]
  var userId: String
  /// ISO 8601.
  var expirationTime: String?
}
