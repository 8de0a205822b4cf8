import Foundation
import Koine

/// Trouble that the local participant should know of: with the network, the devices, or a muted microphone. A diagnostic without a cause
/// here is never raised. Collected from when the app first asks for the feature.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class LocalUserDiagnosticsCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private struct State {
    var observation: Observation?
    var alarm: Alarm?
    var isOver = false
    /// Own cameras by track: frames captured, and when their number was last seen to change.
    var cameras: [String: (captured: Int, changed: Tick)] = [:]
    /// When the microphone last gave audio.
    var microphoneChanged: Tick?
    /// When the muted microphone last heard speech.
    var lastSpeech: Tick?
  }

  /// Between two looks at cameras and microphone.
  private static let period = Duration.milliseconds(500)
  private static let frozenAfter = Duration.seconds(3)
  private static let startTimeout = Duration.seconds(10)
  private static let silentMicrophoneAfter = Duration.seconds(3)
  /// Blocks of 10 ms, in one period, that make speech.
  private static let speechBlocks = 20
  /// After the last speech.
  private static let speechEndsAfter = Duration.seconds(2)

  public let networkDiagnostics = NetworkDiagnostics()
  public let mediaDiagnostics = MediaDiagnostics()
  private let state = Lock(State())

  deinit { state.withLock { $0.observation }?.cancel() }

  override func callStarted() {
    guard let call, call.state != .disconnected else { return }
    let observation = call.session.world.machine.observe { [weak self] event in self?.handle(event) }
    state.withLock { $0.observation = observation }
    // The app sets the delegate first.
    delivery.deliver { [weak self] in self?.readMachine() }
    look(after: Self.period)
  }

  /// On the delivery queue.
  override func callEnded() {
    if let call, call.hasNeverConnected, call.failedForNetwork { networkDiagnostics.raiseNetworkUnavailable() }
    let (observation, alarm) = state.withLock { state in
      defer { (state.observation, state.alarm) = (nil, nil) }
      state.isOver = true
      return (state.observation, state.alarm)
    }
    observation?.cancel()
    alarm?.cancel()
  }

  // MARK: Network

  override func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.reconnecting): networkDiagnostics.raise(.networkReconnectionQuality, .bad)
    case .stateChanged(.connected): networkDiagnostics.raise(.networkReconnectionQuality, .good)
    case .qualityChanged(let levels):
      guard let session = call?.session, levels[session.localParticipant.id] != nil else { return }
      let path = session.pathQuality(of: session.localParticipant.id)
      networkDiagnostics.raise(.networkSendQuality, DiagnosticQuality(path.sending))
      networkDiagnostics.raise(.networkReceiveQuality, DiagnosticQuality(path.receiving))
    case .publishFailed(let stream, let error) where error.code == .device:
      switch stream.kind {
      case .camera: cameraFailed()
      case .microphone: mediaDiagnostics.raise(.isMicrophoneNotFunctioning, true)
      case .screen, .screenSound: break
      }
    default: break
    }
  }

  // MARK: Machine

  /// On the delivery queue.
  private func readMachine() {
    guard let machine = call?.session.world.machine, !state.withLock({ $0.isOver }) else { return }
    countDevices(of: machine)
    mediaDiagnostics.raise(.isCameraPermissionDenied, machine.permission(.camera) == .denied)
    if machine.permission(.microphone) == .denied { mediaDiagnostics.raise(.isMicrophoneNotFunctioning, true) }
    if machine.isInterrupted { setBusy(true) }
    readOutput(of: machine)
  }

  private func readOutput(of machine: Machine) {
    mediaDiagnostics.raise(.isSpeakerMuted, machine.isOutputMuted)
    mediaDiagnostics.raise(.isSpeakerVolumeZero, machine.outputVolume == 0)
  }

  private func countDevices(of machine: Machine) {
    mediaDiagnostics.raise(.isNoSpeakerDevicesAvailable, machine.devices(.loudspeaker).isEmpty)
    mediaDiagnostics.raise(.isNoMicrophoneDevicesAvailable, machine.devices(.microphone).isEmpty)
  }

  private func setBusy(_ isBusy: Bool) {
    mediaDiagnostics.raise(.isMicrophoneBusy, isBusy)
    mediaDiagnostics.raise(.isSpeakerBusy, isBusy)
  }

  private func setAudioFailure(_ hasFailed: Bool) {
    mediaDiagnostics.raise(.isMicrophoneNotFunctioning, hasFailed)
    mediaDiagnostics.raise(.isSpeakerNotFunctioning, hasFailed)
  }

  /// On the delivery queue.
  private func handle(_ event: Machine.Event) {
    guard let machine = call?.session.world.machine, !state.withLock({ $0.isOver }) else { return }
    switch event {
    case .plugged, .unplugged: countDevices(of: machine)
    case .routeChanged(.loudspeaker, _, _, _): mediaDiagnostics.raise(.isSpeakerNotFunctioning, false)
    case .routeChanged(.microphone, _, _, _): mediaDiagnostics.raise(.isMicrophoneNotFunctioning, false)
    case .routeChanged(.camera, _, _, _): break
    case .interruptionBegan: setBusy(true)
    case .interruptionEnded: setBusy(false)
    case .mediaServicesLost: setAudioFailure(true)
    case .mediaServicesReset: setAudioFailure(false)
    case .outputChanged: readOutput(of: machine)
    case .powerChanged, .networkChanged, .memoryLow: break
    case .permissionChanged(.camera, let permission):
      mediaDiagnostics.raise(.isCameraPermissionDenied, permission == .denied)
    case .permissionChanged(.microphone, let permission):
      mediaDiagnostics.raise(.isMicrophoneNotFunctioning, permission == .denied)
    case .permissionChanged(.loudspeaker, _): break
    case .wentToBackground: mediaDiagnostics.raise(.isMicrophoneMutedUnexpectedly, !machine.keepsAudioInBackground)
    case .cameToForeground: mediaDiagnostics.raise(.isMicrophoneMutedUnexpectedly, false)
    case .failed(let device, _):
      switch device.kind {
      case .loudspeaker: mediaDiagnostics.raise(.isSpeakerNotFunctioning, true)
      case .microphone: mediaDiagnostics.raise(.isMicrophoneNotFunctioning, true)
      case .camera: cameraFailed()
      }
    }
  }

  // MARK: Cameras and microphone

  /// On the delivery queue: a camera was to be started and was not.
  func cameraFailed() {
    mediaDiagnostics.raise(.isCameraStartFailed, true)
    if call?.session.world.machine.permission(.camera) == .denied {
      mediaDiagnostics.raise(.isCameraPermissionDenied, true)
    }
  }

  private func look(after pause: Duration) {
    guard let session = call?.session else { return }
    let lane = session.world.backend.scheduler.lane("diagnostics")
    state.withLock { state in
      guard !state.isOver else { return }
      state.alarm = lane.post(at: lane.scheduler.now + pause) { [weak self, weak session] in
        self?.look(after: Self.period)
        session?.statistics { [weak self] figures in self?.look(at: figures, now: lane.scheduler.now) }
      }
    }
  }

  /// On the delivery queue.
  private func look(at figures: SessionStatistics, now: Tick) {
    guard let call, !state.withLock({ $0.isOver }) else { return }
    lookAtCameras(figures, of: call, now)
    lookAtMicrophone(of: call, now)
  }

  private func lookAtCameras(_ figures: SessionStatistics, of call: Call, _ now: Tick) {
    let (sent, isHeld) = call.current.withLock { current in
      (current.videos.filter { $0.stream is LocalVideoStream }.map(\.published.id.track), current.isHeld)
    }
    guard !isHeld else { return state.withLock { $0.cameras = [:] } }
    let captured = figures.streams.reduce(into: [String: Int]()) { all, stream in
      if sent.contains(stream.stream.id.track), let video = stream.sentVideo {
        all[stream.stream.id.track] = video.captured
      }
    }
    let cameras = state.withLock { state in
      state.cameras = captured.reduce(into: [:]) { new, camera in
        let old = state.cameras[camera.key]
        new[camera.key] = old?.captured == camera.value ? old : (camera.value, now)
      }
      return state.cameras
    }
    let idle = cameras.values.map { (hasBegun: $0.captured > 0, time: now - $0.changed) }
    mediaDiagnostics.raise(.isCameraFrozen, idle.contains { $0.hasBegun && $0.time >= Self.frozenAfter })
    mediaDiagnostics.raise(.isCameraStartTimedOut, idle.contains { !$0.hasBegun && $0.time >= Self.startTimeout })
    if idle.contains(where: { $0.hasBegun && $0.time < Self.period }) {
      mediaDiagnostics.raise(.isCameraStartFailed, false)
    }
  }

  private func lookAtMicrophone(of call: Call, _ now: Tick) {
    let (audio, isMuted, stream) = call.current.withLock {
      ($0.outgoingAudio, $0.isMuted, $0.activeOutgoingStream)
    }
    guard let audio, audio.hasSource, stream.isOfDevice else { return }
    audio.setMetered(isMuted)
    let activity = audio.takeActivity()
    let (silence, isSpeaking) = state.withLock { state in
      if activity.blocks > 0 { state.microphoneChanged = now }
      if isMuted, activity.loudBlocks >= Self.speechBlocks { state.lastSpeech = now }
      if !isMuted { state.lastSpeech = nil }
      return (
        now - (state.microphoneChanged ?? now), state.lastSpeech.map { now - $0 < Self.speechEndsAfter } ?? false
      )
    }
    mediaDiagnostics.raise(.isSpeakingWhileMicrophoneIsMuted, isSpeaking)
    let machine = call.session.world.machine
    if activity.blocks > 0 {
      mediaDiagnostics.raise(.isMicrophoneNotFunctioning, false)
    } else if silence >= Self.silentMicrophoneAfter, !machine.isInterrupted, !machine.isInBackground,
      machine.current(.microphone) != nil
    {
      mediaDiagnostics.raise(.isMicrophoneNotFunctioning, true)
    }
  }
}

extension DiagnosticQuality {
  fileprivate init(_ level: ConnectionQuality.Level) {
    switch level {
    case .none: self = .bad
    case .low: self = .poor
    case .high: self = .good
    }
  }
}

extension Machine {
  /// Whether microphones work while the app is in the background; also where nothing is known of the app.
  fileprivate var keepsAudioInBackground: Bool {
    guard let information else { return true }
    let modes = information.object(forInfoDictionaryKey: "UIBackgroundModes") as? [any Sendable] ?? []
    return modes.contains { $0 as? String == "audio" || $0 as? String == "voip" }
  }
}

extension Call {
  fileprivate var hasNeverConnected: Bool { current.withLock { $0.isFresh } }
  /// The room could not be reached.
  fileprivate var failedForNetwork: Bool { current.withLock { $0.endedUnreached } }

  /// On the delivery queue: a camera that was to be started is not.
  func reportCameraFailure() {
    let feature = current.withLock { $0.features[ObjectIdentifier(LocalUserDiagnosticsCallFeature.self)] }
    (feature as? LocalUserDiagnosticsCallFeature)?.cameraFailed()
  }
}
