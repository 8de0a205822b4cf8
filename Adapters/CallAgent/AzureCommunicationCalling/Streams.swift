public import Foundation
import Koine

/// A camera to preview and to send. Identity counts: another instance of the same camera is another stream.
public final class LocalVideoStream: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var source: VideoDeviceInfo
    var isSending = false
  }

  public let mediaStreamType = MediaStreamType.video
  let camera: SharedCamera
  let rendering = RenderingPlace()
  private let state: Lock<State>

  public init(camera: VideoDeviceInfo) {
    self.camera = SharedCamera(camera.makeSource(), in: camera.world)
    state = Lock(State(source: camera))
  }

  public var source: VideoDeviceInfo { state.withLock { $0.source } }

  public internal(set) var isSending: Bool {
    get { state.withLock { $0.isSending } }
    set { state.withLock { $0.isSending = newValue } }
  }

  var world: World { source.world }

  /// Goes on with another camera, wherever the stream is shown and sent.
  public func switchSource(camera: VideoDeviceInfo, completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    self.camera.replace(camera.makeSource())
    let failure = self.camera.failure.map {
      CallingCommunicationErrors.localVideoStreamSwitchSourceFailure.error("\($0)")
    }
    camera.world.delivery.deliver { [self] in
      if failure == nil { state.withLock { $0.source = camera } }
      handler(failure)
    }
  }

  nonisolated(nonsending) public func switchSource(camera: VideoDeviceInfo) async throws {
    try await completion { switchSource(camera: camera, completionHandler: $0) }
  }
}

/// A picture that somebody else sends.
public final class RemoteVideoStream: NSObject, @unchecked Sendable {  // everything mutable sits in `available`
  public let id: Int32
  public let mediaStreamType: MediaStreamType
  let rendering = RenderingPlace()
  let source: Koine.Stream.ID
  weak let session: Session?
  let delivery: Delivery
  private let available = Lock(true)

  init(_ stream: Koine.Stream, id: Int32, session: Session) {
    self.id = id
    source = stream.id
    mediaStreamType = stream.kind == .screen ? .screenSharing : .video
    self.session = session
    delivery = session.world.delivery
  }

  /// False once it has been withdrawn.
  public internal(set) var isAvailable: Bool {
    get { available.withLock { $0 } }
    set { available.withLock { $0 = newValue } }
  }
}

/// A stream has one renderer at a time.
final class RenderingPlace: Sendable {
  private let isTaken = Lock(false)

  func take() -> Bool {
    isTaken.withLock { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
  }

  func give() { isTaken.withLock { $0 = false } }
}
