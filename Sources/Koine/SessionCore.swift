import KoineMediaEngine

/// The one owner of a session's truth. Everything below the first line of a method runs on `lane`, one job at a time;
/// what the app sees follows through `visible`.
///
/// `@unchecked Sendable`: mutable state is touched on `lane` only, `routes` is its own lock.
final class SessionCore: @unchecked Sendable {
  /// Weak: jobs that wait in a world's clock hold this, and must not keep that world when everybody else has let go of it.
  private weak let world: World?
  let scheduler: Scheduler
  let stamps: StampedMedia?
  let effort: EncoderEffort
  let request: JoinRequest
  let options: SessionOptions
  let visible: VisibleRoom
  let lane: Lane
  let mixer: PlayoutMixer

  var state = SessionState.idle
  var link: (any Link)?
  var local: Participant
  var others: [Participant.ID: Participant] = [:]
  /// In the order of publishing.
  var own: [OwnStream] = []
  var received: [Track.ID: ReceivedStream] = [:]
  /// Sinks of streams that are not received, for when they are.
  var waitingSinks: [Track.ID: StreamSinks] = [:]
  var preferences: [Track.ID: LayerPreference] = [:]
  var gains: [Track.ID: Float] = [:]
  var paused: Set<Track.ID> = []
  /// What the room holds back because our path carries too little.
  var starving: Set<Track.ID> = []
  var tiles: [Track.ID: Tile] = [:]
  var dominantSpeaker: Participant.ID?
  var syncs: [Participant.ID: StreamSync] = [:]
  private let loudspeakerProblem: DeviceError?
  /// Those who were in the room before it forgot us, until they are seen again or have been waited for long enough.
  var awaited: [Participant.ID: Alarm] = [:]
  /// The same with streams of those who are there again.
  var awaitedStreams: [Track.ID: Alarm] = [:]
  /// Streams that are to be received once they are there again.
  var suspended: Set<Track.ID> = []
  /// Those who wait to be let in.
  var knocks: [Participant.ID: Participant] = [:]
  private var joinCompletion: (@Sendable (Result<Void, Failure>) -> Void)?
  private var leaveCompletions: [@Sendable () -> Void] = []
  /// Of `leaveCompletions`, so many that the end of the program waits for.
  private var farewells = 0
  private var subscriptions = 0
  private var nextTile = 0
  private let nextTrack = Lock(0)
  /// The subscriptions that take received frames: read on the network loop for each frame.
  let routes = Lock<[Track.ID: ReceivedStream]>([:])

  init(_ request: JoinRequest, world: World, options: SessionOptions, visible: VisibleRoom) {
    self.request = request
    self.world = world
    scheduler = world.backend.scheduler
    stamps = world.stamps
    effort = world.effort
    self.options = options
    self.visible = visible
    lane = scheduler.lane("session \(request.name)")
    local = visible.local
    let (loudspeaker, problem) = Self.loudspeaker(options, world)
    mixer = PlayoutMixer(scheduler: scheduler, sink: loudspeaker)
    loudspeakerProblem = problem
  }

  /// Without an end only if the world's clock stopped first: sources may be devices.
  deinit { if !state.isEnded { stopMedia() } }

  private static func loudspeaker(_ options: SessionOptions, _ world: World) -> ((any AudioSink)?, DeviceError?) {
    if let own = options.loudspeaker { return (own, nil) }
    let (sink, problem) = world.machine.openLoudspeaker()
    return (sink, problem)
  }

  // MARK: Coming and going

  func join(_ completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    lane.post { [self] in
      guard state == .idle else {
        let error =
          state.isEnded
          ? Failure(.ended, "this session is over; make a new one")
          : Failure(.alreadyJoined, "the session is already in the room or on its way")
        return visible.tell { completion(.failure(error)) }
      }
      joinCompletion = completion
      guard let world else { return end(.left) }  // the app has let go of both
      change(to: .connecting)
      if let problem = loudspeakerProblem { visible.tell(.failed(Failure(.device, problem.description))) }
      link = world.backend.connect(request, receiver: self)
    }
  }

  func leave(_ completion: @escaping @Sendable () -> Void) {
    let isAwaited = scheduler.kind == .real
    if isAwaited { Farewells.begin() }
    lane.post { [self] in
      if state.isEnded {
        if isAwaited { Farewells.end() }
        return visible.tell(completion)
      }
      leaveCompletions.append(completion)
      if isAwaited { farewells += 1 }
      if let link { link.leave() } else { end(.left) }
    }
  }

  /// The app has let go of the session.
  func abandon() { leave {} }

  func change(to new: SessionState) {
    guard state != new, !state.isEnded else { return }
    state = new
    visible.tell(.stateChanged(new), local: local)
  }

  /// The last thing that happens: open completions fail first, then the end is told.
  func end(_ reason: EndReason) {
    guard !state.isEnded else { return }
    stopMedia()
    link = nil
    if let joinCompletion {
      let error =
        if case .refused(let error) = reason { error } else {
          Failure(.ended, "the session ended before it was joined")
        }
      visible.tell { joinCompletion(.failure(error)) }
    }
    joinCompletion = nil
    state = .ended(reason)
    let completions = leaveCompletions
    leaveCompletions = []
    for _ in 0..<farewells { Farewells.end() }
    farewells = 0
    visible.tell(.stateChanged(state), local: local) { for completion in completions { completion() } }
  }

  private func stopMedia() {
    stopWaiting()
    for stream in own { stream.stop() }
    own = []
    routes.withLock { $0.removeAll() }
    for stream in received.values { stream.stop(mixer) }
    received = [:]
    waitingSinks = [:]
    preferences = [:]
    gains = [:]
    (paused, starving) = ([], [])
    syncs = [:]
    mixer.stop()
  }

  func entered(as known: Participant, others present: [Participant]) {
    local = Participant(
      id: known.id, name: known.name, externalUserID: known.externalUserID, attributes: known.attributes, isLocal: true,
      tracks: local.tracks.map {
        Track(id: .init(participant: known.id, track: $0.id.track), kind: $0.kind, isMuted: $0.isMuted)
      })
    state = .connected
    let completion = joinCompletion
    joinCompletion = nil
    visible.tell(.stateChanged(.connected), local: local) { completion?(.success(())) }
    for stream in own { announce(stream) }
    for participant in present {
      var newcomer = participant
      newcomer.tracks = []
      joined(newcomer)
      for stream in participant.tracks { added(stream) }
    }
  }

  // MARK: Names and numbers

  func makeSubscriptionNumber() -> Int {
    subscriptions += 1
    return subscriptions
  }

  /// From any thread: a published stream has its name at once.
  func makeTrackName(_ kind: Track.Kind) -> String {
    let number = nextTrack.withLock { number in
      number += 1
      return number
    }
    return "\(kind.rawValue)-\(number)"
  }

  func makeTileNumber() -> Int {
    nextTile += 1
    return nextTile
  }

  // MARK: The rest of the room

  func send(_ message: DataMessage) throws(Failure) {
    try message.check()
    guard visible.state == .connected || visible.state == .reconnecting else {
      throw Failure(.notConnected, "messages can be sent once the room is entered")
    }
    lane.post { [self] in link?.send(message) }
  }

  func setAttributes(_ attributes: [String: String]) {
    lane.post { [self] in
      guard !state.isEnded else { return }
      local.attributes = attributes
      link?.setAttributes(attributes)
      visible.tell(.attributesChanged(local), local: local)
    }
  }

  func mute(_ stream: Track.ID) { lane.post { [self] in link?.mute(stream) } }
  func renew(_ credential: String) { lane.post { [self] in link?.renew(credential: credential) } }
  func remove(_ participant: Participant.ID) { lane.post { [self] in link?.remove(participant) } }
  func answerKnock(of participant: Participant.ID, admitting: Bool) {
    lane.post { [self] in link?.answerKnock(of: participant, admitting: admitting) }
  }
  func closeRoom() { lane.post { [self] in link?.closeRoom() } }

  func statistics(_ completion: @escaping @Sendable (SessionStatistics) -> Void) {
    lane.post { [self] in
      guard let link else { return completion(SessionStatistics()) }
      link.statistics { [self] figures in lane.post { completion(self.statistics(figures)) } }
    }
  }

  private func statistics(_ figures: MediaStatistics<Track.ID, Track.ID>) -> SessionStatistics {
    let ours = own.map {
      StreamStatistics(
        stream: $0.stream, codec: $0.options.codec, outgoing: figures.outgoing[$0.stream.id],
        sentVideo: $0.videoStatistics,
        processing: $0.processing)
    }
    let theirs = received.values.sorted { $0.number < $1.number }.map { stream in
      StreamStatistics(
        stream: stream.stream, codec: stream.codec, incoming: figures.incoming[stream.stream.id],
        video: stream.videoStatistics,
        audio: stream.audioStatistics)
    }
    return SessionStatistics(
      streams: ours + theirs, roundTripTime: figures.roundTripTime, availableBitrate: figures.availableBitrate)
  }
}
