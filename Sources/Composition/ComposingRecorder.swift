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
    do {
      try await room.session.join()
    } catch {
      try? output.close()
      throw error
    }
    do {
      try room.begin([output])
    } catch {
      await room.session.leave()
      throw error
    }
    return room
  }

  /// Rooms that believe anybody's word believe ours, too; elsewhere the request brings a credential.
  static func pass(for room: String) throws -> String {
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
    /// Of those, which are shown.
    var shown: [Koine.Stream.ID] = []
    var leader: Participant.ID?
    var broadcasts: [Broadcast] = []
    var isOver = false
    /// Why nothing more could be written, or the end of it not.
    var failure: (any Error)?
  }

  let session: Session
  private let composition: Composition
  private let layout: RecordingRequest.Layout
  private let people: Int
  private let bitrate: Int
  private let state = Lock(State())
  /// Called once, on a lane, when nothing more can be written.
  private let onFailure: @Sendable () -> Void

  init(
    _ request: RecordingRequest, in world: World, credential: String, onFailure: @escaping @Sendable () -> Void = {}
  ) {
    (layout, people, bitrate) = (request.layout, request.people ?? .max, request.bitrate)
    self.onFailure = onFailure
    composition = Composition(
      width: request.width, height: request.height, framesPerSecond: request.framesPerSecond, in: world)
    session = Session(
      JoinRequest(room: request.room, credential: credential, name: "recorder"), in: world,
      options: SessionOptions(loudspeaker: Unheard()))
    session.observe { [weak self] event in self?.handle(event) }
  }

  /// Once the room is entered.
  /// - Parameter onReadable: called at most once, on a lane, when others can open what the first output has taken.
  /// - Throws: when one of the outputs cannot be begun; none is then.
  func begin(_ outputs: [any BroadcastOutput], onReadable: (@Sendable () -> Void)? = nil) throws {
    var begun: [Broadcast] = []
    do {
      for output in outputs {
        begun.append(
          try Broadcast(
            of: composition, to: output, bitrate: bitrate, onReadable: begun.isEmpty ? onReadable : nil,
            onFailure: { [weak self] in self?.fail($0) }))
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

  func stop() async throws {
    end()
    await session.leave()
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// Finishes what is written, and stays in the room.
  /// - Throws: when it could not be finished, or had broken before.
  func finish() throws {
    end()
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// Once, whoever says so first: the app, the room, or a disk that is full. What failed is told by `stop()`.
  private func end() {
    let broadcasts = state.withLock { state in
      defer { state.isOver = true }
      return state.isOver ? [] : state.broadcasts
    }
    for broadcast in broadcasts {
      do { try broadcast.stop() } catch { note(error) }
    }
  }

  private func fail(_ error: any Error) {
    note(error)
    end()
    onFailure()
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
    case .stateChanged(.ended(let reason)):
      if reason == .lost { note(SessionError(.unreachable, "the connection to the room was lost")) }
      end()
    default: break
    }
  }

  private func hear(_ stream: Koine.Stream) {
    let name = stream.id.description
    guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.soundInput(name) else { return }
    inlet.source = stream.id.participant
    session.attach(inlet as any AudioSink, to: stream.id)
  }

  private func fallSilent(_ stream: Koine.Stream) {
    let name = stream.id.description
    if let inlet = composition.soundInput(name) { session.detach(inlet as any AudioSink, from: stream.id) }
    composition.remove(name)
  }

  private func show(_ stream: Koine.Stream, _ isThere: Bool) {
    state.withLock { state in
      if !isThere {
        state.pictures.removeAll { $0.id == stream.id }
      } else if !state.pictures.contains(where: { $0.id == stream.id }) {
        state.pictures.append(stream)
      }
    }
    layOut()
  }

  /// Those who are not shown are not decoded either.
  private func layOut() {
    let (pictures, leader, shown) = state.withLock { ($0.pictures, $0.leader, $0.shown) }
    let large =
      pictures.last { $0.kind == .screen }
      ?? (layout == .speaker ? pictures.first { $0.id.participant == leader } ?? pictures.first : nil)
    let ordered = ((large.map { [$0] } ?? []) + pictures.filter { $0.id != large?.id }).prefix(people)
    let new = ordered.map(\.id)
    for id in shown where !new.contains(id) {
      if let inlet = composition.pictureInput(id.description) { session.detach(inlet as any VideoSink, from: id) }
      composition.remove(id.description)
    }
    for stream in ordered where !shown.contains(stream.id) {
      let (id, name) = (stream.id, stream.id.description)
      guard composition.add(Slot(name, width: 0, height: 0)), let inlet = composition.pictureInput(name) else {
        continue
      }
      // A share is not kept in step with its owner's voice: it comes as it comes.
      if stream.kind == .camera { inlet.source = id.participant }
      session.attach(inlet as any VideoSink, to: id)
    }
    state.withLock { $0.shown = new }
    let places = Places(
      width: Double(composition.width), height: Double(composition.height), count: ordered.count,
      hasLarge: large != nil && ordered.count > 1)
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
