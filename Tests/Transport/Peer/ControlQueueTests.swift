import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

@Suite struct ControlQueueTests {
  private let now = Tick(nanoseconds: 1_000_000_000)

  private func queue() -> ControlQueue {
    var random = SeededRandom(seed: 1)
    return ControlQueue(random: &random)
  }

  /// The packets of the next datagram; nil if there is none.
  private func next(_ queue: ControlQueue) throws -> [RTCP]? {
    let key = [UInt8](repeating: 1, count: 16)
    let salt = [UInt8](repeating: 2, count: 12)
    let keys = SRTPKeys(
      profile: .aeadAES128GCM, localKey: key, localSalt: salt, remoteKey: key, remoteSalt: salt)
    let datagram = Bytes(capacity: 1_500)
    guard let count = queue.poll(into: datagram.writable, try SRTPSession.make(keys), PlaintextTrace(nil)) else {
      return nil
    }
    #expect(count <= 1_200)
    let bytes = UnsafeMutableRawBufferPointer(rebasing: datagram.writable[..<count])
    datagram.count = try SRTPSession.make(keys).unprotectRTCP(bytes)
    var packets: [RTCP] = []
    try RTCP.forEach(in: datagram.readable) { packets.append($0) }
    return packets
  }

  private func block(_ source: UInt32) -> ReportBlock {
    ReportBlock(
      source: source, fractionLost: 0, cumulativeLost: 0, highestSequence: 1, jitter: 0, lastSenderReport: 0,
      delaySinceLastReport: 0)
  }

  @Test func reportIsSentWithItsCanonicalName() throws {
    let queue = queue()
    queue.start(at: now)
    queue.addReports([], [block(7)], at: now)
    let packets = try #require(try next(queue))
    guard packets.count == 2, case .receiverReport(let sender, let blocks) = packets[0],
      case .sourceDescription(let names) = packets[1]
    else {
      Issue.record("not a receiver report with a source description: \(packets)")
      return
    }
    #expect(sender == queue.localSSRC && blocks.map(\.source) == [7] && names.map(\.source) == [queue.localSSRC])
    #expect(try next(queue) == nil)
  }

  /// A report takes 31 blocks at most (RFC 3550, 6.4.1).
  @Test func reportBlocksBeyondTheLimitGoIntoFurtherReports() throws {
    let queue = queue()
    queue.addReports([], (1...70).map { block($0) }, at: now)
    var counts: [Int] = []
    while let packets = try next(queue) {
      for case .receiverReport(_, let blocks) in packets { counts.append(blocks.count) }
    }
    #expect(counts == [31, 31, 8])
  }

  @Test func reportIsHastenedOnceReportsHaveBegun() {
    let queue = queue()
    queue.hastenReport(at: now)
    #expect(queue.reportDue == nil)
    queue.start(at: now)
    queue.hastenReport(at: now)
    #expect(queue.reportDue == now + .milliseconds(20))
    queue.hastenReport(at: now + .milliseconds(10))
    #expect(queue.reportDue == now + .milliseconds(20))
  }

  @Test func reportsAreFrequentUntilTheRoundTripIsKnown() {
    let queue = queue()
    queue.addReports([], [block(7)], at: now)
    #expect(queue.reportDue == now + .milliseconds(200))
    queue.measured(roundTrip: .milliseconds(10))
    queue.addReports([], [block(7)], at: now)
    #expect(queue.reportDue == now + .seconds(1))
  }

  @Test func reportsPauseWithoutStreamsAndGoOnWithThem() throws {
    let queue = queue()
    queue.streamIsActive(at: now)
    #expect(queue.reportDue == nil, "there are no keys yet")
    queue.start(at: now)
    queue.addReports([], [], at: now + .milliseconds(50))
    #expect(queue.reportDue == nil)
    #expect(try next(queue) == nil)
    queue.streamIsActive(at: now + .seconds(5))
    #expect(queue.reportDue == now + .seconds(5) + .milliseconds(50))
    queue.addReports([], [block(7)], at: now + .seconds(6))
    queue.streamIsActive(at: now + .seconds(6))
    #expect(queue.reportDue == now + .seconds(6) + .milliseconds(200))
    #expect(try next(queue)?.isEmpty == false)
  }

  @Test func closingQueueSendsOnlyTheGoodbye() throws {
    let queue = queue()
    queue.append(.pictureLoss(sender: 1, media: 2))
    queue.sendGoodbye([11, 12])
    let packets = try #require(try next(queue))
    guard packets.count == 1, case .goodbye(let sources) = packets[0] else {
      Issue.record("not a goodbye: \(packets)")
      return
    }
    #expect(sources == [11, 12])
    queue.append(.pictureLoss(sender: 1, media: 2))
    queue.sendGoodbye([])
    #expect(try next(queue) == nil)
  }

  @Test func packetLargerThanADatagramIsDroppedAndCounted() throws {
    let queue = queue()
    queue.append(.nack(GenericNACK(sender: 1, media: 2, sequences: (0..<1_000).map { UInt16($0 * 20) })))
    queue.append(.pictureLoss(sender: 1, media: 2))
    #expect(try next(queue) == nil)
    #expect(queue.dropped == 1)
    #expect(try next(queue)?.count == 1)
  }
}
