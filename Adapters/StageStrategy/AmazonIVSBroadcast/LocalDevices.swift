import Foundation
import Koine

/// The machine's camera. Front and back are input sources of one device.
final class LocalCamera: ImageDevice, IVSCamera, PublishableImages, @unchecked Sendable {  // `position` is a lock
  private let camera: SharedCamera
  private let turn: TurnedSource
  private let position = Lock(IVSDevicePosition.front)

  /// - Returns: nil where the world has no camera.
  init?(in world: World) {
    guard let source = try? Devices.camera(world.devices.camera) else { return nil }
    turn = TurnedSource(source)
    camera = SharedCamera(turn, in: world)
    super.init(
      IVSDeviceDescriptor(urn: "koine:camera", friendlyName: "Camera", type: .camera, isDefault: true), in: world)
    turn.device = self
  }

  override func attach(_ sink: any VideoSink) { camera.addSink(sink) }
  override func detach(_ sink: any VideoSink) { camera.removeSink(sink) }
  override var isMirroredInPreviews: Bool { position.withLock { $0 } == .front }

  var format: VideoFormat { camera.format }
  func makeVideoSource() -> any VideoSource { camera.makeSource() }

  static let front = IVSDeviceDescriptor(
    urn: "koine:camera:front", friendlyName: "Front camera", type: .camera, position: .front, isDefault: true)
  static let back = IVSDeviceDescriptor(
    urn: "koine:camera:back", friendlyName: "Back camera", type: .camera, position: .back)

  func listAvailableInputSources() -> [IVSDeviceDescriptor] { [Self.front, Self.back] }

  func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor, onComplete: (((any Error)?) -> Void)?) {
    let outcome = choose(inputSource)
    let completion = Completion(onComplete)
    world.delivery.deliver { completion.call(outcome) }
  }

  private func choose(_ inputSource: IVSDeviceDescriptor) -> NSError? {
    guard [Self.front, Self.back].contains(where: { $0.urn == inputSource.urn }) else {
      return .ivs(.deviceNotFound, "the camera has no '\(inputSource.friendlyName)'", source: tag())
    }
    guard position.withLock({ $0 }) != inputSource.position else { return nil }
    let text = inputSource.position == .back ? world.devices.backCamera : world.devices.camera
    do throws(DeviceError) {
      let source = try Devices.camera(text)
      position.withLock { $0 = inputSource.position }
      let turned = TurnedSource(source)
      turned.device = self
      camera.replace(turned)
      return nil
    } catch {
      return .ivs(.deviceNotFound, error.description, source: tag())
    }
  }
}

/// A camera whose pictures say how the machine is held.
private final class TurnedSource: VideoSource, @unchecked Sendable {  // `device` is set once, before it is used
  private let source: any VideoSource
  weak var device: LocalCamera?

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

/// The machine's microphone. Unchecked: everything mutable is in `settings`, a lock.
final class LocalMicrophone: AudioDevice, IVSMicrophone, PublishableSound, @unchecked Sendable {
  private struct Publication {
    weak var stream: LocalStream?
  }
  private struct Settings {
    /// Nil until the app says so of this microphone.
    var cancelsEcho: Bool?
    var publications: [Publication] = []
    weak var delegate: (any IVSMicrophoneDelegate)?
  }

  private let microphone: SharedMicrophone
  private let settings = Lock(Settings())

  /// - Returns: nil where the world has no microphone.
  init?(in world: World) {
    guard let source = try? Devices.microphone(world.devices.microphone) else { return nil }
    let amplified = AmplifiedSource(source)
    microphone = SharedMicrophone(amplified, in: world)
    super.init(
      IVSDeviceDescriptor(urn: "koine:microphone", friendlyName: "Microphone", type: .microphone, isDefault: true),
      in: world)
    amplified.device = self
  }

  override func attach(_ sink: any AudioSink) { microphone.addSink(sink) }
  override func detach(_ sink: any AudioSink) { microphone.removeSink(sink) }
  override var isAmplifiedAlready: Bool { true }
  func makeAudioSource() -> any AudioSource { microphone.makeSource() }

  var isEchoCancellationEnabled: Bool {
    get { settings.withLock { $0.cancelsEcho } ?? IVSStageAudioManager.sharedInstance().echoCancellationOfMicrophones }
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

  var delegate: (any IVSMicrophoneDelegate)? {
    get { settings.withLock { $0.delegate } }
    set { settings.withLock { $0.delegate = newValue } }
  }

  static let builtIn = IVSDeviceDescriptor(
    urn: "koine:microphone:built-in", friendlyName: "Built-in microphone", type: .microphone, isDefault: true)

  func listAvailableInputSources() -> [IVSDeviceDescriptor] { [Self.builtIn] }

  func setPreferredInputSource(_ inputSource: IVSDeviceDescriptor, onComplete: (((any Error)?) -> Void)?) {
    let isKnown = inputSource.urn == Self.builtIn.urn
    let outcome: NSError? =
      isKnown
      ? nil : .ivs(.deviceNotFound, "the microphone has no '\(inputSource.friendlyName)'", source: tag())
    let completion = Completion(onComplete)
    world.delivery.deliver { [self] in
      if isKnown { delegate?.underlyingInputSourceChanged(for: self, toInputSource: inputSource) }
      completion.call(outcome)
    }
  }
}

/// A microphone whose sound is made louder or softer by the device's gain.
private final class AmplifiedSource: AudioSource, @unchecked Sendable {  // `device` is set once, before it is used
  private let source: any AudioSource
  weak var device: LocalMicrophone?

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
