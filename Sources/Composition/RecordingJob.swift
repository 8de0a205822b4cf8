import CrossVendorConventions
import Foundation
import Koine
import KoineBase
import struct KoineSignaling.RoomService

/// One recording that a participant has requested, from its beginning to its end.
///
///     starting ─→ started ─→ (playable) ─→ stopping ─→ stopped        failed or broken ─→ stopped
///
/// A live stream is started once its server has answered. Before, it has failed; later, it has broken. If
/// another node has begun the live stream, it is tried again for a while, because the streaming server may not have noticed yet that the
/// former connection is over.
///
/// What happens to it happens on its seat's delivery queue, one thing after the other.
final class RecordingJob: Sendable {
  private struct State {
    var room: ComposedRoom?
    var observation: Observation?
    var stage = RecorderStatus.Stage.starting
    /// In the room, and writing.
    var hasBegun = false
    /// When the writing began.
    var begun: Tick?
    /// The number of composed rooms so far: each attempt of a continued live stream has its own.
    var attempts = 0
    /// When a continued live stream is no longer tried again after a refusal; nil before the first refusal.
    var retryEnd: Tick?
    /// Folders that were not there before.
    var made: [URL] = []
    /// It never began, or broke.
    var hasFailed = false
    /// Another server has the room.
    var isReleased = false
    /// The session is left.
    var hasLeft = false
  }

  private let kind: String
  private let request: RecordingRequest
  private let places: [URL]
  /// As the room is told.
  private let name: String
  private let asker: Participant.ID
  /// With which another server of a cluster continues.
  private let job: RoomService.Job
  /// The name of the part before, which another server has made; nil: there is none.
  private let formerName: String?
  private let sharedSession: SharedRecorderSession
  private let tell: @Sendable (RoomService.Answer) -> Void
  private let log: @Sendable (String) -> Void
  private let hasSpace: @Sendable () -> Bool
  private let isOver: @Sendable (_ hasFailed: Bool) -> Void
  private let lane: Lane
  private let state = Lock(State())

  init(
    _ message: RoomService.Message, _ request: RecordingRequest, to places: [URL], knownAs name: String,
    on sharedSession: SharedRecorderSession, hasSpace: @escaping @Sendable () -> Bool,
    say: @escaping @Sendable (RoomService.Answer) -> Void, log: @escaping @Sendable (String) -> Void,
    isOver: @escaping @Sendable (_ hasFailed: Bool) -> Void
  ) {
    (kind, self.request, self.places, self.name) = (message.topic, request, places, name)
    (asker, self.sharedSession) = (message.sender, sharedSession)
    job = .init(sender: message.sender, payload: message.payload)
    formerName = message.continuing.map { RecorderStatus(payload: $0)?.destination ?? "" }
    (self.hasSpace, tell, self.log, self.isOver) = (hasSpace, say, log, isOver)
    lane = sharedSession.world.backend.scheduler.lane("asked recording")
  }

  private var world: World { sharedSession.world }

  // MARK: From any thread

  func start() {
    world.delivery.deliver { [self] in
      guard stage == .starting else { return }  // stopped before it began
      if let formerName { continueAfter(formerName) } else { sendStatus(.starting) }
      enter()
    }
  }

  /// Another server has the room from now on: leaves it, and completes the files without a word to it.
  func release() {
    state.withLock { $0.isReleased = true }
    world.delivery.deliver { [self] in
      leave()
      finish(for: nil)
    }
  }

  var isReleased: Bool { state.withLock { $0.isReleased } }

  func stop(for participant: Participant.ID) { world.delivery.deliver { [self] in finish(for: participant) } }

  func close() async {
    await withCheckedContinuation { done in
      world.delivery.deliver { [self] in
        finish(for: nil)
        done.resume()
      }
    }
  }

  // MARK: On the delivery queue

  private func enter() {
    let room = compose()
    let observation = sharedSession.session.observe { [weak self] event in self?.handle(event) }
    state.withLock { $0.observation = observation }
    sharedSession.enter { [weak self] outcome in
      guard let self, stage == .starting else { return }
      do {
        try outcome.get()
        try startOutputs(room)
      } catch {
        log("cannot record \(LogText(request.room)): \(error)")
        failed()
      }
    }
  }

  private func compose() -> ComposedRoom {
    let attempt = state.withLock { state in
      state.attempts += 1
      return state.attempts
    }
    let room = ComposedRoom(request, of: sharedSession.session, pins: sharedSession.pins, in: world) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.broke(attempt) }
    }
    state.withLock { $0.room = room }
    return room
  }

  private func startOutputs(_ room: ComposedRoom) throws {
    for place in places where place.isFileURL {  // found out before anything is composed
      let folder = place.deletingLastPathComponent()
      if !FileManager.default.fileExists(atPath: folder.path) { state.withLock { $0.made.append(folder) } }
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    let outputs = try places.map { try BroadcastOutputs.make(for: $0) }
    try room.start(outputs) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.opened() }
    }
    let now = world.backend.scheduler.now
    state.withLock { ($0.hasBegun, $0.begun) = (true, now) }
    if kind != Convention.livestream { started() }
    // The room reports its participants only after the recorder has joined. So the room counts as empty only if it is still empty
    // after `patience`.
    endIfStillAlone()
    watchSpace()
  }

  /// How often it is looked whether there is space to go on.
  static let spacePause = Duration.seconds(5)

  private func watchSpace() {
    guard places.contains(where: \.isFileURL) else { return }
    lane.post(at: world.backend.scheduler.now + Self.spacePause) { [weak self] in
      guard let self, [.starting, .started, .playable].contains(stage) else { return }
      guard !hasSpace() else { return watchSpace() }
      log("the recording \(names) ends: the disk is nearly full")
      world.delivery.deliver { [weak self] in self?.finish(for: self?.asker) }
    }
  }

  /// The recording's output can be opened by other processes.
  private func opened() {
    if kind == Convention.livestream, stage == .starting { started() }
    if kind == Convention.playlist, stage == .started { sendStatus(.playable) }
  }

  private func started() {
    sendStatus(.started)
    log("records \(LogText(request.room)) to \(names)")
  }

  /// How long the recorder waits for participants after it begins. The participant that requested the recording may have left before
  /// the recorder joined.
  private static let patience = Duration.seconds(3)
  /// The same for a room that has moved, to which participants return one after the other, and how long it may then be empty: after a
  /// pulled cable of the home they return within 6 to 9 s.
  private static let patienceAfterMove = Duration.seconds(10)

  private func endIfStillAlone() {
    let patience = formerName == nil ? Self.patience : Self.patienceAfterMove
    lane.post(at: world.backend.scheduler.now + patience) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.endIfAlone() }
    }
  }

  private func endIfAlone() {
    if hasBegun, sharedSession.session.participants.isEmpty { finish(for: nil) }
  }

  /// Harmless when over already.
  private func finish(for participant: Participant.ID?) {
    guard [.starting, .started, .playable].contains(stage) else { return }
    let room = state.withLock { $0.room }
    sendStatus(.stopping)
    do { try room?.finish() } catch {
      log("the recording \(names) did not end well: \(error)")
      if let participant { sendStatus(.unfinished, to: participant) }
    }
    over()
    log("recorded \(LogText(request.room)) to \(names)")
  }

  /// For how long, and how often, a continued live stream is tried again.
  static let retryLimit = Duration.seconds(30)
  static let retryPause = Duration.seconds(2)

  private func retry(after attempt: Int) -> Bool {
    // With several destinations, one may already receive the stream, and a new attempt would interrupt it.
    guard kind == Convention.livestream, formerName != nil, places.count == 1, stage == .starting, !isReleased else {
      return false
    }
    let now = world.backend.scheduler.now
    let (end, room) = state.withLock { state in
      let end = state.retryEnd ?? now + Self.retryLimit
      state.retryEnd = end
      return (end, state.room)
    }
    guard now + Self.retryPause <= end else { return false }
    do { try room?.finish() } catch { log("\(names) has refused the continued stream, and is tried again: \(error)") }
    state.withLock { $0.room = nil }
    lane.post(at: now + Self.retryPause) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.startAgain(after: attempt) }
    }
    return true
  }

  private func startAgain(after attempt: Int) {
    guard stage == .starting, !isReleased, state.withLock({ $0.attempts }) == attempt else { return }
    do { try startOutputs(compose()) } catch {
      log("cannot record \(LogText(request.room)): \(error)")
      failed()
    }
  }

  private func broke(_ attempt: Int) {
    guard [.starting, .started, .playable].contains(stage), state.withLock({ $0.attempts }) == attempt,
      let room = state.withLock({ $0.room })
    else { return }
    if retry(after: attempt) { return }
    do { try room.finish() } catch { log("the recording \(names) has broken: \(error)") }
    failed()
  }

  /// Why comes first: with `stopped` the next may begin.
  private func failed() {
    state.withLock { $0.hasFailed = true }
    sendStatus(stage == .starting ? .failed : .broken, to: asker)
    over()
  }

  private func over() {
    guard stage != .stopped else { return }
    sendStatus(.stopped)
    let (room, observation) = state.withLock { state in
      defer { (state.room, state.observation) = (nil, nil) }
      return (state.room, state.observation)
    }
    try? room?.finish()  // what could not be written has been told
    for folder in state.withLock({ $0.made }) { rmdir(folder.path) }  // those with nothing in them
    observation?.cancel()
    leave()
    isOver(state.withLock { $0.hasFailed })
  }

  private func leave() {
    let isFirst = state.withLock { state in
      defer { state.hasLeft = true }
      return !state.hasLeft
    }
    if isFirst { sharedSession.leave() }
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .participantLeft: formerName == nil ? endIfAlone() : endIfStillAlone()
    case .stateChanged(.ended): if hasBegun { finish(for: nil) }  // otherwise the pending join reports the reason
    case .stateChanged(.connected):  // perhaps again, and the room may have forgotten
      guard hasBegun else { break }
      if stage == .starting, let formerName { continueAfter(formerName) } else { sendStatus(stage) }
    default: break
    }
  }

  // MARK: Telling

  private var stage: RecorderStatus.Stage { state.withLock { $0.stage } }
  private var hasBegun: Bool { state.withLock { $0.hasBegun } }
  /// For logs: of a server its name only, because what follows lets one stream there.
  private var names: String {
    places.map { $0.isFileURL ? $0.path : "\($0.scheme ?? "")://\($0.host ?? "")" }.joined(separator: ", ")
  }

  private func sendStatus(_ stage: RecorderStatus.Stage, to participant: Participant.ID? = nil) {
    let hasPlace = [.started, .playable].contains(stage)
    let words = RecorderStatus(stage, destination: hasPlace ? name : "")
    if participant == nil { state.withLock { $0.stage = stage } }
    tell(words, stands: stage != .stopped, to: participant)
  }

  /// Says instead of `starting` that the output goes on, with the name of the part before: should this server end, too, the next one
  /// counts on from it.
  private func continueAfter(_ name: String) {
    tell(RecorderStatus(.interrupted, destination: name), stands: true)
  }

  private func tell(_ words: RecorderStatus, stands: Bool, to participant: Participant.ID? = nil) {
    var answer = RoomService.Answer(
      Array(words.text.utf8), as: kind, to: participant, stands: stands, in: request.room)
    if words.stage == .stopped { answer.output = output }
    if [.starting, .interrupted, .started, .playable].contains(words.stage) { answer.job = job }
    answer.isForEventsOnly = isReleased
    tell(answer)
  }

  /// What has been recorded; nil before a beginning, and for a live stream.
  private var output: RoomService.Output? {
    guard let begun = state.withLock({ $0.begun }), let place = places.first, place.isFileURL else { return nil }
    let isFile = kind == Convention.recording
    let bytes = isFile ? try? FileManager.default.attributesOfItem(atPath: place.path)[.size] as? Int : nil
    // A recording that broke may have left nothing.
    guard !isFile || bytes != nil else { return nil }
    return RoomService.Output(
      url: place.absoluteString, bytes: bytes, seconds: (world.backend.scheduler.now - begun).inSeconds,
      width: request.recordsVideo ? request.width : nil, height: request.recordsVideo ? request.height : nil)
  }
}
