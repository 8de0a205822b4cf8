import KoineRTP
import Testing

struct SequenceTests {
  @Test func sequenceNumbersIncreaseAcrossTheWrap() {
    var sequence = ExtendedSequence()
    let start = sequence.extend(65_500)
    for step in 1...200_000 {
      #expect(sequence.extend(UInt16(truncatingIfNeeded: 65_500 + step)) == start + Int64(step))
    }
  }

  @Test func latePacketsAreNumberedBeforeTheWrap() {
    var sequence = ExtendedSequence()
    let start = sequence.extend(65_500)
    #expect(sequence.extend(10) == start + 46)
    #expect(sequence.extend(65_499) == start - 1)
    #expect(sequence.extend(11) == start + 47)
    #expect(sequence.extend(65_500) == start)
  }

  @Test func packetBeforeTheFirstHasANonnegativeNumber() {
    var sequence = ExtendedSequence()
    #expect(sequence.extend(0) > 0)
    #expect(sequence.extend(65_535) > 0)
    #expect(sequence.extend(0x8001) > 0)
  }

  @Test func nearestNumberIsWithinHalfTheRange() {
    #expect(ExtendedSequence.nearest(0, to: 65_535) == 65_536)
    #expect(ExtendedSequence.nearest(65_535, to: 65_536) == 65_535)
    #expect(ExtendedSequence.nearest(0x7FFF, to: 0) == 0x7FFF)
    #expect(ExtendedSequence.nearest(0x8000, to: 0) == -0x8000)
    _ = ExtendedSequence.nearest(1, to: .max)  // no number traps
    _ = ExtendedSequence.nearest(.max, to: .min)
  }

  @Test func timestampsIncreaseAcrossTheWrap() {
    var timestamp = ExtendedTimestamp()
    let first = UInt32(truncatingIfNeeded: (1 << 32) - 90_000)
    let start = timestamp.extend(first)
    for frame in 1...300 {
      #expect(timestamp.extend(first &+ UInt32(frame * 3_000)) == start + Int64(frame * 3_000))
    }
    #expect(timestamp.extend(first) == start)
    #expect(timestamp.extend(first &- 1) == start - 1)
  }

  @Test func ntpTimeKeepsNanosecondsToItsResolution() {
    for nanoseconds: Int64 in [0, 1, 999_999_999, 1_000_000_000, 1_000_000_001, 4_294_967_295_999_999_999] {
      #expect(abs(NTPTime(nanoseconds: nanoseconds).nanoseconds - nanoseconds) <= 1)
    }
    #expect(NTPTime(nanoseconds: 1_500_000_000).value == 0x1_8000_0000)
    #expect(NTPTime(0x1234_5678_9ABC_DEF0).compact == 0x5678_9ABC)
  }

  @Test func ntpTimeOfAnyNumberDoesNotTrap() {
    for nanoseconds: Int64 in [.min, .min + 1, -1, .max - 1, .max] { _ = NTPTime(nanoseconds: nanoseconds).compact }
    for value: UInt64 in [0, 1, .max, 0xFFFF_FFFF, 1 << 63] { _ = NTPTime(value).nanoseconds }
  }
}
