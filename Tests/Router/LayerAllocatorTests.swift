import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

private func ms(_ count: Int) -> Tick { Tick(nanoseconds: Int64(count) * 1_000_000) }

struct LayerAllocatorTests {
  private typealias Layer = LayerAllocator.Layer
  private typealias Stream = LayerAllocator.Stream

  /// Three simulcast layers of 150, 600 and 2,400 kbit/s, of which the smallest is forwarded unless told otherwise.
  private func stream(
    _ layers: [Layer] = (0..<3).map { Layer(number: $0, maximumBitrate: 150_000 << (2 * $0)) },
    preference: LayerPreference = LayerPreference(), current: Int? = 0, target: Int = 0, mayGoUp: Bool = true
  ) -> Stream {
    Stream(layers, preference: preference, current: current, target: target, mayGoUp: mayGoUp)
  }

  /// - Returns: the layer of each stream after the allocation.
  private func layers(_ streams: [Stream], _ headroom: Double) -> [Int] {
    let decisions = LayerAllocator.allocate(streams, within: headroom).decisions
    return zip(streams, decisions).map { $1?.choice.layer ?? $0.target }
  }

  // MARK: Bitrates

  @Test func smallChangeOfTheEstimateIsDeferredToTheRegularCheck() {
    var allocator = LayerAllocator()
    #expect(allocator.headroom(besideAudio: 48_000) == .infinity)
    for (estimate, isNews) in [(1_000_000, true), (1_040_000, false), (1_050_000, true), (1_000_000, true)] {
      let changed = allocator.updateEstimate(estimate)
      #expect(changed == isNews)
    }
    #expect(allocator.headroom(besideAudio: 50_000) == 900_000)
    allocator.reset()
    #expect(allocator.headroom(besideAudio: 0) == .infinity)
  }

  /// An estimate that rises in small steps counts whole at the next regular check.
  @Test func estimateThatRisesInSmallStepsIsNotLost() {
    var allocator = LayerAllocator()
    for (estimate, isUrgent) in [(500_000, true), (510_000, false), (519_000, false), (521_000, true)] {
      let answer = allocator.updateEstimate(estimate)
      #expect(answer == isUrgent)
      #expect(allocator.headroom(besideAudio: 0) == Double(estimate) * 0.95)
    }
  }

  @Test func wantedBitrateReachesTheLastSwitchUpAndNoFurtherThanTheLimit() {
    #expect(LayerAllocator.rate(ofAudioWithCopies: 2) == 110_000)
    let wanted = LayerAllocator.wantedBitrate(video: 2_400_000, audio: 48_000)
    var allocator = LayerAllocator()
    _ = allocator.updateEstimate(wanted * 98 / 100 + 1)  // as reported
    #expect(allocator.headroom(besideAudio: 48_000) >= 2_400_000 * 1.1)
    #expect(LayerAllocator.wantedBitrate(video: 1e18, audio: 0) == SignalingLimits.bitrate)
  }

  // MARK: One stream

  @Test(arguments: [
    (100_000.0, 0), (600_000, 0), (659_000, 0), (661_000, 1), (2_600_000, 1), (2_650_000, 2), (.infinity, 2),
  ]) func switchUpNeedsTenPercentMore(_ headroom: Double, _ layer: Int) {
    #expect(layers([stream()], headroom) == [layer])
  }

  @Test func currentLayerNeedsNoMargin() {
    #expect(layers([stream(current: 1, target: 1)], 600_000) == [1])
    #expect(layers([stream(current: 1, target: 1)], 599_000) == [0])
  }

  @Test func backoffDelaysTheSwitchUp() {
    #expect(layers([stream(mayGoUp: false)], .infinity) == [0])
    #expect(layers([stream(current: 1, target: 1, mayGoUp: false)], .infinity) == [1])
  }

  @Test func decisionHasADirection() {
    func direction(_ stream: Stream, _ headroom: Double) -> LayerAllocator.Decision.Direction? {
      LayerAllocator.allocate([stream], within: headroom).decisions[0]?.direction
    }
    #expect(direction(stream(), .infinity) == .up)
    #expect(direction(stream(current: 2, target: 2), 700_000) == .down)
    #expect(direction(stream(current: nil, target: 2), 700_000) == .neither, "nothing is forwarded yet")
    #expect(direction(stream(), 100_000) == nil, "nothing changes")
    var layers = (0..<3).map { Layer(number: $0, maximumBitrate: 150_000 << (2 * $0)) }
    layers[2].isAvailable = false
    #expect(direction(stream(layers, current: 2, target: 2), .infinity) == .neither, "the layer has gone")
  }

  @Test func lowestTemporalLayersBridgeTheSwitchDownWhereTheyFit() {
    func keepsBase(_ temporalLayers: Int, from current: Int) -> Bool? {
      let layers = (0..<3).map {
        Layer(number: $0, temporalLayers: temporalLayers, maximumBitrate: 150_000 << (2 * $0))
      }
      return LayerAllocator.allocate([stream(layers, current: current, target: current)], within: 150_000)
        .decisions[0]?.keepsBase
    }
    #expect(keepsBase(3, from: 1) == true, "240 of twice 150 kbit/s")
    #expect(keepsBase(1, from: 1) == false)
    #expect(keepsBase(3, from: 2) == false)
  }

  @Test func temporalLayersAreChoicesBelowTheSmallestLayer() {
    let choices = stream([Layer(number: 0, temporalLayers: 3, maximumBitrate: 100_000), Layer(number: 1)]).choices
    #expect(choices.map(\.rate) == [40_000, 60_000, 100_000, 400_000])
    #expect(choices.map(\.temporalLayers) == [0, 1, TemporalFilter.all, TemporalFilter.all])
    let two = stream([Layer(number: 0, temporalLayers: 2, maximumBitrate: 100_000)]).choices
    #expect(two.map(\.rate) == [60_000, 100_000])
  }

  @Test func layerWithAHigherBitrateThanTheNextIsNotChosen() {
    let layers = [
      Layer(number: 0, maximumBitrate: 150_000), Layer(number: 1, maximumBitrate: 900_000),
      Layer(number: 2, maximumBitrate: 800_000),
    ]
    #expect(stream(layers).choices.map(\.layer) == [0, 2])
  }

  @Test func announcedBitrateIsUsedUnlessTheForwardedLayerTakesLess() {
    func rate(_ layer: Layer, current: Int?) -> Double { stream([layer], current: current).least }
    let announced = Layer(number: 0, maximumBitrate: 500_000, bitrate: 200_000, lastBitrate: 300_000)
    #expect(rate(announced, current: nil) == 500_000)
    #expect(rate(announced, current: 0) == 200_000 * 1.1)
    #expect(rate(Layer(number: 0, maximumBitrate: 500_000, bitrate: 900_000), current: 0) == 500_000)
    let silent = Layer(number: 0, lastBitrate: 300_000)
    #expect(rate(silent, current: nil) == 300_000 * 1.1)
    #expect(rate(Layer(number: 0), current: nil) == 100_000, "never sent")
    #expect(stream((0..<3).map { Layer(number: $0) }).choices.map(\.rate) == [100_000, 400_000, 1_600_000])
  }

  @Test func preferenceBoundsTheChoices() {
    var layers = (0..<3).map { Layer(number: $0, height: 180 << $0, maximumBitrate: 150_000 << (2 * $0)) }
    func choices(_ preference: LayerPreference) -> [Int] { stream(layers, preference: preference).choices.map(\.layer) }
    #expect(choices(LayerPreference(layer: 1)) == [1])
    #expect(choices(LayerPreference(layer: 7)) == [0, 1, 2], "there is no such layer")
    #expect(choices(LayerPreference(maximumHeight: 180)) == [0])
    #expect(choices(LayerPreference(maximumHeight: 200)) == [0, 1])
    #expect(choices(LayerPreference(maximumHeight: 2_000)) == [0, 1, 2])
    layers[1].isAvailable = false
    #expect(choices(LayerPreference(layer: 1)) == [0, 2])
    #expect(choices(LayerPreference(maximumHeight: 200)) == [0, 2])
    for layer in layers.indices { layers[layer].isAvailable = false }
    #expect(choices(LayerPreference()) == [0, 1, 2], "no layer arrives: any may come")
  }

  // MARK: Several streams

  @Test func higherPriorityRisesFirst() {
    let streams = [stream(preference: LayerPreference(priority: 1)), stream()]
    #expect(layers(streams, 850_000) == [1, 0])
    #expect(layers([stream(), stream()], 850_000) == [1, 0], "in order where priorities are equal")
    #expect(layers([stream(), stream()], 1_300_000) == [1, 1])
  }

  @Test func streamKeepsItsLayerBeforeAnotherRises() {
    #expect(layers([stream(), stream(current: 1, target: 1)], 850_000) == [0, 1])
  }

  @Test(arguments: 1...20) func randomStreamsStayWithinTheHeadroom(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<50 {
      let streams = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        let layers = (0..<Int.random(in: 1...3, using: &random)).map { number in
          Layer(
            number: number, isAvailable: .random(using: &random), temporalLayers: .random(in: 1...3, using: &random),
            maximumBitrate: .random(in: 10_000...3_000_000, using: &random))
        }
        return stream(
          layers, current: .random(using: &random) ? layers.indices.randomElement(using: &random) : nil,
          target: layers.indices.randomElement(using: &random) ?? 0, mayGoUp: .random(using: &random))
      }
      let headroom = Double.random(in: 0...10_000_000, using: &random)
      let allocation = LayerAllocator.allocate(streams, within: headroom)
      #expect(allocation == LayerAllocator.allocate(streams, within: headroom))
      var taken = 0.0
      for (stream, decision) in zip(streams, allocation.decisions) {
        if let decision {
          #expect(stream.choices.contains(decision.choice))
          #expect(decision.choice.layer != stream.target || decision.choice.temporalLayers != stream.temporalTarget)
          if !stream.mayGoUp, stream.choices.contains(where: { $0.layer <= stream.target }) {
            #expect(decision.choice.layer <= stream.target)
          }
        }
        taken +=
          decision?.choice.rate
          ?? stream.choices.first { ($0.layer, $0.temporalLayers) == (stream.target, stream.temporalTarget) }?.rate ?? 0
      }
      let least = streams.reduce(0) { $0 + $1.least }
      #expect(taken <= max(headroom, least) + 1)
      let all = streams.reduce(0) { $0 + ($1.choices.last?.rate ?? 0) }
      #expect(abs(allocation.wanted - all) < 1)
    }
  }
}

struct LayerUpgradeBackoffTests {
  @Test func switchDownSoonAfterSwitchUpDoublesTheBackoff() {
    var backoff = LayerUpgradeBackoff()
    backoff.cameDown(at: ms(0))
    #expect(backoff.mayGoUp(at: ms(0)))
    var pauses: [Int] = []
    var now = 0
    for _ in 0..<4 {
      backoff.wentUp(at: ms(now))
      backoff.cameDown(at: ms(now + 1_000))
      now += 1_000
      var pause = 0
      while !backoff.mayGoUp(at: ms(now + pause)) { pause += 1_000 }
      pauses.append(pause)
      now += pause
    }
    #expect(pauses == [4_000, 8_000, 16_000, 30_000])
    backoff.reset()
    #expect(backoff.mayGoUp(at: ms(now)))
  }

  @Test func switchDownLongAfterSwitchUpCausesNoBackoff() {
    var backoff = LayerUpgradeBackoff()
    backoff.wentUp(at: ms(0))
    backoff.cameDown(at: ms(10_000))
    #expect(backoff.mayGoUp(at: ms(10_000)))
  }
}
