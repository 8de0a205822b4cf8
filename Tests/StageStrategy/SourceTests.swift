import CrossVendorConventions
import AmazonIVSBroadcast
import Foundation
import Koine
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import KoineEmbeddedBackend
import KoineUIKit
import Testing

/// Custom audio and image sources, and the devices of a broadcast session.
@Suite struct SourceTests {
  private let environment = TestEnvironment()

  /// A second of a tone, in float samples of two channels.
  private func tone(_ frequency: Double, rate: Double) throws -> AVAudioPCMBuffer {
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: rate, channels: 2))
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: UInt32(rate / 10)))
    buffer.frameLength = buffer.frameCapacity
    let data = try #require(buffer.floatChannelData)
    for index in 0..<Int(buffer.frameLength) {
      let value = Float(0.3 * sin(2 * .pi * frequency * Double(index) / rate))
      (data[0][index], data[1][index]) = (value, value)
    }
    return buffer
  }

  @Test func customAudioIsHeardAtAnySampleRate() async throws {
    for rate in [16_000.0, 44_100, 48_000] {
      let source = World.$current.withValue(environment.world) {
        IVSDeviceDiscovery().createAudioSource(withName: "music")
      }
      #expect(source.descriptor().type == .userAudio)
      #expect(source.descriptor().friendlyName == "music")
      let loud = Lock<[Float]>([])
      source.setStatsCallback { stats in loud.withLock { $0.append(stats.peak) } }
      let buffer = try tone(500, rate: rate)
      for _ in 0..<10 {
        source.onPCMBuffer(buffer, at: AVAudioTime(sampleTime: 0, atRate: rate))
        await environment.run(.milliseconds(100))
      }
      let peak = try #require(loud.withLock { $0.max() })
      #expect(abs(peak - -10.5) < 1, "0.3 of full scale, at \(rate) Hz: \(peak)")
      source.setGain(0)
      for _ in 0..<5 {
        source.onPCMBuffer(buffer, at: AVAudioTime(sampleTime: 0, atRate: rate))
        await environment.run(.milliseconds(100))
      }
      #expect(loud.withLock { Array($0.suffix(2)) } == [-100, -100], "while the tone continues")
      source.setStatsCallback(nil)
    }
  }

  @Test func invalidAudioBufferIsReportedOnce() async throws {
    final class Listener: NSObject, IVSErrorDelegate, @unchecked Sendable {
      let codes = Lock<[Int]>([])
      func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
        codes.withLock { $0.append((error as NSError).code) }
      }
    }
    let source = World.$current.withValue(environment.world) { IVSDeviceDiscovery().createAudioSource(withName: "a") }
    let listener = Listener()
    source.errorDelegate = listener
    let odd = try #require(AVAudioFormat(standardFormatWithSampleRate: 1_000, channels: 1))
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: odd, frameCapacity: 10))
    for _ in 0..<2 { source.onPCMBuffer(buffer, at: AVAudioTime(sampleTime: 0, atRate: 1_000)) }
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: 48_000, channels: 2))
    let long = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 48_000 * 30))
    long.frameLength = long.frameCapacity
    for _ in 0..<2 { source.onPCMBuffer(long, at: AVAudioTime(sampleTime: 0, atRate: 48_000)) }
    await environment.run(.milliseconds(50))
    #expect(listener.codes.withLock { $0 } == [10411, 10403])
  }

  @Test func audioInSampleBuffersIsHeard() async throws {
    let source = World.$current.withValue(environment.world) {
      IVSDeviceDiscovery().createAudioSource(withName: "music")
    }
    let loud = Lock<[Float]>([])
    source.setStatsCallback { stats in loud.withLock { $0.append(stats.peak) } }
    let samples = (0..<4_410).flatMap { index in
      let value = Int16(9_830 * sin(2 * .pi * 500 * Double(index) / 44_100))
      return [value, value]
    }
    for part in 0..<5 {
      let time = CMTime(value: Int64(part), timescale: 10)
      source.onSampleBuffer(
        try #require(CMSampleBuffer(samples: samples, channels: 2, rate: 44_100, presentationTimeStamp: time)))
      await environment.run(.milliseconds(100))
    }
    let peak = try #require(loud.withLock { $0.max() })
    #expect(abs(peak - -10.5) < 1, "0.3 of full scale: \(peak)")
    source.setStatsCallback(nil)
  }

  @Test func sampleBuffersWithoutPixelsOrAudioAreReported() async throws {
    final class Listener: NSObject, IVSErrorDelegate, @unchecked Sendable {
      let codes = Lock<[Int]>([])
      func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
        codes.withLock { $0.append((error as NSError).code) }
      }
    }
    let listener = Listener()
    let (images, audio) = World.$current.withValue(environment.world) {
      let discovery = IVSDeviceDiscovery()
      return (discovery.createImageSource(withName: "a"), discovery.createAudioSource(withName: "b"))
    }
    (images.errorDelegate, audio.errorDelegate) = (listener, listener)
    var pixels: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 64, 36, kCVPixelFormatType_32ARGB, nil, &pixels)
    let picture = CMSampleBuffer(imageBuffer: try #require(pixels), presentationTimeStamp: .zero)
    images.onSampleBuffer(picture)
    for _ in 0..<2 { audio.onSampleBuffer(picture) }
    await environment.run(.milliseconds(50))
    #expect(listener.codes.withLock { $0 } == [10401, 10411])
  }

  @Test func imageThatIsTooLargeIsReported() async throws {
    final class Listener: NSObject, IVSErrorDelegate, @unchecked Sendable {
      let codes = Lock<[Int]>([])
      func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
        codes.withLock { $0.append((error as NSError).code) }
      }
    }
    let source = World.$current.withValue(environment.world) {
      IVSDeviceDiscovery().createImageSource(withName: "wall")
    }
    let listener = Listener()
    source.errorDelegate = listener
    for (width, height) in [(4_000, 2_025), (4_002, 2_025)] {
      var pixels: CVPixelBuffer?
      _ = CVPixelBufferCreate(nil, width, height, kCVPixelFormatType_32BGRA, nil, &pixels)
      source.onSampleBuffer(CMSampleBuffer(imageBuffer: try #require(pixels), presentationTimeStamp: .zero))
    }
    await environment.run(.milliseconds(50))
    #expect(listener.codes.withLock { $0 } == [10402])
  }

  @Test func attachedDeviceIsExchangedInItsSlot() async throws {
    let session = try World.$current.withValue(environment.world) {
      try IVSBroadcastSession(configuration: IVSBroadcastConfiguration(), descriptors: nil, delegate: nil)
    }
    let cameras = World.$current.withValue(environment.world) { IVSBroadcastSession.listAvailableDevices() }
    let front = try #require(cameras.first { $0.position == .front })
    let back = try #require(cameras.first { $0.position == .back })
    let own = session.createImageSource(withName: "own")
    session.attach(own, toSlotWithName: "default")
    let codes = Lock<[Int]>([])
    let note = { (device: (any IVSDevice)?, error: (any Error)?) in
      codes.withLock { $0.append((error as NSError?)?.code ?? 0) }
    }
    let microphone = try #require(cameras.first { $0.type == .microphone })
    session.exchangeOldDevice(own, withNewDevice: microphone, onComplete: note)
    session.exchangeOldDevice(own, withNewDevice: front, onComplete: note)
    session.exchangeOldDevice(own, withNewDevice: back, onComplete: note)
    await environment.run(.milliseconds(50))
    #expect(codes.withLock { $0 } == [10100, 0, 10109])
    let attached = try #require(session.listAttachedDevices().first)
    #expect(attached is any IVSCamera)
    #expect(session.mixer.binding(for: attached) == "default")
    #expect(session.mixer.devicesBoundToSlot(withName: "default") == [attached.descriptor().urn])
    #expect(session.mixer.devicesBoundToSlot(withName: "none") == nil)
    let sound = session.createAudioSource(withName: "sound")
    session.attach(sound, toSlotWithName: "default")
    let refusals = Lock<[Int]>([])
    let refuse = { (error: (any Error)?) in refusals.withLock { $0.append((error as NSError?)?.code ?? 0) } }
    session.attach(sound, toSlotWithName: "default", onComplete: refuse)
    session.attach(session.createImageSource(withName: "third"), toSlotWithName: "none", onComplete: refuse)
    await environment.run(.milliseconds(50))
    #expect(refusals.withLock { $0 } == [10110, 10105])
    session.detach(attached)
    #expect(session.mixer.devicesBoundToSlot(withName: "default") == [sound.descriptor().urn])
  }

  @Test func degradationPreferenceDecidesWhatIsReducedFirst() async throws {
    let environment = TestEnvironment(camera: "pattern:640x360@30")
    typealias Preference = IVSLocalStageStreamVideoConfiguration.DegradationPreference
    var seen: [Preference: (width: Int, frames: Int)] = [:]
    let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: environment.world)
    let view = await VideoView()
    ben.observe { [weak ben] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal, stream.kind == .camera {
        ben?.attach(view, to: stream.id)
      }
    }
    ben.join { _ in }
    for preference in [Preference.maintainFramerate, .maintainResolution, .balanced] {
      let app = try environment.app("Ana")
      let configuration = IVSLocalStageStreamConfiguration()
      try configuration.video.setMaxBitrate(100_000)  // too little for the size and rate asked for
      try configuration.video.setSize(CGSize(width: 640, height: 360))
      try configuration.video.setTargetFramerate(30)
      configuration.video.simulcast.enabled = false
      configuration.video.degradationPreference = preference
      for stream in app.streams { stream.setConfig(configuration) }
      try app.stage.join()
      await environment.run(.seconds(2))
      let before = view.framesRendered
      await environment.run(.seconds(2))
      seen[preference] = (view.lastFrame?.width ?? 0, view.framesRendered - before)
      app.stage.leave()
      await environment.run()
    }
    #expect(seen[.maintainFramerate].map { $0.width < 640 && $0.frames > 55 } == true)
    #expect(seen[.maintainResolution].map { $0.width == 640 && (15...35).contains($0.frames) } == true)
    #expect(seen[.balanced].map { $0.width < 640 } == true)
  }

  @Test func internalAttributesAreHiddenFromApps() async throws {
    let app = StageApp("Ana")
    app.stage = try World.$current.withValue(environment.world) { try IVSStage(token: try makeToken(), strategy: app) }
    app.stage.addRenderer(app)
    try app.stage.join()
    let ben = Session(
      JoinRequest(
        room: "tea", name: "Ben", externalUserID: "Ben", attributes: ["role": "guest", Convention.hold: "1"]),
      in: environment.world)
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await environment.run(.milliseconds(500))
    #expect(app.people["Ben"]?.attributes == ["role": "guest"])
    app.stage.leave()
  }

  private final class MetadataListener: NSObject, IVSStageRenderer, @unchecked Sendable {  // a lock
    let heard = Lock<[String]>([])
    func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo) {
      heard.withLock { $0.append(participant.attributes["role"] ?? "-") }
    }
  }

  @Test func changedAttributesAreReported() async throws {
    let app = StageApp("Ana")
    let listener = MetadataListener()
    app.stage = try World.$current.withValue(environment.world) { try IVSStage(token: try makeToken(), strategy: app) }
    app.stage.addRenderer(listener)
    try app.stage.join()
    let ben = Session(JoinRequest(room: "tea", name: "Ben", attributes: ["role": "guest"]), in: environment.world)
    try ben.publish(microphone: Devices.microphone("tone"))
    ben.join { _ in }
    await environment.run(.milliseconds(500))
    ben.setAttributes(["role": "guest", Convention.hand: "1"])  // nothing of the app's
    await environment.run(.milliseconds(200))
    ben.setAttributes(["role": "host"])
    await environment.run(.milliseconds(200))
    #expect(listener.heard.withLock { $0 } == ["host"])
    app.stage.leave()
  }

  @MainActor @Test func previewShowsTheMixersFrames() async throws {
    let session = try World.$current.withValue(environment.world) {
      try IVSBroadcastSession(configuration: IVSBroadcastConfiguration(), descriptors: nil, delegate: nil)
    }
    let view = try session.previewView(with: .fit)
    let done = Lock(false)
    session.awaitDeviceChanges { done.withLock { $0 = true } }
    await environment.run(.milliseconds(300))
    #expect(done.withLock { $0 })
    #expect(view.lastFrame?.width == 720)
    #expect(view.lastFrame?.height == 1280)
  }
}
