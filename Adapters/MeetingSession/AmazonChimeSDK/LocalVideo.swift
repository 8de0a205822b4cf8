import Koine

/// The own picture: from the internal camera or from a source of the app's, sent while the meeting runs.
final class LocalVideo: @unchecked Sendable {  // everything mutable is in `state`
  private struct Sending {
    let stream: LocalStream
    let source: EngineSource
    let bitRateKbps: UInt32
    let isSimulcast: Bool
    let hint: VideoContentHint
  }
  private struct State {
    /// Of this meeting and of how it was started, whichever is smaller.
    var limit: VideoResolution
    var usesCamera = true
    var sending: Sending?
  }

  let camera: DefaultCameraCaptureSource
  private let logger: any Logger
  private let features: MeetingFeatures
  private let state: Lock<State>

  init(
    _ environment: MeetingEnvironment, _ logger: any Logger, _ features: MeetingFeatures,
    _ events: any EventAnalyticsController
  ) {
    camera = DefaultCameraCaptureSource(logger: logger, in: environment)
    camera.setEventAnalyticsController(eventAnalyticsController: events)
    self.logger = logger
    self.features = features
    state = Lock(State(limit: features.videoMaxResolution))
  }

  func start(limit: VideoResolution) {
    let own = features.videoMaxResolution
    state.withLock { $0.limit = limit.height < own.height ? limit : own }
  }

  /// The internal camera counts as in use from the beginning: apps ask for it to know whether to mirror.
  var activeCamera: MediaDevice? { state.withLock { $0.usesCamera } ? camera.device : nil }

  func switchCamera() { if state.withLock({ $0.usesCamera }) { camera.switchCamera() } }

  func startCamera(_ config: LocalVideoConfiguration, in session: Session?) {
    state.withLock { $0.usesCamera = true }
    camera.start()
    // A camera that another program has, for example, is not announced.
    guard camera.isStarted else { return withdraw() }
    send(camera, config, in: session)
  }

  func start(_ source: any VideoSource, _ config: LocalVideoConfiguration, in session: Session?) {
    state.withLock { $0.usesCamera = false }
    send(source, config, in: session)
    camera.stop()
  }

  func stop() {
    withdraw()
    camera.stop()
  }

  private func withdraw() {
    let sending = state.withLock { state in
      defer { state.sending = nil }
      return state.sending
    }
    sending?.stream.unpublish()
  }

  /// The room has refused it, or its source did not start.
  func failed(_ error: Failure) {
    logger.error(msg: "local video is not sent: \(error)")
    let isOver = state.withLock { state in
      guard state.sending?.stream.isOver != false else { return false }  // another has taken its place
      state.sending = nil
      return true
    }
    if isOver { camera.stop() }
  }

  /// The meeting is over, and with it the stream.
  func meetingEnded() {
    state.withLock { $0.sending = nil }
    camera.stop()
  }

  /// With the settings it is sent with already, a stream goes on with another source.
  private func send(_ source: any VideoSource, _ config: LocalVideoConfiguration, in session: Session?) {
    guard let session else { return logger.fault(msg: "local video is not sent before the meeting has started") }
    let old = state.withLock { $0.sending.flatMap { $0.stream.isOver ? nil : $0 } }
    let hint = source.videoContentHint
    if let old, old.bitRateKbps == config.maxBitRateKbps, old.isSimulcast == config.simulcastEnabled, old.hint == hint {
      return old.source.replace(source)
    }
    old?.stream.unpublish()
    let engineSource = EngineSource(source)
    do {
      let stream = try session.publish(camera: engineSource, options: options(config, of: source))
      state.withLock { state in
        state.sending = Sending(
          stream: stream, source: engineSource, bitRateKbps: config.maxBitRateKbps,
          isSimulcast: config.simulcastEnabled, hint: hint)
      }
    } catch {
      state.withLock { $0.sending = nil }
      logger.error(msg: "local video was not sent: \(error)")
    }
  }

  /// What the camera gives is known beforehand, what the app's sources give is not.
  private func options(_ config: LocalVideoConfiguration, of source: any VideoSource) -> VideoPublishOptions {
    let limit = state.withLock { $0.limit }
    let height = min((source as? DefaultCameraCaptureSource)?.expectedHeight ?? 540, limit.height)
    var options = VideoPublishOptions(
      maximumBitrate: Self.bitrate(height), maximumWidth: max(limit.width, 2), maximumHeight: max(limit.height, 2),
      content: source.videoContentHint.content)
    if config.simulcastEnabled, height > VideoLayer.small.maximumHeight { options.lowerLayers = [.small] }
    if config.maxBitRateKbps > 0 { options.maximumBitrate = Int(min(config.maxBitRateKbps, 50_000)) * 1_000 }
    return options
  }

  /// In bit/s.
  private static func bitrate(_ height: Int) -> Int {
    switch height {
    case ...180: 200_000
    case ...360: 700_000
    case ...540: 1_000_000
    case ...720: 1_400_000
    default: 2_500_000
    }
  }
}
