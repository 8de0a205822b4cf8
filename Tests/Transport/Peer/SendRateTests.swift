import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

@Suite struct SendRateTests {
  private let start = Tick(nanoseconds: 1_000_000_000)

  /// A rate whose first probe cluster is in progress. The first plan is made a second before.
  private func probing(at now: Tick) -> SendRate {
    var rate = SendRate(limits: .init())
    rate.want(10_000_000)
    rate.planProbe(at: now - .seconds(1))
    #expect(!rate.isProbing)
    rate.planProbe(at: now)
    #expect(rate.isProbing)
    return rate
  }

  /// Each packet delays the cluster's next one. The cluster ends at its own end time, not when its next packet is due.
  @Test func probeEndsThoughMediaIsSentFasterThanItsRate() {
    var rate = probing(at: start)
    for millisecond in 1...60 {
      let now = start + .milliseconds(millisecond)
      _ = rate.number(payloadSize: 1_200, at: now)
      let isDue = rate.isProbeDue(at: now)
      #expect(!isDue)
    }
    #expect(!rate.isProbing)
  }

  @Test func probeIsPlannedOnlyUpToTheWantedBitrate() {
    var rate = SendRate(limits: .init())
    #expect(!rate.wantsProbe)
    rate.want(2_000_000)
    #expect(rate.wantsProbe)
    rate = probing(at: start)
    #expect(!rate.wantsProbe)
    rate.abandonProbe()
    #expect(rate.wantsProbe)
    #expect(!rate.isProbing)
  }

  @Test func estimateIsReportedOnceUntilItChanges() {
    var rate = SendRate(limits: .init(minimum: 50_000, start: 1_500_000, maximum: 20_000_000))
    let first = rate.changedEstimate(at: start)
    #expect(first?.total == 1_500_000)
    #expect(first?.rest == first?.total)
    let same = rate.changedEstimate(at: start)
    #expect(same == nil)
    rate.handleRemoteEstimate(700_000, at: start)
    let lower = rate.changedEstimate(at: start)
    #expect(lower?.total == 700_000)
  }

  @Test func retransmissionsReduceTheBitrateForFrames() throws {
    var rate = SendRate(limits: .init(minimum: 50_000, start: 1_500_000, maximum: 20_000_000))
    for _ in 0..<30 { rate.retransmitted(payloadSize: 1_000, at: start) }
    let changed = rate.changedEstimate(at: start)
    let estimate = try #require(changed)
    #expect(estimate.rest == estimate.total - 240_000)
    for _ in 0..<1_000 { rate.retransmitted(payloadSize: 1_000, at: start) }
    let least = rate.changedEstimate(at: start)
    #expect(least?.rest == estimate.total / 2)
  }
}
