public import Foundation
import Koine
import KoineComposition
public import KoineUIKit

/// A device whose media come from other devices. It can be published in a stage or bound to a mixer, as any other.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSMixedDevice.html)
public protocol IVSMixedDevice: IVSDevice {}

/// Frames composed of those of several devices. Without sources its frames are black.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSMixedImageDevice.html)
public protocol IVSMixedImageDevice: IVSImageDevice, IVSMixedDevice {
  /// No effect for a source that has been added.
  func add(_ source: IVSMixedImageDeviceSource)
  /// No effect for a source that has not been added.
  func remove(_ source: IVSMixedImageDeviceSource)
  /// In the order of adding.
  func sources() -> [IVSMixedImageDeviceSource]
}

/// Audio mixed of that of several devices. Without sources it is silent.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSMixedAudioDevice.html)
public protocol IVSMixedAudioDevice: IVSAudioDevice, IVSMixedDevice {
  /// No effect for a source that has been added.
  func add(_ source: IVSMixedAudioDeviceSource)
  /// No effect for a source that has not been added.
  func remove(_ source: IVSMixedAudioDeviceSource)
  /// In the order of adding.
  func sources() -> [IVSMixedAudioDeviceSource]
}

// MARK: Configurations

/// How a mixed image device's frames are made. Copied when the device is made.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedImageDeviceConfiguration.html)
public class IVSMixedImageDeviceConfiguration: NSObject {
  /// In pixels.
  public var size = CGSize(width: 720, height: 1280)
  /// Whether sources may be transparent.
  public var isTransparencyEnabled = false
  /// In frames per second.
  public private(set) var targetFramerate = 30

  /// - Parameter targetFramerate: 10...60 frames per second.
  public func setTargetFramerate(_ targetFramerate: Int) throws {
    guard (10...60).contains(targetFramerate) else {
      throw NSError.ivs(
        .configurationInvalidVideoTargetFramerate, "\(targetFramerate) is out of range",
        source: "IVSMixedImageDeviceConfiguration")
    }
    self.targetFramerate = targetFramerate
  }
}

/// Where and how a source's frames are drawn.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedImageDeviceSourceConfiguration.html)
public class IVSMixedImageDeviceSourceConfiguration: NSObject {
  public var aspect = IVSBroadcastConfiguration.AspectMode.fit
  /// Of the top left corner, in pixels of the mixed device's frames.
  public var position = CGPoint.zero
  /// In pixels of the mixed device's frames.
  public var size = CGSize(width: 720, height: 1280)
  /// Higher ones lie above lower ones; among equals, later above earlier.
  public var zIndex: Int32 = 0
  /// Behind the frames; nil: clear.
  public var fillColor: UIColor?
  /// 0 (clear)...1. Seen only where the mixed device's configuration enables transparency.
  public private(set) var alpha: Float = 1

  /// - Parameter alpha: 0 (clear)...1.
  public func setAlpha(_ alpha: Float) throws {
    guard (0...1).contains(alpha) else {
      throw NSError.ivs(
        .configurationInvalidSlotTransparency, "\(alpha) is out of range",
        source: "IVSMixedImageDeviceSourceConfiguration")
    }
    self.alpha = alpha
  }

  func duplicate() -> IVSMixedImageDeviceSourceConfiguration {
    let copy = IVSMixedImageDeviceSourceConfiguration()
    (copy.aspect, copy.position, copy.size) = (aspect, position, size)
    (copy.zIndex, copy.fillColor, copy.alpha) = (zIndex, fillColor, alpha)
    return copy
  }

  func slot(_ id: Slot.ID, isTransparent: Bool) -> Slot {
    var slot = Slot(id, x: position.x, y: position.y, width: size.width, height: size.height)
    slot.aspect = aspect.inSlot
    slot.zIndex = Int(zIndex)
    slot.fill = fillColor.map(Color.init)
    slot.opacity = isTransparent ? Double(alpha) : 1
    return slot
  }
}

/// How a mixed audio device's audio is made. Copied when the device is made.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedAudioDeviceConfiguration.html)
public class IVSMixedAudioDeviceConfiguration: NSObject {
  /// What all audio is mixed to. A stage's audio is in one channel.
  public private(set) var channels = 2

  /// - Parameter channels: 1 or 2.
  public func setChannels(_ channels: Int) throws {
    guard (1...2).contains(channels) else {
      throw NSError.ivs(
        .configurationInvalidAudioChannels, "\(channels) is out of range", source: "IVSMixedAudioDeviceConfiguration")
    }
    self.channels = channels
  }
}

/// How a source's audio is mixed.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedAudioDeviceSourceConfiguration.html)
public class IVSMixedAudioDeviceSourceConfiguration: NSObject {
  /// 0...2; 1 changes nothing.
  public private(set) var gain: Float = 1

  /// - Parameter gain: 0...2.
  public func setGain(_ gain: Float) throws {
    guard (0...2).contains(gain) else {
      throw NSError.ivs(
        .configurationInvalidSlotGain, "\(gain) is out of range", source: "IVSMixedAudioDeviceSourceConfiguration")
    }
    self.gain = gain
  }

  func duplicate() -> IVSMixedAudioDeviceSourceConfiguration {
    let copy = IVSMixedAudioDeviceSourceConfiguration()
    copy.gain = gain
    return copy
  }

  func slot(_ id: Slot.ID) -> Slot {
    var slot = Slot(id, width: 16, height: 16)
    slot.gain = Double(gain)
    return slot
  }
}

// MARK: Sources

/// A place in a mixed image device, and the device whose frames are drawn there. It may be in several mixed devices.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedImageDeviceSource.html)
public class IVSMixedImageDeviceSource: NSObject, @unchecked Sendable {  // `state` is a lock
  private struct State {
    var configuration: IVSMixedImageDeviceSourceConfiguration
    var device: (any IVSImageDevice)?
  }

  private let state: Lock<State>
  private let places = MixedPlaces()

  public init(configuration: IVSMixedImageDeviceSourceConfiguration, device: (any IVSImageDevice)?) {
    state = Lock(State(configuration: configuration.duplicate(), device: device))
  }

  /// May change at any time; nil: nothing but the fill colour is drawn.
  public var device: (any IVSImageDevice)? {
    get { state.withLock { $0.device } }
    set {
      state.withLock { $0.device = newValue }
      places.connect(newValue)
    }
  }

  /// As it will be once a running transition is over; a copy.
  public var configuration: IVSMixedImageDeviceSourceConfiguration { state.withLock { $0.configuration.duplicate() } }

  /// Changes the source gradually.
  /// - Parameters:
  ///   - duration: in seconds; 0: with the next frame.
  ///   - onComplete: called once, on the delivery queue, when it is done; not called for a source without a mixed device.
  public func transition(
    to configuration: IVSMixedImageDeviceSourceConfiguration, duration: TimeInterval, onComplete: (() -> Void)? = nil
  ) {
    let copy = configuration.duplicate()
    state.withLock { $0.configuration = copy }
    places.change(over: duration, onComplete) { copy.slot($0, isTransparent: $1) }
  }

  fileprivate func enter(_ composition: Composition, of owner: StageDevice, isTransparent: Bool) -> Bool {
    places.enter(composition, of: owner, isTransparent: isTransparent, device) {
      configuration.slot($0, isTransparent: isTransparent)
    }
  }

  fileprivate func leave(_ composition: Composition) { places.leave(composition) }
}

/// A part of a mixed audio device, and the device whose audio it is. It may be in several mixed devices.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixedAudioDeviceSource.html)
public class IVSMixedAudioDeviceSource: NSObject, @unchecked Sendable {  // `state` is a lock
  private struct State {
    var configuration: IVSMixedAudioDeviceSourceConfiguration
    var device: (any IVSAudioDevice)?
  }

  private let state: Lock<State>
  private let places = MixedPlaces()

  public init(configuration: IVSMixedAudioDeviceSourceConfiguration, device: (any IVSAudioDevice)?) {
    state = Lock(State(configuration: configuration.duplicate(), device: device))
  }

  /// May change at any time; nil: silence.
  public var device: (any IVSAudioDevice)? {
    get { state.withLock { $0.device } }
    set {
      state.withLock { $0.device = newValue }
      places.connect(newValue)
    }
  }

  /// As it will be once a running transition is over; a copy.
  public var configuration: IVSMixedAudioDeviceSourceConfiguration { state.withLock { $0.configuration.duplicate() } }

  /// Changes the source gradually.
  /// - Parameters:
  ///   - duration: in seconds.
  ///   - onComplete: called once, on the delivery queue, when it is done; not called for a source without a mixed device.
  public func transition(
    to configuration: IVSMixedAudioDeviceSourceConfiguration, duration: TimeInterval, onComplete: (() -> Void)? = nil
  ) {
    let copy = configuration.duplicate()
    state.withLock { $0.configuration = copy }
    places.change(over: duration, onComplete) { id, _ in copy.slot(id) }
  }

  fileprivate func enter(_ composition: Composition, of owner: StageDevice) -> Bool {
    places.enter(composition, of: owner, isTransparent: false, device) { configuration.slot($0) }
  }

  fileprivate func leave(_ composition: Composition) { places.leave(composition) }
}

/// The slots of one source in the compositions of mixed devices.
private final class MixedPlaces: @unchecked Sendable {  // `places` is a lock
  struct Place {
    weak var composition: Composition?
    weak var owner: StageDevice?
    let isTransparent: Bool
    let slot: Slot.ID
    /// Takes the device out of the slot.
    var disconnect: (() -> Void)?
  }

  private let places = Lock<[Place]>([])

  /// - Returns: false if the source is there already.
  func enter(
    _ composition: Composition, of owner: StageDevice, isTransparent: Bool, _ device: (any IVSDevice)?,
    _ slot: (Slot.ID) -> Slot
  ) -> Bool {
    let id = UUID().uuidString
    let isNew = places.withLock { places in
      places.removeAll { $0.composition == nil }
      guard !places.contains(where: { $0.composition === composition }) else { return false }
      places.append(Place(composition: composition, owner: owner, isTransparent: isTransparent, slot: id))
      return true
    }
    guard isNew else { return false }
    composition.add(slot(id))
    connect(device, in: composition)
    return true
  }

  func leave(_ composition: Composition) {
    let place = places.withLock { places -> Place? in
      guard let index = places.firstIndex(where: { $0.composition === composition }) else { return nil }
      return places.remove(at: index)
    }
    guard let place else { return }
    place.disconnect?()
    composition.remove(place.slot)
  }

  /// Puts another device into all slots.
  func connect(_ device: (any IVSDevice)?) {
    for composition in places.withLock({ $0.compactMap(\.composition) }) { connect(device, in: composition) }
  }

  private func connect(_ device: (any IVSDevice)?, in composition: Composition) {
    guard let place = places.withLock({ places in places.first { $0.composition === composition } }) else { return }
    let slot = place.slot
    let connection = device.flatMap { composition.connection(of: $0, to: slot) }
    let former = places.withLock { places -> (() -> Void)? in
      guard let index = places.firstIndex(where: { $0.slot == slot }) else { return connection?.end }
      defer { places[index].disconnect = connection?.end }
      return places[index].disconnect
    }
    former?()
    connection?.begin()
    if let device, connection == nil { place.owner?.reportForeign(device) }
  }

  /// - Parameter slot: by the slot's id, and whether its composition shows transparency.
  func change(over duration: TimeInterval, _ onComplete: (() -> Void)?, _ slot: (Slot.ID, Bool) -> Slot) {
    let time = Composition.transitionTime(duration)
    var last: Composition?
    for place in places.withLock({ $0 }) {
      guard let composition = place.composition else { continue }
      composition.change(place.slot, to: slot(place.slot, place.isTransparent), over: time)
      last = composition
    }
    last?.complete(after: time, onComplete)
  }
}

// MARK: Devices

/// Frames composed by a `Composition`.
final class MixedImageDevice: ImageDevice, IVSMixedImageDevice, PublishableImages, @unchecked Sendable {  // locked
  private let composition: Composition
  private let isTransparencyEnabled: Bool
  private let camera: SharedCamera
  private let added = Lock<[IVSMixedImageDeviceSource]>([])

  init(_ configuration: IVSMixedImageDeviceConfiguration, in world: World) {
    isTransparencyEnabled = configuration.isTransparencyEnabled
    composition = Composition(
      width: Self.side(configuration.size.width), height: Self.side(configuration.size.height),
      framesPerSecond: Double(configuration.targetFramerate), in: world)
    camera = SharedCamera(composition.makeVideoSource(), in: world)
    super.init(
      IVSDeviceDescriptor(
        urn: "koine:mixed-image:\(UUID().uuidString)", friendlyName: "Mixed image", type: .userImage), in: world)
  }

  /// Any number of an app's as a length in pixels.
  private static func side(_ length: CGFloat) -> Int { length.isFinite ? Int(min(max(length, 16), 4_096)) : 16 }

  deinit { for source in added.withLock({ $0 }) { source.leave(composition) } }

  override func attach(_ sink: any VideoSink) { camera.addSink(sink) }
  override func detach(_ sink: any VideoSink) { camera.removeSink(sink) }
  var format: VideoFormat { camera.format }
  func makeVideoSource() -> any VideoSource { camera.makeSource() }

  func add(_ source: IVSMixedImageDeviceSource) {
    guard source.enter(composition, of: self, isTransparent: isTransparencyEnabled) else { return }
    added.withLock { $0.append(source) }
  }

  func remove(_ source: IVSMixedImageDeviceSource) {
    added.withLock { $0.removeAll { $0 === source } }
    source.leave(composition)
  }

  func sources() -> [IVSMixedImageDeviceSource] { added.withLock { $0 } }
}

/// Audio mixed by a `Composition`.
final class MixedAudioDevice: AudioDevice, IVSMixedAudioDevice, PublishableSound, @unchecked Sendable {  // locked
  private let composition: Composition
  private let microphone: SharedMicrophone
  private let added = Lock<[IVSMixedAudioDeviceSource]>([])

  init(_ configuration: IVSMixedAudioDeviceConfiguration, in world: World) {
    composition = Composition(width: 16, height: 16, channels: configuration.channels, in: world)
    let amplified = AmplifiedSource(composition.makeAudioSource())
    microphone = SharedMicrophone(amplified, in: world)
    super.init(
      IVSDeviceDescriptor(
        urn: "koine:mixed-audio:\(UUID().uuidString)", friendlyName: "Mixed audio", type: .userAudio), in: world)
    amplified.device = self
  }

  deinit { for source in added.withLock({ $0 }) { source.leave(composition) } }

  override func attach(_ sink: any AudioSink) { microphone.addSink(sink) }
  override func detach(_ sink: any AudioSink) { microphone.removeSink(sink) }
  override var isAmplifiedAlready: Bool { true }
  /// A stage's audio is in one channel.
  func makeAudioSource() -> any AudioSource { InOneChannel(microphone.makeSource()) }
  var processing: AudioProcessing? { nil }
  func wasPublished(as stream: LocalStream) {}

  func add(_ source: IVSMixedAudioDeviceSource) {
    guard source.enter(composition, of: self) else { return }
    added.withLock { $0.append(source) }
  }

  func remove(_ source: IVSMixedAudioDeviceSource) {
    added.withLock { $0.removeAll { $0 === source } }
    source.leave(composition)
  }

  func sources() -> [IVSMixedAudioDeviceSource] { added.withLock { $0 } }
}

extension StageDevice {
  /// A device that an app has made from nothing gives no media.
  fileprivate func reportForeign(_ device: any IVSDevice) {
    report(NSError.ivs(.unsupportedDeviceType, "\(device.tag()) cannot be mixed", source: tag()))
  }
}
