import Koine
import KoineAVFoundation

/// Microphones and the loudspeaker, and the microphone's stream while the meeting runs.
final class AudioDevices: @unchecked Sendable {  // everything mutable is in `state`
  private struct State {
    var chosen: MediaDevice?
    var microphone: SharedMicrophone?
    var stream: LocalStream?
    var hasVoiceFocus = false
    var stopWatching: (@Sendable () -> Void)?
  }

  let observers: Observers<any DeviceChangeObserver>
  private let place: Place
  private let logger: any Logger
  private let state = Lock(State())

  init(_ place: Place, _ logger: any Logger) {
    observers = Observers(place.delivery)
    self.place = place
    self.logger = logger
    let stop = AVAudioSession.sharedInstance().watchInputs { [weak self] in self?.inputsChanged() }
    state.withLock { $0.stopWatching = stop }
  }

  deinit { state.withLock { $0.stopWatching }?() }

  // MARK: Which there are

  /// The speaker is always the second, as with the vendor's.
  func list() -> [MediaDevice] {
    var devices = inputs
    devices.insert(.speaker, at: min(1, devices.count))
    return devices
  }

  private var inputs: [MediaDevice] {
    (AVAudioSession.sharedInstance().availableInputs ?? []).map { MediaDevice(label: $0.portName, port: $0) }
  }

  var active: MediaDevice? { state.withLock { $0.chosen } ?? inputs.first }

  /// A device with a port becomes the microphone; the speaker only where sound goes out.
  func choose(_ device: MediaDevice) {
    guard !device.type.isCamera else { return logger.error(msg: "\(device) is no audio device") }
    if let microphone = state.withLock({ $0.microphone }), let port = device.port {
      do {
        microphone.replace(try Devices.microphone(port.source ?? place.devices.microphone))
      } catch {
        return logger.error(msg: "\(device) cannot be used: \(error)")
      }
    }
    state.withLock { $0.chosen = device }
  }

  private func inputsChanged() {
    let fresh = list()
    let lost = state.withLock { state in
      guard let chosen = state.chosen, !fresh.contains(chosen) else { return false }
      state.chosen = nil
      return true
    }
    if lost, let first = inputs.first { choose(first) }
    observers.tell { $0.audioDeviceDidChange(freshAudioDeviceList: fresh) }
  }

  // MARK: The microphone's stream

  func publishMicrophone(in session: Session) {
    do {
      let source = state.withLock { $0.chosen?.port?.source } ?? place.devices.microphone
      let microphone = SharedMicrophone(try Devices.microphone(source), in: session.world)
      let stream = try session.publish(microphone: microphone.makeSource())
      state.withLock { state in
        state.microphone = microphone
        state.stream = stream
        state.hasVoiceFocus = false
      }
    } catch {
      logger.error(msg: "the microphone was not started: \(error)")
    }
  }

  func meetingEnded() {
    state.withLock { state in
      state.microphone = nil
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
    let stream = state.withLock { state in
      if state.stream != nil { state.hasVoiceFocus = isOn }
      return state.stream
    }
    guard let stream else {
      logger.error(msg: "voice focus needs a microphone in a started meeting")
      return false
    }
    stream.setProcessing(isOn ? Self.voiceFocus : nil)
    return true
  }

  /// Noise only, and no more than leaves a voice whole: it "reduces, not removes" it.
  private static let voiceFocus = AudioProcessing(cancelsEcho: false)
}
