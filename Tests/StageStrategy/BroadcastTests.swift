import AmazonIVSBroadcast
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// A stage sent on, and the mixer it goes through.
@Suite struct BroadcastTests {
  private let place = Place()

  private final class Listener: NSObject, IVSBroadcastSession.Delegate, @unchecked Sendable {
    private let lines = Lock<[String]>([])
    var told: [String] { lines.withLock { $0 } }
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
  }

  private func session(_ delegate: Listener? = nil, keyFrames seconds: Float = 2) throws -> IVSBroadcastSession {
    let configuration = IVSPresets.configurations().basicLandscape()
    try configuration.video.setKeyframeInterval(seconds)
    return try World.$current.withValue(place.world) {
      try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: delegate)
    }
  }

  @Test func aStageIsBroadcastIntoAFile() async throws {
    MediaFiles.register()
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("stage-\(UUID().uuidString).webm")
    defer { try? FileManager.default.removeItem(at: file) }
    let app = StageApp("Ana")
    app.stage = try World.$current.withValue(place.world) { try IVSStage(token: try makeToken(), strategy: app) }
    app.stage.addRenderer(app)
    try app.stage.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: place.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await place.run(.seconds(1))
    let listener = Listener()
    let broadcast = try session(listener)
    for stream in app.remoteStreams { broadcast.attach(stream.device, toSlotWithName: "default") }
    await place.run(.milliseconds(50))
    #expect(broadcast.listAttachedDevices().count == 2 && broadcast.isReady && !broadcast.sessionId.isEmpty)
    try broadcast.start(with: file, streamKey: "")
    #expect(throws: (any Error).self) { try broadcast.start(with: file, streamKey: "") }
    await place.run(.seconds(3))
    broadcast.stop()
    await place.run(.milliseconds(50))
    #expect(listener.told == ["connecting", "connected", "disconnected"])
    let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
    #expect(size > 20_000)
    #expect(throws: (any Error).self) {
      try broadcast.start(with: try #require(URL(string: "nowhere://x")), streamKey: "k")
    }
    app.stage.leave()
  }

  /// The key is the last part of a server's URL.
  @Test func aStageIsSentToAnRTMPServer() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", externalUserID: "Ben"), in: place.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    let ana = try place.app("Ana")
    try ana.stage.join()
    await place.run(.seconds(1))
    let listener = Listener()
    let broadcast = try session(listener, keyFrames: 1)
    for stream in ana.remoteStreams { broadcast.attach(stream.device, toSlotWithName: "default") }
    let place = place
    try await RTMPServer.receiving(into: folder.file("received.flv")) { url in
      let url = try #require(URL(string: url))
      try broadcast.start(with: url.deletingLastPathComponent(), streamKey: url.lastPathComponent)
      await place.run(.seconds(4))
      broadcast.stop()
      await place.run(.milliseconds(50))
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

  @Test func aServerThatIsNotThereIsAnError() async throws {
    MediaFiles.register()
    let listener = Listener()
    let broadcast = try session(listener)
    try broadcast.start(with: try #require(URL(string: "rtmp://127.0.0.1:\(try Ports.free())/app")), streamKey: "sk_1")
    await place.run(.seconds(1))
    #expect(listener.told == ["connecting", "error 10405", "error"])
    broadcast.stop()
    await place.run(.milliseconds(50))
    #expect(listener.told.count == 3, "it is over already")
  }

  @Test func aServerThatHangsUpIsAnError() async throws {
    struct HungUp: Error {}
    final class Line: BroadcastOutput, Sendable {
      static let failure = Lock<(@Sendable (any Error) -> Void)?>(nil)
      func take(_ frame: EncodedFrame) {}
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
      await place.run(.milliseconds(50))
    }
    broadcast.stop()
    await place.run(.milliseconds(50))
    let code = try #require(listener.told.first { $0.hasPrefix("error ") })
    #expect(code == "error 10405")
    #expect(listener.told == ["connecting", "connected", code, "error", "connecting", "connected", code, "error"])
  }

  @Test func devicesThatComeAndGoAreTold() async throws {
    let listener = Listener()
    let broadcast = try session(listener)
    place.world.machine.plugIn(
      Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence"))
    place.world.machine.unplug("h")
    await place.run(.milliseconds(50))
    #expect(listener.told == ["+Headset", "-Headset"])
    withExtendedLifetime(broadcast) {}
  }

  @Test func slotsAreMovedAndBound() async throws {
    let broadcast = try session()
    let mixer = broadcast.mixer
    let slot = IVSMixerSlotConfiguration()
    try slot.setName("corner")
    slot.size = CGSize(width: 100, height: 100)
    #expect(mixer.addSlot(slot) && !mixer.addSlot(slot) && mixer.slots().map(\.name) == ["default", "corner"])
    let own = broadcast.createImageSource(withName: "own")
    #expect(mixer.bindDevice(own, toSlotWithName: "corner") && mixer.binding(for: own) == "corner")
    #expect(!mixer.bindDevice(own, toSlotWithName: "none") && mixer.binding(for: own) == "corner")
    slot.position = CGPoint(x: 50, y: 0)
    let done = Lock(false)
    #expect(mixer.transitionSlot(withName: "corner", toState: slot, duration: 0.5) { done.withLock { $0 = true } })
    #expect(!mixer.transitionSlot(withName: "none", toState: slot, duration: 0.5))
    await place.run(.milliseconds(400))
    #expect(!done.withLock { $0 })
    await place.run(.milliseconds(200))
    #expect(done.withLock { $0 } && mixer.slots().last?.position.x == 50)
    #expect(mixer.removeSlot(withName: "corner") && mixer.binding(for: own) == nil)
  }

  @Test func presetsAreWhatTheySay() {
    let sizes = [
      IVSPresets.configurations().standardPortrait(), IVSPresets.configurations().standardLandscape(),
      IVSPresets.configurations().basicPortrait(), IVSPresets.configurations().basicLandscape(),
    ].map { "\(Int($0.video.size.width))x\(Int($0.video.size.height))" }
    #expect(sizes == ["720x1280", "1280x720", "480x852", "852x480"])
    World.$current.withValue(place.world) {
      #expect(IVSPresets.devices().frontCamera().map(\.position) == [.front])
      #expect(IVSPresets.devices().backCamera().map(\.position) == [.back])
      #expect(IVSPresets.devices().microphone().map(\.type) == [.microphone])
    }
  }
}
