import AmazonChimeSDK
import Koine
import Testing

/// The guide's sections in their order.
@Suite struct GuideSectionTests {
  private let environment = TestEnvironment()

  @Test func sections1To5SessionStartsAndStops() async throws {
    let app = environment.app("Ana")
    #expect(app.audioVideo.listAudioDevices().map(\.type).prefix(2) == [.audioHandset, .audioBuiltInSpeaker])
    app.audioVideo.chooseAudioDevice(mediaDevice: app.audioVideo.listAudioDevices()[1])
    #expect(app.audioVideo.getActiveAudioDevice()?.type == .audioBuiltInSpeaker)
    try environment.world.delivery.queue.sync {
      try app.audioVideo.start(callKitEnabled: false)
      #expect(app.lines.isEmpty, "nothing is told from inside a call")
    }
    await environment.run()
    #expect(
      app.lines.prefix(5) == [
        "audio connecting", "video connecting", "audio started", "video started ok", "join ana Ana",
      ])
    app.forget()
    app.audioVideo.stop()
    #expect(throws: MediaError.illegalState) { try app.audioVideo.start() }
    await environment.run()
    #expect(app.lines == ["audio stopped ok", "video stopped ok"])
    app.audioVideo.stop()
    try app.audioVideo.start()
    await environment.run()
    #expect(app.lines.contains("audio started"), "one session may be started again")
    #expect(throws: MediaError.illegalState) { try app.audioVideo.start() }
  }

  @Test func section3StartWithoutPermissionThrows() throws {
    let app = environment.app("Ana")
    environment.world.machine.setPermission(.denied, .microphone)
    environment.world.machine.setPermission(.undetermined, .camera)
    #expect(throws: PermissionError.audioPermissionError) { try app.audioVideo.start() }
    #expect(throws: PermissionError.videoPermissionError) { try app.audioVideo.startLocalVideo() }
    try app.audioVideo.start(
      audioVideoConfiguration: AudioVideoConfiguration(audioDeviceCapabilities: .outputOnly))
  }

  @Test func blankAudioHostURLFailsToStart() async {
    let session = World.$current.withValue(environment.world) {
      DefaultMeetingSession(
        configuration: App.configuration("Ana", host: " "), logger: ConsoleLogger(name: "", level: .OFF))
    }
    #expect(throws: MediaError.audioFailedToStart) { try session.audioVideo.start() }
  }

  @Test func sections6And7RosterAndMuteAreReported() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    #expect(!ana.audioVideo.realtimeLocalMute(), "not before the start")
    try ana.audioVideo.start()
    await environment.run()
    ana.forget()
    try ben.audioVideo.start()
    await environment.run()
    #expect(ana.lines(of: "join") == ["join ben Ben"])
    #expect(ana.lines(of: "mute") + ana.lines(of: "unmute") == [], "first seen unmuted is no unmute")
    #expect(ben.lines(of: "join") == ["join ben Ben", "join ana Ana"])
    #expect(ana.told.withLock { $0.volumes["ben"] }?.last == .high)
    ana.forget()
    #expect(ben.audioVideo.realtimeLocalMute())
    await environment.run()
    #expect(ana.lines == ["mute ben Ben"])
    #expect(ana.told.withLock { $0.volumes["ben"] }?.last == .muted)
    #expect(ben.lines.last == "mute ben Ben", "oneself, too")
    #expect(ben.audioVideo.realtimeLocalUnmute())
    await environment.run()
    #expect(ana.lines == ["mute ben Ben", "unmute ben Ben"])
    ben.audioVideo.stop()
    await environment.run()
    #expect(ana.lines.last == "leave ben Ben")
    #expect(!ben.audioVideo.realtimeLocalUnmute())

    for app in [ana, ben] { app.forget() }
    ana.audioVideo.removeRealtimeObserver(observer: ana)
    let volumes = ana.told.withLock { $0.volumes.mapValues(\.count) }
    try ben.audioVideo.start()
    await environment.run()
    #expect(ben.lines(of: "join") == ["join ben Ben", "join ana Ana"])
    #expect(ana.lines.isEmpty)
    #expect(ana.told.withLock { $0.volumes.mapValues(\.count) } == volumes)
  }

  @Test func section8VideoIsSentReceivedAndBound() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    #expect(ana.audioVideo.getActiveCamera()?.type == .videoFrontCamera)
    for app in [ana, ben] {
      try app.audioVideo.start()
      try app.audioVideo.startLocalVideo()
    }
    await environment.run()
    #expect(ana.lines(of: "tile") == ["tile +ana local"], "remote video is off at first")
    #expect(ana.lines.contains("sources +ben"))
    ana.audioVideo.startRemoteVideo()
    await environment.run()
    #expect(ana.lines(of: "tile") == ["tile +ana local", "tile +ben"])
    let view = try #require(ana.view(of: "ben"))
    #expect(view.name == "self")
    #expect(view.frames > 20)
    #expect(ana.tile(of: "ben").map { $0.videoStreamContentWidth == 160 && !$0.isLocalTile && !$0.isContent } == true)
    #expect(try #require(ana.view(of: "ana")).frames > 40, "oneself, without the room's help")
    #expect(ben.lines(of: "tile") == ["tile +ben local"])

    ana.audioVideo.switchCamera()
    #expect(ana.audioVideo.getActiveCamera()?.type == .videoBackCamera)
    await environment.run()
    #expect(ana.lines(of: "tile").count == 2, "the tile stays")

    ana.forget()
    ben.audioVideo.stopLocalVideo()
    await environment.run()
    #expect(ana.lines == ["tile -ben", "sources -ben"])
    try ben.audioVideo.startLocalVideo(config: LocalVideoConfiguration(maxBitRateKbps: 300, simulcastEnabled: false))
    await environment.run()
    #expect(ana.lines.suffix(2) == ["sources +ben", "tile +ben"])
    ana.audioVideo.stopRemoteVideo()
    await environment.run()
    #expect(ana.lines.last == "tile -ben")
    ana.audioVideo.stop()
    await environment.run()
    #expect(ana.lines.suffix(3) == ["tile -ana", "audio stopped ok", "video stopped ok"])
  }

  @Test func section9MetricsAreReportedEverySecond() async throws {
    let (ana, ben) = (environment.app("Ana"), environment.app("Ben"))
    for app in [ana, ben] {
      try app.audioVideo.start()
      try app.audioVideo.startLocalVideo()
      app.audioVideo.startRemoteVideo()
    }
    await environment.run(.seconds(6))
    let metrics = ana.told.withLock { $0.metrics }
    #expect((3...6).contains(metrics.count))
    let last = try #require(metrics.last as? [ObservableMetric: Double])
    #expect(metrics.last?.values.allSatisfy { $0 as? Int != nil && $0 as? Double != nil } == true)
    #expect(last[.videoSendFps].map { (28...31).contains($0) } == true)
    #expect(
      last[.videoSendBitrate].map { $0 > 10_000 } == true && last[.videoReceiveBitrate].map { $0 > 10_000 } == true)
    #expect(last[.audioReceivePacketLossPercent] == 0 && last[.videoReceivePacketLossPercent] == 0)
    #expect(last[.videoAvailableSendBandwidth] != nil)
    #expect(last.keys.allSatisfy { !$0.isContentShareMetric })
  }

  @Test func section11VoiceFocusNeedsAStartedMeeting() async throws {
    let ana = environment.app("Ana")
    #expect(!ana.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true))
    try ana.audioVideo.start()
    await environment.run()
    #expect(!ana.audioVideo.realtimeIsVoiceFocusEnabled())
    #expect(ana.audioVideo.realtimeSetVoiceFocusEnabled(enabled: false))
    ana.audioVideo.stop()
    #expect(!ana.audioVideo.realtimeIsVoiceFocusEnabled())
    await environment.run()
    try ana.audioVideo.start()
    #expect(!ana.audioVideo.realtimeIsVoiceFocusEnabled(), "off at each start")
  }

  @Test func section11VoiceFocusSuppressesMicrophoneNoise() async throws {
    Devices.register(microphone: "fan") { _ throws(DeviceError) in Fan() }
    let environment = TestEnvironment(microphone: "fan")
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    let ears = MediaWatcher()
    ben.observe { [weak ben] event in
      guard case .streamAdded(let stream, let owner) = event, !owner.isLocal, stream.kind.isAudio else { return }
      ben?.attach(ears as any AudioSink, to: stream.id)
    }
    try ana.audioVideo.start()
    await environment.run(.seconds(2))
    let loud = ears.takePower()
    #expect(loud > 100_000)
    #expect(ana.audioVideo.realtimeSetVoiceFocusEnabled(enabled: true))
    #expect(ana.audioVideo.realtimeIsVoiceFocusEnabled())
    await environment.run(.seconds(3))
    _ = ears.takePower()
    await environment.run(.seconds(1))
    #expect(ears.takePower() * 10 < loud, "10 dB")
    #expect(ana.audioVideo.realtimeSetVoiceFocusEnabled(enabled: false))
    await environment.run(.seconds(1))
    _ = ears.takePower()
    await environment.run(.seconds(1))
    #expect(ears.takePower() * 2 > loud, "as it was")
  }

  @Test func nativeParticipantAndAttendeeReceiveEachOthersMedia() async throws {
    let ana = environment.app("Ana")
    let ben = try environment.native("Ben")
    let ears = MediaWatcher()
    ben.observe { [weak ben] event in
      guard case .streamAdded(let stream, let owner) = event, !owner.isLocal else { return }
      if stream.kind.isVideo { ben?.attach(ears as any Koine.VideoSink, to: stream.id) }
      if stream.kind.isAudio { ben?.attach(ears as any AudioSink, to: stream.id) }
    }
    try ana.audioVideo.start()
    try ana.audioVideo.startLocalVideo()
    ana.audioVideo.startRemoteVideo()
    await environment.run(.seconds(2))
    #expect(ana.view(of: "ben")?.name == "Ben")
    #expect(ana.lines.contains("join ben Ben"))
    #expect(ears.stamps.last == "self")
    #expect(ears.loudest > 4_000)
    #expect(ben.participants.map(\.name) == ["Ana"])
    ben.leave {}
    await environment.run()
    #expect(ana.lines.suffix(3) == ["tile -ben", "leave ben Ben", "sources -ben"])
  }
}

/// Video and audio that a participant of the common layer receives.
final class MediaWatcher: Koine.VideoSink, AudioSink, Sendable {
  private let seen = Lock<(stamps: [String], loudest: Int)>(([], 0))
  private let power = Lock<(sum: Double, count: Int)>((0, 0))
  var stamps: [String] { seen.withLock { $0.stamps } }
  var loudest: Int { seen.withLock { $0.loudest } }

  func render(_ frame: Koine.VideoFrame) {
    if let name = StampReader.read(frame)?.name { seen.withLock { $0.stamps.append(name) } }
  }
  func play(_ block: AudioBlock) {
    let peak = block.samples.map { abs(Int($0)) }.max() ?? 0
    seen.withLock { $0.loudest = max($0.loudest, peak) }
    power.withLock { power in
      for sample in block.samples { power.sum += Double(sample) * Double(sample) }
      power.count += block.samples.count
    }
  }

  /// Mean square of the audio since the last call.
  func takePower() -> Double {
    power.withLock { power in
      defer { power = (0, 0) }
      return power.sum / Double(max(power.count, 1))
    }
  }
}

/// A microphone that hears nothing but a steady noise.
final class Fan: AudioSource, Sendable {
  let channels = 1
  private let run = Lock(0)

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    tick(number, lane.scheduler.now, lane, SeededRandom(seed: 7), deliver)
  }

  func stop() { run.withLock { $0 += 1 } }

  private func tick(
    _ number: Int, _ due: Tick, _ lane: Lane, _ random: SeededRandom,
    _ deliver: @escaping @Sendable (AudioBlock) -> Void
  ) {
    guard run.withLock({ $0 }) == number else { return }
    var random = random
    var block = AudioBlock(captured: due)
    for index in block.samples.indices { block.samples[index] = Int16.random(in: -1_500...1_500, using: &random) }
    deliver(block)
    let next = due + AudioBlock.duration
    lane.post(at: next) { [self, random] in tick(number, next, lane, random, deliver) }
  }
}
