import Foundation
import KoineBase
import KoineCodecs

/// A sine of 4,096 steps to the turn: a debug build spends seconds on `sin` for every pixel.
private let wave: [Int] = (0..<4_096).map { Int((sin(2 * .pi * Double($0) / 4_096) * 1_000).rounded()) }

/// A picture that moves as a camera's does: a soft scene that pans, something sharp that crosses it, a little noise.
func scene(_ number: Int, width: Int, height: Int, framesPerSecond: Double = 30, pool: FramePool) -> VideoFrame {
  let captured = Tick(nanoseconds: Int64(Double(number) / framesPerSecond * 1e9))
  return pool.make(width: width, height: height, captured: captured) { planes in
    wave.withUnsafeBufferPointer { wave in
      let left = number &* 4 % max(width &- width / 8, 1)
      let right = left &+ width / 8
      let top = height / 3
      let bottom = height / 2
      var noise = UInt32(truncatingIfNeeded: number) &+ 1
      for y in 0..<height {
        let row = planes.y + y &* planes.lumaStride
        let vertical = wave[(y &* 21 &+ number &* 10) & 4_095]
        for x in 0..<width {
          noise = noise &* 1_664_525 &+ 1_013_904_223
          let soft = wave[(x &* 14 &+ number &* 21) & 4_095] &+ vertical &+ wave[(x &+ 2 &* y) &* 33 & 4_095]
          row[x] = UInt8(truncatingIfNeeded: 120 &+ soft / 36 &+ Int(noise >> 30))
          if y >= top && y < bottom && x >= left && x < right { row[x] = (x / 8 &+ y / 8) & 1 == 0 ? 40 : 210 }
        }
      }
      for y in 0..<planes.chromaHeight {
        let u = planes.u + y &* planes.chromaStride
        let v = planes.v + y &* planes.chromaStride
        for x in 0..<planes.chromaWidth {
          let soft = wave[(x &* 20 &+ number &* 10) & 4_095]
          u[x] = UInt8(truncatingIfNeeded: 128 &+ soft / 34)
          v[x] = UInt8(truncatingIfNeeded: 128 &- soft / 40 &+ wave[y &* 33 & 4_095] / 80)
        }
      }
    }
  }
}

/// A voice-like sound at 48 kHz: harmonics of a gliding pitch, with syllables.
func voice(samples: Int, channels: Int = 1) -> [Int16] {
  var phase = 0.0
  var sound: [Int16] = []
  sound.reserveCapacity(samples * channels)
  for n in 0..<samples {
    let time = Double(n) / 48_000
    phase += (140 + 30 * sin(2 * .pi * 0.7 * time)) / 48_000
    var value = 0.0
    for harmonic in 1...12 { value += sin(2 * .pi * phase * Double(harmonic)) / Double(harmonic) }
    let syllable = 0.15 + 0.85 * pow(sin(.pi * 3.1 * time), 2)
    let sample = Int16(value * syllable * 7_000)
    for _ in 0..<channels { sound.append(sample) }
  }
  return sound
}

func tone(_ hertz: Double, samples: Int, rate: Double = 48_000, amplitude: Double = 10_000) -> [Int16] {
  (0..<samples).map { Int16(amplitude * sin(2 * .pi * hertz * Double($0) / rate)) }
}

/// The correlation of two sounds over their common length, `b` taken from `delay` on.
func correlation(_ a: ArraySlice<Int16>, _ b: [Int16], delay: Int) -> Double {
  var ab = 0.0
  var aa = 0.0
  var bb = 0.0
  for (x, y) in zip(a, b.dropFirst(delay)) {
    ab += Double(x) * Double(y)
    aa += Double(x) * Double(x)
    bb += Double(y) * Double(y)
  }
  return ab / max((aa * bb).squareRoot(), 1)
}

/// The best correlation around the encoder's look-ahead of 6.5 ms (312 samples).
func alignedCorrelation(_ a: [Int16], _ b: [Int16]) -> Double {
  (300..<325).map { correlation(a[...], b, delay: $0) }.max() ?? 0
}

/// Decodes pictures in order and keeps the decoder.
final class Player {
  private var decoder: VideoDecoder
  let pool = FramePool()

  init(_ codec: Codec) throws { decoder = try VideoDecoder(codec) }

  func show(_ data: UnsafeRawBufferPointer, captured: Tick = .zero, quarterTurns: UInt8 = 0) throws -> VideoFrame? {
    try decoder.decode(data, captured: captured, quarterTurns: quarterTurns, pool: pool)
  }

  func show(_ picture: CodedPicture, of frame: VideoFrame) throws -> VideoFrame? {
    try show(picture.data.readable, captured: frame.captured)
  }
}
