import Testing

@testable import KoineTransport

@Suite struct CopyNumbersTests {
  /// - Parameter packets: numbers with the number of their sound, 20 ms each; negative for padding behind that sound.
  private func known(_ packets: [(Int64, Int)]) -> CopyNumbers {
    var numbers = CopyNumbers()
    for (sequence, sound) in packets {
      numbers.received(sequence, timestamp: timestamp(abs(sound)), isPadding: sound < 0)
    }
    return numbers
  }

  /// Wraps after sound 5.
  private func timestamp(_ sound: Int) -> UInt32 { UInt32(truncatingIfNeeded: sound * 960) &- 5 * 960 }

  @Test func copyOfALostPacketHasTheNumberOfItsPlace() {
    #expect(known([(100, 1), (102, 3)]).number(of: timestamp(2), distance: 1, before: 102) == 101)
    let numbers = known([(100, 1), (103, 4)])
    #expect(numbers.number(of: timestamp(2), distance: 2, before: 103) == 101)
    #expect(numbers.number(of: timestamp(3), distance: 1, before: 103) == 102)
  }

  @Test func copyOfAPacketThatHasComeHasNoNumber() {
    #expect(known([(100, 1), (101, 2)]).number(of: timestamp(1), distance: 1, before: 101) == nil)
    #expect(known([(100, 6), (101, 7)]).number(of: timestamp(6), distance: 1, before: 101) == nil)
  }

  /// As libwebrtc sends it to find out what its path carries.
  @Test func paddingBetweenThePacketsDoesNotTakeTheNumberOfACopy() {
    let whole = known([(100, 5), (101, -5), (102, -5), (103, 6)])
    #expect(whole.number(of: timestamp(5), distance: 1, before: 103) == nil)
    let lost = known([(99, 4), (101, -5), (102, -5), (103, 6)])
    #expect(lost.number(of: timestamp(5), distance: 1, before: 103) == 100)
    let paddingLost = known([(100, 5), (102, -5), (103, 6)])
    #expect(paddingLost.number(of: timestamp(5), distance: 1, before: 103) == nil)
  }

  /// A sender may leave the newer copy out.
  @Test func copyIsNumberedBeforeThePacketsThatAreNewer() {
    let numbers = known([(99, 1), (101, 3), (103, 5)])
    #expect(numbers.number(of: timestamp(2), distance: 1, before: 103) == 100)
  }

  @Test func copyWithoutAFreeNumberIsLeftOut() {
    #expect(known([(100, 4), (101, 6), (102, 7)]).number(of: timestamp(5), distance: 1, before: 102) == nil)
    #expect(CopyNumbers().number(of: timestamp(5), distance: 1, before: 102) == nil)
  }

  @Test func extremeNumbersAndTimestampsNeverTrap() {
    var numbers = CopyNumbers()
    for sequence in [Int64(0), 1, 65_536, 1 << 40] {
      for timestamp in [UInt32(0), 1 << 31, .max] {
        numbers.received(sequence, timestamp: timestamp, isPadding: false)
        for distance in [1, 3, 32] { _ = numbers.number(of: ~timestamp, distance: distance, before: sequence) }
      }
    }
  }
}
