import KoineBase
import Testing

@testable import KoineTransport

@Suite struct KeyFrameRequesterTests {
  private let start = Tick(nanoseconds: 1_000_000_000)

  @Test func requestIsRepeatedOnceOnALossyPath() {
    var requester = KeyFrameRequester(repeats: false)
    requester.want()
    requester.requested(at: start, isLossy: true)
    #expect(requester.deadline(waitingUntil: nil, blockedUntil: nil) == start + .milliseconds(15))
    requester.requested(at: start + .milliseconds(15), isLossy: true)
    #expect(requester.deadline(waitingUntil: nil, blockedUntil: nil) == nil)
    #expect(requester.requests == 2)
  }

  /// A machine may stand still for so long that the copy and the next request are due at one time.
  @Test(arguments: [15, 299, 300, 5_000]) func deadlineIsLaterThanALateCopy(_ milliseconds: Int) throws {
    var requester = KeyFrameRequester(repeats: true)
    requester.want()
    requester.requested(at: start, isLossy: true)
    let now = start + .milliseconds(milliseconds)
    requester.requested(at: now, isLossy: true)
    let next = try #require(requester.deadline(waitingUntil: nil, blockedUntil: nil))
    #expect(next > now)
  }
}
