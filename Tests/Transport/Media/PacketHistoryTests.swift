import KoineBase
import KoineRTP
import Testing

@testable import KoineTransport

private func tick(_ milliseconds: Int) -> Tick { Tick(nanoseconds: Int64(milliseconds) * 1_000_000) }

struct PacketHistoryTests {
  private let payload = Bytes([UInt8](repeating: 7, count: 40))

  private func packet(
    _ sequence: UInt16, _ extensions: HeaderExtensions = HeaderExtensions(), marker: Bool = false,
    numbers: FrameNumbers? = nil, at now: Tick = .zero
  ) -> StoredPacket {
    StoredPacket(
      payload: payload, range: 10..<30, sequence: sequence, timestamp: .max - 3, marker: marker,
      extensions: StoredExtensions(extensions), numbers: numbers, at: now)
  }

  /// A router holds up to 2,048 of them for each receiver of each track.
  @Test func storedPacketTakes48Bytes() { #expect(MemoryLayout<StoredPacket?>.stride <= 48) }

  @Test func storedPacketKeepsItsValues() {
    var extensions = HeaderExtensions()
    (extensions.absoluteCaptureTime, extensions.captureClockOffset) = (.max - 1, .min)
    (extensions.audioLevel, extensions.voiceActivity, extensions.quarterTurns) = (127, true, 3)
    let numbers = FrameNumbers(pictureID: 0x7FFF, tl0PictureIndex: 255)
    let packet = packet(65_535, extensions, marker: true, numbers: numbers)
    #expect(packet.bytes.count == 20)
    #expect(packet.bytes.baseAddress == UnsafeRawPointer(payload.base + 10))
    #expect(packet.sequence == 65_535)
    #expect(packet.timestamp == UInt32.max - 3)
    #expect(packet.marker)
    #expect(packet.numbers == numbers)
    let unpacked = packet.extensions.unpacked
    #expect(unpacked.absoluteCaptureTime == UInt64.max - 1)
    #expect(unpacked.captureClockOffset == .min)
    #expect(unpacked.audioLevel == 127)
    #expect(unpacked.voiceActivity)
    #expect(unpacked.quarterTurns == 3)
  }

  @Test func storedPacketTellsWhatItDoesNotBear() {
    let plain = packet(1)
    #expect(!plain.marker)
    #expect(plain.numbers == nil)
    #expect(plain.extensions.unpacked.quarterTurns == nil)
    #expect(plain.extensions.unpacked.audioLevel == nil)
    #expect(packet(1, numbers: FrameNumbers(pictureID: 0)).numbers == FrameNumbers(pictureID: 0))
    #expect(packet(1, numbers: FrameNumbers(tl0PictureIndex: 0)).numbers == FrameNumbers(tl0PictureIndex: 0))
  }

  @Test func storedPacketCountsHowOftenItWasSent() throws {
    var history = PacketHistory(limit: 32)
    var pool = BytesPool(capacity: 1_400, limit: 8)
    history.store(packet(5, marker: true, at: tick(1_000)), pool: &pool, at: tick(1_000))
    #expect(history[5]?.sinceSent(at: tick(1_000)) == nil)
    history.markSent(5, at: tick(1_010))
    #expect(history[5]?.timesSent == 1)
    #expect(history[5]?.sinceSent(at: tick(1_025)) == .milliseconds(15))
    history.markSent(5, isQueued: true, at: tick(1_020))
    #expect(history[5]?.timesSent == 1)
    #expect(history[5]?.sinceSent(at: tick(1_025)) == .milliseconds(5))
    for _ in 0..<40 { history.markSent(5, at: tick(1_030)) }
    let packet = try #require(history[5])
    #expect(packet.timesSent == 31)
    #expect(packet.marker)
    #expect(packet.age(at: tick(2_500)) == .milliseconds(1_500))
  }

  /// The times of packets wrap after 74 hours.
  @Test func agesAreRightAcrossTheWrapOfTimes() {
    let wrap = Int64(62_500) << 32
    let stored = packet(1, at: Tick(nanoseconds: wrap - 1_000_000))
    #expect(stored.age(at: Tick(nanoseconds: wrap + 2_000_000)) == .milliseconds(3))
  }

  @Test func historyGrowsOnlyForPacketsThatMayBeRequested() {
    var pool = BytesPool(capacity: 1_400, limit: 8)
    var quiet = PacketHistory(limit: 2_048)
    for number in 0..<200 {
      quiet.store(packet(UInt16(number), at: tick(number * 100)), pool: &pool, at: tick(number * 100))
    }
    #expect(quiet.capacity == 32)
    var busy = PacketHistory(limit: 2_048)
    for number in 0..<900 {  // 300 a second, across the wrap of sequence numbers
      let (sequence, now) = (UInt16(truncatingIfNeeded: 65_200 + number), tick(number * 10 / 3))
      busy.store(packet(sequence, at: now), pool: &pool, at: now)
    }
    #expect(busy.capacity == 1_024)
    let newest = UInt16(truncatingIfNeeded: 65_200 + 899)
    #expect(busy[newest &- 590] != nil)
    #expect(busy[newest &- 610] == nil, "older than two seconds")
  }

  /// Stores 2,000 packets a second for four seconds.
  private func capacity(roundTrip: Duration?) -> Int {
    var (history, pool) = (PacketHistory(limit: 2_048), BytesPool(capacity: 1_400, limit: 8))
    if let roundTrip { history.measured(roundTrip: roundTrip) }
    for number in 0..<8_000 {
      history.store(packet(UInt16(truncatingIfNeeded: number), at: tick(number / 2)), pool: &pool, at: tick(number / 2))
    }
    return history.capacity
  }

  @Test func historyOfAFastStreamCoversRequestsOfItsRoundTrip() {
    #expect(capacity(roundTrip: nil) == 1_024)
    #expect(capacity(roundTrip: .milliseconds(60)) == 1_024)
    #expect(capacity(roundTrip: .milliseconds(150)) == 2_048)
  }

  /// A router forwards many streams that receivers have paused.
  @Test func historyOfAPausedStreamHoldsNothing() {
    var (history, pool) = (PacketHistory(limit: 2_048), BytesPool(capacity: 40, limit: 8))
    #expect(history.capacity == 0)
    #expect(history[7] == nil)
    history.markSent(7, at: .zero)
    weak var held: Bytes?
    do {
      let block = Bytes(capacity: 60)
      held = block
      let stored = StoredPacket(
        payload: block, range: 0..<0, sequence: 7, timestamp: 0, marker: false,
        extensions: StoredExtensions(HeaderExtensions()), at: tick(1_000))
      history.store(stored, pool: &pool, at: tick(1_000))
    }
    history.forgetPaused(at: tick(2_999), pool: &pool)
    #expect(held != nil)
    #expect(history[7] != nil)
    history.forgetPaused(at: tick(3_000), pool: &pool)
    #expect(held == nil)
    #expect(history.capacity == 0)
    #expect(history[7] == nil)
    history.store(packet(9, at: tick(4_000)), pool: &pool, at: tick(4_000))
    #expect(history[9] != nil)
    #expect(history.capacity == 32)
  }
}
