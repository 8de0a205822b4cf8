import Koine

/// A video source that captures its frames itself: a camera or a screen.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoCaptureSource.html)
public protocol VideoCaptureSource: VideoSource {
  func start()
  func stop()
  func addCaptureSourceObserver(observer: any CaptureSourceObserver)
  func removeCaptureSourceObserver(observer: any CaptureSourceObserver)
}

/// A camera. The app can use it with or without a meeting.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/CameraCaptureSource.html)
public protocol CameraCaptureSource: VideoCaptureSource {
  var device: MediaDevice? { get set }
  var torchEnabled: Bool { get set }
  var format: VideoCaptureFormat { get set }
  func switchCamera()
}

/// Notified when a capture source starts, stops or fails.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/CaptureSourceObserver.html)
public protocol CaptureSourceObserver: AnyObject {
  func captureDidStart()
  func captureDidStop()
  func captureDidFail(error: CaptureSourceError)
}

/// The camera of the machine, front and back, as `KOINE_CAMERA` or the world names it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultCameraCaptureSource.html)
public final class DefaultCameraCaptureSource: CameraCaptureSource, @unchecked Sendable {  // all mutable in `state`
  private struct State {
    var hint = VideoContentHint.motion
    var device: MediaDevice? = .frontCamera
    var format = VideoCaptureFormat(width: 1_280, height: 720, maxFrameRate: 30)
    var camera: (any Koine.VideoSource)?
    var nextDue: Tick?
    var events: (any EventAnalyticsController)?
    var isInterrupted = false
    var observation: Observation?
    /// Id of the machine's camera with the torch that this object has turned on.
    var litTorch: Machine.Device.ID?
  }

  private let environment: MeetingEnvironment
  private let logger: any Logger
  private let lane: Lane
  private let pool = FramePool(limit: 4)
  private let sinks = Sinks()
  private let observers: Observers<any CaptureSourceObserver>
  private let state = Lock(State())

  public convenience init(logger: any Logger) { self.init(logger: logger, in: MeetingEnvironment()) }

  init(logger: any Logger, in environment: MeetingEnvironment) {
    self.logger = logger
    self.environment = environment
    lane = environment.lane.scheduler.lane("camera")
    observers = Observers(environment.delivery)
    let observation = environment.machine.observe { [weak self] in self?.handle($0) }
    state.withLock { $0.observation = observation }
  }

  deinit {
    let (observation, torch) = state.withLock { ($0.observation, $0.litTorch) }
    observation?.cancel()
    if let torch { environment.machine.setTorch(false, of: torch) }
  }

  /// The controller that takes the camera's events from now on; the facade's own camera has the session's.
  public func setEventAnalyticsController(eventAnalyticsController: (any EventAnalyticsController)?) {
    let old = state.withLock { state in
      defer { state.events = eventAnalyticsController }
      return state.events
    }
    withExtendedLifetime(old) {}  // let go of outside the lock
  }

  private var events: (any EventAnalyticsController)? { state.withLock { $0.events } }

  /// A camera gives no frames in the background. On the delivery queue.
  private func handle(_ event: Machine.Event) {
    switch event {
    case .wentToBackground:
      guard
        state.withLock({ state in
          state.isInterrupted = state.camera != nil
          return state.isInterrupted
        })
      else { return }
      events?.publishEvent(
        name: .videoInterruptionBegan,
        attributes: [
          EventAttributeName.videoInterruptionReason: VideoInterruptionReason.videoDeviceNotAvailableInBackground
        ], notifyObservers: false)
    case .cameToForeground:
      guard
        state.withLock({ state in
          defer { state.isInterrupted = false }
          return state.isInterrupted
        })
      else { return }
      events?.publishEvent(name: .videoInterruptionEnded, attributes: [:], notifyObservers: false)
    default: break
    }
  }

  public var videoContentHint: VideoContentHint {
    get { state.withLock { $0.hint } }
    set { state.withLock { $0.hint = newValue } }
  }

  /// Nil: there is none. Another one while running goes on with that.
  public var device: MediaDevice? {
    get { state.withLock { $0.device } }
    set { change { $0.device = newValue } }
  }

  /// Larger pictures are scaled down to it, keeping their shape, and more than so many a second are left out.
  public var format: VideoCaptureFormat {
    get { state.withLock { $0.format } }
    set { change { $0.format = newValue } }
  }

  /// Whether the camera has a torch (`Machine.Device.hasTorch`).
  public var torchAvailable: Bool { found?.hasTorch ?? false }

  /// Whether the torch is on. Without a torch it stays off. It goes off with the last reference to this object.
  public var torchEnabled: Bool {
    get { state.withLock { $0.litTorch }.map { environment.machine.isTorchOn($0) } ?? false }
    set {
      setTorch(newValue)
      if newValue, !torchEnabled { logger.info(msg: "the camera has no torch") }
    }
  }

  /// The machine's camera that stands for `device`.
  private var found: Machine.Device? { device?.camera(of: environment.machine) }

  private func setTorch(_ isOn: Bool) {
    let camera = isOn ? found?.id : nil
    let lit = camera.flatMap { environment.machine.setTorch(true, of: $0) ? $0 : nil }
    let old = state.withLock { state in
      defer { state.litTorch = lit }
      return state.litTorch
    }
    if let old, old != lit { environment.machine.setTorch(false, of: old) }
  }

  public func addVideoSink(sink: any VideoSink) { sinks.add(sink) }
  public func removeVideoSink(sink: any VideoSink) { sinks.remove(sink) }
  public func addCaptureSourceObserver(observer: any CaptureSourceObserver) { observers.add(observer) }
  public func removeCaptureSourceObserver(observer: any CaptureSourceObserver) { observers.remove(observer) }

  /// Of its pictures; nil while it does not run.
  var expectedHeight: Int? {
    state.withLock { state in state.camera.map { min($0.format.height, state.format.height) } }
  }

  /// Whether the camera was started. It may still give no frames, as in the background.
  var isStarted: Bool { state.withLock { $0.camera != nil } }

  public func start() {
    guard !isStarted else { return }
    if run() { observers.notify { $0.captureDidStart() } }
  }

  public func stop() { if halt() { observers.notify { $0.captureDidStop() } } }

  public func switchCamera() {
    let new = device?.type == .videoBackCamera ? MediaDevice.frontCamera : MediaDevice.backCamera
    guard new.camera(of: environment.machine) != nil else {
      device = nil
      logger.error(msg: "there is no camera to switch to")
      events?.publishEvent(
        name: .videoInputFailed, attributes: [EventAttributeName.videoInputError: MediaError.noCameraSelected])
      return
    }
    device = new
    events?.publishEvent(
      name: .videoInputSelected, attributes: [EventAttributeName.videoDeviceType: new.type.description],
      notifyObservers: false)
  }

  /// Opens the camera.
  private func run() -> Bool {
    guard let device else { return fail(.configurationFailure, "no camera is selected") }
    guard let found = device.camera(of: environment.machine) else {
      return fail(.configurationFailure, "there is no camera")
    }
    do {
      let camera = try environment.machine.makeCamera(found.id)
      state.withLock { state in
        state.camera = camera
        state.nextDue = nil
      }
      try camera.start(on: lane) { [weak self] frame in self?.deliver(frame) }
      return true
    } catch {
      state.withLock { $0.camera = nil }
      return fail(.systemFailure, "\(error)")
    }
  }

  private func halt() -> Bool {
    let camera = state.withLock { state in
      defer { state.camera = nil }
      return state.camera
    }
    camera?.stop()
    return camera != nil
  }

  private func change(_ change: (inout State) -> Void) {
    state.withLock { change(&$0) }
    if torchEnabled { setTorch(true) }  // of the other camera, if that has one
    if halt(), !run() { observers.notify { $0.captureDidStop() } }
  }

  private func fail(_ error: CaptureSourceError, _ reason: String) -> Bool {
    logger.error(msg: "the camera did not start: \(reason)")
    events?.publishEvent(name: .videoInputFailed, attributes: [EventAttributeName.videoInputError: error])
    observers.notify { $0.captureDidFail(error: error) }
    return false
  }

  /// On the camera's lane.
  private func deliver(_ frame: Koine.VideoFrame) {
    let format = state.withLock { state -> VideoCaptureFormat? in
      guard state.camera != nil else { return nil }
      let interval = Duration.nanoseconds(1_000_000_000 / Int64(max(state.format.maxFrameRate, 1)))
      // half an interval of tolerance: a camera of just this rate is never quite on time
      if let due = state.nextDue, frame.captured < due - interval / 2 { return nil }
      state.nextDue = max(state.nextDue ?? frame.captured, frame.captured - interval) + interval
      return state.format
    }
    guard let format else { return }
    let scale = min(Double(format.width) / Double(frame.width), Double(format.height) / Double(frame.height))
    guard scale < 1 else { return sinks.hand(VideoFrame(frame)) }
    func even(_ side: Int) -> Int { max(2, Int(Double(side) * scale) & ~1) }
    sinks.hand(VideoFrame(frame.scaled(to: even(frame.width), even(frame.height), pool: pool)))
  }
}
