import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

/// Malicious feedback of an admitted peer: its cost is bounded by the packets that were sent.
@Suite struct FeedbackFloodTests {
  private let now = Tick(nanoseconds: 1_000_000_000)

  private func estimator(sent count: Int) -> BandwidthEstimator {
    var estimator = BandwidthEstimator(limits: .init())
    for _ in 0..<count { _ = estimator.number(forPacketOf: 1_000, at: now) }
    return estimator
  }

  private func report(base: UInt16, _ deltas: [Int16?]) -> TransportFeedback {
    TransportFeedback(sender: 1, media: 2, base: base, referenceTime: 16, number: 1, deltas: deltas)
  }

  @Test func reportsOfUnsentPacketsAreRefused() {
    var estimator = estimator(sent: 100)
    let reports = [
      report(base: 1, Array(repeating: 1, count: 101)), report(base: 100, [1, 1]), report(base: 101, [1]),
      report(base: 1, Array(repeating: 1, count: 100)),
    ]
    #expect(reports.map { estimator.handle($0, at: now) } == [false, false, false, true])
  }

  @Test func repeatedReportsOfTheSamePacketsAreLimited() {
    var estimator = estimator(sent: 1_000)
    let taken = (0..<1_000).filter { _ in
      estimator.handle(report(base: 1, Array(repeating: nil, count: 1_000)), at: now)
    }
    #expect((1...40).contains(taken.count))
    for _ in 0..<1_000 { _ = estimator.number(forPacketOf: 1_000, at: now) }
    let isTaken = estimator.handle(report(base: 1_001, Array(repeating: 1, count: 1_000)), at: now)
    #expect(isTaken)
  }
}
