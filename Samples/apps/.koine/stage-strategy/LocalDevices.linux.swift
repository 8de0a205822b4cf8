#sourceLocation(file: "Samples/apps/stage-strategy/LocalDevices.swift", line: 1)
import AVFoundation
import AmazonIVSBroadcast

/// The camera and the microphone of this device, and the streams that publish them.
///
/// The streams are made once: a new instance would bring a mute state of its own to the stage.
final class LocalDevices {
  let camera: IVSCamera?
  let microphone: IVSMicrophone?
  let cameraStream: IVSLocalStageStream?
  let microphoneStream: IVSLocalStageStream?
  private(set) var cameraPosition = IVSDevicePosition.front

  init() {
    // Before the first discovery, because a preset may change the list of devices.
    IVSStageAudioManager.sharedInstance().setPreset(.videoChat)
    let devices = IVSDeviceDiscovery().listLocalDevices()

    camera = devices.compactMap { $0 as? IVSCamera }.first
    if let front = camera?.listAvailableInputSources().first(where: { $0.position == .front }) {
      camera?.setPreferredInputSource(front)
    }
    microphone = devices.compactMap { $0 as? IVSMicrophone }.first
    microphone?.isEchoCancellationEnabled = true

    cameraStream = camera.map { IVSLocalStageStream(device: $0, configuration: Self.configuration()) }
    microphoneStream = microphone.map { IVSLocalStageStream(device: $0) }
  }

  /// A setter that throws keeps the default, which is good enough for a call.
  private static func configuration() -> IVSLocalStageStreamVideoConfiguration {
    let configuration = IVSLocalStageStreamVideoConfiguration()
    try? configuration.setSize(CGSize(width: 360, height: 640))
    try? configuration.setTargetFramerate(30)
    try? configuration.setMaxBitrate(900_000)
    return configuration
  }

  var isMuted: Bool {
    get { microphoneStream?.isMuted ?? true }
    set { microphoneStream?.setMuted(newValue) }
  }

  var isCameraOff: Bool {
    get { cameraStream?.isMuted ?? true }
    set { cameraStream?.setMuted(newValue) }
  }

  /// Goes from the front camera to the back camera, or the other way.
  /// - Parameter completion: on the main queue, with a text if the switch fails.
  func switchCamera(completion: @escaping (String?) -> Void) {
    guard let camera else { return completion(StageText.noCamera) }
    let wanted: IVSDevicePosition = cameraPosition == .front ? .back : .front
    guard let source = camera.listAvailableInputSources().first(where: { $0.position == wanted }) else {
      return completion(StageText.oneCamera)
    }
    camera.setPreferredInputSource(source) { [weak self] error in
      if error == nil { self?.cameraPosition = wanted }
      completion(error.map { StageText.text(for: $0) })
    }
  }

  /// Devices that are missing or not allowed.
  var problem: String? {
    if microphone == nil { return StageText.noMicrophone }
    if AVCaptureDevice.authorizationStatus(for: .audio) == .denied { return StageText.microphoneDenied }
    if camera == nil { return StageText.noCamera }
    if AVCaptureDevice.authorizationStatus(for: .video) == .denied { return StageText.cameraDenied }
    return nil
  }
}
