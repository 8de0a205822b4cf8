import Koine
import Testing

@testable import VideoSDKRTC

/// The vendor's numbers of the reasons for which a stay ends.
@Suite struct LeaveReasonTests {
  @Test(
    arguments: [
      (.left, 1101), (.refused(Failure(.forbidden, "no")), 1103), (.removed, 1002), (.expired, 1002),
      (.duplicate, 1011),
      (.roomClosed, 1006), (.roomClosedByService, 1009), (.removedByService(note: nil), 1010),
      (.removedByService(note: "bye"), 1010),
    ] as [(EndReason, Int)])
  func endHasTheVendorsNumber(reason: EndReason, number: Int) {
    #expect(LeaveReason(reason).rawValue == number)
  }
}
