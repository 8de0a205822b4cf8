import Koine

/// The screen of the machine for a content share: the world's screen device (`KOINE_SCREEN`).
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/InAppScreenCaptureSource.html)
public final class InAppScreenCaptureSource: VideoCaptureSource, @unchecked Sendable {  // everything mutable in `state`
  private struct State {
    var hint = VideoContentHint.text
    var screen: (any Koine.VideoSource)?
    var resender: VideoFrameResender?
  }

  /// In frames per second: a screen that does not change is sent again so often.
  private static let leastFrameRate: UInt = 5

  private let logger: any Logger
  private let lane: Lane
  private let words: String
  private let sinks = Sinks()
  private let observers: Observers<any CaptureSourceObserver>
  private let state = Lock(State())

  public convenience init(logger: any Logger) { self.init(logger: logger, in: MeetingEnvironment()) }

  init(logger: any Logger, in environment: MeetingEnvironment) {
    self.logger = logger
    lane = environment.lane.scheduler.lane("screen")
    words = environment.world.map(\.devices.screen) ?? DefaultDevices.environment.screen
    observers = Observers(environment.delivery)
  }

  public var videoContentHint: VideoContentHint {
    get { state.withLock { $0.hint } }
    set { state.withLock { $0.hint = newValue } }
  }

  public func addVideoSink(sink: any VideoSink) { sinks.add(sink) }
  public func removeVideoSink(sink: any VideoSink) { sinks.remove(sink) }
  public func addCaptureSourceObserver(observer: any CaptureSourceObserver) { observers.add(observer) }
  public func removeCaptureSourceObserver(observer: any CaptureSourceObserver) { observers.remove(observer) }

  public func start() {
    guard state.withLock({ $0.screen == nil }) else { return }
    do {
      let screen = try Devices.camera(words)
      let resender = VideoFrameResender(minFramerate: Self.leastFrameRate, on: lane) { [sinks] in sinks.hand($0) }
      state.withLock { ($0.screen, $0.resender) = (screen, resender) }
      try screen.start(on: lane) { [weak self] frame in self?.deliver(frame) }
      observers.notify { $0.captureDidStart() }
    } catch {
      state.withLock { ($0.screen, $0.resender) = (nil, nil) }
      logger.error(msg: "the screen is not captured: \(error)")
      observers.notify { $0.captureDidFail(error: .systemFailure) }
    }
  }

  public func stop() {
    let (screen, resender) = state.withLock { state in
      defer { (state.screen, state.resender) = (nil, nil) }
      return (state.screen, state.resender)
    }
    resender?.stop()
    guard let screen else { return }
    screen.stop()
    observers.notify { $0.captureDidStop() }
  }

  /// On the screen's lane.
  private func deliver(_ frame: Koine.VideoFrame) {
    guard let resender = state.withLock({ $0.resender }) else { return }
    let frame = VideoFrame(frame)
    sinks.hand(frame)
    resender.frameDidSend(videoFrame: frame)
  }
}
