/// Brings pictures to a queue. While whoever takes them is busy, only the newest waits.
package final class NewestPicture: VideoSink, Sendable {
  private struct State {
    var waiting: VideoFrame?
    var isOpen = true
  }
  private let state = Lock(State())
  private let delivery: Delivery
  private let show: @Sendable (VideoFrame) -> Void

  /// - Parameter show: called on `delivery`'s queue.
  package init(_ delivery: Delivery, show: @escaping @Sendable (VideoFrame) -> Void) {
    self.delivery = delivery
    self.show = show
  }

  package func render(_ frame: VideoFrame) {
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

  /// Nothing is shown any more, nor what waits.
  package func close() { state.withLock { $0 = State(waiting: nil, isOpen: false) } }
}
