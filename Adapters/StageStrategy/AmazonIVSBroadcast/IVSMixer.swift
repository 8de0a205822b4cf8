public import Foundation
import Koine
import KoineComposition
import KoineUIKit

/// The layout of a broadcast: slots, each with at most one image device and one audio device.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSMixer.html)
public class IVSMixer: NSObject, @unchecked Sendable {  // `state` is a lock
  private struct State {
    var slots: [IVSMixerSlotConfiguration]
    var bindings: [Binding] = []
  }

  private struct Binding {
    let device: any IVSDevice
    let slot: String
    let unbind: () -> Void
  }

  let composition: Composition
  private let isTransparencyEnabled: Bool
  private let canvasAspectMode: IVSBroadcastConfiguration.AspectMode
  private let state: Lock<State>

  init(_ configuration: IVSBroadcastConfiguration, in world: World) {
    let size = configuration.video.size
    composition = Composition(
      width: Int(size.width), height: Int(size.height), framesPerSecond: Double(configuration.video.targetFramerate),
      channels: configuration.audio.channels, in: world)
    isTransparencyEnabled = configuration.video.enableTransparency
    canvasAspectMode = configuration.mixer.canvasAspectMode
    state = Lock(State(slots: []))
    super.init()
    for slot in configuration.mixer.slots { addSlot(slot) }
  }

  /// As they will be once running transitions are over; copies.
  public func slots() -> [IVSMixerSlotConfiguration] { state.withLock { $0.slots.map { $0.duplicate() } } }

  /// - Returns: false if there is one of this name.
  @discardableResult
  public func addSlot(_ slot: IVSMixerSlotConfiguration) -> Bool {
    let copy = slot.duplicate()
    guard composition.add(place(copy)) else { return false }
    state.withLock { $0.slots.append(copy) }
    return true
  }

  /// Devices bound to it are unbound.
  @discardableResult
  public func removeSlot(withName slotName: String) -> Bool {
    for binding in state.withLock({ $0.bindings }) where binding.slot == slotName { unbindDevice(binding.device) }
    state.withLock { $0.slots.removeAll { $0.name == slotName } }
    return composition.remove(slotName)
  }

  /// Changes a slot gradually; its name stays.
  /// - Parameters:
  ///   - duration: in seconds.
  ///   - onComplete: called once, on the delivery queue, when it is done; not called if there is no such slot.
  @discardableResult
  public func transitionSlot(
    withName slotName: String, toState nextState: IVSMixerSlotConfiguration, duration: TimeInterval,
    onComplete: (() -> Void)? = nil
  ) -> Bool {
    let copy = nextState.duplicate()
    do { try copy.setName(slotName) } catch { return false }
    let time = Composition.transitionTime(duration)
    guard composition.change(slotName, to: place(copy), over: time) else { return false }
    state.withLock { state in
      if let index = state.slots.firstIndex(where: { $0.name == slotName }) { state.slots[index] = copy }
    }
    composition.complete(after: time, onComplete)
    return true
  }

  /// Shows or plays a device in a slot, in place of the one of its kind that is bound there.
  /// - Returns: false if there is no such slot, or the device is neither.
  @discardableResult
  public func bindDevice(_ device: any IVSDevice, toSlotWithName slotName: String) -> Bool {
    guard let connection = connect(device, slotName) else { return false }
    unbindDevice(device)
    let isImage = device is any IVSImageDevice
    let former = state.withLock { state in
      state.bindings.first { $0.slot == slotName && ($0.device is any IVSImageDevice) == isImage }
    }
    if let former { unbindDevice(former.device) }
    connection.begin()
    state.withLock { $0.bindings.append(Binding(device: device, slot: slotName, unbind: connection.end)) }
    return true
  }

  /// The name of the slot that a device is bound to.
  public func binding(for device: any IVSDevice) -> String? {
    state.withLock { $0.bindings.first { $0.device === device }?.slot }
  }

  @discardableResult
  public func unbindDevice(_ device: any IVSDevice) -> Bool {
    let binding = state.withLock { state -> Binding? in
      guard let index = state.bindings.firstIndex(where: { $0.device === device }) else { return nil }
      return state.bindings.remove(at: index)
    }
    binding?.unbind()
    return binding != nil
  }

  /// Binds to the first slot without a device of this kind that prefers devices like this, else to the first without one.
  /// - Returns: the slot's name; nil if there is none.
  @discardableResult
  public func bindDevice(toFirstCompatibleSlot device: any IVSDevice) -> String? {
    let isImage = device is any IVSImageDevice
    let free = state.withLock { state in
      state.slots.filter { slot in
        !state.bindings.contains { $0.slot == slot.name && ($0.device is any IVSImageDevice) == isImage }
      }
    }
    let type = device.descriptor().type
    let fitting = free.first { (isImage ? $0.preferredVideoInput : $0.preferredAudioInput) == type } ?? free.first
    guard let name = fitting?.name, bindDevice(device, toSlotWithName: name) else { return nil }
    return name
  }

  /// The URNs of the devices bound to a slot; nil if there is no such slot.
  public func devicesBoundToSlot(withName slotName: String) -> [String]? {
    state.withLock { state in
      guard state.slots.contains(where: { $0.name == slotName }) else { return nil }
      return state.bindings.filter { $0.slot == slotName }.map { $0.device.descriptor().urn }
    }
  }

  func unbindAll() { for binding in state.withLock({ $0.bindings }) { unbindDevice(binding.device) } }

  /// Devices that an app has made from nothing have no pictures and no sound here.
  static func takes(_ device: any IVSDevice) -> Bool { device is ImageDevice || device is AudioDevice }

  private func connect(_ device: any IVSDevice, _ slot: String) -> (begin: () -> Void, end: () -> Void)? {
    composition.connection(of: device, to: slot)
  }

  private func place(_ slot: IVSMixerSlotConfiguration) -> Slot {
    let isWhole = slot.matchCanvasSize
    var place = Slot(
      slot.name, x: slot.position.x, y: slot.position.y,
      width: isWhole ? Double(composition.width) : slot.size.width,
      height: isWhole ? Double(composition.height) : slot.size.height)
    place.zIndex = Int(slot.zIndex)
    place.gain = Double(slot.gain)
    place.opacity = isTransparencyEnabled ? 1 - Double(slot.transparency) : 1
    place.fill = slot.fillColor.map(Color.init)
    place.aspect = (slot.matchCanvasAspectMode ? canvasAspectMode : slot.aspect).inSlot
    return place
  }
}

extension IVSBroadcastConfiguration.AspectMode {
  var inSlot: Slot.Aspect {
    switch self {
    case .none: .stretch
    case .fit: .fit
    case .fill: .fill
    }
  }
}

/// Applies a device's own gain on the way to the mixer.
final class DeviceGain: AudioSink, @unchecked Sendable {  // constant
  private weak let device: AudioDevice?
  private let next: any AudioSink

  init(_ device: AudioDevice, _ next: any AudioSink) {
    self.device = device
    self.next = next
  }

  func play(_ block: AudioBlock) {
    let gain = device?.gain() ?? 1
    next.play(gain == 1 ? block : block.amplified(by: gain))
  }
}

extension Color {
  init(_ color: UIColor) {
    var (red, green, blue) = (CGFloat(0), CGFloat(0), CGFloat(0))
    color.getRed(&red, green: &green, blue: &blue, alpha: nil)
    func byte(_ component: CGFloat) -> UInt8 { UInt8((component * 255).rounded()) }
    self.init(red: byte(red), green: byte(green), blue: byte(blue))
  }
}

extension Composition {
  /// How a device's media get into a slot, and out of it.
  /// - Returns: nil for a slot that does not exist, or a device that an app has made from nothing.
  func connection(of device: any IVSDevice, to slot: Slot.ID) -> (begin: () -> Void, end: () -> Void)? {
    if let device = device as? ImageDevice, let inlet = pictureInput(slot) {
      return (
        {
          inlet.source = device.participant
          device.attach(inlet)
        },
        {
          device.detach(inlet)
          inlet.clear()
        }
      )
    }
    if let device = device as? AudioDevice, let inlet = soundInput(slot) {
      let sound: any AudioSink = device.isAmplifiedAlready ? inlet : DeviceGain(device, inlet)
      return (
        {
          inlet.source = device.participant
          device.attach(sound)
        },
        {
          device.detach(sound)
          inlet.clear()
        }
      )
    }
    return nil
  }

  /// Calls the app back on the delivery queue after a transition.
  func complete(after time: Duration, _ onComplete: (() -> Void)?) {
    let completion = Completion<Void>(onComplete.map { done in { _ in done() } })
    let (delivery, lane) = (world.delivery, world.backend.scheduler.lane("mixer"))
    lane.post(at: lane.scheduler.now + time) { delivery.deliver { completion.call(()) } }
  }

  /// A time that an app gave for a transition, 0 s to an hour.
  static func transitionTime(_ duration: TimeInterval) -> Duration {
    .seconds(duration.isFinite ? min(max(duration, 0), 3_600) : 0)
  }
}
