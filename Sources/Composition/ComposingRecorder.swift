import CrossVendorConventions
import Dispatch
public import Koine
import KoineMediaEngine
import KoineTokens

/// Records rooms as a hidden participant: decodes the tracks of the other participants, lays out video, mixes audio, encodes both and
/// passes the result to outputs.
///
///     RoomRecorders.use(ComposingRecorder())
///     let recording = try await RoomRecorders.record(RecordingRequest(room: "tea"), to: file, in: world)
///     try await recording.stop()
public struct ComposingRecorder: RoomRecorder {
  public init() {}

  public func record(_ request: RecordingRequest, to output: any BroadcastOutput, in world: World) async throws
    -> any RoomRecording
  {
    let credential = try request.credential ?? Self.pass(for: request.room)
    let session = ComposedRoom.session(request, credential: credential, in: world)
    let room = ComposedRoom(request, of: session, pins: PinList(of: session), in: world)
    do {
      try await room.session.join()
    } catch {
      try? output.close()
      throw error
    }
    do {
      try room.start([output])
    } catch {
      await room.session.leave()
      throw error
    }
    return room
  }

  /// A room pass signed with a fresh key. Rooms that trust any signature accept it; for other rooms the request brings a credential.
  static func pass(for room: String) throws -> String {
    let now = NumericDate.ofSystemClock()
    return try KoineToken(
      room: room, name: "recorder", rights: [.subscribe, .hidden], issued: now, expires: now + 10 * 365 * 86_400
    )
    .signed(with: SigningKey(generating: .p256))
  }
}

/// A room as a hidden participant composes it. The layout is updated on the delivery queue.
final class ComposedRoom: RoomRecording, Sendable {
  private struct State {
    /// In the order in which they came.
    var pictures: [Track] = []
    /// Of those, which are shown.
    var shown: [Track.ID] = []
    var heard: [Track.ID] = []
    var observation: Observation?
    var leader: Participant.ID?
    var broadcasts: [Broadcast] = []
    var isOver = false
    /// The room is out of reach.
    var isInterrupted = false
    /// Gives it up.
    var resignation: Alarm?
    /// Why nothing more could be written, or the end of it not.
    var failure: (any Error)?
  }

  let session: Session
  private let composition: Composition
  private let pins: PinList
  private let rules: RoomArrangement.Rules
  private let recordsVideo: Bool
  private let showsNames: Bool
  private let bitrate: Int
  private let patience: Duration
  private let lane: Lane
  private let state = Lock(State())
  /// Entered by the thread that ends the recording, until the outputs are finished.
  private let unfinished = DispatchGroup()
  /// Called once, on a lane, when nothing more can be written.
  private let onFailure: @Sendable () -> Void

  /// - Parameter session: perhaps in the room already, and others' too; the caller is on the delivery queue then.
  init(
    _ request: RecordingRequest, of session: Session, pins: PinList, in world: World,
    onFailure: @escaping @Sendable () -> Void = {}
  ) {
    (self.session, self.pins) = (session, pins)
    rules = RoomArrangement.Rules(layout: request.layout, priority: request.priority, limit: request.people)
    (bitrate, recordsVideo) = (request.bitrate, request.recordsVideo)
    (patience, showsNames) = (request.patience, request.showsNames)
    lane = world.backend.scheduler.lane("recorder")
    self.onFailure = onFailure
    composition = Composition(
      width: request.width, height: request.height, framesPerSecond: request.framesPerSecond,
      background: Color(rgb: request.backgroundColor), in: world)
    let observation = session.observe { [weak self] event in self?.handle(event) }
    state.withLock { state in
      state.observation = observation
      state.leader = session.dominantSpeaker
    }
    for participant in session.participants {
      for stream in participant.tracks { handle(.streamAdded(stream, participant)) }
    }
    if session.state == .reconnecting { interrupted() }
  }

  /// The session of a hidden participant with a loudspeaker that plays nothing.
  static func session(_ request: RecordingRequest, credential: String, in world: World) -> Session {
    Session(
      JoinRequest(room: request.room, credential: credential, name: "recorder"), in: world,
      options: SessionOptions(loudspeaker: SilentSink()))
  }

  /// Once the room is entered.
  /// - Parameter onReadable: called at most once, on a lane, when others can open what the first output has taken.
  /// - Throws: when one of the outputs cannot be begun; none is then.
  func start(_ outputs: [any BroadcastOutput], onReadable: (@Sendable () -> Void)? = nil) throws {
    var begun: [Broadcast] = []
    do {
      for output in outputs {
        begun.append(
          try Broadcast(
            of: composition, to: output, bitrate: bitrate, hasVideo: recordsVideo,
            onReadable: begun.isEmpty ? onReadable : nil, onFailure: { [weak self] in self?.fail($0) }))
      }
    } catch {
      for broadcast in begun { try? broadcast.stop() }
      throw error
    }
    let broadcasts = begun
    let isOver = state.withLock { state in
      state.broadcasts = broadcasts
      return state.isOver
    }
    if isOver { for broadcast in broadcasts { try broadcast.stop() } }
  }

  var isRunning: Bool { state.withLock { !$0.isOver } }
  var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

  func stop() async throws {
    let outcome = Result { try finish() }
    await session.leave()
    try outcome.get()
  }

  /// Finishes the outputs and stays in the room. Waits if another thread is finishing them.
  /// - Throws: if an output could not be finished, or had failed before.
  func finish() throws {
    endRecording()
    unfinished.wait()
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// Ends the recording once. The first cause counts: the app, the room, or a full disk. `stop()` throws the failure.
  /// - Parameter isDue: evaluated under the lock that also marks the recording as over.
  /// - Returns: the result of `isDue`.
  @discardableResult private func endRecording(
    if isDue: (State) -> Bool = { _ in true }, for reason: (any Error)? = nil
  ) -> Bool {
    let ending: (isFirst: Bool, broadcasts: [Broadcast])? = state.withLock { state in
      guard isDue(state) else { return nil }
      defer { state.isOver = true }
      state.failure = state.failure ?? reason
      if !state.isOver { unfinished.enter() }
      return (!state.isOver, state.isOver ? [] : state.broadcasts)
    }
    guard let (isFirst, broadcasts) = ending else { return false }
    reconnected()
    for broadcast in broadcasts {
      do { try broadcast.stop() } catch { recordFailure(error) }
    }
    if isFirst { unfinished.leave() }
    letGo()
    return true
  }

  /// The session may be others' too, and go on.
  private func letGo() {
    let (observation, shown, heard) = state.withLock { state in
      defer { (state.observation, state.shown, state.heard) = (nil, [], []) }
      return (state.observation, state.shown, state.heard)
    }
    observation?.cancel()
    for id in shown { hide(id) }
    for id in heard { fallSilent(id) }
  }

  private func fail(_ error: any Error) {
    endRecording(for: error)
    onFailure()
  }

  private func recordFailure(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
  }

  // MARK: On the delivery queue

  private func interrupted() {
    state.withLock { $0.isInterrupted = !$0.isOver }
    let alarm = lane.post(at: lane.scheduler.now + patience) { [weak self] in self?.giveUp() }
    state.withLock { $0.resignation = alarm }
  }

  private func reconnected() {
    let alarm = state.withLock { state in
      defer { (state.isInterrupted, state.resignation) = (false, nil) }
      return state.resignation
    }
    alarm?.cancel()
  }

  /// On the lane.
  private func giveUp() {
    let seconds = Int(patience.inSeconds.rounded())
    let reason = Failure(.unreachable, "the room was lost, and could not be reached again within \(seconds) s")
    if endRecording(if: { $0.isInterrupted && !$0.isOver }, for: reason) { onFailure() }
  }

  private func handle(_ event: SessionEvent) {
    guard isRunning else { return }
    switch event {
    case .stateChanged(.reconnecting): interrupted()
    case .stateChanged(.connected): reconnected()
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      guard !owner.isLocal else { return }
      stream.kind.isAudio ? mix(stream) : show(stream, !stream.isMuted)
    case .streamRemoved(let stream, let owner):
      guard !owner.isLocal else { return }
      stream.kind.isAudio ? fallSilent(stream.id) : show(stream, false)
    case .dominantSpeakerChanged(let leader):
      state.withLock { $0.leader = leader }
      layOut()
    case .messageReceived(let message): if message.topic == Convention.pin { layOut() }
    case .stateChanged(.ended(let reason)):
      if reason == .lost { recordFailure(Failure(.unreachable, "the connection to the room was lost")) }
      endRecording()
    default: break
    }
  }

  private func mix(_ stream: Track) {
    let name = stream.id.description
    guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.soundInput(name) else { return }
    inlet.source = stream.id.participant
    state.withLock { $0.heard.append(stream.id) }
    session.attach(inlet as any AudioSink, to: stream.id)
  }

  private func fallSilent(_ id: Track.ID) {
    state.withLock { $0.heard.removeAll { $0 == id } }
    if let inlet = composition.soundInput(id.description) { session.detach(inlet as any AudioSink, from: id) }
    composition.remove(id.description)
  }

  private func hide(_ id: Track.ID) {
    if let inlet = composition.pictureInput(id.description) { session.detach(inlet as any VideoSink, from: id) }
    composition.remove(id.description)
  }

  private func show(_ stream: Track, _ isThere: Bool) {
    guard recordsVideo else { return }
    state.withLock { state in
      if !isThere {
        state.pictures.removeAll { $0.id == stream.id }
      } else if !state.pictures.contains(where: { $0.id == stream.id }) {
        state.pictures.append(stream)
      }
    }
    layOut()
  }

  /// Lays out the shown streams. Streams that are not shown are not decoded either.
  private func layOut() {
    let (pictures, leader, shown) = state.withLock { ($0.pictures, $0.leader, $0.shown) }
    let arrangement = RoomArrangement(
      of: pictures, by: rules, speaker: leader, pinned: pins.pinned, width: Double(composition.width),
      height: Double(composition.height))
    let new = arrangement.places.map(\.track.id)
    for id in shown where !new.contains(id) { hide(id) }
    for stream in arrangement.places.map(\.track) where !shown.contains(stream.id) {
      let (id, name) = (stream.id, stream.id.description)
      guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.pictureInput(name) else {
        continue
      }
      // A share is not kept in step with its owner's voice: it comes as it comes.
      if stream.kind == .camera { inlet.source = id.participant }
      session.attach(inlet as any VideoSink, to: id)
    }
    state.withLock { $0.shown = new }
    for place in arrangement.places {
      let (id, tile) = (place.track.id, place.tile)
      let name = id.description
      var slot = Slot(name, x: tile.x, y: tile.y, width: tile.width, height: tile.height)
      if showsNames { slot.label = session.participants.first { $0.id == id.participant }?.name }
      composition.change(name, to: slot)
    }
  }
}

/// A loudspeaker that plays nothing: the recorder receives each participant's audio separately.
private final class SilentSink: IntermittentSink, Sendable {
  let isListening = false
  func play(_ block: AudioBlock) {}
}
