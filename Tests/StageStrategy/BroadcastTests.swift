import AmazonIVSBroadcast
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// Broadcasts of a stage, and their mixer.
@Suite struct BroadcastTests {
  private let environment = TestEnvironment()

  private final class Listener: NSObject, IVSBroadcastSession.Delegate, @unchecked Sendable {
    private let lines = Lock<[String]>([])
    var told: [String] { lines.withLock { $0 } }
    let levels = Lock<[(peak: Double, rms: Double)]>([])
    private func note(_ line: String) { lines.withLock { $0.append(line) } }
    func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State) {
      note("\(state)")
    }
    func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: any Error) {
      note("error \((error as NSError).code)")
    }
    func broadcastSession(_ session: IVSBroadcastSession, didAddDevice descriptor: IVSDeviceDescriptor) {
      note("+\(descriptor.friendlyName)")
    }
    func broadcastSession(_ session: IVSBroadcastSession, didRemoveDevice descriptor: IVSDeviceDescriptor) {
      note("-\(descriptor.friendlyName)")
    }
    func broadcastSession(_ session: IVSBroadcastSession, audioStatsUpdatedWithPeak peak: Double, rms: Double) {
      levels.withLock { $0.append((peak, rms)) }
    }
    func broadcastSession(
      _ session: IVSBroadcastSession, didChange retryState: IVSBroadcastSession.RetryState
    ) {
      note("retry \(retryState)")
    }
  }

  private func session(
    _ delegate: Listener? = nil, keyFrames seconds: Float = 2, reconnects: Bool = false, channels: Int = 2
  ) throws -> IVSBroadcastSession {
    let configuration = IVSPresets.configurations().basicLandscape()
    try configuration.video.setKeyframeInterval(seconds)
    try configuration.audio.setChannels(channels)
    configuration.autoReconnect.enabled = reconnects
    return try World.$current.withValue(environment.world) {
      try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: delegate)
    }
  }

  @Test func stageIsBroadcastIntoAFile() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let file = URL(fileURLWithPath: folder.file("stage.webm"))
    let app = StageApp("Ana")
    app.stage = try World.$current.withValue(environment.world) { try IVSStage(token: try makeToken(), strategy: app) }
    app.stage.addRenderer(app)
    try app.stage.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: environment.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await environment.run(.seconds(1))
    let listener = Listener()
    let broadcast = try session(listener)
    for stream in app.remoteStreams { broadcast.attach(stream.device, toSlotWithName: "default") }
    await environment.run(.milliseconds(50))
    #expect(broadcast.listAttachedDevices().count == 2)
    #expect(broadcast.isReady)
    #expect(!broadcast.sessionId.isEmpty)
    try broadcast.start(with: file, streamKey: "")
    #expect(throws: (any Error).self) { try broadcast.start(with: file, streamKey: "") }
    await environment.run(.seconds(3))
    broadcast.stop()
    await environment.run(.milliseconds(50))
    #expect(listener.told == ["connecting", "connected", "disconnected"])
    let levels = listener.levels.withLock { $0 }
    #expect((27...31).contains(levels.count), "ten a second, while it is sent: \(levels.count)")
    let last = try #require(levels.last)
    #expect((-40..<0).contains(last.peak) && last.rms < last.peak && last.peak - last.rms < 4, "a tone: \(last)")
    await environment.run(.seconds(1))
    #expect(listener.levels.withLock { $0.count } == levels.count)
    let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
    #expect(size > 20_000)
    #expect(throws: (any Error).self) {
      try broadcast.start(with: try #require(URL(string: "nowhere://x")), streamKey: "k")
    }
    app.stage.leave()
  }

  /// The key is the last part of a server's URL.
  @Test func stageIsSentToAnRTMPServer() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: environment.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    let ana = try environment.app("Ana")
    try ana.stage.join()
    await environment.run(.seconds(1))
    let listener = Listener()
    let broadcast = try session(listener, keyFrames: 1)
    for stream in ana.remoteStreams { broadcast.attach(stream.device, toSlotWithName: "default") }
    let environment = environment
    try await RTMPServer.receiving(into: folder.file("received.flv")) { url in
      let url = try #require(URL(string: url))
      try broadcast.start(with: url.deletingLastPathComponent(), streamKey: url.lastPathComponent)
      await environment.run(.seconds(4))
      broadcast.stop()
      await environment.run(.milliseconds(50))
    }
    #expect(listener.told == ["connecting", "connected", "disconnected"])
    let packets = try await Command(
      "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=flags", "-of", "csv=p=0",
      folder.file("received.flv")
    ).run().split(separator: "\n")
    let keys = packets.count { $0.contains("K") }
    #expect(packets.count >= 119 && (4...5).contains(keys), "\(packets.count), \(keys)")
    ana.stage.leave()
    ben.leave {}
  }

  @Test func broadcastToAnUnreachableServerFails() async throws {
    MediaFiles.register()
    let listener = Listener()
    let broadcast = try session(listener)
    try broadcast.start(with: try #require(URL(string: "rtmp://127.0.0.1:\(try Ports.free())/app")), streamKey: "sk_1")
    await environment.run(.seconds(1))
    #expect(listener.told == ["connecting", "error 10405", "error"])
    broadcast.stop()
    await environment.run(.milliseconds(50))
    #expect(listener.told.count == 3, "it is over already")
  }

  @Test func broadcastFailsWhenTheServerHangsUp() async throws {
    struct HungUp: Error {}
    final class Line: BroadcastOutput, Sendable {
      static let failure = Lock<(@Sendable (any Error) -> Void)?>(nil)
      func receive(_ frame: EncodedFrame) {}
      func close() throws { throw HungUp() }
      func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) { Self.failure.withLock { $0 = handler } }
    }
    BroadcastOutputs.register("line:") { _ in Line() }
    let listener = Listener()
    let broadcast = try session(listener)
    let url = try #require(URL(string: "line://x"))
    for _ in 1...2 {
      try broadcast.start(with: url, streamKey: "")
      for _ in 1...2 { Line.failure.withLock { $0 }?(HungUp()) }
      await environment.run(.milliseconds(50))
    }
    broadcast.stop()
    await environment.run(.milliseconds(50))
    let code = try #require(listener.told.first { $0.hasPrefix("error ") })
    #expect(code == "error 10405")
    #expect(listener.told == ["connecting", "connected", code, "error", "connecting", "connected", code, "error"])
  }

  /// A server that can go away.
  private final class FakeServer: Sendable {
    struct HungUp: Error {}
    private let state = Lock((isAway: false, hangUp: nil as (@Sendable (any Error) -> Void)?))

    var isAway: Bool {
      get { state.withLock { $0.isAway } }
      set { state.withLock { $0.isAway = newValue } }
    }

    func hangUp() {
      isAway = true
      state.withLock { $0.hangUp }?(HungUp())
    }

    private final class Line: BroadcastOutput, Sendable {
      private let server: FakeServer
      init(_ server: FakeServer) { self.server = server }
      func receive(_ frame: EncodedFrame) {}
      func close() throws { if server.isAway { throw HungUp() } }
      func onReadable(_ handler: @escaping @Sendable () -> Void) { if !server.isAway { handler() } }
      func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) {
        server.state.withLock { $0.hangUp = handler }
        if server.isAway { handler(HungUp()) }
      }
    }

    func open(_ name: String) { BroadcastOutputs.register(name) { _ in Line(self) } }
  }

  @Test func broadcastReconnectsWhenTheServerReturns() async throws {
    let (server, listener) = (FakeServer(), Listener())
    server.open("tide:")
    let broadcast = try session(listener, reconnects: true)
    try broadcast.start(with: try #require(URL(string: "tide://x")), streamKey: "k")
    await environment.run(.milliseconds(50))
    #expect(listener.told == ["connecting", "connected"])
    server.hangUp()
    await environment.run(.milliseconds(50))
    let waiting = ["error 10405", "retry waitingForBackoffTimer"]
    #expect(listener.told.dropFirst(2) == waiting[...])
    await environment.run(.seconds(1))
    #expect(listener.told.dropFirst(4) == (["retry retrying", "connecting"] + waiting)[...])
    #expect(throws: (any Error).self) {
      try broadcast.start(with: try #require(URL(string: "tide://x")), streamKey: "k")
    }
    server.isAway = false
    await environment.run(.seconds(2))
    #expect(listener.told.dropFirst(8) == ["retry retrying", "connecting", "retry success", "connected"])
    server.hangUp()
    server.isAway = false
    await environment.run(.milliseconds(1_100))
    #expect(
      listener.told.dropFirst(12) == (waiting + ["retry retrying", "connecting", "retry success", "connected"])[...],
      "after one second again")
    broadcast.stop()
    await environment.run(.milliseconds(50))
    #expect(listener.told.dropFirst(18) == ["disconnected"])
  }

  @Test func broadcastGivesUpAfterItsRetriesAndDoesNotRetryAfterStop() async throws {
    let (server, listener) = (FakeServer(), Listener())
    server.open("ebb:")
    server.isAway = true
    let broadcast = try session(listener, reconnects: true)
    let url = try #require(URL(string: "ebb://x"))
    try broadcast.start(with: url, streamKey: "")
    await environment.run(.milliseconds(15_500))
    #expect(listener.told.count { $0 == "retry retrying" } == 5)
    #expect(listener.told.suffix(3) == ["retry failure", "error 10405", "error"])
    let count = listener.told.count
    await environment.run(.seconds(20))
    #expect(listener.told.count == count, "it is over")
    try broadcast.start(with: url, streamKey: "")
    await environment.run(.milliseconds(500))
    broadcast.stop()
    server.isAway = false
    await environment.run(.seconds(20))
    #expect(
      listener.told.dropFirst(count) == [
        "connecting", "error 10405", "retry waitingForBackoffTimer", "retry notRetrying", "disconnected",
      ])
  }

  @Test func restartedRTMPServerReceivesTheRest() async throws {
    MediaFiles.register()
    let (folder, listener, environment) = (try Folder(), Listener(), environment)
    let broadcast = try session(listener, keyFrames: 1, reconnects: true)
    try await RTMPServer.receiving(into: folder.file("rest.flv"), hangingUpAfter: 1) { url, comesBack in
      let url = try #require(URL(string: url))
      try broadcast.start(with: url.deletingLastPathComponent(), streamKey: url.lastPathComponent)
      for _ in 0..<300 where !listener.told.contains("retry waitingForBackoffTimer") {
        await environment.run(.milliseconds(100))
      }
      try await comesBack()
      await environment.run(.seconds(4))
      broadcast.stop()
      await environment.run(.milliseconds(50))
    }
    #expect(
      listener.told == [
        "connecting", "connected", "error 10405", "retry waitingForBackoffTimer", "retry retrying", "connecting",
        "retry success", "connected", "disconnected",
      ])
    let packets = try await Command(
      "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=flags", "-of", "csv=p=0",
      folder.file("rest.flv")
    ).run().split(separator: "\n")
    #expect(packets.count > 60 && packets.first?.contains("K") == true, "\(packets.count)")
  }

  /// Broadcasts have two channels by default.
  @Test(arguments: ["webm", "mp4"]) func broadcastKeepsStereoChannelsApart(ending: String) async throws {
    MediaFiles.register()
    let folder = try Folder()
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: 44_100, channels: 2))
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 4_410))
    buffer.frameLength = 4_410
    let samples = try #require(buffer.floatChannelData)
    for index in 0..<4_410 { samples[0][index] = Float(sin(2 * Double.pi * 440 * Double(index) / 44_100)) * 0.5 }
    for channels in [2, 1] {
      let broadcast = try session(channels: channels)
      let music = broadcast.createAudioSource(withName: "music")
      broadcast.attach(music, toSlotWithName: "default")
      let file = folder.file("\(channels).\(ending)")
      try broadcast.start(with: URL(fileURLWithPath: file), streamKey: "")
      for _ in 0..<20 {
        music.onPCMBuffer(buffer, at: AVAudioTime(sampleTime: 0, atRate: 44_100))
        await environment.run(.milliseconds(100))
      }
      broadcast.stop()
      let probed = try await Command(
        "ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "stream=channels", "-of", "csv=p=0", file
      ).run()
      #expect(probed.contains("\(channels)"))
      try await Command("ffmpeg", "-v", "error", "-i", file, "-f", "s16le", "-ac", "2", file + ".raw").run()
      let raw = try Data(contentsOf: URL(fileURLWithPath: file + ".raw"))
      let heard = raw.withUnsafeBytes { bytes in bytes.bindMemory(to: Int16.self).map { Int($0) } }
      let loudest = (0..<2).map { side in
        stride(from: side, to: heard.count, by: 2).map { abs(heard[$0]) }.max() ?? 0
      }
      #expect((channels == 2 ? 13_000...20_000 : 4_000...12_000).contains(loudest[0]), "\(loudest)")
      #expect(channels == 2 ? loudest[1] < 1_000 : abs(loudest[1] - loudest[0]) < 100, "\(loudest)")
    }
  }

  @Test func deviceChangesAreReportedToTheBroadcastDelegate() async throws {
    let listener = Listener()
    let broadcast = try session()
    broadcast.delegate = listener
    environment.world.machine.plugIn(
      Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence"))
    environment.world.machine.unplug("h")
    await environment.run(.milliseconds(50))
    #expect(listener.told == ["+Headset", "-Headset"])
    withExtendedLifetime(broadcast) {}
  }

  /// Counts the bytes of encoded video.
  private final class CountingOutput: BroadcastOutput, Sendable {
    private let counted = Lock((bitrate: 0, bytes: 0))
    var bitrate: Int { counted.withLock { $0.bitrate } }
    var bytes: Int { counted.withLock { $0.bytes } }
    func start(_ plan: BroadcastPlan) { counted.withLock { $0.bitrate = plan.bitrate } }
    func receive(_ frame: EncodedFrame) {
      if !frame.codec.isAudio { counted.withLock { $0.bytes += frame.data.count } }
    }
    func close() throws {}
  }

  /// Four seconds of a moving pattern.
  private func record(_ change: (IVSVideoConfiguration) throws -> Void) async throws -> CountingOutput {
    let environment = TestEnvironment(camera: "pattern:640x360@30")
    let output = CountingOutput()
    let configuration = IVSBroadcastConfiguration()
    try configuration.video.setSize(CGSize(width: 640, height: 360))
    try change(configuration.video)
    let broadcast = try World.$current.withValue(environment.world) {
      try IVSBroadcastSession(
        configuration: configuration, descriptors: IVSPresets.devices().frontCamera(), delegate: nil)
    }
    let url = try #require(URL(string: "counting://x"))
    try BroadcastOutputs.$own.withValue(["counting:": { _ in output }]) {
      try broadcast.start(with: url, streamKey: "")
    }
    await environment.run(.seconds(4))
    broadcast.stop()
    await environment.run(.milliseconds(100))
    return output
  }

  @Test func videoIsEncodedWithinTheBitratesOfItsConfiguration() async throws {
    let usual = try await record { try $0.setInitialBitrate(1_000_000) }
    #expect(usual.bitrate == 1_000_000)
    let most = try await record {
      try $0.setInitialBitrate(1_000_000)
      try $0.setMinBitrate(100_000)
      try $0.setMaxBitrate(150_000)
    }
    #expect(most.bitrate == 150_000)
    #expect(most.bytes * 8 / 4 < 250_000)
    #expect(most.bytes * 3 < usual.bytes * 2, "\(most.bytes), \(usual.bytes)")
    let least = try await record {
      try $0.setInitialBitrate(100_000)
      try $0.setMinBitrate(1_000_000)
    }
    #expect(least.bitrate == 1_000_000)
    #expect(most.bytes * 3 < least.bytes * 2, "\(most.bytes), \(least.bytes)")
  }

  @Test func mixerSlotsAreBoundAndMoved() async throws {
    let broadcast = try session()
    let mixer = broadcast.mixer
    let slot = IVSMixerSlotConfiguration()
    try slot.setName("corner")
    slot.size = CGSize(width: 100, height: 100)
    #expect(mixer.addSlot(slot))
    #expect(!mixer.addSlot(slot))
    #expect(mixer.slots().map(\.name) == ["default", "corner"])
    let own = broadcast.createImageSource(withName: "own")
    #expect(mixer.bindDevice(own, toSlotWithName: "corner"))
    #expect(mixer.binding(for: own) == "corner")
    #expect(!mixer.bindDevice(own, toSlotWithName: "none"))
    #expect(mixer.binding(for: own) == "corner")
    slot.position = CGPoint(x: 50, y: 0)
    let done = Lock(false)
    #expect(mixer.transitionSlot(withName: "corner", toState: slot, duration: 0.5) { done.withLock { $0 = true } })
    #expect(!mixer.transitionSlot(withName: "none", toState: slot, duration: 0.5))
    await environment.run(.milliseconds(400))
    #expect(!done.withLock { $0 })
    await environment.run(.milliseconds(200))
    #expect(done.withLock { $0 })
    #expect(mixer.slots().last?.position.x == 50)
    #expect(mixer.removeSlot(withName: "corner"))
    #expect(mixer.binding(for: own) == nil)
  }

  @Test func presetsHaveTheVendorsSizesAndDevices() {
    let sizes = [
      IVSPresets.configurations().standardPortrait(), IVSPresets.configurations().standardLandscape(),
      IVSPresets.configurations().basicPortrait(), IVSPresets.configurations().basicLandscape(),
    ].map { "\(Int($0.video.size.width))x\(Int($0.video.size.height))" }
    #expect(sizes == ["720x1280", "1280x720", "480x852", "852x480"])
    World.$current.withValue(environment.world) {
      #expect(IVSPresets.devices().frontCamera().map(\.position) == [.front])
      #expect(IVSPresets.devices().backCamera().map(\.position) == [.back])
      #expect(IVSPresets.devices().microphone().map(\.type) == [.microphone])
    }
  }
}
