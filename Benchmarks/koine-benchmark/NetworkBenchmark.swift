import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork

/// The first ten seconds of a native call over a bad network, with real codecs on a virtual clock: one participant is in the room with
/// camera and voice, the other one joins. Ten seeds of losses per network; what counts is the worst.
///
/// `KOINE_NETWORK` is a network instead of the usual ones, as `loss=10%,delay=50ms`; `KOINE_SEEDS` is the number of seeds.
/// `Benchmarks/network` measures the same with browsers.
struct NetworkBenchmark {
  private static let names = [
    "loss=5%,delay=30ms,jitter=20ms", "loss=5%,delay=60ms,jitter=40ms", "loss=20%,delay=25ms",
  ]

  func run() throws -> Report {
    let environment = ProcessInfo.processInfo.environment
    let seeds = UInt64(environment["KOINE_SEEDS"] ?? "") ?? 10
    var rows: [Row] = []
    for name in environment["KOINE_NETWORK"].map({ [$0] }) ?? Self.names {
      let isAim = name == Self.names[0]
      for isShared in [false, true] {
        let calls = try (1...seeds).map { try LossyCall(network: name, isShared: isShared, seed: $0).run() }
        for (seed, call) in zip(1..., calls) {
          FileHandle.standardError.write(Data("  \(name)\(isShared ? ", both" : "") seed \(seed): \(call)\n".utf8))
        }
        let path = "\(name) \(isShared ? "on both paths" : "on the receiver's path"): "
        func row(_ text: String, _ values: [Double], _ unit: String, aim: Double? = nil, atLeast: Double? = nil) {
          let worst = (atLeast == nil ? values.max() : values.min()) ?? .nan
          rows.append(
            Row(
              path + text + ", worst of \(seeds)", worst, unit, aim: isAim ? aim : nil, atLeast: isAim ? atLeast : nil))
        }
        row("first frame", calls.map(\.first), "ms after joining")
        row("frames that came", calls.map { $0.share * 100 }, "%", atLeast: 98)
        row("longest gap", calls.map(\.longestGap), "ms", aim: 300)
        row("correlation of speech", calls.map(\.correlation), "", atLeast: 0.95)
        row("concealed", calls.map { $0.concealed * 100 }, "%")
      }
    }
    return Report(
      benchmark: "network: the first 10 s of native calls, virtual time, 640x360@30 VP8 and Opus", rows: rows)
  }
}

/// What the joining participant got.
private struct Received: CustomStringConvertible {
  /// In milliseconds.
  var first = Double.nan, longestGap = Double.nan
  /// When the longest gap ended, in milliseconds after joining.
  var longestGapEnd = Double.nan
  /// Of the frames taken since the first one that came.
  var share = 0.0
  var correlation = 0.0
  var concealed = 0.0

  var description: String {
    String(
      format: "first %.0f ms, frames %.1f %%, longest gap %.0f ms at %.0f ms, correlation %.3f, concealed %.2f %%",
      first, share * 100,
      longestGap, longestGapEnd, correlation, concealed * 100)
  }
}

private final class LossyCall {
  private static let rate = 30
  private static let seconds = 10

  private let backend: EmbeddedBackend
  private let spec: NetworkSpec
  private let isShared: Bool
  private let world: World
  private let queue = DispatchQueue(label: "network")
  private let voice = Voice()
  private let watcher: Watcher

  /// - Parameter isShared: whether the network is on both participants' paths; else on the path of the joining one alone.
  init(network: String, isShared: Bool, seed: UInt64) throws {
    spec = try NetworkSpec(network + ",seed=\(seed)")
    self.isShared = isShared
    backend = EmbeddedBackend(virtual: seed, network: isShared ? spec : nil)
    world = World(backend: backend, delivery: Delivery(queue: queue), devices: DefaultDevices())
    watcher = Watcher(clock: backend.scheduler)
  }

  func run() throws -> Received {
    let ana = Session(JoinRequest(room: "r", participantID: "ana", name: "Ana"), in: world)
    try ana.publish(camera: Devices.camera("stamp:Ana,640x360@\(Self.rate)"))
    try ana.publish(microphone: voice)
    ana.join { _ in }
    run(3)
    if !isShared {
      backend.setNetwork(spec)
      backend.setNetwork(try NetworkSpec(""), of: "ana")
    }
    let ben = Session(JoinRequest(room: "r", participantID: "ben", name: "Ben"), in: world)
    ben.observe { [weak ben, watcher] event in
      guard case .streamAdded(let stream, let owner) = event, !owner.isLocal else { return }
      if stream.kind.isVideo {
        ben?.attach(watcher as any VideoSink, to: stream.id)
      } else {
        ben?.attach(watcher as any AudioSink, to: stream.id)
      }
    }
    let start = backend.scheduler.now
    ben.join { _ in }
    run(Self.seconds)
    let end = backend.scheduler.now
    let concealed = Lock(Double.nan)
    ben.statistics { report in
      concealed.withLock { $0 = report.streams.compactMap(\.audio).first?.concealedFraction ?? .nan }
    }
    for session in [ana, ben] { session.leave {} }
    run(2)
    var received = Received(concealed: concealed.withLock { $0 })
    let frames = watcher.frames.withLock { $0 }.filter { $0.at <= end }
    guard let first = frames.first, let last = frames.last else { return received }
    received.first = (first.at - start).inMilliseconds
    let times = frames.map(\.at) + [end]
    if let gap = zip(times, times.dropFirst()).max(by: { $0.1 - $0.0 < $1.1 - $1.0 }) {
      received.longestGap = (gap.1 - gap.0).inMilliseconds
      received.longestGapEnd = (gap.1 - start).inMilliseconds
    }
    received.share = Double(frames.count) / Double(last.number - first.number + 1)
    received.correlation = voice.correlation(with: watcher.heard.withLock { $0 })
    return received
  }

  private func run(_ seconds: Int) {
    world.run(for: .seconds(seconds)) { [queue] isDone in while !isDone() { queue.sync {} } }
  }
}

private final class Watcher: VideoSink, AudioSink, Sendable {
  let frames = Lock<[(at: Tick, number: Int)]>([])
  let heard = Lock<[Int16]>([])
  private let clock: Scheduler

  init(clock: Scheduler) { self.clock = clock }

  func render(_ frame: VideoFrame) {
    guard let stamp = StampReader.read(frame) else { return }
    frames.withLock { $0.append((clock.now, Int(stamp.number))) }
  }

  func play(_ block: AudioBlock) { heard.withLock { $0 += block.samples } }
}

/// Something like speech: a gliding voice in syllables, kept as it is sent.
private final class Voice: AudioSource, Sendable {
  let channels = 1
  private let sent = Lock<[Int16]>([])
  private let runs = Lock(false)

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    runs.withLock { $0 = true }
    tick(0, lane.scheduler.now, lane, deliver)
  }

  func stop() { runs.withLock { $0 = false } }

  private func tick(_ number: Int, _ due: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void) {
    lane.post(at: due) { [weak self] in
      guard let self, runs.withLock({ $0 }) else { return }
      var block = AudioBlock(captured: due)
      for index in 0..<AudioBlock.length {
        let time = Double(number * AudioBlock.length + index) / 48_000
        // The integral of 140 + 30 sin(2π · 0.7 t) Hz.
        let phase = 140 * time + 30 / (2 * .pi * 0.7) * (1 - cos(2 * .pi * 0.7 * time))
        let value = sin(2 * .pi * phase) + sin(4 * .pi * phase) / 2 + sin(8 * .pi * phase) / 4
        block.samples[index] = Int16(value * (0.15 + 0.85 * pow(sin(.pi * 3.1 * time), 2)) * 7_000)
      }
      sent.withLock { $0 += block.samples }
      deliver(block)
      tick(number + 1, due + AudioBlock.duration, lane, deliver)
    }
  }

  /// The mean over windows of 250 ms, from half a second after the first sound on, each at the delay that fits it best.
  func correlation(with heard: [Int16]) -> Double {
    let sent = sent.withLock { $0 }
    let length = 12_000
    guard let first = heard.firstIndex(where: { abs(Int($0)) > 500 }) else { return 0 }
    let starts = Array(stride(from: first + 24_000, to: heard.count - length, by: length))
    guard !starts.isEmpty else { return 0 }
    // What is heard first was said at some time before the participant joined or after: the first window is sought everywhere.
    var lag: Int?
    var sum = 0.0
    for start in starts {
      var best = (value: -1.0, lag: 0)
      // Near the lag of the window before; if that fits badly, everywhere, as the play-out delay may have jumped.
      let nearby = lag.map { stride(from: $0 - 960, to: $0 + 960, by: 4) }
      for lags in [nearby, stride(from: -start, to: sent.count - start - length, by: 8)] where best.value < 0.9 {
        for candidate in lags ?? stride(from: 0, to: 0, by: 1)
        where start + candidate >= 0 && start + candidate + length <= sent.count {
          let value = Self.correlation(heard, start, sent, start + candidate, length)
          if value > best.value { best = (value, candidate) }
        }
      }
      sum += best.value
      lag = best.lag
    }
    return sum / Double(starts.count)
  }

  private static func correlation(_ a: [Int16], _ aStart: Int, _ b: [Int16], _ bStart: Int, _ length: Int) -> Double {
    a.withUnsafeBufferPointer { a in
      b.withUnsafeBufferPointer { b in
        var (ab, aa, bb) = (0.0, 1.0, 1.0)
        for index in stride(from: 0, to: length, by: 32) {
          let (x, y) = (Double(a[aStart + index]), Double(b[bStart + index]))
          ab += x * y
          aa += x * x
          bb += y * y
        }
        return ab / (aa * bb).squareRoot()
      }
    }
  }
}
