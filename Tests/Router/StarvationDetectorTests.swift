import KoineBase
import KoineSignaling
import KoineSimulatedNetwork
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct StarvationDetectorTests {
  /// A receiver's streams, looked at every 100 ms.
  private struct Receiver {
    var streams: [StarvationDetector.Stream]
    var now = ms(0)

    init(_ leasts: Double...) { streams = leasts.map { .init(detector: StarvationDetector(), least: $0) } }

    mutating func review(_ headroom: Double, isSilent: Bool = false) -> StarvationDetector.Decision {
      defer { now += .milliseconds(100) }
      return StarvationDetector.review(&streams, headroom: headroom, isSilent: isSilent, at: now)
    }

    /// - Returns: in tenths of a second, when the first stream is paused or resumed for the first time.
    mutating func change(within steps: Int = 600, _ headroom: (Int) -> Double) -> Int? {
      (0..<steps).first { review(headroom($0)) != StarvationDetector.Decision() }
    }

    var starved: [Bool] { streams.map(\.detector.isStarved) }
  }

  /// - Returns: in tenths of a second, when a stream that takes 10 Mbit/s is paused.
  private func pause(_ headroom: (Int) -> Double) -> Int? {
    var receiver = Receiver(10_000_000)
    return receiver.change(headroom)
  }

  // MARK: Transitions

  /// The estimate of a new path begins low on every path.
  @Test func streamIsNotPausedWhileTheHeadroomGrows() {
    #expect(pause { min(1_500_000 + Double($0) * 100_000, 20_000_000) } == nil)
  }

  @Test func streamThatDoesNotFitIsPausedAfterFourSeconds() {
    #expect(pause { _ in 1_500_000 } == 40)
    #expect(pause { _ in -100_000 } == 40)
    #expect(pause { min(1_500_000 + Double($0) * 100_000, 4_000_000) }.map { 50...70 ~= $0 } == true)
    #expect(pause { 3_000_000 + 1_000_000 * Double($0 % 7) / 7 }.map { 40...50 ~= $0 } == true, "it wavers")
  }

  @Test func streamThatFitsNowAndThenIsNotPaused() {
    #expect(pause { $0 % 39 == 38 ? 8_000_000 : 7_900_000 } == nil)
  }

  @Test func streamThatFitsFourFifthsIsNotPaused() {
    #expect(pause { _ in 8_000_000 } == nil)
    #expect(pause { _ in 7_999_999 } == 40)
  }

  @Test func starvedStreamResumesAfterTwoSecondsWith20PercentHeadroom() {
    var receiver = Receiver(1_000_000)
    #expect(receiver.change { _ in 100_000 } == 40)
    #expect(receiver.starved == [true])
    #expect(receiver.change { _ in 1_199_999 } == nil)
    #expect(receiver.change { $0 % 20 == 19 ? 1_199_999 : 1_200_000 } == nil, "the wait begins again")
    #expect(receiver.change { _ in 1_200_000 } == 20)
    #expect(receiver.starved == [false])
  }

  @Test func starvedStreamResumesAtTheBitrateAtWhichItStarved() {
    var receiver = Receiver(1_000_000)
    #expect(receiver.change { _ in 100_000 } == 40)
    receiver.streams[0].least = 5_000_000
    #expect(receiver.streams[0].detector.need(5_000_000) == 1_200_000)
    #expect(receiver.change { _ in 1_200_000 } == 20)
  }

  @Test func silentReceiverKeepsItsStreams() {
    var receiver = Receiver(1_000_000)
    for _ in 0..<100 { #expect(receiver.review(0, isSilent: true) == StarvationDetector.Decision()) }
    #expect(receiver.change { _ in 0 } == 40)
    for _ in 0..<100 { #expect(receiver.review(0, isSilent: true) == StarvationDetector.Decision()) }
    #expect(receiver.starved == [true])
  }

  @Test func endedStarvationIsReportedOnce() {
    var receiver = Receiver(1_000_000)
    var ended = receiver.streams[0].detector.reset()
    #expect(!ended)
    #expect(receiver.change { _ in 0 } == 40)
    ended = receiver.streams[0].detector.reset()
    #expect(ended)
    #expect(receiver.starved == [false])
    #expect(receiver.change { _ in 0 } == 40)
  }

  // MARK: Several streams

  @Test func streamsArePausedOneAtATimeFromTheLowestPriority() {
    var receiver = Receiver(1_000_000, 1_000_000, 1_000_000)
    var paused: [Int] = []
    for step in 0..<300 {
      if let index = receiver.review(1_500_000).paused { paused.append(step * 10 + index) }
    }
    #expect(paused == [402, 801], "the second only once it has not fitted for 4 s without the third")
    #expect(receiver.starved == [false, true, true])
  }

  @Test func streamsResumeFromTheHighestPriority() {
    var receiver = Receiver(1_000_000, 1_000_000)
    for _ in 0..<200 { _ = receiver.review(100_000) }
    #expect(receiver.starved == [true, true])
    var resumed: [[Int]] = []
    for _ in 0..<100 {
      let decision = receiver.review(1_300_000)
      if !decision.resumed.isEmpty { resumed.append(decision.resumed) }
    }
    #expect(resumed == [[0]])
    #expect((0..<30).map { _ in receiver.review(2_200_000).resumed }.filter { !$0.isEmpty } == [[1]])
  }

  @Test(arguments: 1...20) func randomHeadroomGivesConsistentDecisions(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var receiver = Receiver(300_000, 200_000, 500_000, 100_000)
    var headroom = 1_000_000.0
    for _ in 0..<2_000 {
      if Int.random(in: 0..<20, using: &random) == 0 { headroom = .random(in: 0...1_500_000, using: &random) }
      let before = receiver.starved
      let decision = receiver.review(headroom, isSilent: Int.random(in: 0..<50, using: &random) == 0)
      var expected = before
      for index in decision.resumed {
        #expect(before[index])
        expected[index] = false
      }
      if let paused = decision.paused {
        #expect(!before[paused])
        expected[paused] = true
      }
      #expect(receiver.starved == expected)
    }
    for _ in 0..<100 { _ = receiver.review(.infinity) }
    #expect(receiver.starved == [false, false, false, false])
  }

  // MARK: In a call

  /// Resuming needs 20 % more than the 18 Mbit/s of the stream: more than 20 Mbit/s, the former limit of any path.
  @Test(arguments: [true, false]) func streamOfManyMegabitsResumesOnceItsPathIsWide(withAudio: Bool) throws {
    let world = try World()
    let clients = try world.joined("ana", "ben")
    clients[1].wayDown = LinkConditioner(
      spec: try NetworkSpec("rate=2M,delay=20ms;15s:rate=60M"), seed: 3, start: world.now)
    var changes: [Bool] {
      clients[1].messages.compactMap { if case .starved(_, let isStarved) = $0 { isStarved } else { nil } }
    }
    // Without audio nothing at all arrives while the stream is paused.
    if withAudio {
      clients[0].publish(.microphone)
      clients[0].sendAudio("microphone", seconds: 42)
      clients[1].subscribe(to: "ana", "microphone")
    }
    clients[0].publish(.camera, bitrates: [18_000_000])
    clients[1].subscribe(to: "ana", "camera")
    clients[0].sendFrame("camera", number: 0, isKey: true)
    world.run(.seconds(15))
    #expect(changes == [true])
    world.run(.seconds(25))
    #expect(changes == [true, false])
    clients[0].sendFrames("camera", seconds: 1)
    world.run(.seconds(1.2))
    #expect(clients[1].frames("ana", "camera").count > 25)
  }
}
