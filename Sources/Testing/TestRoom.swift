import Dispatch
public import Koine
import KoineAVFoundation
public import KoineEmbeddedBackend
import KoineSimulatedNetwork
import KoineUIKit

/// A room of its own, with its own server, network and clock, for tests of an app's call code.
///
///     let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%")
///     let bea = try await room.join("Bea", camera: .stamp, microphone: .tone)
///     let stage = try IVSStage(token: room.credential(.stageStrategy, for: "Ana").token, strategy: app)
///     try stage.join()
///     await room.until { room.screen(app.view).shows("Bea") && room.speaker.hears("Bea") }
///
/// The call is real: the app connects to the same router as in production, over an encrypted transport. Rooms are
/// independent of each other, so tests may run in parallel. Members that are not bound to an actor may be called from any
/// thread.
public final class TestRoom: Sendable {
  /// The kind of clock that the room runs on.
  public enum Time: Sendable {
    /// The machine's own time.
    case real
    /// Time that moves only while `run`, `until` and `join` wait, as fast as everything can be worked through. All that is
    /// random follows from the seed.
    case virtual(seed: UInt64)
  }

  /// What becomes of pictures and sound on their way.
  public enum Media: Sendable {
    /// Media cross the network as stamps of a few bytes and arrive as they were sent, many times faster than encoded
    /// media: five frames and ten audio blocks of 10 ms a second. The default.
    case stamps
    /// Media are encoded and decoded with the least effort (`EncoderEffort.least`). For tests of media on an impaired
    /// network.
    case real
  }

  /// The room's name in all styles: room id, stage id, meeting id. No other room has it.
  public let id: String
  /// The embedded backend of the room.
  public let backend: EmbeddedBackend
  /// Whether media are encoded.
  public let media: Media
  /// When the room was made, on its clock.
  public let start: Tick
  package let scheduler: Scheduler
  let delivery: Delivery
  let stamps: StampedMedia?
  /// A world that belongs to no person. The room advances virtual time with it.
  let timekeeper: World
  let people: People
  let screens = Screens()
  let journal = EventJournal()
  private let surveyLog = CallSurveyLog()
  let transcriber = TestTranscriber()
  let transcripts: TranscriptionService?
  /// Holds virtual time while code waits for something outside of the room.
  package let timeHold = TimeHold()
  /// Parts of further modules that live as long as the room, such as its HTTP APIs.
  let parts = Lock<[ObjectIdentifier: any RoomPart]>([:])
  private let recorder: Recorder?
  /// Calls from threads of the app's own while time moves: they make the order of events depend on the machine.
  let strayCalls = StrayCalls()

  /// Creates a room.
  /// - Parameters:
  ///   - network: what each participant's link does to datagrams, each way, from the moment of joining:
  ///     `loss=2%,delay=40ms;10s:rate=300k`.
  ///   - order: `.shuffled(seed:)` permutes callbacks that the vendor documents no order for, to find apps that rely on
  ///     one.
  ///   - recordsTrace: fills `trace`.
  ///   - nodes: the room is in a cluster of so many servers, `n1`, `n2` and so on; people begin at different ones. nil: one server.
  /// - Throws: `NetworkSpecError` if `network` is invalid.
  public convenience init(
    clock: Time = .virtual(seed: 1), network: String? = nil, media: Media = .stamps, order: Delivery.Order = .usual,
    recordsTrace: Bool = false, nodes: Int? = nil
  ) async throws {
    try self.init(clock, network, media, order, recordsTrace, nodes)
  }

  /// Creates a room, from a synchronous test on the main thread.
  /// - Throws: `NetworkSpecError` if `network` is invalid.
  @available(*, noasync)
  public convenience init(
    clock: Time = .virtual(seed: 1), network: String? = nil, media: Media = .stamps, order: Delivery.Order = .usual,
    recordsTrace: Bool = false, nodes: Int? = nil
  ) throws {
    try self.init(clock, network, media, order, recordsTrace, nodes)
  }

  init(
    _ clock: Time, _ network: String?, _ media: Media, _ order: Delivery.Order, _ recordsTrace: Bool,
    _ nodes: Int? = nil
  ) throws {
    delivery = Delivery(queue: .main, order: order)
    let spec = try network.map { try NetworkSpec($0) }
    recorder = recordsTrace ? Recorder() : nil
    let trace = recorder.map { recorder in { @Sendable end, bytes in recorder.recordPlaintext(end, bytes) } }
    switch clock {
    case .real:
      backend = EmbeddedBackend(
        network: spec, trace: trace, malformedTokenRefusal: Self.malformedToken, nodes: nodes)
    case .virtual(let seed):
      backend = EmbeddedBackend(
        virtual: seed, network: spec, trace: trace, malformedTokenRefusal: Self.malformedToken, nodes: nodes)
    }
    self.media = media
    stamps = media == .stamps ? StampedMedia() : nil
    scheduler = backend.scheduler
    timekeeper = World(backend: backend, delivery: delivery, devices: DefaultDevices(), stamps: stamps, effort: .least)
    transcripts = TranscriptionService.serve(timekeeper, with: transcriber)
    start = scheduler.now
    id = RoomNumbers.next()
    people = People()
    recorder?.follow(scheduler)
    if scheduler.kind == .virtual {
      scheduler.observePosts { [strayCalls, delivery] in
        if !Delivery.isInInstant, !delivery.isCurrent { strayCalls.countCall() }
      }
    }
    TestDevices.register()
    RoomContext.install()
    Ears.open(room: id, clock: scheduler)
    FailureWatch.opened(self)
    World.register(room: id) { [weak self] participant in
      guard let self else { return nil }
      guard let participant else { return currentWorld ?? world(ofParticipant: "") }
      people.noteApp(of: participant)
      return world(ofParticipant: participant)
    }
  }

  /// An app without an id of this room is the person's that the room was entered as; nil outside of `enter`.
  private var currentWorld: World? {
    guard let current = World.current, current.backend === backend else { return nil }
    return current
  }

  /// The world of an app with an id that a back end has made: the one that the room was entered as, else one of the id's own.
  package func world(ofBackEndsParticipant id: Participant.ID?) -> World {
    let world = currentWorld ?? world(ofParticipant: id.map(People.id(of:)) ?? "")
    if let id, let person = world.participantID { people.note(backEndID: id, of: person) }
    return world
  }

  private static let malformedToken = """
    the credential is no token of any style; in a test room the style's credential is made by \
    room.credential(.callAgent, for: "Ana"), .stageStrategy, .meetingSession or .eventListener
    """

  deinit {
    endParts()
    World.unregister(room: id)
    Ears.close(room: id)
    TestDevices.forget(room: id)
    // A phone keeps its app, and the app's objects keep the world of the phone.
    for world in people.worlds { world.machine.phone.shutDown() }
    // This clock does not move any more: pending jobs, which may retain a world that retains the clock, are released.
    if scheduler.kind == .virtual { scheduler.finish() }
  }

  // MARK: Worlds

  /// The world of the named person's app. Its machine has a front camera (320×180), a back camera (320×240) and a screen (640×360)
  /// that show the person's stamp, a microphone that gives the person's tone, and a loudspeaker that `speaker` reads.
  /// Entry objects that are given the person's credential find the world by themselves.
  public func world(of name: String) -> World { world(ofParticipant: people.entry(named: name).id) }

  private func world(ofParticipant id: String) -> World {
    let number = self.id
    return people.world(of: id) { [self] person in
      let world = World(
        backend: backend, delivery: delivery,
        devices: DefaultDevices(
          camera: TestDevices.guarded(.camera, room: number, person: person.id, camera(for: person, .stamp)),
          microphone: TestDevices.guarded(
            .microphone, room: number, person: person.id, microphone(for: person, .tone)),
          backCamera: TestDevices.guarded(
            .camera, room: number, person: person.id, camera(for: person, .stamp(width: 320, height: 240))),
          loudspeaker: TestDevices.loudspeaker(room: number, person: person.id),
          screen: camera(for: person, .stamp(width: 640, height: 360))),
        stamps: stamps, effort: .least, journal: journal, surveys: surveyLog, participantID: person.id)
      // As on a telephone, what happens is posted whether or not the app has asked for anything before.
      _ = UIApplication.of(world.machine)
      _ = AVAudioSession.of(world.machine)
      AVCaptureDevice.announce(world.machine)
      world.machine.setInformation(.ofProcess)
      return world
    }
  }

  /// Runs `body` as the app of the person of this name: every object that it makes lives in this room, also one that
  /// needs no credential (a call client, a list of devices, a preview).
  ///
  /// The same holds for code that `body` puts on dispatch queues, for its tasks, and for the SDK's callbacks to its objects. It
  /// does not hold for threads, timers and detached tasks: enter the room there.
  /// - Throws: the error of `body`.
  public func enter<Value>(as name: String, _ body: () throws -> Value) rethrows -> Value {
    try World.$current.withValue(entered(as: name), operation: body)
  }

  /// Runs an asynchronous `body` as the app of the person of this name, as the synchronous `enter(as:_:)` does.
  /// - Throws: the error of `body`.
  nonisolated(nonsending) public func enter<Value>(
    as name: String, _ body: nonisolated(nonsending) () async throws -> Value
  ) async rethrows -> Value {
    try await World.$current.withValue(entered(as: name)) { try await body() }
  }

  func entered(as name: String) -> World {
    people.noteEntry(of: people.entry(named: name).id)
    return world(of: name)
  }

  // MARK: Devices, in words

  func camera(for person: People.Entry, _ camera: TestCamera) -> String {
    switch camera.kind {
    case .stamp(let width, let height):
      "stamp:\(person.label),\(width)x\(height)@\(media == .stamps ? 5 : 30)"
    case .device(let text): text
    }
  }

  func microphone(for person: People.Entry, _ microphone: TestMicrophone) -> String {
    switch microphone.kind {
    case .tone(let frequency):
      "\(media == .stamps ? TestDevices.sparseTone : "tone"):\(frequency.map { "\($0)" } ?? "\(person.tone)")"
    case .device(let text): text
    }
  }

  // MARK: Surveys

  /// The surveys that apps in the room have submitted, in the order of their submission, during a call or after it: the newest 1,000.
  public var surveys: [CallSurveyRecord] { surveyLog.records }

  // MARK: Audio and packet trace

  /// The audio that the loudspeakers of all apps in the room play.
  public var speaker: TestSpeaker { TestSpeaker(of: nil, in: self) }
  /// The audio that the loudspeaker of one person's app plays.
  public func speaker(of name: String) -> TestSpeaker { TestSpeaker(of: people.entry(named: name).id, in: self) }

  /// Every packet that was sent or received, before it was protected or after it was opened, in order. Empty unless the
  /// room records it.
  public var trace: [TraceEntry] { recorder?.entries ?? [] }
}

/// One packet in the plain.
public struct TraceEntry: Sendable, Hashable {
  /// The time at which the bytes were sent.
  public let time: Tick
  /// `router`, or a participant's id.
  public let end: String
  /// The bytes before encryption.
  public let bytes: [UInt8]
}

private final class Recorder: Sendable {
  private let state = Lock((clock: Scheduler?.none, entries: [TraceEntry]()))

  var entries: [TraceEntry] { state.withLock { $0.entries } }

  func follow(_ clock: Scheduler) { state.withLock { $0.clock = clock } }

  func recordPlaintext(_ end: String, _ bytes: UnsafeRawBufferPointer) {
    let time = state.withLock { $0.clock }?.now ?? .zero
    state.withLock { $0.entries.append(TraceEntry(time: time, end: end, bytes: Array(bytes))) }
  }
}

/// Ids of rooms, in the form of a UUID because some styles ask for one.
private enum RoomNumbers {
  private static let last = Lock<UInt64>(0)

  static func next() -> String {
    let number = last.withLock { last in
      last += 1
      return last
    }
    let digits = String(number, radix: 16)
    return "7e570000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
  }
}

/// A camera of a test.
public struct TestCamera: Sendable, Hashable {
  enum Kind: Hashable { case stamp(width: Int, height: Int), device(String) }
  let kind: Kind

  /// Frames of 320×180 pixels. Each is stamped with the person's name, the frame's number and the time of capture.
  public static let stamp = stamp(width: 320, height: 180)
  /// A camera that shows the person's stamp, in this size.
  public static func stamp(width: Int, height: Int) -> TestCamera {
    TestCamera(kind: .stamp(width: width, height: height))
  }
  /// In the words of `Devices.camera`.
  public static func device(_ text: String) -> TestCamera { TestCamera(kind: .device(text)) }
}

/// A microphone of a test.
public struct TestMicrophone: Sendable, Hashable {
  enum Kind: Hashable { case tone(Double?), device(String) }
  let kind: Kind

  /// A tone with a frequency that no other person in the room has by default.
  public static let tone = TestMicrophone(kind: .tone(nil))
  /// A microphone that gives a tone.
  /// - Parameter frequency: in Hz, 100...4000, at least 100 Hz from the tone of every other person.
  public static func tone(_ frequency: Double) -> TestMicrophone { TestMicrophone(kind: .tone(frequency)) }
  /// In the words of `Devices.microphone`.
  public static func device(_ text: String) -> TestMicrophone { TestMicrophone(kind: .device(text)) }
}
