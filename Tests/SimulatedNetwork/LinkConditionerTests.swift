import KoineBase
import KoineSimulatedNetwork
import Testing

/// One datagram's way through a link.
private struct Passage: Hashable {
  let number: Int
  let sent: Tick
  let arrived: Tick
  var delay: Duration { arrived - sent }
}

/// A link, and what came out of it so far.
private struct LinkRun {
  var link: LinkConditioner<Int>
  var passages: [Passage] = []
  private var sent: [Tick] = []
  static let start = Tick(nanoseconds: 5_000_000_000)

  init(_ text: String, seed: UInt64 = 1) throws {
    link = LinkConditioner(spec: try NetworkSpec(text), seed: seed, start: Self.start)
  }

  /// Sends `count` datagrams of `size` bytes, one every `interval`, taking out whatever arrives at its very time.
  mutating func send(_ count: Int, size: Int = 100, every interval: Duration, from first: Duration = .zero) {
    for index in 0..<count {
      let now = Self.start + first + interval * index
      take(until: now)
      link.push(Bytes([UInt8](repeating: 0x80, count: size)), tag: sent.count, at: now)
      sent.append(now)
    }
  }

  mutating func take(until limit: Tick = Tick(nanoseconds: .max)) {
    while let next = link.deadline, next <= limit {
      let early = link.pop(at: next - .nanoseconds(1))
      #expect(early == nil, "nothing arrives before the deadline")
      guard let (_, number) = link.pop(at: next) else {
        Issue.record("something arrives at the deadline")
        return
      }
      passages.append(Passage(number: number, sent: sent[number], arrived: next))
    }
  }

  static func all(_ text: String, seed: UInt64 = 1, count: Int, size: Int = 100, every interval: Duration) throws
    -> LinkRun
  {
    var run = try LinkRun(text, seed: seed)
    run.send(count, size: size, every: interval)
    run.take()
    return run
  }
}

struct LinkConditionerTests {
  @Test func perfectLinkDeliversAtOnceInOrder() throws {
    let run = try LinkRun.all("", count: 100, every: .zero)
    #expect(run.passages.map(\.number) == Array(0..<100))
    #expect(run.passages.allSatisfy { $0.delay == .zero })
    #expect(run.link.sent == 100)
    #expect(run.link.lost == 0)
    #expect(run.link.overflowed == 0)
  }

  @Test func linkDeliversDatagramsUnchanged() throws {
    var link = LinkConditioner<String>(spec: try NetworkSpec("delay=1ms"), seed: 1, start: .zero)
    link.push(Bytes([1, 2, 3]), tag: "a", at: .zero)
    let early = link.pop(at: .zero)
    #expect(early == nil)
    let arrived = link.pop(at: .zero + .milliseconds(1))
    #expect(arrived?.0.array == [1, 2, 3])
    #expect(arrived?.1 == "a")
    #expect(link.deadline == nil)
  }

  @Test(arguments: [0.0, 0.01, 0.05, 0.3, 1.0]) func lossRateIsAsSpecified(_ loss: Double) throws {
    let run = try LinkRun.all("loss=\(loss * 100)%", count: 20_000, every: .milliseconds(1))
    let lost = 1 - Double(run.passages.count) / 20_000
    // Five standard deviations of the binomial.
    #expect(abs(lost - loss) <= 5 * (loss * (1 - loss) / 20_000).squareRoot())
    #expect(run.link.lost == 20_000 - run.passages.count)
  }

  @Test func lossesAreIndependent() throws {
    let run = try LinkRun.all("loss=10%", count: 20_000, every: .milliseconds(1))
    let arrived = Set(run.passages.map(\.number))
    let pairs = (1..<20_000).count { !arrived.contains($0) && !arrived.contains($0 - 1) }
    #expect((120...290).contains(pairs), "two in a row as often as chance has it: 200 in 20,000, not \(pairs)")
  }

  @Test func delayAndJitterStayWithinTheirBounds() throws {
    let run = try LinkRun.all("delay=40ms,jitter=20ms", count: 5_000, every: .milliseconds(50))
    let delays = run.passages.map(\.delay)
    #expect(delays.count == 5_000)
    #expect(delays.allSatisfy { $0 >= .milliseconds(40) && $0 <= .milliseconds(60) })
    let mean = delays.reduce(.zero, +) / 5_000
    #expect(mean > .microseconds(49_500) && mean < .microseconds(50_500), "uniform")
    let least = try #require(delays.min())
    let most = try #require(delays.max())
    #expect(least < .microseconds(40_200) && most > .microseconds(59_800), "over the whole width")
  }

  @Test func linkWithoutJitterKeepsTheOrder() throws {
    let run = try LinkRun.all("delay=40ms,rate=1M", count: 1_000, every: .milliseconds(1))
    #expect(run.passages.map(\.number) == run.passages.map(\.number).sorted())
  }

  @Test func linkWithJitterReordersDatagrams() throws {
    let run = try LinkRun.all("jitter=20ms", count: 1_000, every: .milliseconds(5))
    #expect(run.passages.map(\.number) != Array(0..<1_000))
    #expect(run.passages.map(\.number).sorted() == Array(0..<1_000))
  }

  @Test func reorderingRateIsAsSpecified() throws {
    let run = try LinkRun.all("delay=5ms,reorder=10%", count: 10_000, every: .milliseconds(40))
    let held = run.passages.filter { $0.delay > .milliseconds(5) }
    #expect((850...1_150).contains(held.count))
    #expect(held.allSatisfy { $0.delay >= .milliseconds(15) && $0.delay <= .milliseconds(35) })
  }

  @Test func reorderedDatagramsAreOvertaken() throws {
    let run = try LinkRun.all("reorder=5%", count: 1_000, every: .milliseconds(1))
    let overtaken = zip(run.passages, run.passages.dropFirst()).count { $0.number > $1.number }
    #expect(overtaken > 20)
    #expect(Set(run.passages.map(\.number)).count == 1_000)
  }

  // MARK: Rate

  /// 1,000 bytes with their headers last 8 ms at 1 Mbit/s.
  @Test func rateLimitedLinkSpacesDatagrams() throws {
    let run = try LinkRun.all("rate=1M", count: 10, size: 972, every: .zero)
    #expect(run.passages.map(\.delay) == (1...10).map { .milliseconds(8 * $0) })
  }

  @Test func linkBelowItsRateQueuesNoDatagrams() throws {
    let run = try LinkRun.all("rate=1M", count: 100, size: 972, every: .milliseconds(8))
    #expect(run.passages.count == 100)
    #expect(run.passages.allSatisfy { $0.delay == .milliseconds(8) })
  }

  @Test func queueHolds300MillisecondsAndDropsTheNewestDatagrams() throws {
    let run = try LinkRun.all("rate=1M", count: 100, size: 972, every: .zero)
    // Those that begin to leave after 0, 8, …, 296 ms.
    #expect(run.passages.map(\.number) == Array(0..<38))
    #expect(run.link.overflowed == 62)
    #expect(run.link.lost == 0)
    #expect(run.link.sent == 100)
  }

  @Test func linkAboveItsRateDeliversAtItsRate() throws {
    let run = try LinkRun.all("rate=800k", count: 10_000, size: 972, every: .milliseconds(4))  // 2 Mbit/s
    let bits = Double(run.passages.count * 8_000)
    #expect(abs(bits / 40 - 800_000) < 10_000)
    let longest = try #require(run.passages.map(\.delay).max())
    #expect(longest > .milliseconds(290))
    #expect(longest <= .milliseconds(310))
  }

  @Test func emptiedQueueDelaysNoLaterDatagram() throws {
    var run = try LinkRun("rate=1M")
    run.send(38, size: 972, every: .zero)
    run.send(1, size: 972, every: .zero, from: .seconds(2))
    run.take()
    #expect(run.passages.last?.delay == .milliseconds(8))
  }

  /// The size of handshakes does not affect other datagrams: DTLS handshakes differ in length from run to run.
  @Test func handshakesOfAllSizesTakeTheSameTime() throws {
    func arrival(after size: Int) throws -> Tick? {
      var link = LinkConditioner<Int>(spec: try NetworkSpec("rate=1M"), seed: 1, start: .zero)
      link.push(Bytes([UInt8](repeating: 22, count: size)), tag: 0, at: .zero)
      link.push(Bytes([UInt8](repeating: 0x80, count: 100)), tag: 1, at: .zero)
      _ = link.pop(at: .zero + .seconds(1))
      return link.deadline
    }
    #expect(try arrival(after: 300) == arrival(after: 900))
    #expect(try arrival(after: 300) != nil)
  }

  // MARK: Over time

  @Test func laterConditionsApplyFromTheirStart() throws {
    let run = try LinkRun.all("delay=10ms;1s:loss=100%;2s:loss=0%,delay=30ms", count: 300, every: .milliseconds(10))
    #expect(run.passages.map(\.number) == Array(0..<100) + Array(200..<300))
    #expect(run.passages.prefix(100).allSatisfy { $0.delay == .milliseconds(10) })
    #expect(run.passages.suffix(100).allSatisfy { $0.delay == .milliseconds(30) })
  }

  // MARK: Seeds

  private static let rough = "loss=10%,delay=40ms,jitter=20ms,reorder=5%,rate=2M"

  private func rough(specSeed: Int, linkSeed: UInt64) throws -> [Passage] {
    try LinkRun.all("\(Self.rough),seed=\(specSeed)", seed: linkSeed, count: 2_000, every: .milliseconds(3)).passages
  }

  @Test func equalSeedsRepeatTheRun() throws {
    #expect(try rough(specSeed: 7, linkSeed: 3) == rough(specSeed: 7, linkSeed: 3))
  }

  @Test func differentSeedsGiveDifferentRuns() throws {
    let runs = try [(7, 3), (8, 3), (7, 4), (1, 0), (0, 1), (1, 1)].map { try rough(specSeed: $0.0, linkSeed: $0.1) }
    #expect(Set(runs).count == runs.count)
  }

  /// Whether a datagram is lost depends on its position alone, not on the other conditions of the specification.
  @Test func lostDatagramsDependOnTheSeedOnly() throws {
    let alone = try LinkRun.all("loss=10%", count: 2_000, every: .milliseconds(3)).passages.map(\.number)
    let more = try LinkRun.all("loss=10%,jitter=20ms,reorder=5%", count: 2_000, every: .milliseconds(3))
    #expect(Set(more.passages.map(\.number)) == Set(alone))
  }
}
