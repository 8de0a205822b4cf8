import KoineJSONCodec

/// The claims of the join tokens that are made here.
public struct MeetingJoinToken: AccessToken {
  /// Id of the meeting.
  public var meetingID: String
  /// Id of the attendee in the meeting.
  public var attendeeID: String
  /// The app's own id of the user.
  public var externalUserID: String
  /// Directions of audio, video and content that the attendee may use; nil: all.
  public var capabilities: ChimeJoinInfo.Capabilities?
  /// Time of issue (`iat`).
  public var issued: NumericDate?
  /// Time of expiry (`exp`).
  public var expires: NumericDate

  /// Creates the claims of a join token.
  public init(
    meetingID: String, attendeeID: String, externalUserID: String, capabilities: ChimeJoinInfo.Capabilities? = nil,
    issued: NumericDate?, expires: NumericDate
  ) {
    (self.meetingID, self.attendeeID, self.externalUserID) = (meetingID, attendeeID, externalUserID)
    (self.capabilities, self.issued, self.expires) = (capabilities, issued, expires)
  }

  public func check() throws(TokenError) {
    guard (2...64).contains(externalUserID.count) else {
      throw .invalidClaim("ExternalUserId", reason: "is not 2 to 64 characters long")
    }
    guard !meetingID.isEmpty else { throw .invalidClaim("MeetingId", reason: "is empty") }
    guard !attendeeID.isEmpty else { throw .invalidClaim("AttendeeId", reason: "is empty") }
  }

  public var admission: Admission {
    let directions = capabilities?.directions
    var admission = Admission(
      identity: externalUserID, participantID: attendeeID, externalID: externalUserID, room: meetingID,
      canPublish: directions?.contains { $0.sends } ?? true,
      canSubscribe: directions?.contains { $0.receives } ?? true, expiry: expires)
    if let capabilities {
      admission.media = capabilities.media(\.sends)
      admission.receivedMedia = capabilities.media(\.receives)
    }
    return admission
  }

  private enum CodingKeys: String, CodingKey {
    case meetingID = "MeetingId"
    case attendeeID = "AttendeeId"
    case externalUserID = "ExternalUserId"
    case capabilities = "Capabilities"
    case issued = "iat"
    case expires = "exp"
  }
}

extension ChimeJoinInfo {
  private struct MeetingAnswer: Codable { var Meeting: ChimeJoinInfo.Meeting }
  private struct AttendeeAnswer: Codable { var Attendee: ChimeJoinInfo.Attendee }
  /// What the vendor's demo server answers: both, one within the other.
  private struct JoinAnswer: Codable {
    struct Info: Codable {
      var Meeting: MeetingAnswer
      var Attendee: AttendeeAnswer
      var PrimaryExternalMeetingId: String?
    }
    var JoinInfo: Info
  }
  /// What other back ends answer: the meeting and the attendee without the answers around them.
  private struct FlatJoinAnswer: Decodable {
    struct Info: Decodable {
      var Meeting: ChimeJoinInfo.Meeting
      var Attendee: ChimeJoinInfo.Attendee
    }
    var JoinInfo: Info
  }

  /// Makes a new attendee of a meeting.
  /// - Parameters:
  ///   - externalUserID: 2 to 64 characters; often `id#name`, which is up to the app.
  ///   - expires: the vendor's tokens last 24 hours.
  /// - Throws: `TokenError` if a claim is invalid, or signing fails.
  public static func create(
    _ meeting: Meeting, attendeeID: String, externalUserID: String, capabilities: Capabilities? = nil,
    issued: NumericDate, expires: NumericDate? = nil, with key: SigningKey
  ) throws(TokenError) -> ChimeJoinInfo {
    let token = MeetingJoinToken(
      meetingID: meeting.meetingID, attendeeID: attendeeID, externalUserID: externalUserID, capabilities: capabilities,
      issued: issued, expires: expires ?? issued + 24 * 60 * 60)
    let attendee = Attendee(
      attendeeID: attendeeID, externalUserID: externalUserID, joinToken: try token.signed(with: key),
      capabilities: capabilities)
    return ChimeJoinInfo(meeting: meeting, attendee: attendee)
  }

  /// `{"Meeting": {…}}`
  public var createMeetingJSON: String {
    get throws(TokenError) { try Self.text(MeetingAnswer(Meeting: meeting)) }
  }

  /// `{"Attendee": {…}}`
  public var createAttendeeJSON: String {
    get throws(TokenError) { try Self.text(AttendeeAnswer(Attendee: attendee)) }
  }

  /// `{"JoinInfo": {"Meeting": {"Meeting": {…}}, "Attendee": {"Attendee": {…}}}}`
  public var joinInfoJSON: String {
    get throws(TokenError) {
      try Self.text(
        JoinAnswer(
          JoinInfo: .init(Meeting: MeetingAnswer(Meeting: meeting), Attendee: AttendeeAnswer(Attendee: attendee))))
    }
  }

  /// Reads the pair of answers; checks nothing but their form.
  /// - Throws: `TokenError.malformed` if a text is not the JSON of its answer.
  public static func parse(createMeeting: String, createAttendee: String) throws(TokenError) -> ChimeJoinInfo {
    ChimeJoinInfo(
      meeting: try decode(MeetingAnswer.self, from: createMeeting).Meeting,
      attendee: try decode(AttendeeAnswer.self, from: createAttendee).Attendee)
  }

  /// Reads the answer of the demo server, or the flat form `{"JoinInfo": {"Meeting": {…}, "Attendee": {…}}}`; checks nothing but
  /// its form.
  /// - Throws: `TokenError.malformed` if the text is not the JSON of such an answer.
  public static func parse(joinInfo: String) throws(TokenError) -> ChimeJoinInfo {
    if let flat = try? decode(FlatJoinAnswer.self, from: joinInfo).JoinInfo {
      return ChimeJoinInfo(meeting: flat.Meeting, attendee: flat.Attendee)
    }
    let info = try decode(JoinAnswer.self, from: joinInfo).JoinInfo
    return ChimeJoinInfo(meeting: info.Meeting.Meeting, attendee: info.Attendee.Attendee)
  }

  /// The admission that the meeting and attendee grant. A `#content` attendee has its base attendee's token, with or without the same
  /// ending, and gets the base attendee's admission.
  /// - Throws: `.invalidClaim` if the join token belongs to another attendee, and the errors of `AccessToken.parse`. With
  ///   `Trust.anybody`, a join token that is not a JSON Web Token is accepted without reading it.
  public func admission(
    trusting trust: Trust, at now: NumericDate, leeway: Double = 60
  ) throws(TokenError) -> Admission {
    let ending = "#content"
    let isContent = attendee.attendeeID.hasSuffix(ending)
    let attendeeID = isContent ? String(attendee.attendeeID.dropLast(ending.count)) : attendee.attendeeID
    let text =
      isContent && attendee.joinToken.hasSuffix(ending)
      ? String(attendee.joinToken.dropLast(ending.count)) : attendee.joinToken
    guard !text.isEmpty else { throw .invalidClaim("JoinToken", reason: "is empty") }
    let claims: MeetingJoinToken
    if case .anybody = trust, (try? JSONWebToken.parse(text)) == nil {
      guard text.utf8.count <= JSONWebToken.sizeLimit else { throw .tooLarge(limit: JSONWebToken.sizeLimit) }
      claims = MeetingJoinToken(
        meetingID: meeting.meetingID, attendeeID: attendeeID, externalUserID: attendee.externalUserID,
        capabilities: attendee.capabilities, issued: nil, expires: NumericDate(.infinity))
      try claims.check()
    } else {
      claims = try MeetingJoinToken.parse(text, trusting: trust, at: now, leeway: leeway)
    }
    guard claims.meetingID == meeting.meetingID, claims.attendeeID == attendeeID,
      claims.externalUserID == attendee.externalUserID
    else { throw .invalidClaim("JoinToken", reason: "is another attendee's") }
    var admission = claims.admission
    admission.participantID = attendee.attendeeID
    if admission.expiry == NumericDate(.infinity) { admission.expiry = nil }
    return admission
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws(TokenError) -> Value {
    guard text.utf8.count <= limits.size else { throw .tooLarge(limit: limits.size) }
    return try JSONWebToken.decode(type, from: Array(text.utf8), limits: limits)
  }

  private static func text(_ value: some Encodable) throws(TokenError) -> String {
    String(decoding: try JSONWebToken.encode(value, limits: limits), as: UTF8.self)
  }

  private static let limits = JSONCodec.Limits(depth: 12, size: 64 * 1024)
}
