import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork

/// What a test of an app's call code asks of the engine: a minute of two people on a virtual clock, with loss, a gap of 25 s
/// and a return, everything but the codecs, as `TestRoom(network: "loss=2%", media: .stamps)` runs it.
struct StoryBenchmark {
  let rounds: Int

  func run() throws -> Report {
    var real: [Double] = []
    var cpu: [Double] = []
    var frames = 0
    let clock = ContinuousClock()
    for round in 0..<rounds {
      let (start, used) = (clock.now, CPU.process)
      frames = try story(seed: UInt64(round))
      real.append((clock.now - start).inSeconds)
      cpu.append(CPU.process - used)
    }
    let (middle, busy) = (real.sorted()[rounds / 2], cpu.sorted()[rounds / 2])
    return Report(
      benchmark: "story: a minute of two people in virtual time, with loss, a gap and a return; middle of \(rounds)",
      rows: [
        Row("pictures seen", Double(frames), "of about 350"),
        Row("time taken", middle * 1_000, "ms", aim: 300),
        Row("CPU time", busy * 1_000, "ms"),
        Row("virtual time per time taken", 60 / middle, "x"),
      ])
  }

  /// - Returns: how many pictures both have seen.
  private func story(seed: UInt64) throws -> Int {
    let queue = DispatchQueue(label: "story")
    let delivery = Delivery(queue: queue)
    let backend = EmbeddedBackend(virtual: seed, network: try NetworkSpec("loss=2%"))
    let stamps = StampedMedia()
    let watcher = FrameWatcher()
    let people = try ["Ana", "Bea"].map { name in
      let session = Session(
        JoinRequest(room: "tea", participantID: name, name: name),
        in: World(backend: backend, delivery: delivery, devices: DefaultDevices(), stamps: stamps))
      try session.publish(camera: Devices.camera("stamp:\(name),320x180@5"))
      try session.publish(microphone: SparseSound())
      session.observe { [weak session] event in
        guard case .streamAdded(let stream, let owner) = event, !owner.isLocal, stream.kind == .camera else { return }
        session?.attach(watcher as any VideoSink, to: stream.id)
      }
      session.join { _ in }
      return session
    }
    let timekeeper = World(backend: backend, delivery: delivery, devices: DefaultDevices())
    func run(_ seconds: Int) {
      timekeeper.run(for: .seconds(seconds)) { isDone in while !isDone() { queue.sync {} } }
    }
    run(10)
    backend.cutNetwork(of: "Bea", for: .seconds(25))
    run(25)
    let before = watcher.count.withLock { $0 }
    run(24)
    guard watcher.count.withLock({ $0 }) > before + 100 else {
      throw BenchmarkError("they do not see each other again")
    }
    for session in people { session.leave {} }
    run(1)
    return watcher.count.withLock { $0 }
  }
}

private final class FrameWatcher: VideoSink, Sendable {
  let count = Lock(0)
  func render(_ frame: VideoFrame) { count.withLock { $0 += 1 } }
}

/// Of ten blocks one, as microphones of test rooms without codecs.
private final class SparseSound: AudioSource, Sendable {
  let channels = 1
  private let runs = Lock(false)

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    runs.withLock { $0 = true }
    tick(lane.scheduler.now, lane, deliver)
  }

  func stop() { runs.withLock { $0 = false } }

  private func tick(_ due: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void) {
    lane.post(at: due) { [weak self] in
      guard let self, runs.withLock({ $0 }) else { return }
      var block = AudioBlock(captured: due)
      for index in block.samples.indices { block.samples[index] = index % 96 < 48 ? 4_000 : -4_000 }
      deliver(block)
      tick(due + .milliseconds(100), lane, deliver)
    }
  }
}
