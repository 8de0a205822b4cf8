import KoineBase
import Testing

@testable import KoineTransport

@Suite struct PlayoutDelayTests {
  /// Updates every 100 ms for so long.
  private func run(
    _ delay: inout PlayoutDelay, from start: Tick = .zero, seconds: Double, loss: Double,
    roundTrip: Duration? = .milliseconds(50)
  ) -> Tick {
    let end = start + .milliseconds(Int(seconds * 1_000))
    var now = start
    while now < end {
      delay.update(loss: loss, needed: roundTrip.map(PlayoutDelay.forRetransmissions(roundTrip:)), at: now)
      now += .milliseconds(100)
    }
    return now
  }

  @Test func receiverIsToldNothingOnAPathWithoutLoss() {
    var delay = PlayoutDelay()
    _ = run(&delay, seconds: 60, loss: 0.005)
    #expect(delay.minimum == nil)
  }

  /// The measured loss after one lost packet of fifty, as `LossBasedEstimator` smooths it.
  @Test func oneLostPacketDelaysNothing() {
    var delay = PlayoutDelay()
    var now = Tick.zero
    for loss in [0.02, 0.014, 0.01, 0.007, 0.005, 0.003] { now = run(&delay, from: now, seconds: 0.3, loss: loss) }
    #expect(delay.minimum == nil)
  }

  @Test func lossOfFivePercentDelaysFramesWithinASecond() {
    var delay = PlayoutDelay()
    _ = run(&delay, seconds: 1, loss: 0.05)
    #expect(delay.minimum == 15)
  }

  @Test func receiverIsToldNothingBeforeTheRoundTripTimeIsKnown() {
    var delay = PlayoutDelay()
    let now = run(&delay, seconds: 2, loss: 0.05, roundTrip: nil)
    #expect(delay.minimum == nil)
    _ = run(&delay, from: now, seconds: 0.1, loss: 0.05)
    #expect(delay.minimum == 15)
  }

  @Test(
    arguments: [
      (10, 7), (50, 15), (80, 21),  // two retransmissions
      (120, 25), (200, 25), (300, 35), (450, 50),  // one
    ] as [(Int, UInt16)]) func delayCoversTheRetransmissionsThatFitIntoIt(roundTrip: Int, units: UInt16)
  {
    var delay = PlayoutDelay()
    _ = run(&delay, seconds: 2, loss: 0.05, roundTrip: .milliseconds(roundTrip))
    #expect(delay.minimum == units)
  }

  @Test(arguments: [460, 2_000, 60_000]) func framesDoNotWaitForRetransmissionsThatTakeTooLong(roundTrip: Int) {
    var delay = PlayoutDelay()
    _ = run(&delay, seconds: 2, loss: 0.05, roundTrip: .milliseconds(roundTrip))
    #expect(delay.minimum == nil)
  }

  @Test func delayRisesAtOnceAndFallsTenSecondsAfterTheLoss() {
    var delay = PlayoutDelay()
    var now = run(&delay, seconds: 2, loss: 0.05)
    now = run(&delay, from: now, seconds: 0.1, loss: 0.05, roundTrip: .milliseconds(100))
    #expect(delay.minimum == 25)
    now = run(&delay, from: now, seconds: 10, loss: 0)
    #expect(delay.minimum == 25)
    now = run(&delay, from: now, seconds: 8, loss: 0)
    #expect(delay.minimum == 0, "the receiver has to be told that its delay may go")
    now = run(&delay, from: now, seconds: 1, loss: 0.05)
    #expect(delay.minimum == 15)
  }

  @Test func lossThatComesAndGoesKeepsTheDelay() {
    var delay = PlayoutDelay()
    var now = run(&delay, seconds: 2, loss: 0.05)
    for _ in 0..<5 {
      now = run(&delay, from: now, seconds: 8, loss: 0)
      now = run(&delay, from: now, seconds: 1, loss: 0.05)
      #expect(delay.minimum == 15)
    }
  }

  @Test func delaysOfTwoPathsAddUpToHalfASecond() {
    var (first, second) = (PlayoutDelay(), PlayoutDelay())
    #expect(PlayoutDelay.sum(first, second) == nil)
    for (path, milliseconds, sum) in [(0, 90, 9), (1, 150, 24), (1, 9_000, 50)] {
      for step in 0..<30 {
        let now = Tick.zero + .milliseconds(step * 100)
        if path == 0 {
          first.update(loss: 0.1, needed: .milliseconds(milliseconds), at: now)
        } else {
          second.update(loss: 0.1, needed: .milliseconds(milliseconds), at: now)
        }
      }
      #expect(PlayoutDelay.sum(first, second) == UInt16(sum))
    }
  }

  @Test func smallChangesOfTheRoundTripTimeChangeNothing() {
    var delay = PlayoutDelay()
    var now = run(&delay, seconds: 2, loss: 0.05)
    for roundTrip in [45, 60, 50, 40] {
      now = run(&delay, from: now, seconds: 15, loss: 0.05, roundTrip: .milliseconds(roundTrip))
      #expect(delay.minimum == 15)
    }
  }
}
