import AmazonIVSBroadcast
import Dispatch
import Foundation
import Koine
import KoineCoreMedia
import KoineCoreVideo
import KoineEmbeddedBackend
import KoineUIKit
import Testing

/// Devices with their video and audio, and a Koine session as remote participant.
@Suite struct DeviceTests {
  private let environment = TestEnvironment()

  private func devices(_ environment: TestEnvironment) -> (any IVSCamera, any IVSMicrophone)? {
    let devices = World.$current.withValue(environment.world) { IVSDeviceDiscovery.listLocalDevices() }
    guard let camera = devices.compactMap({ $0 as? any IVSCamera }).first,
      let microphone = devices.compactMap({ $0 as? any IVSMicrophone }).first
    else { return nil }
    return (camera, microphone)
  }

  @Test func bothDeviceListsContainTheSameCameraAndMicrophone() throws {
    try World.$current.withValue(environment.world) {
      let discovery = IVSDeviceDiscovery()
      let (mine, again) = (discovery.listLocalDevices(), IVSDeviceDiscovery.listLocalDevices())
      #expect(mine.count == 2)
      #expect(zip(mine, again).allSatisfy { $0 === $1 })
      let camera = try #require(mine.first as? any IVSCamera)
      #expect(camera.descriptor().type == .camera && camera.tag() != mine[1].tag())
      let sources = camera.listAvailableInputSources()
      #expect(sources.map(\.position) == [.front, .back])
      #expect(sources.map(\.isDefault) == [true, true], "apps look for a position's default")
      #expect(sources.first { $0.isDefault }?.position == .front)
    }
  }

  @Test func frontAndBackAreInputSourcesOfOnePublishedCamera() async throws {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "stamp:front,160x90@30", microphone: "tone", backCamera: "stamp:back,160x90@30"))
    let app = StageApp("Ana")
    let camera = try #require(
      World.$current.withValue(world) {
        IVSDeviceDiscovery.listLocalDevices().compactMap { $0 as? any IVSCamera }.first
      })
    app.streams = [IVSLocalStageStream(device: camera)]
    app.stage = try World.$current.withValue(world) { try IVSStage(token: try makeToken(), strategy: app) }
    app.stage.addRenderer(app)
    try app.stage.join()
    let (ben, watcher) = native("Ben")
    await environment.run(.seconds(1))
    #expect(watcher.names.last == "front")
    app.forget()
    let done = Lock<[Int]>([])
    let back = try #require(camera.listAvailableInputSources().first { $0.position == .back })
    world.delivery.queue.sync {
      camera.setPreferredInputSource(back) { error in done.withLock { $0.append((error as NSError?)?.code ?? 0) } }
      #expect(done.withLock { $0 }.isEmpty, "never from inside the call")
    }
    await environment.run(.seconds(1))
    #expect(watcher.names.last == "back")
    #expect(app.told.isEmpty)
    let microphone = try #require(
      World.$current.withValue(world) { IVSDeviceDiscovery().listLocalDevices().last }?.descriptor())
    camera.setPreferredInputSource(microphone) { error in done.withLock { $0.append((error as NSError?)?.code ?? 0) } }
    await environment.run(.milliseconds(50))
    #expect(done.withLock { $0 } == [0, 10101])
    #expect(ben.participants.count == 1)
    app.stage.leave()
  }

  /// Joins a Koine session, and watches the media that it receives.
  private func native(_ name: String, in world: World? = nil) -> (Session, FrameWatcher) {
    let session = Session(
      JoinRequest(room: "tea", name: name, externalUserID: name),
      in: World(backend: (world ?? environment.world).backend, delivery: (world ?? environment.world).delivery))
    let watcher = FrameWatcher()
    session.observe { [weak session] event in
      guard case .streamAdded(let stream, let owner) = event, !owner.isLocal, let session else { return }
      if stream.kind.isVideo {
        session.attach(watcher as any VideoSink, to: stream.id)
      } else {
        session.attach(watcher as any AudioSink, to: stream.id)
      }
    }
    session.join { _ in }
    return (session, watcher)
  }

  @Test func stageAndKoineSessionReceiveEachOthersMedia() async throws {
    let ana = try environment.app("Ana", attributes: ["role": "guest"])
    try ana.stage.join()
    let (ben, watcher) = native("Ben")
    await environment.run(.milliseconds(500))
    #expect(!ana.told.contains { $0.contains("Ben") })
    try ben.publish(camera: Devices.camera("stamp:Ben,160x90@30"))
    let microphone = try ben.publish(microphone: Devices.microphone("tone:600"))
    await environment.run(.milliseconds(500))
    #expect(ben.participants.first?.attributes == ["role": "guest"])
    #expect(ben.participants.first?.externalUserID == "Ana" || ben.participants.first?.name == "Ana")
    let picture = try #require(ana.remote("video")?.device as? any IVSImageDevice)
    let sound = try #require(ana.remote("audio")?.device as? any IVSAudioDevice)
    #expect(picture.descriptor().type == .userImage)
    #expect(sound.descriptor().type == .userAudio)
    let preview = picture.previewView()
    let (recorder, sizes) = (StatsRecorder(), Lock<[CGSize]>([]))
    sound.setStatsCallback { recorder.record($0) }
    picture.setOnFrameCallback { frame in sizes.withLock { $0.append(frame.size) } }
    await environment.run(.seconds(2))
    #expect(preview.lastFrame.flatMap(StampReader.read)?.name == "Ben")
    #expect(preview.framesRendered > 50)
    #expect((recorder.last?.peak ?? -100) > -15)
    #expect(recorder.count >= 18)
    #expect(sizes.withLock { $0.last } == CGSize(width: 160, height: 90))
    #expect(watcher.names.last == "cam")
    #expect(watcher.loudest > 4_000)

    microphone.setMuted(true)
    await environment.run(.milliseconds(200))
    #expect(ana.told.suffix(2) == ["Ben audio muted", "audio delegate true"])
    let before = sizes.withLock { $0.count }
    picture.setOnFrameCallback(nil)
    await environment.run(.milliseconds(500))
    #expect(sizes.withLock { $0.count } == before)

    try ana.remote("video")?.requestRTCStats()
    try ana.streams.first?.requestRTCStats()
    await environment.run(.milliseconds(200))
    #expect(ana.stats.count == 2)
    let members = ana.stats.flatMap { $0.values }
    let incoming = try #require(members.first { $0["type"] == "inbound-rtp" })
    #expect(incoming["frameWidth"] == "160")
    #expect((Int(incoming["framesDecoded"] ?? "") ?? 0) > 60)
    let outgoing = try #require(members.first { $0["type"] == "outbound-rtp" })
    #expect((12...17).contains(Double(outgoing["framesPerSecond"] ?? "") ?? 0))
    #expect((Int(outgoing["bytesSent"] ?? "") ?? 0) > 1_000)
    #expect((Int(outgoing["framesEncoded"] ?? "") ?? 0) > 20)
    let pair = try #require(ana.stats.last?["T01"]?["selectedCandidatePairId"])
    #expect(Double(ana.stats.last?[pair]?["currentRoundTripTime"] ?? "") != nil)
    expectConsistent(incoming, of: ana.stats.last?[pair] ?? [:], sent: try await statistics(of: ben))
    #expect(ana.people["Ben"]?.userInfo.count == 0)
    ana.people["Ben"]?.userInfo["seat"] = 3

    ben.leave {}
    await environment.run(.milliseconds(500))
    #expect(ana.people["Ben"]?.userInfo["seat"] as? Int == 3)
    #expect(ana.told.suffix(4) == ["Ben -audio+video", "Ben notSubscribed", "Ben notPublished", "Ben left"])
  }

  private func statistics(of session: Session) async throws -> SessionStatistics {
    let figures = Lock<SessionStatistics?>(nil)
    session.statistics { new in figures.withLock { $0 = new } }
    await environment.run(.milliseconds(10))
    return try #require(figures.withLock { $0 })
  }

  /// Checks that the receiver's statistics agree with the sender's, under the W3C's names.
  private func expectConsistent(
    _ inbound: [String: String], of pair: [String: String], sent: SessionStatistics
  ) {
    func number(_ name: String, in members: [String: String]) -> Double { Double(members[name] ?? "") ?? -1 }
    guard let sender = sent.streams.first(where: { $0.stream.kind == .camera })?.outboundRTP else {
      Issue.record("nothing is sent")
      return
    }
    let (packets, bytes) = (Double(sender.packetsSent), Double(sender.bytesSent))
    #expect((packets * 0.9...packets).contains(number("packetsReceived", in: inbound)))
    #expect((bytes * 0.9...bytes).contains(number("bytesReceived", in: inbound)))
    #expect(number("framesDecoded", in: inbound) <= Double(sender.framesEncoded ?? 0))
    #expect((1...5).contains(number("keyFramesDecoded", in: inbound)))
    #expect(number("totalDecodeTime", in: inbound) > 0)
    #expect((25...32).contains(number("framesPerSecond", in: inbound)))
    #expect(number("packetsLost", in: inbound) == 0)
    #expect(number("nackCount", in: inbound) == 0)
    #expect(number("jitter", in: inbound) >= 0)
    #expect(number("totalFreezesDuration", in: inbound) >= 0)
    #expect(inbound["kind"] == "video")
    #expect(inbound["transportId"] == "T01")
    #expect(inbound["totalSamplesReceived"] == nil)
    #expect(number("bytesReceived", in: pair) >= number("bytesReceived", in: inbound))
    #expect(number("availableOutgoingBitrate", in: pair) > 0)
    #expect(pair["type"] == "candidate-pair")
  }

  @Test func preferredInputSourceOfCameraAndMicrophoneIsUsed() async throws {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "stamp:front,160x90@30", microphone: "tone", backCamera: "stamp:back,160x90@30"))
    world.machine.plugIn(
      Machine.Device(id: "usb", kind: .microphone, name: "USB microphone", attachment: .usb, source: "silence"))
    let devices = World.$current.withValue(world) { IVSDeviceDiscovery.listLocalDevices() }
    let camera = try #require(devices.compactMap { $0 as? any IVSCamera }.first)
    let microphone = try #require(devices.compactMap { $0 as? any IVSMicrophone }.first)
    let (preview, heard, done) = (camera.previewView(), StatsRecorder(), Lock<[Bool]>([]))
    microphone.setStatsCallback { heard.record($0) }
    let back = try #require(camera.listAvailableInputSources().first { $0.position == .back })
    let front = try #require(camera.listAvailableInputSources().first { $0.position == .front })
    let (builtIn, usb) = (microphone.listAvailableInputSources()[0], microphone.listAvailableInputSources()[1])
    for (device, source) in [(camera as any IVSMultiSourceDevice, back), (microphone, builtIn)] {
      device.setPreferredInputSource(source) { error in done.withLock { $0.append(error == nil) } }
    }
    await world.run(for: .seconds(1))
    #expect(done.withLock { $0 } == [true, true])
    #expect(preview.lastFrame.flatMap(StampReader.read)?.name == "back")
    #expect((heard.last?.peak ?? -100) > -15)
    /// Not asynchronous, so that the method without a completion handler is called.
    func use(_ source: IVSDeviceDescriptor, of device: any IVSMultiSourceDevice) {
      device.setPreferredInputSource(source)
    }
    use(front, of: camera)
    use(usb, of: microphone)
    await world.run(for: .seconds(1))
    #expect(preview.lastFrame.flatMap(StampReader.read)?.name == "front")
    #expect((heard.last?.peak ?? 0) <= -90)
  }

  @Test func genericCodeAcceptsCameraAndMicrophone() async throws {
    func choose<Device: IVSMultiSourceDevice>(_ type: Device.Type) -> Device? {
      let devices = World.$current.withValue(environment.world) { IVSDeviceDiscovery().listLocalDevices() }
      guard let device = devices.compactMap({ $0 as? Device }).first,
        let source = device.listAvailableInputSources().last
      else { return nil }
      device.setPreferredInputSource(source)
      return device
    }
    let camera = try #require(choose(IVSCamera.self))
    let microphone = try #require(choose(IVSMicrophone.self))
    #expect(camera.descriptor().type == .camera)
    #expect(microphone.descriptor().type == .microphone)
    let kinds: [any IVSMultiSourceDevice] = [camera, microphone]
    #expect(kinds.map { $0 is IVSCamera } == [true, false])
    #expect(kinds.map { $0 is any IVSMicrophone } == [false, true])
  }

  @Test func previewsRunBeforeJoiningAndEndWithTheirView() async throws {
    let (camera, microphone) = try #require(devices(environment))
    var preview: IVSImagePreviewView? = camera.previewView()
    let recorder = StatsRecorder()
    microphone.setStatsCallback { recorder.record($0) }
    await environment.run()
    #expect((28...32).contains(preview?.framesRendered ?? 0))
    #expect(abs((recorder.last?.peak ?? 0) - -12.2) < 0.5, "8,000 of 32,768")
    microphone.setGain(0.5)
    await environment.run()
    #expect(abs((recorder.last?.peak ?? 0) - -18.3) < 0.5)
    microphone.setGain(7)
    #expect(microphone.gain() == 2)
    microphone.setStatsCallback(nil)
    let count = recorder.count
    await environment.run()
    #expect(recorder.count == count)
    weak let remains = preview
    preview = nil
    await environment.run(.milliseconds(100))
    #expect(remains == nil)
  }

  @MainActor @Test func previewOfTheFrontCameraIsMirroredUntilTheAppSetsItStraight() async throws {
    let (camera, _) = try #require(devices(environment))
    let preview = camera.previewView()
    preview.frame = CGRect(x: 0, y: 0, width: 160, height: 90)
    await environment.run(.milliseconds(200))
    let mirrored = preview.snapshot()
    preview.setMirrored(false)
    let straight = preview.snapshot()
    /// Mean difference of the red values, against the straight preview's own or its mirror image.
    func difference(_ canvas: Canvas, _ column: (Int) -> Int) -> Double {
      let differences = (0..<90).flatMap { y in
        (0..<160).map { x in
          abs(Double(canvas.color(x: column(x), y: y)?.red ?? 0) - Double(straight.color(x: x, y: y)?.red ?? 0))
        }
      }
      return differences.reduce(0, +) / Double(differences.count)
    }
    #expect(difference(mirrored) { 159 - $0 } < 2)
    #expect(difference(mirrored) { $0 } > 20)
    preview.setMirrored(true)
    #expect(difference(preview.snapshot()) { 159 - $0 } < 2)
  }

  @Test func customImageIsRepeatedUntilTheNextOne() async throws {
    let source = World.$current.withValue(environment.world) {
      IVSDeviceDiscovery().createImageSource(withName: "slides")
    }
    let app = StageApp("Ana")
    let stamp = Lock<VideoFrame?>(nil)
    let camera = try Devices.camera("stamp:slides,160x90@30")
    try camera.start(on: environment.world.backend.scheduler.lane("test")) { frame in stamp.withLock { $0 = frame } }
    await environment.run(.milliseconds(100))
    camera.stop()
    let frame = try #require(stamp.withLock { $0 })
    source.onSampleBuffer(CMSampleBuffer(imageBuffer: CVPixelBuffer(frame), presentationTimeStamp: .zero))
    app.streams = [IVSLocalStageStream(device: source)]
    app.stage = try World.$current.withValue(environment.world) { try IVSStage(token: try makeToken(), strategy: app) }
    try app.stage.join()
    let (ben, watcher) = native("Ben")
    await environment.run(.seconds(2))
    #expect(ben.state == .connected)
    #expect(watcher.names.count > 10)
    #expect(watcher.names.last == "slides")
    app.stage.leave()
  }

  @Test func inputSourcesFollowDeviceChanges() async throws {
    let (camera, microphone) = try #require(devices(environment))
    let preview = camera.previewView()
    let listener = MicrophoneListener()
    microphone.delegate = listener
    let machine = environment.world.machine
    machine.plugIn(
      Machine.Device(id: "usb", kind: .microphone, name: "USB microphone", attachment: .usb, source: "silence"))
    machine.plugIn(
      Machine.Device(id: "cam", kind: .camera, name: "USB camera", attachment: .usb, source: "stamp:usb,160x90@30"))
    await environment.run()
    #expect(listener.names.withLock { $0 } == ["USB microphone"])
    #expect(camera.listAvailableInputSources().map(\.position) == [.front, .back, .USB])
    #expect(preview.lastFrame.flatMap(StampReader.read)?.name == "cam")
    let sources = microphone.listAvailableInputSources()
    #expect(sources.map(\.friendlyName) == ["Built-in Microphone", "USB microphone"])
    let heard = Lock<[String]>([])
    microphone.setPreferredInputSource(sources[0]) { error in
      heard.withLock { $0 = listener.names.withLock { $0 } + [error == nil ? "done" : "failed"] }
    }
    try await camera.setPreferredInputSource(camera.listAvailableInputSources()[2])
    await environment.run()
    #expect(heard.withLock { $0 } == ["USB microphone", "Built-in Microphone", "done"])
    #expect(preview.lastFrame.flatMap(StampReader.read)?.name == "usb")
    machine.unplug("cam")
    await environment.run()
    #expect(preview.lastFrame.flatMap(StampReader.read)?.name == "cam", "the front camera again")
    machine.unplug("usb")
    machine.unplug("built-in microphone")
    await environment.run()
    #expect(listener.names.withLock { $0 } == ["USB microphone", "Built-in Microphone", "none"])
  }

  @Test func gainOfARemoteDeviceScalesItsPlayback() async throws {
    let meter = PeakMeter()
    Devices.register(loudspeaker: "peak meter") { _ throws(DeviceError) in meter }
    let environment = TestEnvironment(loudspeaker: "peak meter")
    let ana = try environment.app("Ana")
    ana.initialGain = 0
    try ana.stage.join()
    let (ben, watcher) = native("Ben", in: environment.world)
    try ben.publish(microphone: Devices.microphone("tone"))
    await environment.run(.seconds(1))
    let device = try #require(ana.remote("audio")?.device as? any IVSAudioDevice)
    #expect(meter.takePeak() == 0 && device.gain() == 0, "silent from the first sound on")
    device.setGain(1)
    await environment.run(.seconds(1))
    let whole = meter.takePeak()
    #expect(whole > 6_000)
    for (gain, range) in [(Float(0), 0...0), (0.5, whole / 3...whole * 2 / 3), (2, whole * 3 / 2...32_767)] {
      device.setGain(gain)
      await environment.run(.milliseconds(200))
      _ = meter.takePeak()
      await environment.run()
      #expect(range.contains(meter.takePeak()), "\(gain)")
    }
    withExtendedLifetime((ben, watcher)) {}
  }

  private final class PeakMeter: AudioSink, Sendable {
    private let peak = Lock(0)
    func play(_ block: AudioBlock) {
      let loudest = block.samples.reduce(0) { max($0, Int($1.magnitude)) }
      peak.withLock { $0 = max($0, loudest) }
    }
    func takePeak() -> Int {
      peak.withLock { peak in
        defer { peak = 0 }
        return peak
      }
    }
  }

  @Test func microphoneCancelsTheEchoOfTheLoudspeaker() async throws {
    let echoing = EchoingRoom()
    Devices.register(microphone: "echoing room") { _ throws(DeviceError) in echoing }
    Devices.register(loudspeaker: "echoing room") { _ throws(DeviceError) in echoing }
    let environment = TestEnvironment(microphone: "echoing room", loudspeaker: "echoing room")
    let ana = try environment.app("Ana")
    try ana.stage.join()
    let (ben, watcher) = native("Ben", in: environment.world)
    try ben.publish(microphone: Devices.microphone("noise"))
    await environment.run(.seconds(4))
    _ = watcher.takePower()
    await environment.run()
    let echo = watcher.takePower()
    #expect(echo > 10_000, "he hears himself")

    let microphone = try #require(ana.streams.compactMap { $0.device as? any IVSMicrophone }.first)
    #expect(!microphone.isEchoCancellationEnabled)
    microphone.isEchoCancellationEnabled = true
    await environment.run(.seconds(4))
    _ = watcher.takePower()
    await environment.run()
    #expect(watcher.takePower() * 31.6 < echo, "15 dB")

    // Published anew, it is still so.
    ana.publishes = false
    ana.stage.refreshStrategy()
    await environment.run()
    ana.publishes = true
    ana.stage.refreshStrategy()
    await environment.run(.seconds(5))
    _ = watcher.takePower()
    await environment.run()
    #expect(microphone.isEchoCancellationEnabled)
    #expect(watcher.takePower() * 31.6 < echo)
  }

  @Test func echoCancellationOfTheAudioManagerIsThatOfMicrophonesWithoutAChoice() async throws {
    let echoing = EchoingRoom()
    Devices.register(microphone: "manager's echoing room") { _ throws(DeviceError) in echoing }
    Devices.register(loudspeaker: "manager's echoing room") { _ throws(DeviceError) in echoing }
    let environment = TestEnvironment(microphone: "manager's echoing room", loudspeaker: "manager's echoing room")
    let (_, microphone) = try #require(devices(environment))
    let ana = StageApp("Ana")
    ana.streams = [IVSLocalStageStream(device: microphone)]
    let manager = try World.$current.withValue(environment.world) {
      ana.stage = try IVSStage(token: try makeToken(userID: "Ana"), strategy: ana)
      return IVSStageAudioManager.sharedInstance()
    }
    manager.isEchoCancellationEnabled = true
    #expect(microphone.isEchoCancellationEnabled)
    try ana.stage.join()
    let (ben, watcher) = native("Ben", in: environment.world)
    try ben.publish(microphone: Devices.microphone("noise"))
    await environment.run(.seconds(5))
    _ = watcher.takePower()
    await environment.run()
    let cancelled = watcher.takePower()

    manager.isEchoCancellationEnabled = false
    #expect(!manager.isEchoCancellationEnabled)
    #expect(!microphone.isEchoCancellationEnabled)
    ana.publishes = false
    ana.stage.refreshStrategy()
    await environment.run()
    ana.publishes = true
    ana.stage.refreshStrategy()
    await environment.run(.seconds(2))
    _ = watcher.takePower()
    await environment.run()
    #expect(cancelled * 31.6 < watcher.takePower(), "15 dB")
    ana.stage.leave()
  }

  @Test func handsetRotationTurnsTheCamerasFrames() async throws {
    let (camera, _) = try #require(devices(environment))
    let preview = camera.previewView()
    camera.setHandsetRotation(.pi / 2)
    await environment.run()
    #expect(preview.lastFrame?.quarterTurns == 1)
    camera.setHandsetRotation(-.pi / 2)
    await environment.run()
    #expect(preview.lastFrame?.quarterTurns == 3)
  }
}

/// A loudspeaker and a microphone side by side: each block that is played is heard 60 ms later at half its size.
private final class EchoingRoom: AudioSink, AudioSource, Sendable {
  let channels = 1
  let playoutDelay = Duration.milliseconds(60)
  private let ears = Lock<(lane: Lane, deliver: @Sendable (AudioBlock) -> Void)?>(nil)

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    ears.withLock { $0 = (lane, deliver) }
  }

  func stop() { ears.withLock { $0 = nil } }

  func play(_ block: AudioBlock) {
    var heard = block
    heard.captured = block.captured + playoutDelay
    for index in heard.samples.indices { heard.samples[index] /= 2 }
    let ears = ears.withLock { $0 }
    ears?.lane.post(at: heard.captured) { [heard] in ears?.deliver(heard) }
  }
}

private final class MicrophoneListener: NSObject, IVSMicrophoneDelegate, @unchecked Sendable {
  let names = Lock<[String]>([])
  func underlyingInputSourceChanged(
    for microphone: any IVSMicrophone, toInputSource inputSource: IVSDeviceDescriptor?
  ) { names.withLock { $0.append(inputSource?.friendlyName ?? "none") } }
}

/// The media that a Koine session receives.
final class FrameWatcher: VideoSink, AudioSink, @unchecked Sendable {  // a lock
  private let seen = Lock<(names: [String], loudest: Int16)>(([], 0))
  var names: [String] { seen.withLock { $0.names } }
  var loudest: Int16 { seen.withLock { $0.loudest } }
  private let power = Lock<(sum: Double, count: Int)>((0, 0))

  /// The mean square of the audio since the last call.
  func takePower() -> Double {
    power.withLock { power in
      defer { power = (0, 0) }
      return power.sum / Double(max(power.count, 1))
    }
  }

  func render(_ frame: VideoFrame) {
    guard let stamp = StampReader.read(frame) else { return }
    seen.withLock { $0.names.append(stamp.name) }
  }

  func play(_ block: AudioBlock) {
    seen.withLock { $0.loudest = max($0.loudest, block.samples.max() ?? 0) }
    power.withLock { power in
      for sample in block.samples { power.sum += Double(sample) * Double(sample) }
      power.count += block.samples.count
    }
  }
}
