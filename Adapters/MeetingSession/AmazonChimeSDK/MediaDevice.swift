import Koine
public import KoineAVFoundation

/// A microphone, a loudspeaker or a camera.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MediaDevice.html)
public final class MediaDevice: Hashable, CustomStringConvertible, Sendable {
  public let label: String
  public let type: MediaDeviceType
  /// Nil for cameras and for the built-in speaker.
  public let port: AVAudioSessionPortDescription?

  public init(label: String, type: MediaDeviceType) {
    self.label = label
    self.type = type
    port = nil
  }

  public init(label: String, port: AVAudioSessionPortDescription? = nil) {
    self.label = label
    self.port = port
    type =
      switch port?.portType {
      case .bluetoothLE, .bluetoothHFP, .bluetoothA2DP: .audioBluetooth
      case .builtInReceiver, .builtInMic: .audioHandset
      case .headphones, .headsetMic: .audioWiredHeadset
      case .builtInSpeaker: .audioBuiltInSpeaker
      default: .other
      }
  }

  /// The machine's cameras; what stands behind them is the world's choice (`KOINE_CAMERA`, `KOINE_BACK_CAMERA`).
  /// Back cameras come first, as in the vendor's source.
  public static func listVideoDevices() -> [MediaDevice] {
    let devices = Machine.current.devices(.camera).map { MediaDevice($0) }
    return devices.filter { $0.type == .videoBackCamera } + devices.filter { $0.type != .videoBackCamera }
  }

  /// What `DefaultCameraCaptureSource` opens for it: a camera of this name, else one at this side, else any.
  func camera(of machine: Machine) -> Machine.Device? {
    let cameras = machine.devices(.camera)
    let side: Machine.Attachment = type == .videoBackCamera ? .back : .front
    return cameras.first { $0.name == label } ?? cameras.first { $0.attachment == side } ?? cameras.first
  }

  private convenience init(_ camera: Machine.Device) {
    let type: MediaDeviceType =
      switch camera.attachment {
      case .front: .videoFrontCamera
      case .back: .videoBackCamera
      case .builtIn, .wired, .bluetooth, .usb, .virtual: .other
      }
    self.init(label: camera.name, type: type)
  }

  static let frontCamera = MediaDevice(label: "Front camera", type: .videoFrontCamera)
  static let backCamera = MediaDevice(label: "Back camera", type: .videoBackCamera)
  static let speaker = MediaDevice(label: "Built-in Speaker", type: .audioBuiltInSpeaker)

  public static func listSupportedVideoCaptureFormats(mediaDevice: MediaDevice) -> [VideoCaptureFormat] {
    listSupportedVideoCaptureFormats(mediaDevice: mediaDevice, videoMaxResolution: .videoResolutionHD)
  }

  /// Of a camera, those not larger than the limit.
  public static func listSupportedVideoCaptureFormats(
    mediaDevice: MediaDevice, videoMaxResolution: VideoResolution
  ) -> [VideoCaptureFormat] {
    guard mediaDevice.type.isCamera else { return [] }
    return [(320, 240), (640, 360), (640, 480), (960, 540), (1_280, 720), (1_920, 1_080)].compactMap { width, height in
      guard width <= videoMaxResolution.width, height <= videoMaxResolution.height else { return nil }
      return VideoCaptureFormat(width: width, height: height, maxFrameRate: 30)
    }
  }

  public static func == (a: MediaDevice, b: MediaDevice) -> Bool {
    a.label == b.label && a.type == b.type && a.port == b.port
  }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(label)
    hasher.combine(type)
  }
  public var description: String { "\(label) - \(type)" }
}

/// Type of a media device.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/MediaDeviceType.html)
public enum MediaDeviceType: Int, CustomStringConvertible, Sendable {
  case audioBluetooth, audioWiredHeadset, audioBuiltInSpeaker, audioHandset, videoFrontCamera, videoBackCamera, other
  public var description: String {
    [
      "audioBluetooth", "audioWiredHeadset", "audioBuiltInSpeaker", "audioHandset", "videoFrontCamera",
      "videoBackCamera", "other",
    ][rawValue]
  }
  var isCamera: Bool { self == .videoFrontCamera || self == .videoBackCamera }
}

/// Size and maximum frame rate of captured video.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoCaptureFormat.html)
public final class VideoCaptureFormat: Hashable, Sendable {
  public let width, height, maxFrameRate: Int

  public init(width: Int, height: Int, maxFrameRate: Int) {
    self.width = width
    self.height = height
    self.maxFrameRate = maxFrameRate
  }

  public static func == (a: VideoCaptureFormat, b: VideoCaptureFormat) -> Bool {
    (a.width, a.height, a.maxFrameRate) == (b.width, b.height, b.maxFrameRate)
  }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(width)
    hasher.combine(height)
    hasher.combine(maxFrameRate)
  }
}
