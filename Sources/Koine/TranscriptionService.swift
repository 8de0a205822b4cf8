import Dispatch
@_exported public import struct KoineSignaling.RoomService

/// A service co-located with the router that transcribes rooms when a participant requests it. It joins a transcribed room as a hidden
/// participant that subscribes to the microphones, gives each participant's audio to a session of a `Transcriber`, and sends the results
/// to all participants. The transcription continues when the participant that started it leaves. It ends when the last participant
/// leaves, or when a participant stops it.
///
/// Rooms inside the process have the service once a program has called `Transcribers.use(_:)`. A server makes one:
///
///     let service = Lock<TranscriptionService?>(nil)
///     configuration.attendant = TranscriptionService.roomService { message in service.withLock { $0 }?.handle(message) }
///     let server = try await Server.start(configuration)
///     …TranscriptionService(MyRecogniser(), world: { world }, credential: { try server.pass(for: $0, name: "transcriber") },
///       say: { server.send($0) })
public final class TranscriptionService: Sendable {
  /// Limits of a service.
  public struct Rules: Sendable {
    /// Most rooms that are transcribed at a time, 1 or more.
    public var rooms: Int
    /// Most participants of a room that are transcribed at a time, those first that came first, 1 or more. Participants with a muted
    /// microphone do not count.
    public var participants: Int

    /// Creates limits.
    public init(rooms: Int = 100, participants: Int = 50) { (self.rooms, self.participants) = (rooms, participants) }
  }

  /// The names of the service in a room: for requests and the state, and for text.
  public static var names: [String] { [TranscriptMessages.service, TranscriptMessages.captions] }

  /// The service as the router knows it: every participant may write to it, and the service looks at the permission itself.
  /// - Parameter handle: called on the network loop for each message to the service; must return at once, as `handle(_:)` does.
  public static func roomService(_ handle: @escaping @Sendable (RoomService.Message) -> Void) -> RoomService {
    RoomService(names: names, openNames: [TranscriptMessages.service]) { message in
      if message.topic == TranscriptMessages.service { handle(message) }
    }
  }

  private struct State {
    /// By room.
    var jobs: [String: TranscriptionJob] = [:]
    /// Requests for rooms with a transcription that is stopping, in order.
    var postponed: [(room: String, work: @Sendable () -> Void)] = []
    var isClosed = false
    /// Messages that wait for the delivery queue.
    var waiting = 0
    var dropped = 0
  }

  /// Most messages that wait for the delivery queue, and most postponed requests. Further ones are dropped, and counted.
  static let waitingLimit = 1_024

  private let transcriber: any Transcriber
  private let rules: Rules
  private let world: @Sendable () -> World?
  private let credential: @Sendable (_ room: String) throws -> String
  private let say: @Sendable (RoomService.Answer) -> Void
  private let log: @Sendable (String) -> Void
  private let state = Lock(State())

  /// Creates a service.
  /// - Parameters:
  ///   - transcriber: the recogniser of all rooms.
  ///   - world: returns the world in which the service joins rooms; nil once it has ended. The service runs on the world's delivery
  ///     queue, which should be its own.
  ///   - credential: returns a credential with which the service joins a room, hidden and receiving.
  ///   - say: called for each message of the service to a room. Any thread may call it.
  ///   - log: called with a line of text when a transcription starts, ends or fails.
  public init(
    _ transcriber: any Transcriber, rules: Rules = Rules(), world: @escaping @Sendable () -> World?,
    credential: @escaping @Sendable (_ room: String) throws -> String,
    say: @escaping @Sendable (RoomService.Answer) -> Void, log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    (self.transcriber, self.rules, self.world) = (transcriber, rules, world)
    (self.credential, self.say, self.log) = (credential, say, log)
  }

  /// Starts the transcript service of a world with a router in this process, unless it has one already. The service lives as long as
  /// the backend. Without effect where the backend's router is elsewhere. Any thread may call it.
  /// - Returns: the service, if this call has started it.
  @discardableResult
  public static func serve(_ world: World, with transcriber: any Transcriber) -> TranscriptionService? {
    guard let backend = world.backend as? any AttendedBackend else { return nil }
    // In virtual time the world's run must wait for delivered events, so they use the world's queue. In real time a queue of the
    // service's own keeps a slow app from delaying transcripts.
    let delivery =
      backend.scheduler.kind == .virtual ? world.delivery : Delivery(queue: DispatchQueue(label: "koine.transcripts"))
    let (stamps, effort) = (world.stamps, world.effort)
    var made: TranscriptionService?
    backend.attend(as: "transcripts") { [weak backend] in
      let service = TranscriptionService(
        transcriber,
        world: { [weak backend] in
          backend.map {
            World(backend: $0.inside, delivery: delivery, devices: DefaultDevices(), stamps: stamps, effort: effort)
          }
        },
        credential: { [weak backend] in
          guard let backend else { throw Failure(.ended, "the room's backend has ended") }
          return try backend.hiddenCredential(for: $0, name: "transcriber")
        },
        say: { [weak backend] in backend?.send($0) })
      made = service
      return roomService { service.handle($0) }
    }
    return made
  }

  /// Handles a participant's message. Any thread may call it; it returns at once.
  public func handle(_ message: RoomService.Message) {
    guard message.topic == TranscriptMessages.service,
      let request = TranscriptMessages.decode(TranscriptionRequest.self, message.payload), request.id.utf8.count <= 64
    else { return }
    let (room, sender, mayRecord) = (message.room, message.sender, message.mayRecord)
    deliver { [self] world in
      carryOut(request, in: room, isPermitted: mayRecord, world) { [self] failure in
        answer(request.id, of: sender, in: room, failure)
      }
    }
  }

  /// Starts the transcription of a room, as an app's own back end does. It needs no participant's permission. Any thread may call it.
  /// - Parameters:
  ///   - language: the spoken language as a BCP 47 tag; nil: the transcriber's first language.
  ///   - region: the region in which the room is transcribed, in the words of the back end's vendor. Participants read it as
  ///     `RoomTranscription.region`. At most 256 bytes of UTF-8; the rest is cut off.
  ///   - completion: called once, on the service's delivery queue, as that of `Session.startTranscription`.
  public func start(
    _ room: String, language: String? = nil, region: String = "",
    completion: @escaping @Sendable (Result<Void, Failure>) -> Void
  ) {
    carryOut(.init(id: "", action: .start, language: language), in: room, region: region, completion)
  }

  /// Stops the transcription of a room, as an app's own back end does. Any thread may call it.
  /// - Parameter completion: called once, on the service's delivery queue, after the transcription's end.
  public func stop(_ room: String, completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    carryOut(.init(id: "", action: .stop), in: room, completion)
  }

  private func carryOut(
    _ request: TranscriptionRequest, in room: String, region: String = "",
    _ completion: @escaping @Sendable (Result<Void, Failure>) -> Void
  ) {
    let isAccepted = deliver { [self] world in
      carryOut(request, in: room, region: region, isPermitted: true, world) {
        completion($0.map { .failure($0) } ?? .success(()))
      }
    }
    if !isAccepted { completion(.failure(Failure(.tooMany, "the transcript service has ended, or is too busy"))) }
  }

  /// - Returns: false if the work is dropped.
  @discardableResult private func deliver(_ work: @escaping @Sendable (World) -> Void) -> Bool {
    guard let world = world() else { return false }
    let isAccepted = state.withLock { state in
      guard state.waiting < Self.waitingLimit else {
        state.dropped += 1
        return false
      }
      state.waiting += 1
      return true
    }
    guard isAccepted else { return false }
    world.delivery.deliver { [self] in
      state.withLock { $0.waiting -= 1 }
      work(world)
    }
    return true
  }

  /// Messages and requests that were dropped because too many waited.
  public var droppedMessages: Int { state.withLock { $0.dropped } }

  /// Ends all transcriptions, and returns once the transcriber has their ends. No transcription starts afterwards.
  public func close() async {
    let jobs = state.withLock { state in
      state.isClosed = true
      return Array(state.jobs.values)
    }
    for job in jobs { await job.close() }
  }

  // MARK: On the delivery queue

  private func carryOut(
    _ request: TranscriptionRequest, in room: String, region: String = "", isPermitted: Bool, _ world: World,
    _ answer: @escaping @Sendable (Failure?) -> Void
  ) {
    do throws(Failure) {
      guard request.action != .query else { return answer(nil) }
      guard isPermitted else { throw Failure(.forbidden, "not allowed to have the room transcribed") }
      let job = state.withLock { $0.jobs[room] }
      guard job?.isStopping != true else {
        return try postpone(room) { [self] in
          carryOut(request, in: room, region: region, isPermitted: true, world, answer)
        }
      }
      switch request.action {
      case .query: break
      case .start:
        let language = try language(named: request.language)
        if let job { return job.whenStarted(answer) }
        try start(room, language, region, in: world, answer)
      case .stop:
        guard let job else { return answer(nil) }
        job.stop(answer)
      case .language:
        let language = try language(named: request.language)
        guard let job else { throw Failure(.wrongState, "the room is not transcribed") }
        job.setLanguage(language)
        answer(nil)
      }
    } catch {
      answer(error)
    }
  }

  /// - Returns: the transcriber's own spelling of the language.
  private func language(named wish: String?) throws(Failure) -> String {
    let known = transcriber.languages
    guard let wish, !wish.isEmpty else { return known.first ?? "" }
    if let language = known.first(where: { $0.lowercased() == wish.lowercased() }) { return language }
    guard known.isEmpty, wish.utf8.count <= TranscriptMessages.tagLimit else {
      throw Failure(.unknownLanguage, "the transcriber does not know the language")
    }
    return wish
  }

  private func postpone(_ room: String, _ work: @escaping @Sendable () -> Void) throws(Failure) {
    let isKept = state.withLock { state in
      guard state.postponed.count < Self.waitingLimit else {
        state.dropped += 1
        return false
      }
      state.postponed.append((room, work))
      return true
    }
    if !isKept { throw Failure(.tooMany, "too many requests wait") }
  }

  private func start(
    _ room: String, _ language: String, _ region: String, in world: World,
    _ answer: @escaping @Sendable (Failure?) -> Void
  ) throws(Failure) {
    let count = state.withLock { $0.isClosed ? nil : $0.jobs.count }
    guard let count else { throw Failure(.ended, "the transcript service has ended") }
    guard count < rules.rooms else {
      throw Failure(.tooMany, "the limit of \(rules.rooms) transcribed rooms is reached")
    }
    let token: String
    do { token = try credential(room) } catch { throw Failure(.internal, "no credential: \(error)") }
    let job = TranscriptionJob(
      room, language: language, region: region, with: transcriber, limit: rules.participants, credential: token,
      in: world, say: say,
      log: log
    ) { [weak self] in self?.jobEnded(room) }
    state.withLock { $0.jobs[room] = job }
    job.start(answer)
  }

  private func jobEnded(_ room: String) {
    let postponed = state.withLock { state in
      state.jobs[room] = nil
      let postponed = state.postponed.filter { $0.room == room }.map(\.work)
      state.postponed.removeAll { $0.room == room }
      return postponed
    }
    for work in postponed { work() }
  }

  private func answer(_ id: String, of participant: Participant.ID, in room: String, _ failure: Failure?) {
    let present = state.withLock { $0.jobs[room] }?.transcription ?? .off
    let languages = transcriber.languages.filter { $0.utf8.count <= TranscriptMessages.tagLimit }
    let report = TranscriptionReport(
      present, id: id, languages: Array(languages.prefix(TranscriptMessages.languageLimit)), failure: failure)
    say(
      .init(
        TranscriptMessages.encode(report), as: TranscriptMessages.service, to: participant, stands: false, in: room))
  }
}
