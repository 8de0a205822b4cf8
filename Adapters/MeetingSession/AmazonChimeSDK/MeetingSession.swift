package import Koine

/// A meeting of one attendee: its configuration, its logger and its operations.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/MeetingSession.html)
public protocol MeetingSession: AnyObject {
  var configuration: MeetingSessionConfiguration { get }
  var logger: any Logger { get }
  var audioVideo: any AudioVideoFacade { get }
  /// Takes events, also those of the app's own objects.
  var eventAnalyticsController: any EventAnalyticsController { get }
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
  public let eventAnalyticsController: any EventAnalyticsController

  /// Events are written to `configuration.urls.ingestionUrl` if that is a `file:` URL (`DefaultMeetingEventReporterFactory`).
  public convenience init(configuration: MeetingSessionConfiguration, logger: any Logger) {
    let credentials = configuration.credentials
    let url = configuration.urls.ingestionUrl ?? ""
    let ingestion = IngestionConfigurationBuilder().build(
      disabled: url.isEmpty, ingestionUrl: url,
      clientConiguration: MeetingEventClientConfiguration(
        eventClientJoinToken: credentials.joinToken, meetingId: configuration.meetingId,
        attendeeId: credentials.attendeeId))
    self.init(
      configuration: configuration, logger: logger,
      eventReporterFactory: DefaultMeetingEventReporterFactory(ingestionConfiguration: ingestion, logger: logger))
  }

  /// - Parameter eventReporterFactory: makes the reporter that gets the session's events; `NoopEventReporterFactory`: none.
  public convenience init(
    configuration: MeetingSessionConfiguration, logger: any Logger, eventReporterFactory: any EventReporterFactory
  ) {
    self.init(
      configuration, logger, eventReporterFactory,
      in: MeetingEnvironment(room: configuration.meetingId, participant: configuration.credentials.attendeeId))
  }

  package init(
    _ configuration: MeetingSessionConfiguration, _ logger: any Logger, _ reporters: any EventReporterFactory,
    in environment: MeetingEnvironment
  ) {
    self.configuration = configuration
    self.logger = logger
    let events = DefaultEventAnalyticsController(
      configuration, in: environment, reporter: reporters.createEventReporter())
    eventAnalyticsController = events
    audioVideo = DefaultAudioVideoFacade(configuration, logger, events, in: environment)
  }

  /// The session of the room while the meeting runs; for figures that the style has no word for.
  package var session: Session? { (audioVideo as? DefaultAudioVideoFacade)?.session }
}
