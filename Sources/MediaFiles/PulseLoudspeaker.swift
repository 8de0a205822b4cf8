import Dispatch
import Foundation
import Koine

/// A loudspeaker of PulseAudio, written by a thread of its own. A server that goes away is tried again each second; what
/// is not heard meanwhile is lost.
final class PulseLoudspeaker: AudioSink, Sendable {
  private let writer: Writer

  init(_ argument: String?) throws(DeviceError) {
    let place = PulsePlace(argument)
    let opened = Opened(stream: try PulseStream(place, .play))
    let writer = Writer(place)
    self.writer = writer
    let thread = Thread { writer.write(opened) }
    thread.name = "pulse:\(place.argument)"
    thread.start()
  }

  deinit { writer.stop() }

  func play(_ block: AudioBlock) { writer.write(block.with(channels: 2).samples) }

  /// Measured each second; before anything was played what such streams usually have.
  var playoutDelay: Duration { writer.delay }

  /// `@unchecked Sendable`: handed over once, to the thread that writes.
  private struct Opened: @unchecked Sendable { let stream: PulseStream }

  private final class Writer: Sendable {
    private struct State {
      var waiting: [[Int16]] = []
      var isOver = false
      var delay = Duration.milliseconds(60)
    }
    private let place: PulsePlace
    private let state = Lock(State())
    private let news = DispatchSemaphore(value: 0)

    init(_ place: PulsePlace) { self.place = place }

    var delay: Duration { state.withLock { $0.delay } }

    func stop() {
      state.withLock { $0.isOver = true }
      news.signal()
    }

    /// Sound that waits for more than 100 ms, because the device is slower than the clock, is cut back to 40 ms.
    func write(_ samples: [Int16]) {
      state.withLock { state in
        if state.waiting.count >= 10 { state.waiting.removeFirst(6) }
        state.waiting.append(samples)
      }
      news.signal()
    }

    func write(_ opened: Opened) {
      var stream: PulseStream? = opened.stream
      var count = 0
      while true {
        news.wait()
        let (samples, waiting, isOver) = state.withLock { state in
          (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.waiting.count, state.isOver)
        }
        if isOver { return }
        guard let samples else { continue }
        if let open = stream, open.write(samples) {
          count += 1
          guard count % 100 == 10, let latency = open.latency else { continue }
          state.withLock { $0.delay = latency + AudioBlock.duration * waiting }
        } else {
          stream = nil
          Thread.sleep(forTimeInterval: 1)
          stream = try? PulseStream(place, .play)
        }
      }
    }
  }
}
