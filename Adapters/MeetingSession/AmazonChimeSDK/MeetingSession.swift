package import Koine

/// A meeting of one attendee: its configuration, its logger and its operations.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/MeetingSession.html)
public protocol MeetingSession: AnyObject {
  var configuration: MeetingSessionConfiguration { get }
  var logger: any Logger { get }
  var audioVideo: any AudioVideoFacade { get }
}

/// A meeting session from a configuration. It has no connection before `audioVideo.start()`.
///
///     let meetingSession = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "demo"))
///     meetingSession.audioVideo.addVideoTileObserver(observer: self)
///     try meetingSession.audioVideo.start()
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultMeetingSession.html)
public final class DefaultMeetingSession: MeetingSession {
  public let configuration: MeetingSessionConfiguration
  public let logger: any Logger
  public let audioVideo: any AudioVideoFacade

  public init(configuration: MeetingSessionConfiguration, logger: any Logger) {
    self.configuration = configuration
    self.logger = logger
    let environment = MeetingEnvironment(
      room: configuration.meetingId, participant: configuration.credentials.attendeeId)
    audioVideo = DefaultAudioVideoFacade(configuration, logger, in: environment)
  }

  /// The session of the room while the meeting runs; for figures that the style has no word for.
  package var session: Session? { (audioVideo as? DefaultAudioVideoFacade)?.session }
}
