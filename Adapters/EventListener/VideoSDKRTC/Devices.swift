import Koine
import KoineAVFoundation
import KoineBackends

// Cameras and microphones, as they come and go, and whether they may be used.

extension Meeting {
  /// The machine's microphones, with Apple's words for how each is attached.
  public func getMics() -> [(deviceName: String, deviceType: String)] {
    machine.devices(.microphone).map { ($0.name, AVAudioSessionPortDescription($0).portType.rawValue) }
  }

  /// Goes on with another microphone, named as by `getMics`. One that is not there changes nothing.
  public func changeMic(selectedDevice: String) {
    guard let device = machine.devices(.microphone).first(where: { $0.name == selectedDevice }) else { return }
    machine.choose(device.id)
  }

  /// On the delivery queue.
  func handle(_ event: Machine.Event) {
    switch event {
    case .routeChanged(.microphone, _, let device?, _): notifyListeners { $0.onMicChanged(selectedDevice: device.name) }
    case .failed(let device, _):
      notifyListeners { $0.onError(error: device.kind == .camera ? .ERROR_GET_VIDEO_MEDIA : .ERROR_GET_AUDIO_MEDIA) }
    case .plugged, .unplugged, .routeChanged, .interruptionBegan, .interruptionEnded, .mediaServicesLost,
      .mediaServicesReset, .permissionChanged,
      .wentToBackground, .cameToForeground, .outputChanged, .powerChanged, .networkChanged, .memoryLow:
      break
    }
  }
}

/// Permission to use the microphone or the camera.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/videosdk-class)
public enum authorisationStatus: Sendable { case notDetermined, authorised, denied, restricted }

extension VideoSDK {
  public static func getAudioPermissionStatus() -> authorisationStatus { status(.microphone) }
  public static func getVideoPermissionStatus() -> authorisationStatus { status(.camera) }
  /// Asks the machine's owner, if they were not asked before.
  public static func getAudioPermission() { Machine.current.requestPermission(.microphone) { _ in } }
  public static func getVideoPermission() { Machine.current.requestPermission(.camera) { _ in } }
  public static func getCameras() -> [String] { Machine.current.devices(.camera).map(\.name) }
  public static func getAudioDevices() -> [String] { Machine.current.devices(.microphone).map(\.name) }

  private static func status(_ kind: Machine.Kind) -> authorisationStatus {
    switch Machine.current.permission(kind) {
    case .undetermined: .notDetermined
    case .denied: .denied
    case .granted: .authorised
    }
  }
}
