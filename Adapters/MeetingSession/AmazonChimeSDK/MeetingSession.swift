package import Koine

/// One attendee's meeting: its configuration, and what it can do.
public protocol MeetingSession: AnyObject {
  var configuration: MeetingSessionConfiguration { get }
  var logger: any Logger { get }
  var audioVideo: any AudioVideoFacade { get }
  /// Takes events, also those of the app's own objects.
  var eventAnalyticsController: any EventAnalyticsController { get }
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
