public import Koine
public import KoineMediaFiles

/// Watches one participant's session from outside the app: when pictures came, what was last seen, and recordings.
public final class Witness: Sendable {
  private struct State {
    var firstPictures: [Participant.ID: Tick] = [:]
    var lastFrames: [Participant.ID: VideoFrame] = [:]
    var recorders: [Participant.ID: Recorders] = [:]
    var problem: RecordingError?
    /// In the order in which they came.
    var senders: [Participant.ID] = []
    /// The newest figures of each sender, and those of its earlier stays and streams, which the session forgets.
    var newest: [Participant.ID: DirectionReport] = [:]
    var earlier: [Participant.ID: DirectionReport] = [:]
    var sampling: Alarm?
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
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal { self?.follow(stream, of: owner) }
    }
    for owner in session.participants { for stream in owner.streams { follow(stream, of: owner) } }
    sampleRegularly()
  }

  deinit { state.withLock { $0.sampling }?.cancel() }

  private func follow(_ stream: Stream, of owner: Participant) {
    if stream.kind.isVideo { session.attach(FrameWatch(self, owner.id) as any VideoSink, to: stream.id) }
    guard let directory else { return }
    do throws(RecordingError) {
      let path = "\(directory)/\(receiver.asFileName)/\(owner.name.asFileName)"
      let recorders = try state.withLock { state throws(RecordingError) in
        var recorders = state.recorders[owner.id] ?? Recorders(path, in: session.world)
        if stream.kind.isVideo, recorders.pictures == nil {
          recorders.pictures = try Y4MRecorder(path + ".y4m", timeline: recorders.timeline)
        }
        if stream.kind.isAudio, recorders.sound == nil {
          recorders.sound = try WAVRecorder(path + ".wav", timeline: recorders.timeline)
        }
        state.recorders[owner.id] = recorders
        return recorders
      }
      session.attach(recorders.both.tap, to: stream.id)
      if stream.kind.isVideo, let sink = recorders.pictures { session.attach(sink, to: stream.id) }
      if stream.kind.isAudio, let sink = recorders.sound { session.attach(sink, to: stream.id) }
    } catch {
      state.withLock { $0.problem = $0.problem ?? error }
    }
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
    return state.withLock { state in
      state.senders.compactMap { id in state.newest[id].map { $0.added(to: state.earlier[id]) } }
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
    let (participants, tiles) = (session.participants, session.tiles)
    state.withLock { state in
      for sender in participants {
        let own = figures.filter { $0.stream.id.participant == sender.id }
        let new = DirectionReport(
          receiver: receiver, sender: sender.name, video: own.first { $0.video != nil },
          audio: own.first { $0.audio != nil },
          pause: tiles.first { $0.stream.participant == sender.id && $0.kind == .camera }?.pause,
          joinToFirstPicture: state.firstPictures[sender.id].map { $0 - start })
        if !state.senders.contains(sender.id) { state.senders.append(sender.id) }
        // The session counts from nothing again: after a restart of the server, or for another stay.
        if let last = state.newest[sender.id], new.packets < last.packets {
          state.earlier[sender.id] = last.added(to: state.earlier[sender.id])
        }
        state.newest[sender.id] = new
      }
    }
  }

  /// Finishes the recordings.
  public func close() throws(RecordingError) {
    let (recorders, problem) = state.withLock { ($0.recorders, $0.problem) }
    var first = problem
    for recorder in recorders.values {
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
