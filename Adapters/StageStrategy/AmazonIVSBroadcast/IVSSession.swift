public import Foundation
import Koine
import KoineAVFoundation
import KoineBackends
import KoineComposition
import KoineUIKit

/// Superclass of broadcast sessions: their devices and their mixer. Completions are called once, on the delivery queue.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSession.html)
public class IVSSession: NSObject, @unchecked Sendable {  // `devices` is a lock, the rest is constant
  public class var sdkVersion: String { "1.12.0" }

  public let sessionId = UUID().uuidString
  public let mixer: IVSMixer
  let world: World
  private let devices = Lock<[any IVSDevice]>([])
  private let level: Lock<IVSBroadcastSession.LogLevel>

  /// How sessions made from now on configure the machine's audio session (`AVAudioSession`). With `noAction` they leave it alone, and
  /// microphones of the machine are neither listed nor attached. `stages`: `IVSStageAudioManager` decides.
  public class var applicationAudioSessionStrategy: IVSBroadcastSession.AudioSessionStrategy {
    get { AudioStrategy.of(.current).value.withLock { $0 } }
    set { AudioStrategy.of(.current).value.withLock { $0 = newValue } }
  }

  /// What the session writes to standard error: messages of this severity and higher. Errors by default.
  public var logLevel: IVSBroadcastSession.LogLevel {
    get { level.withLock { $0 } }
    set { level.withLock { $0 = newValue } }
  }

  func log(_ severity: IVSBroadcastSession.LogLevel, _ message: @autoclosure () -> String) {
    guard severity.rawValue >= logLevel.rawValue else { return }
    SessionLog.write(severity, sessionId, message())
  }

  init(_ configuration: IVSBroadcastConfiguration) throws {
    do { world = try Backends.world() } catch { throw NSError.ivs(.networkError, error.description) }
    let names = configuration.mixer.slots.map(\.name)
    guard Set(names).count == names.count else {
      throw NSError.ivs(.configurationDuplicateSlotNames, "two slots have one name", source: "IVSSession")
    }
    mixer = IVSMixer(configuration, in: world)
    level = Lock(configuration.logLevel)
    super.init()
    startAudio()
  }

  private func startAudio() {
    let session = AVAudioSession.of(world.machine)
    switch AudioStrategy.of(world.machine).value.withLock({ $0 }) {
    case .playAndRecord: session.startCallAudio(category: .playAndRecord, mode: .default)
    case .playAndRecordDefaultToSpeaker:
      session.startCallAudio(category: .playAndRecord, mode: .default, options: .defaultToSpeaker)
    case .recordOnly: session.startCallAudio(category: .record, mode: .default)
    case .stages: IVSStageAudioManager.of(world.machine).startStageAudio()
    case .noAction: break
    }
  }

  deinit { mixer.unbindAll() }

  /// Something can be started.
  public var isReady: Bool { true }

  /// The input sources of the machine's camera and microphone.
  public class func listAvailableDevices() -> [IVSDeviceDescriptor] {
    IVSDeviceDiscovery.listLocalDevices().compactMap { $0 as? any IVSMultiSourceDevice }
      .flatMap { $0.listAvailableInputSources() }.filter(isPermitted)
  }

  private class func isPermitted(_ descriptor: IVSDeviceDescriptor) -> Bool {
    applicationAudioSessionStrategy != .noAction || descriptor.type != .microphone
  }

  public func listAttachedDevices() -> [any IVSDevice] { devices.withLock { $0 } }

  /// - Parameter slotName: nil: the first slot that fits.
  public func attach(
    _ descriptor: IVSDeviceDescriptor, toSlotWithName slotName: String?,
    onComplete: (((any IVSDevice)?, (any Error)?) -> Void)? = nil
  ) {
    let wanted = LocalDevices.of(world).compactMap { $0 as? any IVSMultiSourceDevice }.first { device in
      device.listAvailableInputSources().contains { $0.urn == descriptor.urn }
    }
    guard let device = wanted, Self.isPermitted(descriptor) else {
      return finish(onComplete, nil, .ivs(.deviceNotFound, "there is no \(descriptor.friendlyName)", source: sessionId))
    }
    device.setPreferredInputSource(descriptor)
    let error = add(device, slotName)
    finish(onComplete, error == nil ? device : nil, error)
  }

  public func attach(
    _ device: any IVSDevice, toSlotWithName slotName: String?, onComplete: (((any Error)?) -> Void)? = nil
  ) {
    let error = add(device, slotName)
    finish(onComplete.map { done in { _, error in done(error) } }, nil, error)
  }

  public func detach(_ device: any IVSDevice, onComplete: (() -> Void)? = nil) {
    mixer.unbindDevice(device)
    devices.withLock { $0.removeAll { $0 === device } }
    log(.debug, "detached \(device.tag())")
    finish(onComplete.map { done in { _, _ in done() } }, nil, nil)
  }

  public func detach(_ descriptor: IVSDeviceDescriptor, onComplete: (() -> Void)? = nil) {
    let device = listAttachedDevices().first { device in
      device.descriptor().urn == descriptor.urn
        || (device as? any IVSMultiSourceDevice)?.listAvailableInputSources().contains { $0.urn == descriptor.urn }
          == true
    }
    if let device {
      detach(device, onComplete: onComplete)
    } else {
      finish(onComplete.map { done in { _, _ in done() } }, nil, nil)
    }
  }

  /// Puts a device of the machine in the place of an attached one.
  public func exchangeOldDevice(
    _ oldDevice: any IVSDevice, withNewDevice newDevice: IVSDeviceDescriptor,
    onComplete: (((any IVSDevice)?, (any Error)?) -> Void)? = nil
  ) {
    guard listAttachedDevices().contains(where: { $0 === oldDevice }), let slot = mixer.binding(for: oldDevice) else {
      let error = NSError.ivs(
        .exchangeDeviceOldDeviceNotAttached, "\(oldDevice.tag()) is not attached", source: sessionId)
      return finish(onComplete, nil, error)
    }
    let isImage = newDevice.type == .camera
    guard isImage == (oldDevice is any IVSImageDevice) else {
      return finish(
        onComplete, nil,
        .ivs(.deviceExchangeIncompatibleTypes, "sound is no picture, and no picture is sound", source: sessionId))
    }
    detach(oldDevice)
    attach(newDevice, toSlotWithName: slot, onComplete: onComplete)
  }

  /// Calls back once everything asked for so far is done.
  public func awaitDeviceChanges(_ onComplete: @escaping () -> Void) { finish({ _, _ in onComplete() }, nil, nil) }

  public func createImageSource(withName name: String) -> any IVSCustomImageSource {
    CustomImageSource(named: name, in: world)
  }

  public func createAudioSource(withName name: String) -> any IVSCustomAudioSource {
    CustomAudioSource(named: name, in: world)
  }

  /// Shows what the mixer makes.
  public func previewView(with aspectMode: IVSBroadcastConfiguration.AspectMode) throws -> IVSImagePreviewView {
    ComposedDevice(mixer.composition).makePreview(aspectMode)
  }

  private func add(_ device: any IVSDevice, _ slotName: String?) -> NSError? {
    guard !listAttachedDevices().contains(where: { $0 === device }) else {
      return .ivs(.deviceAlreadyAttached, "\(device.tag()) is attached already", source: sessionId)
    }
    guard IVSMixer.takes(device) else {
      return .ivs(
        .unsupportedDeviceType, "\(device.tag()) has neither pictures nor sound for a mixer", source: sessionId)
    }
    let isBound =
      if let slotName { mixer.bindDevice(device, toSlotWithName: slotName) } else {
        mixer.bindDevice(toFirstCompatibleSlot: device) != nil
      }
    guard isBound else {
      return .ivs(.deviceFoundNoMatchingSlot, "no slot for \(device.tag())", source: sessionId)
    }
    devices.withLock { $0.append(device) }
    log(.debug, "attached \(device.tag()) to slot \(mixer.binding(for: device) ?? "")")
    return nil
  }

  private func finish(
    _ handler: (((any IVSDevice)?, (any Error)?) -> Void)?, _ device: (any IVSDevice)?, _ error: NSError?
  ) {
    if let error { log(.error, error.localizedDescription) }
    let outcome = Outcome(handler: handler, device: device, error: error)
    world.delivery.deliver { outcome.handler?(outcome.device, outcome.error) }
  }

  /// On its way to the delivery queue, where alone it is used.
  private struct Outcome: @unchecked Sendable {
    let handler: (((any IVSDevice)?, (any Error)?) -> Void)?
    let device: (any IVSDevice)?
    let error: NSError?
  }
}

/// The composed picture, for previews.
private final class ComposedDevice: ImageDevice, @unchecked Sendable {  // constant
  private let camera: SharedCamera

  init(_ composition: Composition) {
    camera = SharedCamera(composition.makeVideoSource(), in: composition.world)
    super.init(
      IVSDeviceDescriptor(urn: "koine:mixer", friendlyName: "Mixer", type: .userImage), in: composition.world)
  }

  override func attach(_ sink: any VideoSink) { camera.addSink(sink) }
  override func detach(_ sink: any VideoSink) { camera.removeSink(sink) }
}

/// One for each machine: apps of tests that run side by side do not change each other's audio.
private final class AudioStrategy: Sendable {
  let value = Lock(IVSBroadcastSession.AudioSessionStrategy.playAndRecord)

  static func of(_ machine: Machine) -> AudioStrategy { machine.sharedObject { AudioStrategy() } }
}
