import KoineMediaEngine

/// The streams that a session receives, and the app's settings and sinks of streams, which outlive a subscription. Touched on the session's
/// lane only, except `deliver`.
final class Reception: @unchecked Sendable {
  /// Kept while a stream is not received, for when it is.
  private struct Settings {
    var sinks = StreamSinks()
    var preference: LayerPreference?
    var gain: Float?
    var isPaused = false
  }

  private let scheduler: Scheduler
  private let stamps: StampedMedia?
  private let mixer: PlayoutMixer
  private var received: [Track.ID: RemoteSubscription] = [:]
  private var settings: [Track.ID: Settings] = [:]
  /// Streams that the room pauses because the path to this session carries too little.
  private var starving: Set<Track.ID> = []
  private var syncs: [Participant.ID: StreamSync] = [:]
  private var subscriptions = 0
  /// The received streams, read by `deliver` for each frame.
  private let routes = Lock<[Track.ID: RemoteSubscription]>([:])

  init(scheduler: Scheduler, stamps: StampedMedia?, mixer: PlayoutMixer) {
    (self.scheduler, self.stamps, self.mixer) = (scheduler, stamps, mixer)
  }

  /// On the network loop: pipelines take the frame and decode elsewhere.
  func deliver(_ frame: EncodedFrame, of id: Track.ID) { routes.withLock { $0[id] }?.receive(frame) }

  // MARK: Beginning and ending

  func isReceived(_ id: Track.ID) -> Bool { received[id] != nil }

  /// In the order of their names.
  var receivedIDs: [Track.ID] { received.keys.sorted { $0.description < $1.description } }

  /// - Parameter sizes: is told of the size of a video stream's pictures.
  func receive(_ stream: Track, from link: any Link, sizes: @autoclosure () -> SizeWatch) {
    guard received[stream.id] == nil else { return }
    let id = stream.id
    let sync = sync(of: id.participant)
    let known = settings[id]
    settings[id]?.sinks = StreamSinks()
    subscriptions += 1
    let entry = RemoteSubscription(
      stream: stream, number: subscriptions, pipeline: pipeline(for: stream, sync, gain: known?.gain, link))
    if let known { entry.attach(known.sinks) }
    if case .video(let video) = entry.pipeline { video.addSink(sizes()) }
    received[id] = entry
    routes.withLock { $0[id] = entry }
    link.subscribe(to: id)
    if let preference = known?.preference { link.setPreference(preference, of: id) }
    if known?.isPaused == true { link.setPaused(true, id) }
  }

  private func sync(of participant: Participant.ID) -> StreamSync {
    let sync = syncs[participant] ?? StreamSync()
    syncs[participant] = sync
    return sync
  }

  private func pipeline(
    for stream: Track, _ sync: StreamSync, gain: Float?, _ link: any Link
  ) -> RemoteSubscription.Pipeline {
    let id = stream.id
    if stream.kind.isVideo {
      return .video(
        VideoReceivePipeline(scheduler: scheduler, sync: sync, stamps: stamps) { [weak link] in
          link?.requestKeyFrame(of: id)
        })
    }
    let audio = AudioReceivePipeline(scheduler: scheduler, sync: sync, stamps: stamps)
    if let gain { audio.gain = gain }
    mixer.add(audio)
    return .audio(audio)
  }

  /// Stops receiving the stream. The app's settings and sinks are kept for the next subscription.
  func stop(_ id: Track.ID, _ link: (any Link)?) {
    guard let entry = received.removeValue(forKey: id) else { return }
    if !entry.sinks.isEmpty { settings[id, default: Settings()].sinks.add(entry.sinks) }
    routes.withLock { $0[id] = nil }
    starving.remove(id)
    link?.unsubscribe(from: id)
    entry.stop(mixer)
  }

  /// Stops receiving the stream and drops its settings and sinks.
  func forget(_ id: Track.ID, _ link: (any Link)?) {
    stop(id, link)
    settings[id] = nil
  }

  /// Drops the participant's state, after its streams.
  func forget(_ id: Participant.ID) { syncs[id] = nil }

  func stopAll() {
    routes.withLock { $0.removeAll() }
    for stream in received.values { stream.stop(mixer) }
    (received, settings, starving, syncs) = ([:], [:], [], [:])
  }

  // MARK: What the app sets

  /// - Returns: whether it was otherwise before.
  func setPaused(_ isPaused: Bool, _ id: Track.ID, _ link: (any Link)?) -> Bool {
    guard settings[id]?.isPaused ?? false != isPaused else { return false }
    settings[id, default: Settings()].isPaused = isPaused
    if received[id] != nil { link?.setPaused(isPaused, id) }
    return true
  }

  func setPreference(_ preference: LayerPreference, _ id: Track.ID, _ link: (any Link)?) {
    settings[id, default: Settings()].preference = preference
    if received[id] != nil { link?.setPreference(preference, of: id) }
  }

  func setGain(_ gain: Float, _ id: Track.ID) {
    settings[id, default: Settings()].gain = gain
    if case .audio(let audio)? = received[id]?.pipeline { audio.gain = gain }
  }

  /// Applies to all streams of the participant, the present and later ones.
  func setMinimumDelay(_ delay: Duration, _ id: Participant.ID) { sync(of: id).minimumDelay = delay }

  func attach(_ sinks: StreamSinks, to id: Track.ID) {
    if let entry = received[id] { entry.attach(sinks) } else { settings[id, default: Settings()].sinks.add(sinks) }
  }

  func detach(_ sinks: StreamSinks, from id: Track.ID) {
    received[id]?.detach(sinks)
    settings[id]?.sinks.remove(sinks)
  }

  /// Removes and returns the sinks that wait for a stream.
  func takeSinks(of id: Track.ID) -> StreamSinks {
    defer { settings[id]?.sinks = StreamSinks() }
    return settings[id]?.sinks ?? StreamSinks()
  }

  // MARK: What the room says

  func update(_ stream: Track) { received[stream.id]?.stream = stream }

  /// - Returns: the stream, if it is received.
  func setStarving(_ isStarving: Bool, _ id: Track.ID) -> Track? {
    guard let entry = received[id] else { return nil }
    if isStarving { starving.insert(id) } else { starving.remove(id) }
    return entry.stream
  }

  /// The reason why a subscribed stream's video is paused; nil while it is not.
  func pause(of stream: Track) -> Tile.Pause? {
    if settings[stream.id]?.isPaused == true { return .requested }
    if stream.isMuted { return .muted }
    return starving.contains(stream.id) ? .poorPath : nil
  }

  // MARK: Figures

  /// In the order of subscription.
  func statistics(_ figures: MediaStatistics<Track.ID, Track.ID>) -> [StreamStatistics] {
    received.values.sorted { $0.number < $1.number }.map { stream in
      StreamStatistics(
        stream: stream.stream, codec: stream.codec, incoming: figures.incoming[stream.stream.id],
        video: stream.videoStatistics, audio: stream.audioStatistics)
    }
  }
}
