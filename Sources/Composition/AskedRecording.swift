import Foundation
import Koine

/// One recording that somebody has asked for, from its beginning to its end.
///
///     starting ─→ started ─→ (playable) ─→ stopping ─→ stopped        failed or broken ─→ stopped
///
/// What happens to it happens on its world's delivery queue, one thing after the other.
final class AskedRecording: Sendable {
  private struct State {
    var room: ComposedRoom?
    var stage = RecorderWords.Stage.starting
  }

  private let kind: String
  private let request: RecordingRequest
  private let places: [URL]
  /// As the room is told.
  private let name: String
  private let asker: Participant.ID
  private let world: World
  private let tell: @Sendable (RecordingDesk.Word) -> Void
  private let log: @Sendable (String) -> Void
  private let isOver: @Sendable () -> Void
  private let lane: Lane
  private let state = Lock(State())

  init(
    _ kind: String, _ request: RecordingRequest, to places: [URL], knownAs name: String, for asker: Participant.ID,
    in world: World, say: @escaping @Sendable (RecordingDesk.Word) -> Void, log: @escaping @Sendable (String) -> Void,
    isOver: @escaping @Sendable () -> Void
  ) {
    (self.kind, self.request, self.places, self.name) = (kind, request, places, name)
    (self.asker, self.world) = (asker, world)
    (tell, self.log, self.isOver) = (say, log, isOver)
    lane = world.backend.scheduler.lane("asked recording")
  }

  // MARK: From any thread

  func start() {
    say(.starting)
    world.delivery.deliver { [self] in enter() }
  }

  func stop(for participant: Participant.ID) { world.delivery.deliver { [self] in end(for: participant) } }

  func close() async {
    await withCheckedContinuation { done in
      world.delivery.deliver { [self] in
        end(for: nil)
        done.resume()
      }
    }
  }

  // MARK: On the delivery queue

  private func enter() {
    guard stage == .starting else { return }  // stopped before it began
    let room = ComposedRoom(request, in: world, credential: request.credential ?? "") { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.broke() }
    }
    state.withLock { $0.room = room }
    room.session.observe { [weak self] event in self?.handle(event) }
    room.session.join { [weak self] outcome in
      guard let self, stage == .starting else { return }
      do {
        try outcome.get()
        try begin(room)
      } catch {
        log("cannot record \(LogText(request.room)): \(error)")
        over()
        say(.failed, to: asker)
      }
    }
  }

  private func begin(_ room: ComposedRoom) throws {
    for place in places where place.isFileURL {  // found out before anything is composed
      try FileManager.default.createDirectory(
        at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    }
    let outputs = try places.map { try BroadcastOutputs.make(for: $0) }
    try room.begin(outputs) { [weak self] in
      guard let self, kind == RoomWord.playlist else { return }
      world.delivery.deliver { [weak self] in
        if let self, stage == .started { say(.playable) }
      }
    }
    say(.started)
    log("records \(LogText(request.room)) to \(names)")
    // Who is there is told after one has come in: an empty room is one that is still empty a while later.
    lane.post(at: world.backend.scheduler.now + Self.patience) { [weak self] in
      guard let self else { return }
      world.delivery.deliver { [weak self] in self?.endIfAlone() }
    }
  }

  /// Whoever asked may have gone before the recorder came.
  private static let patience = Duration.seconds(3)

  private func endIfAlone() {
    if stage != .starting, state.withLock({ $0.room?.session.participants.isEmpty ?? false }) { end(for: nil) }
  }

  /// Harmless when over already.
  private func end(for participant: Participant.ID?) {
    guard [.starting, .started, .playable].contains(stage) else { return }
    let room = state.withLock { $0.room }
    say(.stopping)
    do { try room?.finish() } catch {
      log("the recording \(names) did not end well: \(error)")
      if let participant { say(.unfinished, to: participant) }
    }
    over()
    log("recorded \(LogText(request.room)) to \(names)")
  }

  private func broke() {
    guard [.starting, .started, .playable].contains(stage) else { return }
    log("the recording \(names) has broken")
    say(.broken, to: asker)
    over()
  }

  private func over() {
    guard stage != .stopped else { return }
    say(.stopped)
    let room = state.withLock { state in
      defer { state.room = nil }
      return state.room
    }
    try? room?.finish()  // what could not be written has been told
    room?.session.leave { withExtendedLifetime(room) {} }
    isOver()
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .participantLeft: endIfAlone()
    case .stateChanged(.ended): if stage != .starting { end(for: nil) }  // else whoever waits for it hears why
    case .stateChanged(.connected):  // perhaps again, and the room may have forgotten
      if stage != .starting { say(stage) }
    default: break
    }
  }

  // MARK: Telling

  private var stage: RecorderWords.Stage { state.withLock { $0.stage } }
  /// For logs: of a server its name only, because what follows lets one stream there.
  private var names: String {
    places.map { $0.isFileURL ? $0.path : "\($0.scheme ?? "")://\($0.host ?? "")" }.joined(separator: ", ")
  }

  private func say(_ stage: RecorderWords.Stage, to participant: Participant.ID? = nil) {
    let hasPlace = [.started, .playable].contains(stage)
    let words = RecorderWords(stage, place: hasPlace ? name : "")
    if participant == nil { state.withLock { $0.stage = stage } }
    tell(
      RecordingDesk.Word(
        room: request.room, name: kind, payload: Array(words.text.utf8), participant: participant,
        stands: stage != .stopped))
  }
}
