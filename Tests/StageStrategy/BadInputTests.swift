import AmazonIVSBroadcast
import Koine
import KoineTokens
import Testing

/// Invalid input of apps, each with the vendor's error code.
@Suite struct BadInputTests {
  private let environment = TestEnvironment()

  private static func code(_ body: () throws -> Void) -> Int {
    do { try body() } catch {
      let error = error as NSError
      #expect(error.domain == IVSBroadcastErrorDomain && error.userInfo[IVSBroadcastErrorIsFatalKey] is NSNumber)
      return error.code
    }
    return 0
  }

  /// A setter of integers, its allowed range, and the error code for values outside of it.
  private struct Range {
    let name: String
    let allowed: ClosedRange<Int>
    let code: Int
    let value: () -> Int
    let set: (Int) throws -> Void

    init(
      _ name: String, _ allowed: ClosedRange<Int>, _ code: Int, _ value: @escaping @autoclosure () -> Int,
      _ set: @escaping (Int) throws -> Void
    ) { (self.name, self.allowed, self.code, self.value, self.set) = (name, allowed, code, value, set) }
  }

  @Test func configurationRangesAreEnforcedAtTheirBounds() {
    let (video, audio) = (IVSLocalStageStreamVideoConfiguration(), IVSLocalStageStreamAudioConfiguration())
    let (sent, heard) = (IVSVideoConfiguration(), IVSAudioConfiguration())
    let ranges = [
      Range("maxBitrate", 100_000...2_500_000, 10220, video.maxBitrate, video.setMaxBitrate),
      Range("minBitrate", 100_000...2_500_000, 10221, video.minBitrate, video.setMinBitrate),
      Range("targetFramerate", 10...30, 10222, video.targetFramerate, video.setTargetFramerate),
      Range("sound's maxBitrate", 12_000...128_000, 10224, audio.maxBitrate, audio.setMaxBitrate),
      Range("broadcast's sound", 64_000...160_000, 10200, heard.bitrate, heard.setBitrate),
      Range("broadcast's channels", 1...2, 10201, heard.channels, heard.setChannels),
      Range("initialBitrate", 100_000...8_500_000, 10202, sent.initialBitrate, sent.setInitialBitrate),
      Range("broadcast's maxBitrate", 100_000...8_500_000, 10203, sent.maxBitrate, sent.setMaxBitrate),
      Range("broadcast's minBitrate", 100_000...8_500_000, 10204, sent.minBitrate, sent.setMinBitrate),
      Range("broadcast's framerate", 10...60, 10205, sent.targetFramerate, sent.setTargetFramerate),
      Range("keyframeInterval", 1...5, 10206, Int(sent.keyframeInterval)) { try sent.setKeyframeInterval(Float($0)) },
    ]
    for range in ranges {
      for end in [range.allowed.lowerBound, range.allowed.upperBound] {
        #expect(Self.code { try range.set(end) } == 0 && range.value() == end, "\(range.name) \(end)")
      }
      for beyond in [range.allowed.lowerBound - 1, range.allowed.upperBound + 1, .min, .max] {
        #expect(Self.code { try range.set(beyond) } == range.code, "\(range.name) \(beyond)")
        #expect(range.value() == range.allowed.upperBound, "a refused value changes nothing")
      }
    }
  }

  @Test func videoSizesAreEnforcedAtTheirBounds() {
    let (video, sent) = (IVSLocalStageStreamVideoConfiguration(), IVSVideoConfiguration())
    for (width, height) in [(160.0, 160.0), (1280, 720), (720, 1280), (161, 160), (160, 1280)] {
      #expect(Self.code { try video.setSize(CGSize(width: width, height: height)) } == 0)
      #expect(video.size == CGSize(width: width, height: height))
    }
    for (width, height) in [
      (159.0, 160.0), (160, 159), (1281, 160), (160, 1281), (1280, 721), (.nan, 160), (-160, 160),
    ] {
      #expect(Self.code { try video.setSize(CGSize(width: width, height: height)) } == 10223)
    }
    #expect(video.size == CGSize(width: 160, height: 1280))
    for (width, height) in [(160.0, 160.0), (1920, 1080), (1080, 1920), (1920, 160)] {
      #expect(Self.code { try sent.setSize(CGSize(width: width, height: height)) } == 0)
    }
    for (width, height) in [(159.0, 160.0), (160, 159), (1921, 160), (160, 1921), (1920, 1081), (.infinity, 160)] {
      #expect(Self.code { try sent.setSize(CGSize(width: width, height: height)) } == 10207)
    }
    #expect(sent.size == CGSize(width: 1920, height: 160))
  }

  @Test func mixerSlotValuesAreEnforcedAtTheirBounds() {
    let slot = IVSMixerSlotConfiguration()
    for name in ["a", String(repeating: "a", count: 50)] { #expect(Self.code { try slot.setName(name) } == 0) }
    for name in ["", String(repeating: "a", count: 51)] { #expect(Self.code { try slot.setName(name) } == 10208) }
    for gain: Float in [0, 2] { #expect(Self.code { try slot.setGain(gain) } == 0) }
    for gain: Float in [-1, -0.01, 2.01, 3, .nan] { #expect(Self.code { try slot.setGain(gain) } == 10209) }
    for share: Float in [0, 1] { #expect(Self.code { try slot.setTransparency(share) } == 0) }
    for share: Float in [-1, -0.01, 1.01, 2, .nan] { #expect(Self.code { try slot.setTransparency(share) } == 10210) }
    #expect(slot.name.count == 50)
    #expect(slot.gain == 2)
    #expect(slot.transparency == 1)
  }

  @Test func expiredAndMalformedTokensHaveDifferentErrors() async throws {
    let app = StageApp("Ana")
    func stage(_ text: String) throws -> IVSStage {
      try World.$current.withValue(environment.world) { try IVSStage(token: text, strategy: app) }
    }
    let good = try makeToken()
    let parts = good.split(separator: ".").map(String.init)
    try #require(parts.count == 3)
    let mangled = [
      "", " ", ".", "..", "a.b", parts[0], parts[0] + "." + parts[1], parts[0] + ".." + parts[2],
      parts[0] + "." + String(parts[1].dropLast(3)) + "." + parts[2], good + ".x", "é." + parts[1] + "." + parts[2],
      parts[0] + "." + String(repeating: "A", count: 100_000) + "." + parts[2],
    ]
    for text in mangled {
      #expect(Self.code { _ = try stage(text) } == 1000, "\(text.prefix(60))")
    }
    for seconds in [-1.0, -3_600] {
      let old = try stage(try makeToken(lasting: seconds))
      #expect(Self.code { try old.join() } == 1001)
      #expect(Self.code { try old.join() } == 1001, "and is not half joined")
    }
    let stage = try stage(good)
    stage.addRenderer(app)
    try stage.join()
    await environment.run()
    #expect(Self.code { try stage.join() } == 10410)
    #expect(app.told.contains("connected"))
    #expect(app.errors.isEmpty)
  }

  /// A device that an app has made up.
  private final class CustomDevice: NSObject, IVSDevice, @unchecked Sendable {
    weak var errorDelegate: (any IVSErrorDelegate)?
    private let made: IVSDeviceDescriptor
    func descriptor() -> IVSDeviceDescriptor { made }
    func tag() -> String { "customDevice" }
    init(_ made: IVSDeviceDescriptor) { self.made = made }
  }

  @Test func devicesOfTheAppAndRemoteDevicesAreRefused() async throws {
    let (ana, ben) = (try environment.app("Ana"), try environment.app("Ben"))
    let customDevice = CustomDevice(ben.streams[0].device.descriptor())
    for app in [ana, ben] { try app.stage.join() }
    await environment.run()
    let borrowed = try #require(ana.remote("video")).device
    ana.forget()
    ana.streams += [IVSLocalStageStream(device: customDevice), IVSLocalStageStream(device: borrowed)]
    ana.stage.refreshStrategy()
    await environment.run()
    ana.stage.refreshStrategy()
    await environment.run()
    #expect(ana.errors.map(\.code) == [10106, 10106], "each said once")
    #expect(ana.told.isEmpty && ben.told.last == "Ana +audio+video", "what can be published stays")

    let broadcast = try World.$current.withValue(environment.world) {
      try IVSBroadcastSession(configuration: IVSBroadcastConfiguration(), descriptors: nil, delegate: nil)
    }
    let codes = Lock<[Int]>([])
    let note = { (error: (any Error)?) in codes.withLock { $0.append((error as NSError?)?.code ?? 0) } }
    broadcast.attach(customDevice, toSlotWithName: "default", onComplete: note)
    broadcast.attach(customDevice, toSlotWithName: nil, onComplete: note)
    broadcast.attach(borrowed, toSlotWithName: "none", onComplete: note)
    broadcast.attach(borrowed, toSlotWithName: "default", onComplete: note)
    await environment.run(.milliseconds(50))
    #expect(codes.withLock { $0 } == [10106, 10106, 10105, 0])
    #expect(!broadcast.mixer.bindDevice(customDevice, toSlotWithName: "default"))
    #expect(broadcast.listAttachedDevices().count == 1)
  }
}
