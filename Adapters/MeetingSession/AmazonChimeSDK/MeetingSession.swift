package import Koine

/// One attendee's meeting: its configuration, and what it can do.
public protocol MeetingSession: AnyObject {
  var configuration: MeetingSessionConfiguration { get }
  var logger: any Logger { get }
  var audioVideo: any AudioVideoFacade { get }
}

/// Made from a configuration; connects to nothing before `audioVideo.start()`.
///
///     let meetingSession = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "demo"))
///     meetingSession.audioVideo.addVideoTileObserver(observer: self)
///     try meetingSession.audioVideo.start()
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
