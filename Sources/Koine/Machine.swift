/// The machine of a local participant: its plugged in devices, the devices in use, the permissions given by its owner, and
/// whether another app interrupts the audio.
///
///     world.machine.plugIn(Machine.Device(id: "usb", kind: .microphone, name: "Headset", source: "pulse:usb"))
///     world.machine.beginInterruption()
///
/// The machine does not query the operating system. A plug-in that watches devices, or a test that plays the person at the
/// machine, reports each change. Sources made by `makeCamera` and `makeMicrophone`, and the loudspeaker, follow at once.
/// Observers are notified on the delivery queue, in order. Any thread may call any method.
public final class Machine: Sendable {
  /// The kind of a device.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A source of video.
    case camera
    /// A source of audio.
    case microphone
    /// A sink of audio.
    case loudspeaker
  }

  /// The connection of a device to the machine.
  public enum Attachment: String, Sendable, Hashable {
    /// A part of the machine, such as its loudspeaker.
    case builtIn
    /// A camera on the side of the screen.
    case front
    /// A camera on the back.
    case back
    /// A device with an analogue plug, such as headphones.
    case wired
    /// A Bluetooth device.
    case bluetooth
    /// A USB device.
    case usb
    /// A device that exists in software only.
    case virtual
  }

  /// A device of the machine.
  public struct Device: Sendable, Hashable, Identifiable {
    /// Different for each device that is plugged in.
    public let id: String
    /// The kind of the device.
    public let kind: Kind
    /// As people see it.
    public let name: String
    /// The connection of the device to the machine.
    public let attachment: Attachment
    /// In the words of `Devices`.
    public let source: String
    /// Whether it is a camera with a torch (`setTorch(_:of:)`).
    public let hasTorch: Bool

    /// Creates a device.
    public init(
      id: String, kind: Kind, name: String, attachment: Attachment = .usb, source: String, hasTorch: Bool = false
    ) {
      (self.id, self.kind, self.name, self.attachment, self.source) = (id, kind, name, attachment, source)
      self.hasTorch = hasTorch && kind == .camera
    }
  }

  /// Whether the owner lets apps use cameras or microphones. Loudspeakers are always allowed.
  public enum Permission: Sendable, Hashable {
    /// The user has not decided yet.
    case undetermined
    /// The user has denied the use.
    case denied
    /// The user has granted the use.
    case granted
  }

  /// The reason why another device is in use.
  public enum RouteReason: Sendable, Hashable {
    /// The device was plugged in. Audio uses the device that was plugged in last.
    case plugged
    /// The device in use was unplugged.
    case unplugged
    /// The user or the app chose the device.
    case chosen
  }

  /// A change of the machine.
  public enum Event: Sendable, Hashable {
    /// A device was plugged in.
    case plugged(Device)
    /// A device was unplugged.
    case unplugged(Device)
    /// Another device is in use, or none.
    case routeChanged(Kind, from: Device?, to: Device?, RouteReason)
    /// Something else has the sound: microphones give none, loudspeakers play none.
    case interruptionBegan
    /// The interruption is over.
    /// - Parameter mayResume: false: the app is asked to wait for its user. Sources go on by themselves either way.
    case interruptionEnded(mayResume: Bool)
    /// The user has granted or denied the use of devices of a kind.
    case permissionChanged(Kind, Permission)
    /// The app that runs here is no longer in front: its cameras give nothing.
    case wentToBackground
    /// The app is in the foreground again.
    case cameToForeground
    /// A device that should be in use could not be opened.
    case failed(Device, reason: String)
    /// The system's audio service has ended; `mediaServicesReset` follows.
    case mediaServicesLost
    /// The system's audio service works again. An app that uses its audio session sets the session up anew.
    case mediaServicesReset
    /// The volume of the loudspeaker is another, or its mute switch was moved (`outputVolume`, `isOutputMuted`).
    case outputChanged
    /// The battery has changed.
    case powerChanged(Power?)
    /// The machine has another kind of network.
    case networkChanged(Network?)
    /// Memory is short: apps should release what they can.
    case memoryLow
  }

  struct State {
    var devices: [Device] = []
    var inUse: [Kind: Device.ID] = [:]
    /// Cameras with a torch that is on.
    var litTorches: Set<Device.ID> = []
    var permissions: [Kind: Permission] = [:]
    var answers: [Kind: Permission] = [:]
    var asking: [(kind: Kind, done: @Sendable (Bool) -> Void)] = []
    var isInterrupted = false
    var audioDirections: AudioDirections?
    var outputVolume: Float = 1
    var isOutputMuted = false
    var power: Power?
    var network: Network?
    var isMemoryLow = false
    var playbackTaps: [(number: Int, handler: @Sendable (ObjectIdentifier, AudioBlock) -> Void)] = []
    var isInBackground = false
    var information: AppInformation?
    var missingKeys: Set<String> = []
    var observers: [(number: Int, handler: @Sendable (Event) -> Void)] = []
    var nextObserver = 0
    var followers: [WeakFollower] = []
    var scheduler = Scheduler.real
    /// Objects that other modules keep for this machine, such as `AVAudioSession`.
    var sharedObjects: [ObjectIdentifier: any AnyObject & Sendable] = [:]
  }

  struct WeakFollower: Sendable { weak var follower: (any MachineFollower)? }

  let state: Lock<State>
  /// The delivery on which observers are notified.
  public let delivery: Delivery

  /// Creates a machine with these devices.
  /// - Parameter delivery: where observers hear of things.
  public init(_ devices: [Device], delivery: Delivery = .main) {
    self.delivery = delivery
    var state = State(devices: devices)
    for kind in Kind.allCases { state.inUse[kind] = devices.first { $0.kind == kind }?.id }
    self.state = Lock(state)
  }

  // MARK: Devices

  /// All devices, in the order in which they were plugged in.
  public var devices: [Device] { state.withLock { $0.devices } }
  /// The devices of a kind, in the order in which they were plugged in.
  public func devices(_ kind: Kind) -> [Device] { devices.filter { $0.kind == kind } }
  /// The device with this id; nil if it is not plugged in.
  public func device(_ id: Device.ID) -> Device? { devices.first { $0.id == id } }
  /// The device of this kind that is in use; nil if the machine has none.
  public func current(_ kind: Kind) -> Device? { state.withLock { $0.current(kind) } }
  /// Whether the torch of a camera is on.
  public func isTorchOn(_ id: Device.ID) -> Bool { state.withLock { $0.litTorches.contains(id) } }

  /// Turns the torch of a camera on or off. It stays as it is, whether or not the camera runs, until the camera is unplugged.
  /// - Returns: false if there is no such camera, or it has no torch.
  @discardableResult
  public func setTorch(_ isOn: Bool, of id: Device.ID) -> Bool {
    state.withLock { state in
      guard state.devices.contains(where: { $0.id == id && $0.hasTorch }) else { return false }
      if isOn { state.litTorches.insert(id) } else { state.litTorches.remove(id) }
      return true
    }
  }

  /// Whether another program interrupts the audio.
  public var isInterrupted: Bool { state.withLock { $0.isInterrupted } }
  /// The user's permission for devices of a kind.
  public func permission(_ kind: Kind) -> Permission { state.withLock { $0.permissionAsked(kind) } }

  // MARK: Acts of the machine's user

  /// Adds a device. Audio goes to, and comes from, the device that was plugged in last. A device with the same id is replaced.
  public func plugIn(_ device: Device) {
    change { state in
      state.devices.removeAll { $0.id == device.id }
      state.litTorches.remove(device.id)
      state.devices.append(device)
      let takesOver = device.kind != .camera || state.inUse[device.kind] == nil
      return [.plugged(device)] + (takesOver ? state.use(device.id, device.kind, .plugged) : [])
    }
  }

  /// Removes a device. If it was in use, the machine falls back to the remaining device of its kind that was plugged in last.
  public func unplug(_ id: Device.ID) {
    change { state in
      guard let device = state.devices.first(where: { $0.id == id }) else { return [] }
      let wasInUse = state.inUse[device.kind] == id
      state.devices.removeAll { $0.id == id }
      state.litTorches.remove(id)
      guard wasInUse else { return [.unplugged(device)] }
      let next = state.devices.last { $0.kind == device.kind }
      state.inUse[device.kind] = next?.id
      return [.unplugged(device), .routeChanged(device.kind, from: device, to: next, .unplugged)]
    }
  }

  /// Uses a device from now on: the user or the app has chosen it.
  /// - Returns: false if there is no such device.
  @discardableResult
  public func choose(_ id: Device.ID) -> Bool {
    var isThere = false
    change { state in
      guard let device = state.devices.first(where: { $0.id == id }) else { return [] }
      isThere = true
      return state.use(id, device.kind, .chosen)
    }
    return isThere
  }

  /// As by a telephone's call.
  public func beginInterruption() {
    change { state in
      defer { state.isInterrupted = true }
      return state.isInterrupted ? [] : [.interruptionBegan]
    }
  }

  /// Ends the interruption: microphones and loudspeakers work again.
  public func endInterruption(mayResume: Bool = true) {
    change { state in
      defer { state.isInterrupted = false }
      return state.isInterrupted ? [.interruptionEnded(mayResume: mayResume)] : []
    }
  }

  // MARK: What its owner allows

  /// Open questions are answered by it.
  public func setPermission(_ permission: Permission, _ kind: Kind) {
    change { $0.set(permission, kind) }
    guard permission != .undetermined else { return }
    let answered = state.withLock { state in
      defer { state.asking.removeAll { $0.kind == kind } }
      return state.asking.filter { $0.kind == kind }
    }
    let isGranted = state.withLock { $0.permission(kind) } == .granted
    for question in answered { delivery.deliver { question.done(isGranted) } }
  }

  /// What the owner will say when asked; `undetermined`: nothing, until `setPermission`. Granted unless said otherwise.
  public func willAnswer(_ answer: Permission, _ kind: Kind) { state.withLock { $0.answers[kind] = answer } }

  /// Asks the owner, if that is not known yet.
  /// - Parameter done: called once, on the delivery queue.
  public func requestPermission(_ kind: Kind, done: @escaping @Sendable (Bool) -> Void) {
    let answer = state.withLock { state -> Permission? in
      let known = state.permissionAsked(kind)
      guard known == .undetermined else { return known }
      state.asking.append((kind, done))
      return nil
    }
    if let answer { return delivery.deliver { done(answer == .granted) } }
    let answerNow = state.withLock { $0.answers[kind] ?? .granted }
    if answerNow != .undetermined { setPermission(answerNow, kind) }
  }

  /// Asks the user for permission, unless the user has decided before. Returns whether it is granted.
  public func requestPermission(_ kind: Kind) async -> Bool {
    await withCheckedContinuation { answer in requestPermission(kind) { answer.resume(returning: $0) } }
  }

  // MARK: Observers

  /// The clock of the machine's world; the real clock for a machine without a world.
  public var scheduler: Scheduler { state.withLock { $0.scheduler } }
  func setScheduler(_ scheduler: Scheduler) { state.withLock { $0.scheduler = scheduler } }

  /// Calls `handler` on the delivery queue for each event from now on, until the observation is cancelled.
  @discardableResult
  public func observe(_ handler: @escaping @Sendable (Event) -> Void) -> Observation {
    let number = state.withLock { state in
      state.nextObserver += 1
      state.observers.append((state.nextObserver, handler))
      return state.nextObserver
    }
    return Observation { [weak self] in
      guard let self else { return }
      let removed = state.withLock { state in
        let kept = state.observers.filter { $0.number != number }
        defer { state.observers = kept }
        return state.observers
      }
      withExtendedLifetime(removed) {}  // handlers are let go of outside the lock
    }
  }

  /// What happens from now on.
  public func events() -> AsyncStream<Event> {
    AsyncStream { continuation in
      let observation = observe { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }

  /// For authors of styles: the machine's one object of a type, such as a vendor's shared instance. It is made on first use.
  public func sharedObject<Object: AnyObject & Sendable>(_ make: () -> Object) -> Object {
    let id = ObjectIdentifier(Object.self)
    if let known = state.withLock({ $0.sharedObjects[id] as? Object }) { return known }
    let made = make()
    return state.withLock { state in
      if let known = state.sharedObjects[id] as? Object { return known }
      state.sharedObjects[id] = made
      return made
    }
  }

  /// Changes the state, posts its events to the delivery queue in the order of the changes, and then lets the followers, such
  /// as sources, adapt. If the change is made on the delivery queue, the followers have adapted before observers are called.
  func change(_ change: (inout State) -> [Event]) {
    adjust { state in
      let events = change(&state)
      // Handed over under the lock: deliveries have the order of the changes. Nothing of the app's runs here.
      for event in events { deliver(event) }
      return !events.isEmpty
    }
  }

  /// Changes the state without an event.
  /// - Parameter change: returns whether followers have to adapt.
  func adjust(_ change: (inout State) -> Bool) {
    let followers = state.withLock { state -> [any MachineFollower] in
      let hasChanged = change(&state)
      let followers = state.followers.compactMap(\.follower)  // let go of outside the lock
      state.followers.removeAll { $0.follower == nil }
      return hasChanged ? followers : []
    }
    for follower in followers { follower.machineChanged() }
  }

  /// Changes the state and posts its events, to which followers need not adapt.
  func changeAside(_ change: (inout State) -> [Event]) {
    state.withLock { state in
      // Handed over under the lock: deliveries have the order of the changes. Nothing of the app's runs here.
      for event in change(&state) { deliver(event) }
    }
  }

  /// Notifies observers of an event to which followers need not adapt.
  func post(_ event: Event) { state.withLock { _ in deliver(event) } }

  private func deliver(_ event: Event) {
    delivery.deliver { [weak self] in
      guard let self else { return }
      let observers = state.withLock { $0.observers }
      Machine.$telling.withValue(self) {
        for observer in observers where isObserving(observer.number) { observer.handler(event) }
      }
    }
  }

  private func isObserving(_ number: Int) -> Bool { state.withLock { $0.observers.contains { $0.number == number } } }
}

/// An object that depends on the devices in use, such as a source or the loudspeaker.
protocol MachineFollower: AnyObject, Sendable {
  func machineChanged()
}

extension Machine.State {
  func current(_ kind: Machine.Kind) -> Machine.Device? {
    inUse[kind].flatMap { id in devices.first { $0.id == id } }
  }

  fileprivate mutating func use(_ id: Machine.Device.ID, _ kind: Machine.Kind, _ reason: Machine.RouteReason)
    -> [Machine.Event]
  {
    let before = current(kind)
    inUse[kind] = id
    let after = current(kind)
    return before == after ? [] : [.routeChanged(kind, from: before, to: after, reason)]
  }

  fileprivate mutating func set(_ permission: Machine.Permission, _ kind: Machine.Kind) -> [Machine.Event] {
    let before = self.permission(kind)
    permissions[kind] = permission
    let after = self.permission(kind)
    return before == after ? [] : [.permissionChanged(kind, after)]
  }
}
