public import Foundation
public import Koine

/// What sound comes in by and goes out by: the microphones and loudspeakers of `Machine`, in Apple's words.
///
/// There is one for each machine. What happens is posted to `NotificationCenter.default` on the delivery queue.
public final class AVAudioSession: NSObject, Sendable {
  public enum RecordPermission: UInt, Sendable {
    case undetermined = 0x756e_6474  // "undt"
    case denied = 0x6465_6e79  // "deny"
    case granted = 0x6772_6e74  // "grnt"
  }

  /// What kind of socket a port is.
  public struct Port: Sendable, Hashable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let builtInMic = Port(rawValue: "MicrophoneBuiltIn")
    public static let headsetMic = Port(rawValue: "MicrophoneWired")
    public static let headphones = Port(rawValue: "Headphones")
    public static let builtInReceiver = Port(rawValue: "Receiver")
    public static let builtInSpeaker = Port(rawValue: "Speaker")
    public static let bluetoothHFP = Port(rawValue: "BluetoothHFP")
    public static let bluetoothA2DP = Port(rawValue: "BluetoothA2DPOutput")
    public static let bluetoothLE = Port(rawValue: "BluetoothLE")
    public static let usbAudio = Port(rawValue: "USBAudio")
  }

  public enum InterruptionType: UInt, Sendable { case ended = 0, began = 1 }

  public struct InterruptionOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let shouldResume = InterruptionOptions(rawValue: 1)
  }

  public enum RouteChangeReason: UInt, Sendable {
    case unknown = 0, newDeviceAvailable, oldDeviceUnavailable, categoryChange, override
    case wakeFromSleep = 6, noSuitableRouteForCategory, routeConfigurationChange
  }

  public static let interruptionNotification = Notification.Name("AVAudioSessionInterruptionNotification")
  public static let routeChangeNotification = Notification.Name("AVAudioSessionRouteChangeNotification")

  private struct WeakMachine { weak var machine: Machine? }
  private let machineReference: Lock<WeakMachine>
  private let route: Lock<AVAudioSessionRouteDescription>

  /// The session of the machine of code that runs here: `World.current`'s, else the process's.
  public class func sharedInstance() -> AVAudioSession { of(Machine.current) }

  /// The session of a machine (not Apple's).
  public class func of(_ machine: Machine) -> AVAudioSession {
    machine.sharedObject {
      let session = AVAudioSession(machine)
      machine.observe { [weak session] in session?.handle($0) }
      return session
    }
  }

  private init(_ machine: Machine) {
    machineReference = Lock(WeakMachine(machine: machine))
    route = Lock(Self.route(of: machine))
  }

  /// Nil once the machine is gone; then there are no devices.
  private var machine: Machine? { machineReference.withLock { $0.machine } }

  // MARK: Permissions

  public var recordPermission: RecordPermission {
    switch machine?.permission(.microphone) ?? .denied {
    case .undetermined: .undetermined
    case .denied: .denied
    case .granted: .granted
    }
  }

  /// - Parameter response: called once, on the delivery queue.
  public func requestRecordPermission(_ response: @escaping (Bool) -> Void) {
    let response = Handler(response)
    guard let machine else { return Delivery.main.deliver { response(false) } }
    machine.requestPermission(.microphone) { response($0) }
  }

  // MARK: Inputs and outputs

  public var availableInputs: [AVAudioSessionPortDescription]? {
    machine?.devices(.microphone).map(AVAudioSessionPortDescription.init)
  }
  public var isInputAvailable: Bool { machine?.current(.microphone) != nil }
  public var currentRoute: AVAudioSessionRouteDescription {
    machine.map(Self.route) ?? AVAudioSessionRouteDescription(inputs: [], outputs: [])
  }
  public var preferredInput: AVAudioSessionPortDescription? {
    machine?.current(.microphone).map(AVAudioSessionPortDescription.init)
  }

  /// - Parameter port: nil: as it is.
  /// - Throws: when there is no such microphone.
  public func setPreferredInput(_ port: AVAudioSessionPortDescription?) throws {
    guard let port else { return }
    guard machine?.choose(port.uid) == true else {
      throw NSError(
        domain: NSOSStatusErrorDomain, code: -50, userInfo: [NSLocalizedDescriptionKey: "no \(port.portName)"])
    }
  }

  // MARK: What happens

  private static func route(of machine: Machine) -> AVAudioSessionRouteDescription {
    AVAudioSessionRouteDescription(
      inputs: [machine.current(.microphone)].compactMap { $0.map(AVAudioSessionPortDescription.init) },
      outputs: [machine.current(.loudspeaker)].compactMap { $0.map(AVAudioSessionPortDescription.init) })
  }

  /// On the delivery queue.
  private func handle(_ event: Machine.Event) {
    switch event {
    case .routeChanged(let kind, _, _, let reason) where kind != .camera:
      let previous = route.withLock { route in
        defer { route = currentRoute }
        return route
      }
      let why: RouteChangeReason =
        switch reason {
        case .plugged: .newDeviceAvailable
        case .unplugged: .oldDeviceUnavailable
        case .chosen: .override
        }
      post(
        Self.routeChangeNotification,
        [AVAudioSessionRouteChangeReasonKey: why.rawValue, AVAudioSessionRouteChangePreviousRouteKey: previous])
    case .interruptionBegan:
      post(
        Self.interruptionNotification, [AVAudioSessionInterruptionTypeKey: InterruptionType.began.rawValue])
    case .interruptionEnded(let mayResume):
      let options: InterruptionOptions = mayResume ? .shouldResume : []
      post(
        Self.interruptionNotification,
        [
          AVAudioSessionInterruptionTypeKey: InterruptionType.ended.rawValue,
          AVAudioSessionInterruptionOptionKey: options.rawValue,
        ])
    case .plugged, .unplugged, .routeChanged, .permissionChanged, .failed, .wentToBackground, .cameToForeground: break
    }
  }

  private func post(_ name: Notification.Name, _ information: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: self, userInfo: information)
  }
}

public let AVAudioSessionInterruptionTypeKey = "AVAudioSessionInterruptionTypeKey"
public let AVAudioSessionInterruptionOptionKey = "AVAudioSessionInterruptionOptionKey"
public let AVAudioSessionRouteChangeReasonKey = "AVAudioSessionRouteChangeReasonKey"
public let AVAudioSessionRouteChangePreviousRouteKey = "AVAudioSessionRouteChangePreviousRouteKey"

/// A socket for sound, with the name that people see.
public final class AVAudioSessionPortDescription: NSObject, Sendable {
  public let portType: AVAudioSession.Port
  public let portName: String
  /// The device's id.
  public let uid: String

  public init(_ device: Machine.Device) {
    uid = device.id
    portName = device.name
    let isMicrophone = device.kind == .microphone
    portType =
      switch device.attachment {
      case .wired: isMicrophone ? .headsetMic : .headphones
      case .bluetooth: isMicrophone ? .bluetoothHFP : .bluetoothA2DP
      case .usb: .usbAudio
      case .builtIn, .front, .back, .virtual: isMicrophone ? .builtInMic : .builtInSpeaker
      }
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? AVAudioSessionPortDescription)?.uid == uid }
  public override var hash: Int { uid.hashValue }
}

public final class AVAudioSessionRouteDescription: NSObject, Sendable {
  public let inputs, outputs: [AVAudioSessionPortDescription]

  init(inputs: [AVAudioSessionPortDescription], outputs: [AVAudioSessionPortDescription]) {
    (self.inputs, self.outputs) = (inputs, outputs)
  }
}

/// A handler on its way to the delivery queue, where alone it is called, once.
struct Handler: @unchecked Sendable {
  private let handler: (Bool) -> Void
  init(_ handler: @escaping (Bool) -> Void) { self.handler = handler }
  func callAsFunction(_ isGranted: Bool) { handler(isGranted) }
}
