import KoineJSONCodec

/// The credentials of an Amazon Chime attendee: the answers of CreateMeeting and CreateAttendee, as JSON.
///
/// The attendee's `JoinToken` is opaque to apps. Koine's join tokens are JSON Web Tokens that repeat the meeting, the attendee and its
/// capabilities, so that a server can check them. With `Trust.anybody`, the vendor's join tokens are accepted without reading them.
public struct ChimeJoinInfo: Hashable, Sendable {
  /// The meeting, as CreateMeeting answers it.
  public var meeting: Meeting
  /// The attendee, as CreateAttendee answers it.
  public var attendee: Attendee

  /// The answer of CreateMeeting, within `{"Meeting": …}`.
  public struct Meeting: Hashable, Sendable, Codable {
    /// Id of the meeting (`MeetingId`).
    public var meetingID: String
    /// AWS region of the meeting's media (`MediaRegion`).
    public var mediaRegion: String
    /// The app's own id of the meeting (`ExternalMeetingId`).
    public var externalMeetingID: String?
    /// The app's own id of the meeting's host (`MeetingHostId`). The service ignores it.
    public var meetingHostID: String?
    /// Name of the meeting as a resource of AWS (`MeetingArn`).
    public var meetingARN: String?
    /// The app's own ids of tenants (`TenantIds`). The service ignores them.
    public var tenantIDs: [String]?
    /// Id of the primary meeting that this meeting replicates (`PrimaryMeetingId`).
    public var primaryMeetingID: String?
    /// Addresses of the meeting's services (`MediaPlacement`).
    public var mediaPlacement: MediaPlacement
    /// Features of the meeting (`MeetingFeatures`); nil: the service's defaults.
    public var features: Features?

    enum CodingKeys: String, CodingKey {
      case meetingID = "MeetingId"
      case mediaRegion = "MediaRegion"
      case externalMeetingID = "ExternalMeetingId"
      case primaryMeetingID = "PrimaryMeetingId"
      case meetingHostID = "MeetingHostId"
      case meetingARN = "MeetingArn"
      case tenantIDs = "TenantIds"
      case mediaPlacement = "MediaPlacement"
      case features = "MeetingFeatures"
    }
  }

  /// Addresses of a meeting's services, within `MediaPlacement`.
  public struct MediaPlacement: Hashable, Sendable, Codable {
    /// Address of the audio service (`AudioHostUrl`).
    public var audioHostURL: String
    /// Address of the signalling service (`SignalingUrl`).
    public var signalingURL: String
    /// Address of the audio service's fallback (`AudioFallbackUrl`).
    public var audioFallbackURL: String?
    /// Address of the TURN service (`TurnControlUrl`).
    public var turnControlURL: String?
    /// Address of the event service (`EventIngestionUrl`).
    public var eventIngestionURL: String?

    /// Address of screen sharing's data (`ScreenDataUrl`). Older apps print or check it.
    public var screenDataURL: String?
    /// Address at which screen sharing was viewed (`ScreenViewingUrl`). Older apps print or check it.
    public var screenViewingURL: String?
    /// Address of screen sharing (`ScreenSharingUrl`). Older apps print or check it.
    public var screenSharingURL: String?

    /// Creates the addresses of a meeting's services.
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
      case screenDataURL = "ScreenDataUrl"
      case screenViewingURL = "ScreenViewingUrl"
      case screenSharingURL = "ScreenSharingUrl"
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
    /// Largest number of attendees (`MaxCount` of `Attendee`); nil: the service's default.
    public var attendeeMaxCount: Int?

    /// Creates the features of a meeting, in the service's words.
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
    /// Id of the attendee (`AttendeeId`).
    public var attendeeID: String
    /// The app's own id of the user (`ExternalUserId`).
    public var externalUserID: String
    /// The attendee's join token (`JoinToken`).
    public var joinToken: String
    /// Nil if the answer does not say, which grants everything.
    public var capabilities: Capabilities?

    /// Creates an attendee's answer.
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
    /// Directions in which an attendee may use a medium.
    public enum Direction: String, Hashable, Sendable, Codable {
      /// The attendee may send and receive.
      case sendReceive = "SendReceive"
      /// The attendee may only send.
      case send = "Send"
      /// The attendee may only receive.
      case receive = "Receive"
      /// The attendee may neither send nor receive.
      case none = "None"

      package var sends: Bool { self == .send || self == .sendReceive }
      package var receives: Bool { self == .receive || self == .sendReceive }
    }

    /// Directions of audio.
    public var audio: Direction
    /// Directions of camera video.
    public var video: Direction
    /// Directions of content shares.
    public var content: Direction

    /// Creates capabilities; all directions by default.
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

    /// The media of the directions for which `isWanted` is true.
    package func media(_ isWanted: (Direction) -> Bool) -> Set<Admission.Medium> {
      let all: [(Admission.Medium, Direction)] = [(.sound, audio), (.pictures, video), (.screen, content)]
      return Set(all.filter { isWanted($0.1) }.map(\.0))
    }
  }

  /// Creates the credentials of an attendee from the answers of both calls.
  public init(meeting: Meeting, attendee: Attendee) { (self.meeting, self.attendee) = (meeting, attendee) }
}

extension ChimeJoinInfo.Meeting {
  /// Creates a meeting's answer.
  public init(
    meetingID: String, mediaPlacement: ChimeJoinInfo.MediaPlacement, mediaRegion: String = "local",
    externalMeetingID: String? = nil, primaryMeetingID: String? = nil, features: ChimeJoinInfo.Features? = nil
  ) {
    (self.meetingID, self.mediaPlacement, self.mediaRegion) = (meetingID, mediaPlacement, mediaRegion)
    (self.externalMeetingID, self.primaryMeetingID) = (externalMeetingID, primaryMeetingID)
    self.features = features
  }
}
