import Koine

/// The others' pictures, and the own one: which are received, and what tile each one is.
///
/// Until the app says which it wants, all are received, at most 25 cameras; shares do not count. From then on a video that
/// the app has not wanted for three seconds has a tile without a picture: apps page through tiles, not through sources.
final class RemoteVideos: @unchecked Sendable {  // everything mutable is in `state`
  static let limit = 25
  private static let pauseBeforeEmptyTile = Duration.seconds(3)

  private struct Video {
    let stream: Track.ID
    let attendeeId: String
    let isLocal: Bool
    let isContent: Bool
    var tileId: Int?
    var feed: LatestFrameSink?
    /// Since when the app has not wanted it, which it could have.
    var unwanted: Tick?
  }
  private struct State {
    var session: Session?
    var isReceiving = false
    /// In the order of their coming.
    var videos: [Video] = []
    var sources: [String: RemoteVideoSource] = [:]
    var toldSources: [String: RemoteVideoSource] = [:]
    /// The app's subscriptions by attendee id; nil until the app makes the first.
    var wanted: [String: VideoSubscriptionConfiguration]?
  }

  let tiles: DefaultVideoTileController
  private let environment: MeetingEnvironment
  private let selfId: String
  private let observers: Observers<any AudioVideoObserver>
  private let state = Lock(State())

  init(
    _ environment: MeetingEnvironment, selfId: String, tiles: DefaultVideoTileController,
    observers: Observers<any AudioVideoObserver>
  ) {
    self.environment = environment
    self.selfId = selfId
    self.tiles = tiles
    self.observers = observers
  }

  // MARK: What the app wants

  func start(in session: Session) {
    state.withLock { state in
      state.session = session
      state.isReceiving = false
      state.wanted = nil
    }
  }

  func setReceiving(_ isReceiving: Bool) {
    state.withLock { $0.isReceiving = isReceiving }
    update()
  }

  func subscribe(
    _ addedOrUpdated: [RemoteVideoSource: VideoSubscriptionConfiguration], removed: [RemoteVideoSource]
  ) {
    state.withLock { state in
      var wanted = state.wanted ?? [:]
      for source in removed { wanted[source.attendeeId] = nil }
      for (source, configuration) in addedOrUpdated { wanted[source.attendeeId] = configuration }
      state.wanted = wanted
    }
    update()
  }

  func setPaused(_ isPaused: Bool, tileId: Int) {
    let (session, stream) = state.withLock { state in
      (state.session, state.videos.first { $0.tileId == tileId }?.stream)
    }
    guard let stream else { return }
    if isPaused { session?.pause(stream) } else { session?.resume(stream) }
  }

  // MARK: What there is, on the delivery queue

  /// A stream of pictures is there and sends.
  func added(_ stream: Track, of attendeeId: String, isLocal: Bool) {
    let isContent = DefaultModality(id: attendeeId).isOfType(type: .content)
    // of one's own share one gets no tile
    guard !isContent || DefaultModality(id: attendeeId).base != selfId else { return }
    state.withLock { state in
      guard !state.videos.contains(where: { $0.stream == stream.id }) else { return }
      state.videos.append(
        Video(
          stream: stream.id, attendeeId: attendeeId, isLocal: isLocal, isContent: isContent,
          tileId: state.session?.tiles.first { $0.stream == stream.id }?.id))
      guard !isLocal, state.sources[attendeeId] == nil else { return }
      let source = RemoteVideoSource()
      source.attendeeId = attendeeId
      state.sources[attendeeId] = source
    }
    update()
  }

  func tileAdded(_ tile: Tile) {
    state.withLock { state in
      guard let index = state.videos.firstIndex(where: { $0.stream == tile.stream }) else { return }
      state.videos[index].tileId = tile.id
    }
    update()
  }

  /// Whether the path carries its pictures.
  func tileChanged(_ tile: Tile) {
    let video = state.withLock { state in state.videos.first { $0.stream == tile.stream && $0.feed != nil } }
    guard let video, !video.isLocal else { return }
    tiles.setPaused(tile.pause == .poorPath, tileId: tile.id, attendeeId: video.attendeeId)
  }

  func removed(_ stream: Track.ID) {
    let video = state.withLock { state -> Video? in
      guard let index = state.videos.firstIndex(where: { $0.stream == stream }) else { return nil }
      let video = state.videos.remove(at: index)
      if !state.videos.contains(where: { $0.attendeeId == video.attendeeId }) {
        state.sources[video.attendeeId] = nil
        state.wanted?[video.attendeeId] = nil
      }
      return video
    }
    if let video { drop(video, onDelivery: true) }
    if let tileId = video?.tileId { tiles.remove(tileId: tileId) }
    update()
  }

  /// The session is over: every tile goes.
  func stop() {
    let videos = state.withLock { state in
      defer {
        state.session = nil
        state.videos = []
        state.sources = [:]
        state.toldSources = [:]
      }
      return state.videos
    }
    for video in videos {
      drop(video, onDelivery: true)
      if let tileId = video.tileId { tiles.remove(tileId: tileId) }
    }
  }

  /// Tells which videos can be received now and could not, or the other way round, since the last time.
  func reportSources() {
    let (new, gone) = state.withLock { state in
      let new = state.sources.filter { state.toldSources[$0.key] !== $0.value }
      let gone = state.toldSources.filter { state.sources[$0.key] !== $0.value }
      state.toldSources = state.sources
      return (new.sorted { $0.key < $1.key }.map(\.value), gone.sorted { $0.key < $1.key }.map(\.value))
    }
    let (lost, found) = (environment.delivery.inAnyOrder(gone), environment.delivery.inAnyOrder(new))
    if !lost.isEmpty { observers.notify { $0.remoteVideoSourcesDidBecomeUnavailable(sources: lost) } }
    if !found.isEmpty { observers.notify { $0.remoteVideoSourcesDidBecomeAvailable(sources: found) } }
  }

  // MARK: Both together

  /// Receives what shall be received and is not, and the other way round.
  private func update() {
    var toOpen: [Video] = []
    var toDrop: [Video] = []
    var toForget: [Int] = []
    let now = environment.now
    var hasWaiting = false
    let (session, wanted) = state.withLock { state in
      var cameras = 0
      for index in state.videos.indices {
        let video = state.videos[index]
        if !video.isContent, !video.isLocal { cameras += 1 }
        let isWanted =
          video.isLocal
          || state.isReceiving
            && (state.wanted.map { $0[video.attendeeId] != nil } ?? (video.isContent || cameras <= Self.limit))
        if isWanted, video.feed == nil, let tileId = video.tileId {
          state.videos[index].feed = feed(of: video, tileId)
          toOpen.append(state.videos[index])
        } else if !isWanted, video.feed != nil {
          toDrop.append(video)
          state.videos[index].feed = nil
        }
        let couldBeWanted = !isWanted && state.isReceiving && state.wanted != nil
        if couldBeWanted, video.unwanted == nil {
          state.videos[index].unwanted = now
          hasWaiting = true
        } else if !couldBeWanted, video.unwanted != nil {
          state.videos[index].unwanted = nil
          if !isWanted, let tileId = video.tileId { toForget.append(tileId) }
        }
      }
      return (state.session, state.wanted)
    }
    for video in toDrop {
      drop(video, onDelivery: false)
      session?.unsubscribe(from: video.stream)
      session?.resume(video.stream)  // a pause does not outlive its tile
    }
    for video in toOpen {
      if let feed = video.feed { session?.attach(feed as any Koine.VideoSink, to: video.stream) }
      if !video.isLocal { session?.subscribe(to: video.stream) }
    }
    for tileId in toForget { environment.delivery.deliver { [tiles] in tiles.remove(tileId: tileId) } }
    if hasWaiting {
      environment.lane.post(at: now + Self.pauseBeforeEmptyTile) { [weak self] in
        self?.environment.delivery.deliver { [weak self] in self?.addEmptyTiles() }
      }
    }
    for (attendeeId, configuration) in wanted ?? [:] { prefer(configuration, attendeeId, session) }
  }

  /// On the delivery queue.
  private func addEmptyTiles() {
    let due = environment.now - Self.pauseBeforeEmptyTile
    let videos = state.withLock { state in state.videos.filter { $0.unwanted.map { $0 <= due } ?? false } }
    for video in videos {
      if let tileId = video.tileId { tiles.addEmpty(tileId: tileId, attendeeId: video.attendeeId) }
    }
  }

  private func prefer(_ configuration: VideoSubscriptionConfiguration, _ attendeeId: String, _ session: Session?) {
    let streams = state.withLock { $0.videos.filter { $0.attendeeId == attendeeId && $0.feed != nil }.map(\.stream) }
    for stream in streams {
      session?.setPreference(
        LayerPreference(
          // the rows of a wide picture that fits into the target
          maximumHeight: min(configuration.targetResolution.height, configuration.targetResolution.width * 9 / 16),
          priority: configuration.priority.rawValue),
        for: stream)
    }
  }

  private func feed(of video: Video, _ tileId: Int) -> LatestFrameSink {
    LatestFrameSink(environment.delivery) { [tiles] frame in
      tiles.receive(VideoFrame(frame), tileId: tileId, attendeeId: video.attendeeId, isLocal: video.isLocal)
    }
  }

  /// - Parameter onDelivery: we are on the delivery queue; else a picture may just be shown there, and is let pass first.
  private func drop(_ video: Video, onDelivery: Bool) {
    guard let feed = video.feed, let tileId = video.tileId else { return }
    feed.close()
    state.withLock { $0.session }?.detach(feed as any Koine.VideoSink, from: video.stream)
    if onDelivery { return tiles.remove(tileId: tileId) }
    environment.delivery.deliver { [tiles] in tiles.remove(tileId: tileId) }
  }
}
