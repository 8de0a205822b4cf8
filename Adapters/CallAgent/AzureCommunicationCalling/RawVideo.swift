public import Foundation
import Koine
public import KoineCoreVideo

// Pictures that the app makes, or takes, frame by frame.

/// Pixel format of raw video frames.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreampixelformat)
public enum VideoStreamPixelFormat: Int, Sendable {
  case bgrx, bgr24, rgbx, rgba, nv12, i420
}

/// Whether raw video frames are memory buffers or textures.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawvideoframetype)
public enum RawVideoFrameType: Int, Sendable {
  case buffer, texture
}

/// Standard resolutions of video streams.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamresolution)
public enum VideoStreamResolution: Int, Sendable {
  case unknown, p1080, p720, p540, p480, p360, p270, p240
  /// 320×180, as the vendor misspells it.
  case p108
  case fullHd, hd, vga, qvga
}

/// Format of a stream of raw frames: size, pixel format, frame rate and strides.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamformat)
public final class VideoStreamFormat: NSObject, @unchecked Sendable {  // as the vendor's: the app guards it
  public var width: Int32 = 1280
  public var height: Int32 = 720
  public var stride1: Int32 = 0
  public var stride2: Int32 = 0
  public var stride3: Int32 = 0
  public var resolution = VideoStreamResolution.unknown {
    didSet {
      let sizes: [VideoStreamResolution: (Int32, Int32)] = [
        .p1080: (1920, 1080), .p720: (1280, 720), .p540: (960, 540), .p480: (848, 480), .p360: (640, 360),
        .p270: (480, 270), .p240: (424, 240), .p108: (320, 180), .fullHd: (1440, 1080), .hd: (960, 720),
        .vga: (640, 480), .qvga: (320, 240),
      ]
      if let size = sizes[resolution] { (width, height) = size }
    }
  }
  public var pixelFormat = VideoStreamPixelFormat.i420
  public var framesPerSecond: Float = 30
}

/// The formats in which the app can generate raw frames.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawoutgoingvideostreamoptions)
public final class RawOutgoingVideoStreamOptions: NSObject {
  public var formats: [VideoStreamFormat] = []
}

/// Superclass of raw video frames.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawvideoframe)
open class RawVideoFrame: NSObject, @unchecked Sendable {  // as the vendor's: handed on, not shared
  public let type = RawVideoFrameType.buffer
  public var streamFormat = VideoStreamFormat()
  /// In microseconds.
  public var timestampInTicks: Int64 = 0
  fileprivate let held = Lock<CVPixelBuffer?>(nil)
  /// Lets the pixels go.
  public func dispose() { held.withLock { $0 = nil } }
}

/// A raw video frame in memory, one buffer for each plane.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawvideoframebuffer)
public final class RawVideoFrameBuffer: RawVideoFrame, @unchecked Sendable {  // as above
  public var buffer: CVPixelBuffer! {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}

/// The format that a raw outgoing video stream requests from now on.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamformatchangedeventargs)
public final class VideoStreamFormatChangedEventArgs: NSObject {
  public let format: VideoStreamFormat
  init(_ format: VideoStreamFormat) { self.format = format }
}

// MARK: Outgoing

/// A stream of video frames that the app generates. Frames are sent while the stream is `started`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrawoutgoingvideostream)
open class RawOutgoingVideoStream: OutgoingVideoStream, @unchecked Sendable {  // constant
  private let pictures: HandedPictures
  /// The first that the app offers: the engine takes any.
  public let format: VideoStreamFormat

  init(_ options: RawOutgoingVideoStreamOptions, _ type: VideoStreamType, _ source: VideoStreamSourceType) {
    format = options.formats.first ?? VideoStreamFormat()
    pictures = HandedPictures(format)
    super.init(type: type, source: source)
  }

  override func makeSource(in world: World) -> any VideoSource {
    pictures.enter(world)
    return pictures
  }

  /// On the clock of the call that the stream is sent in, in microseconds; nought before.
  public var timestampInTicks: Int64 { (pictures.world?.backend.scheduler.now.nanoseconds ?? 0) / 1_000 }

  public func send(frame: RawVideoFrame, completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    let error = refusal(of: frame)
    (pictures.world?.delivery ?? .main).deliver { handler(error) }
  }

  nonisolated(nonsending) public func send(frame: RawVideoFrame) async throws {
    try await completion { send(frame: frame, completionHandler: $0) }
  }

  private func refusal(of frame: RawVideoFrame) -> NSError? {
    guard state == .started, let world = pictures.world else {
      return CallingCommunicationErrors.rawVideoFrameNotSent.error("the stream is \(state), not started")
    }
    guard let buffer = (frame as? RawVideoFrameBuffer)?.buffer,
      let picture = buffer.videoFrame(captured: world.backend.scheduler.now)
    else { return CallingCommunicationErrors.invalidBuffer.error("the frame has no pixels") }
    pictures.push(picture)
    return nil
  }

  /// On the delivery queue. The format never changes, so it is told once, when sending begins, as the vendor does.
  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) {
    if state == .started { formatChanged(VideoStreamFormatChangedEventArgs(format)) }
  }

  func formatChanged(_ args: VideoStreamFormatChangedEventArgs) {}
}

/// A camera that is given its pictures.
private final class HandedPictures: VideoSource, Sendable {
  private struct State {
    var world: World?
    var output: (lane: Lane, deliver: @Sendable (VideoFrame) -> Void)?
  }
  private let state = Lock(State())
  let format: VideoFormat

  init(_ format: VideoStreamFormat) {
    self.format = VideoFormat(
      width: Int(format.width), height: Int(format.height), framesPerSecond: Double(format.framesPerSecond))
  }

  var world: World? { state.withLock { $0.world } }
  func enter(_ world: World) { state.withLock { $0.world = world } }

  func push(_ frame: VideoFrame) {
    guard let output = state.withLock({ $0.output }) else { return }
    output.lane.post { output.deliver(frame) }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    state.withLock { $0.output = (lane, deliver) }
  }
  func stop() { state.withLock { $0.output = nil } }
}

/// Notified of the state and the format of a virtual outgoing video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvirtualoutgoingvideostreamdelegate)
public protocol VirtualOutgoingVideoStreamDelegate: NSObjectProtocol {
  func virtualOutgoingVideoStream(
    _ virtualOutgoingVideoStream: VirtualOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs)
  func virtualOutgoingVideoStream(
    _ virtualOutgoingVideoStream: VirtualOutgoingVideoStream, didChangeFormat args: VideoStreamFormatChangedEventArgs)
}

extension VirtualOutgoingVideoStreamDelegate {
  public func virtualOutgoingVideoStream(
    _ virtualOutgoingVideoStream: VirtualOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) {}
  public func virtualOutgoingVideoStream(
    _ virtualOutgoingVideoStream: VirtualOutgoingVideoStream, didChangeFormat args: VideoStreamFormatChangedEventArgs
  ) {}
}

/// A virtual camera: the app generates its frames.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvirtualoutgoingvideostream)
public final class VirtualOutgoingVideoStream: RawOutgoingVideoStream, @unchecked Sendable {  // a lock
  private let listener = Listener<any VirtualOutgoingVideoStreamDelegate>()

  public init(videoStreamOptions: RawOutgoingVideoStreamOptions) {
    super.init(videoStreamOptions, .virtualOutgoing, .video)
  }

  public weak var delegate: (any VirtualOutgoingVideoStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) {
    delegate?.virtualOutgoingVideoStream(self, didChangeState: args)
    super.stateChanged(args)
  }
  override func formatChanged(_ args: VideoStreamFormatChangedEventArgs) {
    delegate?.virtualOutgoingVideoStream(self, didChangeFormat: args)
  }
}

/// Notified of the state and the format of a screen share.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsscreenshareoutgoingvideostreamdelegate)
public protocol ScreenShareOutgoingVideoStreamDelegate: NSObjectProtocol {
  func screenShareOutgoingVideoStream(
    _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
    didChangeState args: VideoStreamStateChangedEventArgs)
  func screenShareOutgoingVideoStream(
    _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
    didChangeFormat args: VideoStreamFormatChangedEventArgs)
}

extension ScreenShareOutgoingVideoStreamDelegate {
  public func screenShareOutgoingVideoStream(
    _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
    didChangeState args: VideoStreamStateChangedEventArgs
  ) {}
  public func screenShareOutgoingVideoStream(
    _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
    didChangeFormat args: VideoStreamFormatChangedEventArgs
  ) {}
}

/// A screen share with frames from the app. A call can send it in addition to a camera.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsscreenshareoutgoingvideostream)
public final class ScreenShareOutgoingVideoStream: RawOutgoingVideoStream, @unchecked Sendable {  // a lock
  private let listener = Listener<any ScreenShareOutgoingVideoStreamDelegate>()

  public init(videoStreamOptions: RawOutgoingVideoStreamOptions) {
    super.init(videoStreamOptions, .screenShareOutgoing, .screenSharing)
  }

  public weak var delegate: (any ScreenShareOutgoingVideoStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func stateChanged(_ args: VideoStreamStateChangedEventArgs) {
    delegate?.screenShareOutgoingVideoStream(self, didChangeState: args)
    super.stateChanged(args)
  }
  override func formatChanged(_ args: VideoStreamFormatChangedEventArgs) {
    delegate?.screenShareOutgoingVideoStream(self, didChangeFormat: args)
  }
}
