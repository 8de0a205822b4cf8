package import KoineBase
import KoineCodecs

/// The audio given to the loudspeaker in the last 640 ms: the reference for echo cancellers of microphones.
///
/// The mixer writes, any number of send pipelines read, each on its own lane. Blocks are found by their time, so that
/// neither side's jitter moves the echo against its reference. Nothing is allocated per block.
package final class EchoReference: Sendable {
  private struct Ring {
    /// From when a block is played until it is heard.
    var playoutDelay: Duration
    var due = [Tick?](repeating: nil, count: EchoReference.blocks)
    var samples = [Int16](repeating: 0, count: EchoReference.blocks * AudioBlock.length)
    var next = 0

    /// How far behind the microphone the reference is read. At least a block, because play-out of the same moment may run
    /// later than capture; two where the device's delay leaves room for that. Of a long delay, all but what the canceller is good
    /// at: it loses echoes that come 300 ms after their reference, even if it is told so.
    var lag: Duration {
      let shortest = playoutDelay >= AudioBlock.duration * 2 ? AudioBlock.duration * 2 : AudioBlock.duration
      return min(max(shortest, playoutDelay - .milliseconds(100)), AudioBlock.duration * (EchoReference.blocks - 4))
    }
  }

  private static let blocks = 64
  private let ring: Lock<Ring>

  package init(playoutDelay: Duration) { ring = Lock(Ring(playoutDelay: max(playoutDelay, .zero))) }

  /// The part of the echo's delay that remains between a block from `read` and the audio captured at the requested time.
  package var remainingDelay: Duration { ring.withLock { max($0.playoutDelay - $0.lag, .zero) } }

  /// Takes over the loudspeaker's present delay: a device knows it only once it plays, and another device has another one. A change
  /// of less than two blocks is ignored, because a device's figure varies with its buffer, and the canceller finds the rest itself.
  package func update(playoutDelay: Duration) {
    let playoutDelay = max(playoutDelay, .zero)
    ring.withLock { ring in
      let change = playoutDelay - ring.playoutDelay
      if max(change, .zero - change) >= AudioBlock.duration * 2 { ring.playoutDelay = playoutDelay }
    }
  }

  /// - Parameters:
  ///   - samples: 480, mono.
  ///   - due: when they were handed to the loudspeaker.
  package func write(_ samples: [Int16], due: Tick) {
    ring.withLock { ring in
      let start = ring.next * AudioBlock.length
      for index in 0..<min(samples.count, AudioBlock.length) { ring.samples[start + index] = samples[index] }
      ring.due[ring.next] = due
      ring.next = (ring.next + 1) % Self.blocks
    }
  }

  /// Fills `samples`, 480 of them, with what belongs to sound captured at `captured`: silence where nothing was played.
  package func read(into samples: inout [Int16], captured: Tick) {
    ring.withLock { ring in
      let latest = captured - ring.lag
      let earliest = latest - AudioBlock.duration
      let place = ring.due.firstIndex { due in due.map { earliest < $0 && $0 <= latest } ?? false }
      let start = (place ?? 0) * AudioBlock.length
      for index in samples.indices { samples[index] = place == nil ? 0 : ring.samples[start + index] }
    }
  }
}
