// Cameras, microphones and loudspeakers that follow the plugged in devices, the choice of devices and the permissions.

extension Machine {
  /// Creates a source that follows the camera in use, or a certain camera.
  /// - Parameter id: nil: the camera in use, also when that becomes another. Pictures stop while there is none.
  /// - Throws: when there is none now, or its source's words lead to none.
  public func makeCamera(_ id: Device.ID? = nil) throws(DeviceError) -> any VideoSource {
    let device = try find(.camera, id)
    let first = try Devices.camera(device.source)
    let camera = RoutedCamera(format: first.format, self, id, first, device)
    follow(camera.route)
    return camera
  }

  /// Creates a source that follows the microphone in use, or a certain microphone.
  /// - Parameter id: nil: the microphone in use, also when that becomes another. It gives nothing while there is none, or
  ///   while sound is interrupted.
  /// - Throws: `DeviceError` if there is no such microphone, or its specification is invalid.
  public func makeMicrophone(_ id: Device.ID? = nil) throws(DeviceError) -> any AudioSource {
    let device = try find(.microphone, id)
    let first = try Devices.microphone(device.source)
    let microphone = RoutedMicrophone(channels: first.channels, self, id, first, device)
    follow(microphone.route)
    return microphone
  }

  /// The loudspeaker in use, also when that becomes another. Plays nothing while there is none, or while sound is
  /// interrupted.
  public func makeLoudspeaker() -> any AudioSink { openLoudspeaker().sink }

  /// With the reason why the one in use now could not be opened.
  func openLoudspeaker() -> (sink: any AudioSink, problem: DeviceError?) {
    let loudspeaker = RoutedLoudspeaker(self)
    follow(loudspeaker)
    return (loudspeaker, loudspeaker.adjust(waits: true)?.problem)
  }

  private func find(_ kind: Kind, _ id: Device.ID?) throws(DeviceError) -> Device {
    if let device = id.map({ device($0) }) ?? current(kind), device.kind == kind { return device }
    throw .unknown(id ?? kind.rawValue, known: devices(kind).map(\.id))
  }

  private func follow(_ follower: any MachineFollower) {
    state.withLock { $0.followers.append(WeakFollower(follower: follower)) }
  }

  /// What of a kind may run now.
  func usable(_ kind: Kind, _ id: Device.ID?) -> Device? {
    state.withLock { state in
      guard state.mayRun(kind) else { return nil }
      return id.map { id in state.devices.first { $0.id == id && $0.kind == kind } } ?? state.current(kind)
    }
  }
}

private final class RoutedCamera: VideoSource {
  let format: VideoFormat
  let route: DeviceRoute<any VideoSource, VideoFrame>

  init(
    format: VideoFormat, _ machine: Machine, _ id: Machine.Device.ID?, _ first: any VideoSource,
    _ device: Machine.Device
  ) {
    self.format = format
    route = DeviceRoute(
      machine, .camera, id, first, device, open: { try Devices.camera($0) },
      start: { try $0.start(on: $1, deliver: $2) }, stop: { $0.stop() })
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    try route.start(on: lane, deliver: deliver)
  }

  func stop() { route.stop() }
}

private final class RoutedMicrophone: AudioSource {
  let channels: Int
  /// As of the microphone that was in use when this one was made.
  let usualProcessing: AudioProcessing?
  let route: DeviceRoute<any AudioSource, AudioBlock>

  init(
    channels: Int, _ machine: Machine, _ id: Machine.Device.ID?, _ first: any AudioSource, _ device: Machine.Device
  ) {
    self.channels = channels
    usualProcessing = first.usualProcessing
    route = DeviceRoute(
      machine, .microphone, id, first, device, open: { try Devices.microphone($0) },
      start: { try $0.start(on: $1, deliver: $2) }, stop: { $0.stop() })
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    // Another microphone may have another number of channels. The consumer expects the number of the first microphone.
    let channels = channels
    try route.start(on: lane) { block in deliver(block.channels == channels ? block : block.with(channels: channels)) }
  }

  func stop() { route.stop() }
}

private final class RoutedLoudspeaker: AudioSink, IntermittentSink, MachineFollower, Sendable {
  private struct Open {
    var sink: (any AudioSink)?
    var device: Machine.Device?
    var isOn = false
    /// Holds the samples at a lower volume than the full one.
    var quiet = AudioBlock(captured: .zero)
  }

  private let machine: Machine
  /// Locked only briefly, also by the thread that plays. Devices are opened outside of the lock, in the order of `adjuster`.
  private let open = Lock(Open())
  private let adjuster = SerialReconciler()

  init(_ machine: Machine) { self.machine = machine }

  func machineChanged() {
    if let (device, problem) = adjust(waits: false) { machine.post(.failed(device, reason: problem.description)) }
  }

  /// Opens what should be open. Nothing is played meanwhile.
  /// - Returns: what could not be opened here.
  func adjust(waits: Bool) -> (device: Machine.Device, problem: DeviceError)? {
    var problem: (Machine.Device, DeviceError)?
    adjuster.run(waits: waits) {
      guard let device = nextDevice() else { return false }
      problem = nil
      do throws(DeviceError) {
        if device.source != "none" { use(try Devices.loudspeaker(device.source), of: device) }
      } catch {
        problem = (device, error)
      }
      return true
    }
    return problem
  }

  /// The one to open now in the place of the one there is.
  private func nextDevice() -> Machine.Device? {
    let wanted = machine.usable(.loudspeaker, nil)
    let (old, device) = open.withLock { open -> ((any AudioSink)?, Machine.Device?) in
      open.isOn = wanted != nil
      guard let wanted, open.device != wanted else { return (nil, nil) }
      defer { (open.sink, open.device) = (nil, wanted) }
      return (open.sink, wanted)
    }
    withExtendedLifetime(old) {}  // let go of outside the lock
    return device
  }

  private func use(_ sink: any AudioSink, of device: Machine.Device) {
    open.withLock { open in if open.device == device { open.sink = sink } }
  }

  private var sink: (any AudioSink)? { open.withLock { $0.isOn ? $0.sink : nil } }

  private var isOn: Bool { open.withLock { $0.isOn } }

  var isListening: Bool { sink != nil || isOn && !machine.playbackTaps.isEmpty }

  func play(_ block: AudioBlock) {
    let taps = machine.playbackTaps
    if !taps.isEmpty, isOn { for tap in taps { tap.handler(ObjectIdentifier(self), block) } }
    let volume = machine.effectiveVolume
    guard volume < 1 else {
      sink?.play(block)
      return
    }
    let (sink, quiet) = open.withLock { open -> ((any AudioSink)?, AudioBlock) in
      guard open.isOn, let sink = open.sink else { return (nil, open.quiet) }
      open.quiet.setSamples(of: block, volume: volume)
      return (sink, open.quiet)
    }
    sink?.play(quiet)
  }

  var playoutDelay: Duration { sink?.playoutDelay ?? .zero }
}

extension AudioBlock {
  /// Takes over another block at a lower volume. Allocates nothing while both have as many channels and no other object keeps the block.
  fileprivate mutating func setSamples(of block: AudioBlock, volume: Float) {
    (channels, captured) = (block.channels, block.captured)
    if samples.count != block.samples.count { samples = block.samples }
    for index in samples.indices { samples[index] = Int16(Float(block.samples[index]) * volume) }
  }
}
