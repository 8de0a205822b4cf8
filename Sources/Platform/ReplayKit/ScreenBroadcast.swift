public import Foundation
public import Koine

/// A broadcast of the machine's screen to a handler, as the user starts it in Control Center. Koine's own: there are no extensions and no
/// Control Center here.
///
///     let broadcast = ScreenBroadcast(to: SampleHandler(), in: world)
///     broadcast.start()
///     broadcast.finish()
///
/// Any thread may call any method. The methods of the handler are called in the order of these calls, and never two at a time: samples on a
/// thread of the engine, the other ones on the delivery queue (main unless the app chose otherwise).
public final class ScreenBroadcast: @unchecked Sendable {  // a lock; `handler`: above
  /// The state of a broadcast.
  public enum State: Sendable, Hashable {
    /// Not started.
    case ready
    /// The handler gets samples.
    case running
    /// The handler gets no samples.
    case paused
    /// Finished by the user, or by an error.
    case finished
  }

  private struct Mutable {
    var state = State.ready
    var error: (any Error)?
    /// What the handler is still to be told. The first may be under way.
    var steps: [@Sendable () -> Void] = []
    var serviceInfo: [String: any NSCoding & NSObjectProtocol]?
    var url: URL?
  }

  private let handler: RPBroadcastSampleHandler
  private let hasMicrophone: Bool
  private let world: World?
  private let place: CapturePlace
  private let capture: ScreenCapture
  private let mutable = Lock(Mutable())

  /// Creates a broadcast.
  /// - Parameters:
  ///   - handler: kept until the broadcast is released.
  ///   - withMicrophone: whether the user has turned the microphone on.
  ///   - world: nil: the process's machine.
  public init(to handler: RPBroadcastSampleHandler, withMicrophone: Bool = false, in world: World? = .current) {
    self.handler = handler
    hasMicrophone = withMicrophone
    self.world = world
    place = CapturePlace(world, world?.machine ?? .current)
    capture = ScreenCapture(place)
  }

  deinit { capture.stop() }

  /// The state, as of the calls so far.
  public var state: State { mutable.withLock { $0.state } }
  /// The error with which the handler has ended the broadcast, or because of which the screen could not be captured.
  public var error: (any Error)? { mutable.withLock { $0.error } }
  /// What the handler has last given to `updateServiceInfo(_:)`.
  public var serviceInfo: [String: any NSCoding & NSObjectProtocol]? { mutable.withLock { $0.serviceInfo } }
  /// What the handler has last given to `updateBroadcast(_:)`.
  public var broadcastURL: URL? { mutable.withLock { $0.url } }

  /// Starts the broadcast. A handler that has called `finishBroadcastWithError(_:)` before gets no call.
  /// - Parameter setupInfo: what the handler gets from the broadcast's user interface.
  public func start(setupInfo: [String: NSObject]? = nil) {
    nonisolated(unsafe) let setupInfo = setupInfo  // handed over to the delivery queue
    move(from: .ready, to: .running) { [self] in
      if let error = handler.follow(self) { return fail(error) }
      handler.broadcastStarted(withSetupInfo: setupInfo)
      startCapture()
    }
  }

  /// Pauses a running broadcast.
  public func pause() {
    move(from: .running, to: .paused) { [self] in handler.broadcastPaused() }
  }

  /// Resumes a paused broadcast.
  public func resume() {
    move(from: .paused, to: .running) { [self] in
      handler.broadcastResumed()
      startCapture()
    }
  }

  /// Finishes the broadcast.
  public func finish() {
    let isFirst = mutable.withLock { mutable in
      let wasActive = mutable.state == .running || mutable.state == .paused
      if wasActive {
        mutable.state = .finished
        mutable.steps.append { [self] in handler.broadcastFinished() }
      }
      return wasActive && mutable.steps.count == 1
    }
    if isFirst { takeStep() }
  }

  private func move(from old: State, to new: State, _ step: @escaping @Sendable () -> Void) {
    let isFirst = mutable.withLock { mutable in
      guard mutable.state == old else { return false }
      mutable.state = new
      mutable.steps.append(step)
      return mutable.steps.count == 1
    }
    if isFirst { takeStep() }
  }

  /// Takes the first step once the handler has returned from its last sample.
  private func takeStep() {
    capture.stop()
    capture.lane.post { [self] in
      place.delivery.deliver { [self] in
        guard let step = mutable.withLock({ $0.steps.first }) else { return }
        if error == nil { place.enter(step) }
        let isLast = mutable.withLock { mutable in
          mutable.steps.removeFirst()
          return mutable.steps.isEmpty
        }
        if !isLast { takeStep() }
      }
    }
  }

  private func startCapture() {
    guard error == nil else { return }  // the handler has ended the broadcast in its callback
    do {
      try capture.start(withMicrophone: hasMicrophone) { [weak self] sample, type in
        self?.handler.processSampleBuffer(sample, with: type)
      }
    } catch {
      fail(RPRecordingErrorCode.failedToStart.error("the screen cannot be captured: \(error)"))
    }
  }

  func fail(_ error: any Error) {
    mutable.withLock { mutable in
      guard mutable.state != .finished || mutable.error == nil else { return }
      (mutable.state, mutable.error) = (.finished, mutable.error ?? error)
    }
    capture.stop()
  }

  func setServiceInfo(_ info: [String: any NSCoding & NSObjectProtocol]) {
    nonisolated(unsafe) let info = info
    mutable.withLock { $0.serviceInfo = info }
  }

  func setURL(_ url: URL) { mutable.withLock { $0.url = url } }
}
