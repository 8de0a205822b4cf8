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

/// Whether a tile is paused, by the app or because of a poor connection.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VideoPauseState.html)
public enum VideoPauseState: Int, CaseIterable, CustomStringConvertible, Sendable {
  case unpaused, pausedByUserRequest, pausedForPoorConnection
  public var description: String { ["unpaused", "pausedByUserRequest", "pausedForPoorConnection"][rawValue] }
}

/// A tile: an attendee's video and the view that shows it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/VideoTile.html)
public protocol VideoTile: VideoSink {
  var state: VideoTileState { get }
  var videoRenderView: (any VideoRenderView)? { get set }
  func bind(videoRenderView: (any VideoRenderView)?)
  func unbind()
  func setPauseState(pauseState: VideoPauseState)
}

/// The tile that the SDK creates for each video.
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

/// The tiles: what arrives for a tile id becomes added, paused, resumed, resized, removed.
///
/// A tile begins with its first picture or with the notice that it is paused. Unbinding a tile that lives forgets it; its
/// next picture adds it again, with the same id: so does the vendor's, and apps rely on it.
final class TileRegistry: @unchecked Sendable {  // `tiles` is guarded; tiles are shown on the delivery queue
  let observers: Observers<any VideoTileObserver>
  private let logger: any Logger
  private let tiles = Lock<[Int: DefaultVideoTile]>([:])
  /// Ids of tiles without received video; used on the delivery queue.
  private let empty = Lock<Set<Int>>([])

  init(_ delivery: Delivery, _ logger: any Logger) {
    observers = Observers(delivery)
    self.logger = logger
  }

  // MARK: What arrives, on the delivery queue

  /// A picture of a tile that is received; a new tile's first picture tells its size and is not shown.
  func receive(_ frame: VideoFrame, tileId: Int, attendeeId: String, isLocal: Bool) {
    guard let tile = tiles.withLock({ $0[tileId] }) else {
      return add(tileId, attendeeId, frame.width, frame.height, isLocal: isLocal)
    }
    let state = tile.state
    if state.videoStreamContentWidth != frame.width || state.videoStreamContentHeight != frame.height {
      state.videoStreamContentWidth = frame.width
      state.videoStreamContentHeight = frame.height
      observers.notify { $0.videoTileSizeDidChange(tileState: state) }
    }
    // Behind the size, as the vendor's source has it.
    if empty.withLock({ $0.remove(tileId) }) != nil { setPaused(false, tileId: tileId, attendeeId: attendeeId) }
    if state.pauseState == .unpaused { tile.onVideoFrameReceived(frame: frame) }
  }

  /// The room pauses or resumes; a tile that the user has paused stays so.
  func setPaused(_ isPaused: Bool, tileId: Int, attendeeId: String) {
    let new = isPaused ? VideoPauseState.pausedForPoorConnection : .unpaused
    guard let state = tiles.withLock({ $0[tileId]?.state }) else {
      if isPaused { add(tileId, attendeeId, 0, 0, pauseState: new, isLocal: false) }
      return
    }
    guard state.pauseState != .pausedByUserRequest, state.pauseState != new else { return }
    guard isPaused || !empty.withLock({ $0.contains(tileId) }) else { return }  // resumes with its first picture
    state.pauseState = new
    observers.notify { isPaused ? $0.videoTileDidPause(tileState: state) : $0.videoTileDidResume(tileState: state) }
  }

  /// A tile of a video that the app could receive and does not.
  func addEmpty(tileId: Int, attendeeId: String) {
    guard tiles.withLock({ $0[tileId] == nil }), empty.withLock({ $0.insert(tileId).inserted }) else { return }
    add(tileId, attendeeId, 0, 0, pauseState: .pausedForPoorConnection, isLocal: false)
  }

  func remove(tileId: Int) {
    _ = empty.withLock { $0.remove(tileId) }
    guard let state = tiles.withLock({ $0.removeValue(forKey: tileId)?.state }) else { return }
    observers.notify { $0.videoTileDidRemove(tileState: state) }
  }

  private func add(
    _ tileId: Int, _ attendeeId: String, _ width: Int, _ height: Int, pauseState: VideoPauseState = .unpaused,
    isLocal: Bool
  ) {
    let tile = DefaultVideoTile(
      tileId: tileId, attendeeId: attendeeId, videoStreamContentWidth: width, videoStreamContentHeight: height,
      isLocalTile: isLocal, logger: logger)
    tile.setPauseState(pauseState: pauseState)
    let state = tile.state
    tiles.withLock { $0[tileId] = tile }
    observers.notify { $0.videoTileDidAdd(tileState: state) }
  }

  // MARK: What the app wants, on any thread

  func bind(_ view: any VideoRenderView, tileId: Int) {
    let (old, tile) = tiles.withLock { tiles in
      (tiles.values.filter { $0.videoRenderView === view && $0.state.tileId != tileId }, tiles[tileId])
    }
    for tile in old { tile.unbind() }
    tile?.bind(videoRenderView: view)
  }

  func unbind(tileId: Int) { tiles.withLock { $0.removeValue(forKey: tileId) }?.unbind() }

  /// - Returns: whether the tile is one that can be paused and was not.
  func pause(tileId: Int) -> Bool {
    guard let state = remoteTile(tileId), state.pauseState != .pausedByUserRequest else { return false }
    state.pauseState = .pausedByUserRequest
    observers.notify { $0.videoTileDidPause(tileState: state) }
    return true
  }

  /// - Returns: whether the tile was paused by the user.
  func resume(tileId: Int) -> Bool {
    guard let state = remoteTile(tileId), state.pauseState == .pausedByUserRequest else { return false }
    state.pauseState = .unpaused
    observers.notify { $0.videoTileDidResume(tileState: state) }
    return true
  }

  private func remoteTile(_ tileId: Int) -> VideoTileState? {
    guard let state = tiles.withLock({ $0[tileId]?.state }) else { return nil }
    guard !state.isLocalTile else {
      logger.fault(msg: "Tile \(tileId) is the local one, which cannot be paused")
      return nil
    }
    return state
  }
}
