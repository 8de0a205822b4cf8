public import Koine
public import KoineMediaFiles

/// Watches one participant's session from outside the app: when pictures came, what was last seen, and recordings.
public final class Witness: Sendable {
  private struct State {
    var firstPictures: [Participant.ID: Tick] = [:]
    var lastFrames: [Participant.ID: VideoFrame] = [:]
    var recorders: [Participant.ID: Recorders] = [:]
    var problem: RecordingError?
  }

  /// The files of one sender.
  private struct Recorders {
    var sound: WAVRecorder?
    var pictures: Y4MRecorder?
    let both: WebMRecorder
  }

  public let receiver: String
  private let session: Session
  private let start: Tick
  private let directory: String?
  private let state = Lock(State())

  /// - Parameters:
  ///   - receiver: the name of whom is watched.
  ///   - directory: where recordings go, as `<directory>/<receiver>/<sender>.wav` and so on; nil: none.
  ///   - start: when they began to join; nil: now.
  public init(
    _ session: Session, receiver: String, since start: Tick? = nil, recordingTo directory: String? = nil
  ) {
    self.session = session
    self.receiver = receiver
    self.directory = directory
    self.start = start ?? session.world.backend.scheduler.now
    session.observe { [weak self] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal { self?.follow(stream, of: owner) }
    }
    for owner in session.participants { for stream in owner.streams { follow(stream, of: owner) } }
  }

  private func follow(_ stream: Stream, of owner: Participant) {
    if stream.kind.isVideo { session.attach(FrameWatch(self, owner.id) as any VideoSink, to: stream.id) }
    guard let directory else { return }
    do throws(RecordingError) {
      let path = "\(directory)/\(receiver.asFileName)/\(owner.name.asFileName)"
      let recorders = try state.withLock { state throws(RecordingError) in
        var recorders = state.recorders[owner.id] ?? Recorders(both: WebMRecorder(path + ".webm"))
        if stream.kind.isVideo, recorders.pictures == nil { recorders.pictures = try Y4MRecorder(path + ".y4m") }
        if stream.kind.isAudio, recorders.sound == nil { recorders.sound = try WAVRecorder(path + ".wav") }
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

  /// What came from each sender so far.
  public func report() async -> [DirectionReport] {
    let figures = await session.statistics().streams
    let first = state.withLock { $0.firstPictures }
    return session.participants.map { sender in
      let own = figures.filter { $0.stream.id.participant == sender.id }
      return DirectionReport(
        receiver: receiver, sender: sender.name, video: own.first { $0.video != nil },
        audio: own.first { $0.audio != nil },
        pause: session.tiles.first { $0.stream.participant == sender.id && $0.kind == .camera }?.pause,
        joinToFirstPicture: first[sender.id].map { $0 - start })
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
