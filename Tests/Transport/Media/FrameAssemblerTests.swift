import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

/// Frames that wait behind a gap.
@Suite final class FrameAssemblerTests {
  private var now = Tick(nanoseconds: 1_000_000_000)
  private var assembler = FrameAssembler()
  private let first: Int64 = 70_000

  private struct Packet {
    var time: UInt32
    var starts = false
    var ends = false
    var isKey = false
    var layer: UInt8 = 0
    var tl0: UInt8 = 0
  }

  private func insert(_ sequence: Int64, _ packet: Packet) {
    var video = VideoPacket(
      datagram: Bytes([1, 2, 3]), range: 0..<3, sequence: sequence, timestamp: packet.time,
      extensions: StoredExtensions(HeaderExtensions()), at: now)
    (video.info.startsFrame, video.endsFrame) = (packet.starts, packet.ends)
    video.info.startsKeyFrame = packet.isKey
    (video.info.hasTemporalLayer, video.info.temporalLayer) = (true, packet.layer)
    video.info.tl0PictureIndex = packet.tl0
    assembler.insert(video)
  }

  private func takeFrame() -> FrameAssembler.Frame? {
    guard let frame = assembler.nextFrame(at: now) else { return nil }
    assembler.consume(frame)
    return frame
  }

  /// A key frame has been delivered; the packet after it is lost, and the waiting time for it is over.
  private func block() {
    insert(first, Packet(time: 1, starts: true, ends: true, isKey: true))
    #expect(takeFrame() == first...first)
    insert(first + 2, Packet(time: 3, starts: true, ends: true, layer: 1))
    #expect(takeFrame() == nil)
    now += assembler.patience
    #expect(takeFrame() == nil)
    #expect(assembler.deadline == nil)
  }

  @Test func frameCompletedBehindTheGapIsDelivered() {
    for order: [Int64] in [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0]] {
      assembler = FrameAssembler()
      block()
      for (index, place) in order.enumerated() {
        insert(first + 3 + place, Packet(time: 4, starts: place == 0, ends: place == 2, tl0: 1))
        let frame = takeFrame()
        #expect(frame == (index == 2 ? first + 3...first + 5 : nil), "in the order \(order)")
      }
    }
  }

  /// A router that goes on with another layer in the middle of a frame numbers its packets without a gap.
  @Test func truncatedFrameBeforeAKeyFrameIsSkipped() {
    insert(first, Packet(time: 1, starts: true, ends: true, isKey: true))
    #expect(takeFrame() == first...first)
    insert(first + 1, Packet(time: 4, starts: true))
    #expect(takeFrame() == nil)
    insert(first + 2, Packet(time: 5, starts: true, ends: true, isKey: true))
    #expect(takeFrame() == first + 2...first + 2)
    #expect(assembler.skipped == 1)
  }

  @Test func truncatedFrameBehindAGapIsSkipped() {
    block()
    insert(first + 3, Packet(time: 4, starts: true, tl0: 1))
    insert(first + 4, Packet(time: 5, starts: true, tl0: 2))
    #expect(takeFrame() == nil)
  }

  @Test func packetsInsertedTogetherAreAllExamined() {
    block()
    insert(first + 3, Packet(time: 4, starts: true, ends: true, tl0: 1))
    insert(first + 9, Packet(time: 8))
    #expect(takeFrame() == first + 3...first + 3)
  }

  /// Without an end to the search this takes minutes.
  @Test func framesWithoutAnEndAreProcessedInLinearTime() {
    block()
    for sequence in first + 3..<first + 200_000 {
      insert(sequence, Packet(time: 4, starts: true))
      #expect(takeFrame() == nil)
      now += .milliseconds(1)
    }
  }

  @Test func gapLongerThanTheRingIsAbandoned() {
    block()
    var sequence = first + 3
    while sequence < first + 1 + 2_048 {
      insert(sequence, Packet(time: 4))
      #expect(takeFrame() == nil)
      #expect(!assembler.isWaitingForKey)
      sequence += 1
    }
    for _ in 0..<10 {
      insert(sequence, Packet(time: 5))
      #expect(takeFrame() == nil)
      sequence += 1
    }
    #expect(assembler.isWaitingForKey)
    #expect(assembler.blockedSince == nil)
    #expect(assembler.deadline == nil)
    insert(sequence, Packet(time: 6, starts: true, isKey: true))
    insert(sequence + 1, Packet(time: 6, ends: true, isKey: true))
    #expect(takeFrame() == sequence...sequence + 1)
    insert(sequence + 2, Packet(time: 7, starts: true, ends: true))
    #expect(takeFrame() == sequence + 2...sequence + 2)
  }
}
