import CrossVendorConventions
import Dispatch
public import Foundation
public import Koine
import KoineBase
@_exported public import struct KoineSignaling.RoomService

/// A service co-located with the router that records rooms when a participant requests it. A recording continues when the participant
/// that started it leaves. It ends when the last participant leaves, or when a participant stops it.
///
/// A `RoomService` with one of `names` forwards the requests. Requests and the recordings' states are messages of the room. With a
/// folder in `Rules`, recordings are written there: `<room>-<time>.webm`, and playlists as `<room>-<time>-hls/index.m3u8`. Without
/// one, each request names the destination; the requesting app then runs in this process.
public final class RecordingService: Sendable {
  /// The names under which participants address the service in a room.
  public static var names: [String] { Convention.recordingServices }
  /// The names without the one of live streams.
  public static var namesOfFiles: [String] { Convention.recordingServices.filter { $0 != Convention.livestream } }

  public struct Rules: Sendable {
    /// The folder of all recordings; nil: each request names its destination.
    public var folder: URL?
    /// Whether a request may name a server to which its room is streamed live (RTMP).
    public var sendsOn: Bool
    /// The servers that rooms may be sent on to; nil: any.
    public var hosts: LivestreamHosts?
    /// While the folder's file system has fewer bytes free, no recording starts and running recordings end.
    public var freeBytes = 0
    /// A further condition for recordings, for tests.
    var spaceIsLeft: @Sendable () -> Bool = { true }
    /// Most recordings that start in a room in a minute.
    public var startsPerMinute = Int.max
    /// Most recordings at a time. Each encodes one video and one audio stream; a room is decoded once for all of its recordings.
    public var limit: Int
    /// Settings of recordings, except the room and the number of shown participants, where a request chooses nothing else.
    public var look = RecordingRequest(room: "")
    /// The largest video that a request may choose, in pixels.
    public var pixelLimit = 1_920 * 1_080

    public init(folder: URL? = nil, sendsOn: Bool = true, limit: Int = .max) {
      (self.folder, self.sendsOn, self.limit) = (folder, sendsOn, limit)
    }
  }

  private struct Key: Hashable {
    let room, kind: String
  }

  private struct State {
    var underWay: [Key: RecordingJob] = [:]
    /// The recorder's sessions, by room.
    var sharedSessions: [String: SharedRecorderSession] = [:]
    var isClosed = false
    /// Starts of recordings in the last minute, by room.
    var starts: [String: [Tick]] = [:]
    /// The last failure of a live stream, by room.
    var failures: [String: Tick] = [:]
    /// Refused recordings of all rooms.
    var refusals = LogThrottle(interval: .seconds(60))
    /// Messages that wait for `queue`.
    var waiting = 0
    /// Jobs that have come back to this server while it completes their former parts.
    var continuations: [Key: RoomService.Message] = [:]
  }

  /// Most messages that wait for `queue` after `handleLater`. Further messages are dropped.
  static let waitingLimit = 1_024
  /// After a live stream has failed, the room's next one is refused for this long, because failures reveal which servers answer.
  static let pauseAfterFailure = Duration.seconds(10)

  private let rules: Rules
  private let world: @Sendable () -> World?
  private let credential: @Sendable (_ room: String) throws -> String
  private let say: @Sendable (RoomService.Answer) -> Void
  private let log: @Sendable (String) -> Void
  private let queue = DispatchQueue(label: "koine.recordings")
  private let state = Lock(State())

  /// - Parameters:
  ///   - world: returns the world in which the recorder joins rooms; nil once recording has ended.
  ///   - credential: returns a credential with which the recorder joins a room, hidden and receiving.
  ///   - say: called for each message of the service to a room, in order for each recording.
  ///   - log: called with a line of text when a recording starts, ends or fails.
  public init(
    _ rules: Rules, world: @escaping @Sendable () -> World?,
    credential: @escaping @Sendable (_ room: String) throws -> String,
    say: @escaping @Sendable (RoomService.Answer) -> Void, log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    (self.rules, self.world, self.credential, self.say, self.log) = (rules, world, credential, say, log)
  }

  /// Handles a participant's message on the service's own queue. For a network loop, which must not wait for the disk or the log.
  public func handleLater(_ message: RoomService.Message) {
    let isAccepted = state.withLock { state in
      // What a room's former home has not ended comes once for each room.
      guard state.waiting < Self.waitingLimit || message.continuing != nil else { return false }
      state.waiting += 1
      return true
    }
    guard isAccepted else { return }
    queue.async { [self] in
      state.withLock { $0.waiting -= 1 }
      handle(message)
    }
  }

  /// Another server of the cluster has the room from now on, and continues its recordings: this service leaves it and completes its
  /// files. Any thread may call it.
  public func roomMoved(_ room: String) {
    queue.async { [self] in
      let recordings = state.withLock { state in state.underWay.filter { $0.key.room == room } }
      for (_, recording) in recordings { recording.release() }
    }
  }

  /// Returns once all messages of `handleLater` have been handled; for tests.
  func settle() async { await withCheckedContinuation { done in queue.async { done.resume() } } }

  /// Handles a participant's message to the service. Any thread may call it. Accesses the disk and writes to the log.
  public func handle(_ message: RoomService.Message) {
    switch message.topic {
    case Convention.stop:
      let key = Key(room: message.room, kind: String(decoding: message.payload, as: UTF8.self))
      state.withLock { $0.underWay[key] }?.stop(for: message.sender)
    case let kind where Convention.recordingServices.contains(kind): start(kind, requestedBy: message)
    default: break
    }
  }

  private func start(_ kind: String, requestedBy message: RoomService.Message) {
    let room = message.room
    let key = Key(room: room, kind: kind)
    let isUnderWay = state.withLock { state in
      guard let recording = state.underWay[key] else { return false }
      if message.continuing != nil, recording.isReleased { state.continuations[key] = message }
      return true
    }
    guard !isUnderWay else { return }  // it is being made already
    // A service in the process of all nodes knows of each job whether it goes on.
    if message.continuing != nil, rules.folder == nil { return say(Self.end(of: kind, in: room)) }
    do {
      guard let wish = OutputRequest(message.payload) else { throw Refusal(reason: "the request cannot be parsed") }
      let places = try places(kind, wish, room, after: message.continuing)
      try spend(kind, in: room)
      var request = rules.look
      (request.room, request.people) = (room, wish.shownParticipants)
      wish.look.apply(to: &request)
      if let size = wish.look.size, size.width * size.height > rules.pixelLimit {
        throw Refusal(reason: "a video of \(size.width)×\(size.height) pixels is larger than permitted")
      }
      let sharedSession = try makeSharedSession(for: request)
      let recording = RecordingJob(
        message, request, to: places, knownAs: Self.name(of: places, kind, in: rules.folder), on: sharedSession,
        hasSpace: { [rules] in rules.hasSpace }, say: say, log: log
      ) { [weak self] hasFailed in self?.recordingEnded(key, hasFailed: hasFailed) }
      let obstacle: String? = state.withLock { state in
        if state.isClosed { return "recording has ended" }
        if state.underWay[key] != nil { return "it is being made already" }
        if state.underWay.count >= rules.limit {
          return "the limit of \(rules.limit) recordings at a time is reached"
        }
        state.underWay[key] = recording
        return nil
      }
      if let obstacle {
        sharedSession.leave()
        throw Refusal(reason: obstacle)
      }
      recording.start()
    } catch {
      if let count = countRefusal() {
        log("does not record \(LogText(room)): \(error)" + (count > 1 ? "; \(count) refusals within a minute" : ""))
      }
      let words = RecorderStatus(.failed)
      say(.init(Array(words.text.utf8), as: kind, to: message.sender, stands: false, in: room))
      if message.continuing != nil { say(Self.end(of: kind, in: room)) }  // else no report stands
    }
  }

  private static func end(of kind: String, in room: String) -> RoomService.Answer {
    .init(Array(RecorderStatus(.stopped).text.utf8), as: kind, stands: false, in: room)
  }

  /// - Returns: the number of refusals within a minute, if this one is to be logged.
  private func countRefusal() -> Int? {
    guard let now else { return 1 }
    return state.withLock { $0.refusals.countEvent(at: now) }
  }

  private var now: Tick? { world()?.backend.scheduler.now }

  /// Counts a starting recording. Refuses it if there are too many, or too little space.
  private func spend(_ kind: String, in room: String) throws {
    guard rules.hasSpace else { throw Refusal(reason: "fewer than \(rules.freeBytes) bytes are free") }
    guard let now else { return }
    try state.withLock { state in
      state.failures = state.failures.filter { now - $0.value < Self.pauseAfterFailure }
      if kind == Convention.livestream, state.failures[room] != nil {
        throw Refusal(reason: "a live stream of the room has just failed")
      }
      guard rules.startsPerMinute < .max else { return }
      state.starts = state.starts.compactMapValues { starts in
        let starts = starts.filter { now - $0 < .seconds(60) }
        return starts.isEmpty ? nil : starts
      }
      guard state.starts[room, default: []].count < rules.startsPerMinute else {
        throw Refusal(reason: "more than \(rules.startsPerMinute) recordings have begun in a minute")
      }
      state.starts[room, default: []].append(now)
    }
  }

  private func recordingEnded(_ key: Key, hasFailed: Bool) {
    let now = now
    let continuation = state.withLock { state in
      state.underWay[key] = nil
      if hasFailed, key.kind == Convention.livestream { state.failures[key.room] = now }
      return state.continuations.removeValue(forKey: key)
    }
    if let continuation { handleLater(continuation) }
  }

  /// Returns the recorder's session in the room, or creates one.
  private func makeSharedSession(for request: RecordingRequest) throws -> SharedRecorderSession {
    let room = request.room
    if let sharedSession = state.withLock({ $0.sharedSessions[room] }), sharedSession.share() { return sharedSession }
    guard let world = world() else { throw Refusal(reason: "recording has ended") }
    var request = request
    request.credential = try credential(room)
    let sharedSession = SharedRecorderSession(request, in: world) { [weak self] sharedSession in
      self?.state.withLock { if $0.sharedSessions[room] === sharedSession { $0.sharedSessions[room] = nil } }
    }
    state.withLock { $0.sharedSessions[room] = sharedSession }
    return sharedSession
  }

  /// Ends all recordings, and returns once their files are complete. No recording starts afterwards.
  public func close() async {
    let recordings = state.withLock { state in
      state.isClosed = true
      return Array(state.underWay.values)
    }
    for recording in recordings { await recording.close() }
    log("recordings closed: \(recordings.count)")
  }

  /// From now on, only the process's user can read the files that the process creates: other users must not read recordings.
  /// FFmpeg creates files by itself, so the process's file mode mask is set.
  public static func keepFilesPrivate() { umask(0o077) }

  // MARK: Places

  private struct Refusal: Error, CustomStringConvertible {
    let reason: String
    var description: String { reason }
  }

  /// - Parameter report: the last report on the part that another server of a cluster has made; nil: there is none.
  private func places(_ kind: String, _ wish: OutputRequest, _ room: String, after report: [UInt8]?) throws -> [URL] {
    if kind == Convention.livestream {
      let areTheirs = wish.destinations.allSatisfy {
        $0.scheme?.isEmpty == false && (rules.folder == nil || !$0.isFileURL)
      }
      guard rules.sendsOn, areTheirs, !wish.destinations.isEmpty else {
        throw Refusal(reason: "live streams to this destination are not permitted")
      }
      if let hosts = rules.hosts { for place in wish.destinations { try hosts.checkName(place) } }
      return wish.destinations
    }
    guard let folder = rules.folder else {
      guard !wish.destinations.isEmpty, wish.destinations.allSatisfy(\.isFileURL) else {
        throw Refusal(reason: "the request names no destination")
      }
      return wish.destinations
    }
    let former = report.flatMap { RecorderStatus(payload: $0) }?.destination ?? ""
    return [Self.place(kind, after: former, in: folder) ?? Self.place(kind, room, in: folder)]
  }

  /// The destination of an output as a room may learn it: without a folder of the service's own, and without the key of a live stream.
  /// - Parameter folder: the service's own folder; nil: it has none.
  public static func name(of places: [URL], _ kind: String, in folder: URL? = nil) -> String {
    guard kind != Convention.livestream, let place = places.first else { return "" }
    guard folder != nil else { return place.absoluteString }
    return place.pathComponents.suffix(kind == Convention.playlist ? 2 : 1).joined(separator: "/")
  }

  static func place(_ kind: String, _ room: String, in folder: URL) -> URL {
    let number = String(UInt32.random(in: .min ... .max), radix: 36)  // two rooms may have the same safe name
    return place(kind, named: "\(room.asFileName)-\(Int(Date().timeIntervalSince1970 * 1_000))-\(number)", in: folder)
  }

  private static func place(_ kind: String, named name: String, in folder: URL) -> URL {
    kind == Convention.recording
      ? folder.appendingPathComponent(name + ".webm")
      : folder.appendingPathComponent(name + "-hls").appendingPathComponent("index.m3u8")
  }

  /// The place of the part after the one with this name, as `name(of:_:in:)` gives it: `tea-1753795000000-x.webm` is followed by
  /// `tea-1753795000000-x-2.webm`, or by the next number that nothing in the folder has.
  /// - Returns: nil for a name that no service gives.
  static func place(_ kind: String, after name: String, in folder: URL) -> URL? {
    let file = name.split(separator: "/").first ?? ""
    guard let match = file.wholeMatch(of: /([^\/.]+-[0-9]{13,}-[0-9a-z]+?)(?:-([0-9]{1,4}))?(?:\.webm|-hls)/)
    else {
      return nil
    }
    let part = match.2.flatMap { Int($0) } ?? 1
    let places = (part + 1..<part + 1_000).lazy.map { place(kind, named: "\(match.1)-\($0)", in: folder) }
    return places.first { place in
      let taken =
        kind == Convention.playlist ? [place.deletingLastPathComponent().path] : [place.path, place.path + ".part"]
      return !taken.contains(where: FileManager.default.fileExists(atPath:))
    }
  }
}

extension RecordingService.Rules {
  /// Whether recordings may start and continue.
  fileprivate var hasSpace: Bool {
    guard spaceIsLeft() else { return false }
    guard let folder, freeBytes > 0 else { return true }
    var figures = statvfs()
    // The first recording creates the folder: until then its parent counts.
    guard statvfs(folder.path, &figures) == 0 || statvfs(folder.deletingLastPathComponent().path, &figures) == 0 else {
      return true
    }
    let (free, isHuge) = UInt64(figures.f_bavail).multipliedReportingOverflow(by: UInt64(figures.f_frsize))
    return isHuge || free >= UInt64(freeBytes)
  }
}

// MARK: - In this process

extension RecordingService {
  /// Whether a world's router, and with it the recording service, is in this process.
  public static func isInProcess(_ world: World) -> Bool { world.backend is any AttendedBackend }

  /// A name as one part of a path: letters, digits, `-` and `_` stay, others become `_`; at most 48 characters. Names of rooms and
  /// participants cannot lead out of a folder, and two names may become one.
  public static func fileName(for name: String) -> String { name.asFileName }

  /// Starts the recording service of a world with a router in this process, unless it has started before. The service lives as long as
  /// the backend.
  /// Without effect where the backend's router is elsewhere.
  public static func serve(_ world: World) {
    guard let backend = world.backend as? any AttendedBackend else { return }
    // In virtual time the world's run must wait for delivered events, so they use the world's queue. In real time a queue of the
    // service's own keeps a slow app from delaying a recording.
    let delivery =
      backend.scheduler.kind == .virtual ? world.delivery : Delivery(queue: DispatchQueue(label: "recordings"))
    let (stamps, effort) = (world.stamps, world.effort)
    backend.attend { [weak backend] in
      let desk = RecordingService(
        Rules(),
        world: { [weak backend] in
          backend.map { World(backend: $0.inside, delivery: delivery, stamps: stamps, effort: effort) }
        },
        credential: { try ComposingRecorder.pass(for: $0) },
        say: { [weak backend] in backend?.send($0) })
      return RoomService(names: names) { desk.handle($0) }
    }
  }
}

@available(*, deprecated, renamed: "RecordingService")
public typealias RecordingDesk = RecordingService
