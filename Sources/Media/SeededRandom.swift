/// Randomness of one world: repeatable where time is virtual (xoshiro256**, seeded through SplitMix64), so that a failing run
/// repeats from its seed; the system's where calls are real, because credentials and keys come from here.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var s0, s1, s2, s3: UInt64
  /// Nothing is seeded: each number is the system's own, and says nothing of any other.
  private let isOfSystem: Bool

  /// Creates a generator. Equal seeds give equal sequences.
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
    isOfSystem = false
  }

  private init() {
    (s0, s1, s2, s3) = (0, 0, 0, 0)
    isOfSystem = true
  }

  /// The system's generator, for real calls. An observer of its numbers can predict neither the next nor the previous number.
  public static func system() -> SeededRandom { SeededRandom() }

  public mutating func next() -> UInt64 {
    if isOfSystem {
      var generator = SystemRandomNumberGenerator()
      return generator.next()
    }
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
  public mutating func fork() -> SeededRandom { isOfSystem ? self : SeededRandom(seed: next()) }

  /// A name that others may see, told by a generator of its own: it gives nothing of this one's state away.
  public mutating func makeID() -> String {
    var own = fork()
    return String(own.next(), radix: 36)
  }
}
