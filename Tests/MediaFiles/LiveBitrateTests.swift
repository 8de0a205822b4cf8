import Testing

@testable import KoineMediaFiles

/// The bitrate of a live stream, against a model of a server that takes so many bit/s.
struct LiveBitrateTests {
  /// A stream of 15 frames per second.
  private struct Stream {
    var bitrate: LiveBitrate
    var totals = LiveBitrate.Totals()
    var now = Duration.zero
    /// When the next frame is captured.
    var captured = Duration.zero
    /// In front of the server, in bits. 1,000,000 fit.
    var buffered = 0.0
    var rates: [Int] = []

    init(_ bitrate: Int, within limits: ClosedRange<Int>, increasesQuickly: Bool = false) {
      self.bitrate = LiveBitrate(bitrate, within: limits, increasesQuickly: increasesQuickly)
    }

    /// - Parameter capacity: of the server, in bit/s.
    mutating func run(_ duration: Duration, capacity: Double) {
      let end = captured + duration
      while captured < end {
        if now < captured { pass(captured - now, capacity) }
        let arrived = now
        let bits = Double(bitrate.bitrate) / 15
        // A frame that does not fit waits.
        let excess = max(0, buffered + bits - 1_000_000)
        let wait = Duration.seconds(excess / capacity)
        totals.waited += wait
        pass(wait, capacity)
        buffered += bits
        totals.bytes += Int(bits / 8)
        if bitrate.frameWritten(totals, waited: arrived - captured, at: now) { rates.append(bitrate.bitrate) }
        captured += .nanoseconds(1_000_000_000 / 15)
      }
    }

    private mutating func pass(_ duration: Duration, _ capacity: Double) {
      now += duration
      buffered = max(0, buffered - duration / .seconds(1) * capacity)
    }
  }

  @Test func bitrateFallsBelowWhatTheServerTakesAndKeepsUp() {
    var stream = Stream(2_000_000, within: 300_000...6_000_000)
    stream.run(.seconds(60), capacity: 800_000)
    #expect(stream.bitrate.bitrate < 1_000_000)
    #expect(stream.bitrate.bitrate >= 300_000)
    #expect(stream.now - stream.captured < .milliseconds(500), "\(stream.now - stream.captured)")
    stream.run(.seconds(600), capacity: 800_000)
    #expect(stream.now - stream.captured < .seconds(3))
    #expect((400_000..<1_000_000).contains(stream.bitrate.bitrate), "\(stream.bitrate.bitrate)")
  }

  @Test func bitrateStaysWithinItsLimits() {
    var stream = Stream(2_000_000, within: 300_000...6_000_000)
    stream.run(.seconds(60), capacity: 50_000)
    #expect(stream.bitrate.bitrate == 300_000)
    var free = Stream(2_000_000, within: 300_000...2_500_000, increasesQuickly: true)
    free.run(.seconds(60), capacity: 100_000_000)
    #expect(free.bitrate.bitrate == 2_500_000)
    #expect(LiveBitrate(1, within: 300_000...400_000, increasesQuickly: false).bitrate == 300_000)
  }

  @Test func quickIncreaseTakesTwoCalmSecondsAndTheOtherFive() {
    var (quick, slow) = (
      Stream(1_000_000, within: 300_000...6_000_000, increasesQuickly: true),
      Stream(1_000_000, within: 300_000...6_000_000)
    )
    quick.run(.seconds(12), capacity: 100_000_000)
    slow.run(.seconds(12), capacity: 100_000_000)
    #expect(quick.rates.prefix(2) == [1_200_000, 1_440_000])
    #expect(slow.rates == [1_080_000, 1_166_400])
    #expect(quick.rates.count == 5)
  }

  /// An encoder that is too slow for its machine is no reason for another bitrate.
  @Test func backlogWithoutWaitingChangesNothing() {
    var bitrate = LiveBitrate(1_000_000, within: 300_000...6_000_000, increasesQuickly: true)
    for frame in 0..<600 {
      let totals = LiveBitrate.Totals(bytes: frame * 8_000, waited: .milliseconds(frame))
      let hasChanged = bitrate.frameWritten(totals, waited: .seconds(2), at: .seconds(frame) / 15)
      #expect(!hasChanged)
    }
    #expect(bitrate.bitrate == 1_000_000)
  }
}
