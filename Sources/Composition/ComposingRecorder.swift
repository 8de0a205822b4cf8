public import Koine
import KoineMediaEngine
import KoineTokens

/// Records rooms by taking part in them unseen: decodes everybody, lays out, mixes, encodes, hands on.
///
///     RoomRecorders.use(ComposingRecorder())
///     let recording = try await RoomRecorders.record(RecordingRequest(room: "tea"), to: file, in: world)
///     try await recording.stop()
public struct ComposingRecorder: RoomRecorder {
  public init() {}

  public func record(_ request: RecordingRequest, to output: any BroadcastOutput, in world: World) async throws
    -> any RoomRecording
  {
    let room = ComposedRoom(request, in: world, credential: try request.credential ?? Self.pass(for: request.room))
    try await room.begin(output)
    return room
  }

  /// Rooms that believe anybody's word believe ours, too; elsewhere the request brings a credential.
  private static func pass(for room: String) throws -> String {
    let now = NumericDate.ofSystemClock()
    return try RoomPass(
      room: room, name: "recorder", rights: [.subscribe, .hidden], issued: now, expires: now + 10 * 365 * 86_400
    )
    .signed(with: SigningKey(generating: .p256))
  }
}

/// A room as an unseen participant composes it. What is seen follows on the delivery queue.
final class ComposedRoom: RoomRecording, Sendable {
  private struct State {
    /// In the order in which they came.
    var pictures: [Koine.Stream] = []
    var sounds: [Koine.Stream] = []
    var leader: Participant.ID?
    var broadcast: Broadcast?
    var isOver = false
    /// Why nothing more could be written, or the end of it not.
    var failure: (any Error)?
  }

  private let session: Session
  private let composition: Composition
  private let layout: RecordingRequest.Layout
  private let bitrate: Int
  private let state = Lock(State())

  init(_ request: RecordingRequest, in world: World, credential: String) {
    layout = request.layout
    bitrate = request.bitrate
    composition = Composition(
      width: request.width, height: request.height, framesPerSecond: request.framesPerSecond, in: world)
    session = Session(
      JoinRequest(room: request.room, credential: credential, name: "recorder"), in: world,
      options: SessionOptions(loudspeaker: Unheard()))
    session.observe { [weak self] event in self?.handle(event) }
  }

  func begin(_ output: any BroadcastOutput) async throws {
    do {
      try await session.join()
    } catch {
      try? output.close()
      throw error
    }
    do {
      let broadcast = try Broadcast(
        of: composition, to: output, bitrate: bitrate, onFailure: { [weak self] in self?.fail($0) })
      let isOver = state.withLock { state in
        state.broadcast = broadcast
        return state.isOver
      }
      if isOver { try broadcast.stop() }
    } catch {
      await session.leave()
      throw error
    }
  }

  var isRunning: Bool { state.withLock { !$0.isOver } }

  func stop() async throws {
    end()
    await session.leave()
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// Once, whoever says so first: the app, the room, or a disk that is full. What failed is told by `stop()`.
  private func end() {
    let broadcast = state.withLock { state in
      defer { state.isOver = true }
      return state.isOver ? nil : state.broadcast
    }
    do { try broadcast?.stop() } catch { note(error) }
  }

  private func fail(_ error: any Error) {
    note(error)
    end()
  }

  private func note(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
  }

  // MARK: On the delivery queue

  private func handle(_ event: SessionEvent) {
    switch event {
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      guard !owner.isLocal else { return }
      stream.kind.isAudio ? hear(stream) : show(stream, !stream.isMuted)
    case .streamRemoved(let stream, let owner):
      guard !owner.isLocal else { return }
      stream.kind.isAudio ? fallSilent(stream) : show(stream, false)
    case .dominantSpeakerChanged(let leader):
      state.withLock { $0.leader = leader }
      layOut()
    case .stateChanged(.ended): end()
    default: break
    }
  }

  private func hear(_ stream: Koine.Stream) {
    let name = stream.id.description
    guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.soundInput(name) else { return }
    state.withLock { $0.sounds.append(stream) }
    session.attach(inlet as any AudioSink, to: stream.id)
  }

  private func fallSilent(_ stream: Koine.Stream) {
    let name = stream.id.description
    if let inlet = composition.soundInput(name) { session.detach(inlet as any AudioSink, from: stream.id) }
    composition.remove(name)
    state.withLock { $0.sounds.removeAll { $0.id == stream.id } }
  }

  private func show(_ stream: Koine.Stream, _ isShown: Bool) {
    let name = stream.id.description
    if isShown {
      guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.pictureInput(name) else {
        return
      }
      state.withLock { $0.pictures.append(stream) }
      session.attach(inlet as any VideoSink, to: stream.id)
    } else {
      if let inlet = composition.pictureInput(name) { session.detach(inlet as any VideoSink, from: stream.id) }
      composition.remove(name)
      state.withLock { $0.pictures.removeAll { $0.id == stream.id } }
    }
    layOut()
  }

  private func layOut() {
    let (pictures, leader) = state.withLock { ($0.pictures, $0.leader) }
    let large =
      pictures.last { $0.kind == .screen }
      ?? (layout == .speaker ? pictures.first { $0.id.participant == leader } ?? pictures.first : nil)
    let places = Places(
      width: Double(composition.width), height: Double(composition.height), count: pictures.count,
      hasLarge: large != nil && pictures.count > 1)
    let ordered = (large.map { [$0] } ?? []) + pictures.filter { $0.id != large?.id }
    for (stream, place) in zip(ordered, places.all) {
      let name = stream.id.description
      composition.change(
        name, to: Slot(name, x: place.x, y: place.y, width: place.width, height: place.height))
    }
  }
}

/// A loudspeaker in a room where nobody is: the recorder hears everybody one by one.
private final class Unheard: IntermittentSink, Sendable {
  let isListening = false
  func play(_ block: AudioBlock) {}
}
