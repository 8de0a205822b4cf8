import Foundation
import Koine
import KoineCoreMedia
import KoineCoreVideo
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import KoineUIKit
import Testing

@testable import AmazonIVSBroadcast

/// Broadcasts whose app goes to the background, their log, and their encoder.
@Suite struct BackgroundTests {
  private let environment = TestEnvironment()

  private final class Listener: NSObject, IVSBroadcastSession.Delegate, @unchecked Sendable {
    private let lines = Lock<[String]>([])
    var states: [String] { lines.withLock { $0 } }
    func broadcastSession(_ session: IVSBroadcastSession, didChange state: IVSBroadcastSession.State) {
      lines.withLock { $0.append("\(state)") }
    }
    func broadcastSession(_ session: IVSBroadcastSession, didEmitError error: any Error) {}
  }

  /// 160×160 pixels, 10 frames a second, a key frame each second.
  private func makeSession(
    _ delegate: Listener? = nil, usesBFrames: Bool = true, level: IVSBroadcastSession.LogLevel = .error
  ) throws -> IVSBroadcastSession {
    let configuration = IVSBroadcastConfiguration()
    try configuration.video.setSize(CGSize(width: 160, height: 160))
    try configuration.video.setTargetFramerate(10)
    try configuration.video.setKeyframeInterval(1)
    configuration.video.usesBFrames = usesBFrames
    configuration.logLevel = level
    return try World.$current.withValue(environment.world) {
      try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: delegate)
    }
  }

  private func image(luma: UInt8) throws -> CVPixelBuffer {
    var buffer: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 160, 160, kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, nil, &buffer)
    let image = try #require(buffer)
    CVPixelBufferLockBaseAddress(image, [])
    for (plane, value) in [luma, 128].enumerated() {
      let size = CVPixelBufferGetBytesPerRowOfPlane(image, plane) * CVPixelBufferGetHeightOfPlane(image, plane)
      let base = try #require(CVPixelBufferGetBaseAddressOfPlane(image, plane))
      base.assumingMemoryBound(to: UInt8.self).update(repeating: value, count: size)
    }
    CVPixelBufferUnlockBaseAddress(image, [])
    return image
  }

  @Test func broadcastStopsInTheBackground() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let listener = Listener()
    let session = try makeSession(listener)
    try session.start(with: URL(fileURLWithPath: folder.file("a.webm")), streamKey: "")
    await environment.run(.milliseconds(500))
    environment.world.machine.moveToBackground()
    await environment.run(.milliseconds(100))
    #expect(listener.states == ["connecting", "connected", "disconnected"])
  }

  @MainActor @Test func backgroundImagesAreShownInTurnUntilTheAppReturns() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let listener = Listener()
    let session = try makeSession(listener)
    let outcomes = Lock<[Int]>([])
    let source = try #require(
      session.createAppBackgroundImageSource(withAttemptTrim: true) { error in
        outcomes.withLock { $0.append((error as NSError?)?.code ?? 0) }
      })
    for number in 0..<12 { source.add(try image(luma: UInt8(50 + 10 * number))) }
    source.finish()
    let view = try session.previewView(with: .fit)
    try session.start(with: URL(fileURLWithPath: folder.file("a.webm")), streamKey: "")
    await environment.run(.milliseconds(500))
    #expect(outcomes.withLock { $0 } == [0])
    environment.world.machine.moveToBackground()
    #expect(throws: (any Error).self) { try session.removeImageSourceOnAppBackgrounded() }
    #expect(session.createAppBackgroundImageSource(withAttemptTrim: true) == nil)
    var seen: Set<UInt8> = []
    for _ in 0..<30 {
      await environment.run(.milliseconds(50))
      if let frame = view.lastFrame { seen.insert(frame.withPlanes { $0.y[0] }) }
    }
    seen.remove(16)  // what was composed before
    #expect(seen == Set((0..<10).map { UInt8(50 + 10 * $0) }), "the last two do not fill an interval of 10 frames")
    environment.world.machine.returnToForeground()
    await environment.run(.milliseconds(300))
    #expect(view.lastFrame?.withPlanes { $0.y[0] } == 16)
    #expect(listener.states == ["connecting", "connected"])
    try session.removeImageSourceOnAppBackgrounded()
    environment.world.machine.moveToBackground()
    await environment.run(.milliseconds(100))
    #expect(listener.states == ["connecting", "connected", "disconnected"])
  }

  @Test func backgroundSourceWithoutImagesFails() async throws {
    let session = try makeSession()
    let outcomes = Lock<[Int]>([])
    let source = session.createAppBackgroundImageSource(withAttemptTrim: false) { error in
      outcomes.withLock { $0.append((error as NSError?)?.code ?? 0) }
    }
    source?.finish()
    source?.finish()
    await environment.run(.milliseconds(50))
    #expect(outcomes.withLock { $0 } == [IVSBroadcastError.invalidState.rawValue])
  }

  @Test func logLevelDecidesWhichLinesAreWritten() async throws {
    MediaFiles.register()
    let folder = try Folder()
    let lines = Lock<[String]>([])
    let usual = SessionLog.output.withLock { $0 }
    SessionLog.output.withLock { $0 = { line in lines.withLock { $0.append(line) } } }
    defer { SessionLog.output.withLock { $0 = usual } }
    let session = try makeSession(level: .info)
    let source = session.createImageSource(withName: "own")
    func written() -> [String] {
      lines.withLock { $0 }.filter { $0.contains(session.sessionId) }
        .map { line in
          line.split(separator: ":", maxSplits: 3).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        }
        .map { "\($0[1]) \($0[3])" }
    }
    session.attach(source, toSlotWithName: "default")
    #expect(written() == [])
    session.logLevel = .debug
    session.detach(source)
    session.attach(source, toSlotWithName: "default")
    #expect(
      written() == [
        "debug detached \(source.tag())", "debug attached \(source.tag()) to slot default",
      ])
    session.logLevel = .error
    try session.start(with: URL(fileURLWithPath: folder.file("a.webm")), streamKey: "")
    await environment.run(.milliseconds(200))
    session.attach(source, toSlotWithName: "default")
    session.logLevel = .info
    session.stop()
    await environment.run(.milliseconds(50))
    #expect(written().dropFirst(2) == ["error \(source.tag()) is attached already", "info state: disconnected"])
  }

  /// The same second of audio, as encoded with each quality.
  @Test(arguments: ["webm", "mp4"]) func audioQualityChangesTheEncodersWork(ending: String) async throws {
    MediaFiles.register()
    let folder = try Folder()
    var encoded: [IVSAudioConfiguration.AudioQuality: String] = [:]
    for quality in [IVSAudioConfiguration.AudioQuality.minimum, .medium, .maximum] {
      let environment = TestEnvironment()
      let configuration = IVSBroadcastConfiguration()
      try configuration.video.setSize(CGSize(width: 160, height: 160))
      configuration.audio.quality = quality
      let session = try World.$current.withValue(environment.world) {
        try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: nil)
      }
      let source = session.createAudioSource(withName: "chord")
      session.attach(source, toSlotWithName: "default")
      let file = folder.file("\(quality).\(ending)")
      try session.start(with: URL(fileURLWithPath: file), streamKey: "")
      for part in 0..<10 {
        let samples = (0..<4_800).map { index in
          let time = Double(part * 4_800 + index) / 48_000
          return Int16([220, 1_700, 5_300].reduce(0) { $0 + 5_000 * sin(2 * .pi * $1 * time * (1 + 0.2 * time)) })
        }
        source.onSampleBuffer(
          try #require(CMSampleBuffer(samples: samples, channels: 1, rate: 48_000, presentationTimeStamp: .zero)))
        await environment.run(.milliseconds(100))
      }
      session.stop()
      await environment.run(.milliseconds(50))
      encoded[quality] = try await Command(
        "ffmpeg", "-v", "error", "-i", file, "-map", "0:a", "-c", "copy", "-f", "md5", "-"
      ).run()
    }
    #expect(encoded[.minimum]?.isEmpty == false)
    #expect(encoded[.minimum] != encoded[.medium])
    #expect((encoded[.medium] != encoded[.maximum]) == (ending == "webm"), "AAC has two steps")
  }

  @Test(arguments: [true, false])
  func bFramesAreUsedAsConfigured(usesBFrames: Bool) async throws {
    MediaFiles.register()
    let folder = try Folder()
    let session = try makeSession(usesBFrames: usesBFrames)
    let source = session.createImageSource(withName: "own")
    session.attach(source, toSlotWithName: "default")
    try session.start(with: URL(fileURLWithPath: folder.file("a.mp4")), streamKey: "")
    for number in 0..<20 {
      source.onSampleBuffer(
        CMSampleBuffer(imageBuffer: try image(luma: UInt8(40 + 8 * number)), presentationTimeStamp: .zero))
      await environment.run(.milliseconds(100))
    }
    session.stop()
    await environment.run(.milliseconds(50))
    let kinds = try await Command(
      "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pict_type", "-of", "csv=p=0",
      folder.file("a.mp4")
    ).run()
    #expect(kinds.contains("P"))
    #expect(kinds.contains("B") == usesBFrames, "\(kinds)")
  }
}
