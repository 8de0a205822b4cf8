import Foundation
import Koine
import KoineAVFoundation

/// The meeting: each `start` joins the room in a new session. The session's events become calls to the observers.
///
/// Calls may come from any thread. The vendor's audio is one per process. Here each session starts and stops its own
/// audio.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultAudioVideoFacade.html)
public final class DefaultAudioVideoFacade: AudioVideoFacade, @unchecked Sendable {  // everything mutable is in `state`
  enum Phase {
    case idle
    case running(Session)
    /// `stop()` was called and has not been told yet.
    case stopping(Session)
    /// The room ended it; the app still owes `stop()` for the video side.
    case endedByRoom
  }

  struct State {
    var phase = Phase.idle
    var connections = 0
    var isReconnecting = false
    var isPoor = false
    /// Observers of transcripts were notified of a start and of no end.
    var isTranscribed = false
    var transcriptionIsInterrupted = false
    var unsent: [Koine.DataMessage] = []
    var reportsSources = false
    /// Keeps the facade from `stop()` to the end: observers are told of it even if the app releases its session at once.
    /// Follows audio interruptions, for a call that CallKit does not manage.
    var interruptions: Observation?
    var untilItsEnd: Alarm?
  }

  public let configuration: MeetingSessionConfiguration
  public let logger: any Logger
  let environment: MeetingEnvironment
  let audioVideoObservers: Observers<any AudioVideoObserver>
  let transcriptObservers: Observers<any TranscriptEventObserver>
  let roster: Roster
  let speakers: ActiveSpeakers
  let tiles: DefaultVideoTileController
  let videos: RemoteVideos
  let localVideo: LocalVideo
  let contentShare: ContentShare
  let messages: DataMessages
  let metrics: Metrics
  let devices: AudioDevices
  let events: DefaultEventAnalyticsController
  let state = Lock(State())
  private let reports: Repeater

  init(
    _ configuration: MeetingSessionConfiguration, _ logger: any Logger, _ events: DefaultEventAnalyticsController,
    in environment: MeetingEnvironment
  ) {
    self.events = events
    self.configuration = configuration
    self.logger = logger
    self.environment = environment
    audioVideoObservers = Observers(environment.delivery)
    transcriptObservers = Observers(environment.delivery)
    speakers = ActiveSpeakers(environment, selfId: configuration.credentials.attendeeId)
    roster = Roster(environment.delivery, speakers: speakers)
    tiles = DefaultVideoTileController(environment.delivery, logger, selfId: configuration.credentials.attendeeId) {
      [events] count in events.count { figures, _ in figures.hasTiles(count) }
    }
    videos = RemoteVideos(
      environment, selfId: configuration.credentials.attendeeId, tiles: tiles, observers: audioVideoObservers)
    localVideo = LocalVideo(environment, logger, configuration.meetingFeatures, events)
    contentShare = ContentShare(environment, logger, configuration, events)
    messages = DataMessages(environment)
    metrics = Metrics(environment)
    devices = AudioDevices(environment, logger, events)
    reports = Repeater(environment)
    tiles.onPause { [weak videos] isPaused, tileId in videos?.setPaused(isPaused, tileId: tileId) }
  }

  /// While the meeting runs.
  var session: Session? {
    if case .running(let session) = state.withLock({ $0.phase }) { session } else { nil }
  }

  // MARK: Start and stop

  public func start() throws { try start(audioVideoConfiguration: AudioVideoConfiguration()) }

  public func start(callKitEnabled: Bool) throws {
    try start(audioVideoConfiguration: AudioVideoConfiguration(callKitEnabled: callKitEnabled))
  }

  public func start(audioVideoConfiguration: AudioVideoConfiguration) throws {
    let usesMicrophone = audioVideoConfiguration.audioDeviceCapabilities == .inputAndOutput
    if usesMicrophone, environment.audioSession.recordPermission != .granted {
      events.publishEvent(
        name: .audioInputFailed,
        attributes: [EventAttributeName.audioInputError: PermissionError.audioPermissionError])
      throw PermissionError.audioPermissionError
    }
    guard isIdle else { throw MediaError.illegalState }
    let urls = configuration.urls
    for url in [urls.audioHostUrl, urls.audioFallbackUrl] where url.allSatisfy(\.isWhitespace) {
      logger.error(msg: "the audio host's or the fallback's address is blank")
      throw MediaError.audioFailedToStart
    }
    audioVideoObservers.notify { $0.audioSessionDidStartConnecting(reconnecting: false) }
    events.publishEvent(name: .meetingStartRequested)
    events.count { figures, now in figures.startsConnecting(at: now) }
    guard let world = environment.world else {
      logger.error(msg: environment.problem)
      events.publishEvent(
        name: .meetingStartFailed,
        attributes: [
          EventAttributeName.meetingStatus: MeetingSessionStatusCode.audioServiceUnavailable,
          EventAttributeName.meetingErrorMessage: environment.problem,
        ])
      throw MediaError.audioFailedToStart
    }
    var options = SessionOptions(subscribesToEverything: false)
    options.playsStereo = audioVideoConfiguration.audioMode == .stereo48K
    let session = Session(request(audioVideoConfiguration), in: world, options: options)
    let isFirst = state.withLock { state in
      guard state.phase.isIdle else { return false }
      state = State(phase: .running(session))
      return true
    }
    guard isFirst else { throw MediaError.illegalState }
    localVideo.start(limit: audioVideoConfiguration.videoMaxResolution)
    started(session, audioVideoConfiguration)
  }

  private var isIdle: Bool { state.withLock { $0.phase.isIdle } }

  private func request(_ audioVideoConfiguration: AudioVideoConfiguration) -> JoinRequest {
    let credentials = configuration.credentials
    var request = JoinRequest(
      room: configuration.meetingId, credential: credentials.joinToken.isEmpty ? nil : credentials.joinToken,
      participantID: credentials.attendeeId, name: credentials.externalUserId,
      externalUserID: credentials.externalUserId)
    request.reconnectTimeout = .milliseconds(audioVideoConfiguration.reconnectTimeoutMs)
    return request
  }

  private func started(_ session: Session, _ configuration: AudioVideoConfiguration) {
    audioVideoObservers.notify { $0.videoSessionDidStartConnecting() }
    events.meetingStarted()
    videos.start(in: session)
    session.observe { [weak self, weak session] event in
      if let self, let session { self.handle(event, of: session) }
    }
    if configuration.audioDeviceCapabilities == .inputAndOutput {
      devices.publishMicrophone(in: session, configuration)
    }
    reports.start(every: Roster.interval) { [weak self] in
      self?.roster.report()
      self?.speakers.tick()
    }
    metrics.start { [weak self] in self?.session }
    if !configuration.callKitEnabled { manageAudioSession(of: session.world.machine) }
    session.join { _ in }  // how it went is told by events
  }

  /// The SDK leaves category and mode to the app. It starts the audio unit, which activates the session, at the start and after an
  /// interruption. For a call of CallKit the system activates the session, and the SDK leaves it alone.
  private func manageAudioSession(of machine: Machine) {
    let session = AVAudioSession.of(machine)
    session.startCallAudio(category: nil)
    let observation = machine.observe { event in
      if case .interruptionEnded(mayResume: true) = event { session.startCallAudio(category: nil) }
    }
    state.withLock { $0.interruptions = observation }
  }

  public func stop() {
    let phase = state.withLock { state in
      let before = state.phase
      switch before {
      case .running(let session):
        state.phase = .stopping(session)
        state.untilItsEnd = session.world.keep(self)
      case .endedByRoom: state.phase = .idle
      case .idle, .stopping: break
      }
      return before
    }
    switch phase {
    case .running(let session):
      contentShare.meetingEnds()
      session.leave {}
    case .endedByRoom: audioVideoObservers.notify(Self.videoStopped(.ok))
    case .idle, .stopping: break
    }
    localVideo.camera.stop()
  }

  /// The session is over, by our will or not; on the delivery queue.
  func ended(_ reason: EndReason) {
    reports.stop()
    metrics.stop()
    let interruptions = state.withLock { state in
      defer { state.interruptions = nil }
      return state.interruptions
    }
    interruptions?.cancel()
    let (wasStopping, wasReconnecting) = state.withLock { state in
      let wasStopping = if case .stopping = state.phase { true } else { false }
      state.phase = wasStopping ? .idle : .endedByRoom
      return (wasStopping, state.isReconnecting)
    }
    devices.meetingEnded()
    if !wasStopping { contentShare.meetingEnds() }
    localVideo.meetingEnded()
    videos.stop()
    roster.clear()
    if wasReconnecting { audioVideoObservers.notify { $0.audioSessionDidCancelReconnect() } }
    let status = MeetingSessionStatus(statusCode: wasStopping ? .ok : MeetingSessionStatusCode(reason))
    publishEnd(status.statusCode, reason)
    var stops: [(any AudioVideoObserver) -> Void] = [{ $0.audioSessionDidStopWithStatus(sessionStatus: status) }]
    if wasStopping {
      stops.append(Self.videoStopped(.ok))
    } else if reason == .lost {
      state.withLock { $0.phase = .idle }
      stops.append(Self.videoStopped(.videoServiceUnavailable))
    }
    audioVideoObservers.notify(inAnyOrder: stops)
    state.withLock { $0.untilItsEnd }?.cancel()
  }

  private func publishEnd(_ status: MeetingSessionStatusCode, _ reason: EndReason) {
    var attributes: [EventAttributeName: Any] = [.meetingStatus: status]
    switch status {
    case .ok, .audioServerHungup, .audioJoinedFromAnotherDevice:
      events.publishEvent(name: .meetingEnded, attributes: attributes)
    default:
      attributes[.meetingErrorMessage] = if case .refused(let failure) = reason { "\(failure)" } else { "\(reason)" }
      events.publishEvent(name: .meetingFailed, attributes: attributes)
    }
    events.meetingEnded()
  }

  private static func videoStopped(_ code: MeetingSessionStatusCode) -> (any AudioVideoObserver) -> Void {
    let status = MeetingSessionStatus(statusCode: code)
    return { $0.videoSessionDidStopWithStatus(sessionStatus: status) }
  }

  // MARK: Observers

  public func addAudioVideoObserver(observer: any AudioVideoObserver) { audioVideoObservers.add(observer) }
  public func removeAudioVideoObserver(observer: any AudioVideoObserver) { audioVideoObservers.remove(observer) }
  public func addMetricsObserver(observer: any MetricsObserver) {
    metrics.observers.add(observer)
  }
  public func removeMetricsObserver(observer: any MetricsObserver) { metrics.observers.remove(observer) }
}

extension DefaultAudioVideoFacade.Phase {
  /// A meeting may be started.
  var isIdle: Bool {
    switch self {
    case .idle, .endedByRoom: true
    case .running, .stopping: false
    }
  }
}
