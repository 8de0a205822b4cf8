import KoineMediaEngine

/// The one owner of a session's truth. Everything below the first line of a method runs on `lane`, one job at a time;
/// what the app sees follows through `visible`.
///
/// `@unchecked Sendable`: mutable state is touched on `lane` only, `routes` is its own lock.
final class SessionCore: @unchecked Sendable {
  /// Weak: waiting jobs of the world's clock hold this object, and must not keep the world alive after its last other owner.
  private weak let world: World?
  let scheduler: Scheduler
  let stamps: StampedMedia?
  let effort: EncoderEffort
  let request: JoinRequest
  let options: SessionOptions
  let visible: ObservableRoomState
  let lane: Lane
  let mixer: PlayoutMixer
  /// The loudspeaker of the options, else the machine's.
  private let loudspeaker: (any AudioSink)?

  private(set) var state = SessionState.idle
  private(set) var link: (any Link)?
  let reception: Reception
  // Changed by what the link tells (SessionCore+Room, +Return).
  var others = KnownParticipants()
  var pendingRejoin = PendingRejoin()
  /// Streams that the session would receive, and whose subscription the room has ended or refused.
  var endedByRoom: Set<Track.ID> = []
  // Changed by what the app publishes and by what the room makes of it (SessionCore+Publishing); in the order of publishing.
  var own: [LocalPublication] = []
  // Changed by what the transcript service says (Session+Transcription).
  var transcription = RoomTranscription.off
  var pendingTranscription = PendingTranscription()
  // Changed with streams of both ends.
  private var tiles = TileList()
  /// Without the streams of `own`.
  private var identity: Participant
  private var dominantSpeaker: Participant.ID?
  /// The local participant's permissions; nil while they are not known.
  var permissions: Set<ParticipantPermission>?
  /// The participants that wait to be admitted.
  private var knocks: [Participant.ID: Participant] = [:]
  private let loudspeakerProblem: DeviceError?
  private var joinCompletion: (@Sendable (Result<Void, Failure>) -> Void)?
  private var leaveCompletions: [@Sendable () -> Void] = []
  /// Of `leaveCompletions`, so many that the end of the program waits for.
  private var farewells = 0
  private let nextTrack = Lock(0)

  init(_ request: JoinRequest, world: World, options: SessionOptions, visible: ObservableRoomState) {
    self.request = request
    self.world = world
    scheduler = world.backend.scheduler
    stamps = world.stamps
    effort = world.effort
    self.options = options
    self.visible = visible
    lane = scheduler.lane("session \(request.name)")
    identity = visible.local
    let (loudspeaker, problem) = Self.loudspeaker(options, world)
    self.loudspeaker = loudspeaker
    mixer = PlayoutMixer(
      scheduler: scheduler, sink: loudspeaker, mostChannels: options.playsStereo ? 2 : 1)
    reception = Reception(scheduler: scheduler, stamps: stamps, mixer: mixer)
    loudspeakerProblem = problem
  }

  /// Without an end only if the world's clock stopped first: sources may be devices.
  deinit { if !state.isEnded { stopMedia() } }

  private static func loudspeaker(_ options: SessionOptions, _ world: World) -> ((any AudioSink)?, DeviceError?) {
    if let own = options.loudspeaker { return (own, nil) }
    let (sink, problem) = world.machine.openLoudspeaker()
    return (sink, problem)
  }

  /// The session's own participant.
  var local: Participant {
    var local = identity
    local.tracks += own.map(\.stream)
    return local
  }

  // MARK: Coming and going

  func join(_ completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    lane.post { [self] in
      guard state == .idle else {
        let error =
          state.isEnded
          ? Failure(.ended, "this session is over; make a new one")
          : Failure(.alreadyJoined, "the session is already in the room or on its way")
        return visible.deliver { completion(.failure(error)) }
      }
      joinCompletion = completion
      guard let world else { return finish(.left) }  // the app has let go of both
      if let transcriber = Transcribers.current { TranscriptionService.serve(world, with: transcriber) }
      change(to: .connecting)
      if let problem = loudspeakerProblem { visible.post(.failed(Failure(.device, problem.description))) }
      link = world.backend.connect(request, receiver: self)
    }
  }

  func leave(_ completion: @escaping @Sendable () -> Void) {
    let isAwaited = scheduler.kind == .real
    if isAwaited { LeaveOnExit.leaveStarted() }
    lane.post { [self] in
      if state.isEnded {
        if isAwaited { LeaveOnExit.leaveFinished() }
        return visible.deliver(completion)
      }
      leaveCompletions.append(completion)
      if isAwaited { farewells += 1 }
      if let link { link.leave() } else { finish(.left) }
    }
  }

  /// The app has let go of the session.
  func abandon() { leave {} }

  func change(to new: SessionState) {
    guard state != new, !state.isEnded else { return }
    state = new
    visible.post(.stateChanged(new), local: local)
  }

  /// The last thing that happens: open completions fail first, then the end is told.
  func finish(_ reason: EndReason) {
    guard !state.isEnded else { return }
    stopMedia()
    link = nil
    if let joinCompletion {
      let error =
        if case .refused(let error) = reason { error } else {
          Failure(.ended, "the session ended before it was joined")
        }
      visible.deliver { joinCompletion(.failure(error)) }
    }
    joinCompletion = nil
    failTranscriptionRequests(Failure(.ended, "the session has ended"))
    state = .ended(reason)
    let completions = leaveCompletions
    leaveCompletions = []
    for _ in 0..<farewells { LeaveOnExit.leaveFinished() }
    farewells = 0
    visible.post(.stateChanged(state), local: local) { for completion in completions { completion() } }
  }

  private func stopMedia() {
    pendingRejoin.endAll()
    for stream in own { stream.stop() }
    (identity, own) = (local, [])
    reception.stopAll()
    mixer.stop()
  }

  func entered(as known: Participant, others present: [Participant]) {
    identity = Participant(
      id: known.id, name: known.name, externalUserID: known.externalUserID, attributes: known.attributes, isLocal: true)
    for entry in own { entry.name(by: known.id) }
    state = .connected
    let completion = joinCompletion
    joinCompletion = nil
    visible.post(.stateChanged(.connected), local: local, permissions: permissions) { completion?(.success(())) }
    for stream in own { announce(stream) }
    for participant in present {
      var newcomer = participant
      newcomer.tracks = []
      joined(newcomer)
      for stream in participant.tracks { added(stream) }
    }
  }

  /// Sets the permissions of a room that is about to be entered. If it was entered before, other permissions are a change.
  func setPermissionsOnEntry(_ entry: Set<ParticipantPermission>) {
    let isChange = state != .connecting && permissions != entry
    permissions = entry
    if isChange { visible.post(.permissionsChanged(entry)) }
  }

  // MARK: Names and numbers

  /// From any thread: a published stream has its name at once.
  func makeTrackName(_ kind: Track.Kind) -> String {
    let number = nextTrack.withLock { number in
      number += 1
      return number
    }
    return "\(kind.rawValue)-\(number)"
  }

  // MARK: Events of remote participants

  func knocked(_ participant: Participant) {
    guard knocks.updateValue(participant, forKey: participant.id) == nil else { return }
    visible.post(.entryRequested(participant))
  }

  func knockEnded(_ id: Participant.ID, admitted: Bool?) {
    guard let participant = knocks.removeValue(forKey: id) else { return }
    visible.post(.entryRequestEnded(participant, admitted: admitted))
  }

  func endKnocks() { for id in knocks.keys.sorted() { knockEnded(id, admitted: nil) } }

  func heard(_ speakers: Speakers) {
    visible.post(.levelsChanged(speakers.levels))
    guard speakers.dominant != dominantSpeaker else { return }
    dominantSpeaker = speakers.dominant
    visible.post(.dominantSpeakerChanged(speakers.dominant))
  }

  // MARK: Tiles

  func addTile(for stream: Track, isLocal: Bool) {
    let pause: Tile.Pause? =
      stream.isMuted ? .muted : (isLocal || options.subscribesToEverything ? nil : .notSubscribed)
    if let tile = tiles.add(for: stream, isLocal: isLocal, pause: pause) { visible.post(.tileAdded(tile)) }
  }

  func changeTile(of id: Track.ID, _ change: (inout Tile) -> Void) {
    if let tile = tiles.change(of: id, change) { visible.post(.tileChanged(tile)) }
  }

  func removeTile(of id: Track.ID) {
    if let tile = tiles.remove(of: id) { visible.post(.tileRemoved(tile)) }
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
      identity.attributes = attributes
      link?.setAttributes(attributes)
      visible.post(.attributesChanged(local), local: local)
    }
  }

  func mute(_ stream: Track.ID) { lane.post { [self] in link?.mute(stream) } }
  func renew(_ credential: String) { lane.post { [self] in link?.renew(credential: credential) } }
  func remove(_ participant: Participant.ID) { lane.post { [self] in link?.remove(participant) } }
  func answerKnock(of participant: Participant.ID, admitting: Bool) {
    lane.post { [self] in link?.answerKnock(of: participant, admitting: admitting) }
  }
  func setLoudspeaker(_ other: (any AudioSink)?) { mixer.setSink(other ?? loudspeaker) }
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
    return SessionStatistics(
      streams: ours + reception.statistics(figures), roundTripTime: figures.roundTripTime,
      availableBitrate: figures.availableBitrate, availableReceiveBitrate: figures.availableReceiveBitrate)
  }
}
