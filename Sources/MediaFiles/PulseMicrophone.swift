import Foundation
import Koine

/// A microphone of PulseAudio, read by a thread of its own while it runs. A server that goes away is tried again each
/// second.
final class PulseMicrophone: AudioSource, Sendable {
  let channels = 1
  /// It hears a room.
  var usualProcessing: AudioProcessing? { AudioProcessing() }
  private let place: PulsePlace
  private let run = Lock<Run?>(nil)

  /// - Throws: if the microphone cannot be opened now. It is closed again until `start`, so that no audio is recorded before a
  ///   receiver needs it.
  init(_ argument: String?) throws(DeviceError) {
    place = PulsePlace(argument)
    _ = try PulseStream(place, .record)
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    guard lane.scheduler.kind == .real else {
      throw DeviceError.invalid("pulse:\(place.argument)", reason: "a real device needs the real clock")
    }
    let opened = Opened(stream: try PulseStream(place, .record))
    let next = Run(place)
    run.withLock { run in
      run?.stop()
      run = next
    }
    let thread = Thread { next.read(opened, lane, deliver) }
    thread.name = "pulse:\(place.argument)"
    thread.start()
  }

  func stop() {
    run.withLock { run in
      run?.stop()
      run = nil
    }
  }

  /// `@unchecked Sendable`: handed over once, to the thread that reads.
  private struct Opened: @unchecked Sendable { let stream: PulseStream }

  private final class Run: Sendable {
    private let place: PulsePlace
    private let isOver = Lock(false)

    init(_ place: PulsePlace) { self.place = place }

    func stop() { isOver.withLock { $0 = true } }

    func read(_ opened: Opened, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void) {
      var stream: PulseStream? = opened.stream
      var clock = CaptureClock()
      var samples = [Int16](repeating: 0, count: AudioBlock.length)
      while !isOver.withLock({ $0 }) {
        guard let open = stream, open.read(into: &samples) else {
          stream = nil
          Thread.sleep(forTimeInterval: 1)
          stream = try? PulseStream(place, .record)
          continue
        }
        let age = (open.latency ?? .zero) + AudioBlock.duration
        var block = AudioBlock(captured: clock.stamp(measured: lane.scheduler.now - age))
        block.samples = samples
        lane.post { [self, block] in if !isOver.withLock({ $0 }) { deliver(block) } }
      }
    }
  }
}

/// Evenly spaced capture times for blocks with jittering measured times. A device's samples are evenly spaced, independent of thread
/// scheduling.
///
/// A clock that has drifted away by more than 40 ms is set right by whole packets of 20 ms, so that RTP timestamps keep
/// their grid.
struct CaptureClock {
  private static let packet = AudioBlock.duration * 2
  private var next: Tick?

  mutating func stamp(measured: Tick) -> Tick {
    var due = next ?? measured
    let drift = measured - due
    if drift > Self.packet * 2 || drift < Self.packet * -2 { due = due + Self.packet * Int(drift / Self.packet) }
    next = due + AudioBlock.duration
    return due
  }
}
