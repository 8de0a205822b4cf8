import Koine
public import KoineTokens

/// What one style's apps are let in with. Each carries the room's address.
public struct CredentialKind<Material: Sendable>: Sendable {
  let make: @Sendable (_ room: TestRoom, _ person: String) throws -> Material
}

extension TestRoom {
  /// What lets the app of the person of this name in, as its vendor's service would give it.
  ///
  ///     let token = try room.credential(.stageStrategy, for: "Ana").token
  /// - Throws: `TokenError` if a value cannot be a part of the token.
  public func credential<Material>(_ kind: CredentialKind<Material>, for name: String) throws -> Material {
    try kind.make(self, name)
  }

  func participantID(of name: String) -> String { people.entry(named: name).id }
}

/// The style of Azure's call agent.
public struct CallAgentCredential: Sendable, Hashable {
  /// A user access token, for `CommunicationTokenCredential`.
  public let token: String
  /// The user's raw id.
  public let identity: String
  /// For `RoomCallLocator`.
  public let roomID: String
}

extension CredentialKind<CallAgentCredential> {
  /// A user access token of the call-agent style, valid for an hour.
  public static var callAgent: Self {
    Self { room, person in
      let now = NumericDate.ofSystemClock()
      let identity = room.identity(of: person)
      let token = AzureUserToken(identity: identity, resourceID: room.id, issued: now, expires: now + 3_600)
      return CallAgentCredential(
        token: try token.signed(with: try SigningKey(generating: .p256)), identity: identity, roomID: room.id)
    }
  }
}

/// The style of Amazon IVS's stages.
public struct StageCredential: Sendable, Hashable {
  /// A participant token, for `IVSStage`.
  public let token: String
  /// Id of the participant that the token names.
  public let participantID: String
}

extension CredentialKind<StageCredential> {
  /// A participant token of the stage-strategy style that may publish and subscribe, valid for an hour.
  public static var stageStrategy: Self { stageStrategy() }

  /// A participant token of the stage-strategy style; `lasting` in seconds.
  public static func stageStrategy(
    canPublish: Bool = true, canSubscribe: Bool = true, attributes: [String: String] = [:], lasting: Double = 3_600
  ) -> Self {
    Self { room, person in
      let now = NumericDate.ofSystemClock()
      let token = IVSStageToken(
        participantID: room.participantID(of: person), stage: room.id, userID: person, attributes: attributes,
        capabilities: .init(canPublish: canPublish, canSubscribe: canSubscribe), issued: now, expires: now + lasting)
      return StageCredential(
        token: try token.signed(with: try SigningKey(generating: .p384)), participantID: token.participantID)
    }
  }
}

/// The style of Amazon Chime's meetings: what an app's own server hands on.
public struct MeetingCredential: Sendable, Hashable {
  /// `{"Meeting": {…}}`
  public let createMeetingJSON: String
  /// `{"Attendee": {…}}`
  public let createAttendeeJSON: String
  /// The meeting and the attendee in one JSON text, as the vendor's demonstration server answers.
  public let joinInfoJSON: String
  /// The meeting and the attendee as values.
  public let pass: ChimeJoinInfo
}

extension CredentialKind<MeetingCredential> {
  /// Credentials of the meeting-session style: a meeting and an attendee, valid for an hour.
  public static var meetingSession: Self {
    Self { room, person in
      let meeting = ChimeJoinInfo.Meeting(
        meetingID: room.id, mediaPlacement: .at("embedded:\(room.id)"), externalMeetingID: "test")
      let externalUserID = person.count >= 2 ? person : person + "-"
      let pass = try ChimeJoinInfo.create(
        meeting, attendeeID: room.participantID(of: person), externalUserID: externalUserID,
        issued: NumericDate.ofSystemClock(), with: try SigningKey(generating: .p256))
      return MeetingCredential(
        createMeetingJSON: try pass.createMeetingJSON, createAttendeeJSON: try pass.createAttendeeJSON,
        joinInfoJSON: try pass.joinInfoJSON, pass: pass)
    }
  }
}

/// The style of VideoSDK's event listeners.
public struct ListenerCredential: Sendable, Hashable {
  /// For `VideoSDK.config(token:)`, which is the process's: it opens every room.
  public let token: String
  /// Id of the meeting.
  public let meetingID: String
  /// Id of the participant.
  public let participantID: String
}

extension ListenerCredential {
  /// The API key of all test rooms.
  package static let apiKey = "test"
  /// The secret of `apiKey`.
  package static let secret = "a secret that all test rooms share"
}

extension CredentialKind<ListenerCredential> {
  /// A token of the event-listener style, valid for an hour.
  public static var eventListener: Self {
    Self { room, person in
      let now = NumericDate.ofSystemClock()
      let token = VideoSDKToken(
        apiKey: ListenerCredential.apiKey, permissions: [.join, .moderate], issued: now, expires: now + 3_600)
      return ListenerCredential(
        token: try token.signed(with: try SigningKey(secret: Array(ListenerCredential.secret.utf8))),
        meetingID: room.id, participantID: room.participantID(of: person))
    }
  }
}
