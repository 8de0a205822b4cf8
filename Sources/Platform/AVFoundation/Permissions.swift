import Koine

/// What the user of the machine has allowed. On Linux nobody is asked: everything is granted, unless a test says otherwise
/// with `Permissions.$current.withValue(…)`.
public struct Permissions: Sendable, Hashable {
  public var microphone, camera: Bool

  public init(microphone: Bool = true, camera: Bool = true) {
    self.microphone = microphone
    self.camera = camera
  }

  @TaskLocal public static var current = Permissions()

  /// Handlers hear of it where everything else is told.
  static func answer(_ isGranted: Bool, _ handler: @escaping (Bool) -> Void) {
    nonisolated(unsafe) let handler = handler  // handed over once, to the delivery queue
    (World.current?.delivery ?? .main).deliver { handler(isGranted) }
  }
}

public struct AVMediaType: Sendable, Hashable, RawRepresentable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let video = AVMediaType(rawValue: "vide")
  public static let audio = AVMediaType(rawValue: "soun")
}

public enum AVAuthorizationStatus: Int, Sendable { case notDetermined, restricted, denied, authorized }

extension AVCaptureDevice {
  public class func authorizationStatus(for mediaType: AVMediaType) -> AVAuthorizationStatus {
    isGranted(mediaType) ? .authorized : .denied
  }

  /// - Parameter handler: called once, on the delivery queue.
  public class func requestAccess(for mediaType: AVMediaType, completionHandler handler: @escaping (Bool) -> Void) {
    Permissions.answer(isGranted(mediaType), handler)
  }

  public class func requestAccess(for mediaType: AVMediaType) async -> Bool { isGranted(mediaType) }

  private class func isGranted(_ mediaType: AVMediaType) -> Bool {
    mediaType == .video ? Permissions.current.camera : Permissions.current.microphone
  }
}
