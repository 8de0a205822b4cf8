import Dispatch
import KoineBase
import struct KoineSignaling.RoomService

/// The transcription of one room, from its start to its end.
///
///     starting ─→ on ─→ stopping ─→ off
///
/// Everything but results happens on the world's delivery queue, one thing after the other.
final class TranscriptionJob: Sendable {
  private struct State {
    var phase = RoomTranscription.State.starting
    var language: String
    var observation: Observation?
    /// By track.
    var feeds: [Track.ID: TranscriberFeed] = [:]
    /// Microphones that wait because the limit is reached, in order.
    var waiting: [Track.ID] = []
    /// Tracks with a session that has failed and is not started again yet, or not at all.
    var restarts: [Track.ID: Restart] = [:]
    /// Failed attempts in a row, by track.
    var failures: [Track.ID: Int] = [:]
    var startAnswers: [@Sendable (Failure?) -> Void] = []
    var stopAnswers: [@Sendable (Failure?) -> Void] = []
    var sessions = 0
  }

  private struct Restart {
    let reason: String
    /// Nil: the service has given the participant up.
    let alarm: Alarm?
  }

  /// How often the service starts a session again that has failed. It waits 1 s before the first attempt, and twice as long before each
  /// further one.
  static let restartLimit = 5
  /// A session that has lived so long has not failed at its start.
  static let settledAfter = Duration.seconds(60)
  /// How long results may follow the end of a transcriber's sessions.
  static let grace = Duration.milliseconds(500)
  /// How long the service waits for participants after it has started. The participant that started it may have left.
  private static let patience = Duration.seconds(3)

  private let room: String
  private let region: String
  private let transcriber: any Transcriber
  private let limit: Int
  private let world: World
  private let session: Session
  private let say: @Sendable (RoomService.Answer) -> Void
  private let log: @Sendable (String) -> Void
  private let ended: @Sendable () -> Void
  private let lane: Lane
  private let state: Lock<State>

  init(
    _ room: String, language: String, region: String = "", with transcriber: any Transcriber, limit: Int,
    credential: String,
    in world: World, say: @escaping @Sendable (RoomService.Answer) -> Void, log: @escaping @Sendable (String) -> Void,
    ended: @escaping @Sendable () -> Void
  ) {
    (self.room, self.transcriber, self.limit, self.world) = (room, transcriber, limit, world)
    (self.say, self.log, self.ended, self.region) = (say, log, ended, region)
    session = Session(
      JoinRequest(room: room, credential: credential, name: "transcriber"), in: world,
      options: SessionOptions(subscribesToEverything: false, loudspeaker: SilentLoudspeaker()))
    lane = world.backend.scheduler.lane("transcript")
    state = Lock(State(language: language))
  }

  var transcription: RoomTranscription {
    state.withLock { state in
      guard state.phase != .off else { return .off }
      let interruption = state.restarts.min { $0.key.description < $1.key.description }?.value.reason
      return RoomTranscription(state.phase, language: state.language, interruption: interruption, region: region)
    }
  }
  var isStopping: Bool { state.withLock { $0.phase == .stopping } }
  private var isOn: Bool { state.withLock { $0.phase == .on } }

  // MARK: On the delivery queue

  func start(_ answer: @escaping @Sendable (Failure?) -> Void) {
    sendStatus()
    let observation = session.observe { [weak self] event in self?.handle(event) }
    state.withLock { state in
      state.observation = observation
      state.startAnswers.append(answer)
    }
    session.join { [weak self] outcome in
      guard let self, case .failure(let error) = outcome else { return }
      end(because: error)
    }
  }

  func whenStarted(_ answer: @escaping @Sendable (Failure?) -> Void) {
    let isKept = state.withLock { state in
      guard state.phase == .starting else { return false }
      state.startAnswers.append(answer)
      return true
    }
    if !isKept { answer(nil) }
  }

  func stop(_ answer: (@Sendable (Failure?) -> Void)? = nil) {
    if let answer, state.withLock({ $0.phase == .off }) { return answer(nil) }
    let (isNew, feeds) = state.withLock { state in
      if let answer { state.stopAnswers.append(answer) }
      let isNew = state.phase == .starting || state.phase == .on
      if isNew { state.phase = .stopping }
      defer { (state.feeds, state.waiting, state.restarts) = ([:], [], [:]) }
      return (isNew, state.feeds)
    }
    guard isNew else { return }
    sendStatus()
    for (track, feed) in feeds.sorted(by: { $0.key.description < $1.key.description }) { close(feed, of: track) }
    lane.post(at: lane.scheduler.now + Self.grace) { [self] in world.delivery.deliver { [self] in end(because: nil) } }
  }

  func setLanguage(_ language: String) {
    let feeds = state.withLock { state in
      guard state.language != language else { return [:] as [Track.ID: TranscriberFeed] }
      state.language = language
      defer { state.feeds = [:] }
      return state.feeds
    }
    for (track, feed) in feeds.sorted(by: { $0.key.description < $1.key.description }) {
      close(feed, of: track)
      open(track)
    }
    sendStatus()
  }

  func close() async {
    await withCheckedContinuation { done in
      world.delivery.deliver { [self] in stop { _ in done.resume() } }
    }
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.connected): entered()
    case .stateChanged(.ended(let reason)):
      end(because: reason == .left ? nil : Failure(.ended, "the transcriber has left the room"))
    case .streamAdded(let stream, _), .streamMuted(let stream, _):
      guard stream.kind == .microphone else { return }
      stream.isMuted ? close(stream.id) : open(stream.id)
    case .streamRemoved(let stream, _): close(stream.id)
    case .participantLeft: if session.participants.isEmpty { stop() }
    default: break
    }
  }

  private func entered() {
    let answers: [@Sendable (Failure?) -> Void]? = state.withLock { state in
      guard state.phase == .starting else { return nil }
      state.phase = .on
      defer { state.startAnswers = [] }
      return state.startAnswers
    }
    // After a reconnection the room may have lost the status.
    sendStatus()
    guard let answers else { return }
    log("transcribes \(LogText(room))")
    for answer in answers { answer(nil) }
    // The room reports its participants only after the service has joined.
    lane.post(at: lane.scheduler.now + Self.patience) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in
        guard let self, isOn, session.participants.isEmpty else { return }
        stop()
      }
    }
  }

  private func end(because failure: Failure?) {
    let ending = state.withLock { state -> State? in
      guard state.phase != .off else { return nil }
      let before = state
      state.phase = .off
      (state.observation, state.feeds, state.waiting, state.restarts) = (nil, [:], [], [:])
      (state.startAnswers, state.stopAnswers) = ([], [])
      return before
    }
    guard let ending else { return }
    ending.observation?.cancel()
    for feed in ending.feeds.values { feed.finish() }
    if let failure, ending.phase != .stopping {
      log("the transcription of \(LogText(room)) has ended: \(failure)")
      if ending.phase == .on { sendStatus(failure) }
    }
    sendStatus()
    for answer in ending.startAnswers { answer(failure ?? Failure(.ended, "the transcription was stopped")) }
    for answer in ending.stopAnswers { answer(nil) }
    session.leave { [session] in withExtendedLifetime(session) {} }
    ended()
  }

  // MARK: Participants

  /// - Returns: why the participant cannot be transcribed; nil if it can, or must not be now.
  private func startSession(of track: Track.ID) -> (any Error)? {
    guard let owner = session.participants.first(where: { $0.id == track.participant }) else { return nil }
    let decision = state.withLock { state -> (number: Int, language: String)? in
      guard state.phase == .on || state.phase == .starting, state.feeds[track] == nil,
        state.restarts[track] == nil
      else { return nil }
      guard state.feeds.count + state.restarts.values.count(where: { $0.alarm != nil }) < limit else {
        if !state.waiting.contains(track) { state.waiting.append(track) }
        return nil
      }
      state.waiting.removeAll { $0 == track }
      state.sessions += 1
      return (state.sessions, state.language)
    }
    guard let (number, language) = decision else { return nil }
    let clock = world.backend.scheduler
    let results = TranscriptResults(clock: clock) { [weak self] result, id in
      self?.send(result, id: "\(track.participant)/\(number).\(id)", of: track.participant, language)
    }
    let request = TranscriberRequest(
      room: room, participant: owner, track: track, language: language, scheduler: clock
    ) { [weak self, weak results] error in
      guard let self, let results, results.fail() else { return }
      world.delivery.deliver { [weak self] in self?.sessionFailed(results, of: track, error) }
    }
    do {
      let feed = TranscriberFeed(
        try transcriber.start(request) { results.receive($0) }, clock: clock, results: results)
      state.withLock { $0.feeds[track] = feed }
      session.attach(feed as any AudioSink, to: track)
      session.subscribe(to: track)
      return nil
    } catch {
      return error
    }
  }

  private func open(_ track: Track.ID) {
    if let error = startSession(of: track) { reportFailure(of: track, error) }
  }

  private func reportFailure(of track: Track.ID, _ error: any Error) {
    log("\(LogText(track.participant)) is not transcribed: \(error)")
    sendStatus(Failure(.internal, "\(track.participant) is not transcribed: \(error)"))
    sendStatus()
  }

  /// A session has failed after its start.
  private func sessionFailed(_ results: TranscriptResults, of track: Track.ID, _ error: any Error) {
    let feed = state.withLock { state -> TranscriberFeed? in
      guard let feed = state.feeds[track], feed.results === results else { return nil }
      if lane.scheduler.now - results.opened >= Self.settledAfter { state.failures[track] = nil }
      return state.feeds.removeValue(forKey: track)
    }
    guard let feed else { return }
    close(feed, of: track)
    restart(track, after: error)
  }

  private func restart(_ track: Track.ID, after error: any Error) {
    let attempts = state.withLock { $0.failures[track] ?? 0 }
    guard attempts < Self.restartLimit else { return giveUp(track, because: error) }
    log("the transcriber of \(LogText(track.participant)) has failed: \(error)")
    let alarm = lane.post(at: lane.scheduler.now + .seconds(1 << attempts)) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.restartIsDue(track) }
    }
    state.withLock { state in
      state.failures[track] = attempts + 1
      state.restarts[track] = Restart(reason: "\(error)", alarm: alarm)
    }
    sendStatus()
  }

  private func restartIsDue(_ track: Track.ID) {
    guard state.withLock({ $0.restarts.removeValue(forKey: track) }) != nil else { return }
    if let error = startSession(of: track) { return restart(track, after: error) }
    sendStatus()
  }

  private func giveUp(_ track: Track.ID, because error: any Error) {
    state.withLock { $0.restarts[track] = Restart(reason: "\(error)", alarm: nil) }
    reportFailure(of: track, error)
    if let next = state.withLock({ $0.waiting.first }) { open(next) }
  }

  private func close(_ track: Track.ID) {
    let (feed, restart, next) = state.withLock { state in
      state.waiting.removeAll { $0 == track }
      state.failures[track] = nil
      return (
        state.feeds.removeValue(forKey: track), state.restarts.removeValue(forKey: track), state.waiting.first
      )
    }
    if let restart {
      restart.alarm?.cancel()
      sendStatus()
    }
    if let feed { close(feed, of: track) }
    if feed != nil || restart != nil, let next { open(next) }
  }

  private func close(_ feed: TranscriberFeed, of track: Track.ID) {
    session.detach(feed as any AudioSink, from: track)
    session.unsubscribe(from: track)
    feed.finish()
    lane.post(at: lane.scheduler.now + Self.grace) { feed.results.close() }
  }

  // MARK: Messages, from any thread

  private func send(_ result: TranscriberResult, id: String, of participant: Participant.ID, _ language: String) {
    guard state.withLock({ $0.phase == .on || $0.phase == .stopping }) else { return }
    let segment = SentSegment(
      result, id: id, participant: participant, language: language, clock: world.backend.scheduler)
    say(.init(TranscriptMessages.encode(segment), as: TranscriptMessages.captions, stands: false, in: room))
  }

  private func sendStatus(_ failure: Failure? = nil) {
    let present = transcription
    let report = TranscriptionReport(present, failure: failure)
    say(
      .init(
        TranscriptMessages.encode(report), as: TranscriptMessages.service, stands: present.state != .off, in: room))
  }
}

/// Drops results that come too often, too late or twice, and counts them.
final class TranscriptResults: Sendable {
  private struct State {
    var isClosed = false
    var hasFailed = false
    /// The newest final utterances, so that no result follows a final one.
    var final: [Int] = []
    var partials: TokenBucket
    var finals: TokenBucket
    var dropped = 0
  }

  /// Final utterances that are remembered.
  private static let memory = 64
  private let clock: Scheduler
  /// When the session was started.
  let opened: Tick
  private let state: Lock<State>
  private let send: @Sendable (TranscriberResult, _ utterance: Int) -> Void

  init(clock: Scheduler, send: @escaping @Sendable (TranscriberResult, _ utterance: Int) -> Void) {
    (self.clock, self.send) = (clock, send)
    let now = clock.now
    opened = now
    state = Lock(
      State(
        partials: TokenBucket(burst: 20, perSecond: 10, now: now),
        finals: TokenBucket(burst: 20, perSecond: 10, now: now)))
  }

  func receive(_ result: TranscriberResult) {
    let now = clock.now
    let isTaken = state.withLock { state in
      let isDue = result.isFinal ? state.finals.take(at: now) : state.partials.take(at: now)
      guard !state.isClosed, !state.final.contains(result.utterance), isDue else {
        state.dropped += 1
        return false
      }
      if result.isFinal {
        if state.final.count == Self.memory { state.final.removeFirst() }
        state.final.append(result.utterance)
      }
      return true
    }
    if isTaken { send(result, result.utterance) }
  }

  func close() { state.withLock { $0.isClosed = true } }

  /// - Returns: false if the session has failed before.
  func fail() -> Bool {
    state.withLock { state in
      defer { state.hasFailed = true }
      return !state.hasFailed
    }
  }

  /// Results that were dropped.
  var dropped: Int { state.withLock { $0.dropped } }
}

/// Gives one participant's audio to a session of the transcriber, which may be slow.
final class TranscriberFeed: AudioSink, Sendable {
  private struct State {
    var blocks: [AudioBlock] = []
    var isRunning = false
    var isFinished = false
    var dropped = 0
  }

  /// Most blocks that wait: 5 s of audio.
  static let capacity = 500
  let results: TranscriptResults
  private let session: any TranscriberSession
  /// Nil in virtual time: the session is called at once.
  private let queue: DispatchQueue?
  private let state = Lock(State())

  init(_ session: any TranscriberSession, clock: Scheduler, results: TranscriptResults) {
    (self.session, self.results) = (session, results)
    queue = clock.kind == .virtual ? nil : DispatchQueue(label: "koine.transcriber")
  }

  /// Blocks that were dropped because the transcriber was slow.
  var dropped: Int { state.withLock { $0.dropped } }

  func play(_ block: AudioBlock) {
    guard let queue else {
      if !state.withLock({ $0.isFinished }) { session.receiveAudio(block) }
      return
    }
    let mustStart = state.withLock { state in
      guard !state.isFinished else { return false }
      if state.blocks.count == Self.capacity {
        state.blocks.removeFirst()
        state.dropped += 1
      }
      state.blocks.append(block)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustStart { queue.async { [self] in work() } }
  }

  private func work() {
    while true {
      let blocks = state.withLock { state in
        defer { state.blocks = [] }
        if state.blocks.isEmpty { state.isRunning = false }
        return state.blocks
      }
      guard !blocks.isEmpty else { return }
      for block in blocks { session.receiveAudio(block) }
    }
  }

  /// Ends the session, after the audio that waits.
  func finish() {
    let isFirst = state.withLock { state in
      defer { state.isFinished = true }
      return !state.isFinished
    }
    guard isFirst else { return }
    guard let queue else { return session.finish() }
    queue.async { [session] in session.finish() }
  }
}

/// A loudspeaker that plays nothing: the service receives each participant's audio separately.
private final class SilentLoudspeaker: IntermittentSink, Sendable {
  let isListening = false
  func play(_ block: AudioBlock) {}
}
