import Koine

/// The own picture: from the internal camera or from a source of the app's, sent while the meeting runs.
final class LocalVideo: @unchecked Sendable {  // everything mutable is in `state`
  private struct Sending {
    let stream: LocalStream
    let source: EngineSource
    let bitRateKbps: UInt32
    let isSimulcast: Bool
  }
  private struct State {
    var usesCamera = true
    var sending: Sending?
  }

  let camera: DefaultCameraCaptureSource
  private let logger: any Logger
  private let features: MeetingFeatures
  private let state = Lock(State())

  init(_ place: Place, _ logger: any Logger, _ features: MeetingFeatures) {
    camera = DefaultCameraCaptureSource(logger: logger, in: place)
    self.logger = logger
    self.features = features
  }

  /// The internal camera counts as in use from the beginning: apps ask for it to know whether to mirror.
  var activeCamera: MediaDevice? { state.withLock { $0.usesCamera } ? camera.device : nil }

  func switchCamera() { if state.withLock({ $0.usesCamera }) { camera.switchCamera() } }

  func startCamera(_ config: LocalVideoConfiguration, in session: Session?) {
    state.withLock { $0.usesCamera = true }
    camera.start()
    send(camera, config, in: session)
  }

  func start(_ source: any VideoSource, _ config: LocalVideoConfiguration, in session: Session?) {
    state.withLock { $0.usesCamera = false }
    send(source, config, in: session)
    camera.stop()
  }

  func stop() {
    let sending = state.withLock { state in
      defer { state.sending = nil }
      return state.sending
    }
    sending?.stream.unpublish()
    camera.stop()
  }

  /// The meeting is over, and with it the stream.
  func meetingEnded() {
    state.withLock { $0.sending = nil }
    camera.stop()
  }

  /// With the settings it is sent with already, a stream goes on with another source.
  private func send(_ source: any VideoSource, _ config: LocalVideoConfiguration, in session: Session?) {
    guard let session else { return logger.fault(msg: "local video is not sent before the meeting has started") }
    let old = state.withLock { $0.sending }
    if let old, old.bitRateKbps == config.maxBitRateKbps, old.isSimulcast == config.simulcastEnabled {
      return old.source.replace(source)
    }
    old?.stream.unpublish()
    let engineSource = EngineSource(source)
    do {
      let stream = try session.publish(camera: engineSource, options: options(config))
      state.withLock { state in
        state.sending = Sending(
          stream: stream, source: engineSource, bitRateKbps: config.maxBitRateKbps,
          isSimulcast: config.simulcastEnabled)
      }
    } catch {
      state.withLock { $0.sending = nil }
      logger.error(msg: "local video was not sent: \(error)")
    }
  }

  private func options(_ config: LocalVideoConfiguration) -> VideoPublishOptions {
    let limit = features.videoMaxResolution
    var options = VideoPublishOptions(
      maximumBitrate: limit.height > 720 ? 2_500_000 : 1_000_000, maximumWidth: max(limit.width, 2),
      maximumHeight: max(limit.height, 2))
    if config.simulcastEnabled {
      options.lowerLayers = [
        VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 150_000, maximumFramesPerSecond: 15)
      ]
    }
    if config.maxBitRateKbps > 0 { options.maximumBitrate = Int(min(config.maxBitRateKbps, 50_000)) * 1_000 }
    return options
  }
}
