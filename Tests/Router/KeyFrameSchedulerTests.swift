import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct KeyFrameSchedulerTests {
  private typealias Source = KeyFrameScheduler.Source

  @Test func keyFramesOfLayersAreRequestedIndependently() {
    var scheduler = KeyFrameScheduler(layers: 2)
    #expect(scheduler.deadline == nil)
    #expect(scheduler.wanted(0, from: Source(), at: ms(0)) == true)
    #expect(scheduler.wanted(0, from: Source(), at: ms(10)) == false, "in flight")
    #expect(scheduler.wanted(1, from: Source(), at: ms(20)) == true)
    scheduler.keyFrameArrived(0)
    #expect(scheduler.deadline == ms(320))
    scheduler.cancel(1)
    #expect(scheduler.deadline == nil)
  }

  @Test func keyFrameIsNotRequestedFromAPublisherThatCannotAnswer() {
    let sources = [
      Source(isConnected: false), Source(isMuted: true), Source(isKnown: false), Source(silence: .seconds(7)),
      Source(isLive: false),
    ]
    for source in sources {
      var scheduler = KeyFrameScheduler(layers: 1)
      #expect(!source.canAnswer)
      #expect(scheduler.wanted(0, from: source, at: ms(0)) == false)
      #expect(scheduler.deadline == nil)
    }
  }

  @Test func keyFrameIsRequestedFromAPublisherThatSendsNoLayerAtTheMoment() {
    #expect(Source(silence: .seconds(6.9), isLive: false, isAnyLayerLive: false).canAnswer)
  }

  @Test func keyFrameOfAStartingLayerIsRequestedOnlyIfTheLayerDoesNotStart() {
    var scheduler = KeyFrameScheduler(layers: 1)
    #expect(scheduler.wanted(0, from: Source(isAboutToBegin: true), at: ms(0)) == false)
    #expect(scheduler.deadline == ms(300))
    #expect(scheduler.handleTimeout(0, from: Source(), at: ms(300)) == true)
  }

  @Test func unansweredRequestIsRepeatedWhileThePublisherCanAnswer() {
    var scheduler = KeyFrameScheduler(layers: 1)
    #expect(scheduler.wanted(0, from: Source(), at: ms(0)) == true)
    #expect(scheduler.handleTimeout(0, from: Source(), at: ms(299)) == false)
    #expect(scheduler.handleTimeout(0, from: Source(), at: ms(300)) == true)
    #expect(scheduler.handleTimeout(0, from: Source(isConnected: false), at: ms(600)) == false)
    #expect(scheduler.deadline == nil)
  }

  @Test func cancelledRequestsStopOnAllLayers() {
    var scheduler = KeyFrameScheduler(layers: 3)
    for layer in 0..<3 { #expect(scheduler.wanted(layer, from: Source(), at: ms(layer)) == true) }
    scheduler.cancelAll()
    #expect(scheduler.deadline == nil)
    #expect(scheduler.wanted(1, from: Source(), at: ms(100)) == false, "the pause since the last request holds")
    #expect(scheduler.deadline == ms(301))
    scheduler.sourceResumed(1)
    #expect(scheduler.handleTimeout(1, from: Source(), at: ms(301)) == true)
  }

  @Test(arguments: 1...10) func randomEventsKeepTheRequestIntervalAndTheDeadline(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var scheduler = KeyFrameScheduler(layers: 2)
    var last: [Tick?] = [nil, nil]
    for step in 0..<5_000 {
      let (now, layer) = (ms(step * 11), Int.random(in: 0...1, using: &random))
      var isAsked = false
      switch Int.random(in: 0..<30, using: &random) {
      case 0: scheduler.keyFrameArrived(layer)
      case 1: scheduler.cancel(layer)
      case 2...5: isAsked = scheduler.wanted(layer, from: Source(), at: now)
      default: break
      }
      if isAsked {
        #expect(last[layer].map { now - $0 >= KeyFrameRequests.interval } ?? true)
        last[layer] = now
      }
      for layer in 0..<2 where scheduler.handleTimeout(layer, from: Source(), at: now) {
        #expect(last[layer].map { now - $0 >= KeyFrameRequests.interval } ?? true)
        last[layer] = now
      }
      #expect(scheduler.deadline.map { $0 > now } ?? true)
    }
  }
}

struct KeyFrameAllowanceTests {
  private let camera = Track.ID(participant: "ana", track: "camera")

  private func count(_ cause: KeyFrameAllowance.Cause, seconds: Int) -> Int {
    var allowance = KeyFrameAllowance()
    return (0..<seconds * 10).count { allowance.spend(cause, of: camera, at: ms($0 * 100)) }
  }

  @Test func receiverCausesThreeKeyFramesOfAStreamAtOnce() {
    var allowance = KeyFrameAllowance()
    let granted = (0..<5).map { _ in allowance.spend(.stream, of: camera, at: ms(0)) }
    #expect(granted == [true, true, true, false, false])
    #expect(count(.stream, seconds: 17) == 13)
  }

  @Test func receiverCausesSixSwitchesOfLayersAtOnce() {
    var allowance = KeyFrameAllowance()
    #expect((0..<9).count { _ in allowance.spend(.layer, of: camera, at: ms(0)) } == 6)
  }

  @Test func keyFrameAllowanceIsCountedPerTrack() {
    var allowance = KeyFrameAllowance()
    for _ in 0..<5 { _ = allowance.spend(.stream, of: camera, at: ms(0)) }
    let other = allowance.spend(.stream, of: Track.ID(participant: "ana", track: "screen"), at: ms(0))
    #expect(other)
  }
}

struct KeyFrameRequestsTests {
  @Test func oneRequestServesAllReceivers() {
    var requests = KeyFrameRequests()
    #expect(requests.wanted(at: ms(0)) == true)
    for time in [1, 10, 299] { #expect(requests.wanted(at: ms(time)) == false) }
    requests.keyFrameArrived()
    #expect(requests.deadline == nil)
  }

  @Test func unansweredRequestIsRepeatedAtDoublingIntervals() throws {
    var requests = KeyFrameRequests()
    #expect(requests.wanted(at: ms(0)) == true)
    #expect(requests.handleTimeout(at: ms(299)) == false)
    var sent = [ms(0)]
    for _ in 0..<9 {
      let due = try #require(requests.deadline)
      #expect(requests.handleTimeout(at: due) == true)
      #expect(requests.handleTimeout(at: due) == false)
      sent.append(due)
    }
    #expect(sent == [0, 300, 600, 1_200, 2_400, 4_800, 9_600, 17_600, 25_600, 33_600].map { ms($0) })
  }

  @Test func intervalsSurviveACancelledRequest() {
    var requests = KeyFrameRequests()
    #expect(requests.wanted(at: ms(0)) == true)
    for time in [300, 600, 1_200, 2_400] { #expect(requests.handleTimeout(at: ms(time)) == true) }
    requests.cancel()
    #expect(requests.wanted(at: ms(2_500)) == false)
    #expect(requests.deadline == ms(4_800))
    requests.cancel()
    requests.sourceResumed()
    #expect(requests.wanted(at: ms(2_800)) == true, "packets after a silence end the pause")
  }

  @Test func keyFrameRequestsKeepTheirMinimumInterval() {
    var requests = KeyFrameRequests()
    #expect(requests.wanted(at: ms(0)) == true)
    requests.keyFrameArrived()
    #expect(requests.wanted(at: ms(100)) == false)
    #expect(requests.deadline == ms(300))
    #expect(requests.handleTimeout(at: ms(300)) == true)
  }
}
