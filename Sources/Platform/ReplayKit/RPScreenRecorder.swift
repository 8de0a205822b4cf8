public import Foundation
public import Koine
public import KoineCoreMedia

/// Notified of changes of the recorder, on the delivery queue (main unless the app chose otherwise).
public protocol RPScreenRecorderDelegate: NSObjectProtocol {
  /// `isAvailable` has changed.
  func screenRecorderDidChangeAvailability(_ screenRecorder: RPScreenRecorder)
}

extension RPScreenRecorderDelegate {
  public func screenRecorderDidChangeAvailability(_ screenRecorder: RPScreenRecorder) {}
}

/// Captures the screen of the app's machine: the screen that calls share (`KOINE_SCREEN`, or a test room's). While the app is in the
/// background it captures no video.
///
/// There is no recording to a file and no preview of recordings here.
public final class RPScreenRecorder: NSObject, @unchecked Sendable {  // `state` is a lock, the rest is constant
  private struct State {
    weak var delegate: (any RPScreenRecorderDelegate)?
    var isMicrophoneEnabled = false
    var isAllowed = true
    var isCapturing = false
  }

  private let place: CapturePlace
  private let capture: ScreenCapture
  private let state = Lock(State())

  private init(_ place: CapturePlace) {
    self.place = place
    capture = ScreenCapture(place)
    super.init()
    place.machine?.observe { [weak self] event in
      guard let self else { return }
      switch event {
      case .interruptionBegan, .interruptionEnded: delegate?.screenRecorderDidChangeAvailability(self)
      default: break
      }
    }
  }

  /// The recorder of the app's machine.
  public class func shared() -> RPScreenRecorder { of(World.current) }

  /// The recorder of a world's machine. Koine's own.
  /// - Parameter world: nil: the process's.
  public class func of(_ world: World?) -> RPScreenRecorder {
    let machine = world?.machine ?? .current
    return machine.sharedObject { RPScreenRecorder(CapturePlace(world, machine)) }
  }

  /// Held weakly.
  public var delegate: (any RPScreenRecorderDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// Whether a capture can start: the machine has a screen that can be captured, and no telephone call interrupts.
  public var isAvailable: Bool {
    guard let machine = place.machine, !machine.isInterrupted else { return false }
    do {
      _ = try Devices.camera(place.screen)
      return true
    } catch { return false }
  }

  /// Whether a capture runs.
  public var isRecording: Bool { state.withLock { $0.isCapturing } }

  /// Whether the capture includes the microphone. False by default. It takes effect at once.
  public var isMicrophoneEnabled: Bool {
    get { state.withLock { $0.isMicrophoneEnabled } }
    set {
      let isCapturing = state.withLock { state in
        state.isMicrophoneEnabled = newValue
        return state.isCapturing
      }
      if isCapturing { capture.setMicrophone(newValue) }
    }
  }

  /// Decides what the person at the machine answers when the app asks to capture the screen. Koine's own, for tests.
  /// - Parameter isAllowed: true by default.
  public func setAllowed(_ isAllowed: Bool) { state.withLock { $0.isAllowed = isAllowed } }

  /// Starts a capture of the screen and of the app's audio, and of the microphone if it is enabled and permitted.
  /// - Parameters:
  ///   - captureHandler: called for each sample, one at a time, on a thread of the engine. Its error is always nil: a capture that
  ///     does not start reports to the completion handler alone.
  ///   - completionHandler: called once, on the delivery queue, with an error in `RPRecordingErrorDomain` if the capture does not start:
  ///     `userDeclined`, `activePhoneCall`, `attemptToStartInRecordingState`, or `failedToStart` if the screen cannot be captured.
  public func startCapture(
    handler captureHandler: ((CMSampleBuffer, RPSampleBufferType, (any Error)?) -> Void)?,
    completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
  ) {
    let problem = start(captureHandler)
    place.delivery.deliver { completionHandler?(problem) }
  }

  /// Starts a capture, as `startCapture(handler:completionHandler:)` does.
  /// - Throws: an error in `RPRecordingErrorDomain` if the capture does not start.
  nonisolated(nonsending) public func startCapture(
    handler captureHandler: ((CMSampleBuffer, RPSampleBufferType, (any Error)?) -> Void)?
  ) async throws {
    if let problem = start(captureHandler) { throw problem }
  }

  private func start(_ handler: ((CMSampleBuffer, RPSampleBufferType, (any Error)?) -> Void)?) -> NSError? {
    guard place.machine?.isInterrupted != true else {
      return RPRecordingErrorCode.activePhoneCall.error("a telephone call interrupts the app")
    }
    let (isAllowed, isFirst, hasMicrophone) = state.withLock { state in
      let isFirst = !state.isCapturing
      if state.isAllowed { state.isCapturing = true }
      return (state.isAllowed, isFirst, state.isMicrophoneEnabled)
    }
    guard isFirst else { return RPRecordingErrorCode.attemptToStartInRecordingState.error("a capture runs already") }
    guard isAllowed else { return RPRecordingErrorCode.userDeclined.error("the user declined the capture") }
    nonisolated(unsafe) let handler = handler  // called on one lane only
    let place = place
    do {
      try capture.start(withMicrophone: hasMicrophone) { sample, type in
        if type != .video || place.machine?.isInBackground == false { handler?(sample, type, nil) }
      }
      return nil
    } catch {
      state.withLock { $0.isCapturing = false }
      return RPRecordingErrorCode.failedToStart.error("the screen cannot be captured: \(error)")
    }
  }

  /// Stops the capture. No sample follows once it has returned, but a call of the capture handler may still run.
  /// - Parameter handler: called once, on the delivery queue, with an error if no capture ran.
  public func stopCapture(handler: (@Sendable ((any Error)?) -> Void)? = nil) {
    let problem = stop()
    place.delivery.deliver { handler?(problem) }
  }

  /// Stops the capture.
  /// - Throws: an error in `RPRecordingErrorDomain` if no capture ran.
  nonisolated(nonsending) public func stopCapture() async throws {
    if let problem = stop() { throw problem }
  }

  private func stop() -> NSError? {
    let wasCapturing = state.withLock { state in
      defer { state.isCapturing = false }
      return state.isCapturing
    }
    guard wasCapturing else { return RPRecordingErrorCode.attemptToStopNonRecording.error("no capture runs") }
    capture.stop()
    return nil
  }
}
