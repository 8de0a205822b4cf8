import Koine
import KoineAVFoundation

/// Microphones and the loudspeaker, and the microphone's stream while the meeting runs.
final class AudioDevices: @unchecked Sendable {  // everything mutable is in `state`
  private struct State {
    /// Sound goes to the built-in speaker by choice; which microphone is in use the machine knows.
    var isOnSpeaker = false
    var stream: LocalStream?
    var usualProcessing: AudioProcessing?
    var hasVoiceFocus = false
    var observation: Observation?
  }

  let observers: Observers<any DeviceChangeObserver>
  private let environment: MeetingEnvironment
  private let logger: any Logger
  private let events: DefaultEventAnalyticsController
  private let state = Lock(State())

  init(_ environment: MeetingEnvironment, _ logger: any Logger, _ events: DefaultEventAnalyticsController) {
    self.events = events
    observers = Observers(environment.delivery)
    self.environment = environment
    self.logger = logger
    let observation = environment.machine.observe { [weak self] in self?.handle($0) }
    state.withLock { $0.observation = observation }
  }

  deinit { state.withLock { $0.observation }?.cancel() }

  // MARK: Available devices

  /// The speaker is the second entry, as in the vendor's SDK, or the first if the machine has no input. The order of the other
  /// entries is undefined.
  func list() -> [MediaDevice] {
    var devices = environment.delivery.inAnyOrder(
      environment.audioSession.availableInputs?.map { MediaDevice(label: $0.portName, port: $0) } ?? [])
    if devices.isEmpty { publishFailure(MediaError.noAudioDevices) }
    devices.insert(.speaker, at: min(1, devices.count))
    return devices
  }

  var active: MediaDevice? {
    if state.withLock({ $0.isOnSpeaker }) { return .speaker }
    return environment.audioSession.currentRoute.inputs.first.map { MediaDevice(label: $0.portName, port: $0) }
  }

  /// A device with a port becomes the microphone, of everything on this machine; the speaker only where sound goes out.
  func choose(_ device: MediaDevice) {
    guard !device.type.isCamera else { return logger.error(msg: "\(device) is no audio device") }
    do { try environment.audioSession.setPreferredInput(device.port) } catch {
      publishFailure(device.port == nil ? .overrideOutputAudioPortFailed : .setPreferredAudioInputFailed)
      return logger.error(msg: "\(device) cannot be used: \(error.localizedDescription)")
    }
    state.withLock { $0.isOnSpeaker = device.port == nil }
    events.publishEvent(
      name: .audioInputSelected, attributes: [EventAttributeName.audioDeviceType: device.type.description],
      notifyObservers: false)
  }

  private func publishFailure(_ error: MediaError) {
    events.publishEvent(name: .audioInputFailed, attributes: [EventAttributeName.audioInputError: error])
  }

  /// On the delivery queue.
  private func handle(_ event: Machine.Event) {
    switch event {
    case .plugged(let device), .unplugged(let device):
      guard device.kind == .microphone else { return }
      let fresh = list()
      observers.notify { $0.audioDeviceDidChange(freshAudioDeviceList: fresh) }
    case .failed(let device, let reason): logger.error(msg: "\(device.name) cannot be used: \(reason)")
    case .interruptionBegan: logger.info(msg: "the audio session was interrupted")
    case .interruptionEnded: logger.info(msg: "the audio session goes on")
    case .routeChanged, .permissionChanged, .wentToBackground, .cameToForeground, .mediaServicesLost,
      .mediaServicesReset, .outputChanged, .powerChanged, .networkChanged, .memoryLow:
      break
    }
  }

  // MARK: The microphone's stream

  func publishMicrophone(in session: Session, _ configuration: AudioVideoConfiguration) {
    do {
      let microphone = try environment.machine.makeMicrophone()
      let usual = microphone.usualProcessing
      var options = AudioPublishOptions(
        bitrate: configuration.audioMode.bitrate(channels: microphone.channels),
        processing: Self.processing(usual, hasVoiceFocus: false))
      options.channels = configuration.audioMode == .stereo48K ? nil : 1
      options.isWideband = configuration.audioMode == .mono16K
      options.usesRedundancy = configuration.enableAudioRedundancy
      let stream = try session.publish(microphone: microphone, options: options)
      state.withLock { state in
        state.stream = stream
        state.usualProcessing = usual
        state.hasVoiceFocus = false
      }
    } catch {
      logger.error(msg: "the microphone was not started: \(error)")
    }
  }

  /// The room has refused the microphone, or it did not start.
  func failed() { state.withLock { state in if state.stream?.isOver == true { state.stream = nil } } }

  func meetingEnded() {
    state.withLock { state in
      state.stream = nil
      state.hasVoiceFocus = false
    }
  }

  /// - Returns: false without a microphone.
  func setMuted(_ isMuted: Bool) -> Bool {
    guard let stream = state.withLock({ $0.stream }) else { return false }
    stream.setMuted(isMuted)
    return true
  }

  var hasVoiceFocus: Bool { state.withLock { $0.hasVoiceFocus } }

  /// Takes noise out of the microphone's sound.
  /// - Returns: false without a microphone.
  func setVoiceFocus(_ isOn: Bool) -> Bool {
    let (stream, usual) = state.withLock { state in
      if state.stream != nil { state.hasVoiceFocus = isOn }
      return (state.stream, state.usualProcessing)
    }
    guard let stream else {
      logger.error(msg: "voice focus needs a microphone in a started meeting")
      return false
    }
    stream.setProcessing(Self.processing(usual, hasVoiceFocus: isOn))
    return true
  }

  /// Voice focus is about noise alone, and takes no more than leaves a voice whole: it "reduces, not removes" it. An echo
  /// is cancelled wherever there can be one.
  private static func processing(_ usual: AudioProcessing?, hasVoiceFocus: Bool) -> AudioProcessing? {
    guard var processing = usual ?? (hasVoiceFocus ? AudioProcessing(cancelsEcho: false) : nil) else { return nil }
    processing.noiseSuppression = hasVoiceFocus ? .moderate : nil
    return processing
  }
}
