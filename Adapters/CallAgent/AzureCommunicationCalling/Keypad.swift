import Foundation
import Koine

/// A telephone keypad: adds the two tones of each pressed key (ITU-T Q.23) to outgoing audio.
final class Keypad: Sendable {
  private struct Pressed {
    let low, high: Double
    /// In samples.
    var position = 0
  }

  private static let rows = [697.0, 770, 852, 941]
  private static let columns = [1209.0, 1336, 1477, 1633]
  /// Of each tone, in samples, and of the pause after it.
  private static let length = AudioBlock.sampleRate / 5
  private static let pause = AudioBlock.sampleRate / 12
  private static let amplitude = 6_000.0

  private let waiting = Lock<[Pressed]>([])

  /// The block with the next 10 ms of the tones of pressed keys.
  func addTones(to block: AudioBlock) -> AudioBlock {
    guard let tones = next() else { return block }
    return Self.mix(tones, into: block)
  }

  /// - Returns: whether the key has a sound.
  func press(_ tone: DtmfTone) -> Bool {
    guard let (row, column) = Self.place(of: tone) else { return false }
    waiting.withLock { $0.append(Pressed(low: Self.rows[row], high: Self.columns[column])) }
    return true
  }

  private static func place(of tone: DtmfTone) -> (row: Int, column: Int)? {
    switch tone {
    case .one, .two, .three: (0, tone.rawValue - 1)
    case .four, .five, .six: (1, tone.rawValue - 4)
    case .seven, .eight, .nine: (2, tone.rawValue - 7)
    case .star: (3, 0)
    case .zero: (3, 1)
    case .pound: (3, 2)
    case .a, .b, .c, .d: (tone.rawValue - DtmfTone.a.rawValue, 3)
    case .flash: nil
    }
  }

  /// The next ten milliseconds; nil when no key is pressed.
  private func next() -> [Double]? {
    waiting.withLock { waiting in
      guard var pressed = waiting.first else { return nil }
      let sound = (pressed.position..<pressed.position + AudioBlock.length).map { index -> Double in
        guard index < Self.length else { return 0 }
        let time = 2 * Double.pi * Double(index) / Double(AudioBlock.sampleRate)
        return Self.amplitude * (sin(pressed.low * time) + sin(pressed.high * time))
      }
      pressed.position += AudioBlock.length
      if pressed.position >= Self.length + Self.pause { waiting.removeFirst() } else { waiting[0] = pressed }
      return sound
    }
  }

  private static func mix(_ sound: [Double], into block: AudioBlock) -> AudioBlock {
    var block = block
    for index in block.samples.indices {
      let sum = Double(block.samples[index]) + sound[index / block.channels]
      block.samples[index] = Int16(max(-32_768, min(32_767, sum)))
    }
    return block
  }
}
