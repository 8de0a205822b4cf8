import Dispatch
import Foundation
import Koine
import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import KoineTokens
import Testing

/// Bright and loud for 120 ms of each second, otherwise dark and silent.
private final class SyncTestSource: VideoSource, AudioSource, @unchecked Sendable {  // constant but for `run`
  let format = VideoFormat(width: 320, height: 180, framesPerSecond: 25)
  let channels = 1
  private let offset: Duration
  private let pool = FramePool(limit: 8)
  private let run = Lock(true)

  /// - Parameter offset: of the clap in each second of the clock.
  init(offset: Duration) { self.offset = offset }

  private func claps(_ at: Tick) -> Bool {
    let place = (at.nanoseconds - offset.nanoseconds) % 1_000_000_000
    return place >= 0 && place < 120_000_000
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    tick(.milliseconds(40), on: lane) { [self] now in
      deliver(
        pool.make(width: 320, height: 180, captured: now) { planes in
          let luma: UInt8 = claps(now) ? 220 : 40
          for index in 0..<planes.lumaStride * planes.height { planes.y[index] = luma }
          for index in 0..<planes.chromaStride * planes.chromaHeight { (planes.u[index], planes.v[index]) = (128, 128) }
        })
    }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    tick(AudioBlock.duration, on: lane) { [self] now in
      var block = AudioBlock(captured: now)
      if claps(now) { for index in block.samples.indices { block.samples[index] = index % 48 < 24 ? 8_000 : -8_000 } }
      deliver(block)
    }
  }

  func stop() { run.withLock { $0 = false } }

  /// At whole multiples of the interval.
  private func tick(_ interval: Duration, on lane: Lane, _ work: @escaping @Sendable (Tick) -> Void) {
    let now = lane.scheduler.now.nanoseconds
    let next = Tick(nanoseconds: (now / interval.nanoseconds + 1) * interval.nanoseconds)
    lane.post(at: next) { [weak self] in
      guard let self, run.withLock({ $0 }) else { return }
      work(next)
      tick(interval, on: lane, work)
    }
  }
}

private func outcome<Value: Sendable>(_ work: () async throws -> Value) async -> Result<Value, any Error> {
  do { return .success(try await work()) } catch { return .failure(error) }
}

/// Rooms recorded by a hidden participant. For one minute: `KOINE_ROUNDS=100 swift test --filter RecordingTests`.
@Suite struct RecordingTests {
  private static let seconds = ProcessInfo.processInfo.environment["KOINE_ROUNDS"] == nil ? 14 : 60

  private let backend = EmbeddedBackend(virtual: 1)
  private let world: World
  private let folder: Folder

  init() throws {
    world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    folder = try Folder()
    MediaFiles.register()
    RoomRecorders.use(ComposingRecorder())
  }

  private func enter(_ name: String) async throws -> Session {
    let session = Session(JoinRequest(room: "tea", participantID: name, name: name), in: world)
    session.join { _ in }
    #expect(await world.run(until: { session.state == .connected }, limit: .seconds(5)))
    return session
  }

  private func record(_ request: RecordingRequest) async throws -> any RoomRecording {
    let url = URL(fileURLWithPath: folder.file("room.webm"))
    let world = world
    return try await world.run { await outcome { try await RoomRecorders.record(request, to: url, in: world) } }.get()
  }

  /// Times in the file, in seconds, at which each clap is visible and audible.
  private func claps(in path: String, seconds: Double) throws -> (seen: [[Double]], heard: [Double]) {
    let scheduler = Scheduler.virtual()
    let start = scheduler.now
    let seen = Lock<[[Double]]>([[], [], [], []])
    let heard = Lock<[Double]>([])
    let camera = try Devices.camera("file:\(path)")
    let bright = Lock([false, false, false, false])
    try camera.start(on: scheduler.lane("pictures")) { frame in
      let lumas = frame.withPlanes { planes in
        (0..<4).map { quarter in
          let x = planes.width / 4 + (quarter % 2) * planes.width / 2
          let y = planes.height / 4 + (quarter / 2) * planes.height / 2
          return planes.y[y * planes.lumaStride + x]
        }
      }
      for (quarter, luma) in lumas.enumerated() {
        let isBright = luma > 130
        let wasBright = bright.withLock { bright in
          defer { bright[quarter] = isBright }
          return bright[quarter]
        }
        if isBright, !wasBright { seen.withLock { $0[quarter].append((frame.captured - start).inSeconds) } }
      }
    }
    let microphone = try Devices.microphone("file:\(path)")
    let lastLoud = Lock(-1.0)
    try microphone.start(on: scheduler.lane("sound")) { block in
      for (index, sample) in block.samples.enumerated() where abs(Int(sample)) > 2_500 {
        let at = (block.captured - start).inSeconds + Double(index / block.channels) / 48_000
        let isNew = lastLoud.withLock { last in
          defer { last = at }
          return at - last > 0.04
        }
        if isNew { heard.withLock { $0.append(at) } }
      }
    }
    scheduler.advance(to: start + .nanoseconds(Int64(seconds * 1e9)))
    camera.stop()
    microphone.stop()
    return (seen.withLock { $0 }, heard.withLock { $0 })
  }

  @Test func recordingOfFourParticipantsKeepsAudioAndVideoInSync() async throws {
    let people = ["ana", "ben", "cleo", "dan"]
    var sessions: [Session] = []
    var clappers: [SyncTestSource] = []
    for (index, name) in people.enumerated() {
      let session = try await enter(name)
      let clapper = SyncTestSource(offset: .milliseconds(240 * index))
      try session.publish(camera: clapper)
      try session.publish(microphone: clapper)
      sessions.append(session)
      clappers.append(clapper)
    }
    var request = RecordingRequest(room: "tea")
    (request.width, request.height, request.framesPerSecond) = (640, 360, 25)
    let recording = try await record(request)
    #expect(recording.isRunning && sessions.allSatisfy { $0.participants.count == 3 }, "nobody sees who records")

    // What a process leaves that is killed now: what has been written, and nothing of what it still holds.
    await world.run(for: .seconds(Self.seconds / 2))
    try FileManager.default.copyItem(atPath: folder.file("room.webm.part"), toPath: folder.file("killed.webm"))
    await world.run(for: .seconds(Self.seconds - Self.seconds / 2))
    try await world.run { await outcome { try await recording.stop() } }.get()
    #expect(!recording.isRunning)
    #expect(folder.names.contains("room.webm"))

    let last = try await lastFrameTime(of: "killed.webm")
    #expect(last > Double(Self.seconds / 2) - 2, "the last picture is at \(last) s")
    #expect(try await errors(in: "room.webm") == "")
    #expect(try await lastFrameTime(of: "room.webm") > Double(Self.seconds) - 0.5)
    let (seen, heard) = try claps(in: folder.file("room.webm"), seconds: Double(Self.seconds) - 0.3)
    // From the second second on, all participants are seen and heard, in sync.
    let differences = seen.joined().filter { $0 > 3 }.map { clap in
      (heard.map { clap - $0 }.min { abs($0) < abs($1) } ?? 9) * 1_000
    }.sorted()
    #expect(differences.count >= 4 * (Self.seconds - 5), "\(seen.map(\.count)) seen")
    let words: Comment = "pictures come later by \(differences.map { Int($0) }) ms"
    // Half the time between two pictures, and what Opus smears.
    #expect((differences.first ?? 99) >= -26 && (differences.last ?? 99) <= 26, words)
    print(words)
  }

  @Test func speakerLayoutRecordsScreenShareAndEndsWithTheRoom() async throws {
    let (ana, ben) = (try await enter("ana"), try await enter("ben"))
    try ana.publish(camera: Devices.camera("pattern:320x180@10"))
    try ben.publish(camera: Devices.camera("pattern:320x180@10"))
    var request = RecordingRequest(room: "tea")
    (request.width, request.height, request.framesPerSecond, request.layout) = (320, 180, 10, .speaker)
    let recording = try await record(request)
    await world.run(for: .seconds(1))
    let share = try ben.publish(camera: Devices.camera("pattern:320x180@10"), as: .screen)
    await world.run(for: .seconds(1))
    share.unpublish()
    ana.closeRoom()
    await world.run(for: .seconds(1))
    #expect(!recording.isRunning && folder.names == ["room.webm"], "it ends with the room")
    try await world.run { await outcome { try await recording.stop() } }.get()
    #expect(try await errors(in: "room.webm") == "")
  }

  /// After 15 s without packets the recorder treats the room as unreachable, and for 30 s more it reconnects.
  @Test(arguments: [20, 60]) func recorderReconnectsToLostRoomFor30Seconds(seconds: Int) async throws {
    let ana = try await enter("ana")
    try ana.publish(camera: Devices.camera("pattern:320x180@10"))
    var request = RecordingRequest(room: "tea")
    (request.width, request.height, request.framesPerSecond) = (320, 180, 10)
    let recording = try await record(request)
    await world.run(for: .seconds(1))
    #expect(recording.isRunning)
    #expect(!recording.isInterrupted)
    backend.cutNetwork(of: "recorder", for: .seconds(seconds))
    let isTold = await world.run(until: { recording.isInterrupted }, limit: .seconds(20))
    #expect(isTold)
    #expect(recording.isRunning)
    let lost = backend.scheduler.now
    _ = await world.run(until: { !recording.isInterrupted }, limit: .seconds(60))
    let waited = (backend.scheduler.now - lost).inSeconds
    let world = world
    let stop = { await world.run { await outcome { try await recording.stop() } } }
    if seconds == 20 {
      #expect(recording.isRunning && waited < 15, "back after \(waited) s")
      await world.run(for: .seconds(2))
      try await stop().get()
    } else {
      #expect(!recording.isRunning && (29.9...30.2).contains(waited), "given up after \(waited) s")
      #expect(folder.names == ["room.webm"], "what came before is a whole file")
      let error = await #expect(throws: Failure.self) { try await stop().get() }
      #expect(error?.code == .unreachable)
      #expect(error?.message.contains("within 30 s") == true)
    }
    #expect(try await errors(in: "room.webm") == "")
    #expect(try await lastFrameTime(of: "room.webm") > 16)
    ana.closeRoom()
    await world.run(for: .seconds(1))
  }

  @Test func expiredPassAndUnsupportedOutputThrow() async throws {
    let world = world
    await #expect(throws: Failure.self) {
      let now = NumericDate.ofSystemClock()
      let pass = KoineToken(rights: [.subscribe, .hidden], issued: now + -900, expires: now + -600)
      let credential = try pass.signed(with: SigningKey(generating: .p256))
      _ = try await record(RecordingRequest(room: "tea", credential: credential))
    }
    #expect(folder.names.isEmpty)
    await #expect(throws: BroadcastOutputError.self) {
      _ = try await RoomRecorders.record(
        RecordingRequest(room: "tea"), to: URL(fileURLWithPath: folder.file("x.unknown")), in: world)
    }
  }

  /// A disk that is full from the hundredth frame on.
  private final class FullDisk: BroadcastOutput, Sendable {
    struct IsFull: Error {}
    private let state = Lock((frames: 0, tell: nil as (@Sendable (any Error) -> Void)?))

    func receive(_ frame: EncodedFrame) {
      let tell = state.withLock { state in
        state.frames += 1
        return state.frames == 100 ? state.tell : nil
      }
      tell?(IsFull())
    }

    func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) { state.withLock { $0.tell = handler } }
    func close() throws { throw IsFull() }
  }

  @Test func stopThrowsTheWriteError() async throws {
    let (world, disk) = (world, FullDisk())
    let ana = try await enter("ana")
    try ana.publish(camera: Devices.camera("pattern:320x180@10"))
    let recording = try await world.run {
      await outcome { try await ComposingRecorder().record(RecordingRequest(room: "tea"), to: disk, in: world) }
    }.get()
    #expect(recording.isRunning)
    await world.run(for: .seconds(3))
    #expect(!recording.isRunning, "nothing more can be written")
    await #expect(throws: FullDisk.IsFull.self) {
      try await world.run { await outcome { try await recording.stop() } }.get()
    }
    ana.closeRoom()
    await world.run(for: .seconds(1))
  }

  /// The write fails on the writing thread, and finishing the file waits for that thread.
  @Test func unwritableFileEndsTheRecording() async throws {
    let ana = try await enter("ana")
    try ana.publish(camera: Devices.camera("pattern:320x180@10"))
    try FileManager.default.createDirectory(atPath: folder.file("room.webm.part"), withIntermediateDirectories: true)
    let recording = try await record(RecordingRequest(room: "tea"))
    let isOver = await world.run(until: { !recording.isRunning }, limit: .seconds(30))
    #expect(isOver)
    let world = world
    await #expect(throws: RecordingError.self) {
      try await world.run { await outcome { try await recording.stop() } }.get()
    }
  }

  private func lastFrameTime(of name: String) async throws -> Double {
    let text = try await Command(
      "ffprobe", "-v", "quiet", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
      folder.file(name)
    ).run()
    return text.split(whereSeparator: { $0 == "\n" || $0 == "," }).compactMap { Double($0) }.max() ?? 0
  }

  /// Errors of ffmpeg while it decodes the whole file.
  private func errors(in name: String) async throws -> String {
    try await Command("sh", "-c", "ffmpeg -v error -i \(folder.file(name)) -f null - 2>&1").run()
  }
}
