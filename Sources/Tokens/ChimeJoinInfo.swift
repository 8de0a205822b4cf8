import KoineJSONCodec

/// The credentials of an Amazon Chime attendee: the answers of CreateMeeting and CreateAttendee, as JSON.
///
/// The attendee's `JoinToken` is opaque to apps. Koine's join tokens are JSON Web Tokens that repeat the meeting, the attendee and its
/// capabilities, so that a server can check them. With `Trust.anybody`, the vendor's join tokens are accepted without reading them.
public struct ChimeJoinInfo: Hashable, Sendable {
  public var meeting: Meeting
  public var attendee: Attendee

  /// The answer of CreateMeeting, within `{"Meeting": …}`.
  public struct Meeting: Hashable, Sendable, Codable {
    public var meetingID: String
    public var mediaRegion: String
    public var externalMeetingID: String?
    public var primaryMeetingID: String?
    public var mediaPlacement: MediaPlacement
    public var features: Features?

    enum CodingKeys: String, CodingKey {
      case meetingID = "MeetingId"
      case mediaRegion = "MediaRegion"
      case externalMeetingID = "ExternalMeetingId"
      case primaryMeetingID = "PrimaryMeetingId"
      case mediaPlacement = "MediaPlacement"
      case features = "MeetingFeatures"
    }
  }

  public struct MediaPlacement: Hashable, Sendable, Codable {
    public var audioHostURL: String
    public var signalingURL: String
    public var audioFallbackURL: String?
    public var turnControlURL: String?
    public var eventIngestionURL: String?

    public init(
      audioHostURL: String, signalingURL: String, audioFallbackURL: String? = nil, turnControlURL: String? = nil,
      eventIngestionURL: String? = nil
    ) {
      (self.audioHostURL, self.signalingURL) = (audioHostURL, signalingURL)
      (self.audioFallbackURL, self.turnControlURL) = (audioFallbackURL, turnControlURL)
      self.eventIngestionURL = eventIngestionURL
    }

    /// All that an app wants to read, on one host.
    /// - Parameter address: of the backend that serves the meeting, as `embedded:` or `wss://host:port`.
    public static func at(_ address: String) -> MediaPlacement {
      MediaPlacement(
        audioHostURL: address, signalingURL: address, audioFallbackURL: address, turnControlURL: address)
    }

    enum CodingKeys: String, CodingKey {
      case audioHostURL = "AudioHostUrl"
      case signalingURL = "SignalingUrl"
      case audioFallbackURL = "AudioFallbackUrl"
      case turnControlURL = "TurnControlUrl"
      case eventIngestionURL = "EventIngestionUrl"
    }
  }

  /// What the service writes within `MeetingFeatures`.
  public struct Features: Hashable, Sendable, Codable {
    /// `AVAILABLE` or `UNAVAILABLE`.
    public var echoReduction: String?
    /// `None`, `HD` or `FHD`.
    public var videoMaxResolution: String?
    /// `None`, `FHD` or `UHD`.
    public var contentMaxResolution: String?
    public var attendeeMaxCount: Int?

    public init(
      echoReduction: String? = nil, videoMaxResolution: String? = nil, contentMaxResolution: String? = nil,
      attendeeMaxCount: Int? = nil
    ) {
      (self.echoReduction, self.videoMaxResolution) = (echoReduction, videoMaxResolution)
      (self.contentMaxResolution, self.attendeeMaxCount) = (contentMaxResolution, attendeeMaxCount)
    }

    private struct Audio: Codable { var EchoReduction: String? }
    private struct Picture: Codable { var MaxResolution: String? }
    private struct Count: Codable { var MaxCount: Int? }
    private enum Group: String, CodingKey {
      case Audio, Video, Content, Attendee
    }

    public init(from decoder: any Decoder) throws {
      let groups = try decoder.container(keyedBy: Group.self)
      echoReduction = try groups.decodeIfPresent(Audio.self, forKey: .Audio)?.EchoReduction
      videoMaxResolution = try groups.decodeIfPresent(Picture.self, forKey: .Video)?.MaxResolution
      contentMaxResolution = try groups.decodeIfPresent(Picture.self, forKey: .Content)?.MaxResolution
      attendeeMaxCount = try groups.decodeIfPresent(Count.self, forKey: .Attendee)?.MaxCount
    }

    public func encode(to encoder: any Encoder) throws {
      var groups = encoder.container(keyedBy: Group.self)
      try groups.encodeIfPresent(echoReduction.map { Audio(EchoReduction: $0) }, forKey: .Audio)
      try groups.encodeIfPresent(videoMaxResolution.map { Picture(MaxResolution: $0) }, forKey: .Video)
      try groups.encodeIfPresent(contentMaxResolution.map { Picture(MaxResolution: $0) }, forKey: .Content)
      try groups.encodeIfPresent(attendeeMaxCount.map { Count(MaxCount: $0) }, forKey: .Attendee)
    }
  }

  /// The answer of CreateAttendee, within `{"Attendee": …}`.
  public struct Attendee: Hashable, Sendable, Codable {
    public var attendeeID: String
    public var externalUserID: String
    public var joinToken: String
    /// Nil if the answer does not say, which grants everything.
    public var capabilities: Capabilities?

    public init(attendeeID: String, externalUserID: String, joinToken: String, capabilities: Capabilities? = nil) {
      (self.attendeeID, self.externalUserID) = (attendeeID, externalUserID)
      (self.joinToken, self.capabilities) = (joinToken, capabilities)
    }

    enum CodingKeys: String, CodingKey {
      case attendeeID = "AttendeeId"
      case externalUserID = "ExternalUserId"
      case joinToken = "JoinToken"
      case capabilities = "Capabilities"
    }
  }

  /// What an attendee may do with each kind of media.
  public struct Capabilities: Hashable, Sendable, Codable {
    public enum Direction: String, Hashable, Sendable, Codable {
      case sendReceive = "SendReceive"
      case send = "Send"
      case receive = "Receive"
      case none = "None"

      var sends: Bool { self == .send || self == .sendReceive }
      var receives: Bool { self == .receive || self == .sendReceive }
    }

    public var audio, video, content: Direction

    public init(
      audio: Direction = .sendReceive, video: Direction = .sendReceive, content: Direction = .sendReceive
    ) {
      (self.audio, self.video, self.content) = (audio, video, content)
    }

    enum CodingKeys: String, CodingKey {
      case audio = "Audio"
      case video = "Video"
      case content = "Content"
    }

    var directions: [Direction] { [audio, video, content] }
  }

  public init(meeting: Meeting, attendee: Attendee) { (self.meeting, self.attendee) = (meeting, attendee) }
}

extension ChimeJoinInfo.Meeting {
  public init(
    meetingID: String, mediaPlacement: ChimeJoinInfo.MediaPlacement, mediaRegion: String = "local",
    externalMeetingID: String? = nil, primaryMeetingID: String? = nil, features: ChimeJoinInfo.Features? = nil
  ) {
    (self.meetingID, self.mediaPlacement, self.mediaRegion) = (meetingID, mediaPlacement, mediaRegion)
    (self.externalMeetingID, self.primaryMeetingID) = (externalMeetingID, primaryMeetingID)
    self.features = features
  }
}
