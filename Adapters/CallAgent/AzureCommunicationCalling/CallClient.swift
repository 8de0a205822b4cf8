public import Foundation
import Koine
import KoineBackends

/// The way in: makes call agents and the device manager. Cheap, connects to nothing; agents outlive it.
public final class CallClient: NSObject, Sendable {
  private let world: Result<World, BackendAddressError>

  public override convenience init() { self.init(options: CallClientOptions()) }

  public init(options: CallClientOptions) {
    world = Result { () throws(BackendAddressError) in try Backends.world() }
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
    case .success(let world):
      guard name.utf8.count <= 256 else {
        let error = CallingCommunicationErrors.displayNameLengthLongerThanSupported.error(
          "a name has at most 256 bytes")
        return world.delivery.deliver { handler(nil, error) }
      }
      userCredential.token { token, error in
        if let token {
          CallAgent.create(token: token.token, displayName: name, in: world, handler)
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

  /// Nothing is held here that would have to be let go of.
  public func dispose() {}
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

public protocol DeviceManagerDelegate: NSObjectProtocol {
  func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs)
}

extension DeviceManagerDelegate {
  public func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs) {}
}

/// The cameras: two, front and back, that deliver what the world's camera does.
public final class DeviceManager: NSObject, Sendable {
  public let cameras: [VideoDeviceInfo]
  private let mutable = Lock<WeakDeviceManagerDelegate>(WeakDeviceManagerDelegate())

  private struct WeakDeviceManagerDelegate { weak var delegate: (any DeviceManagerDelegate)? }

  init(_ world: World) {
    cameras = [
      VideoDeviceInfo(name: "Front camera", id: "front", cameraFacing: .front, world: world),
      VideoDeviceInfo(name: "Back camera", id: "back", cameraFacing: .back, world: world),
    ]
  }

  /// Kept; the cameras do not come and go.
  public weak var delegate: (any DeviceManagerDelegate)? {
    get { mutable.withLock { $0.delegate } }
    set { mutable.withLock { $0.delegate = newValue } }
  }
}

public final class VideoDeviceInfo: NSObject, Sendable {
  public let name: String
  public let id: String
  public let cameraFacing: CameraFacing
  public let deviceType = VideoDeviceType.virtual
  let world: World

  init(name: String, id: String, cameraFacing: CameraFacing, world: World) {
    self.name = name
    self.id = id
    self.cameraFacing = cameraFacing
    self.world = world
  }

  func makeSource() -> any VideoSource {
    do throws(DeviceError) {
      return try Devices.camera(world.devices.camera)
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
