public import Foundation
import Koine
import KoineComposition

/// Sends the output of its mixer to one destination: an RTMP server, HLS, or an `.mp4` or `.webm` file. The app calls
/// `MediaFiles.register()` before.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSBroadcastSession.html)
public class IVSBroadcastSession: IVSSession, @unchecked Sendable {  // `state` is a lock

  /// State of a broadcast session.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSBroadcastSessionState.html)
  public enum State: Int, Sendable {
    case invalid = 0
    case disconnected = 1
    case connecting = 2
    case connected = 3
    case error = 4
  }

  /// State of a broadcast session's reconnection.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSBroadcastSessionRetryState.html)
  public enum RetryState: Int, Sendable {
    case notRetrying = 0
    case waitingForInternet = 1
    case waitingForBackoffTimer = 2
    case retrying = 3
    case success = 4
    case failure = 5
  }

  /// Severity of log messages.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSBroadcastLogLevel.html)
  public enum LogLevel: Int, Sendable {
    case debug = 0
    case info = 1
    case warn = 2
    case error = 3
  }

  /// How the SDK uses the audio session of the system. It has no effect in Koine.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSSessionAudioSessionStrategy.html)
  public enum AudioSessionStrategy: Int, Sendable {
    case playAndRecord = 0
    case playAndRecordDefaultToSpeaker = 1
    case recordOnly = 2
    case noAction = 3
    case stages = 4
  }

  /// Notified of a broadcast session, on the delivery queue. All methods but the first two are optional.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSBroadcastSessionDelegate.html)
  public protocol Delegate: AnyObject {
    func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State)
    func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: any Error)
    func broadcastSession(_ session: IVSBroadcastSession, didAddDevice descriptor: IVSDeviceDescriptor)
    func broadcastSession(_ session: IVSBroadcastSession, didRemoveDevice descriptor: IVSDeviceDescriptor)
    /// How loud the mixed sound is, ten times a second while it is sent; in dBFS, −100...0.
    func broadcastSession(_ session: IVSBroadcastSession, audioStatsUpdatedWithPeak peak: Double, rms: Double)
    /// Called where the configuration's `autoReconnect` is enabled and a server has gone.
    func broadcastSession(_ session: IVSBroadcastSession, didChange retryState: IVSBroadcastSession.RetryState)
  }

  private struct Mutable {
    weak var delegate: (any Delegate)?
    var broadcast: Broadcast?
    /// Measures the sent sound for the delegate.
    var meter: SoundMeter?
    /// Counts beginnings and ends.
    var run = 0
    var isSending = false
    var runsInBackground = false
    /// A server's address, while it is to be tried again.
    var server: URL?
    /// Since it was last connected.
    var tries = 0
  }

  /// How often a server is tried again before it counts as gone, after one second, two, three and so on.
  private static let mostTries = 5
  private let reconnects: Bool
  private let state: Lock<Mutable>
  private let bitrate: Int
  private let bitrateLimits: ClosedRange<Int>?
  private let increasesBitrateQuickly: Bool
  private let soundBitrate: Int
  private let keyFrameInterval: Duration
  private let usesBFrames: Bool
  private let audioComplexity: Int?
  private let framesInInterval: Int
  private let background = Lock<[VideoFrame]>([])
  private let observation = Lock<Observation?>(nil)

  /// - Parameter descriptors: of the machine's devices to begin with, in the first slots that fit.
  /// - Throws: for two slots of one name.
  public init(
    configuration: IVSBroadcastConfiguration, descriptors: [IVSDeviceDescriptor]?, delegate: (any Delegate)?
  ) throws {
    state = Lock(Mutable(delegate: delegate))
    bitrate = configuration.video.encodedBitrate
    bitrateLimits = configuration.video.automaticLimits
    increasesBitrateQuickly = configuration.video.autoBitrateProfile == .fastIncrease
    soundBitrate = configuration.audio.bitrate
    reconnects = configuration.autoReconnect.enabled
    keyFrameInterval = .seconds(Double(configuration.video.keyframeInterval))
    usesBFrames = configuration.video.usesBFrames
    audioComplexity = configuration.audio.quality.complexity
    framesInInterval = max(
      1, Int((configuration.video.keyframeInterval * Float(configuration.video.targetFramerate)).rounded()))
    try super.init(configuration)
    for descriptor in descriptors ?? [] { attach(descriptor, toSlotWithName: nil) }
    let machine = world.machine
    let observation = machine.observe { [weak self] event in
      guard let self else { return }
      switch event {
      case .plugged(let device) where device.kind != .loudspeaker:
        self.delegate?.broadcastSession(self, didAddDevice: IVSDeviceDescriptor(device, of: machine))
      case .unplugged(let device) where device.kind != .loudspeaker:
        self.delegate?.broadcastSession(self, didRemoveDevice: IVSDeviceDescriptor(device, of: machine))
      case .wentToBackground: goToBackground()
      case .cameToForeground: mixer.composition.showLoop(of: [])
      default: break
      }
    }
    self.observation.withLock { $0 = observation }
  }

  deinit { observation.withLock { $0 }?.cancel() }

  /// Held weakly.
  public var delegate: (any Delegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// Begins to send. How it goes is told to the delegate.
  /// - Parameter streamKey: the last part of an RTMP server's URL; means nothing to a file.
  /// - Throws: when nothing here writes to such a place, or something is being sent already.
  public func start(with url: URL, streamKey: String) throws {
    let place = url.isFileURL || streamKey.isEmpty ? url : url.appendingPathComponent(streamKey)
    let run = state.withLock { state -> Int? in
      guard !state.isSending else { return nil }
      state.isSending = true
      state.run += 1
      state.tries = 0
      state.server = reconnects && !url.isFileURL ? place : nil
      return state.run
    }
    guard let run else { throw NSError.ivs(.invalidState, "the session is sending already", source: sessionId) }
    do {
      try open(place, run)
    } catch {
      _ = finish(run)
      throw NSError.ivs(.networkConnectivityLost, "\(error)", source: sessionId, fatal: true)
    }
  }

  private func open(_ place: URL, _ run: Int) throws {
    let output = try BroadcastOutputs.make(for: place)
    notifyDelegate(State.connecting)
    let broadcast = try Broadcast(
      of: mixer.composition, to: output, bitrate: bitrate, soundBitrate: soundBitrate,
      keyFrameInterval: keyFrameInterval, usesBFrames: usesBFrames,
      audioComplexity: audioComplexity, bitrateLimits: bitrateLimits,
      increasesBitrateQuickly: increasesBitrateQuickly, onReadable: { [weak self] in self?.took(run) },
      onFailure: { [weak self] error in self?.broke(run, error) })
    let meter = SoundMeter(of: mixer.composition) { [weak self] levels in
      guard let self else { return }
      delegate?.broadcastSession(self, audioStatsUpdatedWithPeak: levels.peak, rms: levels.rms)
    }
    let isOver = state.withLock { state in
      guard state.run == run else { return true }
      (state.broadcast, state.meter) = (broadcast, meter)
      return false
    }
    if isOver { try? broadcast.stop() }  // broken already, which has been told
  }

  /// Finishes; the end is told to the delegate, after an error if the output could not be finished. A server that is to be
  /// tried again is so no more.
  public func stop() {
    guard let ended = finish(state.withLock { $0.run }) else { return }
    if ended.tries > 0 { notifyDelegate(RetryState.notRetrying) }
    guard let broadcast = ended.broadcast else {
      if ended.tries > 0 { notifyDelegate(State.disconnected) }
      return
    }
    do {
      try broadcast.stop()
      notifyDelegate(State.disconnected)
    } catch {
      tellFailure(error)
    }
  }

  private struct Ended {
    let broadcast: Broadcast?
    let meter: SoundMeter?
    let tries: Int
  }

  /// - Returns: nil if it was over.
  private func finish(_ run: Int) -> Ended? {
    state.withLock { state in
      guard state.isSending, state.run == run else { return nil }
      defer { (state.isSending, state.broadcast, state.meter) = (false, nil, nil) }
      state.run += 1
      return Ended(broadcast: state.broadcast, meter: state.meter, tries: state.tries)
    }
  }

  private func took(_ run: Int) {
    world.delivery.deliver { [weak self] in
      guard let self else { return }
      let tries = state.withLock { state -> Int? in
        guard state.run == run else { return nil }
        defer { state.tries = 0 }
        return state.tries
      }
      guard let tries else { return }
      if tries > 0 { delegate?.broadcastSession(self, didChange: RetryState.success) }
      log(.info, "state: \(State.connected)")
      delegate?.broadcastSession(self, didChange: State.connected)
    }
  }

  /// The output takes no more.
  private func broke(_ run: Int, _ error: any Error) {
    world.delivery.deliver { [weak self] in
      guard let self else { return }
      if let next = nextTry(after: run) {
        try? next.broken?.stop()  // fails for the reason that is told
        emit(error, fatal: false)
        notifyDelegate(RetryState.waitingForBackoffTimer)
        let lane = world.backend.scheduler.lane("broadcast")
        lane.post(at: lane.scheduler.now + .seconds(next.number)) { [weak self] in self?.tryAgain(next) }
      } else if let ended = finish(run) {  // else stopped meanwhile, which told it
        try? ended.broadcast?.stop()
        if ended.tries > 0 { notifyDelegate(RetryState.failure) }
        tellFailure(error)
      }
    }
  }

  // MARK: In the background

  /// Makes a source of the video that the broadcast shows while the app is in the background. By default a broadcast stops then, and
  /// the app starts it again. Once the source is finished, the broadcast goes on: it shows the source's frames in turn, with the audio
  /// of its devices.
  /// - Parameters:
  ///   - attemptTrim: whether frames that do not fill an interval between key frames are left out; otherwise the last frame is repeated
  ///     to fill the interval. Fewer frames than one interval are always filled up.
  ///   - onComplete: called once, on the delivery queue, after the source is finished, with an error if it had no frames.
  /// - Returns: nil while the app is in the background.
  public func createAppBackgroundImageSource(
    withAttemptTrim attemptTrim: Bool, onComplete: (((any Error)?) -> Void)? = nil
  ) -> (any IVSBackgroundImageSource)? {
    guard !world.machine.isInBackground else {
      log(.error, "a background image source is made in the foreground only")
      return nil
    }
    let interval = framesInInterval
    nonisolated(unsafe) let onComplete = onComplete  // called on the delivery queue, once
    return BackgroundImageSource(in: world) { [weak self, world] images in
      let error: NSError? =
        images.isEmpty ? .ivs(.invalidState, "the background image source has no images", source: "background") : nil
      let frames = Self.loop(of: images, interval: interval, trims: attemptTrim)
      self?.background.withLock { $0 = frames }
      world.delivery.deliver { onComplete?(error) }
    }
  }

  /// Stops broadcasts in the background again.
  /// - Throws: `foregroundOnly` while the app is in the background.
  public func removeImageSourceOnAppBackgrounded() throws {
    guard !world.machine.isInBackground else {
      throw NSError.ivs(.foregroundOnly, "the app is in the background", source: sessionId)
    }
    background.withLock { $0 = [] }
  }

  /// A number of frames that fills intervals between key frames.
  private static func loop(of images: [VideoFrame], interval: Int, trims: Bool) -> [VideoFrame] {
    guard let last = images.last else { return [] }
    let excess = images.count % interval
    if excess == 0 { return images }
    if trims, images.count > interval { return Array(images.dropLast(excess)) }
    return images + Array(repeating: last, count: interval - excess)
  }

  /// Whether the app's background has no effect on the broadcast.
  var runsInBackground: Bool {
    get { state.withLock { $0.runsInBackground } }
    set { state.withLock { $0.runsInBackground = newValue } }
  }

  private func goToBackground() {
    guard !runsInBackground else { return }
    let frames = background.withLock { $0 }
    guard frames.isEmpty else { return mixer.composition.showLoop(of: frames) }
    guard state.withLock({ $0.isSending }) else { return }
    log(.warn, "the broadcast stops: the app is in the background")
    stop()
  }

  // MARK: Trying again

  private struct Try {
    let run: Int
    let server: URL
    /// 1...`mostTries`.
    let number: Int
    let broken: Broadcast?
    let meter: SoundMeter?
  }

  /// - Returns: nil where it is over, or not to be tried again.
  private func nextTry(after run: Int) -> Try? {
    state.withLock { state in
      guard state.isSending, state.run == run, let server = state.server, state.tries < Self.mostTries else {
        return nil
      }
      defer { (state.broadcast, state.meter) = (nil, nil) }
      state.run += 1
      state.tries += 1
      return Try(
        run: state.run, server: server, number: state.tries, broken: state.broadcast, meter: state.meter)
    }
  }

  private func tryAgain(_ next: Try) {
    guard state.withLock({ $0.run == next.run }) else { return }  // stopped
    notifyDelegate(RetryState.retrying)
    do { try open(next.server, next.run) } catch { broke(next.run, error) }
  }

  // MARK: Telling

  private func emit(_ error: any Error, fatal: Bool) {
    log(fatal ? .error : .warn, "\(error)")
    let failure = NSError.ivs(.networkConnectivityLost, "\(error)", source: sessionId, fatal: fatal)
    world.delivery.deliver { [weak self] in
      if let self { delegate?.broadcastSession(self, didEmitError: failure) }
    }
  }

  private func tellFailure(_ error: any Error) {
    emit(error, fatal: true)
    notifyDelegate(State.error)
  }

  private func notifyDelegate(_ new: RetryState) {
    log(.info, "reconnection: \(new)")
    world.delivery.deliver { [weak self] in
      if let self { delegate?.broadcastSession(self, didChange: new) }
    }
  }

  private func notifyDelegate(_ new: State) {
    log(.info, "state: \(new)")
    world.delivery.deliver { [weak self] in
      if let self { delegate?.broadcastSession(self, didChange: new) }
    }
  }
}

extension IVSBroadcastSession.Delegate {
  public func broadcastSession(_ session: IVSBroadcastSession, didAddDevice descriptor: IVSDeviceDescriptor) {}
  public func broadcastSession(_ session: IVSBroadcastSession, didRemoveDevice descriptor: IVSDeviceDescriptor) {}
  public func broadcastSession(_ session: IVSBroadcastSession, audioStatsUpdatedWithPeak peak: Double, rms: Double) {}
  public func broadcastSession(
    _ session: IVSBroadcastSession, didChange retryState: IVSBroadcastSession.RetryState
  ) {}
}

/// Measures a composition's sound for as long as it is kept.
private final class SoundMeter: Sendable {
  private let sound: SharedMicrophone
  private let meter: AudioMeter

  init(of composition: Composition, callback: @escaping (AudioMeter.Levels) -> Void) {
    sound = SharedMicrophone(composition.makeAudioSource(), in: composition.world)
    meter = AudioMeter(delivery: composition.world.delivery, callback: callback)
    sound.addSink(meter)
  }

  deinit {
    meter.stop()
    sound.removeSink(meter)
  }
}

/// Predefined configurations and device lists.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSPresets.html)
public class IVSPresets: NSObject {
  public class func configurations() -> IVSConfigurationPresets { IVSConfigurationPresets() }
  public class func devices() -> IVSDevicePresets { IVSDevicePresets() }
}

/// Predefined broadcast configurations.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSConfigurationPresets.html)
public class IVSConfigurationPresets: NSObject {
  public func standardPortrait() -> IVSBroadcastConfiguration { IVSBroadcastConfiguration() }
  public func standardLandscape() -> IVSBroadcastConfiguration { sized(CGSize(width: 1280, height: 720)) }
  public func basicPortrait() -> IVSBroadcastConfiguration { sized(CGSize(width: 480, height: 852)) }
  public func basicLandscape() -> IVSBroadcastConfiguration { sized(CGSize(width: 852, height: 480)) }

  private func sized(_ size: CGSize) -> IVSBroadcastConfiguration {
    let configuration = IVSBroadcastConfiguration()
    do { try configuration.video.setSize(size) } catch { preconditionFailure("the sizes above are allowed") }
    return configuration
  }
}

/// Predefined device lists.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSDevicePresets.html)
public class IVSDevicePresets: NSObject {
  public func frontCamera() -> [IVSDeviceDescriptor] { cameras(at: .front) }
  public func backCamera() -> [IVSDeviceDescriptor] { cameras(at: .back) }
  public func microphone() -> [IVSDeviceDescriptor] {
    Machine.current.devices(.microphone).prefix(1).map { IVSDeviceDescriptor($0, of: .current) }
  }

  private func cameras(at side: Machine.Attachment) -> [IVSDeviceDescriptor] {
    Machine.current.devices(.camera).filter { $0.attachment == side }.map { IVSDeviceDescriptor($0, of: .current) }
  }
}
