import Foundation
import Koine

extension IVSDeviceDescriptor {
  /// A device of the machine, as an input source. Each position has a default, the first device there: apps look for
  /// `position == .back && isDefault`.
  convenience init(_ device: Machine.Device, of machine: Machine) {
    let position = IVSDevicePosition(device.attachment)
    let first = machine.devices(device.kind).first { IVSDevicePosition($0.attachment) == position }
    self.init(
      urn: "koine:\(device.id)", friendlyName: device.name, type: device.kind == .camera ? .camera : .microphone,
      position: position, isDefault: first?.id == device.id)
  }
}

extension [IVSDeviceDescriptor] {
  /// By position, then the default first, then by name, as the vendor's page for 1.49 says.
  fileprivate static func inputSources(_ kind: Machine.Kind, of machine: Machine) -> Self {
    machine.devices(kind).map { IVSDeviceDescriptor($0, of: machine) }.sorted { one, other in
      (one.position.rawValue, one.isDefault ? 0 : 1, one.friendlyName)
        < (other.position.rawValue, other.isDefault ? 0 : 1, other.friendlyName)
    }
  }
}

extension IVSDevicePosition {
  fileprivate init(_ attachment: Machine.Attachment) {
    self =
      switch attachment {
      case .front: .front
      case .back: .back
      case .usb: .USB
      case .bluetooth: .bluetooth
      case .wired: .AUX
      case .builtIn, .virtual: .unknown
      }
  }
}

/// The machine's camera, `IVSCamera`. Front, back and plugged-in cameras are input sources of one device.
public final class CameraDevice: ImageDevice, IVSMultiSourceDevice, PublishableImages,
  @unchecked Sendable  // `chosen` is a lock
{
  private struct Chosen {
    var device: Machine.Device
    var observation: Observation?
  }

  private let camera: SharedCamera
  private let chosen: Lock<Chosen>

  /// - Returns: nil where the machine has no camera that can be opened.
  init?(in world: World) {
    guard let device = world.machine.current(.camera), let source = try? world.machine.makeCamera(device.id) else {
      return nil
    }
    let turned = TurnedSource(source)
    camera = SharedCamera(turned, in: world)
    chosen = Lock(Chosen(device: device))
    super.init(
      IVSDeviceDescriptor(urn: "koine:camera", friendlyName: "Camera", type: .camera, isDefault: true), in: world)
    turned.device = self
    let observation = world.machine.observe { [weak self] event in
      if case .unplugged(let gone) = event { self?.unplugged(gone) }
    }
    chosen.withLock { $0.observation = observation }
  }

  deinit { chosen.withLock { $0.observation }?.cancel() }

  override func attach(_ sink: any VideoSink) { camera.addSink(sink) }
  override func detach(_ sink: any VideoSink) { camera.removeSink(sink) }
  override var isMirroredInPreviews: Bool { chosen.withLock { $0.device.attachment } == .front }

  var format: VideoFormat { camera.format }
  func makeVideoSource() -> any VideoSource { camera.makeSource() }

  public func listAvailableInputSources() -> [IVSDeviceDescriptor] { .inputSources(.camera, of: world.machine) }

  public func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor, onComplete: (((any Error)?) -> Void)?) {
    let outcome = choose(inputSource)
    let completion = Completion(onComplete)
    world.delivery.deliver { completion.call(outcome) }
  }

  private func choose(_ inputSource: IVSDeviceDescriptor) -> NSError? {
    guard let device = world.machine.devices(.camera).first(where: { "koine:\($0.id)" == inputSource.urn }) else {
      return .ivs(.deviceNotFound, "the camera has no '\(inputSource.friendlyName)'", source: tag())
    }
    return use(device)
  }

  private func use(_ device: Machine.Device) -> NSError? {
    guard chosen.withLock({ $0.device }) != device else { return nil }
    do throws(DeviceError) {
      let source = try world.machine.makeCamera(device.id)
      chosen.withLock { $0.device = device }
      let turned = TurnedSource(source)
      turned.device = self
      camera.replace(turned)
      return nil
    } catch {
      return .ivs(.deviceNotFound, error.description, source: tag())
    }
  }

  /// Goes on with another, if there is one.
  private func unplugged(_ gone: Machine.Device) {
    guard chosen.withLock({ $0.device }) == gone, let next = world.machine.devices(.camera).first else { return }
    if let problem = use(next) { report(problem) }
  }
}

/// A camera source that adds the device's rotation to that of each frame.
private final class TurnedSource: VideoSource, @unchecked Sendable {  // `device` is set once, before it is used
  private let source: any VideoSource
  weak var device: CameraDevice?

  init(_ source: any VideoSource) { self.source = source }

  var format: VideoFormat { source.format }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    try source.start(on: lane) { [weak self] frame in
      let turns = self?.device?.quarterTurns ?? 0
      deliver(turns == 0 ? frame : frame.with(quarterTurns: frame.quarterTurns &+ turns & 3))
    }
  }

  func stop() { source.stop() }
}

/// The machine's microphone, `IVSMicrophone`. Unchecked: everything mutable is in `settings`, a lock.
public final class MicrophoneDevice: AudioDevice, IVSMultiSourceDevice, PublishableSound, @unchecked Sendable {
  private struct Publication {
    weak var stream: LocalStream?
  }
  private struct Settings {
    /// Nil until the app says so of this microphone.
    var cancelsEcho: Bool?
    var publications: [Publication] = []
    var observation: Observation?
    weak var delegate: (any IVSMicrophoneDelegate)?
  }

  private let microphone: SharedMicrophone
  private let settings = Lock(Settings())

  /// - Returns: nil where the machine has no microphone that can be opened.
  init?(in world: World) {
    guard let source = try? world.machine.makeMicrophone() else { return nil }
    let amplified = AmplifiedSource(source)
    microphone = SharedMicrophone(amplified, in: world)
    super.init(
      IVSDeviceDescriptor(urn: "koine:microphone", friendlyName: "Microphone", type: .microphone, isDefault: true),
      in: world)
    amplified.device = self
    let observation = world.machine.observe { [weak self] in self?.handle($0) }
    settings.withLock { $0.observation = observation }
  }

  deinit { settings.withLock { $0.observation }?.cancel() }

  override func attach(_ sink: any AudioSink) { microphone.addSink(sink) }
  override func detach(_ sink: any AudioSink) { microphone.removeSink(sink) }
  override var isAmplifiedAlready: Bool { true }
  func makeAudioSource() -> any AudioSource { microphone.makeSource() }

  public var isEchoCancellationEnabled: Bool {
    get { settings.withLock { $0.cancelsEcho } ?? IVSStageAudioManager.of(world.machine).echoCancellationOfMicrophones }
    set {
      let streams = settings.withLock { settings in
        settings.cancelsEcho = newValue
        return settings.publications.compactMap(\.stream)
      }
      for stream in streams { stream.setProcessing(processing) }
    }
  }

  /// Echo alone: the vendor's switch promises nothing of noise.
  var processing: AudioProcessing? { isEchoCancellationEnabled ? AudioProcessing(noiseSuppression: nil) : nil }

  func wasPublished(as stream: LocalStream) {
    settings.withLock { settings in
      settings.publications.removeAll { $0.stream == nil }
      settings.publications.append(Publication(stream: stream))
    }
  }

  /// Held weakly.
  public var delegate: (any IVSMicrophoneDelegate)? {
    get { settings.withLock { $0.delegate } }
    set { settings.withLock { $0.delegate = newValue } }
  }

  public func listAvailableInputSources() -> [IVSDeviceDescriptor] { .inputSources(.microphone, of: world.machine) }

  public func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor, onComplete: (((any Error)?) -> Void)?) {
    let device = world.machine.devices(.microphone).first { "koine:\($0.id)" == inputSource.urn }
    let isKnown = device.map { world.machine.choose($0.id) } ?? false
    let outcome: NSError? =
      isKnown
      ? nil : .ivs(.deviceNotFound, "the microphone has no '\(inputSource.friendlyName)'", source: tag())
    let completion = Completion(onComplete)
    world.delivery.deliver { completion.call(outcome) }  // after the delegate has heard of the change
  }

  /// On the delivery queue.
  private func handle(_ event: Machine.Event) {
    switch event {
    case .routeChanged(.microphone, _, let device, _):
      delegate?.underlyingInputSourceChanged(
        for: self, toInputSource: device.map { IVSDeviceDescriptor($0, of: world.machine) })
    case .failed(let device, let reason) where device.kind == .microphone:
      report(NSError.ivs(.deviceNotFound, reason, source: tag()))
    default: break
    }
  }
}

/// An audio source with its device's gain applied.
final class AmplifiedSource: AudioSource, @unchecked Sendable {  // `device` is set once, before it is used
  private let source: any AudioSource
  weak var device: AudioDevice?

  init(_ source: any AudioSource) { self.source = source }

  var channels: Int { source.channels }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    try source.start(on: lane) { [weak self] block in
      let gain = self?.device?.gain() ?? 1
      deliver(gain == 1 ? block : block.amplified(by: gain))
    }
  }

  func stop() { source.stop() }
}

/// An app's completion handler on its way to the delivery queue, where alone it is called.
struct Completion<Value>: @unchecked Sendable {
  private let handler: ((Value) -> Void)?
  init(_ handler: ((Value) -> Void)?) { self.handler = handler }
  func call(_ value: Value) { handler?(value) }
}
