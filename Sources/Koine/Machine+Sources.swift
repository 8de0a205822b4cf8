// Cameras, microphones and loudspeakers that follow what is plugged in, chosen and allowed.

extension Machine {
  /// - Parameter id: nil: the camera in use, also when that becomes another. Pictures stop while there is none.
  /// - Throws: when there is none now, or its source's words lead to none.
  public func makeCamera(_ id: Device.ID? = nil) throws(DeviceError) -> any VideoSource {
    let device = try find(.camera, id)
    let first = try Devices.camera(device.source)
    let camera = RoutedCamera(format: first.format, self, id, first, device)
    follow(camera.route)
    return camera
  }

  /// - Parameter id: nil: the microphone in use, also when that becomes another. It gives nothing while there is none, or
  ///   while sound is interrupted.
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
    return (loudspeaker, loudspeaker.adjust()?.problem)
  }

  private func find(_ kind: Kind, _ id: Device.ID?) throws(DeviceError) -> Device {
    if let device = id.map({ device($0) }) ?? current(kind), device.kind == kind { return device }
    throw .unknown(id ?? kind.rawValue, known: devices(kind).map(\.id))
  }

  private func follow(_ follower: any MachineFollower) {
    state.withLock { $0.followers.append(WeakFollower(follower: follower)) }
  }

  /// What of a kind may run now.
  fileprivate func usable(_ kind: Kind, _ id: Device.ID?) -> Device? {
    state.withLock { state in
      guard state.mayRun(kind) else { return nil }
      return id.map { id in state.devices.first { $0.id == id && $0.kind == kind } } ?? state.current(kind)
    }
  }
}

/// Which device's source is open, for whoever wants its output.
///
/// A source that has been opened and not started is kept for the first start. `life` is held while sources start and stop,
/// so that this happens in one order, and never while they deliver.
private final class Route<Source: Sendable, Output>: MachineFollower, Sendable {
  typealias Deliver = @Sendable (Output) -> Void

  private struct Life {
    var source: Source?
    var device: Machine.Device?
    var run: (lane: Lane, deliver: Deliver)?
    var isOpen = false
  }

  private let machine: Machine
  private let kind: Machine.Kind
  private let id: Machine.Device.ID?
  private let life: Lock<Life>
  private let open: @Sendable (String) throws -> Source
  private let start: @Sendable (Source, Lane, @escaping Deliver) throws -> Void
  private let stop: @Sendable (Source) -> Void

  init(
    _ machine: Machine, _ kind: Machine.Kind, _ id: Machine.Device.ID?, _ first: Source, _ device: Machine.Device,
    open: @escaping @Sendable (String) throws -> Source,
    start: @escaping @Sendable (Source, Lane, @escaping Deliver) throws -> Void,
    stop: @escaping @Sendable (Source) -> Void
  ) {
    (self.machine, self.kind, self.id) = (machine, kind, id)
    (self.open, self.start, self.stop) = (open, start, stop)
    life = Lock(Life(source: first, device: device))
  }

  deinit { life.withLock { close(&$0) } }

  /// - Throws: `notAllowed`, or what the device throws.
  func begin(on lane: Lane, deliver: @escaping Deliver) throws {
    if machine.permission(kind) == .undetermined { machine.requestPermission(kind) { _ in } }
    guard machine.permission(kind) != .denied else { throw DeviceError.notAllowed(kind.rawValue) }
    try life.withLock { life in
      life.run = (lane, deliver)
      do {
        try adjust(&life)
      } catch {
        life.run = nil
        throw error
      }
    }
  }

  func end() {
    life.withLock { life in
      life.run = nil
      close(&life)
    }
  }

  func machineChanged() {
    let problem = life.withLock { life -> (Machine.Device, any Error)? in
      guard life.run != nil else { return nil }
      do {
        try adjust(&life)
        return nil
      } catch {
        return life.device.map { ($0, error) }
      }
    }
    if let (device, error) = problem { machine.tell(.failed(device, reason: "\(error)")) }
  }

  /// Opens what should be open, closes what should not.
  private func adjust(_ life: inout Life) throws {
    let wanted = machine.usable(kind, id)
    if life.isOpen, life.device == wanted { return }
    close(&life)
    guard let wanted, let run = life.run else { return }
    let kept = life.device == wanted ? life.source : nil
    (life.source, life.device) = (nil, wanted)
    let source = try kept ?? open(wanted.source)
    try start(source, run.lane, run.deliver)
    (life.source, life.isOpen) = (source, true)
  }

  private func close(_ life: inout Life) {
    if life.isOpen, let source = life.source { stop(source) }
    life.isOpen = false
  }
}

private final class RoutedCamera: VideoSource {
  let format: VideoFormat
  let route: Route<any VideoSource, VideoFrame>

  init(
    format: VideoFormat, _ machine: Machine, _ id: Machine.Device.ID?, _ first: any VideoSource,
    _ device: Machine.Device
  ) {
    self.format = format
    route = Route(
      machine, .camera, id, first, device, open: { try Devices.camera($0) },
      start: { try $0.start(on: $1, deliver: $2) }, stop: { $0.stop() })
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    try route.begin(on: lane, deliver: deliver)
  }

  func stop() { route.end() }
}

private final class RoutedMicrophone: AudioSource {
  let channels: Int
  /// As of the microphone that was in use when this one was made.
  let usualProcessing: AudioProcessing?
  let route: Route<any AudioSource, AudioBlock>

  init(
    channels: Int, _ machine: Machine, _ id: Machine.Device.ID?, _ first: any AudioSource, _ device: Machine.Device
  ) {
    self.channels = channels
    usualProcessing = first.usualProcessing
    route = Route(
      machine, .microphone, id, first, device, open: { try Devices.microphone($0) },
      start: { try $0.start(on: $1, deliver: $2) }, stop: { $0.stop() })
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    // Another microphone may have another number of channels; who listens was promised one.
    let channels = channels
    try route.begin(on: lane) { block in deliver(block.channels == channels ? block : block.with(channels: channels)) }
  }

  func stop() { route.end() }
}

private final class RoutedLoudspeaker: AudioSink, IntermittentSink, MachineFollower, Sendable {
  private struct Open {
    var sink: (any AudioSink)?
    var device: Machine.Device?
    var isOn = false
  }

  private let machine: Machine
  private let open = Lock(Open())

  init(_ machine: Machine) { self.machine = machine }

  func machineChanged() {
    if let (device, problem) = adjust() { machine.tell(.failed(device, reason: problem.description)) }
  }

  func adjust() -> (device: Machine.Device, problem: DeviceError)? {
    let wanted = machine.usable(.loudspeaker, nil)
    return open.withLock { open in
      open.isOn = wanted != nil
      guard let wanted, open.device != wanted else { return nil }
      (open.sink, open.device) = (nil, wanted)
      guard wanted.source != "none" else { return nil }
      do throws(DeviceError) { open.sink = try Devices.loudspeaker(wanted.source) } catch { return (wanted, error) }
      return nil
    }
  }

  private var sink: (any AudioSink)? { open.withLock { $0.isOn ? $0.sink : nil } }

  var isListening: Bool { sink != nil }
  func play(_ block: AudioBlock) { sink?.play(block) }
  var playoutDelay: Duration { sink?.playoutDelay ?? .zero }
}
