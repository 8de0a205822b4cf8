import KoineBase
import Testing

struct LogThrottleTests {
  @Test func firstTenthAndHundredthEventOfAnIntervalAreLogged() {
    var throttle = LogThrottle(interval: .seconds(60))
    let start = Tick.zero + .seconds(7)
    let logged = (0..<150).compactMap { throttle.countEvent(at: start + .milliseconds(100 * $0)) }
    #expect(logged == [1, 10, 100])
    #expect(throttle.countEvent(at: start + .seconds(59)) == nil)
    #expect(throttle.countEvent(at: start + .seconds(60)) == 1, "a new interval")
    #expect(throttle.countEvent(at: start + .seconds(119)) == nil)
    #expect(throttle.countEvent(at: start + .seconds(120)) == 1)
  }
}
