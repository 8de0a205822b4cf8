import Foundation
import Koine
import KoineAVFoundation
import KoineBackends

// The local microphone and camera: turning them on and off, and the results of publishing.

extension Meeting {
  /// Those that are wanted, as far as the mode sends anything.
  func startDevices() {
    if state.withLock({ $0.wantsMicrophone }) { startMicrophone() }
    if state.withLock({ $0.wantsCamera }) { startCamera() }
  }

  public func unmuteMic() { unmuteMic(customAudioStream: nil) }

  /// - Parameter customAudioStream: a track of `VideoSDK.createAudioTrack`, whose settings replace those in use; nil: the track given
  ///   before, or to `initMeeting`, else the machine's microphone as it is.
  public func unmuteMic(customAudioStream: CustomRTCMediaStream?) {
    guard customAudioStream?.camera == nil else { return report(.ERROR_GET_AUDIO_MEDIA) }
    let (microphone, session) = state.withLock { state in
      state.wantsMicrophone = true
      if let customAudioStream { state.customMicrophone = customAudioStream }
      return (state.microphone, state.session)
    }
    guard session != nil else { return }  // taken on joining
    guard let microphone, !microphone.isOver else { return startMicrophone() }
    if let customAudioStream { microphone.setProcessing(customAudioStream.processing) }
    microphone.setMuted(false)
  }

  /// Applies `isEnabled` of the local audio track. A closed gate sends silence; the microphone stays on, and listeners are not
  /// notified.
  func letThrough(_ isOpen: Bool) { state.withLock { $0.gate }?.isOpen.withLock { $0 = isOpen } }

  public func muteMic() {
    state.withLock { state in
      state.wantsMicrophone = false
      return state.microphone
    }?.setMuted(true)
  }

  /// Without an argument the camera given to `initMeeting`, else the machine's.
  public func enableWebcam(customVideoStream: CustomRTCMediaStream? = nil) {
    guard customVideoStream == nil || customVideoStream?.camera != nil else { return report(.ERROR_GET_VIDEO_MEDIA) }
    let session = state.withLock { state in
      state.wantsCamera = true
      if let customVideoStream, let camera = customVideoStream.camera {
        state.customCamera = customVideoStream
        state.side = camera.facing == .back ? .back : .front
      }
      return state.session
    }
    if session != nil { startCamera() }
  }

  public func disableWebcam() {
    state.withLock { state in
      state.wantsCamera = false
      defer { state.camera = nil }
      return state.camera
    }?.unpublish()
  }

  /// Goes on with the camera at the other side; while it is off, that is the one it will start with.
  public func switchWebcam() {
    let (camera, device) = state.withLock { state -> (SharedCamera?, Machine.Device?) in
      state.side = state.side == .back ? .front : .back
      let side = state.side
      return (state.sharedCamera, machine.devices(.camera).first { $0.attachment == side })
    }
    guard let camera, let device else { return }
    do throws(DeviceError) {
      camera.replace(cameraEffects.applied(to: try machine.makeCamera(device.id)))
    } catch {
      report(.ERROR_GET_VIDEO_MEDIA)
    }
  }

  private func startMicrophone() {
    start { session in
      let machine = session.world.machine
      guard machine.permission(.microphone) != .denied else { throw DeviceError.notAllowed("microphone") }
      let gate = MicrophoneGate(try machine.makeMicrophone())
      let microphone = SharedMicrophone(gate, in: session.world)
      let processing = state.withLock { $0.customMicrophone?.processing }
      let stream = try session.publish(
        microphone: microphone.makeSource(), options: AudioPublishOptions(processing: processing))
      state.withLock { ($0.sharedMicrophone, $0.gate) = (microphone, gate) }
      return stream
    } keep: { state, stream in
      guard state.microphone?.isOver != false, state.wantsMicrophone else { return false }
      state.microphone = stream
      return true
    } failure: { machine in
      machine.permission(.microphone) == .denied ? .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED : .ERROR_GET_AUDIO_MEDIA
    }
  }

  private func startCamera() {
    let (options, side) = state.withLock { state in
      let custom = state.customCamera?.camera?.publishOptions
      return (custom ?? VideoPublishOptions(lowerLayers: state.isMultiStream ? [.small] : []), state.side)
    }
    guard state.withLock({ $0.camera?.isOver != false }) else { return }
    start { session in
      let machine = session.world.machine
      guard machine.permission(.camera) != .denied else { throw DeviceError.notAllowed("camera") }
      let device = machine.devices(.camera).first { $0.attachment == side }
      let camera = SharedCamera(
        cameraEffects.applied(to: try machine.makeCamera(device?.id)), in: session.world)
      let stream = try session.publish(camera: camera.makeSource(), options: options)
      state.withLock { $0.sharedCamera = camera }
      return stream
    } keep: { state, stream in
      guard state.camera?.isOver != false, state.wantsCamera else { return false }
      state.camera = stream
      return true
    } failure: { machine in
      machine.permission(.camera) == .denied ? .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED : .ERROR_GET_VIDEO_MEDIA
    }
  }

  func start(
    _ publish: (Session) throws -> LocalStream, keep: (inout State, LocalStream) -> Bool,
    failure: (Machine) -> VideoSDKError
  ) {
    guard let session = state.withLock({ $0.isOver || $0.isLeaving || !$0.mode.sends ? nil : $0.session }) else {
      return
    }
    do {
      let stream = try publish(session)
      if !state.withLock({ keep(&$0, stream) }) { stream.unpublish() }
    } catch {
      let code = failure(session.world.machine)
      session.world.delivery.deliver { [weak self] in self?.notifyListeners { $0.onError(error: code) } }
    }
  }

  // MARK: On the delivery queue

  /// The room has refused a stream, or its device did not start: what turns it on next time begins anew.
  func publishingFailed(_ stream: Track, _ error: Failure) {
    state.withLock { state in
      if state.microphone?.isOver == true { (state.microphone, state.sharedMicrophone) = (nil, nil) }
      if state.camera?.isOver == true { (state.camera, state.sharedCamera) = (nil, nil) }
      if state.screen?.isOver == true { state.screen = nil }
    }
    notifyListeners { $0.onError(error: VideoSDKError(error, of: stream.kind)) }
  }
}

/// A microphone, or silence in its place.
final class MicrophoneGate: AudioSource, Sendable {
  let isOpen = Lock(true)
  private let source: any AudioSource

  init(_ source: any AudioSource) { self.source = source }

  var channels: Int { source.channels }
  var usualProcessing: AudioProcessing? { source.usualProcessing }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    try source.start(on: lane) { [isOpen] block in
      deliver(isOpen.withLock { $0 } ? block : AudioBlock(channels: block.channels, captured: block.captured))
    }
  }

  func stop() { source.stop() }
}
