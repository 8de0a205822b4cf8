import Foundation

/// The default devices of a world's machine, as specifications of `Devices`.
public struct DefaultDevices: Sendable, Hashable {
  /// The camera.
  public var camera: String
  /// The microphone.
  public var microphone: String
  /// The camera at the machine's back, for vendor code that asks for it.
  public var backCamera: String
  /// Where sessions without a loudspeaker of their own play what they hear.
  public var loudspeaker: String
  /// The video source of a screen share, in the syntax of camera names (`Devices.camera`).
  public var screen: String

  /// Creates default devices; each parameter is a specification of `Devices`.
  /// - Parameter backCamera: nil: the same as `camera`.
  public init(
    camera: String = "pattern", microphone: String = "tone", backCamera: String? = nil, loudspeaker: String = "none",
    screen: String = "pattern:1280x720@15"
  ) {
    self.camera = camera
    self.microphone = microphone
    self.backCamera = backCamera ?? camera
    self.loudspeaker = loudspeaker
    self.screen = screen
  }

  /// The devices named by the environment variables `KOINE_CAMERA`, `KOINE_MICROPHONE`, `KOINE_BACK_CAMERA`,
  /// `KOINE_LOUDSPEAKER` and `KOINE_SCREEN`. Defaults: a moving pattern as camera, a tone as microphone, the camera also as
  /// back camera, no loudspeaker, and a moving pattern of 1280×720 at 15 frames/s as screen.
  public static var environment: DefaultDevices {
    let variables = ProcessInfo.processInfo.environment
    let builtIn = DefaultDevices()
    return DefaultDevices(
      camera: variables["KOINE_CAMERA"] ?? builtIn.camera,
      microphone: variables["KOINE_MICROPHONE"] ?? builtIn.microphone, backCamera: variables["KOINE_BACK_CAMERA"],
      loudspeaker: variables["KOINE_LOUDSPEAKER"] ?? builtIn.loudspeaker,
      screen: variables["KOINE_SCREEN"] ?? builtIn.screen)
  }
}

extension Machine {
  /// A machine with two cameras, a microphone and a loudspeaker, which `devices` stand for.
  public convenience init(_ devices: DefaultDevices, delivery: Delivery = .main) {
    self.init(
      [
        Device(
          id: "front camera", kind: .camera, name: "Front camera", attachment: .front, source: devices.camera),
        Device(
          id: "back camera", kind: .camera, name: "Back camera", attachment: .back, source: devices.backCamera),
        Device(
          id: "built-in microphone", kind: .microphone, name: "Built-in Microphone", attachment: .builtIn,
          source: devices.microphone),
        Device(
          id: "built-in speaker", kind: .loudspeaker, name: "Built-in Speaker", attachment: .builtIn,
          source: devices.loudspeaker),
      ], delivery: delivery)
  }

  private static let configured = Lock<Machine?>(nil)
  private static let environment = Machine(.environment)

  /// The machine for code that names no world. It is the machine of `World.current`; else the machine that is calling its
  /// observers; else the machine configured for the process; else a machine made from the environment variables.
  public static var current: Machine {
    if let machine = World.current?.machine ?? telling ?? configured.withLock({ $0 }) { return machine }
    World.noteMissingContext()
    return environment
  }

  /// While its observers are called.
  @TaskLocal static var telling: Machine?

  /// Where `World.current` is nil.
  package static var ofProcess: Machine { configured.withLock { $0 } ?? environment }

  /// - Parameter machine: nil: as the environment says.
  package static func useForProcess(_ machine: Machine?) { configured.withLock { $0 = machine } }
}
