import Koine

/// A tile id with an attendee's video and an optional view. Mutated in place: all callbacks about a tile pass the same object.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VideoTileState.html)
public final class VideoTileState: Sendable {
  public let tileId: Int
  public let attendeeId: String
  public let isLocalTile: Bool
  public let isContent: Bool
  private let current: Lock<(width: Int, height: Int, pause: VideoPauseState)>

  public init(
    tileId: Int, attendeeId: String, videoStreamContentWidth: Int, videoStreamContentHeight: Int,
    pauseState: VideoPauseState, isLocalTile: Bool
  ) {
    self.tileId = tileId
    self.attendeeId = attendeeId
    self.isLocalTile = isLocalTile
    isContent = DefaultModality(id: attendeeId).isOfType(type: .content)
    current = Lock((videoStreamContentWidth, videoStreamContentHeight, pauseState))
  }

  public var videoStreamContentWidth: Int {
    get { current.withLock { $0.width } }
    set { current.withLock { $0.width = newValue } }
  }
  public var videoStreamContentHeight: Int {
    get { current.withLock { $0.height } }
    set { current.withLock { $0.height = newValue } }
  }
  public var pauseState: VideoPauseState {
    get { current.withLock { $0.pause } }
    set { current.withLock { $0.pause = newValue } }
  }
}

/// Why a tile is paused, if it is.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoPauseState.html)
public enum VideoPauseState: Int, CaseIterable, CustomStringConvertible, Sendable {
  case unpaused, pausedByUserRequest, pausedForPoorConnection
  public var description: String { ["unpaused", "pausedByUserRequest", "pausedForPoorConnection"][rawValue] }
}

/// A tile: the state of a video stream and the view that shows it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoTile.html)
public protocol VideoTile: VideoSink {
  var state: VideoTileState { get }
  var videoRenderView: (any VideoRenderView)? { get set }
  func bind(videoRenderView: (any VideoRenderView)?)
  func unbind()
  func setPauseState(pauseState: VideoPauseState)
}

/// A tile that shows the frames of its stream in a bound view.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultVideoTile.html)
public final class DefaultVideoTile: VideoTile {
  public var state: VideoTileState
  private let view = Lock<(any VideoRenderView)?>(nil)
  private let logger: any Logger

  public init(
    tileId: Int, attendeeId: String, videoStreamContentWidth: Int, videoStreamContentHeight: Int, isLocalTile: Bool,
    logger: any Logger
  ) {
    self.logger = logger
    state = VideoTileState(
      tileId: tileId, attendeeId: attendeeId, videoStreamContentWidth: videoStreamContentWidth,
      videoStreamContentHeight: videoStreamContentHeight, pauseState: .unpaused, isLocalTile: isLocalTile)
  }

  public var videoRenderView: (any VideoRenderView)? {
    get { view.withLock { $0 } }
    set { view.withLock { $0 = newValue } }
  }

  public func bind(videoRenderView: (any VideoRenderView)?) {
    logger.info(msg: "Binding the view to tile: tileId: \(state.tileId), attendeeId: \(state.attendeeId)")
    self.videoRenderView = videoRenderView
  }

  public func unbind() {
    logger.info(msg: "Unbinding the view from tile: tileId: \(state.tileId), attendeeId: \(state.attendeeId)")
    videoRenderView = nil
  }

  public func setPauseState(pauseState: VideoPauseState) { state.pauseState = pauseState }
  public func onVideoFrameReceived(frame: VideoFrame) { videoRenderView?.onVideoFrameReceived(frame: frame) }
}
