package import KoineBase
import KoineCodecs

/// The audio given to the loudspeaker in the last 640 ms: the reference for echo cancellers of microphones.
///
/// The mixer writes, any number of send pipelines read, each on its own lane. Blocks are found by their time, so that
/// neither side's jitter moves the echo against its reference. Nothing is allocated per block.
package final class EchoReference: Sendable {
  private struct Ring {
    var due = [Tick?](repeating: nil, count: EchoReference.blocks)
    var samples = [Int16](repeating: 0, count: EchoReference.blocks * AudioBlock.length)
    var next = 0
  }

  private static let blocks = 64
  private let ring = Lock(Ring())
  /// From when a block is played until it is heard.
  package let playoutDelay: Duration

  package init(playoutDelay: Duration) { self.playoutDelay = max(playoutDelay, .zero) }

  /// How far behind the microphone the reference is read. At least a block, because play-out of the same moment may run
  /// later than capture; two where the device's delay leaves room for that.
  private var lag: Duration { playoutDelay >= AudioBlock.duration * 2 ? AudioBlock.duration * 2 : AudioBlock.duration }

  /// The part of the echo's delay that remains between a block from `read` and the audio captured at the requested time.
  package var remainingDelay: Duration { max(playoutDelay - lag, .zero) }

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
    let latest = captured - lag
    let earliest = latest - AudioBlock.duration
    ring.withLock { ring in
      let place = ring.due.firstIndex { due in due.map { earliest < $0 && $0 <= latest } ?? false }
      let start = (place ?? 0) * AudioBlock.length
      for index in samples.indices { samples[index] = place == nil ? 0 : ring.samples[start + index] }
    }
  }
}
