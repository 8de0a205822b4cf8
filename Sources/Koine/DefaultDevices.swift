import Foundation

/// What stands for "the camera", "the microphone", "the loudspeaker" and "the screen", in the words of `Devices`.
public struct DefaultDevices: Sendable, Hashable {
  public var camera, microphone: String
  /// The camera at the machine's back, for vendor code that asks for it.
  public var backCamera: String
  /// Where sessions without a loudspeaker of their own play what they hear.
  public var loudspeaker: String
  /// What is shown where an app shares its screen, in the words of cameras.
  public var screen: String

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

  /// What `KOINE_CAMERA`, `KOINE_MICROPHONE`, `KOINE_BACK_CAMERA`, `KOINE_LOUDSPEAKER` and `KOINE_SCREEN` say, else a
  /// moving pattern, a tone, nobody who listens, and a moving pattern of a screen's size.
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

  /// The machine of code that names no world: that of `World.current`, else the one whose news the code is being told,
  /// else of the world that the process was given, else one as the environment says.
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
