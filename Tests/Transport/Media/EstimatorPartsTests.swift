import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

private func tick(_ milliseconds: Int) -> Tick { Tick(nanoseconds: Int64(milliseconds) * 1_000_000) }
private func nanoseconds(_ milliseconds: Int) -> Int64 { Int64(milliseconds) * 1_000_000 }

struct QueueDelayEstimatorTests {
  @Test func jitterIsNotMeasuredAsQueueDelay() {
    var meter = QueueDelayEstimator()
    var random = SeededRandom(seed: 1)
    for time in stride(from: 0, to: 3_000, by: 5) {
      meter.add(arrival: nanoseconds(time), delay: nanoseconds(100 + Int.random(in: 0...30, using: &random)))
    }
    #expect(meter.delay < .milliseconds(8))
  }

  @Test func queueDelayIsMeasuredForAnyClockOffset() {
    for offset in [0, 1 << 40, -(1 << 40)] {
      var meter = QueueDelayEstimator()
      for time in stride(from: 0, to: 1_000, by: 10) {
        meter.add(arrival: nanoseconds(time), delay: nanoseconds(20 + offset))
      }
      for time in stride(from: 1_000, to: 1_300, by: 10) {
        meter.add(arrival: nanoseconds(time), delay: nanoseconds(90 + offset))
      }
      #expect(meter.delay == .milliseconds(70))
      meter.rebase()
      #expect(meter.delay == .zero)
    }
  }

  @Test func extremeArrivalTimesNeverTrap() {
    var meter = QueueDelayEstimator()
    var delivery = AcknowledgedBitrateEstimator()
    for value in [0, Int64.max, .min, -1, 1, .max, .min + 1, 1 << 62, -(1 << 62)] {
      meter.add(arrival: value, delay: value)
      delivery.add(1_200, arrival: value)
      _ = (meter.delay, delivery.bitrate(over: .milliseconds(160)))
    }
  }
}

struct AcknowledgedBitrateEstimatorTests {
  @Test func bitrateIsReportedOnceTheWindowIsCovered() throws {
    var meter = AcknowledgedBitrateEstimator()
    for time in stride(from: 0, to: 100, by: 10) { meter.add(1_000, arrival: nanoseconds(time)) }
    #expect(meter.bitrate(over: .milliseconds(400)) == nil)
    for time in stride(from: 100, to: 1_000, by: 10) { meter.add(1_000, arrival: nanoseconds(time)) }
    #expect(abs(try #require(meter.bitrate(over: .milliseconds(400))) - 800_000) < 25_000)
  }

  @Test func packetsOfABurstAllCount() throws {
    var meter = AcknowledgedBitrateEstimator()
    for time in stride(from: 0, to: 1_000, by: 10) {
      for _ in 0..<16 { meter.add(100, arrival: nanoseconds(time)) }
    }
    #expect(abs(try #require(meter.bitrate(over: .milliseconds(400))) - 1_280_000) < 40_000)
  }
}

struct LossBasedEstimatorTests {
  /// Feeds windows of packets with this fraction lost.
  private func run(_ ceiling: inout LossBasedEstimator, loss: (Double) -> Double, windows: Int, estimate: Double = 1e6)
  {
    for window in 0..<windows {
      let lost = Int(loss(min(ceiling.bitrate, estimate)) * 50)
      for packet in 0..<50 { ceiling.count(isLost: packet < lost) }
      ceiling.update(delayEstimate: estimate, isQueued: false, at: tick(1_000 + window * 400))
    }
  }

  @Test func smallLossDoesNotLowerTheBitrate() {
    var ceiling = LossBasedEstimator(limits: .init())
    run(&ceiling, loss: { _ in 0.08 }, windows: 30)
    #expect(ceiling.bitrate > 1e6)
  }

  @Test func constantLossHardlyLowersTheBitrate() {
    var ceiling = LossBasedEstimator(limits: .init())
    run(&ceiling, loss: { _ in 0.2 }, windows: 60)
    #expect(min(ceiling.bitrate, 1e6) > 800_000)
  }

  @Test func lossThatGrowsWithTheBitrateLowersIt() {
    var ceiling = LossBasedEstimator(limits: .init())
    run(&ceiling, loss: { rate in max(0, 1 - 500_000 / rate) }, windows: 60)
    #expect(ceiling.bitrate < 650_000)
  }
}

struct ProbeControlTests {
  /// Sends a cluster over a path of that rate.
  private func carried(by path: Double, estimate: Double = 500_000) throws -> Double? {
    var control = ProbeControl()
    var now = tick(1_000)
    let early = control.plan(estimate: estimate, wanted: 5e6, at: now)
    #expect(early == nil)
    now += .seconds(1)
    let planned = control.plan(estimate: estimate, wanted: 5e6, at: now)
    var cluster = try #require(planned)
    #expect(abs(cluster.rate - estimate * 2) < 1)
    var free = now.nanoseconds
    while !cluster.isOver(at: now) {
      cluster.sent(335)
      let packet = SendHistory.Packet(number: 1, at: now, size: 335, probe: cluster.id)
      free = max(free, now.nanoseconds) + Int64(335 * 8 / path * 1e9)
      control.arrived(packet, arrival: free + nanoseconds(20))
      now = max(now, cluster.due)
    }
    #expect(control.isPending)
    return control.conclude(at: now)
  }

  @Test func probeMeasuresThePathsHeadroom() throws {
    #expect(try #require(try carried(by: 10e6)) > 900_000)
  }

  @Test func probeMeasuresTheRateOfAFullPath() throws {
    let rate = try #require(try carried(by: 600_000))
    #expect(rate > 500_000)
    #expect(rate < 700_000)
  }

  @Test func probeIsPlannedForASmallMissingBitrate() {
    var control = ProbeControl()
    let early = control.plan(estimate: 850_000, wanted: 861_000, at: tick(0))
    #expect(early == nil)
    let planned = control.plan(estimate: 850_000, wanted: 861_000, at: tick(1_000))
    #expect(planned != nil)
  }

  @Test func unwantedBitrateIsNotProbed() {
    var control = ProbeControl()
    for second in 1..<10 {
      let cluster = control.plan(estimate: 1e6, wanted: 9e5, at: tick(second * 1_000))
      #expect(cluster == nil)
    }
  }
}

struct TransportFeedbackBuilderTests {
  /// The times at which reports leave while packets come at the given times, all in milliseconds.
  private func reports(ofPacketsAt times: [Int], toServer isServer: Bool = true) -> [Int] {
    var builder = TransportFeedbackBuilder(waitsForPackets: isServer)
    var reports: [Int] = []
    for time in 0..<1_000 {
      for (number, _) in times.enumerated().filter({ $0.element == time }) {
        builder.received(UInt16(number), at: tick(time))
        if builder.isDue(at: tick(time), isAwake: true) { reports += report(&builder, at: time) }
      }
      if builder.isDue(at: tick(time), isAwake: false) { reports += report(&builder, at: time) }
      if let deadline = builder.deadline { #expect(deadline > tick(time)) }
    }
    return reports
  }

  private func report(_ builder: inout TransportFeedbackBuilder, at time: Int) -> [Int] {
    var reports: [Int] = []
    while builder.feedback(sender: 1, media: 2, at: tick(time)) != nil { reports.append(time) }
    return reports
  }

  @Test func reportLeavesWithALaterPacket() {
    #expect(reports(ofPacketsAt: [10, 50, 90, 130, 170]) == [50, 130, 240])
  }

  @Test func reportOfALonePacketLeavesByItself() {
    #expect(reports(ofPacketsAt: [10]) == [80])
    #expect(reports(ofPacketsAt: [10], toServer: false) == [60])
  }

  @Test func clientReportsAfter50Milliseconds() {
    #expect(reports(ofPacketsAt: [10, 50, 90, 130, 170], toServer: false) == [60, 140, 220])
  }

  @Test func denseStreamIsReportedTwentyTimesASecond() {
    let times = reports(ofPacketsAt: (0..<900).map(\.self))
    #expect((17...20).contains(times.count))
  }

  @Test func reportOfNothingIsNotMade() {
    var builder = TransportFeedbackBuilder(waitsForPackets: true)
    #expect(!builder.isDue(at: tick(500), isAwake: true))
    #expect(builder.feedback(sender: 1, media: 2, at: tick(500)) == nil)
  }
}

struct SendHistoryTests {
  /// Sends 2,000 packets a second and judges them as feedback arrives, which takes `delay`.
  private func history(seconds: Int, delay: Int?) -> SendHistory {
    var history = SendHistory()
    var judged: Int64 = 1
    for time in 0..<seconds * 1_000 {
      for _ in 0..<2 { _ = history.add(size: 1_112, probe: 0, at: tick(time)) }
      guard let delay, time.isMultiple(of: 50), time > delay else { continue }
      while let packet = history[judged], packet.at < tick(time - delay) {
        history.set(.arrived, of: judged)
        judged += 1
      }
      history.settle(before: tick(time - delay - 150)) { #expect(!$0) }
    }
    return history
  }

  @Test(arguments: [(20, 1_024), (200, 2_048), (600, 4_096)])
  func memoryFollowsTheRoundTrip(delay: Int, limit: Int) throws {
    let history = history(seconds: 10, delay: delay)
    #expect(history.capacity <= limit)
    // The oldest packet that a report may still judge, and those that came late before it.
    let oldest = history.newest - Int64((delay + 150) * 2)
    #expect(history[oldest] != nil)
    #expect(history[oldest - 256] != nil)
  }

  @Test func packetsWithoutFeedbackAreKeptForTwoSeconds() throws {
    let history = history(seconds: 10, delay: nil)
    #expect(history[history.newest - 3_999] != nil)
    #expect(history.capacity == 4_096)
  }

  @Test func packetsKeepTheirValuesWhenTheHistoryGrows() throws {
    var history = SendHistory()
    for number in 1...1_000 { _ = history.add(size: number, probe: UInt16(number), at: tick(number)) }
    history.set(.missing, of: 7)
    for _ in 0..<1_000 { _ = history.add(size: 70_000, probe: 0, at: tick(1_001)) }
    let packet = try #require(history[7])
    #expect(packet.number == 7)
    #expect(packet.size == 7)
    #expect(packet.probe == 7)
    #expect(packet.at == tick(7))
    #expect(packet.fate == .missing)
    #expect(history[8]?.fate == .unknown)
    #expect(history[2_000]?.size == 65_535)
    #expect(history[2_001] == nil)
    #expect(history[0] == nil)
  }
}
