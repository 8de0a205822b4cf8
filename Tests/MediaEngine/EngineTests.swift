import KoineBase
import KoineCodecs
import KoineTransport
import Testing

@testable import KoineMedia
@testable import KoineMediaEngine

private final class Screen: VideoSink, AudioSink, Sendable {
  let stamps = Lock<[Stamp?]>([])
  let samples = Lock<[Int16]>([])
  func render(_ frame: VideoFrame) { stamps.withLock { $0.append(StampReader.read(frame)) } }
  func play(_ block: AudioBlock) { samples.withLock { $0 += block.samples } }
}

@Suite struct VideoPipelineTests {
  private func call(
    _ source: String, bitrate: Int, seconds: Int,
    during: (VideoSendPipeline, VideoReceivePipeline, Scheduler) -> Void = { _, _, _ in }
  ) throws -> (screen: Screen, wire: SimulatedWire, figures: VideoReceiveStatistics) {
    let scheduler = Scheduler.virtual()
    let receive = VideoReceivePipeline(scheduler: scheduler) {}
    let screen = Screen()
    receive.addSink(screen)
    let wire = SimulatedWire(scheduler) { receive.push($0) }
    var settings = VideoSendSettings()
    settings.maxBitrate = bitrate
    let send = VideoSendPipeline(
      source: try Devices.camera(source), settings: settings, scheduler: scheduler, output: wire)
    try send.start()
    during(send, receive, scheduler)
    scheduler.advance(to: scheduler.now + .seconds(seconds))
    return (screen, wire, receive.statistics)
  }

  @Test func stampIsReadableAt100KilobitsPerSecond() throws {
    let result = try call("stamp:Ana,160x90@15", bitrate: 100_000, seconds: 4)
    let stamps = result.screen.stamps.withLock { $0 }
    #expect(stamps.count >= 58)
    #expect(stamps.allSatisfy { $0?.name == "Ana" })
    #expect(stamps.compactMap { $0?.number } == (0..<UInt32(stamps.count)).map { $0 })
    #expect(result.wire.bytes * 8 / 4 < 160_000)
  }

  @Test func framesAreRenderedOnceAndOnTime() throws {
    let result = try call("pattern:320x180@30", bitrate: 400_000, seconds: 5)
    #expect(result.figures.rendered >= 148)
    #expect(result.figures.freezes == 0)
    #expect(result.figures.latency95 < 25)
    #expect(result.wire.keys == 1, "one key frame, as nobody asked for more")
  }

  @Test func keyFrameIsSentOnRequestAndAfterUnmute() throws {
    let result = try call("pattern:160x90@30", bitrate: 200_000, seconds: 2) { send, _, scheduler in
      scheduler.advance(to: scheduler.now + .seconds(1))
      send.requestKeyFrame(layer: 0)
      scheduler.advance(to: scheduler.now + .seconds(1))
      send.setMuted(true)
      scheduler.advance(to: scheduler.now + .seconds(1))
      send.setMuted(false)
    }
    #expect(result.wire.keys == 3)
    #expect((110...125).contains(result.wire.frames), "nothing is sent while muted")
  }

  /// The camera's next frame would come half a second later.
  @Test func requestedKeyFrameIsMadeOfTheLastFrameAtOnce() throws {
    var requested = Tick.zero
    let result = try call("pattern:160x90@1", bitrate: 200_000, seconds: 1) { send, _, scheduler in
      scheduler.advance(to: scheduler.now + .milliseconds(1_500))
      requested = scheduler.now
      for _ in 0..<20 {
        send.sendKeyFrame(layer: 0)
        scheduler.advance(to: scheduler.now + .milliseconds(1))
      }
      #expect(send.statistics.keyFrames == 2, "a second request within 30 ms waits for the camera")
    }
    #expect(result.wire.log.map(\.isKey) == [true, false, true, true])
    #expect(result.wire.log[2].captured == requested - .milliseconds(1))
    #expect(result.wire.log[3].captured == requested + .milliseconds(500), "the next frame keeps its time")
    #expect(zip(result.wire.log, result.wire.log.dropFirst()).allSatisfy { $0.captured < $1.captured })
  }

  @Test func frameFromBeforeAPauseIsNotSentAgain() throws {
    let result = try call("pattern:160x90@1", bitrate: 200_000, seconds: 1) { send, _, scheduler in
      scheduler.advance(to: scheduler.now + .milliseconds(1_200))
      send.setMuted(true)
      send.sendKeyFrame(layer: 0)
      scheduler.advance(to: scheduler.now + .milliseconds(200))
      send.setMuted(false)
      send.sendKeyFrame(layer: 0)
      scheduler.advance(to: scheduler.now + .milliseconds(200))
      #expect(send.statistics.encoded == 2)
    }
    #expect(result.wire.log.map(\.isKey) == [true, false, true])
  }

  @Test func noFrameIsRenderedAfterStop() throws {
    let result = try call("stamp:Ana,160x90@30", bitrate: 100_000, seconds: 3) { send, receive, scheduler in
      scheduler.advance(to: scheduler.now + .seconds(1))
      send.stop()
      receive.stop()
    }
    #expect(result.screen.stamps.withLock { $0.count } <= 31)
  }

  /// A frame above the size limit is refused before the decoder allocates.
  @Test func framesAboveTheSizeLimitAreNotDecoded() throws {
    func statistics(width: Int, height: Int) throws -> VideoReceiveStatistics {
      let scheduler = Scheduler.virtual()
      let receive = VideoReceivePipeline(scheduler: scheduler) {}
      var encoder = try VideoEncoder(VideoEncoderSettings(width: width, height: height))
      let frame = FramePool().make(width: width, height: height, captured: .zero) { planes in
        planes.y.update(repeating: 100, count: planes.lumaStride * height)
        for plane in [planes.u, planes.v] {
          plane.update(repeating: 100, count: planes.chromaStride * planes.chromaHeight)
        }
      }
      let picture = try #require(try encoder.encode(frame, forceKey: true))
      receive.push(EncodedFrame(codec: .vp8, data: picture.data, captured: .zero, rtpTimestamp: 0, isKey: true))
      scheduler.advance(to: scheduler.now + .seconds(1))
      return receive.statistics
    }
    #expect(try statistics(width: 4_096, height: 2_304).decoded == 1)
    let tooLarge = try statistics(width: 4_112, height: 2_304)
    #expect(tooLarge.decoded == 0)
    #expect(tooLarge.dropped == 1)
  }

  /// The pool does not keep many large unused frames.
  @Test func unusedFramesOfAllSizesAreBounded() {
    let pool = FramePool(limit: 16)
    for size in [1_024, 2_048, 4_096] {
      let frames = (0..<16).map { _ in pool.make(width: size, height: size, captured: .zero) { _ in } }
      #expect(frames.count == 16)
    }
    #expect((1...40).contains(pool.unusedCount))
    let large = (0..<16).map { _ in pool.make(width: 4_096, height: 4_096, captured: .zero) { _ in } }
    withExtendedLifetime(large) {}
    #expect(pool.unusedCount * 1_024 * 1_024 * 3 / 2 <= 64 << 20)
  }

  /// Invalid rates and sizes are replaced by the nearest valid ones.
  @Test func invalidSettingsAreClamped() throws {
    for (rate, bitrate) in [(0.0, Int.max), (.nan, .min), (.infinity, 0), (-1, 1)] {
      let scheduler = Scheduler.virtual()
      var settings = VideoSendSettings()
      (settings.maxFramesPerSecond, settings.maxBitrate) = (rate, bitrate)
      settings.lowerLayers = [
        VideoLayer(maximumWidth: .min, maximumHeight: .max, maximumBitrate: .max, maximumFramesPerSecond: rate)
      ]
      let wire = SimulatedWire(scheduler) { _ in }
      let source = PatternSource(format: VideoFormat(width: 160, height: 90, framesPerSecond: rate))
      let send = VideoSendPipeline(source: source, settings: settings, scheduler: scheduler, output: wire)
      try send.start()
      send.setTargetBitrate(.max)
      scheduler.advance(to: scheduler.now + .milliseconds(100))
      send.stop()
    }
  }

  @Test func frameSizeFollowsTargetBitrateDownAndUp() throws {
    let result = try call("pattern:640x360@30", bitrate: 1_000_000, seconds: 2) { send, receive, scheduler in
      send.setTargetBitrate(70_000)
      scheduler.advance(to: scheduler.now + .seconds(2))
      #expect(receive.statistics.width < 640)
      send.setTargetBitrate(1_000_000)
    }
    #expect(result.figures.width == 640)
  }
}

extension EncodingPlanTests {
  /// If frames are dropped, the encoder must know the reduced rate. Otherwise it gives each frame a third of its bits.
  @Test func encoderKnowsTheFrameRateOfTheReducedPlan() throws {
    let scheduler = Scheduler.virtual()
    let wire = SimulatedWire(scheduler) { _ in }
    var settings = VideoSendSettings()
    settings.degradation = .keepsSize
    let send = VideoSendPipeline(
      source: try Devices.camera("pattern:640x360@30"), settings: settings, scheduler: scheduler, output: wire)
    try send.start()
    scheduler.advance(to: scheduler.now + .seconds(1))
    #expect(send.encoderSettings(ofLayer: 0)?.framesPerSecond == 30)
    send.setTargetBitrate(50_000)
    scheduler.advance(to: scheduler.now + .seconds(2))
    #expect(send.encoderSettings(ofLayer: 0)?.framesPerSecond == 10)
    send.setTargetBitrate(1_000_000)
    scheduler.advance(to: scheduler.now + .seconds(2))
    #expect(send.encoderSettings(ofLayer: 0)?.framesPerSecond == 30)
    #expect(send.statistics.failed == 0)
    #expect(wire.keys == 1, "a change of the rate needs no key frame")
    send.stop()
  }
}

@Suite struct AudioSendTests {
  @Test func sentPacketsReuseTheirBuffers() throws {
    let scheduler = Scheduler.virtual()
    let wire = SimulatedWire(scheduler) { _ in }
    let send = AudioSendPipeline(
      source: try Devices.microphone("tone"), settings: AudioSendSettings(), scheduler: scheduler, output: wire)
    try send.start()
    scheduler.advance(to: scheduler.now + .seconds(10))
    #expect(send.statistics.packets > 450)
    #expect((1...8).contains(send.allocations))
    send.stop()
  }
}

@Suite struct EncodingPlanTests {
  /// Size and frame rate at which a plan settles for a bitrate.
  private func settled(_ degradation: VideoDegradation, bitrate: Int) -> String {
    let limits = VideoLayer(maximumWidth: 640, maximumHeight: 360, maximumBitrate: 1_000_000)
    var plan = EncodingPlan(limits: limits, degradation: degradation)
    let frame = FramePool().make(width: 640, height: 360, captured: .zero) { _ in }
    var size = (width: 0, height: 0)
    for _ in 0..<10 { size = plan.size(for: frame, bitrate: bitrate) }
    for _ in 0..<10 { #expect(plan.size(for: frame, bitrate: bitrate) == size, "it does not waver") }
    let result = "\(size.width)x\(size.height)@\(Int(plan.framesPerSecond.rounded()))"
    for _ in 0..<10 { size = plan.size(for: frame, bitrate: 1_000_000) }
    #expect(size == (640, 360) && plan.framesPerSecond == 30, "all comes back")
    return result
  }

  @Test func degradationPreferenceDeterminesWhatIsReduced() {
    #expect(settled(.keepsFrameRate, bitrate: 100_000) == "480x270@30")
    #expect(settled(.keepsFrameRate, bitrate: 50_000) == "320x180@30")
    #expect(settled(.keepsSize, bitrate: 140_000) == "640x360@20")
    #expect(settled(.keepsSize, bitrate: 50_000) == "640x360@10")
    #expect(settled(.balanced, bitrate: 100_000) == "480x270@30")
    #expect(settled(.balanced, bitrate: 70_000) == "480x270@20")
    #expect(settled(.balanced, bitrate: 40_000) == "320x180@20")
    for degradation in VideoDegradation.allCases {
      #expect(settled(degradation, bitrate: 500_000) == "640x360@30")
    }
  }

  @Test func targetBitrateBelowTheMinimumIsIgnored() throws {
    let scheduler = Scheduler.virtual()
    let wire = SimulatedWire(scheduler) { _ in }
    var settings = VideoSendSettings()
    settings.minBitrate = 300_000
    let send = VideoSendPipeline(
      source: try Devices.camera("pattern:640x360@30"), settings: settings, scheduler: scheduler, output: wire)
    try send.start()
    send.setTargetBitrate(10_000)
    scheduler.advance(to: scheduler.now + .seconds(4))
    #expect(send.statistics.width == 640)
    #expect(wire.bytes * 8 / 4 > 150_000)
    send.stop()
  }
}

@Suite struct AudioPipelineTests {
  private func call(_ trouble: SimulatedWire.Impairment, seconds: Int) throws -> (Screen, AudioReceiveStatistics) {
    let scheduler = Scheduler.virtual()
    let talker = AudioReceivePipeline(scheduler: scheduler)
    let mixer = PlayoutMixer(scheduler: scheduler, sink: nil)
    let ear = Screen()
    talker.addSink(ear)
    mixer.add(talker)
    let wire = SimulatedWire(scheduler, trouble) { talker.push($0) }
    let send = AudioSendPipeline(
      source: try Devices.microphone("tone"), settings: AudioSendSettings(), scheduler: scheduler, output: wire)
    send.setExpectedLoss(trouble.loss)
    try send.start()
    scheduler.advance(to: scheduler.now + .seconds(seconds))
    return (ear, talker.statistics)
  }

  @Test func noAudioIsConcealedOnIdealNetwork() throws {
    let (ear, figures) = try call(.init(), seconds: 10)
    #expect(figures.concealed == 0)
    #expect(figures.accelerated == 0)
    #expect(figures.stretched == 0)
    #expect(ear.samples.withLock { $0.count } > 48_000 * 9)
    #expect(figures.bufferDelay <= 40)
  }

  /// A different steady sound in each channel.
  private final class TwoChannels: AudioSource, Sendable {
    let channels = 2
    private let ticks = SteadyTicks()

    func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
      ticks.start(every: AudioBlock.duration, on: lane) { _, due in
        var block = AudioBlock(channels: 2, captured: due)
        for index in 0..<AudioBlock.length {
          block.samples[2 * index] = index % 96 < 48 ? 6_000 : -6_000
          block.samples[2 * index + 1] = index % 24 < 12 ? 2_000 : -2_000
        }
        deliver(block)
      }
    }

    func stop() { ticks.stop() }
  }

  /// The last block of the loudspeaker, and of one talker's own sink, of a talker with two channels and another with one.
  private func playStereo(mostChannels: Int, with settings: AudioSendSettings) throws -> (AudioBlock?, AudioBlock?) {
    final class Last: AudioSink, Sendable {
      let block = Lock<AudioBlock?>(nil)
      func play(_ block: AudioBlock) { self.block.withLock { $0 = block } }
    }
    let scheduler = Scheduler.virtual()
    let (loudspeaker, own) = (Last(), Last())
    let mixer = PlayoutMixer(scheduler: scheduler, sink: loudspeaker, mostChannels: mostChannels)
    let (stereo, mono) = (AudioReceivePipeline(scheduler: scheduler), AudioReceivePipeline(scheduler: scheduler))
    stereo.addSink(own)
    for talker in [mono, stereo] { mixer.add(talker) }
    let senders = [
      AudioSendPipeline(
        source: TwoChannels(), settings: settings, scheduler: scheduler,
        output: SimulatedWire(scheduler) { stereo.push($0) }),
      AudioSendPipeline(
        source: try Devices.microphone("silence"), settings: AudioSendSettings(), scheduler: scheduler,
        output: SimulatedWire(scheduler) { mono.push($0) }),
    ]
    for sender in senders { try sender.start() }
    scheduler.advance(to: scheduler.now + .seconds(2))
    return (loudspeaker.block.withLock { $0 }, own.block.withLock { $0 })
  }

  private func loudness(_ block: AudioBlock, channel: Int) -> Int {
    stride(from: channel, to: block.samples.count, by: block.channels).map { Int(block.samples[$0].magnitude) }.max()
      ?? 0
  }

  @Test func twoChannelsStayDifferentUpToTheLoudspeaker() throws {
    var settings = AudioSendSettings()
    (settings.channels, settings.bitrate) = (2, 96_000)
    let (played, own) = try playStereo(mostChannels: 2, with: settings)
    for block in [try #require(played), try #require(own)] {
      #expect(block.channels == 2)
      #expect(loudness(block, channel: 0) > 2 * loudness(block, channel: 1))
    }
  }

  @Test func loudspeakerOfOneChannelGetsTheMeanOfTwo() throws {
    var settings = AudioSendSettings()
    (settings.channels, settings.bitrate) = (2, 96_000)
    let (played, own) = try playStereo(mostChannels: 1, with: settings)
    #expect(played?.channels == 1)
    #expect(own?.channels == 2, "a talker's own sink gets what was sent")
    let (mix, both) = (try #require(played), try #require(own).with(channels: 1))
    #expect(zip(mix.samples, both.samples).allSatisfy { abs(Int($0) - Int($1)) < 20 })
    #expect(loudness(mix, channel: 0) > 1_000)
  }

  @Test func stereoSourceIsSentInOneChannelWhereOneIsAskedFor() throws {
    let (played, own) = try playStereo(mostChannels: 2, with: AudioSendSettings())
    #expect(played?.channels == 1)
    #expect(own?.channels == 1)
  }

  @Test func jitterBufferCoversNetworkJitter() throws {
    let (_, figures) = try call(.init(jitter: .milliseconds(80)), seconds: 20)
    #expect(figures.concealedFraction < 0.03)
    #expect(figures.bufferDelay > 60)
  }

  @Test func packetLossIsConcealedAndPartlyCorrected() throws {
    let (_, figures) = try call(.init(loss: 0.10, jitter: .milliseconds(10)), seconds: 20)
    #expect(figures.corrected > 0)
    #expect(figures.concealedFraction < 0.12)
    #expect(figures.concealed > 0)
  }

  /// Under loss, pauses and tempo changes. `koine-benchmark engine-opus` counts the blocks.
  @Test func decodingAllocatesNoMemoryAfterStart() throws {
    let scheduler = Scheduler.virtual()
    let talker = AudioReceivePipeline(scheduler: scheduler)
    let mixer = PlayoutMixer(scheduler: scheduler, sink: nil)
    mixer.add(talker)
    let wire = SimulatedWire(scheduler, .init(loss: 0.05, jitter: .milliseconds(60))) { talker.push($0) }
    let send = AudioSendPipeline(
      source: try Devices.microphone("tone"), settings: AudioSendSettings(), scheduler: scheduler, output: wire)
    try send.start()
    scheduler.advance(to: scheduler.now + .seconds(5))
    let memory = talker.memory
    scheduler.advance(to: scheduler.now + .seconds(20))
    #expect(talker.memory == memory)
    let figures = talker.statistics
    #expect(figures.concealed > 0)
    #expect(figures.accelerated > 0)
    #expect(figures.stretched > 0)
    send.stop()
    mixer.stop()
  }

  @Test func mixerDeliversSilenceForSilentStreamsUntilStopped() {
    let scheduler = Scheduler.virtual()
    let ear = Screen()
    let mixer = PlayoutMixer(scheduler: scheduler, sink: ear)
    for _ in 0..<2 { mixer.add(AudioReceivePipeline(scheduler: scheduler)) }
    scheduler.advance(to: scheduler.now + .milliseconds(100))
    #expect(ear.samples.withLock { $0.allSatisfy { $0 == 0 } && $0.count >= 4_800 })
    mixer.stop()
    let count = ear.samples.withLock { $0.count }
    scheduler.advance(to: scheduler.now + .seconds(1))
    #expect(ear.samples.withLock { $0.count } == count)
  }
}

@Suite struct TimeStretchTests {
  @Test func timeStretchKeepsAToneContinuous() {
    let tone = (0..<960).map { Int16(8_000 * sine(Double($0) * 200 / 48_000)) }
    for shorter in [true, false] {
      var pcm = tone
      var stretch = TimeStretch(channels: 1)
      let isDone = shorter ? stretch.shorten(&pcm) : stretch.lengthen(&pcm)
      #expect(isDone)
      let change = shorter ? 960 - pcm.count : pcm.count - 960
      #expect([240, 480].contains { abs($0 - change) <= 4 }, "whole periods of 200 Hz")
      let steps = zip(pcm, pcm.dropFirst()).map { abs(Int($0) - Int($1)) }
      #expect(steps.max() ?? 0 < 400, "no jump larger than the tone's own")
    }
  }

  @Test func timeStretchDoesNotShortenNoise() {
    var random = SeededRandom(seed: 3)
    var noise = (0..<960).map { _ in Int16.random(in: -8_000...8_000, using: &random) }
    var stretch = TimeStretch(channels: 1)
    let isDone = stretch.shorten(&noise)
    #expect(!isDone)
    #expect(noise.count == 960)
  }
}

@Suite struct StreamSyncTests {
  @Test(arguments: [-30, 0, 70]) func smallAudioVideoOffsetsAreIgnored(lag: Int) {
    let sync = StreamSync()
    for second in 0..<20 {
      sync.soundPlayed(after: .milliseconds(100 + lag), at: Tick(nanoseconds: Int64(second) * 1_000_000_000))
      sync.pictureShown(after: .milliseconds(100), at: Tick(nanoseconds: Int64(second) * 1_000_000_000))
    }
    #expect(sync.soundHold == .zero)
    #expect(sync.pictureHold == .zero)
  }

  @Test func lateAudioDelaysVideoInStepsOf80Milliseconds() {
    let sync = StreamSync()
    var holds: [Duration] = []
    for second in 0..<6 {
      sync.soundPlayed(after: .milliseconds(400), at: Tick(nanoseconds: Int64(second) * 1_000_000_000))
      sync.pictureShown(
        after: .milliseconds(100) + sync.pictureHold, at: Tick(nanoseconds: Int64(second) * 1_000_000_000))
      holds.append(sync.pictureHold)
    }
    #expect(zip(holds, holds.dropFirst()).allSatisfy { $1 - $0 <= .milliseconds(80) })
    #expect(sync.pictureHold >= .milliseconds(160))
  }
}

@Suite struct DeviceTextTests {
  @Test(arguments: [
    "pattern:0x0", "pattern:axb", "pattern:640x360@0", "stamp:A,9", "tone:x", "tone:5", "nothing", "silence:1",
  ])
  func invalidDeviceTextIsRefused(text: String) {
    #expect(throws: DeviceError.self) {
      if text.hasPrefix("tone") || text.hasPrefix("silence") {
        _ = try Devices.microphone(text)
      } else {
        _ = try Devices.camera(text)
      }
    }
  }

  @Test func deviceTextSetsTheVideoFormat() throws {
    let format = try Devices.camera("pattern:320x240@15").format
    #expect(format == VideoFormat(width: 320, height: 240, framesPerSecond: 15))
  }
}
