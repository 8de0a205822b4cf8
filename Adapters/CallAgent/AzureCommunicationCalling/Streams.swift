public import Foundation
import Koine

/// A video stream of a call, outgoing or incoming.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallvideostream)
open class CallVideoStream: NSObject, @unchecked Sendable {  // constant but for `current`, a lock
  /// Unique in a call for received streams, in a process for own ones.
  public let id: Int32
  public let type: VideoStreamType
  public let sourceType: VideoStreamSourceType
  public let direction: StreamDirection
  private let current: Lock<VideoStreamState>

  init(id: Int32, type: VideoStreamType, source: VideoStreamSourceType, state: VideoStreamState) {
    (self.id, self.type, sourceType) = (id, type, source)
    direction = type == .remoteIncoming || type == .rawIncoming ? .incoming : .outgoing
    current = Lock(state)
  }

  public var state: VideoStreamState { current.withLock { $0 } }
  public var mediaStreamType: MediaStreamType { sourceType }

  /// On the delivery queue.
  func change(to new: VideoStreamState, message: String = "") {
    let hasChanged = current.withLock { current in
      defer { current = new }
      return current != new
    }
    if hasChanged { stateChanged(VideoStreamStateChangedEventArgs(self, message)) }
  }

  func stateChanged(_ args: VideoStreamStateChangedEventArgs) {}
}

// MARK: Own

/// A video stream that the local participant sends.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsoutgoingvideostream)
open class OutgoingVideoStream: CallVideoStream, @unchecked Sendable {  // constant
  private static let lastID = Lock<Int32>(0)

  init(type: VideoStreamType, source: VideoStreamSourceType) {
    let id = Self.lastID.withLock { last in
      last &+= 1
      return last
    }
    super.init(id: id, type: type, source: source, state: .available)
  }

  public var isSending: Bool { state == .started }
  /// How the room names its kind.
  var kind: Track.Kind { sourceType == .screenSharing ? .screen : .camera }

  func makeSource(in world: World) -> any VideoSource { preconditionFailure("a stream without pictures is never made") }
  /// Why there are no pictures, if so.
  var failure: (any Error)? { nil }
}

/// Notified of the state of a local video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acslocalvideostreamdelegate)
public protocol LocalVideoStreamDelegate: NSObjectProtocol {
  func localVideoStream(
    _ localVideoStream: LocalVideoStream, didChangeState args: VideoStreamStateChangedEventArgs)
}

extension LocalVideoStreamDelegate {
  public func localVideoStream(
    _ localVideoStream: LocalVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) {}
}

/// A camera for preview and sending. Streams are compared by identity: two instances with the same camera are two
/// streams.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acslocalvideostream)
public final class LocalVideoStream: OutgoingVideoStream, @unchecked Sendable {  // a lock: `settings`
  private struct Settings {
    var source: VideoDeviceInfo
    weak var delegate: (any LocalVideoStreamDelegate)?
  }
  private let settings: Lock<Settings>
  let camera: SharedCamera
  let world: World
  let rendering = RenderingPlace()

  public init(camera: VideoDeviceInfo) {
    settings = Lock(Settings(source: camera))
    world = camera.world
    self.camera = SharedCamera(camera.makeSource(), in: camera.world)
    super.init(type: .localOutgoing, source: .video)
  }

  override func makeSource(in world: World) -> any VideoSource { camera.makeSource() }
  override var failure: (any Error)? { camera.failure ?? source.problem }

  public var source: VideoDeviceInfo { settings.withLock { $0.source } }

  public weak var delegate: (any LocalVideoStreamDelegate)? {
    get { settings.withLock { $0.delegate } }
    set { settings.withLock { $0.delegate = newValue } }
  }

  /// Goes on with another camera, wherever the stream is shown and sent.
  public func switchSource(camera: VideoDeviceInfo, completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    self.camera.replace(camera.makeSource())
    let failure = self.camera.failure.map {
      CallingCommunicationErrors.localVideoStreamSwitchSourceFailure.error("\($0)")
    }
    camera.world.delivery.deliver { [self] in
      if failure == nil { settings.withLock { $0.source = camera } }
      handler(failure)
    }
  }

  nonisolated(nonsending) public func switchSource(camera: VideoDeviceInfo) async throws {
    try await completion { switchSource(camera: camera, completionHandler: $0) }
  }

  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) {
    delegate?.localVideoStream(self, didChangeState: args)
  }
}

// MARK: Others'

/// Video that a remote participant sends.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsincomingvideostream)
open class IncomingVideoStream: CallVideoStream, @unchecked Sendable {  // constant
  /// The sender, by raw id.
  public let participantSourceId: String
  let source: Track.ID
  weak let session: Session?
  private weak let owner: RemoteParticipant?
  let delivery: Delivery

  init(_ stream: Track, id: Int32, type: VideoStreamType, session: Session, owner: RemoteParticipant) {
    source = stream.id
    participantSourceId = stream.id.participant
    (self.session, self.owner) = (session, owner)
    delivery = session.world.delivery
    super.init(id: id, type: type, source: stream.kind == .screen ? .screenSharing : .video, state: .available)
  }

  /// False once it has been withdrawn.
  public var isAvailable: Bool { state != .notAvailable }

  /// On the delivery queue: a renderer shows the stream.
  func rendererStarted() { if state == .available { change(to: .started) } }

  /// On the delivery queue: the stream has ended.
  func withdraw() {
    change(to: .stopping)
    change(to: .stopped)
    change(to: .notAvailable)
  }

  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) { owner?.streamChanged(args) }
}

/// Notified of the state of a remote video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsremotevideostreamdelegate)
public protocol RemoteVideoStreamDelegate: NSObjectProtocol {
  func remoteVideoStream(
    _ remoteVideoStream: RemoteVideoStream, didChangeState args: VideoStreamStateChangedEventArgs)
}

extension RemoteVideoStreamDelegate {
  public func remoteVideoStream(
    _ remoteVideoStream: RemoteVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) {}
}

/// A remote participant's video for a `VideoStreamRenderer`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsremotevideostream)
public final class RemoteVideoStream: IncomingVideoStream, @unchecked Sendable {  // everything mutable is locked
  private struct WeakDelegate { weak var it: (any RemoteVideoStreamDelegate)? }
  let rendering = RenderingPlace()
  private let held = Lock(WeakDelegate())

  init(_ stream: Track, id: Int32, session: Session, owner: RemoteParticipant) {
    super.init(stream, id: id, type: .remoteIncoming, session: session, owner: owner)
  }

  public weak var delegate: (any RemoteVideoStreamDelegate)? {
    get { held.withLock { $0.it } }
    set { held.withLock { $0.it = newValue } }
  }

  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) {
    delegate?.remoteVideoStream(self, didChangeState: args)
    super.stateChanged(args)
  }
}

/// A stream has one renderer at a time.
final class RenderingPlace: Sendable {
  private let isTaken = Lock(false)

  func claim() -> Bool {
    isTaken.withLock { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
  }

  func give() { isTaken.withLock { $0 = false } }
}
