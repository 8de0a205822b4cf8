public import Foundation
public import Koine

/// A camera or a microphone of `Machine`, in Apple's words. Two objects for one device are equal.
public class AVCaptureDevice: NSObject, @unchecked Sendable {  // constant
  public enum Position: Int, Sendable {
    case unspecified = 0
    case back = 1
    case front = 2
  }

  public struct DeviceType: Sendable, Hashable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let builtInWideAngleCamera = DeviceType(rawValue: "AVCaptureDeviceTypeBuiltInWideAngleCamera")
    public static let external = DeviceType(rawValue: "AVCaptureDeviceTypeExternal")
    public static let microphone = DeviceType(rawValue: "AVCaptureDeviceTypeMicrophone")
  }

  public static let wasConnectedNotification = Notification.Name("AVCaptureDeviceWasConnectedNotification")
  public static let wasDisconnectedNotification = Notification.Name("AVCaptureDeviceWasDisconnectedNotification")

  public let uniqueID: String
  public let localizedName: String
  public let position: Position
  public let deviceType: DeviceType
  private let kind: Machine.Kind
  private weak let machine: Machine?

  init(_ device: Machine.Device, of machine: Machine) {
    (uniqueID, localizedName, kind, self.machine) = (device.id, device.name, device.kind, machine)
    position =
      switch device.attachment {
      case .front: .front
      case .back: .back
      case .builtIn, .wired, .bluetooth, .usb, .virtual: .unspecified
      }
    deviceType =
      device.kind == .microphone ? .microphone : position == .unspecified ? .external : .builtInWideAngleCamera
  }

  /// Whether it is plugged in now.
  public var isConnected: Bool { machine?.device(uniqueID) != nil }
  public func hasMediaType(_ mediaType: AVMediaType) -> Bool { kind == mediaType.kind }

  public override func isEqual(_ object: Any?) -> Bool { (object as? AVCaptureDevice)?.uniqueID == uniqueID }
  public override var hash: Int { uniqueID.hashValue }

  // MARK: Which there are

  /// The one in use.
  public class func `default`(for mediaType: AVMediaType) -> AVCaptureDevice? {
    let machine = watched()
    return mediaType.kind.flatMap(machine.current).map { AVCaptureDevice($0, of: machine) }
  }

  public class func `default`(
    _ deviceType: DeviceType, for mediaType: AVMediaType?, position: Position
  ) -> AVCaptureDevice? {
    DiscoverySession(deviceTypes: [deviceType], mediaType: mediaType, position: position).devices.first
  }

  public convenience init?(uniqueID: String) {
    let machine = Self.watched()
    guard let device = machine.device(uniqueID), device.kind != .loudspeaker else { return nil }
    self.init(device, of: machine)
  }

  /// Finds the devices that are plugged in when `devices` is read.
  public class DiscoverySession: NSObject, @unchecked Sendable {  // constant
    private let machine = AVCaptureDevice.watched()
    private let deviceTypes: [DeviceType]
    private let mediaType: AVMediaType?
    private let position: Position

    /// - Parameters:
    ///   - mediaType: nil: any.
    ///   - position: unspecified: any.
    public init(deviceTypes: [DeviceType], mediaType: AVMediaType?, position: Position) {
      (self.deviceTypes, self.mediaType, self.position) = (deviceTypes, mediaType, position)
    }

    public var devices: [AVCaptureDevice] {
      machine.devices.filter { $0.kind != .loudspeaker }.map { AVCaptureDevice($0, of: machine) }.filter { device in
        deviceTypes.contains(device.deviceType) && (position == .unspecified || device.position == position)
          && mediaType.map(device.hasMediaType) != false
      }
    }
  }

  /// The machine of the running code. Its cameras and microphones are announced from now on.
  private static func watched() -> Machine {
    let machine = Machine.current
    announce(machine)
    return machine
  }

  /// Posts notifications from now on when devices are plugged in and out at this machine, also before an app reads its devices (not
  /// Apple's).
  public class func announce(_ machine: Machine) { _ = machine.sharedObject { CaptureAnnouncer(machine) } }

  // MARK: Permissions

  public class func authorizationStatus(for mediaType: AVMediaType) -> AVAuthorizationStatus {
    guard let kind = mediaType.kind else { return .denied }
    return switch Machine.current.permission(kind) {
    case .undetermined: .notDetermined
    case .denied: .denied
    case .granted: .authorized
    }
  }

  /// - Parameter handler: called once, on the delivery queue.
  public class func requestAccess(for mediaType: AVMediaType, completionHandler handler: @escaping (Bool) -> Void) {
    let (handler, machine) = (Handler(handler), Machine.current)
    guard let kind = mediaType.kind else { return machine.delivery.deliver { handler(false) } }
    machine.requestPermission(kind) { handler($0) }
  }

  public class func requestAccess(for mediaType: AVMediaType) async -> Bool {
    guard let kind = mediaType.kind else { return false }
    return await Machine.current.requestPermission(kind)
  }
}

/// Posts notifications of devices that are plugged in and out, on the delivery queue.
private final class CaptureAnnouncer: Sendable {
  init(_ machine: Machine) {
    machine.observe { [weak machine] event in
      guard let machine else { return }
      switch event {
      case .plugged(let device) where device.kind != .loudspeaker:
        Self.post(AVCaptureDevice.wasConnectedNotification, device, machine)
      case .unplugged(let device) where device.kind != .loudspeaker:
        Self.post(AVCaptureDevice.wasDisconnectedNotification, device, machine)
      default: break
      }
    }
  }

  private static func post(_ name: Notification.Name, _ device: Machine.Device, _ machine: Machine) {
    NotificationCenter.default.post(name: name, object: AVCaptureDevice(device, of: machine))
  }
}

public struct AVMediaType: Sendable, Hashable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let video = AVMediaType(rawValue: "vide")
  public static let audio = AVMediaType(rawValue: "soun")

  var kind: Machine.Kind? { self == .video ? .camera : self == .audio ? .microphone : nil }
}

public enum AVAuthorizationStatus: Int, Sendable { case notDetermined, restricted, denied, authorized }
