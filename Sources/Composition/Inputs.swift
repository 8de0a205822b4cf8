public import Koine

/// Where one slot's pictures go in.
public protocol PictureInlet: VideoSink {
  /// Shows nothing until the next picture.
  func clear()
}

/// Where one slot's sound goes in.
public protocol SoundInlet: AudioSink {
  /// Forgets what waits.
  func clear()
}

/// Keeps the newest picture of a slot.
final class PictureInput: PictureInlet, Sendable {
  private let frame = Lock<VideoFrame?>(nil)
  var latest: VideoFrame? { frame.withLock { $0 } }
  func render(_ frame: VideoFrame) { self.frame.withLock { $0 = frame } }
  func clear() { frame.withLock { $0 = nil } }
}

/// Keeps a slot's sound until the mixer comes: blocks of 10 ms, mono. Source and mixer tick on their own, so a little is
/// kept in reserve; when more than five blocks wait, the oldest go.
final class SoundInput: SoundInlet, Sendable {
  private struct Waiting {
    var blocks: [[Int16]] = []
    var isPrimed = false
  }
  private static let most = 5, reserve = 2
  /// For so long sound is kept.
  static let wait = AudioBlock.duration * reserve
  private let waiting = Lock(Waiting())

  func play(_ block: AudioBlock) {
    let mono = block.channels == 1 ? block.samples : Self.mono(block)
    waiting.withLock { waiting in
      waiting.blocks.append(mono)
      if waiting.blocks.count > Self.most { waiting.blocks.removeFirst(waiting.blocks.count - Self.reserve) }
      if waiting.blocks.count >= Self.reserve { waiting.isPrimed = true }
    }
  }

  func clear() { waiting.withLock { $0 = Waiting() } }

  func add(to sums: inout [Int32], gain: Double) {
    let next = waiting.withLock { waiting -> [Int16]? in
      guard waiting.isPrimed, !waiting.blocks.isEmpty else {
        waiting.isPrimed = false
        return nil
      }
      return waiting.blocks.removeFirst()
    }
    guard let next, gain > 0 else { return }
    for (index, sample) in next.enumerated() where index < sums.count {
      sums[index] &+= gain == 1 ? Int32(sample) : Int32((Double(sample) * min(gain, 4)).rounded())
    }
  }

  private static func mono(_ block: AudioBlock) -> [Int16] {
    (0..<AudioBlock.length).map { index in
      let start = index * block.channels
      guard start + block.channels <= block.samples.count else { return 0 }
      let sum = block.samples[start..<start + block.channels].reduce(0) { $0 + Int($1) }
      return Int16(clamping: sum / max(block.channels, 1))
    }
  }
}
