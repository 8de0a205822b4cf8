public typealias URLRewriter = (_ url: String) -> String

/// The default URL rewriter, which returns each URL unchanged.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/URLRewriterUtils.html)
public enum URLRewriterUtils {
  nonisolated(unsafe) public static let defaultUrlRewriter: URLRewriter = { $0 }  // keeps nothing
}

/// The meeting and the local attendee, from the two responses of the app's server. The meeting id is the room's name.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingSessionConfiguration.html)
public final class MeetingSessionConfiguration {
  public let meetingId: String
  public let externalMeetingId: String?
  public let credentials: MeetingSessionCredentials
  public let urls: MeetingSessionURLs
  public let urlRewriter: URLRewriter
  public let meetingFeatures: MeetingFeatures
  public let primaryMeetingId: String?

  public convenience init(createMeetingResponse: CreateMeetingResponse, createAttendeeResponse: CreateAttendeeResponse)
  {
    self.init(
      createMeetingResponse: createMeetingResponse, createAttendeeResponse: createAttendeeResponse,
      urlRewriter: URLRewriterUtils.defaultUrlRewriter)
  }

  public convenience init(
    createMeetingResponse: CreateMeetingResponse, createAttendeeResponse: CreateAttendeeResponse,
    urlRewriter: @escaping URLRewriter
  ) {
    let (meeting, attendee) = (createMeetingResponse.meeting, createAttendeeResponse.attendee)
    let placement = meeting.mediaPlacement
    self.init(
      meetingId: meeting.meetingId, externalMeetingId: meeting.externalMeetingId,
      credentials: MeetingSessionCredentials(
        attendeeId: attendee.attendeeId, externalUserId: attendee.externalUserId, joinToken: attendee.joinToken),
      urls: MeetingSessionURLs(
        audioFallbackUrl: placement.audioFallbackUrl, audioHostUrl: placement.audioHostUrl,
        turnControlUrl: placement.turnControlUrl, signalingUrl: placement.signalingUrl, urlRewriter: urlRewriter,
        ingestionUrl: placement.eventIngestionUrl),
      urlRewriter: urlRewriter, primaryMeetingId: meeting.primaryMeetingId, meetingFeatures: meeting.meetingFeatures)
  }

  public convenience init(
    meetingId: String, credentials: MeetingSessionCredentials, urls: MeetingSessionURLs,
    urlRewriter: @escaping URLRewriter
  ) {
    self.init(
      meetingId: meetingId, externalMeetingId: nil, credentials: credentials, urls: urls, urlRewriter: urlRewriter)
  }

  public convenience init(
    meetingId: String, externalMeetingId: String?, credentials: MeetingSessionCredentials, urls: MeetingSessionURLs,
    urlRewriter: @escaping URLRewriter
  ) {
    self.init(
      meetingId: meetingId, externalMeetingId: externalMeetingId, credentials: credentials, urls: urls,
      urlRewriter: urlRewriter, primaryMeetingId: nil, meetingFeatures: MeetingFeatures())
  }

  public convenience init(
    meetingId: String, externalMeetingId: String?, credentials: MeetingSessionCredentials, urls: MeetingSessionURLs,
    urlRewriter: @escaping URLRewriter, meetingFeatures: MeetingFeatures
  ) {
    self.init(
      meetingId: meetingId, externalMeetingId: externalMeetingId, credentials: credentials, urls: urls,
      urlRewriter: urlRewriter, primaryMeetingId: nil, meetingFeatures: meetingFeatures)
  }

  public convenience init(
    meetingId: String, externalMeetingId: String?, credentials: MeetingSessionCredentials, urls: MeetingSessionURLs,
    urlRewriter: @escaping URLRewriter, primaryMeetingId: String?
  ) {
    self.init(
      meetingId: meetingId, externalMeetingId: externalMeetingId, credentials: credentials, urls: urls,
      urlRewriter: urlRewriter, primaryMeetingId: primaryMeetingId, meetingFeatures: MeetingFeatures())
  }

  public init(
    meetingId: String, externalMeetingId: String?, credentials: MeetingSessionCredentials, urls: MeetingSessionURLs,
    urlRewriter: @escaping URLRewriter, primaryMeetingId: String?, meetingFeatures: MeetingFeatures
  ) {
    self.meetingId = meetingId
    self.externalMeetingId = externalMeetingId
    self.credentials = credentials
    self.urls = urls
    self.urlRewriter = urlRewriter
    self.primaryMeetingId = primaryMeetingId
    self.meetingFeatures = meetingFeatures
  }
}

/// Ids and join token of the local attendee.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingSessionCredentials.html)
public final class MeetingSessionCredentials: Codable, Sendable {
  public let attendeeId: String
  public let externalUserId: String
  public let joinToken: String

  public init(attendeeId: String, externalUserId: String, joinToken: String) {
    self.attendeeId = attendeeId
    self.externalUserId = externalUserId
    self.joinToken = joinToken
  }
}

/// Addresses of the vendor's service. They have no effect: `KOINE_BACKEND` chooses the backend. `start()` refuses blank
/// audio addresses, as in the vendor's SDK.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingSessionURLs.html)
public final class MeetingSessionURLs: Codable, Sendable {
  public let audioFallbackUrl: String
  public let audioHostUrl: String
  public let turnControlUrl: String
  public let signalingUrl: String
  public let ingestionUrl: String?

  public convenience init(
    audioFallbackUrl: String, audioHostUrl: String, turnControlUrl: String, signalingUrl: String,
    urlRewriter: URLRewriter
  ) {
    self.init(
      audioFallbackUrl: audioFallbackUrl, audioHostUrl: audioHostUrl, turnControlUrl: turnControlUrl,
      signalingUrl: signalingUrl, urlRewriter: urlRewriter, ingestionUrl: nil)
  }

  public init(
    audioFallbackUrl: String, audioHostUrl: String, turnControlUrl: String, signalingUrl: String,
    urlRewriter: URLRewriter, ingestionUrl: String?
  ) {
    self.audioFallbackUrl = urlRewriter(audioFallbackUrl)
    self.audioHostUrl = urlRewriter(audioHostUrl)
    self.turnControlUrl = urlRewriter(turnControlUrl)
    self.signalingUrl = urlRewriter(signalingUrl)
    self.ingestionUrl = ingestionUrl.map(urlRewriter)
  }
}
