/// Repeatable randomness (xoshiro256**, seeded through SplitMix64), so that a failing run repeats from its seed.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var s0, s1, s2, s3: UInt64

  public init(seed: UInt64) {
    var state = seed
    func splitMix() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
    (s0, s1, s2, s3) = (splitMix(), splitMix(), splitMix(), splitMix())
  }

  /// A generator seeded by the system, for keys of real calls.
  public static func system() -> SeededRandom {
    var generator = SystemRandomNumberGenerator()
    return SeededRandom(seed: generator.next())
  }

  public mutating func next() -> UInt64 {
    func rotated(_ x: UInt64, _ k: UInt64) -> UInt64 { (x << k) | (x >> (64 - k)) }
    let result = rotated(s1 &* 5, 7) &* 9
    let t = s1 << 17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = rotated(s3, 45)
    return result
  }

  /// A generator of its own for one part, so that parts do not disturb each other's sequence.
  public mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }
}
