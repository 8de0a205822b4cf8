public import Foundation
public import Koine

/// The audio of a machine in Apple's words: its microphones and loudspeakers, the route, interruptions, and what the app needs audio for.
///
/// Each machine has one session. It posts its notifications to `NotificationCenter.default` on the delivery queue.
///
/// While the app has not configured or activated the session, the devices, permissions and interruptions of the machine alone decide
/// whether audio flows. From the app's first such call on (`setCategory`, `setMode`, `setActive`) the session counts: a category
/// without recording gives no microphone, `setActive(false)` and an interruption stop both directions, and `setActive(true)` brings them
/// back. A calling SDK configures the session itself when its audio starts (`startCallAudio`); Docs/styles says what each SDK sets.
///
/// [Apple's page](https://developer.apple.com/documentation/avfaudio/avaudiosession)
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
  /// The system's audio service has ended.
  public static let mediaServicesWereLostNotification = Notification.Name(
    "AVAudioSessionMediaServicesWereLostNotification")
  /// The system's audio service works again. The session is inactive and has its defaults: the app sets it up anew.
  public static let mediaServicesWereResetNotification = Notification.Name(
    "AVAudioSessionMediaServicesWereResetNotification")

  private struct WeakMachine { weak var machine: Machine? }
  private let machineReference: Lock<WeakMachine>
  private let route: Lock<AVAudioSessionRouteDescription>
  private let setup = Lock(AudioSessionSetup())

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

  // MARK: Category, mode and activity

  /// `soloAmbient` until the app or an SDK sets another one.
  public var category: Category { setup.withLock { $0.category } }
  /// The options of `category`.
  public var categoryOptions: CategoryOptions { setup.withLock { $0.options } }
  /// `default` until the app or an SDK sets another one.
  public var mode: Mode { setup.withLock { $0.mode } }
  /// How this session shares its route with other apps.
  public var routeSharingPolicy: RouteSharingPolicy { setup.withLock { $0.policy } }
  /// All categories; each can be set.
  public var availableCategories: [Category] { Category.all }
  /// All modes. A mode for chats can be set with the category `playAndRecord` only, `videoChat` with `record`, too.
  public var availableModes: [Mode] { Mode.all }

  /// - Throws: error -50 of `NSOSStatusErrorDomain` for a category that does not exist.
  public func setCategory(_ category: Category) throws { try setCategory(category, options: []) }

  /// Keeps the mode if it goes with the category; else the mode becomes `default`.
  /// - Throws: error -50 of `NSOSStatusErrorDomain` for options that do not go with the category.
  public func setCategory(_ category: Category, options: CategoryOptions = []) throws {
    try configure { setup throws(AudioSessionSetup.Invalid) in
      let mode = setup.mode.goes(with: category) ? setup.mode : .default
      try setup.set(category, mode, setup.policy, options)
    }
  }

  /// - Throws: error -50 of `NSOSStatusErrorDomain` for a mode or options that do not go with the category.
  public func setCategory(_ category: Category, mode: Mode, options: CategoryOptions = []) throws {
    try setCategory(category, mode: mode, policy: .default, options: options)
  }

  /// - Throws: error -50 of `NSOSStatusErrorDomain` for a mode or options that do not go with the category.
  public func setCategory(
    _ category: Category, mode: Mode, policy: RouteSharingPolicy, options: CategoryOptions = []
  ) throws {
    try configure { setup throws(AudioSessionSetup.Invalid) in try setup.set(category, mode, policy, options) }
  }

  /// - Throws: error -50 of `NSOSStatusErrorDomain` for a mode that does not go with the category.
  public func setMode(_ mode: Mode) throws {
    try configure { setup throws(AudioSessionSetup.Invalid) in
      try setup.set(setup.category, mode, setup.policy, setup.options)
    }
  }

  /// Starts or stops the app's audio.
  /// - Throws: error 561017449 (`insufficientPriority`) of `NSOSStatusErrorDomain` while another app interrupts the audio.
  public func setActive(_ active: Bool, options: SetActiveOptions = []) throws {
    guard !active || machine?.isInterrupted != true else { throw Self.error(561_017_449, "another app has the audio") }
    change { $0.setActive(active) }
  }

  /// Plays through the loudspeaker of the machine instead of headphones, until the next change of the route.
  /// - Throws: error -50 of `NSOSStatusErrorDomain` unless the category is `playAndRecord`.
  public func overrideOutputAudioPort(_ override: PortOverride) throws {
    guard category == .playAndRecord else { throw Self.error(-50, "the category is not playAndRecord") }
    guard let machine else { return }
    let loudspeakers = machine.devices(.loudspeaker)
    let chosen =
      override == .speaker
      ? loudspeakers.first { AVAudioSessionPortDescription($0).portType == .builtInSpeaker } : loudspeakers.last
    if let chosen { machine.choose(chosen.id) }
  }

  /// The volume that the machine's user has set: 0 to 1.
  public var outputVolume: Float { machine?.outputVolume ?? 0 }
  /// In Hz: all audio of the machine has this rate.
  public var sampleRate: Double { Double(AudioBlock.sampleRate) }
  /// In seconds.
  public var ioBufferDuration: TimeInterval { AudioBlock.duration / .seconds(1) }
  /// Whether other apps of the machine play audio: only this one does.
  public var isOtherAudioPlaying: Bool { false }
  /// Whether the app should silence audio that is not essential: no other app plays any.
  public var secondaryAudioShouldBeSilencedHint: Bool { false }

  /// The rate that the app has asked for, in Hz; 0: none. It has no effect.
  public var preferredSampleRate: Double { setup.withLock { $0.preferredSampleRate } }
  /// Kept, without effect: all audio of the machine has 48 kHz.
  public func setPreferredSampleRate(_ rate: Double) throws {
    Self.preferredRate.log()
    setup.withLock { $0.preferredSampleRate = rate }
  }
  /// The duration that the app has asked for, in seconds; 0: none. It has no effect.
  public var preferredIOBufferDuration: TimeInterval { setup.withLock { $0.preferredIOBufferDuration } }
  /// Kept, without effect: audio is processed in blocks of 10 ms.
  public func setPreferredIOBufferDuration(_ duration: TimeInterval) throws {
    Self.preferredDuration.log()
    setup.withLock { $0.preferredIOBufferDuration = duration }
  }
  private static let preferredRate = NoEffect(
    "AVFoundation", "AVAudioSession.setPreferredSampleRate(_:)", why: "all audio of the machine has 48 kHz")
  private static let preferredDuration = NoEffect(
    "AVFoundation", "AVAudioSession.setPreferredIOBufferDuration(_:)", why: "audio is processed in blocks of 10 ms")

  /// Configures and activates the session as a calling SDK does when its audio starts (not Apple's; for authors of styles). Takes no
  /// directions of audio away from an app that has not used its session.
  /// - Parameters:
  ///   - category: nil: the SDK leaves category, mode and options to the app.
  ///   - mode: one that goes with the category, else `default` is set.
  ///   - options: those that do not go with the category are left out.
  ///   - isKeptActive: the SDK manages the session for the app: it is active again after each interruption, until the app itself changes
  ///     or activates the session.
  public func startCallAudio(
    category: Category?, mode: Mode = .voiceChat, options: CategoryOptions = [], isKeptActive: Bool = false
  ) {
    if isKeptActive { setup.withLock { $0.isKeptActive = true } }
    guard machine?.isInterrupted != true else { return }
    change(byApp: false) { setup in
      if let category {
        let mode = mode.goes(with: category) ? mode : .default
        try? setup.set(category, mode, .default, options.intersection(.going(with: category)))
      }
      setup.setActive(true)
    }
  }

  /// Applies what the system's call service does with the session (not Apple's; for authors of platform modules).
  public func setSystemCalls(_ calls: SystemCalls) { change(byApp: false) { $0.setSystemCalls(calls) } }

  private func configure(_ change: (inout AudioSessionSetup) throws(AudioSessionSetup.Invalid) -> Void) throws {
    var invalid: AudioSessionSetup.Invalid?
    self.change { setup in
      do throws(AudioSessionSetup.Invalid) { try change(&setup) } catch { invalid = error }
    }
    if let invalid { throw Self.error(-50, invalid.reason) }
  }

  /// Applies a change of the setup to the machine, and posts a change of the route if the category has changed.
  /// - Parameter byApp: the app makes the change: from now on the session counts.
  private func change(byApp: Bool = true, _ change: (inout AudioSessionSetup) -> Void) {
    let (directions, hasNewCategory) = setup.withLock { setup in
      let before = setup.category
      setup.isUsedByApp = setup.isUsedByApp || byApp
      if byApp { setup.isKeptActive = false }
      change(&setup)
      return (setup.directions, setup.category != before)
    }
    machine?.setAudioDirections(directions)
    guard hasNewCategory, let machine else { return }
    machine.delivery.deliver { [weak self] in self?.postRouteChange(.categoryChange) }
  }

  private static func error(_ code: Int, _ reason: String) -> NSError {
    NSError(domain: NSOSStatusErrorDomain, code: code, userInfo: [NSLocalizedDescriptionKey: reason])
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
      let why: RouteChangeReason =
        switch reason {
        case .plugged: .newDeviceAvailable
        case .unplugged: .oldDeviceUnavailable
        case .chosen: .override
        }
      postRouteChange(why)
    case .interruptionBegan:
      change(byApp: false) { $0.interrupt() }
      post(
        Self.interruptionNotification,
        [
          AVAudioSessionInterruptionTypeKey: InterruptionType.began.rawValue,
          AVAudioSessionInterruptionReasonKey: InterruptionReason.default.rawValue,
        ])
    case .interruptionEnded(let mayResume):
      change(byApp: false) { $0.endInterruption() }
      let options: InterruptionOptions = mayResume ? .shouldResume : []
      post(
        Self.interruptionNotification,
        [
          AVAudioSessionInterruptionTypeKey: InterruptionType.ended.rawValue,
          AVAudioSessionInterruptionOptionKey: options.rawValue,
        ])
    case .mediaServicesLost: post(Self.mediaServicesWereLostNotification, [:])
    case .mediaServicesReset:
      change(byApp: false) { $0.reset() }
      post(Self.mediaServicesWereResetNotification, [:])
    case .plugged, .unplugged, .routeChanged, .permissionChanged, .failed, .wentToBackground, .cameToForeground,
      .outputChanged, .powerChanged, .networkChanged, .memoryLow:
      break
    }
  }

  private func postRouteChange(_ reason: RouteChangeReason) {
    let previous = route.withLock { route in
      defer { route = currentRoute }
      return route
    }
    post(
      Self.routeChangeNotification,
      [AVAudioSessionRouteChangeReasonKey: reason.rawValue, AVAudioSessionRouteChangePreviousRouteKey: previous])
  }

  private func post(_ name: Notification.Name, _ information: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: self, userInfo: information)
  }
}

public let AVAudioSessionInterruptionTypeKey = "AVAudioSessionInterruptionTypeKey"
public let AVAudioSessionInterruptionOptionKey = "AVAudioSessionInterruptionOptionKey"
public let AVAudioSessionInterruptionReasonKey = "AVAudioSessionInterruptionReasonKey"
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
