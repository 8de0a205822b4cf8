/// A rational time: `value` parts of a second, `timescale` to the second.
public struct CMTime: Sendable, Hashable, Comparable {
  public var value: Int64
  public var timescale: Int32

  public init(value: Int64, timescale: Int32) {
    self.value = value
    self.timescale = timescale
  }

  public init(seconds: Double, preferredTimescale: Int32) {
    let value = (seconds * Double(preferredTimescale)).rounded()
    guard let exact = Int64(exactly: value) else {
      self = .invalid
      return
    }
    self.init(value: exact, timescale: preferredTimescale)
  }

  public static let zero = CMTime(value: 0, timescale: 1)
  /// No time at all, as of a number of seconds that is none.
  public static let invalid = CMTime(value: 0, timescale: 0)

  public var isValid: Bool { timescale > 0 }

  public var seconds: Double { timescale == 0 ? .nan : Double(value) / Double(timescale) }

  /// One half is two quarters.
  public static func == (a: CMTime, b: CMTime) -> Bool { a.lowest == b.lowest }
  public static func < (a: CMTime, b: CMTime) -> Bool { a != b && a.seconds < b.seconds }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(lowest.value)
    hasher.combine(lowest.timescale)
  }

  /// The fraction in its lowest terms.
  private var lowest: (value: UInt64, timescale: UInt64, isNegative: Bool) {
    guard isValid else { return (0, 0, false) }
    let (value, timescale) = (value.magnitude, UInt64(timescale))
    var (a, b) = (value, timescale)
    while b != 0 { (a, b) = (b, a % b) }
    return (value / a, timescale / a, self.value < 0)
  }
}

public func CMTimeMake(value: Int64, timescale: Int32) -> CMTime { CMTime(value: value, timescale: timescale) }
public func CMTimeGetSeconds(_ time: CMTime) -> Double { time.seconds }
