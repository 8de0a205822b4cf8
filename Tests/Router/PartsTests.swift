import Foundation
import KoineBase
import KoineRTP
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct DataHistoryTests {
  private let count = Lock(UInt64(0))

  private func message(_ id: Int, bytes: Int = 1) -> ReceivedMessage {
    let order = count.withLock { count in
      count += 1
      return count
    }
    return ReceivedMessage(
      sender: "a", topic: "t", payload: .init(repeating: 0, count: bytes), id: "\(id)", order: order)
  }

  @Test func historyKeepsMessagesInOrderWithTheirAges() {
    var history = DataHistory(limits: .init())
    history.keep(message(1), lifetime: 10, at: ms(0))
    history.keep(message(2), lifetime: 10, at: ms(1000))
    #expect(history.messages(for: "b", at: ms(2500)).map(\.id) == ["1", "2"])
    #expect(history.messages(for: "b", at: ms(2500)).map(\.age) == [.milliseconds(2500), .milliseconds(1500)])
    #expect(history.messages(for: "b", at: ms(10_500)).map(\.id) == ["2"])
  }

  @Test func historyIsBoundedByCountAndBytes() {
    var history = DataHistory(limits: .init(count: 3, bytes: 810))
    for id in 0..<5 { history.keep(message(id), lifetime: 10, at: ms(0)) }
    #expect(history.messages(for: "b", at: ms(0)).map(\.id) == ["2", "3", "4"])
    history.keep(message(9, bytes: 300), lifetime: 10, at: ms(0))
    #expect(history.messages(for: "b", at: ms(0)).map(\.id) == ["4", "9"])
    history.keep(message(10, bytes: 500), lifetime: 10, at: ms(0))
    #expect(history.messages(for: "b", at: ms(0)).map(\.id) == ["4", "9"])
  }

  @Test func addresseesCountTowardsTheHistoryLimit() {
    var history = DataHistory(limits: .init(persistentCount: 100, persistentBytes: 10_000))
    let names = (0..<50).map { "somebody with a name \($0)" }
    for id in 0..<20 { history.keep(message(id), for: names.map { .init(id: $0) }, at: ms(0)) }
    #expect(history.messages(for: names[0], at: ms(0)).count < 6)
  }

  @Test func persistentMessagesAreKeptInOrderUpToTheLimits() {
    var history = DataHistory(limits: .init())
    for id in 0..<20_000 { history.keep(message(id, bytes: 100), at: ms(0)) }
    for id in 0..<2_000 { history.keep(message(id), lifetime: 10, at: ms(0)) }
    let kept = history.messages(for: "b", at: ms(100_000_000)).map(\.id)
    #expect(kept == (20_000 - 16_384..<20_000).map(String.init), "chatter does not push it out, and it has no end")
    for id in 0..<200 { history.keep(message(id, bytes: 60_000), at: ms(0)) }
    let size = history.messages(for: "b", at: ms(100_000_000)).reduce(0) { $0 + $1.writtenSize }
    #expect(size <= 8 * 1024 * 1024)
    #expect(size > 7 * 1024 * 1024)
  }

  private func retained(_ topic: String, _ text: String, order: UInt64) -> ReceivedMessage {
    ReceivedMessage(sender: "a", topic: topic, payload: Array(text.utf8), id: "\(topic)\(text)", order: order)
  }

  @Test func retainedMessageReplacesTheEarlierOneOfItsTopic() throws {
    var history = DataHistory(limits: .init())
    history.retain(retained("x", "1", order: 1), at: ms(0))
    history.retain(retained("y", "1", order: 2), at: ms(0))
    history.retain(retained("x", "2", order: 3), at: ms(0))
    history.keep(retained("x", "chat", order: 4), at: ms(0))
    #expect(history.messages(for: "b", at: ms(100_000_000)).map(\.id) == ["y1", "x2", "xchat"])
    let snapshot = try JSONEncoder().encode(history)
    let restored = try JSONDecoder().decode(DataHistory.self, from: snapshot)
    #expect(restored.messages(for: "b", at: ms(0)).map(\.id) == ["y1", "x2", "xchat"])
  }

  @Test func fullRoomDropsRetainedMessagesWithoutPayloadFirst() {
    var history = DataHistory(limits: .init())
    for number in 0..<1_024 {
      history.retain(retained("\(number)", number == 7 ? "" : "v", order: UInt64(number + 1)), at: ms(0))
    }
    history.retain(retained("more", "v", order: 2_000), at: ms(0))
    var kept = history.messages(for: "b", at: ms(0)).map(\.topic)
    #expect(kept.count == 1_024)
    #expect(!kept.contains("7"))
    history.retain(retained("still more", "v", order: 2_001), at: ms(0))
    kept = history.messages(for: "b", at: ms(0)).map(\.topic)
    #expect(kept.first == "1")
    #expect(kept.last == "still more")
  }

  @Test(arguments: [-1, 0, Double.nan, .infinity, .greatestFiniteMagnitude]) func invalidLifetimeIsHarmless(
    _ lifetime: Double
  ) {
    var history = DataHistory(limits: .init())
    history.keep(message(1), lifetime: lifetime, at: ms(0))
    #expect(history.messages(for: "b", at: ms(3_600_001)).isEmpty)
  }
}

struct RTPRewriterTests {
  private func numbers(_ sequence: Int64, _ timestamp: UInt32, picture: UInt16? = nil, tl0: UInt8? = nil)
    -> SourceNumbers
  {
    SourceNumbers(sequence: sequence, timestamp: timestamp, pictureID: picture, tl0PictureIndex: tl0)
  }

  /// `#require` cannot be given a mutating call.
  private func found(_ numbers: SourceNumbers?) throws -> SourceNumbers { try #require(numbers) }

  @Test func rewriterPassesNoPacketBeforeTheFirstSegment() {
    var random = SeededRandom(seed: 1)
    var rewriter = RTPRewriter(clockRate: 90_000, random: &random)
    let passed = rewriter.rewritten(numbers(1, 1), now: ms(0))
    #expect(passed == nil)
  }

  @Test func segmentIsShiftedByConstantOffsets() throws {
    var random = SeededRandom(seed: 1)
    var rewriter = RTPRewriter(clockRate: 90_000, random: &random)
    rewriter.startSegment(at: numbers(65_500, .max - 90_000, picture: 0x7FF0, tl0: 250), now: ms(0))
    let first = try found(rewriter.rewritten(numbers(65_500, .max - 90_000, picture: 0x7FF0, tl0: 250), now: ms(0)))
    for step in 1..<200 {
      let source = numbers(
        65_500 + Int64(step), (UInt32.max - 90_000) &+ UInt32(step) &* 3000, picture: (0x7FF0 + UInt16(step)) & 0x7FFF,
        tl0: 250 &+ UInt8(truncatingIfNeeded: step))
      let out = try found(rewriter.rewritten(source, now: ms(33 * step)))
      #expect(out.sequence == first.sequence + Int64(step))
      #expect(out.timestamp == first.timestamp &+ UInt32(step) &* 3000)
      #expect(out.pictureID == (try #require(first.pictureID) &+ UInt16(step)) & 0x7FFF)
      #expect(out.tl0PictureIndex == (try #require(first.tl0PictureIndex)) &+ UInt8(truncatingIfNeeded: step))
    }
    let late = try found(rewriter.rewritten(numbers(65_510, 1), now: ms(9000)))
    #expect(late.sequence == first.sequence + 10)
    let older = rewriter.rewritten(numbers(65_499, 1), now: ms(9000))
    #expect(older == nil)
  }

  @Test func newSegmentContinuesWhereTheLastEnded() throws {
    var random = SeededRandom(seed: 2)
    var rewriter = RTPRewriter(clockRate: 90_000, random: &random)
    rewriter.startSegment(at: numbers(100, 5000, picture: 7, tl0: 3), now: ms(0))
    let last = try found(rewriter.rewritten(numbers(100, 5000, picture: 7, tl0: 3), now: ms(0)))
    rewriter.startSegment(at: numbers(70_000, 77, picture: 900, tl0: 200), now: ms(100))
    let next = try found(rewriter.rewritten(numbers(70_000, 77, picture: 900, tl0: 200), now: ms(100)))
    #expect(next.sequence == last.sequence + 1)
    #expect(next.timestamp == last.timestamp &+ 9000)
    #expect(next.pictureID == (try #require(last.pictureID) &+ 1) & 0x7FFF)
    #expect(next.tl0PictureIndex == (try #require(last.tl0PictureIndex)) &+ 1)
  }
}

struct RTPRewriterDropTests {
  /// A source with two packets per frame; every second frame is dropped.
  private func numbers(_ picture: Int, _ packet: Int) -> SourceNumbers {
    SourceNumbers(
      sequence: Int64(1_000 + picture * 2 + packet), timestamp: UInt32(picture * 3_000),
      pictureID: UInt16(50 + picture),
      tl0PictureIndex: UInt8(picture / 2))
  }

  @Test func rewriterLeavesNoGapForDroppedFrames() throws {
    var random = SeededRandom(seed: 3)
    var rewriter = RTPRewriter(clockRate: 90_000, random: &random)
    rewriter.startSegment(at: numbers(0, 0), now: ms(0))
    var out: [SourceNumbers] = []
    for picture in 0..<200 {
      for packet in 0..<2 {
        if picture.isMultiple(of: 2) {
          let written = rewriter.rewritten(numbers(picture, packet), now: ms(33 * picture))
          out.append(try #require(written))
        } else {
          let isClosed = rewriter.drop(numbers(picture, packet))
          #expect(isClosed)
        }
      }
    }
    for (one, next) in zip(out, out.dropFirst()) { #expect(next.sequence == one.sequence + 1) }
    let pictures = out.compactMap(\.pictureID)
    for index in stride(from: 2, to: pictures.count, by: 2) {
      #expect(pictures[index] == (pictures[index - 2] &+ 1) & 0x7FFF)
    }
  }

  @Test func latePacketGetsItsReservedSequenceNumber() throws {
    var random = SeededRandom(seed: 3)
    var rewriter = RTPRewriter(clockRate: 90_000, random: &random)
    rewriter.startSegment(at: numbers(0, 0), now: ms(0))
    let first = rewriter.rewritten(numbers(0, 0), now: ms(0))
    // The second packet of picture 0 is late; picture 1 is left out, picture 2 goes on.
    for packet in 0..<2 { _ = rewriter.drop(numbers(1, packet)) }
    let later = rewriter.rewritten(numbers(2, 0), now: ms(66))
    let late = rewriter.rewritten(numbers(0, 1), now: ms(70))
    let start = try #require(first?.sequence)
    #expect(late?.sequence == start + 1)
    #expect(late?.pictureID == first?.pictureID)
    #expect(later?.sequence == start + 2)
    // A packet that is dropped after a later one was sent: its number is reserved, so the gap cannot be closed.
    _ = rewriter.rewritten(numbers(4, 0), now: ms(130))
    let isClosed = rewriter.drop(numbers(3, 1))
    #expect(!isClosed)
  }
}

struct TemporalFilterTests {
  private func admitted(_ filter: inout TemporalFilter, _ layers: [Int], from picture: Int, syncs: [Bool]? = nil)
    -> [Int]
  {
    layers.enumerated().filter { index, layer in
      var info = VideoPacketInfo()
      info.startsFrame = true
      info.temporalLayer = UInt8(layer)
      info.syncsTemporalLayer = syncs?[index] ?? (layer > 0)
      let numbers = SourceNumbers(
        sequence: Int64(picture + index), timestamp: 0, pictureID: UInt16(picture + index), tl0PictureIndex: 0)
      return filter.admits(info, numbers)
    }.map(\.element)
  }

  @Test func layersAreRemovedAtOnceAndAddedAtASyncFrame() {
    var filter = TemporalFilter()
    filter.reset()
    #expect(admitted(&filter, [0, 2, 1, 2], from: 0) == [0, 2, 1, 2])
    filter.wanted = 0
    #expect(admitted(&filter, [0, 2, 1, 2], from: 4) == [0])
    filter.wanted = TemporalFilter.all
    #expect(admitted(&filter, [2, 0, 2, 1, 2], from: 8, syncs: [false, false, false, true, false]) == [0, 1])
    #expect(admitted(&filter, [0, 2, 1, 2], from: 13, syncs: [false, true, true, false]) == [0, 2, 1, 2])
  }
}

extension TemporalFilterTests {
  /// VP9 marks the frame before the first one of the upper layer, not that frame itself.
  @Test func layersAreAddedAfterAFrameThatOpensThem() {
    var filter = TemporalFilter(wanted: 0)
    filter.reset()
    func admits(_ layer: Int, _ number: Int, opens: Bool) -> Bool {
      var info = VideoPacketInfo()
      (info.startsFrame, info.temporalLayer, info.opensTemporalLayers) = (true, UInt8(layer), opens)
      return filter.admits(
        info,
        SourceNumbers(sequence: Int64(number), timestamp: 0, pictureID: UInt16(number), tl0PictureIndex: 0))
    }
    let few = [0, 2, 1, 2].enumerated().map { admits($1, $0, opens: true) }
    #expect(few == [true, false, false, false])
    filter.wanted = TemporalFilter.all
    let many = [2, 1, 2, 0, 2, 1, 2].enumerated().map { admits($1, 4 + $0, opens: true) }
    #expect(many == [false, false, false, true, true, true, true])
  }
}

struct SenderClockOffsetTests {
  @Test func fastestReportDeterminesTheClockOffset() {
    var clock = SenderClockOffset()
    let captured = [(1_000, 61_030), (2_000, 62_010), (3_000, 63_050)].map {
      clock.local(ms($0.0), arrivedAt: ms($0.1))
    }
    #expect(captured == [ms(61_030), ms(62_010), ms(63_010)])
  }

  @Test func sharedClockNeedsNoOffset() {
    var clock = SenderClockOffset()
    #expect(clock.local(ms(5_000), arrivedAt: ms(5_040)) == ms(5_000))
  }

  @Test func offsetIsLearnedAgainAfterAClockChange() {
    for jump in [3_600_000, -3_600_000] {
      var clock = SenderClockOffset()
      _ = clock.local(ms(10_000_000), arrivedAt: ms(60_000))
      _ = clock.local(ms(10_001_000 + jump), arrivedAt: ms(61_020))
      #expect(clock.local(ms(10_002_000 + jump), arrivedAt: ms(62_010)) == ms(62_010))
    }
  }

  /// Reports with extreme times must not overflow the reports that the router derives from them.
  @Test func extremeReportsGiveTimesCloseToNow() {
    var clock = SenderClockOffset()
    let reports: [Int64] = [0, 4_294_967_295_000_000_000, 0, .max, .min, 1, -1, 4_000_000_000_000_000_000]
    for (index, reported) in reports.enumerated() {
      let now = ms(100_000 + index)
      let difference = clock.local(Tick(nanoseconds: reported), arrivedAt: now) - now
      #expect(difference <= .seconds(11))
      #expect(difference >= .seconds(-11))
    }
  }
}

extension DataHistory {
  /// All of it.
  fileprivate func messages(for id: String, isReturning: Bool = false, at now: Tick) -> [ReceivedMessage] {
    let (entries, _) = page(
      for: Reader(id: id, isReturning: isReturning), after: 0, through: .max, bytes: .max, at: now)
    return entries.map(\.message)
  }
}
