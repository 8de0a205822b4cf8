/// Delivers video frames on a session's delivery queue. While the app is busy with one, only the newest waits. For authors of styles.
public final class LatestFrameSink: VideoSink, Sendable {
  private struct State {
    var waiting: VideoFrame?
    var isOpen = true
  }
  private let state = Lock(State())
  private let delivery: Delivery
  private let show: @Sendable (VideoFrame) -> Void

  /// Creates a sink that shows the latest frame.
  /// - Parameter show: called on `delivery`'s queue.
  public init(_ delivery: Delivery, show: @escaping @Sendable (VideoFrame) -> Void) {
    self.delivery = delivery
    self.show = show
  }

  public func render(_ frame: VideoFrame) {
    let isFirst = state.withLock { state in
      guard state.isOpen else { return false }
      defer { state.waiting = frame }
      return state.waiting == nil
    }
    guard isFirst else { return }
    delivery.deliver { [self] in
      let frame = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      if let frame { show(frame) }
    }
  }

  /// No frame follows, not even one that waits.
  public func close() { state.withLock { $0 = State(waiting: nil, isOpen: false) } }
}
