package import Koine

/// The tiles: what arrives for a tile id becomes added, paused, resumed, resized, removed.
///
/// A tile begins with its first picture or with the notice that it is paused. Unbinding a tile that lives forgets it; its
/// next picture adds it again, with the same id: so does the vendor's, and apps rely on it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultVideoTileController.html)
public final class DefaultVideoTileController: VideoTileController, @unchecked Sendable {
  // `tiles` is guarded; tiles are shown on the delivery queue

  private let observers: Observers<any VideoTileObserver>
  private let logger: any Logger
  private let tiles = Lock<[Int: DefaultVideoTile]>([:])
  /// Ids of tiles without received video; used on the delivery queue.
  private let empty = Lock<Set<Int>>([])

  private let selfId: String
  /// Asks the room to stop or resume the video of a tile.
  private let pauseVideo = Lock<@Sendable (_ isPaused: Bool, _ tileId: Int) -> Void> { _, _ in }
  private let countTiles: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - selfId: the local attendee's, which local tiles have.
  ///   - countTiles: called with the number of tiles whenever one is added.
  package init(
    _ delivery: Delivery, _ logger: any Logger, selfId: String, countTiles: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    observers = Observers(delivery)
    self.logger = logger
    self.selfId = selfId
    self.countTiles = countTiles
  }

  /// - Parameter body: called when the user pauses or resumes a tile.
  package func onPause(_ body: @escaping @Sendable (_ isPaused: Bool, _ tileId: Int) -> Void) {
    pauseVideo.withLock { $0 = body }
  }

  // MARK: What arrives, on the delivery queue

  /// A frame of a video, or its end: nil and `unpaused`. A video that is paused before its first frame has a tile of 0×0.
  /// - Parameter attendeeId: nil for the local video.
  public func onReceiveFrame(
    frame: VideoFrame?, videoId: Int, attendeeId: String?, pauseState: VideoPauseState
  ) {
    let isLocal = attendeeId == nil
    let attendeeId = attendeeId ?? selfId
    switch (frame, pauseState) {
    case (nil, .unpaused): remove(tileId: videoId)
    case (let frame?, .unpaused):
      receive(frame, tileId: videoId, attendeeId: attendeeId, isLocal: isLocal)
    case (let frame, _):
      let size = frame.map { (width: $0.width, height: $0.height) }
      if let size, let state = tiles.withLock({ $0[videoId]?.state }) { resize(state, size.width, size.height) }
      setPaused(pauseState, tileId: videoId, attendeeId, size ?? (0, 0), isLocal: isLocal)
    }
  }

  /// A picture of a tile that is received; a new tile's first picture tells its size and is not shown.
  func receive(_ frame: VideoFrame, tileId: Int, attendeeId: String, isLocal: Bool) {
    guard let tile = tiles.withLock({ $0[tileId] }) else {
      return add(tileId, attendeeId, frame.width, frame.height, isLocal: isLocal)
    }
    let state = tile.state
    resize(state, frame.width, frame.height)
    // Behind the size, as the vendor's source has it.
    if empty.withLock({ $0.remove(tileId) }) != nil { setPaused(false, tileId: tileId, attendeeId: attendeeId) }
    if state.pauseState == .unpaused { tile.onVideoFrameReceived(frame: frame) }
  }

  private func resize(_ state: VideoTileState, _ width: Int, _ height: Int) {
    guard state.videoStreamContentWidth != width || state.videoStreamContentHeight != height else { return }
    state.videoStreamContentWidth = width
    state.videoStreamContentHeight = height
    observers.notify { $0.videoTileSizeDidChange(tileState: state) }
  }

  /// The room pauses or resumes; a tile that the user has paused stays so.
  func setPaused(_ isPaused: Bool, tileId: Int, attendeeId: String) {
    setPaused(isPaused ? .pausedForPoorConnection : .unpaused, tileId: tileId, attendeeId, (0, 0), isLocal: false)
  }

  private func setPaused(
    _ new: VideoPauseState, tileId: Int, _ attendeeId: String, _ size: (width: Int, height: Int), isLocal: Bool
  ) {
    let isPaused = new != .unpaused
    guard let state = tiles.withLock({ $0[tileId]?.state }) else {
      if isPaused { add(tileId, attendeeId, size.width, size.height, pauseState: new, isLocal: isLocal) }
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
    let count = tiles.withLock { tiles in
      tiles[tileId] = tile
      return tiles.count
    }
    countTiles(count)
    observers.notify { $0.videoTileDidAdd(tileState: state) }
  }

  // MARK: What the app wants, on any thread

  public func addVideoTileObserver(observer: any VideoTileObserver) { observers.add(observer) }
  public func removeVideoTileObserver(observer: any VideoTileObserver) { observers.remove(observer) }

  public func bindVideoView(videoView view: any VideoRenderView, tileId: Int) {
    let (old, tile) = tiles.withLock { tiles in
      (tiles.values.filter { $0.videoRenderView === view && $0.state.tileId != tileId }, tiles[tileId])
    }
    for tile in old { tile.unbind() }
    tile?.bind(videoRenderView: view)
  }

  public func unbindVideoView(tileId: Int) { tiles.withLock { $0.removeValue(forKey: tileId) }?.unbind() }

  public func pauseRemoteVideoTile(tileId: Int) {
    guard let state = remoteTile(tileId), state.pauseState != .pausedByUserRequest else { return }
    state.pauseState = .pausedByUserRequest
    observers.notify { $0.videoTileDidPause(tileState: state) }
    pauseVideo.withLock { $0 }(true, tileId)
  }

  public func resumeRemoteVideoTile(tileId: Int) {
    guard let state = remoteTile(tileId), state.pauseState == .pausedByUserRequest else { return }
    state.pauseState = .unpaused
    observers.notify { $0.videoTileDidResume(tileState: state) }
    pauseVideo.withLock { $0 }(false, tileId)
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
