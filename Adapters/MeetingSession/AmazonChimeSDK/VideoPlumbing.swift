import Foundation
import Koine

/// The sinks of a source: each object once, and none is called any more once its removal has returned.
final class Sinks: @unchecked Sendable {  // `sinks` is guarded; a frame is handed out under `turn`
  private let sinks = Lock<[any VideoSink]>([])
  private let turn = NSRecursiveLock()  // a sink may remove itself while it is handed a frame

  func add(_ sink: any VideoSink) {
    sinks.withLock { sinks in if !sinks.contains(where: { $0 === sink }) { sinks.append(sink) } }
  }

  func remove(_ sink: any VideoSink) {
    sinks.withLock { $0.removeAll { $0 === sink } }
    turn.withLock {}  // a frame on its way out has arrived
  }

  func hand(_ frame: VideoFrame) {
    turn.withLock {
      for sink in sinks.withLock({ $0 }) where sinks.withLock({ $0.contains { $0 === sink } }) {
        sink.onVideoFrameReceived(frame: frame)
      }
    }
  }
}

/// A source of the app's, or the camera, as the engine wants it. The source can be exchanged while it is published.
final class EngineSource: Koine.VideoSource, VideoSink, @unchecked Sendable {  // everything mutable is in `state`
  private struct State {
    var upstream: (any VideoSource)?
    var lane: Lane?
    var deliver: (@Sendable (Koine.VideoFrame) -> Void)?
    var last = Tick.zero
  }
  /// Nominal: frames say themselves what they are.
  let format = VideoFormat(width: 1_280, height: 720, framesPerSecond: 30)
  private let pool = FramePool()
  private let state: Lock<State>

  init(_ upstream: any VideoSource) { state = Lock(State(upstream: upstream)) }

  /// Another outlet of what `other` gives.
  init(following other: EngineSource) { state = Lock(State(upstream: other.state.withLock { $0.upstream })) }

  func start(on lane: Lane, deliver: @escaping @Sendable (Koine.VideoFrame) -> Void) {
    let upstream = state.withLock { state in
      state.lane = lane
      state.deliver = deliver
      return state.upstream
    }
    upstream?.addVideoSink(sink: self)
  }

  func stop() {
    let upstream = state.withLock { state in
      state.deliver = nil
      return state.upstream
    }
    upstream?.removeVideoSink(sink: self)
  }

  var hint: VideoContentHint { state.withLock { $0.upstream }?.videoContentHint ?? .none }

  func replace(_ source: any VideoSource) {
    let (old, runs) = state.withLock { state in
      defer { state.upstream = source }
      return (state.upstream, state.deliver != nil)
    }
    if old === source { return }
    old?.removeVideoSink(sink: self)
    if runs { source.addVideoSink(sink: self) }
  }

  /// Called on the source's thread. A frame's timestamp is kept if it is of the engine's clock, as after a video processor.
  func onVideoFrameReceived(frame: VideoFrame) {
    guard let (lane, deliver) = state.withLock({ state in state.lane.flatMap { l in state.deliver.map { (l, $0) } } })
    else { return }
    let now = lane.scheduler.now
    let told = Tick(nanoseconds: frame.timestampNs)
    let captured = state.withLock { state in
      let time = told <= now && now - told < .seconds(1) && told > state.last ? told : now
      state.last = max(state.last, time)
      return time
    }
    guard let picture = frame.engineFrame(captured: captured, pool: pool) else { return }
    lane.post { deliver(picture) }
  }
}
