public import Foundation
import Koine
import KoineBackends

/// The entry point: creates call agents and the device manager. A client has no connection of its own, and agents
/// outlive it.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallclient)
public final class CallClient: NSObject, Sendable {
  private let world: Result<World, BackendAddressError>
  private let isDisposed = Lock(false)
  /// What the app says about itself.
  private let app: String

  public override convenience init() { self.init(options: CallClientOptions()) }

  public init(options: CallClientOptions) {
    world = Result { () throws(BackendAddressError) in try Backends.world() }
    app = options.diagnostics?.text ?? ""
    super.init()
  }

  // MARK: Agents

  /// Signs the user of the credential in, so that they can call and be called.
  public func createCallAgent(
    userCredential: CommunicationTokenCredential, completionHandler: @escaping (CallAgent?, (any Error)?) -> Void
  ) {
    createCallAgent(userCredential: userCredential, options: nil, completionHandler: completionHandler)
  }

  public func createCallAgent(
    userCredential: CommunicationTokenCredential, options: CallAgentOptions?,
    completionHandler: @escaping (CallAgent?, (any Error)?) -> Void
  ) {
    let handler = Handler(completionHandler)
    let name = options?.displayName ?? ""
    switch world {
    case .failure(let error): Delivery.main.deliver { handler(nil, error) }
    case .success(let world) where isDisposed.withLock { $0 }:
      let error = CallingCommunicationErrors([]).error("the client is disposed")
      world.delivery.deliver { handler(nil, error) }
    case .success(let world):
      guard name.utf8.count <= 256 else {
        let error = CallingCommunicationErrors.displayNameLengthLongerThanSupported.error(
          "a name has at most 256 bytes")
        return world.delivery.deliver { handler(nil, error) }
      }
      userCredential.token { [app] token, error in
        if let token {
          CallAgent.create(token: token.token, of: userCredential, options: options, app: app, in: world, handler)
        } else {
          world.delivery.deliver { handler(nil, error) }
        }
      }
    }
  }

  nonisolated(nonsending) public func createCallAgent(
    userCredential: CommunicationTokenCredential, options: CallAgentOptions? = nil
  ) async throws -> CallAgent {
    try await result { createCallAgent(userCredential: userCredential, options: options, completionHandler: $0) }
  }

  // MARK: CallKit

  /// Reports the call of a push notification to CallKit, before there is an agent. The agent with `CallKitOptions` that handles the push
  /// afterwards takes the call over. A user's answer waits for that agent.
  public class func reportIncomingCall(
    with notification: PushNotificationInfo, callKitOptions: CallKitOptions,
    completionHandler: @escaping ((any Error)?) -> Void
  ) {
    let handler = Handler(completionHandler)
    let world: World
    do throws(BackendAddressError) { world = try Backends.world() } catch {
      return Delivery.main.deliver { handler(error) }
    }
    guard notification.isValid else {
      let error = CallingCommunicationErrors.receivedInvalidPushNotificationPayload.error("callId or from is missing")
      return world.delivery.deliver { handler(error) }
    }
    CallKitBridge.of(world, callKitOptions).report(notification) { handler($0) }
  }

  nonisolated(nonsending) public class func reportIncomingCall(
    with notification: PushNotificationInfo, callKitOptions: CallKitOptions
  ) async throws {
    try await completion {
      reportIncomingCall(with: notification, callKitOptions: callKitOptions, completionHandler: $0)
    }
  }

  // MARK: Devices

  public func getDeviceManager(completionHandler: @escaping (DeviceManager?, (any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    switch world {
    case .failure(let error): Delivery.main.deliver { handler(nil, error) }
    case .success(let world):
      let manager = DeviceManager(world)
      world.delivery.deliver { handler(manager, nil) }
    }
  }

  nonisolated(nonsending) public func getDeviceManager() async throws -> DeviceManager {
    try await result { getDeviceManager(completionHandler: $0) }
  }

  /// Makes no more agents. Those it has made go on.
  public func dispose() { isDisposed.withLock { $0 = true } }

  @available(*, unavailable, message: "each agent keeps the credential it was made with")
  public var communicationCredential: CommunicationTokenCredential { preconditionFailure("unavailable") }
}

/// The async twin of a method with a completion handler.
nonisolated(nonsending) func result<Value: Sendable>(
  of call: (@escaping (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation { done in
    call { value, error in
      if let value {
        done.resume(returning: value)
      } else {
        done.resume(throwing: error ?? CallingCommunicationErrors([]).error("there is neither a result nor an error"))
      }
    }
  }
}

nonisolated(nonsending) func completion(of call: (@escaping ((any Error)?) -> Void) -> Void) async throws {
  try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
    call { error in
      if let error { done.resume(throwing: error) } else { done.resume() }
    }
  }
}

/// Notified on the delivery queue when cameras are connected or disconnected.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsdevicemanagerdelegate)
public protocol DeviceManagerDelegate: NSObjectProtocol {
  func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs)
}

extension DeviceManagerDelegate {
  public func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs) {}
}

/// The cameras of the machine. The list changes when a camera is connected or disconnected.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsdevicemanager)
public final class DeviceManager: NSObject, Sendable {
  private struct Mutable {
    var cameras: [VideoDeviceInfo]
    var observation: Observation?
    weak var delegate: (any DeviceManagerDelegate)?
  }
  private let mutable: Lock<Mutable>

  init(_ world: World) {
    mutable = Lock(Mutable(cameras: []))
    super.init()
    let observation = world.machine.observe { [weak self] event in
      switch event {
      case .plugged(let device) where device.kind == .camera: self?.added(VideoDeviceInfo(device, world: world))
      case .unplugged(let device) where device.kind == .camera: self?.removed(device.id)
      default: break
      }
    }
    let present = world.machine.devices(.camera).map { VideoDeviceInfo($0, world: world) }
    mutable.withLock { mutable in
      mutable.observation = observation
      mutable.cameras = present
    }
  }

  deinit { mutable.withLock { $0.observation }?.cancel() }

  /// The same object for a camera for as long as it is plugged in.
  public var cameras: [VideoDeviceInfo] { mutable.withLock { $0.cameras } }

  public weak var delegate: (any DeviceManagerDelegate)? {
    get { mutable.withLock { $0.delegate } }
    set { mutable.withLock { $0.delegate = newValue } }
  }

  /// A camera that was plugged in just before the manager was made is there, and may be told all the same.
  private func added(_ camera: VideoDeviceInfo) {
    let isNew = mutable.withLock { mutable in
      guard !mutable.cameras.contains(where: { $0.id == camera.id }) else { return false }
      mutable.cameras.append(camera)
      return true
    }
    guard isNew else { return }
    delegate?.deviceManager(self, didUpdateCameras: VideoDevicesUpdatedEventArgs(added: [camera]))
  }

  private func removed(_ id: String) {
    let gone = mutable.withLock { mutable in
      defer { mutable.cameras.removeAll { $0.id == id } }
      return mutable.cameras.filter { $0.id == id }
    }
    if !gone.isEmpty { delegate?.deviceManager(self, didUpdateCameras: VideoDevicesUpdatedEventArgs(removed: gone)) }
  }
}

/// A camera: its name, id, facing and type.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideodeviceinfo)
public final class VideoDeviceInfo: NSObject, Sendable {
  public let name: String
  public let id: String
  public let cameraFacing: CameraFacing
  public let deviceType: VideoDeviceType
  let world: World

  init(_ camera: Machine.Device, world: World) {
    name = camera.name
    id = camera.id
    (cameraFacing, deviceType) =
      switch camera.attachment {
      case .front: (.front, .virtual)
      case .back: (.back, .virtual)
      case .usb: (.external, .usbCamera)
      case .wired, .bluetooth: (.external, .captureAdapter)
      case .builtIn, .virtual: (.unknown, .virtual)
      }
    self.world = world
  }

  /// Why it gives no pictures, as far as that is known without starting it.
  var problem: DeviceError? {
    world.machine.device(id) == nil ? .invalid(name, reason: "it is not plugged in any more") : nil
  }

  func makeSource() -> any VideoSource {
    do throws(DeviceError) {
      return try world.machine.makeCamera(id)
    } catch {
      return MissingCamera(error: error)
    }
  }
}

/// Says on starting why there is no camera: making a stream cannot fail in this style.
private final class MissingCamera: VideoSource, Sendable {
  let format = VideoFormat()
  private let error: DeviceError

  init(error: DeviceError) { self.error = error }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws { throw error }
  func stop() {}
}
