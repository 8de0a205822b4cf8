public import Koine
public import KoineMediaFiles

/// Watches one participant's session from outside the app: the time of the first video frame and the last frame of each remote
/// participant, and recordings.
public final class Witness: Sendable {
  private struct State {
    var firstPictures: [Participant.ID: Tick] = [:]
    var lastFrames: [Participant.ID: VideoFrame] = [:]
    /// By sender; camera and microphone, and a shared screen with its sound, have files of their own.
    var recorders: [Participant.ID: (own: Recorders?, screen: Recorders?)] = [:]
    var problem: RecordingError?
    /// Figures of each stream, in the order in which the streams came; a session forgets those that are gone.
    var streams: [StreamFigures] = []
    var sampling: Alarm?
  }

  /// The figures of one stream so far.
  private struct StreamFigures {
    let id: Track.ID
    var newest: DirectionReport
    /// From before a restart of the server, after which the session counts from nothing.
    var earlier: DirectionReport?

    /// The stream is gone; another one may have its name, in another stay.
    mutating func end() {
      earlier = newest.added(to: earlier)
      newest = DirectionReport(
        receiver: newest.receiver, sender: newest.sender, video: nil, audio: nil, joinToFirstPicture: nil)
    }

    mutating func update(_ new: DirectionReport) {
      if new.packets < newest.packets { earlier = newest.added(to: earlier) }
      newest = new
    }
  }

  /// The files of one sender.
  private struct Recorders {
    /// From the sender's first stream to the end, in all three files.
    let timeline: RecordingTimeline
    var sound: WAVRecorder?
    var pictures: Y4MRecorder?
    let both: WebMRecorder

    init(_ path: String, in world: World) {
      timeline = RecordingTimeline(start: world.backend.scheduler.now, scheduler: world.backend.scheduler)
      both = WebMRecorder(path + ".webm", timeline: timeline)
    }
  }

  private static let interval = Duration.seconds(1)
  private let session: Session
  private let start: Tick
  private let directory: String?
  private let state = Lock(State())

  /// The name of the participant that is watched: as the room has it, which a token may decide.
  public var receiver: String { session.localParticipant.name.isEmpty ? givenName : session.localParticipant.name }
  private let givenName: String

  /// - Parameters:
  ///   - receiver: the name of the participant that is watched, until the room says it.
  ///   - directory: where recordings go, as `<directory>/<receiver>/<sender>.wav` and so on; nil: none.
  ///   - start: when they began to join; nil: now.
  public init(
    _ session: Session, receiver: String, since start: Tick? = nil, recordingTo directory: String? = nil
  ) {
    self.session = session
    givenName = receiver
    self.directory = directory
    self.start = start ?? session.world.backend.scheduler.now
    session.observe { [weak self] event in
      switch event {
      case .streamAdded(let stream, let owner) where !owner.isLocal: self?.follow(stream, of: owner)
      case .streamRemoved(let stream, let owner) where !owner.isLocal: self?.ended(stream.id)
      case .participantLeft(let sender, _): self?.stopRecording(sender.id)
      default: break
      }
    }
    for owner in session.participants { for stream in owner.tracks { follow(stream, of: owner) } }
    sampleRegularly()
  }

  deinit { state.withLock { $0.sampling }?.cancel() }

  private func follow(_ stream: Track, of owner: Participant) {
    if stream.kind.isVideo { session.attach(FrameWatch(self, owner.id) as any VideoSink, to: stream.id) }
    guard let directory else { return }
    do throws(RecordingError) {
      let isScreen = stream.kind == .screen || stream.kind == .screenSound
      let path = "\(directory)/\(receiver.asFileName)/\(owner.name.asFileName)\(isScreen ? "-screen" : "")"
      let recorders = try state.withLock { state throws(RecordingError) in
        var files = state.recorders[owner.id] ?? (nil, nil)
        var recorders = (isScreen ? files.screen : files.own) ?? Recorders(path, in: session.world)
        if stream.kind.isVideo, recorders.pictures == nil {
          recorders.pictures = try Y4MRecorder(path + ".y4m", timeline: recorders.timeline)
        }
        if stream.kind.isAudio, recorders.sound == nil {
          recorders.sound = try WAVRecorder(path + ".wav", timeline: recorders.timeline)
        }
        if isScreen { files.screen = recorders } else { files.own = recorders }
        state.recorders[owner.id] = files
        return recorders
      }
      recorders.timeline.resume()
      session.attach(recorders.both.tap, to: stream.id)
      if stream.kind.isVideo, let sink = recorders.pictures { session.attach(sink, to: stream.id) }
      if stream.kind.isAudio, let sink = recorders.sound { session.attach(sink, to: stream.id) }
    } catch {
      state.withLock { $0.problem = $0.problem ?? error }
    }
  }

  private func ended(_ stream: Track.ID) {
    state.withLock { state in
      if let index = state.streams.firstIndex(where: { $0.id == stream }) { state.streams[index].end() }
    }
  }

  private func stopRecording(_ sender: Participant.ID) {
    let files = state.withLock { $0.recorders[sender] }
    for recorders in [files?.own, files?.screen] { recorders?.timeline.stop() }
  }

  fileprivate func saw(_ frame: VideoFrame, of sender: Participant.ID) {
    let now = session.world.backend.scheduler.now
    state.withLock { state in
      if state.firstPictures[sender] == nil { state.firstPictures[sender] = now }
      state.lastFrames[sender] = frame
    }
  }

  /// The newest picture of a participant.
  public func lastFrame(of sender: Participant.ID) -> VideoFrame? { state.withLock { $0.lastFrames[sender] } }

  /// Figures of each sender so far, also of those that have left. A sender that left since the last look has figures that
  /// are a second old at most.
  public func report() async -> [DirectionReport] {
    await sample()
    let pauses = session.tiles.filter { $0.kind == .camera }.map { ($0.stream.participant, $0.pause) }
    return state.withLock { state in
      var senders: [Participant.ID] = []
      for stream in state.streams where !senders.contains(stream.id.participant) {
        senders.append(stream.id.participant)
      }
      return senders.compactMap { sender in
        let own = state.streams.filter { $0.id.participant == sender }
        var sum = own.reduce(DirectionReport?.none) { $1.newest.added(to: $1.earlier).added(to: $0) }
        sum?.pause = pauses.first { $0.0 == sender }?.1?.rawValue
        sum?.joinToFirstPicture = state.firstPictures[sender].map { ($0 - start).inMilliseconds }
        return sum
      }
    }
  }

  private func sampleRegularly() {
    let lane = session.world.backend.scheduler.lane("witness")
    let alarm = lane.post(at: lane.scheduler.now + Self.interval) { [weak self] in
      Task {
        await self?.sample()
        self?.sampleRegularly()
      }
    }
    state.withLock { $0.sampling = alarm }
  }

  private func sample() async {
    guard !session.state.isEnded else { return }
    let figures = await session.statistics().streams
    let participants = session.participants
    state.withLock { state in
      for sender in participants {
        for figure in figures where figure.stream.id.participant == sender.id {
          let new = DirectionReport(
            receiver: receiver, sender: sender.name, video: figure.video == nil ? nil : figure,
            audio: figure.audio == nil ? nil : figure, joinToFirstPicture: nil)
          if let index = state.streams.firstIndex(where: { $0.id == figure.stream.id }) {
            state.streams[index].update(new)
          } else {
            state.streams.append(StreamFigures(id: figure.stream.id, newest: new))
          }
        }
      }
    }
  }

  /// Finishes the recordings. It may take long: a raw file is filled up to its end. Not for the main thread.
  public func close() throws(RecordingError) {
    let (recorders, problem) = state.withLock { ($0.recorders, $0.problem) }
    var first = problem
    for recorder in recorders.values.flatMap({ [$0.own, $0.screen] }).compactMap({ $0 }) {
      do throws(RecordingError) {
        try recorder.sound?.close()
        try recorder.pictures?.close()
        try recorder.both.close()
      } catch {
        first = first ?? error
      }
    }
    if let first { throw first }
  }
}

private final class FrameWatch: VideoSink {
  private let witness: Witness
  private let sender: Participant.ID

  init(_ witness: Witness, _ sender: Participant.ID) {
    self.witness = witness
    self.sender = sender
  }

  func render(_ frame: VideoFrame) { witness.saw(frame, of: sender) }
}
