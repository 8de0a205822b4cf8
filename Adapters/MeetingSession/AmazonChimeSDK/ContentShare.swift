import Koine

/// The content share, a stream besides the camera. While the meeting runs, the meeting's session carries it. Otherwise it has
/// a connection of its own, because a share can start without a running meeting and continues after the meeting stops.
final class ContentShare: @unchecked Sendable {  // everything mutable is in `state`
  private struct Sharing {
    /// One for each publication: the end of one must not stop the next.
    var source: EngineSource
    let config: LocalVideoConfiguration
    var stream: LocalStream?
    /// Set while the share has a connection of its own.
    var session: Session?
    var hasBegun = false
    /// Since the connection of its own is being opened; nil once it is open.
    var connectingSince: Tick?
  }

  let observers: Observers<any ContentShareObserver>
  private let environment: MeetingEnvironment
  private let logger: any Logger
  private let configuration: MeetingSessionConfiguration
  private let events: DefaultEventAnalyticsController
  private let sharing = Lock<Sharing?>(nil)

  init(
    _ environment: MeetingEnvironment, _ logger: any Logger, _ configuration: MeetingSessionConfiguration,
    _ events: DefaultEventAnalyticsController
  ) {
    self.events = events
    observers = Observers(environment.delivery)
    self.environment = environment
    self.logger = logger
    self.configuration = configuration
  }

  /// - Parameter session: of the meeting, if it is running.
  func start(_ source: ContentShareSource, _ config: LocalVideoConfiguration, in session: Session?) {
    guard let video = source.videoSource else { return }
    guard configuration.meetingFeatures.contentMaxResolution != .videoDisabled else {
      return logger.error(msg: "this meeting has no content share")
    }
    events.publishEvent(name: .contentShareStartRequested)
    let running = sharing.withLock { sharing in
      if sharing == nil { sharing = Sharing(source: EngineSource(video), config: config) }
      return sharing?.stream == nil ? nil : sharing
    }
    if let running { running.source.replace(video) } else { publish(in: session) }
  }

  /// A share that has not begun yet cannot be stopped.
  func stop() {
    let ended = sharing.withLock { sharing in
      defer { if sharing?.hasBegun == true { sharing = nil } }
      return sharing?.hasBegun == true ? sharing : nil
    }
    guard let ended else { return }
    ended.stream?.unpublish()
    ended.session?.leave {}
    events.publishEvent(name: .contentShareStopped)
    tellStop(.ok)
  }

  /// The room has taken the stream, on the delivery queue.
  func published(_ id: Track.ID) {
    let isFirst = sharing.withLock { sharing in
      guard sharing?.stream?.id.track == id.track, sharing?.hasBegun == false else { return false }
      sharing?.hasBegun = true
      return true
    }
    guard isFirst else { return }
    events.publishEvent(name: .contentShareStarted)
    observers.notify { $0.contentShareDidStart() }
  }

  /// A stream was refused by the room, or its source did not start.
  func failed(_ error: Failure) {
    guard sharing.withLock({ $0?.stream?.isOver == true }) else { return }
    fail("\(error)", as: VideoClientFailedError(error))
  }

  /// The meeting's session ends: what it carried goes on over a connection of its own.
  func meetingEnds() {
    let goesOn = sharing.withLock { sharing in
      guard let source = sharing?.source, sharing?.session == nil else { return false }
      sharing?.stream = nil
      sharing?.source = EngineSource(following: source)
      return true
    }
    if goesOn { publish(in: nil) }
  }

  private func publish(in meeting: Session?) {
    guard let sharing = sharing.withLock({ $0 }), let session = meeting ?? ownSession() else { return fail("no room") }
    do {
      let limit = configuration.meetingFeatures.contentMaxResolution
      var options = VideoPublishOptions(
        maximumBitrate: 2_500_000, maximumFramesPerSecond: 15, maximumWidth: limit.width, maximumHeight: limit.height,
        content: sharing.source.hint.content)
      if sharing.config.maxBitRateKbps > 0 {
        options.maximumBitrate = Int(min(sharing.config.maxBitRateKbps, 50_000)) * 1_000
      }
      let stream = try session.publish(camera: sharing.source, as: .screen, options: options)
      self.sharing.withLock { sharing in
        sharing?.stream = stream
        sharing?.session = meeting == nil ? session : nil
        sharing?.connectingSince = meeting == nil ? environment.now : nil
      }
      if meeting == nil { session.join { _ in } }  // how it went is told by events
      if stream.isOver { fail("it did not start") }  // told before it was known here
    } catch {
      fail("\(error)")
    }
  }

  private func ownSession() -> Session? {
    guard let world = environment.world else { return nil }
    let credentials = configuration.credentials
    let token = credentials.joinToken
    let session = Session(
      JoinRequest(
        room: configuration.meetingId, credential: token.isEmpty ? nil : DefaultModality.content(of: token),
        participantID: DefaultModality.content(of: credentials.attendeeId), name: credentials.externalUserId,
        externalUserID: credentials.externalUserId),
      in: world, options: SessionOptions(subscribesToEverything: false))
    session.observe { [weak self, weak session] event in
      switch event {
      case .streamPublished(let stream): self?.published(stream.id)
      case .publishFailed(_, let error): self?.failed(error)
      case .stateChanged(.connected): self?.connected()
      case .stateChanged(.reconnecting):
        self?.events.publishEvent(
          name: .contentShareSignalingDropped,
          attributes: [EventAttributeName.signalingDroppedError: SignalingDroppedError.signalingClientDisconnected])
      case .stateChanged(.ended(let reason)) where reason != .left:
        if let self, self.sharing.withLock({ $0?.session === session }) {
          self.fail("\(reason)", as: VideoClientFailedError(reason))
        }
      default: break
      }
    }
    return session
  }

  /// The connection of its own is open, for the first time or again.
  private func connected() {
    let since = sharing.withLock { sharing in
      defer { sharing?.connectingSince = nil }
      return sharing?.connectingSince
    }
    guard let since else { return }
    let duration = (environment.now - since).nanoseconds / 1_000_000
    events.publishEvent(
      name: .contentShareSignalingOpened, attributes: [EventAttributeName.signalingOpenDurationMs: duration])
  }

  private func fail(_ reason: String, as error: VideoClientFailedError = .other) {
    logger.error(msg: "the content share failed: \(reason)")
    let failed = sharing.withLock { sharing in
      defer { sharing = nil }
      return sharing
    }
    guard let failed else { return }
    failed.session?.leave {}
    events.publishEvent(name: .contentShareFailed, attributes: [EventAttributeName.contentShareError: error])
    tellStop(.videoServiceFailed)
  }

  private func tellStop(_ code: ContentShareStatusCode) {
    let status = ContentShareStatus(statusCode: code)
    observers.notify { $0.contentShareDidStop(status: status) }
  }
}

extension VideoClientFailedError {
  fileprivate init(_ failure: Failure) {
    self = failure.code == .unauthorized || failure.code == .forbidden ? .authenticationFailed : .other
  }

  fileprivate init(_ reason: EndReason) {
    self =
      switch reason {
      case .refused(let failure): VideoClientFailedError(failure)
      case .lost: .maxRetryPeriodExceeded
      default: .other
      }
  }
}
