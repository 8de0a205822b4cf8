// The answers of the service's CreateMeeting and CreateAttendee. As with the vendor's, apps make them from their server's
// answer; besides, they can be read and decoded from the service's JSON as it is.

/// The response of the app's server to CreateMeeting.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/CreateMeetingResponse.html)
public final class CreateMeetingResponse: Decodable, Sendable {
  public let meeting: Meeting
  public init(meeting: Meeting) { self.meeting = meeting }

  private enum CodingKeys: String, CodingKey { case meeting = "Meeting" }
}

/// The response of the app's server to CreateAttendee.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/CreateAttendeeResponse.html)
public final class CreateAttendeeResponse: Decodable, Sendable {
  public let attendee: Attendee
  public init(attendee: Attendee) { self.attendee = attendee }

  private enum CodingKeys: String, CodingKey { case attendee = "Attendee" }
}

/// An attendee as the app's server describes it: ids and join token.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/Attendee.html)
public final class Attendee: Decodable, Sendable {
  public let attendeeId: String
  public let externalUserId: String
  public let joinToken: String

  public init(attendeeId: String, externalUserId: String, joinToken: String) {
    self.attendeeId = attendeeId
    self.externalUserId = externalUserId
    self.joinToken = joinToken
  }

  private enum CodingKeys: String, CodingKey {
    case attendeeId = "AttendeeId"
    case externalUserId = "ExternalUserId"
    case joinToken = "JoinToken"
  }
}

/// A meeting as the app's server describes it: ids, region, addresses and features.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/Meeting.html)
public final class Meeting: Decodable, Sendable {
  public let externalMeetingId: String?
  public let mediaPlacement: MediaPlacement
  public let meetingFeatures: MeetingFeatures
  public let mediaRegion: String
  public let meetingId: String
  public let primaryMeetingId: String?

  public convenience init(
    externalMeetingId: String?, mediaPlacement: MediaPlacement, mediaRegion: String, meetingId: String
  ) {
    self.init(
      externalMeetingId: externalMeetingId, mediaPlacement: mediaPlacement, meetingFeatures: MeetingFeatures(),
      mediaRegion: mediaRegion, meetingId: meetingId, primaryMeetingId: nil)
  }

  public init(
    externalMeetingId: String?, mediaPlacement: MediaPlacement, meetingFeatures: MeetingFeatures, mediaRegion: String,
    meetingId: String, primaryMeetingId: String?
  ) {
    self.externalMeetingId = externalMeetingId
    self.mediaPlacement = mediaPlacement
    self.meetingFeatures = meetingFeatures
    self.mediaRegion = mediaRegion
    self.meetingId = meetingId
    self.primaryMeetingId = primaryMeetingId
  }

  private enum CodingKeys: String, CodingKey {
    case externalMeetingId = "ExternalMeetingId"
    case mediaPlacement = "MediaPlacement"
    case meetingFeatures = "MeetingFeatures"
    case mediaRegion = "MediaRegion"
    case meetingId = "MeetingId"
    case primaryMeetingId = "PrimaryMeetingId"
  }

  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      externalMeetingId: try container.decodeIfPresent(String.self, forKey: .externalMeetingId),
      mediaPlacement: try container.decode(MediaPlacement.self, forKey: .mediaPlacement),
      meetingFeatures: try container.decodeIfPresent(MeetingFeatures.self, forKey: .meetingFeatures)
        ?? MeetingFeatures(),
      mediaRegion: try container.decode(String.self, forKey: .mediaRegion),
      meetingId: try container.decode(String.self, forKey: .meetingId),
      primaryMeetingId: try container.decodeIfPresent(String.self, forKey: .primaryMeetingId))
  }
}

/// The service addresses in a meeting's description.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MediaPlacement.html)
public final class MediaPlacement: Decodable, Sendable {
  public let audioFallbackUrl: String
  public let audioHostUrl: String
  public let signalingUrl: String
  public let turnControlUrl: String
  public let eventIngestionUrl: String?

  public convenience init(audioFallbackUrl: String, audioHostUrl: String, signalingUrl: String, turnControlUrl: String)
  {
    self.init(
      audioFallbackUrl: audioFallbackUrl, audioHostUrl: audioHostUrl, signalingUrl: signalingUrl,
      turnControlUrl: turnControlUrl, eventIngestionUrl: nil)
  }

  public init(
    audioFallbackUrl: String, audioHostUrl: String, signalingUrl: String, turnControlUrl: String,
    eventIngestionUrl: String?
  ) {
    self.audioFallbackUrl = audioFallbackUrl
    self.audioHostUrl = audioHostUrl
    self.signalingUrl = signalingUrl
    self.turnControlUrl = turnControlUrl
    self.eventIngestionUrl = eventIngestionUrl
  }

  private enum CodingKeys: String, CodingKey {
    case audioFallbackUrl = "AudioFallbackUrl"
    case audioHostUrl = "AudioHostUrl"
    case signalingUrl = "SignalingUrl"
    case turnControlUrl = "TurnControlUrl"
    case eventIngestionUrl = "EventIngestionUrl"
  }

  /// A missing fallback is the audio host: blank, it would keep `start()` from starting.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let host = try container.decode(String.self, forKey: .audioHostUrl)
    self.init(
      audioFallbackUrl: try container.decodeIfPresent(String.self, forKey: .audioFallbackUrl) ?? host,
      audioHostUrl: host, signalingUrl: try container.decode(String.self, forKey: .signalingUrl),
      turnControlUrl: try container.decodeIfPresent(String.self, forKey: .turnControlUrl) ?? "",
      eventIngestionUrl: try container.decodeIfPresent(String.self, forKey: .eventIngestionUrl))
  }
}

/// The maximum video and content resolutions of a meeting.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingFeatures.html)
public final class MeetingFeatures: Decodable, Sendable {
  public let videoMaxResolution: VideoResolution
  public let contentMaxResolution: VideoResolution

  public convenience init() {
    self.init(videoMaxResolution: .videoResolutionHD, contentMaxResolution: .videoResolutionFHD)
  }

  /// Takes the service's words `none`, `hd` and `fhd`; any other word gives the largest. Nil: `hd` for video, `fhd` for content.
  public convenience init(video: String?, content: String?) {
    self.init(
      videoMaxResolution: Self.resolution(video ?? "hd"), contentMaxResolution: Self.resolution(content ?? "fhd"))
  }

  public init(videoMaxResolution: VideoResolution, contentMaxResolution: VideoResolution) {
    self.videoMaxResolution = videoMaxResolution
    self.contentMaxResolution = contentMaxResolution
  }

  private static func resolution(_ word: String) -> VideoResolution {
    switch word.lowercased() {
    case "none": .videoDisabled
    case "hd": .videoResolutionHD
    case "fhd": .videoResolutionFHD
    default: .videoResolutionUHD
    }
  }

  private struct Limit: Decodable { var MaxResolution: String? }
  private enum CodingKeys: String, CodingKey { case video = "Video", content = "Content" }

  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      video: try container.decodeIfPresent(Limit.self, forKey: .video)?.MaxResolution,
      content: try container.decodeIfPresent(Limit.self, forKey: .content)?.MaxResolution)
  }
}
