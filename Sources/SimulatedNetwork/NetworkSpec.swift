import KoineBase

/// What a link does to datagrams, in one direction, and how that changes in time.
///
/// Written as `loss=5%,delay=40ms,jitter=20ms,reorder=1%,rate=800k,seed=7`, any subset; `SPEC;10s:SPEC` goes on with other
/// values from 10 s on. A later part changes what it names and keeps the rest.
public struct NetworkSpec: Sendable, Hashable, CustomStringConvertible {
  public struct Conditions: Sendable, Hashable {
    /// 0...1.
    public var loss = 0.0
    public var delay = Duration.zero
    /// Each datagram is delayed by a further uniform 0...jitter, and may overtake.
    public var jitter = Duration.zero
    /// 0...1: held back by 10...30 ms more.
    public var reorder = 0.0
    /// In bit/s: a drop-tail queue of 300 ms.
    public var rate: Int?

    public init() {}
  }

  /// In order of time; the first begins at zero.
  public let phases: [(start: Duration, conditions: Conditions)]
  public let seed: UInt64
  public let description: String

  public static func == (a: NetworkSpec, b: NetworkSpec) -> Bool { a.description == b.description }
  public func hash(into hasher: inout Hasher) { hasher.combine(description) }

  public init(_ text: String) throws(NetworkSpecError) {
    var phases: [(start: Duration, conditions: Conditions)] = []
    var conditions = Conditions()
    var seed: UInt64 = 1
    for (index, part) in text.split(separator: ";", omittingEmptySubsequences: false).enumerated() {
      var start = Duration.zero
      var words = part
      if index > 0 {
        guard let colon = part.firstIndex(of: ":"), let time = Self.duration(String(part[..<colon])) else {
          throw NetworkSpecError("'\(part)' should begin with its time, as in '10s:loss=0%'")
        }
        guard time >= phases.last?.start ?? .zero else {
          throw NetworkSpecError("'\(part)' is earlier than the part before it")
        }
        start = time
        words = part[part.index(after: colon)...]
      }
      for pair in words.split(separator: ",") { try Self.read(String(pair), into: &conditions, seed: &seed) }
      phases.append((start, conditions))
    }
    self.phases = phases
    self.seed = seed
    description = text
  }

  private static func read(_ pair: String, into conditions: inout Conditions, seed: inout UInt64)
    throws(NetworkSpecError)
  {
    let halves = pair.split(separator: "=", maxSplits: 1).map(String.init)
    guard halves.count == 2 else { throw NetworkSpecError("'\(pair)' is not name=value") }
    let value = halves[1]
    func need<T>(_ value: T?, _ form: String) throws(NetworkSpecError) -> T {
      guard let value else { throw NetworkSpecError("'\(pair)': expected \(form)") }
      return value
    }
    switch halves[0] {
    case "loss": conditions.loss = try need(fraction(value), "a percentage like 5%")
    case "reorder": conditions.reorder = try need(fraction(value), "a percentage like 1%")
    case "delay": conditions.delay = try need(duration(value), "a time like 40ms")
    case "jitter": conditions.jitter = try need(duration(value), "a time like 20ms")
    case "rate": conditions.rate = try need(rate(value), "a rate like 800k or 2M")
    case "seed": seed = try need(UInt64(value), "a number")
    default: throw NetworkSpecError("'\(halves[0])' is not one of loss, delay, jitter, reorder, rate, seed")
    }
  }

  private static func fraction(_ text: String) -> Double? {
    guard text.hasSuffix("%"), let percent = Double(text.dropLast()), (0...100).contains(percent) else { return nil }
    return percent / 100
  }

  private static func duration(_ text: String) -> Duration? {
    let (number, unit) = text.hasSuffix("ms") ? (text.dropLast(2), 0.001) : (text.dropLast(), 1.0)
    guard text.hasSuffix("s"), let value = Double(number), value >= 0, value * unit <= 86_400 else { return nil }
    return .nanoseconds(Int64((value * unit * 1e9).rounded()))
  }

  private static func rate(_ text: String) -> Int? {
    let factor = text.hasSuffix("k") ? 1e3 : text.hasSuffix("M") ? 1e6 : 1
    guard let value = Double(factor == 1 ? text[...] : text.dropLast()), value * factor >= 1_000, value * factor <= 1e12
    else {
      return nil
    }
    return Int((value * factor).rounded())
  }

  /// What holds at `time` after the start.
  public func conditions(at time: Duration) -> Conditions {
    phases.last { $0.start <= time }?.conditions ?? phases[0].conditions
  }
}

/// Why a network's text makes no sense.
public struct NetworkSpecError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}
