import KoineBase
import KoineTransport

@testable import KoineMediaEngine

/// Takes what a send pipeline makes and hands it to a receive pipeline, perhaps not all and not in time.
final class SimulatedWire: FrameOutput, Sendable {
  struct Impairment: Sendable {
    var loss = 0.0
    var delay = Duration.milliseconds(20)
    var jitter = Duration.zero
    /// Whether a frame waits for those before it, as the transport hands on video.
    var keepsOrder = false
  }

  private struct State {
    var random = SeededRandom(seed: 5); var sequence: Int64 = 0; var frames = 0; var bytes = 0; var keys = 0
    var last = Tick(nanoseconds: .min)
    var log: [(captured: Tick, isKey: Bool)] = []
  }
  private let state = Lock(State())
  private let lane: Lane
  private let trouble: Impairment
  private let deliver: @Sendable (EncodedFrame) -> Void

  init(
    _ scheduler: Scheduler, _ trouble: Impairment = Impairment(), deliver: @escaping @Sendable (EncodedFrame) -> Void
  ) {
    lane = scheduler.lane("wire")
    self.trouble = trouble
    self.deliver = deliver
  }

  var frames: Int { state.withLock { $0.frames } }
  var bytes: Int { state.withLock { $0.bytes } }
  var keys: Int { state.withLock { $0.keys } }
  /// The sent frames, in order.
  var log: [(captured: Tick, isKey: Bool)] { state.withLock { $0.log } }

  func send(_ frame: EncodedFrame) {
    let arrival = state.withLock { state -> (Tick, Int64)? in
      state.sequence += 1
      state.frames += 1
      state.bytes += frame.data.count
      if frame.isKey { state.keys += 1 }
      state.log.append((frame.captured, frame.isKey))
      let luck = Double.random(in: 0..<1, using: &state.random)
      let spread = Double.random(in: 0..<1, using: &state.random)
      guard luck >= trouble.loss else { return nil }
      let arrival = lane.scheduler.now + trouble.delay + trouble.jitter * spread
      state.last = max(state.last, arrival)
      return (trouble.keepsOrder ? state.last : arrival, state.sequence)
    }
    guard let (time, sequence) = arrival else { return }
    lane.post(at: time) { [self] in
      var arrived = frame
      arrived.sequence = sequence
      arrived.arrived = lane.scheduler.now
      deliver(arrived)
    }
  }
}
